/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-application.h"

#include "layer.h"
#include "message-log.h"

#include "ns3/packet.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tunnelcc
{

/// One end of the carrier's connection.
class TunnelApplication::Carrier
{
  public:
    /// Where messages of either direction end; offsets count from the end of the handshake.
    struct Messages
    {
        MessageLog toServer;
        MessageLog toClient;
    };

    Carrier(TunnelApplication& application,
            ns3::Ptr<ns3::Socket> socket,
            std::shared_ptr<Messages> messages)
        : m_application(application),
          m_spec(application.m_spec),
          m_isClient(application.m_isClient),
          m_socket(std::move(socket)),
          m_layers(m_isClient ? m_spec.toServer : m_spec.toClient),
          m_prefix(m_isClient ? m_spec.requestBytes : m_spec.responseBytes),
          m_left(application.m_maxBytes),
          m_messages(std::move(messages)),
          m_sent(m_isClient ? m_messages->toServer : m_messages->toClient),
          m_received(m_isClient ? m_messages->toClient : m_messages->toServer)
    {
        m_socket->SetConnectCallback(ns3::MakeCallback(&Carrier::OnConnected, this),
                                     ns3::MakeCallback(&Carrier::OnFailed, this));
        m_socket->SetCloseCallbacks(ns3::MakeCallback(&Carrier::OnPeerClosed, this),
                                    ns3::MakeCallback(&Carrier::OnFailed, this));
        m_socket->SetRecvCallback(ns3::MakeCallback(&Carrier::OnReadable, this));
        m_socket->SetSendCallback(ns3::MakeCallback(&Carrier::OnWritable, this));
    }

    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

    ~Carrier()
    {
        m_socket->SetConnectCallback(NO_CALLBACK, NO_CALLBACK);
        m_socket->SetCloseCallbacks(NO_CALLBACK, NO_CALLBACK);
        m_socket->SetRecvCallback(NO_CALLBACK);
        m_socket->SetSendCallback(ns3::MakeNullCallback<void, ns3::Ptr<ns3::Socket>, uint32_t>());
    }

    const std::shared_ptr<Messages>& GetMessages() const
    {
        return m_messages;
    }

    uint64_t WrittenBytes() const
    {
        return m_writtenBytes;
    }

    /// Close; what the socket has not taken yet is not sent, and nothing more is received.
    void Stop()
    {
        m_left = 0;
        m_writes.clear();
        m_isStopped = true;
        Close();
    }

  private:
    static inline const ns3::Callback<void, ns3::Ptr<ns3::Socket>> NO_CALLBACK{};

    void OnConnected(ns3::Ptr<ns3::Socket> /* socket */)
    {
        SpeakHandshake();
        Advance();
    }

    void OnReadable(ns3::Ptr<ns3::Socket> /* socket */)
    {
        Advance();
    }

    void OnWritable(ns3::Ptr<ns3::Socket> /* socket */, uint32_t /* bytes */)
    {
        Advance();
    }

    void OnFailed(ns3::Ptr<ns3::Socket> /* socket */)
    {
        if (!std::exchange(m_isStopped, true))
        {
            m_isClosed = true;
            m_application.m_failed();
        }
    }

    void OnPeerClosed(ns3::Ptr<ns3::Socket> /* socket */)
    {
        if (m_isStopped)
        {
            return;
        }
        Advance();
        m_application.m_peerClosed();
        if (m_left == 0 && m_writes.empty())
        {
            Close();
        }
    }

    void Close()
    {
        if (!std::exchange(m_isClosed, true))
        {
            m_socket->Close();
        }
    }

    /// Do whatever the socket allows now.
    void Advance()
    {
        if (m_isStopped)
        {
            return;
        }
        while (!IsHandshakeDone() && HearHandshake())
        {
        }
        if (IsHandshakeDone())
        {
            Receive();
            Send();
        }
        else
        {
            Flush();
        }
    }

    bool IsHandshakeDone() const
    {
        return m_turn == m_spec.handshake.size();
    }

    /// The client speaks first in each turn.
    void SpeakHandshake()
    {
        if (m_isClient && !IsHandshakeDone())
        {
            AddWrites(m_spec.handshake[m_turn].client);
        }
    }

    /// Read on in what the peer says this turn, and answer. \returns whether the turn is over
    bool HearHandshake()
    {
        const HandshakeTurn& turn = m_spec.handshake[m_turn];
        const std::vector<uint32_t>& expected = m_isClient ? turn.server : turn.client;
        uint32_t total = std::reduce(expected.begin(), expected.end());
        m_heard += Read(total - m_heard);
        if (m_heard < total)
        {
            return false;
        }
        m_heard = 0;
        if (!m_isClient)
        {
            AddWrites(turn.server);
        }
        ++m_turn;
        SpeakHandshake();
        return true;
    }

    /// Wrap and write as long as the socket takes it; close after the last byte.
    void Send()
    {
        while (Flush() && m_left > 0)
        {
            auto payload = static_cast<uint32_t>(std::min<uint64_t>(m_left, m_spec.copyBuffer));
            m_left -= payload;
            const auto& writes = m_layers.Wrap(std::exchange(m_prefix, 0) + payload);
            uint32_t wire = std::reduce(writes.begin(), writes.end());
            m_sentBytes += wire;
            m_sent.Push({m_sentBytes, wire, payload, static_cast<uint32_t>(writes.size())});
            AddWrites(writes);
        }
        if (m_left == 0 && m_writes.empty() && m_application.m_maxBytes > 0)
        {
            Close();
        }
    }

    /// Take the messages of which all has arrived.
    void Receive()
    {
        while (!m_received.IsEmpty())
        {
            const Message& message = m_received.Front();
            m_receivedBytes += Read(static_cast<uint32_t>(message.end - m_receivedBytes));
            if (m_receivedBytes < message.end)
            {
                return;
            }
            m_application.m_received += message.payload;
            m_application.m_rx(message.payload);
            m_received.Pop();
        }
    }

    uint32_t Read(uint32_t most)
    {
        if (most == 0 || m_socket->GetRxAvailable() == 0)
        {
            return 0;
        }
        auto packet = m_socket->Recv(most, 0);
        return packet ? packet->GetSize() : 0;
    }

    void AddWrites(const std::vector<uint32_t>& writes)
    {
        m_writes.insert(m_writes.end(), writes.begin(), writes.end());
        m_writtenBytes += std::reduce(writes.begin(), writes.end());
    }

    /// Hand writes to the socket as it has room. \returns whether it has taken all
    bool Flush()
    {
        while (!m_writes.empty())
        {
            uint32_t& left = m_writes.front();
            uint32_t bytes = std::min(left, m_socket->GetTxAvailable());
            if (bytes == 0 || m_socket->Send(ns3::Create<ns3::Packet>(bytes)) < 0)
            {
                return false;
            }
            left -= bytes;
            if (left == 0)
            {
                m_writes.pop_front();
            }
        }
        return true;
    }

    TunnelApplication& m_application;
    const RelaySpec& m_spec;
    const bool m_isClient;
    ns3::Ptr<ns3::Socket> m_socket;
    LayerStack m_layers;
    uint32_t m_prefix; //!< bytes before the first message's payload
    uint64_t m_left;   //!< application bytes not yet wrapped
    std::shared_ptr<Messages> m_messages;
    MessageLog& m_sent;
    MessageLog& m_received;
    size_t m_turn{0};              //!< of the handshake
    uint32_t m_heard{0};           //!< bytes of the peer's turn
    std::deque<uint32_t> m_writes; //!< not yet taken by the socket
    uint64_t m_writtenBytes{0};    //!< handshake and messages
    uint64_t m_sentBytes{0};       //!< messages
    uint64_t m_receivedBytes{0};   //!< messages
    bool m_isClosed{false};        //!< our end
    bool m_isStopped{false};       //!< nothing more is to be done
};

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

TunnelApplication::TunnelApplication() = default;

TunnelApplication::~TunnelApplication() = default;

void
TunnelApplication::SetClient(const RelaySpec& spec)
{
    m_spec = spec;
    m_isClient = true;
}

void
TunnelApplication::SetServer(const RelaySpec& spec, ns3::Ptr<TunnelApplication> client)
{
    m_spec = spec;
    m_isClient = false;
    m_peer = std::move(client);
}

uint64_t
TunnelApplication::CarrierBytes() const
{
    return m_carrier ? m_carrier->WrittenBytes() : 0;
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
    m_listener = nullptr;
    m_peer = nullptr;
    Application::DoDispose();
}

void
TunnelApplication::StartApplication()
{
    auto socket = ns3::Socket::CreateSocket(GetNode(), m_protocol);
    if (m_isClient)
    {
        socket->Bind();
        m_carrier = std::make_unique<Carrier>(*this, socket, std::make_shared<Carrier::Messages>());
        socket->Connect(m_remote);
        return;
    }
    if (socket->Bind(m_local) < 0 || socket->Listen() < 0)
    {
        throw std::invalid_argument("tunnelcc::TunnelApplication cannot listen at Local");
    }
    socket->SetAcceptCallback(
        ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
        ns3::MakeCallback(&TunnelApplication::OnAccepted, this));
    m_listener = socket;
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
        m_carrier->Stop();
    }
}

void
TunnelApplication::OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& /* from */)
{
    if (m_carrier || !m_peer || !m_peer->m_carrier)
    {
        throw std::logic_error("a connection reached tunnelcc::TunnelApplication that is not its "
                               "client's");
    }
    m_carrier = std::make_unique<Carrier>(*this, socket, m_peer->m_carrier->GetMessages());
}

} // namespace tunnelcc
