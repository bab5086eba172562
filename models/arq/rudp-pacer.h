/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_PACER_H
#define TUNNELCC_RUDP_PACER_H

#include "event/fifo.h"
#include "event/timer.h"

#include <cstdint>

namespace tunnelcc
{

/// A thread that sends data: one that writes, or the one that sends again.
class RudpThread
{
  public:
    virtual ~RudpThread() = default;

    /// Send a packet. \returns bytes of its data
    virtual uint32_t Send(int64_t now) = 0;

    /// Go on: what the packet takes of the rate was slept.
    virtual void GoOn(int64_t now) = 0;
};

/**
 * The lock under which all threads of an end of RUDP send, a packet at a time. Once more than a
 * burst was sent, its holder sleeps as long as that takes at the configured rate. Threads that wait
 * get the lock in the order in which they asked for it; Java's promises no order.
 */
class RudpPacer
{
  public:
    /// \param burst bytes of data after which to sleep  \param rate bytes/s
    RudpPacer(uint32_t burst, double rate)
        : m_burst(burst),
          m_rate(rate),
          m_wake(this)
    {
    }

    /// From the next sleep on. \param rate bytes/s
    void SetRate(double rate)
    {
        m_rate = rate;
    }

    double Rate() const
    {
        return m_rate;
    }

    /// Let a thread send a packet, now or later. RudpThread::Send() and GoOn() follow.
    void Ask(int64_t now, RudpThread& thread)
    {
        m_waiting.Push(&thread);
        if (!m_isServing && !m_wake.IsPending())
        {
            Serve(now);
        }
    }

  private:
    void OnWake(int64_t now)
    {
        m_isServing = true;
        m_sleeper->GoOn(now);
        Serve(now);
    }

    void Serve(int64_t now)
    {
        m_isServing = true;
        while (!m_waiting.IsEmpty())
        {
            RudpThread* thread = m_waiting.Front();
            m_waiting.Pop();
            if (CountSent(now, thread->Send(now)))
            {
                m_sleeper = thread;
                break;
            }
            thread->GoOn(now);
        }
        m_isServing = false;
    }

    /// Count data. \returns whether they were the last of a burst
    bool CountSent(int64_t now, uint32_t bytes)
    {
        constexpr double NS = 1e9;
        if (m_sent == 0)
        {
            m_begin = now;
        }
        m_sent += bytes;
        if (m_sent <= m_burst)
        {
            return false;
        }
        int64_t end = m_begin + static_cast<int64_t>(NS * m_sent / m_rate);
        m_sent = 0;
        if (end <= now)
        {
            return false;
        }
        m_wake.Set(end);
        return true;
    }

    const uint32_t m_burst;
    double m_rate;
    uint32_t m_sent{0}; //!< of the burst
    int64_t m_begin{0}; //!< of the burst
    Fifo<RudpThread*> m_waiting;
    RudpThread* m_sleeper{nullptr};
    bool m_isServing{false};
    Timer<RudpPacer, &RudpPacer::OnWake> m_wake;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_PACER_H
