/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEND_BUFFER_H
#define TUNNELCC_SEND_BUFFER_H

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * Socket send buffer: what was written and is not yet acknowledged.
 *
 * As in Linux, a writer that found it full wakes only once it has drained to two thirds
 * (sk_stream_write_space(): free space at least half of what is queued), not with every ACK. Bytes
 * have no contents.
 */
class SendBuffer
{
  public:
    /**
     * \param capacity payload bytes at first
     * \param maximum payload bytes to which Expand() may take it
     */
    SendBuffer(uint64_t capacity, uint64_t maximum)
        : m_maximum(maximum)
    {
        Resize(capacity);
    }

    /// Whether a writer waits for room (Linux SOCK_NOSPACE).
    bool IsWriterBlocked() const
    {
        return m_isWriterBlocked;
    }

    /// Whether a writer waits for room that a larger buffer would give it.
    bool WantsToExpand() const
    {
        return m_isWriterBlocked && m_capacity < m_maximum;
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

    /// Take as many of `bytes` as fit. \returns how many
    uint64_t Write(uint64_t bytes)
    {
        uint64_t accepted = std::min(bytes, m_capacity - std::min(m_capacity, Queued()));
        m_written += accepted;
        m_isWriterBlocked = accepted < bytes;
        return accepted;
    }

    /// The next `bytes` were transmitted for the first time.
    void OnSent(uint64_t bytes)
    {
        m_sent += bytes;
    }

    void OnAcked(uint64_t bytes)
    {
        m_acked += bytes;
    }

    /// Whether a blocked writer is to be woken now; true once for each time it blocked.
    bool WakesWriter()
    {
        bool isWriteable = Queued() < m_capacity && m_capacity - Queued() >= Queued() / 2;
        if (!m_isWriterBlocked || !isWriteable)
        {
            return false;
        }
        m_isWriterBlocked = false;
        return true;
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
    void Resize(uint64_t capacity)
    {
        m_capacity = std::min(capacity, m_maximum);
    }

    uint64_t m_maximum;
    uint64_t m_capacity{0};
    uint64_t m_written{0};
    uint64_t m_sent{0};
    uint64_t m_acked{0};
    bool m_isWriterBlocked{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_SEND_BUFFER_H
