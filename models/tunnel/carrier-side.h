/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CARRIER_SIDE_H
#define TUNNELCC_CARRIER_SIDE_H

#include "handshake.h"
#include "layer.h"
#include "message-log.h"
#include "relay-side.h"

namespace tunnelcc
{

/// What is wrapped around one direction of a carrier, and what that costs.
struct CarrierDirectionSpec
{
    const std::vector<LayerSpec>& layers;
    uint32_t prefix; //!< bytes before a flow's first payload (relay request or response)
    const RelayWorkSpec& send;
    const RelayWorkSpec& receive;
};

/// What a carrier does in the direction to the server, or to the client.
inline CarrierDirectionSpec
DirectionOf(const RelaySpec& spec, bool isToServer)
{
    return isToServer ? CarrierDirectionSpec{spec.toServer,
                                             spec.requestBytes,
                                             spec.costToServer.send,
                                             spec.costToServer.receive}
                      : CarrierDirectionSpec{spec.toClient,
                                             spec.responseBytes,
                                             spec.costToClient.send,
                                             spec.costToClient.receive};
}

/**
 * One end of a carrier that a flow has to itself. Each chunk is a message, wrapped by layers and
 * written piece by piece; a message is taken only when it is whole.
 */
class CarrierSide final : public RelaySide, private SocketUser
{
  public:
    /**
     * \param spec the tunnel
     * \param isClient whether this end dials
     * \param carrier its socket
     * \param toServer where messages to the server lie in the carrier's stream
     * \param toClient where those to the client do
     */
    CarrierSide(const RelaySpec& spec,
                bool isClient,
                TcpEndpoint& carrier,
                MessageLog& toServer,
                MessageLog& toClient);

    void Open(int64_t now) override;
    void Accept(int64_t now) override;
    Chunk Take(int64_t now, uint32_t limit) override;
    bool IsFinished() const override;
    double Prepare(uint32_t bytes) override;
    bool Write(int64_t now) override;
    void Close(int64_t now) override;

  private:
    void OnConnected(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;
    bool ShakeHands(int64_t now);

    TcpEndpoint& m_carrier;
    Handshake m_handshake;
    LayerStack m_layers;
    uint32_t m_prefix;
    const RelayWorkSpec m_sending;
    const RelayWorkSpec m_receiving;
    MessageLog& m_sent;
    MessageLog& m_received;
    bool m_isOpen{false};
    bool m_isAnnounced{false};      //!< the relay knows where to dial
    std::vector<uint32_t> m_writes; //!< of the message being written
    size_t m_write{0};              //!< which of them is next
    Message m_message{};            //!< not logged before its first write
    bool m_isLogged{true};
};

} // namespace tunnelcc

#endif // TUNNELCC_CARRIER_SIDE_H
