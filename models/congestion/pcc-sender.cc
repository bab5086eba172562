/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/pcc-sender.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// Least rate, bytes/s (pcc_rate_minimum, PCC_RATE_MIN).
constexpr int64_t MIN_RATE = 1024;

/// Most, bytes/s: twice the fastest link. Where nothing limits a sender, such as on a loopback, its
/// rate grows for ever, and numbers of 64 bits would overflow. (The modules have no such limit.)
constexpr int64_t MAX_RATE = 100'000'000'000;

/// Least window, segments.
constexpr int64_t MIN_PCC_WINDOW = 4;

constexpr int64_t UNMEASURED_RTT = 1000; // µs; before there is a sample

} // namespace

bool
PccSender::HasCongControl() const
{
    return true;
}

uint32_t
PccSender::GetSsThresh(SenderState& /* state */, int64_t /* now */)
{
    return INFINITE_SSTHRESH;
}

uint32_t
PccSender::GetUndoCwnd(SenderState& state, uint32_t /* priorCwnd */)
{
    return state.cwnd;
}

uint32_t
PccSender::LeastSegments() const
{
    return m_intervalSegments;
}

// Intervals ------------------------------------------------------------------------------------

void
PccSender::Init(SenderState& state, int64_t now)
{
    state.ssthresh = INFINITE_SSTHRESH;
    Begin();
    StartInterval(state, now);
}

void
PccSender::Rewind()
{
    m_sendIndex = 0;
    m_countIndex = 0;
    m_waits = false;
}

void
PccSender::Resume()
{
    SetUpExperiment();
}

void
PccSender::SetUpExperiment()
{
    const int64_t high = m_rate * (PERCENT + m_epsilon) / PERCENT;
    const int64_t low = m_rate * (PERCENT - m_epsilon) / PERCENT;
    for (uint32_t i = 0; i < INTERVALS; i += 2)
    {
        const bool isLowFirst = m_random.DrawBelow(2) == 1;
        m_intervals[i].rate = isLowFirst ? low : high;
        m_intervals[i + 1].rate = isLowFirst ? high : low;
        m_intervals[i].sentBefore = m_intervals[i + 1].sentBefore = 0;
    }
    Rewind();
}

void
PccSender::SetUp(int64_t rate)
{
    if (IsExperimenting())
    {
        SetUpExperiment();
        return;
    }
    m_intervals[0].rate = std::min(rate, MAX_RATE);
    Rewind();
}

/// The interval of the second pair whose rate both pairs of an experiment found better; null: they
/// differ.
const PccSender::Interval*
PccSender::FindAgreement() const
{
    const auto& it = m_intervals;
    const bool isFirstBetter = it[0].utility > it[1].utility;
    const bool isThirdBetter = it[2].utility > it[3].utility;
    const bool isSameOrder = it[0].rate == it[2].rate;
    if ((isFirstBetter == isThirdBetter) != isSameOrder)
    {
        return nullptr;
    }
    return isThirdBetter ? &it[2] : &it[3];
}

/// The segments of an interval were counted. \returns whether to start the next interval
bool
PccSender::Decide(const SenderState& state)
{
    if (IsExperimenting())
    {
        if (m_countIndex < INTERVALS)
        {
            return false;
        }
        for (Interval& interval : m_intervals)
        {
            Judge(state, interval);
        }
        SetUp(FindDirection(FindAgreement()));
        return true;
    }
    const int64_t lastUtility = m_intervals[0].utility;
    Judge(state, m_intervals[0]);
    if (m_mode == Mode::SLOW_START)
    {
        GrowInSlowStart(state, lastUtility);
    }
    else
    {
        Move(state, lastUtility);
    }
    m_rate = std::min(m_rate, MAX_RATE);
    SetUp(m_rate);
    return true;
}

void
PccSender::StartInterval(SenderState& state, int64_t now)
{
    int64_t rate = m_rate;
    if (!m_waits)
    {
        Interval& interval = m_intervals[m_sendIndex];
        interval.sentBefore = std::max<uint64_t>(state.segmentsSent, 1);
        interval.sentUntil = 0;
        interval.sendBegin = now;
        interval.lost = interval.delivered = 0;
        rate = interval.rate;
    }
    state.pacingRate = static_cast<double>(std::max(rate, MIN_RATE));
    SetWindow(state);
}

bool
PccSender::IsSent(const SenderState& state, const Interval& interval) const
{
    return state.segmentsSent >= interval.sentBefore + LeastSegments() &&
           m_counted > interval.sentBefore;
}

void
PccSender::Count(const SenderState& state, int64_t now, Interval& interval) const
{
    if (interval.lost + interval.delivered == 0)
    {
        interval.countBegin = now;
        interval.beginRtt = state.srtt;
    }
    interval.countEnd = now;
    interval.endRtt = state.srtt;
    interval.lost += static_cast<int64_t>(state.lost - m_lost);
    interval.delivered += static_cast<int64_t>(state.delivered - m_delivered);
}

void
PccSender::SetWindow(SenderState& state)
{
    const int64_t rtt = state.srtt > 0 ? std::max<int64_t>(state.srtt / US, 1) : UNMEASURED_RTT;
    const int64_t inFlight =
        static_cast<int64_t>(state.pacingRate) * rtt / state.mss / MICROSECONDS;
    state.cwnd =
        static_cast<uint32_t>(std::clamp<int64_t>(2 * inFlight, MIN_PCC_WINDOW, MAX_WINDOW));
}

// Events ---------------------------------------------------------------------------------------

void
PccSender::OnAck(SenderState& state, const AckEvent& event, bool /* mayGrow */)
{
    SetWindow(state);
    if (state.caState != CaState::LOSS)
    {
        if (!m_waits && IsSent(state, m_intervals[m_sendIndex]))
        {
            m_intervals[m_sendIndex].sentUntil = state.segmentsSent;
            m_intervals[m_sendIndex].sendEnd = event.now;
            ++m_sendIndex;
            m_waits = m_sendIndex == INTERVALS || !IsExperimenting();
            StartInterval(state, event.now);
        }
        const uint64_t before = m_counted;
        m_counted = static_cast<uint64_t>(static_cast<int64_t>(state.delivered + state.lost) -
                                          m_miscounted);
        Interval& interval = m_intervals[m_countIndex];
        if (interval.sentBefore > 0)
        {
            if (before > interval.sentBefore + m_ignoredSegments)
            {
                Count(state, event.now, interval);
            }
            if (interval.sentUntil > 0 && interval.sentUntil < m_counted + m_ignoredSegments)
            {
                ++m_countIndex;
                if (Decide(state))
                {
                    StartInterval(state, event.now);
                }
            }
        }
    }
    m_lost = state.lost;
    m_delivered = state.delivered;
}

void
PccSender::OnCaState(SenderState& state, CaState next, int64_t now)
{
    const bool wasLoss = state.caState == CaState::LOSS;
    if (wasLoss && next != CaState::LOSS)
    {
        m_miscounted = static_cast<int64_t>(state.delivered + state.lost + state.inFlight) -
                       static_cast<int64_t>(state.segmentsSent);
        Resume();
        StartInterval(state, now);
    }
    else if (!wasLoss && next == CaState::LOSS)
    {
        m_waits = true;
        StartInterval(state, now);
    }
    else
    {
        SetWindow(state);
    }
}

} // namespace tunnelcc
