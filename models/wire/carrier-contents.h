/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CARRIER_CONTENTS_H
#define TUNNELCC_CARRIER_CONTENTS_H

#include "spec/capture-spec.h"
#include "spec/tunnel-spec.h"
#include "stream-contents.h"
#include "tunnel/carrier-side.h"
#include "tunnel/mux-frame.h"
#include "tunnel/stream-tunnel.h"
#include "written.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tunnelcc
{

/**
 * Writes what one end of a tunnel puts into its carrier's TCP stream: a handshake, then messages in
 * layers. TLS, SSH and WebSocket's handshake over HTTP are such as a reader of packets understands;
 * of other handshakes the bytes are filler.
 */
class CarrierContents final : public MessageWatcher<RelayMessage>,
                              public MessageWatcher<MuxFrame>,
                              public MessageWatcher<TunnelledPacket>
{
  public:
    /**
     * \param stream where to write
     * \param handshake turns of both ends  \param end which this is
     * \param layers around messages, innermost first
     * \param capture what layers of packets look like; outlives this
     */
    CarrierContents(StreamContents& stream,
                    const std::vector<HandshakeTurn>& handshake,
                    End end,
                    const std::vector<LayerSpec>& layers,
                    const CaptureTunnelSpec& capture);

    void OnMessage(const Message<RelayMessage>& message, std::span<const uint32_t> parts) override;
    void OnMessage(const Message<MuxFrame>& message, std::span<const uint32_t> parts) override;
    void OnMessage(const Message<TunnelledPacket>& message,
                   std::span<const uint32_t> parts) override;

  private:
    void Add(const Written& write);
    void AddMessage(uint32_t wire, std::span<const uint32_t> parts, std::vector<uint8_t> head);

    StreamContents& m_stream;
    const CaptureTunnelSpec& m_capture;
    std::vector<std::unique_ptr<LayerContents>> m_layers;
    uint64_t m_written{0}; //!< bytes of the stream so far
};

/// What an end writes in a handshake. \param turns of both ends \param outermost layer of the
/// stream
std::vector<Written> HandshakeWrites(const std::vector<HandshakeTurn>& turns,
                                     End end,
                                     const std::vector<LayerSpec>& layers);

} // namespace tunnelcc

#endif // TUNNELCC_CARRIER_CONTENTS_H
