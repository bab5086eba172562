/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "linux-tcp-socket.h"

#include "congestion-text.h"
#include "congestion/congestion-control.h"
#include "event/time-units.h"
#include "linux-tcp-connection.h"
#include "linux-tcp-settings.h"
#include "linux-tcp-socket-factory.h"
#include "ns3-turn.h"
#include "tcp-port.h"
#include "transport/stream-user.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tunnelcc
{

NS_LOG_COMPONENT_DEFINE("LinuxTcpSocket");

NS_OBJECT_ENSURE_REGISTERED(LinuxTcpSocket);

namespace
{

using namespace ns3; // names of ours come first

constexpr uint32_t IPV4_HEADER = 20;
constexpr uint32_t IPV6_HEADER = 40;
constexpr uint32_t LEAST_MSS = 88; // the least that experiments allow

/// When a client has given up (Linux tcp_syn_linear_timeouts 4, tcp_syn_retries 6): 131 s.
const ns3::Time CONNECT_TIMEOUT = ns3::MilliSeconds(131'001);
constexpr uint64_t DATA_RETRIES = 15;       // Linux sysctl tcp_retries2
constexpr double MAX_SEGMENT_LIFETIME = 30; // s; TIME-WAIT is twice it: Linux TCP_TIMEWAIT_LEN

} // namespace

ns3::TypeId
LinuxTcpSocket::GetTypeId()
{
    const LinuxTcpSettings defaults;
    static ns3::TypeId tid =
        ns3::TypeId("tunnelcc::LinuxTcpSocket")
            .SetParent<ns3::Socket>()
            .SetGroupName("Tunnelcc")
            .AddConstructor<LinuxTcpSocket>()
            .AddAttribute(
                "CongestionControl",
                "Name of the congestion control, such as bbr, bbr3 or cubic, or TypeId of "
                "one of ns-3's; with parameters: bbr,cwnd_gain=2.5.",
                StringValue("cubic"),
                MakeStringAccessor(&LinuxTcpSocket::SetCongestionControl,
                                   &LinuxTcpSocket::GetCongestionControl),
                MakeStringChecker())
            .AddAttribute("SegmentSize",
                          "Payload of a full segment, bytes; 0: what the MTU has room for.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&LinuxTcpSocket::m_segmentSize),
                          MakeUintegerChecker<uint32_t>(0, LARGEST_IP_PACKET))
            .AddAttribute("SndBufSize",
                          "Largest send buffer, bytes (tcp_wmem[2]): payload, and 832 a burst.",
                          UintegerValue(defaults.sndBufSize),
                          MakeUintegerAccessor(&LinuxTcpSocket::m_sndBufSize),
                          MakeUintegerChecker<uint32_t>(4096, 1 << 30))
            .AddAttribute("RcvBufSize",
                          "Largest receive buffer, bytes (tcp_rmem[2]); 0.625 of it is the window.",
                          UintegerValue(defaults.rcvBufSize),
                          MakeUintegerAccessor(&LinuxTcpSocket::m_rcvBufSize),
                          MakeUintegerChecker<uint32_t>(4096, 1 << 30))
            .AddAttribute("InitialCwnd",
                          "Initial congestion window, segments (RFC 6928).",
                          UintegerValue(defaults.initialCwnd),
                          MakeUintegerAccessor(&LinuxTcpSocket::m_initialCwnd),
                          MakeUintegerChecker<uint32_t>(1, 1000))
            .AddAttribute("MinRto",
                          "Least retransmission time-out (TCP_RTO_MIN).",
                          TimeValue(NanoSeconds(defaults.minRto)),
                          MakeTimeAccessor(&LinuxTcpSocket::m_minRto),
                          MakeTimeChecker(MilliSeconds(1), Seconds(120)))
            .AddAttribute("DelAckTimeout",
                          "Least time that an ACK waits for a second segment (TCP_DELACK_MIN).",
                          TimeValue(NanoSeconds(defaults.delAckTimeout)),
                          MakeTimeAccessor(&LinuxTcpSocket::m_delAckTimeout),
                          MakeTimeChecker(MilliSeconds(1), Seconds(1)))
            .AddAttribute("MaxSegLifetime",
                          "Half the time that a port stays in use after Close(), s (TIME-WAIT).",
                          DoubleValue(MAX_SEGMENT_LIFETIME),
                          MakeDoubleAccessor(&LinuxTcpSocket::m_maxSegmentLifetime),
                          MakeDoubleChecker<double>(0, 3600))
            .AddAttribute("DelAckCount",
                          "Segments per ACK.",
                          UintegerValue(defaults.delAckCount),
                          MakeUintegerAccessor(&LinuxTcpSocket::m_delAckCount),
                          MakeUintegerChecker<uint32_t>(1, 64))
            .AddAttribute("TcpNoDelay",
                          "No Nagle's rule.",
                          BooleanValue(defaults.noDelay),
                          MakeBooleanAccessor(&LinuxTcpSocket::m_noDelay),
                          MakeBooleanChecker())
            .AddAttribute("UseEcn",
                          "Explicit congestion notification (RFC 3168), as sysctl tcp_ecn.",
                          EnumValue(TcpSocketState::AcceptOnly),
                          MakeEnumAccessor<TcpSocketState::UseEcn_t>(&LinuxTcpSocket::m_useEcn),
                          MakeEnumChecker(TcpSocketState::Off,
                                          "Off",
                                          TcpSocketState::On,
                                          "On",
                                          TcpSocketState::AcceptOnly,
                                          "AcceptOnly"))
            .AddTraceSource("CongestionWindow",
                            "Congestion window, bytes.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_cwnd),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("SlowStartThreshold",
                            "Slow start threshold, bytes.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_ssthresh),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("BytesInFlight",
                            "Payload in flight, bytes.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_inFlight),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("RTT",
                            "Smoothed round-trip time.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_srtt),
                            "ns3::TracedValueCallback::Time")
            .AddTraceSource("PacingRate",
                            "Pacing rate; 0: not paced.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_pacingRate),
                            "ns3::TracedValueCallback::DataRate")
            .AddTraceSource("Tx",
                            "A segment is sent.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_tx),
                            "tunnelcc::LinuxTcpSocket::SegmentCallback")
            .AddTraceSource("Rx",
                            "A segment arrived.",
                            MakeTraceSourceAccessor(&LinuxTcpSocket::m_rx),
                            "tunnelcc::LinuxTcpSocket::SegmentCallback");
    return tid;
}

/// What the connection tells goes to its socket.
class LinuxTcpSocket::Events final : public SegmentSink, public StreamUser
{
  public:
    explicit Events(LinuxTcpSocket& socket)
        : m_socket(socket)
    {
    }

    void SendSegment(TcpHeader& header, Ptr<ns3::Packet> payload, uint8_t ecn) override
    {
        m_socket.SendSegment(header, std::move(payload), ecn);
    }

    void OnOpen(int64_t now) override
    {
        m_socket.OnOpen(now);
    }

    void OnReadable(int64_t now) override
    {
        m_socket.OnReadable(now);
    }

    void OnWritable(int64_t now) override
    {
        m_socket.OnWritable(now);
    }

  private:
    LinuxTcpSocket& m_socket;
};

LinuxTcpSocket::LinuxTcpSocket()
    : m_port(std::make_unique<TcpPort>()),
      m_events(std::make_unique<Events>(*this))
{
}

LinuxTcpSocket::LinuxTcpSocket(const LinuxTcpSocket& listener)
    : Socket(listener),
      m_congestionControl(listener.m_congestionControl),
      m_segmentSize(listener.m_segmentSize),
      m_sndBufSize(listener.m_sndBufSize),
      m_rcvBufSize(listener.m_rcvBufSize),
      m_initialCwnd(listener.m_initialCwnd),
      m_delAckCount(listener.m_delAckCount),
      m_minRto(listener.m_minRto),
      m_delAckTimeout(listener.m_delAckTimeout),
      m_maxSegmentLifetime(listener.m_maxSegmentLifetime),
      m_noDelay(listener.m_noDelay),
      m_useEcn(listener.m_useEcn),
      m_factory(listener.m_factory),
      m_port(std::make_unique<TcpPort>()),
      m_events(std::make_unique<Events>(*this))
{
}

LinuxTcpSocket::~LinuxTcpSocket() = default;

void
LinuxTcpSocket::DoDispose()
{
    m_connection.reset();
    m_factory = nullptr;
    Socket::DoDispose();
}

void
LinuxTcpSocket::SetFactory(ns3::Ptr<LinuxTcpSocketFactory> factory)
{
    m_factory = std::move(factory);
}

bool
LinuxTcpSocket::SetCongestionControl(std::string text)
{
    try
    {
        ParseCongestionText(text);
    }
    catch (const std::invalid_argument& error)
    {
        NS_LOG_UNCOND("tunnelcc::LinuxTcpSocket::CongestionControl: " << error.what());
        return false;
    }
    m_congestionControl = std::move(text);
    return true;
}

std::string
LinuxTcpSocket::GetCongestionControl() const
{
    return m_congestionControl;
}

uint64_t
LinuxTcpSocket::GetRetransmits() const
{
    return m_connection ? m_connection->Endpoint().GetSender().Counters().retransmits : 0;
}

ns3::Time
LinuxTcpSocket::GetRtt() const
{
    return m_connection ? NanoSeconds(m_connection->Endpoint().GetSender().State().srtt) : Time();
}

const TcpEndpoint*
LinuxTcpSocket::Endpoint() const
{
    return m_connection ? &m_connection->Endpoint() : nullptr;
}

// Ports and addresses ---------------------------------------------------------------------------

int
LinuxTcpSocket::Fail(SocketErrno why) const
{
    m_errno = why;
    return -1;
}

ns3::Socket::SocketErrno
LinuxTcpSocket::GetErrno() const
{
    return m_errno;
}

ns3::Socket::SocketType
LinuxTcpSocket::GetSocketType() const
{
    return NS3_SOCK_STREAM;
}

ns3::Ptr<ns3::Node>
LinuxTcpSocket::GetNode() const
{
    return m_factory ? m_factory->GetNode() : nullptr;
}

ns3::Ptr<ns3::TcpL4Protocol>
LinuxTcpSocket::Tcp() const
{
    const auto node = GetNode();
    return node ? node->GetObject<TcpL4Protocol>() : nullptr;
}

int
LinuxTcpSocket::OnBound()
{
    const Ptr<LinuxTcpSocket> self(this); // which the port holds from now on
    m_port->SetCallbacks(MakeCallback(&LinuxTcpSocket::OnSegment, self),
                         MakeCallback(&LinuxTcpSocket::OnPortDestroyed, self));
    m_factory->Add(self);
    return 0;
}

int
LinuxTcpSocket::Bind()
{
    return Bind(InetSocketAddress(Ipv4Address::GetAny(), 0));
}

int
LinuxTcpSocket::Bind6()
{
    return Bind(Inet6SocketAddress(Ipv6Address::GetAny(), 0));
}

int
LinuxTcpSocket::Bind(const ns3::Address& address)
{
    const auto tcp = Tcp();
    if (!tcp)
    {
        NS_LOG_UNCOND("tunnelcc::LinuxTcpSocket: the node has no Internet stack with TCP");
        return Fail(ERROR_NODEV);
    }
    if (m_port->IsOpen())
    {
        return Fail(ERROR_INVAL);
    }
    const SocketErrno why = m_port->Open(*tcp, GetBoundNetDevice(), address);
    return why == ERROR_NOTERROR ? OnBound() : Fail(why);
}

void
LinuxTcpSocket::BindToNetDevice(ns3::Ptr<ns3::NetDevice> device)
{
    Socket::BindToNetDevice(device);
    m_port->SetDevice(device);
}

int
LinuxTcpSocket::GetSockName(ns3::Address& address) const
{
    address = m_port->IsOpen() ? m_port->Local() : InetSocketAddress(Ipv4Address::GetZero(), 0);
    return 0;
}

int
LinuxTcpSocket::GetPeerName(ns3::Address& address) const
{
    if (!m_port->IsOpen() || m_state == State::CLOSED || m_state == State::LISTENING)
    {
        return Fail(ERROR_NOTCONN);
    }
    address = m_port->Peer();
    return 0;
}

bool
LinuxTcpSocket::SetAllowBroadcast(bool isAllowed)
{
    return !isAllowed;
}

bool
LinuxTcpSocket::GetAllowBroadcast() const
{
    return false;
}

bool
LinuxTcpSocket::FindRoute()
{
    const bool isClient = m_state == State::CLOSED;
    m_errno = ERROR_NOROUTETOHOST;
    m_mtu = m_port->FindRoute(GetNode(), m_boundnetdevice, isClient, m_errno);
    if (m_mtu == 0)
    {
        NS_LOG_ERROR("there is no route to the other end");
        return false;
    }
    m_errno = ERROR_NOTERROR;
    return true;
}

// Connecting ------------------------------------------------------------------------------------

void
LinuxTcpSocket::MakeConnection(uint32_t mss, bool isClient, std::shared_ptr<SentSegments> sent)
{
    const uint32_t ip = m_port->IsIpv6() ? IPV6_HEADER : IPV4_HEADER;
    const uint32_t room = std::max(m_mtu, ip + LINUX_TCP_HEADER + LEAST_MSS);
    uint32_t own = m_segmentSize > 0 ? m_segmentSize : room - ip - LINUX_TCP_HEADER;
    own = std::min(own, LARGEST_IP_PACKET - ip - LINUX_TCP_HEADER);
    mss = mss > 0 ? std::min(mss, own) : own;
    const auto stream = static_cast<int64_t>(RngSeedManager::GetRun() << 32) +
                        static_cast<int64_t>(sent->Initial().GetValue());
    const CongestionSpec cc = ParseCongestionText(m_congestionControl);
    auto congestion = MakeCongestionControl(cc.name, cc.parameters, stream);
    TcpSpec spec = MakeLinuxTcpSpec({m_sndBufSize,
                                     m_rcvBufSize,
                                     m_initialCwnd,
                                     m_minRto.GetNanoSeconds(),
                                     m_delAckTimeout.GetNanoSeconds(),
                                     m_delAckCount,
                                     m_noDelay},
                                    mss,
                                    ip,
                                    isClient);
    spec.ecn = m_useEcn == TcpSocketState::On || congestion->NeedsEcn();
    m_connection = std::make_unique<LinuxTcpConnection>(spec,
                                                        std::move(congestion),
                                                        std::move(sent),
                                                        *m_events,
                                                        *m_events);
}

int
LinuxTcpSocket::Connect(const ns3::Address& address)
{
    if (m_state != State::CLOSED || m_isClosed)
    {
        return Fail(m_state == State::LISTENING ? ERROR_OPNOTSUPP
                    : m_isClosed                ? ERROR_BADF
                                                : ERROR_ISCONN);
    }
    Address peer = address;
    if (Inet6SocketAddress::IsMatchingType(peer))
    {
        const auto mapped = Inet6SocketAddress::ConvertFrom(peer);
        if (mapped.GetIpv6().IsIpv4MappedAddress())
        {
            peer = InetSocketAddress(mapped.GetIpv6().GetIpv4MappedAddress(), mapped.GetPort());
        }
    }
    const bool is4 = InetSocketAddress::IsMatchingType(peer);
    if ((!is4 && !Inet6SocketAddress::IsMatchingType(peer)) || m_congestionControl.empty())
    {
        return Fail(ERROR_INVAL);
    }
    if (!m_port->IsOpen() && (is4 ? Bind() : Bind6()) < 0)
    {
        return -1;
    }
    if (!m_port->SetPeer(peer))
    {
        return Fail(ERROR_AFNOSUPPORT);
    }
    if (!FindRoute())
    {
        return -1;
    }
    const Ns3Turn turn;
    MakeConnection(0, true, SentSegments::Make());
    m_state = State::CONNECTING;
    m_timeout = Simulator::Schedule(CONNECT_TIMEOUT, &LinuxTcpSocket::OnConnectTimeout, this);
    m_connection->Connect(turn.Now());
    return 0;
}

void
LinuxTcpSocket::OnConnectTimeout()
{
    if (m_state == State::CONNECTING || m_state == State::ACCEPTING)
    {
        NS_LOG_ERROR("the other end does not answer");
        OnFailed();
    }
}

int
LinuxTcpSocket::Listen()
{
    // ns-3 makes an object even if a value of an attribute is refused.
    if (m_state != State::CLOSED || m_isClosed || !m_port->IsOpen() || m_congestionControl.empty())
    {
        return Fail(ERROR_INVAL);
    }
    m_state = State::LISTENING;
    return 0;
}

void
LinuxTcpSocket::Accept(ns3::Ptr<ns3::Packet> payload,
                       const ns3::TcpHeader& header,
                       const ns3::Address& from,
                       const ns3::Address& to)
{
    const uint8_t flags = header.GetFlags() & ~(TcpHeader::ECE | TcpHeader::CWR);
    if (flags & TcpHeader::RST)
    {
        return;
    }
    if (flags != TcpHeader::SYN)
    {
        Refuse(header, from, to);
        return;
    }
    if (!SentSegments::Find(header.GetSequenceNumber()))
    {
        NS_LOG_UNCOND("tunnelcc::LinuxTcpSocket refuses a connection: the other end is not a "
                      "tunnelcc::LinuxTcpSocket, too");
        Refuse(header, from, to);
        return;
    }
    if (NotifyConnectionRequest(from))
    {
        // Not now: a listener may have been told to close.
        Simulator::ScheduleNow(&LinuxTcpSocket::CompleteAccept,
                               CopyObject<LinuxTcpSocket>(Ptr<LinuxTcpSocket>(this)),
                               payload,
                               header,
                               from,
                               to);
    }
}

void
LinuxTcpSocket::CompleteAccept(ns3::Ptr<ns3::Packet> payload,
                               ns3::TcpHeader header,
                               ns3::Address from,
                               ns3::Address to)
{
    const auto tcp = Tcp();
    if (!tcp)
    {
        return;
    }
    if (!m_port->OpenTo(*tcp, GetBoundNetDevice(), to, from))
    {
        return; // a second copy of the SYN
    }
    OnBound();
    m_state = State::ACCEPTING;
    if (!FindRoute())
    {
        Finish();
        return;
    }
    const Ns3Turn turn;
    MakeConnection(LinuxTcpConnection::MssOf(header), false, SentSegments::Make());
    const bool asksForEcn = (header.GetFlags() & TcpHeader::ECE) != 0;
    const bool usesEcn = m_useEcn != TcpSocketState::Off || m_connection->Spec().ecn;
    m_connection->SetEcn(asksForEcn && usesEcn);
    m_timeout = Simulator::Schedule(CONNECT_TIMEOUT, &LinuxTcpSocket::OnConnectTimeout, this);
    m_connection->Receive(turn.Now(), header, payload, 0);
}

void
LinuxTcpSocket::OnOpen(int64_t now)
{
    const bool isClient = m_state == State::CONNECTING;
    m_state = State::CONNECTED;
    Simulator::Remove(m_timeout);
    if (isClient)
    {
        m_connection->WriteRest(now);
        NotifyConnectionSucceeded();
    }
    else
    {
        Address from;
        GetPeerName(from);
        NotifyNewConnectionCreated(this, from);
    }
    if (m_state == State::CONNECTED && !m_isClosed && m_connection->Room() > 0)
    {
        NotifySend(static_cast<uint32_t>(m_connection->Room()));
    }
}

// Data ------------------------------------------------------------------------------------------

int
LinuxTcpSocket::Send(ns3::Ptr<ns3::Packet> packet, uint32_t flags)
{
    if (flags != 0)
    {
        return Fail(ERROR_OPNOTSUPP);
    }
    if (m_isSendShut)
    {
        return Fail(ERROR_SHUTDOWN);
    }
    if (m_isClosed || (m_state != State::CONNECTED && m_state != State::CONNECTING))
    {
        return Fail(ERROR_NOTCONN);
    }
    if (packet->GetSize() > m_connection->Spec().sendBuffer)
    {
        return Fail(ERROR_MSGSIZE);
    }
    const Ns3Turn turn;
    const bool isTaken = m_connection->Write(turn.Now(), packet);
    UpdateTraces();
    return isTaken ? static_cast<int>(packet->GetSize()) : Fail(ERROR_MSGSIZE);
}

int
LinuxTcpSocket::SendTo(ns3::Ptr<ns3::Packet> packet, uint32_t flags, const ns3::Address& /* to */)
{
    return Send(packet, flags);
}

uint32_t
LinuxTcpSocket::GetTxAvailable() const
{
    m_waitsForRoom = true;
    return m_connection ? static_cast<uint32_t>(m_connection->Room()) : 0;
}

uint32_t
LinuxTcpSocket::GetRxAvailable() const
{
    return m_connection ? static_cast<uint32_t>(m_connection->Endpoint().Readable()) : 0;
}

ns3::Ptr<ns3::Packet>
LinuxTcpSocket::Recv(uint32_t maxSize, uint32_t flags)
{
    if (flags != 0)
    {
        Fail(ERROR_OPNOTSUPP);
        return nullptr;
    }
    const uint32_t size = std::min(maxSize, GetRxAvailable());
    if (size == 0)
    {
        Fail(m_connection ? ERROR_AGAIN : ERROR_NOTCONN);
        const bool isAtEnd = m_connection && m_connection->Endpoint().IsAtEof();
        return isAtEnd ? Create<ns3::Packet>() : nullptr;
    }
    const Ns3Turn turn;
    return m_connection->Read(turn.Now(), size);
}

ns3::Ptr<ns3::Packet>
LinuxTcpSocket::RecvFrom(uint32_t maxSize, uint32_t flags, ns3::Address& from)
{
    GetPeerName(from);
    return Recv(maxSize, flags);
}

void
LinuxTcpSocket::OnReadable(int64_t now)
{
    if (m_isReceiveShut && m_connection->Endpoint().Readable() > 0)
    {
        m_connection->Read(now, GetRxAvailable());
    }
    if (GetRxAvailable() > 0)
    {
        NotifyDataRecv();
    }
    if (m_connection->Endpoint().GetReceiver().IsFinished() &&
        !std::exchange(m_isClosedByPeer, true))
    {
        m_isPassive = !m_isClosed && !m_isSendShut;
        NotifyNormalClose();
    }
}

void
LinuxTcpSocket::OnWritable(int64_t now)
{
    if (m_connection->WriteRest(now) && !m_isClosed && !m_isSendShut)
    {
        m_waitsForRoom = false;
        NotifySend(static_cast<uint32_t>(m_connection->Room()));
    }
}

// Closing ---------------------------------------------------------------------------------------

int
LinuxTcpSocket::Close()
{
    if (m_isClosed)
    {
        return 0;
    }
    m_isClosed = true;
    const bool waits =
        m_state == State::CONNECTING && m_connection->Endpoint().GetSender().Buffer().Written() > 0;
    if (waits || (m_state == State::CONNECTED && GetRxAvailable() == 0))
    {
        const Ns3Turn turn;
        m_connection->Close(turn.Now());
        return 0;
    }
    if (m_state == State::CONNECTED || m_state == State::CONNECTING)
    {
        // RFC 2525, section 2.17: what was not read is lost, and the other end is told.
        const Ns3Turn turn;
        m_connection->Reset();
    }
    if (m_state != State::FINISHED)
    {
        Finish();
    }
    return 0;
}

int
LinuxTcpSocket::ShutdownSend()
{
    if (m_state != State::CONNECTED)
    {
        return Fail(ERROR_NOTCONN);
    }
    if (!std::exchange(m_isSendShut, true) && !m_isClosed)
    {
        const Ns3Turn turn;
        m_connection->Close(turn.Now());
    }
    return 0;
}

int
LinuxTcpSocket::ShutdownRecv()
{
    m_isReceiveShut = true;
    return 0;
}

void
LinuxTcpSocket::OnFailed()
{
    m_errno = ERROR_NOTCONN;
    const bool isConnecting = m_state == State::CONNECTING;
    const bool isTold = m_state != State::ACCEPTING;
    Finish();
    if (isTold)
    {
        isConnecting ? NotifyConnectionFailed() : NotifyErrorClose();
    }
}

void
LinuxTcpSocket::OnDataTimeout()
{
    if (m_state == State::CONNECTED)
    {
        NS_LOG_ERROR("the other end does not answer");
        OnFailed();
    }
}

void
LinuxTcpSocket::Finish()
{
    if (m_state == State::CLOSED && !m_port->IsOpen())
    {
        return;
    }
    const Ptr<LinuxTcpSocket> self(this);
    m_state = State::CLOSED;
    Simulator::Remove(m_timeout);
    if (m_factory)
    {
        m_factory->Remove(self);
    }
    if (const auto tcp = Tcp())
    {
        m_port->Close(*tcp);
    }
    // Not now: it may be at work.
    Simulator::ScheduleNow(&LinuxTcpSocket::Release, self);
}

void
LinuxTcpSocket::Release()
{
    m_connection.reset();
}

void
LinuxTcpSocket::OnPortDestroyed()
{
    m_state = State::CLOSED;
    Simulator::Remove(m_timeout);
}

// Segments --------------------------------------------------------------------------------------

void
LinuxTcpSocket::SendSegment(ns3::TcpHeader& header, ns3::Ptr<ns3::Packet> payload, uint8_t ecn)
{
    const auto tcp = Tcp();
    if (!m_port->IsOpen() || !tcp)
    {
        return;
    }
    const uint8_t tos = (GetIpTos() & 0xfc) | ecn;
    if (tos != 0 && !m_port->IsIpv6())
    {
        SocketIpTosTag tag;
        tag.SetTos(tos);
        payload->ReplacePacketTag(tag);
    }
    const auto priority = GetPriority();
    if (priority != 0)
    {
        SocketPriorityTag tag;
        tag.SetPriority(priority);
        payload->ReplacePacketTag(tag);
    }
    const uint8_t trafficClass = ((IsManualIpv6Tclass() ? GetIpv6Tclass() : 0) & 0xfc) | ecn;
    if (trafficClass != 0 && m_port->IsIpv6())
    {
        SocketIpv6TclassTag tag;
        tag.SetTclass(trafficClass);
        payload->ReplacePacketTag(tag);
    }
    if (IsManualIpTtl() && !m_port->IsIpv6())
    {
        SocketIpTtlTag tag;
        tag.SetTtl(GetIpTtl());
        payload->ReplacePacketTag(tag);
    }
    if (IsManualIpv6HopLimit() && m_port->IsIpv6())
    {
        SocketIpv6HopLimitTag tag;
        tag.SetHopLimit(GetIpv6HopLimit());
        payload->ReplacePacketTag(tag);
    }
    UpdateTraces();
    m_port->WritePorts(header);
    m_tx(payload, header, this);
    m_port->Send(*tcp, payload, header, m_boundnetdevice);
    if (m_state == State::CONNECTED &&
        m_connection->Endpoint().GetSender().Counters().rtos > m_timeouts + DATA_RETRIES)
    {
        m_timeouts = UINT64_MAX - DATA_RETRIES; // once
        Simulator::ScheduleNow(&LinuxTcpSocket::OnDataTimeout, Ptr<LinuxTcpSocket>(this));
    }
}

void
LinuxTcpSocket::OnSegment(ns3::Ptr<ns3::Packet> packet,
                          const ns3::Address& from,
                          const ns3::Address& to,
                          uint8_t ecn)
{
    const Ptr<LinuxTcpSocket> self(this);
    SocketPriorityTag tag;
    packet->RemovePacketTag(tag);
    TcpHeader header;
    packet->RemoveHeader(header);
    m_rx(packet, header, this);
    const Ns3Turn turn;
    if (m_state == State::LISTENING)
    {
        Accept(packet, header, from, to);
        return;
    }
    if (!m_connection || m_state == State::CLOSED)
    {
        Refuse(header, from, to);
        return;
    }
    const uint8_t flags = header.GetFlags();
    if (flags & TcpHeader::RST)
    {
        OnFailed();
        return;
    }
    if (m_state == State::CONNECTING && (flags & TcpHeader::SYN))
    {
        if (!OnSynAck(turn.Now(), header, from, to))
        {
            return;
        }
    }
    if (m_connection->Receive(turn.Now(), header, packet, ecn) && m_connection)
    {
        AfterSegment(turn.Now());
    }
}

bool
LinuxTcpSocket::OnSynAck(int64_t now,
                         const ns3::TcpHeader& header,
                         const ns3::Address& from,
                         const ns3::Address& to)
{
    if (!(header.GetFlags() & TcpHeader::ACK))
    {
        return false; // both ends open at once, which the models do not know
    }
    if (!SentSegments::Find(header.GetSequenceNumber()))
    {
        NS_LOG_UNCOND("tunnelcc::LinuxTcpSocket gives up a connection: the other end is not a "
                      "tunnelcc::LinuxTcpSocket, too");
        Refuse(header, from, to);
        OnFailed();
        return false;
    }
    const uint32_t mss = LinuxTcpConnection::MssOf(header);
    if (mss > 0 && mss < m_connection->Spec().mss)
    {
        const auto before = std::move(m_connection);
        MakeConnection(mss, true, before->Sent());
        m_connection->TakeOver(now, *before);
    }
    return true;
}

void
LinuxTcpSocket::Refuse(const ns3::TcpHeader& header,
                       const ns3::Address& from,
                       const ns3::Address& to)
{
    const uint8_t flags = header.GetFlags();
    const auto tcp = Tcp();
    if ((flags & TcpHeader::RST) || !tcp)
    {
        return;
    }
    // RFC 9293, section 3.10.7.1
    TcpHeader answer;
    const bool hasAck = (flags & TcpHeader::ACK) != 0;
    answer.SetFlags(hasAck ? TcpHeader::RST : TcpHeader::RST | TcpHeader::ACK);
    answer.SetSequenceNumber(hasAck ? header.GetAckNumber() : SequenceNumber32(0));
    answer.SetAckNumber(hasAck ? SequenceNumber32(0) : header.GetSequenceNumber() + 1);
    answer.SetSourcePort(header.GetDestinationPort());
    answer.SetDestinationPort(header.GetSourcePort());
    tcp->SendPacket(Create<ns3::Packet>(), answer, to, from, m_boundnetdevice);
}

void
LinuxTcpSocket::AfterSegment(int64_t now)
{
    UpdateTraces();
    const TcpEndpoint& endpoint = m_connection->Endpoint();
    const uint64_t acked = endpoint.GetSender().Buffer().Acked();
    const bool isProgress = acked > std::exchange(m_acked, acked);
    if (isProgress)
    {
        m_timeouts = endpoint.GetSender().Counters().rtos;
    }
    if (m_state == State::CONNECTED && m_connection->IsFinished())
    {
        m_state = State::FINISHED;
        Simulator::Schedule(m_isPassive ? Time() : 2 * ns3::Seconds(m_maxSegmentLifetime),
                            &LinuxTcpSocket::OnTimeWaitEnd,
                            Ptr<LinuxTcpSocket>(this));
        return;
    }
    if (const uint32_t sent = m_connection->TakeSent(); sent > 0)
    {
        NotifyDataSent(sent);
    }
    if (isProgress && m_waitsForRoom && m_state == State::CONNECTED && !m_isClosed && !m_isSendShut)
    {
        if (const uint64_t room = m_connection->Room(); room > 0)
        {
            m_waitsForRoom = false;
            NotifySend(static_cast<uint32_t>(room));
        }
        else
        {
            m_connection->WaitForRoom(now);
        }
    }
}

void
LinuxTcpSocket::OnTimeWaitEnd()
{
    if (m_isClosed || GetRxAvailable() == 0)
    {
        Finish();
    }
}

void
LinuxTcpSocket::UpdateTraces()
{
    if (!m_connection)
    {
        return;
    }
    const SenderState& state = m_connection->Endpoint().GetSender().State();
    m_cwnd = state.cwnd * state.mss;
    m_ssthresh =
        static_cast<uint32_t>(std::min<uint64_t>(uint64_t{state.ssthresh} * state.mss, UINT32_MAX));
    m_inFlight = static_cast<uint32_t>(m_connection->Endpoint().GetSender().BytesInFlight());
    m_srtt = NanoSeconds(state.srtt);
    m_pacingRate = DataRate(static_cast<uint64_t>(std::min(8 * state.pacingRate, 1e18)));
}

} // namespace tunnelcc
