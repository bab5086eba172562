/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_RECEIVER_H
#define TUNNELCC_RUDP_RECEIVER_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// The receiving half of a connection of RUDP: puts packets in order, and lists those to
/// acknowledge.
class RudpReceiver
{
  public:
    /// \param window packets that the peer sends before the first of them was read
    explicit RudpReceiver(uint32_t window)
        : m_lengths(std::bit_ceil(window))
    {
    }

    /// A packet arrived. \param length its payload, bytes; of no effect if it was read before
    void OnData(uint32_t number, uint16_t length)
    {
        bool isNew = static_cast<int32_t>(number - m_read) >= 0 && LengthOf(number) == 0;
        if (isNew)
        {
            LengthOf(number) = length;
            while (m_next - m_read < m_lengths.size() && LengthOf(m_next) > 0)
            {
                m_readable += LengthOf(m_next++);
            }
        }
        // A copy is acknowledged again, but no number is twice in a list.
        if (isNew || std::find(m_acks.begin(), m_acks.end(), number) == m_acks.end())
        {
            m_acks.push_back(number);
        }
    }

    /// Numbers to acknowledge, in order of arrival; the caller clears them once they are sent.
    std::vector<uint32_t>& Acks()
    {
        return m_acks;
    }

    /// Packets that were read: all with numbers below this one.
    uint32_t PacketsRead() const
    {
        return m_read;
    }

    /// Bytes in order that wait for the reader.
    uint64_t Readable() const
    {
        return m_readable;
    }

    /// Read `bytes`, at most Readable(). A packet is taken as a whole when its first byte is.
    void Read(uint64_t bytes)
    {
        m_readable -= bytes;
        m_totalRead += bytes;
        while (bytes > m_begun)
        {
            m_begun += LengthOf(m_read);
            LengthOf(m_read) = 0;
            ++m_read;
        }
        m_begun -= bytes;
    }

    uint64_t TotalRead() const
    {
        return m_totalRead;
    }

  private:
    uint16_t& LengthOf(uint32_t number)
    {
        return m_lengths[number & (m_lengths.size() - 1)];
    }

    std::vector<uint16_t> m_lengths; //!< lengths of packets not read yet, in a ring; 0: missing
    uint32_t m_next{0};              //!< all numbers below it have arrived
    uint32_t m_read{0};
    std::vector<uint32_t> m_acks;
    uint64_t m_begun{0}; //!< bytes left of a packet that was taken
    uint64_t m_readable{0};
    uint64_t m_totalRead{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_RECEIVER_H
