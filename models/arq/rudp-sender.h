/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_SENDER_H
#define TUNNELCC_RUDP_SENDER_H

#include "event/fifo.h"

#include <cstdint>

namespace tunnelcc
{

/// Packets of data that one end of a connection has sent, whole run.
struct RudpCounters
{
    uint64_t packets{0}; //!< packets, those sent again included, second copies of new ones not
    uint64_t resent{0};  //!< packets sent again
};

/// The sending half of a connection of RUDP: packets that are not acknowledged, and the window,
/// which moves when the peer's application reads.
class RudpSender
{
  public:
    /// \param window most packets that were sent and that the peer has not read
    explicit RudpSender(uint32_t window)
        : m_window(window)
    {
    }

    /// Whether one more packet may be sent.
    bool HasRoom() const
    {
        return Next() - m_read < m_window;
    }

    uint32_t Window() const
    {
        return m_window;
    }

    /// The number of the next new packet.
    uint32_t Next() const
    {
        return m_first + static_cast<uint32_t>(m_packets.Size());
    }

    /// A new packet is sent. \returns its number
    uint32_t Add(uint16_t length)
    {
        uint32_t number = Next();
        m_packets.Push({length});
        m_bytesInFlight += length;
        ++m_counters.packets;
        return number;
    }

    /// Whether it was sent and not acknowledged.
    bool IsMissing(uint32_t number) const
    {
        return IsKept(number) && !m_packets[number - m_first].isAcked;
    }

    /// Payload of a packet, bytes; 0: it was removed, as the peer has read it.
    uint16_t LengthOf(uint32_t number) const
    {
        return IsKept(number) ? m_packets[number - m_first].length : 0;
    }

    /// A packet is sent again.
    void OnResend()
    {
        ++m_counters.packets;
        ++m_counters.resent;
    }

    /// A packet will not be sent again, acknowledged or not.
    void GiveUp(uint32_t number)
    {
        if (IsMissing(number))
        {
            m_packets[number - m_first].isGivenUp = true;
            ++m_givenUp;
        }
        Forget();
    }

    /// The peer acknowledges a packet.
    void OnAck(uint32_t number)
    {
        if (IsMissing(number))
        {
            Packet& packet = m_packets[number - m_first];
            packet.isAcked = true;
            m_bytesInFlight -= packet.length;
            m_givenUp -= packet.isGivenUp;
        }
    }

    /// The peer's application has read so many packets.
    void OnRead(uint32_t packets)
    {
        if (static_cast<int32_t>(packets - m_read) > 0)
        {
            m_read = packets;
        }
        Forget();
    }

    /// Packets that were given up and are not acknowledged.
    uint64_t GivenUp() const
    {
        return m_givenUp;
    }

    /// Payload of packets that are not acknowledged, bytes.
    uint64_t BytesInFlight() const
    {
        return m_bytesInFlight;
    }

    const RudpCounters& Counters() const
    {
        return m_counters;
    }

  private:
    struct Packet
    {
        uint16_t length{0};
        bool isAcked{false};
        bool isGivenUp{false};
    };

    bool IsKept(uint32_t number) const
    {
        return number - m_first < m_packets.Size();
    }

    /// Remove packets that are no longer needed: those that are both read by the peer and
    /// acknowledged or given up.
    void Forget()
    {
        while (m_first != m_read && (m_packets.Front().isAcked || m_packets.Front().isGivenUp))
        {
            const Packet& packet = m_packets.Front();
            if (!packet.isAcked)
            {
                m_bytesInFlight -= packet.length;
                --m_givenUp;
            }
            m_packets.Pop();
            ++m_first;
        }
    }

    const uint32_t m_window;
    Fifo<Packet> m_packets;
    uint32_t m_first{0}; //!< number of the first in m_packets
    uint32_t m_read{0};  //!< packets that the peer has read
    uint64_t m_givenUp{0};
    uint64_t m_bytesInFlight{0};
    RudpCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SENDER_H
