/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "written.h"

#include "packet-image.h"
#include "tunnel/layer.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tunnelcc
{

namespace
{

/// Put a header before what is known of a payload.
Written
WithHeader(std::vector<uint8_t> header, const Written& payload)
{
    const auto shift = static_cast<uint32_t>(header.size());
    Written whole{shift + payload.size, {}};
    whole.known.push_back({0, std::move(header)});
    for (const KnownBytes& known : payload.known)
    {
        whole.known.push_back({known.offset + shift, known.bytes});
    }
    return whole;
}

/// Frames of WebSocket (RFC 6455, section 5.2) of one binary message. The mask is 0, which leaves
/// the payload as it is.
class WebSocketContents final : public LayerContents
{
  public:
    explicit WebSocketContents(const WebSocketLayerSpec& spec)
        : m_spec(spec)
    {
    }

    void Wrap(const Written& write, std::vector<Written>& writes) override
    {
        const uint32_t most = m_spec.maxPayload ? m_spec.maxPayload : UINT32_MAX;
        uint32_t done = 0;
        do
        {
            const uint32_t payload = std::min(write.size - done, most);
            const bool isLast = done + payload == write.size;
            const Written frame =
                WithHeader(HeaderOf(payload, done == 0, isLast), PartOf(write, done, payload));
            done += payload;
            const uint32_t first = m_spec.firstWrite;
            if (first > 0 && frame.size > first)
            {
                writes.push_back(PartOf(frame, 0, first));
                writes.push_back(PartOf(frame, first, frame.size - first));
            }
            else
            {
                writes.push_back(frame);
            }
        } while (done < write.size);
    }

  private:
    std::vector<uint8_t> HeaderOf(uint32_t payload, bool isFirst, bool isLast) const
    {
        constexpr uint8_t FINAL = 0x80;
        constexpr uint8_t BINARY = 2;
        constexpr uint8_t MASKED = 0x80;
        std::vector<uint8_t> bytes;
        ByteWriter writer(bytes);
        const uint8_t mask = m_spec.masked ? MASKED : 0;
        writer.U8((isLast ? FINAL : 0) | (isFirst ? BINARY : 0));
        payload <= 125     ? writer.U8(mask | payload)
        : payload <= 65535 ? writer.U8(mask | 126).U16(payload)
                           : writer.U8(mask | 127).U64(payload);
        writer.Fill(m_spec.masked ? 4 : 0);
        return bytes;
    }

    const WebSocketLayerSpec m_spec;
};

/// Records of TLS 1.3 with encrypted data (RFC 8446, section 5.2).
class TlsContents final : public LayerContents
{
  public:
    explicit TlsContents(const TlsLayerSpec& spec)
        : m_sizes(MakeLayer(spec))
    {
    }

    void Wrap(const Written& write, std::vector<Written>& writes) override
    {
        constexpr uint32_t TLS_HEADER = 5;
        std::vector<uint32_t> sizes;
        m_sizes->Wrap(write.size, sizes);
        for (uint32_t size : sizes)
        {
            std::vector<uint8_t> header;
            ByteWriter(header).U8(23).U16(0x0303).U16(size - TLS_HEADER);
            writes.push_back({size, {{0, std::move(header)}}});
        }
    }

  private:
    std::unique_ptr<Layer> m_sizes; //!< of which none else keeps count
};

/// A layer whose bytes are filler, because it encrypts or compresses, or has no public format.
class OpaqueContents final : public LayerContents
{
  public:
    explicit OpaqueContents(const LayerSpec& spec)
        : m_sizes(MakeLayer(spec))
    {
    }

    void Wrap(const Written& write, std::vector<Written>& writes) override
    {
        std::vector<uint32_t> sizes;
        m_sizes->Wrap(write.size, sizes);
        for (uint32_t size : sizes)
        {
            writes.push_back({size, {}});
        }
    }

  private:
    std::unique_ptr<Layer> m_sizes;
};

} // namespace

std::unique_ptr<LayerContents>
MakeLayerContents(const LayerSpec& spec)
{
    if (const auto* webSocket = std::get_if<WebSocketLayerSpec>(&spec))
    {
        return std::make_unique<WebSocketContents>(*webSocket);
    }
    if (const auto* tls = std::get_if<TlsLayerSpec>(&spec))
    {
        return std::make_unique<TlsContents>(*tls);
    }
    return std::make_unique<OpaqueContents>(spec);
}

Written
PartOf(const Written& write, uint32_t begin, uint32_t size)
{
    Written part{size, {}};
    const uint64_t end = uint64_t{begin} + size;
    for (const KnownBytes& known : write.known)
    {
        const uint64_t from = std::max<uint64_t>(begin, known.offset);
        const uint64_t to = std::min(end, known.offset + known.bytes.size());
        if (from < to)
        {
            const auto first =
                known.bytes.begin() + static_cast<std::ptrdiff_t>(from - known.offset);
            part.known.push_back(
                {from - begin, {first, first + static_cast<std::ptrdiff_t>(to - from)}});
        }
    }
    return part;
}

} // namespace tunnelcc
