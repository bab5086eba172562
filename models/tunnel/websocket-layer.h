/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WEBSOCKET_LAYER_H
#define TUNNELCC_WEBSOCKET_LAYER_H

#include "layer.h"

#include <algorithm>

namespace tunnelcc
{

/**
 * WebSocket framing (RFC 6455, section 5.2): each write is a message, sent as one or more frames.
 *
 * A frame's header is 2 bytes, 2 or 8 more for a payload above 125 or 65535 bytes, and 4 for the
 * mask of a client. Left out: ping, pong and close frames.
 */
class WebSocketLayer final : public Layer
{
  public:
    explicit WebSocketLayer(const WebSocketLayerSpec& spec)
        : m_maxPayload(spec.maxPayload ? spec.maxPayload : UINT32_MAX),
          m_maskBytes(spec.masked ? 4 : 0),
          m_firstWrite(spec.firstWrite)
    {
    }

    void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) override
    {
        do
        {
            uint32_t payload = std::min(bytes, m_maxPayload);
            bytes -= payload;
            uint32_t frame = HeaderBytes(payload) + payload;
            if (m_firstWrite && frame > m_firstWrite)
            {
                writes.push_back(m_firstWrite);
                frame -= m_firstWrite;
            }
            writes.push_back(frame);
        } while (bytes > 0);
    }

  private:
    uint32_t HeaderBytes(uint32_t payload) const
    {
        constexpr uint32_t MAX_7_BIT = 125;
        constexpr uint32_t MAX_16_BIT = 65535;
        uint32_t lengthBytes = payload <= MAX_7_BIT ? 0 : payload <= MAX_16_BIT ? 2 : 8;
        return 2 + lengthBytes + m_maskBytes;
    }

    uint32_t m_maxPayload;
    uint32_t m_maskBytes;
    uint32_t m_firstWrite;
};

} // namespace tunnelcc

#endif // TUNNELCC_WEBSOCKET_LAYER_H
