/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mptcp-format.h"

#include "tcp-format.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

constexpr uint8_t MPTCP = 30; // kind of option

// Subtypes, in the high half of a byte (RFC 8684, section 8.2)
constexpr uint8_t MP_CAPABLE = 0x00;
constexpr uint8_t MP_JOIN = 0x10;
constexpr uint8_t DSS = 0x20;

// Of MP_CAPABLE (section 3.1)
constexpr uint8_t VERSION = 1;
constexpr uint8_t HMAC_SHA256 = 0x01;

constexpr uint8_t BACKUP = 0x01; // of MP_JOIN (section 3.2)

// Of DSS (section 3.3)
constexpr uint8_t HAS_ACK = 0x01;
constexpr uint8_t LONG_ACK = 0x02;
constexpr uint8_t HAS_MAPPING = 0x04;
constexpr uint8_t LONG_SEQUENCE = 0x08;
constexpr uint8_t DATA_FIN = 0x10;

/// What a mapping adds to an option with a data ACK, if that has 32 bits beside it, bytes.
constexpr uint32_t SHORT_MAPPING = 12;

} // namespace

void
SubflowFormat::OnAcked(uint64_t offset)
{
    constexpr uint64_t KEPT = 1 << 26; // bytes that may be sent again
    while (m_mappings.size() > 1 && m_mappings[1].offset + KEPT < offset)
    {
        m_mappings.pop_front();
    }
    if (!m_mappings.empty())
    {
        m_self.contents.Forget(PlaceOf(offset));
    }
}

void
SubflowFormat::OnWriting(const Mapping& most)
{
    m_announced = most.length;
    if (!m_mappings.empty() && PlaceOf(m_written) == most.begin)
    {
        m_mappings.back().mapping.length += most.length;
    }
    else
    {
        m_mappings.push_back({m_written, most});
    }
}

void
SubflowFormat::OnTaken(uint64_t bytes)
{
    Mapping& mapping = m_mappings.back().mapping;
    mapping.length -= m_announced - bytes;
    m_written += bytes;
    m_self.end = std::max(m_self.end, mapping.begin + mapping.length);
    if (mapping.length == 0)
    {
        m_mappings.pop_back();
    }
}

uint64_t
SubflowFormat::PlaceOf(uint64_t offset) const
{
    const auto next =
        std::upper_bound(m_mappings.begin(),
                         m_mappings.end(),
                         offset,
                         [](uint64_t value, const Part& it) { return value < it.offset; });
    const Part& part = next == m_mappings.begin() ? m_mappings.front() : *std::prev(next);
    return part.mapping.begin + (offset - part.offset);
}

void
SubflowFormat::WriteOptions(const Packet& packet,
                            const Told& told,
                            std::vector<uint8_t>& bytes) const
{
    const bool isFirstData =
        packet.kind == PacketKind::DATA && packet.segment == 0 && packet.length > 0;
    if (HandshakeBytes(packet) == 0 && !(m_isClient && m_number == 0 && isFirstData))
    {
        WriteSequence(packet, told, bytes);
    }
    else if (m_number == 0)
    {
        WriteCapable(packet, told, bytes);
    }
    else
    {
        WriteJoin(packet, bytes);
    }
}

void
SubflowFormat::WriteCapable(const Packet& packet,
                            const Told& told,
                            std::vector<uint8_t>& bytes) const
{
    const bool isSyn = packet.kind == PacketKind::SYN;
    const bool hasBoth = packet.kind == PacketKind::ACK || packet.kind == PacketKind::DATA;
    const bool hasLength = packet.kind == PacketKind::DATA;
    ByteWriter writer(bytes);
    writer.U8(MPTCP)
        .U8(isSyn       ? 4
            : hasLength ? 22
            : hasBoth   ? 20
                        : 12)
        .U8(MP_CAPABLE | VERSION)
        .U8(HMAC_SHA256);
    if (!isSyn)
    {
        writer.U64(m_self.key);
    }
    if (hasBoth)
    {
        writer.U64(m_peer.key);
    }
    if (hasLength)
    {
        writer.U16(packet.length);
        for (uint32_t size = 22; size < DATA_ACK_BYTES + told.mapping; ++size)
        {
            writer.U8(NO_OPERATION); // Linux has as many as with a data ACK of 32 bits
        }
    }
}

void
SubflowFormat::WriteJoin(const Packet& packet, std::vector<uint8_t>& bytes) const
{
    ByteWriter writer(bytes);
    const uint8_t backup = m_path.backup ? BACKUP : 0;
    const uint32_t nonce = m_self.hash[1] + m_number;
    switch (packet.kind)
    {
    case PacketKind::SYN:
        writer.U8(MPTCP).U8(12).U8(MP_JOIN | backup).U8(m_number).U32(m_peer.Token()).U32(nonce);
        break;
    case PacketKind::SYN_ACK:
        writer.U8(MPTCP).U8(16).U8(MP_JOIN | backup).U8(0).Fill(8).U32(nonce);
        break;
    default:
        writer.U8(MPTCP).U8(24).U8(MP_JOIN).U8(0).Fill(20);
        break;
    }
}

void
SubflowFormat::WriteSequence(const Packet& packet,
                             const Told& told,
                             std::vector<uint8_t>& bytes) const
{
    ByteWriter writer(bytes);
    const uint64_t dataAck = m_peer.SequenceOf(told.dataAck);
    if (packet.kind != PacketKind::DATA)
    {
        writer.U8(MPTCP).U8(DATA_ACK_BYTES).U8(DSS).U8(HAS_ACK | LONG_ACK).U64(dataAck);
        return;
    }
    const bool isFin = packet.length == 0;
    const bool isLong = told.mapping > SHORT_MAPPING;
    const uint8_t flags =
        HAS_ACK | HAS_MAPPING | LONG_SEQUENCE | (isLong ? LONG_ACK : 0) | (isFin ? DATA_FIN : 0);
    writer.U8(MPTCP).U8(isLong ? 26 : 22).U8(DSS).U8(flags);
    isLong ? writer.U64(dataAck) : writer.U32(dataAck);
    if (isFin)
    {
        writer.U64(m_self.SequenceOf(m_self.end)).U32(0).U16(1);
    }
    else
    {
        writer.U64(m_self.SequenceOf(PlaceOf(told.offset))).U32(1 + told.offset).U16(packet.length);
    }
    writer.U8(NO_OPERATION).U8(NO_OPERATION);
}

void
SubflowFormat::WriteContents(uint64_t offset, uint32_t length, PacketImage& image) const
{
    m_self.contents.Write(PlaceOf(offset), length, image, image.headers);
}

MptcpConnectionFormat::MptcpConnectionFormat(const PerEnd<uint64_t>& keys,
                                             const std::vector<SubflowSpec>& paths,
                                             const std::vector<PerEnd<TcpFormat*>>& subflows,
                                             std::deque<PerEnd<MappingLog>>& mappings)
    : m_ends{MptcpFormat(keys.client), MptcpFormat(keys.server)}
{
    for (size_t path = 0; path < subflows.size(); ++path)
    {
        for (End end : ENDS)
        {
            SubflowFormat& format = m_subflows.emplace_back(m_ends[end],
                                                            m_ends[Other(end)],
                                                            paths[path],
                                                            static_cast<uint8_t>(path),
                                                            end == End::CLIENT);
            subflows[path][end]->SetSubflow(format);
            mappings[path][end].SetWatcher(format);
        }
    }
}

} // namespace tunnelcc
