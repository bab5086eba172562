/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEND_BUFFER_H
#define TUNNELCC_SEND_BUFFER_H

#include "event/fifo.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tunnelcc
{

/**
 * Socket send buffer: what was written and is not yet acknowledged.
 *
 * As in Linux, what is written fills the last of the kernel's buffers (sk_buff) that still has
 * unsent data, whatever the limit; only a new buffer needs room below it (tcp_sendmsg()). So the
 * queue exceeds its limit where sending keeps that last buffer from becoming full. A writer that
 * found no room wakes only once the queue has drained to two thirds (sk_stream_write_space(): free
 * space at least half of what is queued), not with every ACK. A program that asks poll() before
 * each write is told the same, and so leaves the upper third to the write that it asked for. A
 * write that blocks also wakes when data arrive. Bytes have no contents.
 *
 * The limit is of memory (sk_wmem_queued): payload, and the overhead of each of the kernel's
 * buffers. What is sent together is a buffer of its own, which tso_fragment() splits off, so small
 * bursts and small writes cost most. Left out: buffers that SACKs and retransmissions split or
 * merge.
 *
 * A subflow of MPTCP is given parts: no kernel's buffer and no segment has bytes of two of them
 * (mptcp_skb_can_collapse_to()).
 */
class SendBuffer
{
  public:
    /**
     * \param capacity bytes of memory at first
     * \param maximum bytes of memory, the limit of Expand()
     * \param overhead bytes of memory of one of the kernel's buffers beside its payload
     */
    SendBuffer(uint64_t capacity, uint64_t maximum, uint32_t overhead)
        : m_overhead(overhead),
          m_maximum(maximum)
    {
        Resize(capacity);
    }

    /// Whether a writer waits for room.
    bool IsWriterBlocked() const
    {
        return m_isWriterBlocked;
    }

    /// Whether a larger buffer would give room that a writer did not find.
    bool WantsToExpand() const
    {
        return m_lacksRoom && m_capacity < m_maximum;
    }

    /// Make the buffer this large, unless it is larger (tcp_sndbuf_expand()).
    void Expand(uint64_t capacity)
    {
        Resize(std::max(m_capacity, capacity));
    }

    /// Make the buffer at most this large; what it holds stays.
    void Shrink(uint64_t capacity)
    {
        Resize(std::min(m_capacity, capacity));
    }

    /**
     * Take what fits into the last buffer of the kernel's queue, or into a new one.
     * \param bytes to write
     * \param size of such a buffer, payload bytes
     * \returns bytes taken; none: the writer blocks
     */
    uint64_t Write(uint64_t bytes, uint64_t size)
    {
        m_lastBuffer = std::max(m_lastBuffer, m_sent);
        m_bufferSize = size;
        if (IsLastFull(size))
        {
            if (m_isBounded && Memory() >= m_capacity)
            {
                Block();
                return 0;
            }
            m_lastBuffer = m_written;
        }
        m_isWriterBlocked = false;
        const uint64_t taken = std::min(bytes, size - (m_written - m_lastBuffer));
        m_written += taken;
        FindPart();
        return taken;
    }

    /// Take all that is written: who writes looks at the room itself (Linux mptcp_sendmsg_frag()).
    void SetUnbounded()
    {
        m_isBounded = false;
    }

    /// What is written next does not follow what was written before: a part ends here.
    void EndPart()
    {
        if (m_written == m_sent || m_written == m_lastPartEnd)
        {
            return; // nothing is there to keep apart
        }
        m_lastBuffer = m_lastPartEnd = m_written;
        m_partEnds.Push(m_written);
    }

    /// Whether a write now would take a new buffer of the kernel's. \param size as of Write()
    bool WantsNewBuffer(uint64_t size) const
    {
        return IsLastFull(size) && Memory() < m_capacity;
    }

    /// A writer waits for room, although it has not tried to write.
    void Block()
    {
        m_isWriterBlocked = m_lacksRoom = true;
    }

    /// Whether there is room enough to wake a writer (Linux sk_stream_is_writeable()).
    bool IsWriteable() const
    {
        const uint64_t held = Memory();
        return held < m_capacity && m_capacity - held >= held / 2;
    }

    /// Whether poll() says that the socket is writable; if not, the writer waits to be woken.
    bool Poll()
    {
        m_isWriterBlocked = !IsWriteable();
        m_lacksRoom |= m_isWriterBlocked;
        return !m_isWriterBlocked;
    }

    /// A program asks whether it can read. Linux notes if less than a third is free, as for a
    /// writer (tcp_poll()), so that the buffer may grow although nobody waits.
    void NotePoll()
    {
        m_lacksRoom |= !IsWriteable();
    }

    /// Whether the next byte to transmit is in the last buffer.
    bool IsLastNext() const
    {
        return m_lastBuffer <= m_sent;
    }

    /// The next `bytes` were transmitted for the first time. \param buffers of the kernel's, new
    /// ones
    void OnSent(uint64_t bytes, uint32_t buffers)
    {
        m_sent += bytes;
        m_sentBuffers += buffers;
        if (m_sent == m_partEnd && m_sent != m_written)
        {
            FindPart();
        }
    }

    /// \param bytes acknowledged  \param buffers of the kernel's, wholly acknowledged
    void OnAcked(uint64_t bytes, uint32_t buffers)
    {
        m_acked += bytes;
        m_sentBuffers -= buffers;
    }

    /// Wake a blocked writer if there is room. \returns whether it was woken: true once for each
    /// time that it blocked
    bool WakeWriter()
    {
        if (!m_lacksRoom || !IsWriteable())
        {
            return false;
        }
        m_lacksRoom = false;
        return std::exchange(m_isWriterBlocked, false);
    }

    /// The same for a write that blocks, when data arrive: readers and writers of a socket sleep in
    /// one queue, and any room is enough (Linux sock_def_readable(), sk_stream_wait_memory()). That
    /// room lacks stays noted until a third is free (SOCK_NOSPACE).
    bool WakeSleepingWriter()
    {
        if (!m_isWriterBlocked || Memory() >= m_capacity)
        {
            return false;
        }
        m_isWriterBlocked = false;
        return true;
    }

    /// Memory that may be filled before the limit is reached, bytes.
    uint64_t Room() const
    {
        return m_capacity - std::min(m_capacity, Memory());
    }

    /// Memory of what it holds, bytes (Linux `sk_wmem_queued`).
    uint64_t Memory() const
    {
        return Queued() + m_overhead * (m_sentBuffers + UnsentBuffers());
    }

    /// Bytes of memory that it holds at present, at most (Linux `sk_sndbuf`).
    uint64_t Capacity() const
    {
        return m_capacity;
    }

    /// Bytes written and not acknowledged.
    uint64_t Queued() const
    {
        return m_written - m_acked;
    }

    /// Bytes written and never transmitted.
    uint64_t Unsent() const
    {
        return m_written - m_sent;
    }

    /// Those of them that one segment may hold together.
    uint64_t UnsentTogether() const
    {
        return m_partEnd - m_sent;
    }

    /// Stream offset of the first byte never transmitted.
    uint64_t SentOffset() const
    {
        return m_sent;
    }

    /// Bytes written since the connection began.
    uint64_t Written() const
    {
        return m_written;
    }

    uint64_t Acked() const
    {
        return m_acked;
    }

  private:
    /// Whether the last buffer takes no more. What was sent is no longer in it.
    bool IsLastFull(uint64_t size) const
    {
        const uint64_t held = m_written - std::max(m_lastBuffer, m_sent);
        return held == 0 || held >= size;
    }

    /// The kernel's buffers that hold what was not sent: full ones, but for the first and the last.
    uint64_t UnsentBuffers() const
    {
        const uint64_t last = std::max(m_lastBuffer, m_sent);
        const uint64_t before = last - m_sent;
        return (before + m_bufferSize - 1) / m_bufferSize + (m_written > last);
    }

    /// Something was written, or all of a part was sent.
    void FindPart()
    {
        while (!m_partEnds.IsEmpty() && m_partEnds.Front() <= m_sent)
        {
            m_partEnds.Pop();
        }
        m_partEnd = m_partEnds.IsEmpty() ? m_written : m_partEnds.Front();
    }

    void Resize(uint64_t capacity)
    {
        m_capacity = std::min(capacity, m_maximum);
    }

    uint64_t m_overhead;
    uint64_t m_maximum;
    uint64_t m_capacity{0};
    uint64_t m_bufferSize{1};  //!< payload bytes that one of the kernel's buffers takes
    uint64_t m_sentBuffers{0}; //!< the kernel's, with data that were sent
    uint64_t m_written{0};
    uint64_t m_lastBuffer{0}; //!< stream offset at which the last buffer begins
    uint64_t m_sent{0};
    uint64_t m_acked{0};
    uint64_t m_partEnd{0};     //!< stream offset where the part ends, so far, that is sent now
    uint64_t m_lastPartEnd{0}; //!< of the latest part that has ended
    Fifo<uint64_t> m_partEnds; //!< of those that wait
    bool m_isWriterBlocked{false};
    bool m_lacksRoom{false}; //!< noted since a third was free (Linux SOCK_NOSPACE)
    bool m_isBounded{true};
};

} // namespace tunnelcc

#endif // TUNNELCC_SEND_BUFFER_H
