/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEND_LIMITS_H
#define TUNNELCC_SEND_LIMITS_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/// Why a sender is waiting instead of sending.
enum class SendLimit : uint8_t
{
    NONE,              //!< the connection has not begun, or is over
    HANDSHAKE,         //!< the connection is not open yet
    APPLICATION,       //!< nothing is written
    CPU,               //!< the program computes what it writes next
    SEND_BUFFER,       //!< the program could write, but the buffer takes no more
    STREAM_WINDOW,     //!< of a stream among several (smux, HTTP/2, SSH, QUIC): it waits for credit
    CONNECTION_WINDOW, //!< of all streams together (HTTP/2, QUIC)
    SEND_WINDOW,       //!< the sender's own limit of what is in flight (KCP)
    RECEIVE_WINDOW,
    CONGESTION_WINDOW,
    PACING,
    COUNT
};

/**
 * How long each limit held, after Linux's chronographs (tcp_chrono_start(): busy, rwnd_limited,
 * sndbuf_limited), but with every cause told apart.
 *
 * A closed window is the limit even where pacing would hold the next burst back, too. And pacing is
 * not the limit within a round trip of one that congestion control did not set: its rate then
 * follows from what could be sent. Linux counts the gaps between bursts as busy.
 */
class SendLimits
{
  public:
    /// ns for each limit.
    using Times = std::array<int64_t, static_cast<size_t>(SendLimit::COUNT)>;

    /// From now on this is the limit, and its time counts as such. \param now ns
    void Set(int64_t now, SendLimit limit)
    {
        if (limit != m_limit)
        {
            Count(now, limit, limit);
        }
    }

    /// From now on this is the limit. Pacing within a round trip of another limit counts as that
    /// one (see above). \param now ns  \param rtt round-trip time, ns
    void Set(int64_t now, SendLimit limit, int64_t rtt)
    {
        if (limit == m_limit && limit != SendLimit::PACING)
        {
            return; // its time goes on
        }
        const bool isOther =
            m_limit >= SendLimit::APPLICATION && m_limit <= SendLimit::RECEIVE_WINDOW;
        if (isOther && now > m_since)
        {
            m_other = m_limit;
            m_otherEnd = now;
        }
        Count(now, limit, limit == SendLimit::PACING && now <= m_otherEnd + rtt ? m_other : limit);
    }

    /// Why the sender is waiting now.
    SendLimit Get() const
    {
        return m_limit;
    }

    /// Times up to `now`, ns.
    Times Until(int64_t now) const
    {
        Times times = m_times;
        times[static_cast<size_t>(m_counted)] += now - m_since;
        return times;
    }

  private:
    void Count(int64_t now, SendLimit limit, SendLimit counted)
    {
        m_times[static_cast<size_t>(m_counted)] += now - m_since;
        m_since = now;
        m_limit = limit;
        m_counted = counted;
    }

    SendLimit m_limit{SendLimit::NONE};
    SendLimit m_counted{SendLimit::NONE}; //!< for which the time counts
    SendLimit m_other{SendLimit::NONE};   //!< the latest limit that congestion control did not set
    int64_t m_otherEnd{INT64_MIN / 2};    //!< when it ended, ns
    int64_t m_since{0};
    Times m_times{};
};

} // namespace tunnelcc

#endif // TUNNELCC_SEND_LIMITS_H
