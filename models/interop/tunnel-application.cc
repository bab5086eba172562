/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-application.h"

#include "spec/refuse.h"

#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Refuse a relay that would read nothing at once, for ever.
void
CheckRelay(const RelaySpec& spec)
{
    if (spec.copyBuffer == 0)
    {
        Refuse("copyBuffer: expected 1 byte or more, got 0");
    }
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(TunnelApplication);

ns3::TypeId
TunnelApplication::GetTypeId()
{
    static ns3::TypeId tid =
        ns3::TypeId("tunnelcc::TunnelApplication")
            .SetParent<ns3::Application>()
            .SetGroupName("Tunnelcc")
            .AddConstructor<TunnelApplication>()
            .AddAttribute("Local",
                          "Where the server listens.",
                          ns3::AddressValue(),
                          ns3::MakeAddressAccessor(&TunnelApplication::m_local),
                          ns3::MakeAddressChecker())
            .AddAttribute("Remote",
                          "Where the client connects to.",
                          ns3::AddressValue(),
                          ns3::MakeAddressAccessor(&TunnelApplication::m_remote),
                          ns3::MakeAddressChecker())
            .AddAttribute("Protocol",
                          "Socket factory of the carrier.",
                          ns3::TypeIdValue(ns3::TcpSocketFactory::GetTypeId()),
                          ns3::MakeTypeIdAccessor(&TunnelApplication::m_protocol),
                          ns3::MakeTypeIdChecker())
            .AddAttribute("MaxBytes",
                          "Application bytes to send, after which the end closes; 0: sends none.",
                          ns3::UintegerValue(0),
                          ns3::MakeUintegerAccessor(&TunnelApplication::m_maxBytes),
                          ns3::MakeUintegerChecker<uint64_t>())
            .AddTraceSource("Rx",
                            "Application bytes of a message that arrived.",
                            ns3::MakeTraceSourceAccessor(&TunnelApplication::m_rx),
                            "tunnelcc::TunnelApplication::RxCallback")
            .AddTraceSource("PeerClosed",
                            "The other end has closed, and all that it sent has arrived.",
                            ns3::MakeTraceSourceAccessor(&TunnelApplication::m_peerClosed),
                            "ns3::TracedCallback::Empty")
            .AddTraceSource("Failed",
                            "The carrier could not be opened, or broke.",
                            ns3::MakeTraceSourceAccessor(&TunnelApplication::m_failed),
                            "ns3::TracedCallback::Empty");
    return tid;
}

void
TunnelApplication::SetClient(const RelaySpec& spec)
{
    CheckRelay(spec);
    m_spec = spec;
    m_end = End::CLIENT;
}

void
TunnelApplication::SetServer(const RelaySpec& spec, ns3::Ptr<TunnelApplication> client)
{
    CheckRelay(spec);
    m_spec = spec;
    m_end = End::SERVER;
    m_peer = std::move(client);
}

uint64_t
TunnelApplication::CarrierBytes() const
{
    return m_stream ? m_stream->Written() : 0;
}

uint64_t
TunnelApplication::ReceivedBytes() const
{
    return m_received;
}

void
TunnelApplication::DoDispose()
{
    m_carrier.reset();
    m_stream.reset();
    m_listener = nullptr;
    m_peer = nullptr;
    Application::DoDispose();
}

// The carrier ----------------------------------------------------------------------------------

void
TunnelApplication::StartApplication()
{
    auto socket = ns3::Socket::CreateSocket(GetNode(), m_protocol);
    if (m_end == End::CLIENT)
    {
        socket->Bind();
        AddCarrier(socket, std::make_shared<CarrierSide::Logs>());
        m_carrier->Open(ns3::Simulator::Now().GetNanoSeconds());
        return;
    }
    if (socket->Bind(m_local) < 0 || socket->Listen() < 0)
    {
        Refuse("tunnelcc::TunnelApplication cannot listen at Local");
    }
    socket->SetAcceptCallback(
        ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
        ns3::MakeCallback(&TunnelApplication::OnAccepted, this));
    m_listener = socket;
}

void
TunnelApplication::OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& /* from */)
{
    if (m_carrier || !m_peer || !m_peer->m_carrier)
    {
        throw std::logic_error("a connection reached tunnelcc::TunnelApplication that is not its "
                               "client's");
    }
    AddCarrier(socket, m_peer->m_logs);
}

void
TunnelApplication::AddCarrier(ns3::Ptr<ns3::Socket> socket, std::shared_ptr<CarrierSide::Logs> logs)
{
    m_logs = std::move(logs);
    m_left = m_maxBytes;
    m_stream =
        std::make_unique<SocketStream>(std::move(socket),
                                       m_remote,
                                       ns3::MakeCallback(&TunnelApplication::OnFailed, this));
    m_carrier = std::make_unique<CarrierSide>(m_spec, m_end, *m_stream, *m_logs);
    m_carrier->SetUser(*this);
}

void
TunnelApplication::StopApplication()
{
    if (m_listener)
    {
        m_listener->Close();
    }
    if (m_carrier)
    {
        m_isStopped = true;
        m_stream->SetUser(nullptr); // what the socket has not taken is not sent
        Close(ns3::Simulator::Now().GetNanoSeconds());
    }
}

void
TunnelApplication::OnFailed(ns3::Ptr<ns3::Socket> /* socket */)
{
    if (!std::exchange(m_isStopped, true))
    {
        m_stream->SetUser(nullptr);
        m_isClosed = true;
        m_failed();
    }
}

// Application bytes ----------------------------------------------------------------------------

void
TunnelApplication::OnOpen(int64_t now)
{
    m_isOpen = true;
    m_carrier->Accept(now);
    OnWritable(now);
}

void
TunnelApplication::OnWritable(int64_t now)
{
    if (Send(now) && m_maxBytes > 0)
    {
        Close(now);
    }
}

bool
TunnelApplication::Send(int64_t now)
{
    while (m_carrier->Write(now))
    {
        if (m_left == 0)
        {
            return true;
        }
        uint64_t bytes = std::min<uint64_t>(m_left, m_spec.copyBuffer);
        m_left -= bytes;
        m_carrier->Prepare(static_cast<uint32_t>(bytes));
    }
    return false;
}

void
TunnelApplication::Close(int64_t now)
{
    if (!std::exchange(m_isClosed, true))
    {
        m_carrier->Close(now);
    }
}

void
TunnelApplication::OnReadable(int64_t now)
{
    while (uint32_t bytes = m_carrier->Read(now, UINT32_MAX).bytes)
    {
        m_received += bytes;
        m_rx(bytes);
    }
    if (m_carrier->IsFinished() && !std::exchange(m_hasPeerClosed, true))
    {
        m_peerClosed();
        if (m_isOpen ? Send(now) : m_left == 0)
        {
            Close(now);
        }
    }
}

} // namespace tunnelcc
