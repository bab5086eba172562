/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carrier-contents.h"

#include <stdexcept>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Header of smux (xtaci/smux, frame.go): version, command, and little-endian length and stream.
std::vector<uint8_t>
SmuxHeader(const MuxFrame& frame)
{
    constexpr uint8_t COMMANDS[] = {0, 0, 2, 4, 1}; // by MuxFrameKind; SYN, -, PSH, UPD, FIN
    constexpr uint32_t SMUX_HEADER = 8;
    std::vector<uint8_t> bytes;
    ByteWriter(bytes)
        .U8(1)
        .U8(COMMANDS[static_cast<size_t>(frame.kind)])
        .Little(frame.size - SMUX_HEADER, 2)
        .Little(2 * frame.stream + 3, 4); // the client's numbers are odd
    return bytes;
}

} // namespace

CarrierContents::CarrierContents(StreamContents& stream,
                                 const std::vector<HandshakeTurn>& handshake,
                                 End end,
                                 const std::vector<LayerSpec>& layers,
                                 const CaptureTunnelSpec& capture)
    : m_stream(stream),
      m_capture(capture)
{
    for (const LayerSpec& layer : layers)
    {
        m_layers.push_back(MakeLayerContents(layer));
    }
    for (const Written& write : HandshakeWrites(handshake, end, layers))
    {
        Add(write);
    }
}

void
CarrierContents::OnMessage(const Message<RelayMessage>& message, std::span<const uint32_t> parts)
{
    AddMessage(message.wire, parts, {});
}

void
CarrierContents::OnMessage(const Message<MuxFrame>& message, std::span<const uint32_t> parts)
{
    AddMessage(message.wire,
               parts,
               m_capture.hasSmux ? SmuxHeader(message.content) : std::vector<uint8_t>{});
}

void
CarrierContents::OnMessage(const Message<TunnelledPacket>& message, std::span<const uint32_t> parts)
{
    // Of programs that write packets into TCP, OpenVPN's format is the one that readers know: the
    // length, then P_DATA_V2 (opcode 9) of key 0 and peer 0.
    std::vector<uint8_t> head;
    const auto& layers = m_capture.layers;
    const bool isOpenVpn = layers.size() > 1 && layers[layers.size() - 2].layer == "openvpn";
    if (isOpenVpn)
    {
        ByteWriter(head).U16(parts.front() - 2).U8(9 << 3).U24(0);
    }
    AddMessage(message.wire, parts, std::move(head));
}

void
CarrierContents::AddMessage(uint32_t wire,
                            std::span<const uint32_t> parts,
                            std::vector<uint8_t> head)
{
    const uint64_t end = m_written + wire;
    for (uint32_t part : parts)
    {
        std::vector<Written> writes{{part, {}}};
        if (!head.empty())
        {
            writes.front().known.push_back({0, std::exchange(head, {})});
        }
        for (auto& layer : m_layers)
        {
            std::vector<Written> outer;
            for (const Written& write : writes)
            {
                layer->Wrap(write, outer);
            }
            writes.swap(outer);
        }
        for (const Written& write : writes)
        {
            Add(write);
        }
    }
    if (m_written != end)
    {
        throw std::logic_error("a message of " + std::to_string(wire) + " bytes was written as " +
                               std::to_string(wire + m_written - end));
    }
}

void
CarrierContents::Add(const Written& write)
{
    for (const KnownBytes& known : write.known)
    {
        m_stream.Add(m_written + known.offset, known.bytes);
    }
    m_written += write.size;
}

} // namespace tunnelcc
