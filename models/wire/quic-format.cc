/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-format.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

constexpr uint32_t NUMBER_BYTES = 2; // of a packet number, in all programs of the catalogue
constexpr uint32_t AEAD_TAG_BYTES = 16;
constexpr uint8_t FIXED_BIT = 0x40;
constexpr uint8_t LONG_HEADER = 0x80;
constexpr uint8_t INITIAL = 0;
constexpr uint8_t HANDSHAKE = 2;

} // namespace

void
QuicFormat::OnSent(const SeenPacket& seen)
{
    if (m_log)
    {
        m_log->OnChange(seen.now, *m_sender);
        m_log->OnSent(seen.now, *m_sender, m_sender->History().Find(seen.packet.segment));
    }
}

void
QuicFormat::OnArriving(const SeenPacket& seen)
{
    const uint64_t number = m_sender->History().Find(seen.packet.segment);
    if (number != QuicPacket::NONE)
    {
        m_peer->m_log->OnReceived(seen.now, *m_sender, number);
    }
}

void
QuicFormat::OnArrived(int64_t now)
{
    m_peer->m_log->OnChange(now, *m_peer->m_sender);
}

void
QuicFormat::WritePayload(const SeenPacket& seen, PacketImage& image)
{
    const PacketHistory& history = m_sender->History();
    const uint64_t number = history.Find(seen.packet.segment);
    if (number != QuicPacket::NONE)
    {
        const QuicPacket& packet = history.At(number);
        for (uint32_t i = 0; i < packet.frames; ++i)
        {
            const QuicFrame& frame = history.FrameOf(packet, i);
            if (frame.kind == QuicFrameKind::CRYPTO)
            {
                WriteLongHeader(frame.offset, seen.packet.segment, image);
                return;
            }
        }
    }
    ByteWriter writer(image.bytes);
    writer.U8(FIXED_BIT | (NUMBER_BYTES - 1));
    WriteId(Other(m_end), IdBytes(m_end), image.bytes);
    writer.U16(seen.packet.segment);
    image.headers = static_cast<uint32_t>(image.bytes.size());
}

void
QuicFormat::WriteLongHeader(uint64_t handshakePacket, uint32_t number, PacketImage& image) const
{
    // An end's first packet bears its hello, the others what is encrypted after that.
    const uint8_t type = handshakePacket == 0 ? INITIAL : HANDSHAKE;
    ByteWriter writer(image.bytes);
    writer.U8(LONG_HEADER | FIXED_BIT | (type << 4) | (NUMBER_BYTES - 1)).U32(1); // version 1
    // The client does not know the server's ID yet: 8 bytes of its own (RFC 9000, section 7.2).
    const bool isFirst = type == INITIAL && m_end == End::CLIENT;
    const uint32_t peerId = isFirst ? 8 : IdBytes(m_end);
    const uint32_t ownId = IdBytes(Other(m_end));
    writer.U8(peerId);
    WriteId(Other(m_end), peerId, image.bytes);
    writer.U8(ownId);
    WriteId(m_end, ownId, image.bytes);
    if (type == INITIAL)
    {
        writer.U8(0); // no token
    }
    constexpr uint32_t TWO_BYTES = 0x4000; // a number of variable length (RFC 9000, section 16)
    const auto used = static_cast<uint32_t>(image.bytes.size()) + 2;
    writer.U16(TWO_BYTES | (image.length - std::min(image.length, used))).U16(number);
    image.headers = static_cast<uint32_t>(image.bytes.size());
}

uint32_t
QuicFormat::IdBytes(End sender) const
{
    constexpr uint32_t OTHERS = 1 + NUMBER_BYTES + AEAD_TAG_BYTES;
    const uint32_t overhead = m_spec.packets.overhead[sender];
    return overhead - std::min(overhead, OTHERS);
}

void
QuicFormat::WriteId(End receiver, uint32_t size, std::vector<uint8_t>& bytes) const
{
    const uint64_t id = 2 * m_connection + (receiver == End::SERVER);
    for (uint32_t i = size; i-- > 0;)
    {
        bytes.push_back(i < sizeof id ? static_cast<uint8_t>(id >> (8 * i)) : 0);
    }
}

} // namespace tunnelcc
