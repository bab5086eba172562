/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/brutal.h"

#include "event/time-units.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// Least window, segments.
constexpr uint64_t MIN_CWND = 4;

constexpr uint64_t MILLISECONDS = SECOND / MS; // a second
constexpr uint32_t ALL = 100;                  // percent

} // namespace

const CongestionParameterTable<BrutalParameters>&
Brutal::GetParameterTable()
{
    using P = BrutalParameters;
    static const CongestionParameterTable<P> table{
        {&P::rate,
         "rate",
         "bytes/s",
         62500,
         1.25e12,
         "payload a second",
         "brutal.c MIN_PACING_RATE"},
        {&P::cwndGain,
         "cwnd_gain",
         "",
         0.5,
         8,
         "window, times rate · RTT",
         "brutal.c INIT_CWND_GAIN"},
        {&P::minAckRate,
         "min_ack_rate",
         "",
         0.01,
         1,
         "least share of arrivals that the rate is divided by",
         "brutal.c MIN_ACK_RATE_PERCENT"},
        {&P::slots,
         "slots",
         "",
         1,
         MAX_SLOTS,
         "seconds over which arrivals and losses count",
         "brutal.c PKT_INFO_SLOTS"},
        {&P::minSamples,
         "min_samples",
         "segments",
         0,
         1e9,
         "with fewer in these seconds, losses do not count",
         "brutal.c MIN_PKT_INFO_SAMPLES"},
        {&P::exact,
         "exact",
         "round neither share nor RTT and pace from the start, as over QUIC",
         "hysteria cb70589 brutal.go; brutal.c: off"},
    };
    return table;
}

Brutal::Brutal(const BrutalParameters& parameters)
    : m_parameters(parameters),
      m_slotCount(parameters.slots),
      m_minAckRate(parameters.exact ? parameters.minAckRate * ALL
                                    : std::round(parameters.minAckRate * ALL))
{
}

bool
Brutal::HasCongControl() const
{
    return true;
}

void
Brutal::Init(SenderState& state, int64_t now)
{
    state.ssthresh = INFINITE_SSTHRESH;
    if (m_parameters.exact)
    {
        Set(state, now);
    }
}

uint32_t
Brutal::GetSsThresh(SenderState& state, int64_t /* now */)
{
    return state.ssthresh;
}

void
Brutal::OnAck(SenderState& state, const AckEvent& event, bool /* mayGrow */)
{
    if (!m_parameters.exact && !event.rate.IsValid())
    {
        return;
    }
    const int64_t second = event.now / SECOND;
    Slot& slot = m_slots[second % m_slotCount];
    if (slot.second != second)
    {
        slot = {second, 0, 0};
    }
    slot.acked += event.ackedSacked;
    slot.lost += event.newlyLost;

    Set(state, event.now);
}

void
Brutal::Set(SenderState& state, int64_t now) const
{
    if (m_parameters.exact)
    {
        const double rate = m_parameters.rate * ALL / GetAckRate(now);
        const double inFlight = rate * static_cast<double>(state.srtt) * 1e-9 / state.mss;
        const double window = std::clamp<double>(inFlight * m_parameters.cwndGain, 1, MAX_WINDOW);
        state.cwnd = static_cast<uint32_t>(window);
        state.pacingRate = rate;
        return;
    }
    const auto share = static_cast<uint64_t>(GetAckRate(now));
    const auto rate = static_cast<uint64_t>(m_parameters.rate) * ALL / share;
    const auto rtt = static_cast<uint64_t>(std::max<int64_t>(state.srtt / MS, 1));
    const uint64_t inFlight = rate / MILLISECONDS * rtt / state.mss;
    const auto window =
        static_cast<uint64_t>(static_cast<double>(inFlight) * m_parameters.cwndGain);
    state.cwnd = static_cast<uint32_t>(std::clamp<uint64_t>(window, MIN_CWND, MAX_WINDOW));
    state.pacingRate = static_cast<double>(rate);
}

double
Brutal::GetAckRate(int64_t now) const
{
    const int64_t oldest = now / SECOND - m_slotCount;
    uint64_t acked = 0;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < m_slotCount; ++i)
    {
        if (m_slots[i].second >= oldest)
        {
            acked += m_slots[i].acked;
            lost += m_slots[i].lost;
        }
    }
    const uint64_t samples = acked + lost;
    if (samples == 0 || samples < m_parameters.minSamples)
    {
        return ALL;
    }
    const uint64_t integer = acked * ALL / samples;
    const auto whole = static_cast<double>(integer);
    const double exact = static_cast<double>(acked * ALL) / static_cast<double>(samples);
    return std::max(m_parameters.exact ? exact : whole, m_minAckRate);
}

uint32_t
Brutal::GetUndoCwnd(SenderState& state, uint32_t /* priorCwnd */)
{
    return state.cwnd;
}

} // namespace tunnelcc
