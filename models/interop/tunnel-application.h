/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_APPLICATION_H
#define TUNNELCC_TUNNEL_APPLICATION_H

#include "socket-stream.h"
#include "tunnel/carrier-side.h"

#include "ns3/application.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/**
 * One end of a relay tunnel's carrier as an ordinary ns-3 application, for any topology and any
 * TCP socket of ns-3.
 *
 * It sends and receives the application's bytes itself. A separate application on the same host
 * would stall, because ns-3's sockets do not tell when a window opens again. Install one on a node
 * of each side, give both the same RelaySpec, and give the server its client; each pair has one
 * carrier. Bytes have no contents: the two ends tell each other where messages end. Left out: CPU
 * costs, and the parts of RelaySpec about TCP and loopbacks, which the sockets decide.
 */
class TunnelApplication : public ns3::Application, private StreamUser
{
  public:
    /// Attributes Local, Remote, Protocol, MaxBytes; trace sources Rx, PeerClosed, Failed.
    static ns3::TypeId GetTypeId();

    /// Signature of the trace source Rx. \param bytes of the application that arrived together
    using RxCallback = void (*)(uint64_t bytes);

    /// Be the end that opens the carrier. \param spec the tunnel
    void SetClient(const RelaySpec& spec);

    /// Be the end that the carrier reaches. \param spec the tunnel  \param client the other end
    void SetServer(const RelaySpec& spec, ns3::Ptr<TunnelApplication> client);

    /// TCP payload bytes that the carrier's socket has taken, handshake included.
    uint64_t CarrierBytes() const;

    /// Application bytes that have arrived, in whole messages.
    uint64_t ReceivedBytes() const;

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;
    void OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    void OnFailed(ns3::Ptr<ns3::Socket> socket);
    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;

    void AddCarrier(ns3::Ptr<ns3::Socket> socket, std::shared_ptr<CarrierSide::Logs> logs);
    bool Send(int64_t now);
    void Close(int64_t now);

    ns3::Address m_local;   //!< server: address at which it listens
    ns3::Address m_remote;  //!< client: address to which it connects
    ns3::TypeId m_protocol; //!< type of the socket factory
    uint64_t m_maxBytes{0}; //!< application bytes to send
    uint64_t m_left{0};     //!< of them, not yet in a message
    uint64_t m_received{0}; //!< application bytes that arrived
    RelaySpec m_spec;
    End m_end{End::CLIENT};
    ns3::Ptr<TunnelApplication> m_peer; //!< the client, if this is the server
    ns3::Ptr<ns3::Socket> m_listener;
    std::shared_ptr<CarrierSide::Logs> m_logs; //!< shared with the peer
    std::unique_ptr<SocketStream> m_stream;
    std::unique_ptr<CarrierSide> m_carrier;
    bool m_isOpen{false};
    bool m_isClosed{false};  //!< our end is closed
    bool m_isStopped{false}; //!< it has stopped, and does nothing more
    bool m_hasPeerClosed{false};
    ns3::TracedCallback<uint64_t> m_rx;
    ns3::TracedCallback<> m_peerClosed;
    ns3::TracedCallback<> m_failed;
};

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_APPLICATION_H
