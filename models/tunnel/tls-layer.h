/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TLS_LAYER_H
#define TUNNELCC_TLS_LAYER_H

#include "layer.h"
#include "spec/refuse.h"

#include <algorithm>

namespace tunnelcc
{

/**
 * TLS 1.3 record layer (RFC 8446, section 5): each write is split into records of at most
 * `maxPayload` bytes, each `overhead` bytes longer on the wire (header, content type, tag).
 *
 * With dynamic record sizes, as Go's crypto/tls has them, the k-th record of a connection carries
 * at most rampBytes·k bytes until rampUntil bytes were sent.
 */
class TlsLayer final : public Layer
{
  public:
    /// \throws std::invalid_argument if records would carry nothing
    explicit TlsLayer(const TlsLayerSpec& spec)
        : m_spec(spec),
          m_records(spec.recordsBefore)
    {
        if (spec.maxPayload == 0 || (spec.rampUntil > 0 && spec.rampBytes == 0))
        {
            Refuse("a TLS layer needs maxPayload, and rampBytes with rampUntil");
        }
    }

    void Wrap(uint32_t bytes, std::vector<uint32_t>& writes) override
    {
        while (bytes > 0)
        {
            uint32_t payload = std::min(bytes, MaxPayload());
            bytes -= payload;
            m_sent += payload;
            ++m_records;
            writes.push_back(payload + m_spec.overhead);
        }
    }

  private:
    uint32_t MaxPayload() const
    {
        if (m_sent >= m_spec.rampUntil)
        {
            return m_spec.maxPayload;
        }
        return static_cast<uint32_t>(
            std::min<uint64_t>(m_spec.maxPayload, m_spec.rampBytes * (m_records + 1)));
    }

    TlsLayerSpec m_spec;
    uint64_t m_sent{0}; //!< payload bytes
    uint64_t m_records;
};

} // namespace tunnelcc

#endif // TUNNELCC_TLS_LAYER_H
