/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-handshake.h"

#include "acknowledgement.h"
#include "event/time-units.h"
#include "rtt-estimator.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Retransmissions of a SYN and of a SYN-ACK (Linux sysctl tcp_syn_retries, tcp_synack_retries).
constexpr uint32_t SYN_RETRIES = 6;
constexpr uint32_t SYN_ACK_RETRIES = 5;

} // namespace

void
TcpHandshake::Connect(int64_t now)
{
    m_state = State::SYN_SENT;
    Send(now);
}

void
TcpHandshake::Accept(int64_t now)
{
    m_state = State::SYN_RECEIVED;
    Send(now);
}

void
TcpHandshake::Establish(int64_t now)
{
    m_state = State::ESTABLISHED;
    m_establishedTime = now;
    m_timer.Cancel();
}

std::optional<int64_t>
TcpHandshake::Rtt(int64_t now, std::optional<uint32_t> echo) const
{
    // Linux tcp_synack_rtt_meas(), tcp_clean_rtx_queue(); Karn's rule: if the SYN was sent more
    // than once, only its echo tells which one was answered.
    if (m_sent == 1)
    {
        return now - m_sendTime;
    }
    if (!echo)
    {
        return std::nullopt;
    }
    return std::max<int64_t>(TimestampClock(now) - *echo, 1) * MS;
}

bool
TcpHandshake::LostSyns(std::optional<uint32_t> echo) const
{
    // Linux tcp_init_transfer(): more than one retransmission, unless the first SYN was answered
    // (tcp_try_undo_spurious_syn()). A listener's answers to repeated SYNs count there, too, not
    // here: whether they come beside its own depends on how late both hosts' timers are.
    const bool isFirstAnswered = echo && *echo == TimestampClock(m_firstTime);
    return m_retries > 1 && !isFirstAnswered;
}

void
TcpHandshake::Send(int64_t now)
{
    m_firstTime = m_sent == 0 ? now : m_firstTime;
    m_sendTime = now;
    ++m_sent;
    m_output.SendSyn(now, m_state == State::SYN_RECEIVED);
    const uint32_t doublings = m_retries - std::min(m_retries, LinearTimeouts());
    m_timer.Set(now + (RttEstimator::INITIAL_RTO << doublings));
}

uint32_t
TcpHandshake::LinearTimeouts() const
{
    return m_state == State::SYN_SENT ? m_linearTimeouts : 0;
}

void
TcpHandshake::OnTimer(int64_t now)
{
    // Linux tcp_write_timeout(), reqsk_timer_handler(): linear time-outs come on top.
    const bool isAnswer = m_state == State::SYN_RECEIVED;
    if (m_retries == (isAnswer ? SYN_ACK_RETRIES : SYN_RETRIES + LinearTimeouts()))
    {
        m_failedTime = isAnswer ? -1 : now;
        m_state = State::CLOSED;
        m_retries = 0;
        return;
    }
    ++m_retries;
    Send(now);
}

} // namespace tunnelcc
