/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/westwood.h"

#include "congestion/jiffies.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tunnelcc
{

const CongestionParameterTable<WestwoodParameters>&
Westwood::GetParameterTable()
{
    using P = WestwoodParameters;
    static const CongestionParameterTable<P> table{
        {&P::rttMin,
         "rtt_min",
         "s",
         0,
         1e3,
         "shortest interval over which bandwidth is measured",
         "tcp_westwood.c TCP_WESTWOOD_RTT_MIN"},
        {&P::initialRtt,
         "initial_rtt",
         "s",
         0.001,
         1e3,
         "RTT before the first sample",
         "tcp_westwood.c TCP_WESTWOOD_INIT_RTT"},
        {&P::filterGain,
         "filter_gain",
         "",
         0.001,
         1,
         "weight of a new value in each filter",
         "tcp_westwood.c westwood_do_filter"},
    };
    return table;
}

Westwood::Westwood(const WestwoodParameters& parameters)
    : m_minInterval(static_cast<int64_t>(parameters.rttMin * HZ)),
      m_initialRtt(static_cast<int64_t>(parameters.initialRtt * HZ)),
      m_filterGain(parameters.filterGain)
{
}

void
Westwood::Init(SenderState& /* state */, int64_t now)
{
    m_increase.Reset();
    m_intervalStart = Jiffies(now);
    m_rtt = m_minRtt = m_initialRtt;
}

uint32_t
Westwood::GetSsThresh(SenderState& state, int64_t /* now */)
{
    m_hasNewThreshold = true;
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

double
Westwood::GetBandwidth() const
{
    return m_bandwidth * HZ;
}

uint32_t
Westwood::GetWindow(const SenderState& state) const
{
    // tcp_westwood_bw_rttmin()
    const double window = std::floor(m_bandwidth * static_cast<double>(m_minRtt) / state.mss);
    return std::max(static_cast<uint32_t>(std::min<double>(window, MAX_WINDOW)), MIN_SSTHRESH);
}

void
Westwood::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    m_hasNewThreshold = false;
    if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
}

bool
Westwood::WantsDeliveries() const
{
    return true;
}

void
Westwood::OnDelivered(SenderState& state, const AckEvent& event)
{
    if (event.rtt > 0)
    {
        m_rtt = JiffiesBegun(event.rtt);
    }
    UpdateBandwidth(Jiffies(event.now));
    // Linux compares with what the first ACK acknowledged, so that one counts as a duplicate.
    const uint32_t acked = std::exchange(m_isFirstAck, false) ? 0 : event.cumAcked * state.mss;
    m_acked += CountAcked(acked, state.mss);
    UpdateMinRtt();
}

void
Westwood::UpdateBandwidth(int64_t now)
{
    const int64_t interval = now - m_intervalStart;
    if (interval <= std::max(m_rtt, m_minInterval))
    {
        return;
    }
    const auto quotient = m_acked / interval; // of integers, as in Linux
    const auto sample = static_cast<double>(quotient);
    if (m_bandwidth == 0 && m_rawBandwidth == 0)
    {
        m_rawBandwidth = m_bandwidth = sample;
    }
    else
    {
        m_rawBandwidth = std::floor(m_rawBandwidth + m_filterGain * (sample - m_rawBandwidth));
        m_bandwidth = std::floor(m_bandwidth + m_filterGain * (m_rawBandwidth - m_bandwidth));
    }
    m_acked = 0;
    m_intervalStart = now;
}

uint32_t
Westwood::CountAcked(uint32_t acked, uint32_t mss)
{
    // A duplicate ACK stands for one segment; the ACK that repairs the hole covers those again.
    if (acked == 0)
    {
        m_accounted += mss;
        return mss;
    }
    if (acked <= mss)
    {
        return acked;
    }
    if (m_accounted >= acked)
    {
        m_accounted -= acked;
        return mss;
    }
    return acked - std::exchange(m_accounted, 0);
}

void
Westwood::UpdateMinRtt()
{
    m_minRtt = m_restartsMinRtt ? m_rtt : std::min(m_minRtt, m_rtt);
    m_restartsMinRtt = false;
}

void
Westwood::OnCaState(SenderState& state, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
    if (next == CaState::LOSS && m_hasNewThreshold)
    {
        // CA_EVENT_LOSS
        state.ssthresh = GetWindow(state);
        m_restartsMinRtt = true;
    }
    m_hasNewThreshold = false;
}

void
Westwood::OnReductionEnd(SenderState& state, int64_t /* now */)
{
    state.cwnd = state.ssthresh = GetWindow(state);
}

} // namespace tunnelcc
