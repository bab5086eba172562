/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "receiver.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

Receiver::Receiver(const TcpSpec& spec)
    : m_window(spec),
      m_mss(spec.mss),
      m_maxBlocks(spec.MaxSackBlocks())
{
}

AckUrgency
Receiver::OnData(const Packet& packet)
{
    uint64_t number = Expand(packet.segment);
    m_hasWindowGrown = false;
    if (number < m_next || (number < m_end && HasArrived(number)))
    {
        return OnDuplicate(number);
    }
    if (packet.isFin)
    {
        m_fin = number;
    }
    // Linux takes data in order into the buffer before tcp_grow_window() looks, other data after.
    GrowWindow(Buffered() + (number == m_next ? packet.length : 0));
    if (number == m_next && m_end <= m_next)
    {
        m_end = ++m_next;
        m_received += packet.length;
        return packet.isFin ? AckUrgency::NOW : AckUrgency::DELAYED;
    }
    OnOutOfOrder(number, packet.length);
    return m_end > m_next ? AckUrgency::COMPRESSED : AckUrgency::NOW;
}

void
Receiver::GrowWindow(uint64_t buffered)
{
    m_hasWindowGrown = (!m_memory || m_memory->LetsWindowsGrow()) && m_window.OnSegment(buffered);
}

bool
Receiver::CrowdsBlocks(const Packet& packet) const
{
    constexpr uint32_t SURE = 2; // to fit into an ACK (Linux TCP_SACK_BLOCKS_EXPECTED)
    bool lengthens = false;
    for (uint32_t i = 0; i < std::min(m_blockCount, SURE); ++i)
    {
        lengthens |= packet.segment == m_blocks.end[i] || packet.segment + 1 == m_blocks.begin[i];
    }
    return m_blockCount >= SURE && !lengthens && Expand(packet.segment) > m_next;
}

AckUrgency
Receiver::OnDuplicate(uint64_t number)
{
    ++m_duplicates;
    m_reportsDuplicate = true;
    m_duplicate = static_cast<uint32_t>(number);
    return AckUrgency::NOW;
}

void
Receiver::Resize(size_t capacity)
{
    std::vector<Slot> larger(capacity);
    uint64_t mask = capacity - 1;
    for (size_t i = 0; i < capacity; ++i)
    {
        larger[i].number = static_cast<uint32_t>(i + 1); // no segment of this slot
    }
    for (uint64_t number = m_next; number < m_end; ++number)
    {
        if (HasArrived(number))
        {
            larger[number & mask] = At(number);
        }
    }
    m_ring.swap(larger);
    m_mask = mask;
}

void
Receiver::OnOutOfOrder(uint64_t number, uint32_t length)
{
    while (number - m_next >= m_ring.size())
    {
        Resize(m_ring.empty() ? INITIAL_CAPACITY : 2 * m_ring.size());
    }
    uint64_t begin = number;
    uint64_t end = number + 1;
    uint32_t bytes = length;
    if (number > m_next && HasArrived(number - 1))
    {
        begin = Expand(At(number - 1).runBegin);
        bytes += At(begin).runBytes;
    }
    if (end < m_end && HasArrived(end))
    {
        bytes += At(end).runBytes;
        end = Expand(At(end).runEnd);
    }
    At(number).number = static_cast<uint32_t>(number);
    At(begin).runEnd = static_cast<uint32_t>(end);
    At(begin).runBytes = bytes;
    At(end - 1).runBegin = static_cast<uint32_t>(begin);
    m_end = std::max(m_end, end);
    m_outOfOrder += length;
    if (begin == m_next)
    {
        m_next = end;
        m_received += bytes;
        m_outOfOrder -= bytes;
    }
    else
    {
        m_window.OnOutOfOrder(Span());
    }
    UpdateBlocks(begin, end);
}

void
Receiver::UpdateBlocks(uint64_t begin, uint64_t end)
{
    // The run comes first. In place: a copy of the blocks would wait for what was just written.
    const uint32_t before = std::exchange(m_blockCount, 0);
    auto add = [&](uint64_t blockBegin, uint64_t blockEnd) {
        if (blockEnd > m_next && m_blockCount < SackBlocks::MAX)
        {
            m_blocks.begin[m_blockCount] = static_cast<uint32_t>(blockBegin);
            m_blocks.end[m_blockCount] = static_cast<uint32_t>(blockEnd);
            ++m_blockCount;
        }
    };
    uint64_t heldBegin = begin;
    uint64_t heldEnd = end;
    for (uint32_t i = 0; i < before; ++i)
    {
        const uint64_t blockBegin = Expand(m_blocks.begin[i]);
        const uint64_t blockEnd = Expand(m_blocks.end[i]);
        const bool isSwallowed = begin <= blockBegin && blockEnd <= end;
        if (!isSwallowed)
        {
            add(heldBegin, heldEnd);
            heldBegin = blockBegin;
            heldEnd = blockEnd;
        }
    }
    add(heldBegin, heldEnd);
}

void
Receiver::Describe(Acknowledgement& ack)
{
    m_lastAcked = m_next;
    ack.number = static_cast<uint32_t>(m_next);
    ack.window = m_window.Advertise(m_received, Buffered());
    ack.isDuplicate = m_reportsDuplicate;
    if (!m_reportsDuplicate)
    {
        ack.sackBlocks = std::min(m_blockCount, m_maxBlocks);
        ack.blocks = &m_blocks;
        return;
    }
    m_reportsDuplicate = false;
    uint32_t others = std::min(m_blockCount, m_maxBlocks - 1);
    m_ackBlocks.begin[0] = m_duplicate;
    m_ackBlocks.end[0] = m_duplicate + 1;
    std::copy_n(m_blocks.begin, others, m_ackBlocks.begin + 1);
    std::copy_n(m_blocks.end, others, m_ackBlocks.end + 1);
    ack.sackBlocks = others + 1;
    ack.blocks = &m_ackBlocks;
}

} // namespace tunnelcc
