/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-window.h"

#include <utility>

namespace tunnelcc
{

CongestionWindow::CongestionWindow(const TcpSpec& spec,
                                   std::unique_ptr<CongestionControl> algorithm,
                                   Scoreboard& board,
                                   const Pacer& pacer)
    : m_initialWindow(spec.initialWindow),
      m_algorithm(std::move(algorithm)),
      m_board(board),
      m_pacer(pacer),
      m_hasCongControl(m_algorithm->HasCongControl()),
      m_wantsLosses(m_algorithm->WantsLosses()),
      m_wantsDeliveries(m_algorithm->WantsDeliveries())
{
    m_state.mss = spec.mss;
    m_state.cwnd = spec.initialWindow;
}

// Calls of the algorithm -----------------------------------------------------------------------

void
CongestionWindow::Sync()
{
    m_state.inFlight = m_board.InFlight();
    m_state.lostOut = m_board.LostOut();
    m_state.sndUna = m_board.Una();
    m_state.sndNxt = m_board.Nxt();
    m_state.lost = m_lost;
    m_state.nextSendTime = m_pacer.NextSend();
    SyncLimit();
}

void
CongestionWindow::Init(int64_t now)
{
    if (m_wantsLosses)
    {
        m_board.KeepFlights();
    }
    Sync();
    m_algorithm->Init(m_state, now);
    m_changeTime = now; // Linux tcp_init_transfer()
}

void
CongestionWindow::OnTransmit(int64_t now, int64_t idle)
{
    // Linux tcp_event_data_sent()
    if (m_board.InFlight() == 0)
    {
        Sync();
        m_algorithm->OnTransmitStart(m_state, now, idle);
    }
}

void
CongestionWindow::OnAck(const AckEvent& event, bool mayGrow)
{
    m_changeTime = mayGrow ? event.now : m_changeTime;
    m_algorithm->OnAck(m_state, event, mayGrow);
}

void
CongestionWindow::LowerThreshold(int64_t now)
{
    Sync();
    ++m_congestionEvents;
    m_state.ssthresh = m_algorithm->GetSsThresh(m_state, now);
}

void
CongestionWindow::SetCaState(CaState state, int64_t now)
{
    Sync();
    m_algorithm->OnCaState(m_state, state, now);
    m_state.caState = state;
}

void
CongestionWindow::EndReduction(int64_t now)
{
    // Linux tcp_end_cwnd_reduction()
    if (m_state.ssthresh < INFINITE_SSTHRESH)
    {
        Set(now, m_state.ssthresh);
    }
    Sync();
    m_algorithm->OnReductionEnd(m_state, now);
}

void
CongestionWindow::Restore(uint32_t cwnd, uint32_t ssthresh)
{
    m_state.cwnd = m_algorithm->GetUndoCwnd(m_state, cwnd);
    m_state.ssthresh = std::max(m_state.ssthresh, ssthresh);
}

// Losses ---------------------------------------------------------------------------------------

void
CongestionWindow::OnLost(int64_t now, uint64_t number)
{
    ++m_lost;
    if (!m_wantsLosses)
    {
        return;
    }
    Sync();
    const Flight& flight = m_board.FlightAt(number);
    m_algorithm->OnSegmentLost(m_state,
                               {number,
                                flight.inFlight,
                                flight.LostThen(m_lost),
                                m_board.At(number).Has(Segment::APP_LIMITED)},
                               now);
}

void
CongestionWindow::Complete(RateSample& sample, uint64_t number)
{
    if (m_wantsLosses)
    {
        const Flight& flight = m_board.FlightAt(number);
        sample.txInFlight = flight.inFlight;
        sample.priorLost = flight.LostThen(m_lost);
    }
}

// The window's use -----------------------------------------------------------------------------

void
CongestionWindow::Validate(int64_t now,
                           bool isLimited,
                           const RttEstimator& rtt,
                           bool isWriterBlocked)
{
    // Linux tcp_cwnd_validate(): remember the most that a round of data had outstanding.
    const uint32_t out = m_board.PacketsOut();
    if (m_board.Una() >= m_roundEnd || isLimited || (!m_isLimited && out > m_state.maxPacketsOut))
    {
        m_isLimited = isLimited;
        m_state.maxPacketsOut = out;
        m_roundEnd = m_board.Nxt();
    }
    if (IsLimited())
    {
        m_used = 0;
        m_changeTime = now;
        return;
    }
    m_used = std::max(m_used, out);
    if (!m_hasCongControl && now - m_changeTime >= rtt.Rto())
    {
        Shrink(now, isWriterBlocked);
    }
}

void
CongestionWindow::Shrink(int64_t now, bool isWriterBlocked)
{
    // RFC 2861 as in Linux tcp_cwnd_application_limited(). As tcp_cong_avoid() sets the time anew
    // with each ACK of new data, windows shrink only where such ACKs stay away.
    m_changeTime = now;
    if (m_state.caState != CaState::OPEN || isWriterBlocked)
    {
        return;
    }
    const uint32_t used = std::max(m_used, m_initialWindow);
    if (used < m_state.cwnd)
    {
        KeepThreshold();
        m_state.cwnd = (m_state.cwnd + used) / 2;
    }
    m_used = 0;
}

bool
CongestionWindow::RestartAfterIdle(int64_t now, int64_t idle, int64_t rto)
{
    // RFC 2861 and Linux tcp_slow_start_after_idle_check(), tcp_cwnd_restart(): halve the window
    // for each RTO of silence, down to the initial window.
    if (m_hasCongControl || idle <= rto)
    {
        return false;
    }
    const uint32_t restart = std::min(m_initialWindow, m_state.cwnd);
    KeepThreshold();
    while (idle > rto && m_state.cwnd > restart)
    {
        m_state.cwnd /= 2;
        idle -= rto;
    }
    m_state.cwnd = std::max(m_state.cwnd, restart);
    m_changeTime = now;
    m_used = 0;
    return true;
}

void
CongestionWindow::KeepThreshold()
{
    // Linux tcp_current_ssthresh()
    m_state.ssthresh = std::max(m_state.ssthresh, m_state.cwnd / 2 + m_state.cwnd / 4);
}

} // namespace tunnelcc
