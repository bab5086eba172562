/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEND_WINDOW_H
#define TUNNELCC_SEND_WINDOW_H

#include "pacer.h"
#include "scoreboard.h"
#include "send-buffer.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * The peer's receive window as the sender sees it, and how long a new segment may be: no silly
 * windows (RFC 9293, section 3.8.6.2.1), and Nagle's rule (RFC 896) in Minshall's form, by which a
 * small segment waits for small ones alone.
 */
class SendWindow
{
  public:
    /// \param mss payload of a full segment, bytes  \param nodelay TCP_NODELAY: no Nagle's rule
    SendWindow(uint32_t mss, bool nodelay)
        : m_mss(mss),
          m_nodelay(nodelay),
          m_bufferSize(mss)
    {
    }

    /// Segments have another payload from now on, bytes.
    void SetMss(uint32_t mss)
    {
        m_mss = mss;
        m_bufferSize = mss;
        OnLargest();
    }

    void UseNagle()
    {
        m_nodelay = false;
    }

    /// The peer told its window. \param acked payload bytes acknowledged  \param window bytes
    void OnWindow(uint64_t acked, uint32_t window)
    {
        m_edge = std::max(m_edge, acked + window);
        if (window > m_largest)
        {
            m_largest = window;
            OnLargest();
        }
    }

    /// Stream offset up to which the peer lets us send.
    uint64_t Edge() const
    {
        return m_edge;
    }

    /// Payload bytes that may be sent after the first `sent` of the stream.
    uint64_t Room(uint64_t sent) const
    {
        return m_edge - std::min(m_edge, sent);
    }

    /// Largest window that the peer ever told, bytes.
    uint32_t Largest() const
    {
        return m_largest;
    }

    /// Payload bytes of the largest of the kernel's buffers (sk_buff): full segments, as many as
    /// segmentation offload takes and half of the peer's largest window (tcp_send_mss()).
    uint64_t BufferSize() const
    {
        return m_bufferSize;
    }

    /**
     * Length of the next new segment; 0: none may be sent.
     * \param buffer what was written
     * \param board what was sent
     * \param isClosing nothing more will be written
     * \param fillsWindow also if the window has room for a part of a segment only
     */
    uint16_t NextLength(const SendBuffer& buffer,
                        const Scoreboard& board,
                        bool isClosing,
                        bool fillsWindow = false) const
    {
        uint64_t length = std::min<uint64_t>(m_mss, buffer.UnsentTogether());
        const uint64_t room = Room(buffer.SentOffset());
        if (length > room)
        {
            const bool isHalf = board.PacketsOut() == 0 && 2 * room >= m_largest;
            if (room == 0 || !(isHalf || fillsWindow))
            {
                return 0;
            }
            length = room;
        }
        // Nagle's rule is for the last of the kernel's buffers (tcp_write_xmit()).
        const bool isSmall = length < m_mss && buffer.UnsentTogether() == buffer.Unsent();
        const bool isSmallOut = m_smallEnd > board.Una();
        const bool waits = isSmall && !m_nodelay && !isClosing && isSmallOut;
        return waits ? 0 : static_cast<uint16_t>(length);
    }

    /// A new segment was sent. \param number of it  \param length of its payload, bytes
    void OnSent(uint64_t number, uint16_t length)
    {
        if (length < m_mss)
        {
            m_smallEnd = number + 1;
        }
    }

  private:
    void OnLargest()
    {
        const uint32_t most = std::min(Pacer::MAX_BURST_BYTES, m_largest / 2);
        m_bufferSize = std::max(m_mss, most - most % m_mss);
    }

    uint32_t m_mss;
    bool m_nodelay;
    uint64_t m_edge{0};     //!< stream offset
    uint32_t m_largest{0};  //!< window that the peer ever told, bytes
    uint64_t m_bufferSize;  //!< that follows from it
    uint64_t m_smallEnd{0}; //!< one past the latest segment shorter than the MSS
};

} // namespace tunnelcc

#endif // TUNNELCC_SEND_WINDOW_H
