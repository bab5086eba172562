/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CARRIER_BYTES_H
#define TUNNELCC_CARRIER_BYTES_H

#include "node-socket.h"
#include "wire/carrier-contents.h"
#include "zeros.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// What one end of a tunnel writes to its carrier over TCP: headers of layers where readers of
/// packets understand them, zeros otherwise.
class CarrierBytes
{
  public:
    /// \param stream of the carrier's end  \param capture what layers look like. Both outlive it
    /// \param handshake,layers as of CarrierContents
    CarrierBytes(NodeSocket& stream,
                 const std::vector<HandshakeTurn>& handshake,
                 End end,
                 const std::vector<LayerSpec>& layers,
                 const CaptureTunnelSpec& capture)
        : m_contents(m_stream, handshake, end, layers, capture)
    {
        stream.SetContents(
            [this, &stream](uint32_t bytes) { return Make(stream.Written(), bytes); },
            nullptr);
    }

    CarrierBytes(const CarrierBytes&) = delete;
    CarrierBytes& operator=(const CarrierBytes&) = delete;

    /// What is to be told of messages.
    CarrierContents& Contents()
    {
        return m_contents;
    }

  private:
    NodeSocket::Bytes Make(uint64_t offset, uint32_t bytes)
    {
        m_image.Begin(bytes);
        m_stream.Write(offset, bytes, m_image, 0);
        m_stream.Forget(offset);
        const auto known = static_cast<uint32_t>(m_image.bytes.size());
        auto packet = ns3::Create<ns3::Packet>(m_image.bytes.data(), known);
        AddZeros(packet, bytes - known);
        return packet;
    }

    StreamContents m_stream;
    CarrierContents m_contents;
    PacketImage m_image;
};

} // namespace tunnelcc

#endif // TUNNELCC_CARRIER_BYTES_H
