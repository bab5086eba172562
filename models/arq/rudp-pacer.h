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

/// A thread that sends data: a writer's, or the one that sends packets again.
class RudpThread
{
  public:
    virtual ~RudpThread() = default;

    /// Send a packet. \returns its payload, bytes
    virtual uint32_t Send(int64_t now) = 0;

    /// Go on: the thread has the lock no longer, and has slept if it had to.
    virtual void GoOn(int64_t now) = 0;
};

/**
 * The lock that all threads of an end of RUDP need to send, one packet at a time. When a burst was
 * sent, the thread that holds the lock sleeps for as long as the burst takes at the configured
 * rate. Threads that wait get the lock in the order in which they asked; Java's lock promises no
 * order.
 */
class RudpPacer
{
  public:
    /// \param burst payload after which to sleep, bytes  \param rate payload bytes/s
    RudpPacer(EventLoop& loop, uint32_t burst, double rate)
        : m_burst(burst),
          m_rate(rate),
          m_wake(loop, this)
    {
    }

    /// Set the rate from the next sleep on, payload bytes/s.
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

    /// Count payload that was sent. \returns whether it ends a burst
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
    uint32_t m_sent{0}; //!< payload of the burst so far, bytes
    int64_t m_begin{0}; //!< when the burst began, ns
    Fifo<RudpThread*> m_waiting;
    RudpThread* m_sleeper{nullptr};
    bool m_isServing{false};
    Timer<RudpPacer, &RudpPacer::OnWake> m_wake;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_PACER_H
