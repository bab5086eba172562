/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_LOG_H
#define TUNNELCC_KCP_LOG_H

#include "event/fifo.h"

#include <cstdint>

namespace tunnelcc
{

/// What a KCP segment is for.
enum class KcpCommand : uint8_t
{
    PUSH,       //!< data
    ACK,        //!< acknowledges one segment
    WINDOW_ASK, //!< asks for the peer's window
    WINDOW_TELL
};

/// A KCP segment. In the protocol its header also has the fields of KcpDatagram.
struct KcpSegment
{
    static constexpr uint32_t HEADER_BYTES = 24; //!< IKCP_OVERHEAD

    uint32_t number{0}; //!< PUSH, ACK: number of the data segment
    uint32_t time{0};   //!< PUSH: sender's clock, ms; ACK: the time of the segment acknowledged
    uint16_t length{0}; //!< PUSH: bytes of data
    KcpCommand command{KcpCommand::PUSH};
};

/// A datagram: its segments, and the fields that their headers share.
struct KcpDatagram
{
    uint64_t firstSegment{0}; //!< place of its first segment in the log
    uint32_t segments{0};
    uint32_t bytes{0};  //!< bytes of all segments
    uint32_t una{0};    //!< all numbers before it have arrived
    uint32_t window{0}; //!< receive window, segments
};

/**
 * Datagrams that one end of a session has sent. Their contents are stored here: a packet on the
 * path has its number only. Old datagrams are removed; if one arrives after all, it counts as lost.
 */
class KcpLog
{
  public:
    /// Begin a datagram.
    void Begin(uint32_t una, uint32_t window)
    {
        KcpDatagram& datagram = m_datagrams.Append();
        datagram = {m_firstSegment + m_segments.Size(), 0, 0, una, window};
    }

    /// Append a segment to the newest datagram.
    void Add(const KcpSegment& segment)
    {
        m_segments.Push(segment);
        KcpDatagram& datagram = m_datagrams[m_datagrams.Size() - 1];
        ++datagram.segments;
        datagram.bytes += KcpSegment::HEADER_BYTES + segment.length;
    }

    /// The newest datagram. \pre there is one
    const KcpDatagram& Newest() const
    {
        return m_datagrams[m_datagrams.Size() - 1];
    }

    /// Low 32 bits of the newest datagram's number.
    uint32_t NewestNumber() const
    {
        return static_cast<uint32_t>(m_firstDatagram + m_datagrams.Size() - 1);
    }

    /// A datagram by the low 32 bits of its number; null: it was removed.
    const KcpDatagram* Find(uint32_t number) const
    {
        uint32_t index = number - static_cast<uint32_t>(m_firstDatagram);
        return index < m_datagrams.Size() ? &m_datagrams[index] : nullptr;
    }

    /// A segment of a datagram. \param index from 0
    const KcpSegment& SegmentOf(const KcpDatagram& datagram, uint32_t index) const
    {
        return m_segments[datagram.firstSegment - m_firstSegment + index];
    }

    /// The datagram of that number has arrived: remove those that were sent long before it.
    void OnArrival(uint32_t number)
    {
        while (static_cast<int32_t>(number - static_cast<uint32_t>(m_firstDatagram)) > KEPT)
        {
            const KcpDatagram& oldest = m_datagrams.Front();
            m_firstSegment += oldest.segments;
            m_segments.Drop(oldest.segments);
            m_datagrams.Pop();
            ++m_firstDatagram;
        }
    }

  private:
    /// A datagram is kept until one arrives that was sent so many later: more than FEC may rebuild.
    static constexpr int32_t KEPT = 4096;

    Fifo<KcpDatagram> m_datagrams;
    Fifo<KcpSegment> m_segments;
    uint64_t m_firstDatagram{0}; //!< number of the first in m_datagrams
    uint64_t m_firstSegment{0};  //!< number of the first in m_segments
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_LOG_H
