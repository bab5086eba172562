/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FRAME_LAYER_H
#define TUNNELCC_FRAME_LAYER_H

#include "layer.h"
#include "spec/refuse.h"

#include <algorithm>

namespace tunnelcc
{

/**
 * Frames of a fixed form, as Shadowsocks' AEAD chunks are: each write is split into payloads of at
 * most `maxPayload` bytes, and each of these gets a header, padding and a trailer.
 */
class FrameLayer final : public Layer
{
  public:
    /// \throws std::invalid_argument without a block to pad to
    explicit FrameLayer(const FrameLayerSpec& spec)
        : m_spec(spec)
    {
        if (m_spec.block == 0)
        {
            Refuse("a frame layer needs a block of at least 1 byte");
        }
    }

    void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) override
    {
        do
        {
            uint32_t payload = m_spec.maxPayload ? std::min(bytes, m_spec.maxPayload) : bytes;
            uint32_t least = payload + m_spec.padding;
            uint32_t padded = (least + m_spec.block - 1) / m_spec.block * m_spec.block;
            writes.push_back(m_spec.header + padded + m_spec.trailer);
            bytes -= payload;
        } while (bytes > 0);
    }

  private:
    FrameLayerSpec m_spec;
};

} // namespace tunnelcc

#endif // TUNNELCC_FRAME_LAYER_H
