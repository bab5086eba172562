/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-sender.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

DatagramSender::DatagramSender(EventLoop& loop,
                               const FlowSpec& flow,
                               DatagramSocket& socket,
                               const RandomStream& draws,
                               DatagramMeter& meter)
    : EventSource(loop),
      m_spec(*flow.datagrams),
      m_start(flow.start),
      m_stop(flow.stop),
      m_isDrawn(m_spec.drawsGaps || m_spec.drawsPeriods),
      m_burstBytes(static_cast<double>(m_spec.full) * m_spec.packet + m_spec.last),
      m_socket(socket),
      m_draws(draws),
      m_meter(meter),
      m_clock(flow.start),
      m_retryTimer(loop, this)
{
    socket.SetReceiver(*this);
    if (m_spec.drawsPeriods)
    {
        m_pauseAt = m_start + Draw(static_cast<double>(m_spec.on));
    }
    m_loop.Insert(m_start, m_rank, this);
}

int64_t
DatagramSender::TimeOf(uint64_t burst) const
{
    const double bits = static_cast<double>(burst) * m_burstBytes * 8;
    const double whole = bits / m_spec.rate * 1e9;
    if (whole >= static_cast<double>(NEVER))
    {
        return NEVER;
    }
    const auto sending = static_cast<int64_t>(whole);
    if (m_spec.on == 0 || m_spec.off == 0)
    {
        return m_start + sending;
    }
    const int64_t periods = sending / m_spec.on;
    return periods < NEVER / m_spec.off ? m_start + sending + periods * m_spec.off : NEVER;
}

int64_t
DatagramSender::Draw(double mean)
{
    const double drawn = -std::log(m_draws.RandU01()) * mean;
    return static_cast<int64_t>(std::min(drawn, static_cast<double>(NEVER)));
}

int64_t
DatagramSender::NextTime()
{
    if (!m_isDrawn)
    {
        return TimeOf(m_bursts);
    }
    const double gap = m_burstBytes * 8 / m_spec.rate * 1e9;
    m_clock += m_spec.drawsGaps ? Draw(gap)
                                : static_cast<int64_t>(std::min(gap, static_cast<double>(NEVER)));
    if (m_clock >= NEVER)
    {
        return NEVER;
    }
    if (m_spec.drawsPeriods && m_clock >= m_pauseAt)
    {
        m_clock = m_pauseAt + Draw(static_cast<double>(m_spec.off));
        m_pauseAt = m_clock + Draw(static_cast<double>(m_spec.on));
    }
    return m_clock;
}

void
DatagramSender::Fire(int64_t now)
{
    if (m_stop > 0 && now >= m_stop)
    {
        return;
    }
    for (uint32_t place = 0; place <= m_spec.full; ++place)
    {
        const auto number = static_cast<uint32_t>(m_sent++);
        if (m_spec.timeout > 0)
        {
            m_isAnswered.push_back(false);
            Request(now, {number, 0, now, 0});
        }
        else
        {
            const bool isLast = place == m_spec.full;
            m_socket.Send(now, number, now, isLast ? m_spec.last : m_spec.packet);
        }
    }
    ++m_bursts;
    m_loop.Insert(NextTime(), m_rank, this);
}

void
DatagramSender::Request(int64_t now, Attempt attempt)
{
    ++attempt.count;
    attempt.deadline = now + m_spec.timeout;
    m_socket.Send(now, attempt.number, attempt.sentAt, m_spec.last);
    if (attempt.count < m_spec.attempts)
    {
        m_attempts.Push(attempt);
        if (!m_retryTimer.IsPending())
        {
            m_retryTimer.Set(m_attempts.Front().deadline);
        }
    }
}

void
DatagramSender::OnRetry(int64_t now)
{
    while (!m_attempts.IsEmpty() && m_attempts.Front().deadline <= now)
    {
        const Attempt attempt = m_attempts.Front();
        m_attempts.Pop();
        if (!m_isAnswered[attempt.number])
        {
            ++m_resent;
            Request(now, attempt);
        }
    }
    if (!m_attempts.IsEmpty() && !m_retryTimer.IsPending())
    {
        m_retryTimer.Set(m_attempts.Front().deadline);
    }
}

void
DatagramSender::OnDatagram(int64_t now, const Packet& packet)
{
    if (m_spec.answer == 0)
    {
        return; // what a client sends to be sent data
    }
    if (m_spec.timeout > 0)
    {
        if (m_isAnswered[packet.segment])
        {
            return;
        }
        m_isAnswered[packet.segment] = true;
    }
    m_meter.Record(now, packet.segment, SentAt(packet));
}

} // namespace tunnelcc
