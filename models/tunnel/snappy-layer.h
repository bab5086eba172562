/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SNAPPY_LAYER_H
#define TUNNELCC_SNAPPY_LAYER_H

#include "layer.h"
#include "spec/refuse.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tunnelcc
{

/**
 * Snappy's framing format. A chunk that compression makes shorter by an eighth is one write; of any
 * other the header is a write of its own, then the payload follows as it is.
 */
class SnappyLayer final : public Layer
{
  public:
    /// \throws std::invalid_argument if chunks would carry nothing
    explicit SnappyLayer(const SnappyLayerSpec& spec)
        : m_spec(spec),
          m_streamHeader(spec.streamHeader)
    {
        if (spec.maxPayload == 0)
        {
            Refuse("a snappy layer needs maxPayload");
        }
    }

    void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) override
    {
        while (bytes > 0)
        {
            uint32_t payload = std::min(bytes, m_spec.maxPayload);
            bytes -= payload;
            uint32_t header = m_spec.header + std::exchange(m_streamHeader, 0);
            auto compressed = static_cast<uint32_t>(std::ceil(payload * m_spec.ratio));
            if (compressed < payload - payload / 8)
            {
                writes.push_back(header + compressed);
            }
            else
            {
                writes.push_back(header);
                writes.push_back(payload);
            }
        }
    }

  private:
    const SnappyLayerSpec m_spec;
    uint32_t m_streamHeader; //!< bytes before the next chunk
};

} // namespace tunnelcc

#endif // TUNNELCC_SNAPPY_LAYER_H
