/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_TCP_SOCKET_H
#define TUNNELCC_LINUX_TCP_SOCKET_H

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/socket.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/traced-callback.h"
#include "ns3/traced-value.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ns3
{
class TcpHeader;
} // namespace ns3

namespace tunnelcc
{

class LinuxTcpConnection;
class LinuxTcpSocketFactory;
class SentSegments;
class TcpEndpoint;
class TcpPort;

/**
 * This project's TCP as an ns3::Socket, on the Internet stack of a node: for any application,
 * device, queue disc and routing of ns-3, over IPv4 and IPv6, with real headers and contents.
 *
 * It uses the node's ns3::TcpL4Protocol for ports, checksums and IP, beside sockets of ns-3. Both
 * ends of a connection have to be sockets of this kind; others are refused. It behaves as
 * ns3::TcpSocketBase to the application, with these differences:
 * - Send() takes a whole packet if the send buffer has room for a part of it, as a write of Linux
 *   that blocks does. A full buffer wakes the application once a third of it is free, also as
 * Linux.
 * - NotifyDataSent() comes with the next segment that arrives, for all that was sent before.
 * - A SYN is sent again as in Linux; data is given up after 15 time-outs in a row (tcp_retries2).
 *
 * Left out: urgent data, keepalives, path MTU discovery, and queues of the sending host (TCP small
 * queues), so a queue disc of the own node drops as any other.
 *
 * This header includes headers of ns-3 only, so that programs need no others.
 */
class [[gnu::visibility("default")]] LinuxTcpSocket final : public ns3::Socket
{
  public:
    static ns3::TypeId GetTypeId();

    LinuxTcpSocket();
    /// A socket with the same attributes and callbacks, for a connection of a listener.
    LinuxTcpSocket(const LinuxTcpSocket& listener);
    ~LinuxTcpSocket() override;

    /// \param factory that made it
    void SetFactory(ns3::Ptr<LinuxTcpSocketFactory> factory);

    SocketErrno GetErrno() const override;
    SocketType GetSocketType() const override;
    ns3::Ptr<ns3::Node> GetNode() const override;
    int Bind() override;
    int Bind6() override;
    int Bind(const ns3::Address& address) override;
    int Connect(const ns3::Address& address) override;
    int Listen() override;
    int Close() override;
    int ShutdownSend() override;
    int ShutdownRecv() override;
    int Send(ns3::Ptr<ns3::Packet> packet, uint32_t flags) override;
    int SendTo(ns3::Ptr<ns3::Packet> packet, uint32_t flags, const ns3::Address& to) override;
    ns3::Ptr<ns3::Packet> Recv(uint32_t maxSize, uint32_t flags) override;
    ns3::Ptr<ns3::Packet> RecvFrom(uint32_t maxSize, uint32_t flags, ns3::Address& from) override;
    uint32_t GetTxAvailable() const override;
    uint32_t GetRxAvailable() const override;
    int GetSockName(ns3::Address& address) const override;
    int GetPeerName(ns3::Address& address) const override;
    void BindToNetDevice(ns3::Ptr<ns3::NetDevice> device) override;
    bool SetAllowBroadcast(bool isAllowed) override;
    bool GetAllowBroadcast() const override;

    using ns3::Socket::Recv;
    using ns3::Socket::RecvFrom;
    using ns3::Socket::Send;
    using ns3::Socket::SendTo;

    /// Segments that were sent again; 0: there is no connection.
    uint64_t GetRetransmits() const;
    /// Smoothed round-trip time; 0: there is none yet.
    ns3::Time GetRtt() const;

    /// The endpoint of the models, for what else there is (transport/endpoint.h); null: there is no
    /// connection.
    const TcpEndpoint* Endpoint() const;

    /// Signature of the trace sources Tx and Rx.
    using SegmentCallback = void (*)(ns3::Ptr<const ns3::Packet> packet,
                                     const ns3::TcpHeader& header,
                                     ns3::Ptr<const LinuxTcpSocket> socket);

  protected:
    void DoDispose() override;

  private:
    enum class State
    {
        CLOSED,
        LISTENING,
        CONNECTING, //!< SYN was sent
        ACCEPTING,  //!< SYN-ACK was sent
        CONNECTED,  //!< FIN may have gone one way, or both
        FINISHED    //!< both ways; repeated segments are answered (TIME-WAIT)
    };

    class Events; //!< of the connection

    void SendSegment(ns3::TcpHeader& header, ns3::Ptr<ns3::Packet> payload, uint8_t ecn);
    void OnOpen(int64_t now);
    void OnReadable(int64_t now);
    void OnWritable(int64_t now);

    bool SetCongestionControl(std::string text);
    std::string GetCongestionControl() const;

    /// Tell why a call fails. \returns -1
    int Fail(SocketErrno why) const;
    /// The node's TCP; null: it has none.
    ns3::Ptr<ns3::TcpL4Protocol> Tcp() const;
    int OnBound();
    /// The route to the other end sets the MTU, and a client's address. \returns whether there is
    /// one
    bool FindRoute();
    /// \param mss of the other end, without options; 0: not known  \param isClient it opens
    void MakeConnection(uint32_t mss, bool isClient, std::shared_ptr<SentSegments> sent);

    void OnPortDestroyed();
    void OnSegment(ns3::Ptr<ns3::Packet> packet,
                   const ns3::Address& from,
                   const ns3::Address& to,
                   uint8_t ecn);
    /// A listener has a segment.
    void Accept(ns3::Ptr<ns3::Packet> payload,
                const ns3::TcpHeader& header,
                const ns3::Address& from,
                const ns3::Address& to);
    void CompleteAccept(ns3::Ptr<ns3::Packet> payload,
                        ns3::TcpHeader header,
                        ns3::Address from,
                        ns3::Address to);
    /// The first answer to SYN comes. \returns whether to take it in
    bool OnSynAck(int64_t now,
                  const ns3::TcpHeader& header,
                  const ns3::Address& from,
                  const ns3::Address& to);
    /// Answer with RST.
    void Refuse(const ns3::TcpHeader& header, const ns3::Address& from, const ns3::Address& to);
    void AfterSegment(int64_t now);
    void UpdateTraces();
    /// The handshake takes too long.
    void OnConnectTimeout();
    void OnDataTimeout();
    void OnTimeWaitEnd();
    /// The connection breaks, or does not come about.
    void OnFailed();
    /// Forget the connection and its ports.
    void Finish();
    void Release();

    // Settings
    std::string m_congestionControl;
    uint32_t m_segmentSize{0}; //!< attribute; 0: what the route's MTU has room for
    uint32_t m_sndBufSize{0};
    uint32_t m_rcvBufSize{0};
    uint32_t m_initialCwnd{0};
    uint32_t m_delAckCount{0};
    ns3::Time m_minRto;
    ns3::Time m_delAckTimeout;
    double m_maxSegmentLifetime{0}; //!< s
    bool m_noDelay{false};
    ns3::TcpSocketState::UseEcn_t m_useEcn{ns3::TcpSocketState::AcceptOnly};

    ns3::Ptr<LinuxTcpSocketFactory> m_factory;
    const std::unique_ptr<TcpPort> m_port;
    const std::unique_ptr<Events> m_events;
    std::unique_ptr<LinuxTcpConnection> m_connection;
    State m_state{State::CLOSED};
    mutable SocketErrno m_errno{ERROR_NOTERROR};
    mutable bool m_waitsForRoom{false}; //!< the application has asked how much room there is
    bool m_isClosed{false};             //!< by the application
    bool m_isSendShut{false};
    bool m_isReceiveShut{false};
    bool m_isClosedByPeer{false};
    bool m_isPassive{false}; //!< the other end closed first
    ns3::EventId m_timeout;  //!< of the handshake
    uint32_t m_mtu{0};       //!< IP bytes of a packet on the route
    uint64_t m_acked{0};     //!< payload bytes acknowledged, as seen last
    uint64_t m_timeouts{0};  //!< of the sender when data was acknowledged last

    ns3::TracedValue<uint32_t> m_cwnd{0};
    ns3::TracedValue<uint32_t> m_ssthresh{0};
    ns3::TracedValue<uint32_t> m_inFlight{0};
    ns3::TracedValue<ns3::Time> m_srtt;
    ns3::TracedValue<ns3::DataRate> m_pacingRate;
    ns3::TracedCallback<ns3::Ptr<const ns3::Packet>,
                        const ns3::TcpHeader&,
                        ns3::Ptr<const LinuxTcpSocket>>
        m_tx;
    ns3::TracedCallback<ns3::Ptr<const ns3::Packet>,
                        const ns3::TcpHeader&,
                        ns3::Ptr<const LinuxTcpSocket>>
        m_rx;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINUX_TCP_SOCKET_H
