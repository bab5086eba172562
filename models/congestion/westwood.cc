/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/westwood.h"

#include <algorithm>

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
    : m_minInterval(ToNanoseconds(parameters.rttMin)),
      m_initialRtt(ToNanoseconds(parameters.initialRtt)),
      m_filterGain(parameters.filterGain)
{
}

void
Westwood::Init(SenderState& /* state */, int64_t now)
{
    m_increase.Reset();
    m_intervalStart = now;
    m_rtt = m_minRtt = m_initialRtt;
}

uint32_t
Westwood::GetSsThresh(SenderState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

uint32_t
Westwood::GetWindow() const
{
    const double window = m_bandwidth * 1e-9 * static_cast<double>(m_minRtt);
    return std::max(static_cast<uint32_t>(std::min<double>(window, MAX_WINDOW)), MIN_SSTHRESH);
}

void
Westwood::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    if (event.rtt > 0)
    {
        m_rtt = event.rtt;
    }
    UpdateBandwidth(event.now);
    m_acked += CountAcked(event.cumAcked);
    UpdateMinRtt();
    if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
}

void
Westwood::UpdateBandwidth(int64_t now)
{
    const int64_t interval = now - m_intervalStart;
    if (interval <= std::max(m_rtt, m_minInterval))
    {
        return;
    }
    const double sample = m_acked * 1e9 / static_cast<double>(interval);
    if (m_bandwidth == 0 && m_rawBandwidth == 0)
    {
        m_rawBandwidth = m_bandwidth = sample;
    }
    else
    {
        m_rawBandwidth += m_filterGain * (sample - m_rawBandwidth);
        m_bandwidth += m_filterGain * (m_rawBandwidth - m_bandwidth);
    }
    m_acked = 0;
    m_intervalStart = now;
}

uint32_t
Westwood::CountAcked(uint32_t cumAcked)
{
    // A duplicate ACK stands for one segment; the ACK that repairs the hole covers those again.
    if (cumAcked == 0)
    {
        ++m_accounted;
        return 1;
    }
    if (cumAcked == 1)
    {
        return 1;
    }
    const uint32_t known = std::min(m_accounted, cumAcked);
    m_accounted -= known;
    return known == cumAcked ? 1 : cumAcked - known;
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
    const bool wasReducing = state.caState == CaState::CWR || state.caState == CaState::RECOVERY;
    if (next == CaState::LOSS && state.caState != CaState::LOSS)
    {
        // CA_EVENT_LOSS
        state.ssthresh = GetWindow();
        m_restartsMinRtt = true;
    }
    else if (wasReducing && next < CaState::CWR)
    {
        // CA_EVENT_COMPLETE_CWR
        state.cwnd = state.ssthresh = GetWindow();
    }
}

} // namespace tunnelcc
