/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_MEMORY_H
#define TUNNELCC_TCP_MEMORY_H

#include <cstdint>

namespace tunnelcc
{

/**
 * The memory of all TCP sockets of a host, with the three thresholds of Linux (net.ipv4.tcp_mem).
 *
 * - From the first threshold on, no send buffer grows (tcp_should_expand_sndbuf()).
 * - Above the second, until the total falls below the first, there is memory pressure: no receive
 *   window grows (tcp_grow_window()). If a socket holds more than its equal share of the third
 *   threshold, its send buffer shrinks to half of what it holds (__sk_mem_raise_allocated(),
 *   sk_stream_moderate_sndbuf()).
 * - At the third, the send buffer of every socket that writes shrinks.
 *
 * A socket keeps a reserve of what it releases. When it has released more than the reserve, it
 * keeps half. It keeps nothing when it takes a buffer under pressure (sk_stream_alloc_skb()
 * before 6.0), or when a timer of its sender runs (tcp_write_timer_handler() before 6.0).
 *
 * Of send buffers their memory counts, of receive buffers the payload. Left out: the overhead of
 * receive buffers, the pruning of receive queues, and the timer of delayed ACKs, which also gives
 * the reserve back.
 */
class TcpMemory
{
  public:
    /**
     * \param limit third threshold, bytes; 0: none. At boot Linux sets the others to 1/2 and 2/3.
     * \param reserve what a socket may keep of what it released, bytes
     */
    TcpMemory(uint64_t limit, uint64_t reserve)
        : m_limit(limit > 0 ? limit : UINT64_MAX),
          m_reserve(reserve),
          m_pressure(m_limit / 3 * 2),
          m_low(m_limit / 2)
    {
    }

    bool IsLimited() const
    {
        return m_limit < UINT64_MAX;
    }

    /// What a socket may keep of what it released, bytes (Linux `sk_forward_alloc`).
    uint64_t Reserve() const
    {
        return m_reserve;
    }

    /// One more socket shares the memory.
    void AddSocket()
    {
        ++m_sockets;
    }

    /// A socket's share changed by `change` bytes.
    void Charge(int64_t change)
    {
        m_total += static_cast<uint64_t>(change);
        if (m_total > m_pressure)
        {
            m_isUnderPressure = true;
        }
        else if (m_total < m_low)
        {
            m_isUnderPressure = false;
        }
    }

    /// Whether Linux's tcp_memory_pressure is set.
    bool IsUnderPressure() const
    {
        return m_isUnderPressure;
    }

    bool LetsSendBuffersGrow() const
    {
        return m_total < m_low && !m_isUnderPressure;
    }

    bool LetsWindowsGrow() const
    {
        return !m_isUnderPressure;
    }

    /// Whether a socket that holds `held` bytes gets no more for sending.
    bool Suppresses(uint64_t held) const
    {
        return m_total >= m_limit || (m_isUnderPressure && held * m_sockets >= m_limit);
    }

    /// Bytes that sockets hold.
    uint64_t Total() const
    {
        return m_total;
    }

    /// What a writer may have in its buffer in any case, bytes (net.ipv4.tcp_wmem, the minimum).
    static constexpr uint64_t GUARANTEED = 4096;

  private:
    uint64_t m_limit;
    uint64_t m_reserve;
    uint64_t m_pressure;
    uint64_t m_low;
    uint64_t m_total{0};
    uint64_t m_sockets{0};
    bool m_isUnderPressure{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_MEMORY_H
