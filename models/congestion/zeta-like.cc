/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/zeta-like.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// Where the constants come from.
constexpr const char* CHOICE = "choice";

} // namespace

const CongestionParameterTable<ZetaLikeParameters>&
ZetaLike::GetParameterTable()
{
    using P = ZetaLikeParameters;
    static const CongestionParameterTable<P> table{
        {&P::initialWindow,
         "initial_window",
         "segments",
         1,
         1e6,
         "first congestion window",
         "choice, as initialCwndWan of LotServer's configurations"},
        {&P::rate,
         "rate",
         "bytes/s",
         1000,
         1.25e12,
         "most that is paced",
         "choice, as wankbps of LotServer's configurations"},
        {&P::minQueueDelay,
         "min_queue_delay",
         "s",
         0,
         10,
         "least queueing delay that is a sign",
         CHOICE},
        {&P::queueDelayPart,
         "queue_delay_part",
         "",
         0.1,
         1000,
         "the least RTT, divided by this, is the other bound of that delay",
         CHOICE},
        {&P::shortWindow,
         "short_window",
         "segments",
         1,
         1e6,
         "losses now: averaged over these",
         CHOICE},
        {&P::longWindow,
         "long_window",
         "segments",
         1,
         1e6,
         "losses before: averaged over these",
         CHOICE},
        {&P::lossRise,
         "loss_rise",
         "",
         1,
         1000,
         "losses now against before that are a sign",
         CHOICE},
        {&P::betaOne, "beta_one", "", 0.5, 1, "window left with one sign", CHOICE},
        {&P::betaBoth, "beta_both", "", 0.5, 1, "window left with both signs", CHOICE},
    };
    return table;
}

ZetaLike::ZetaLike(const ZetaLikeParameters& parameters)
    : m_parameters(parameters),
      m_minQueueDelay(ToNanoseconds(parameters.minQueueDelay))
{
}

void
ZetaLike::Init(SenderState& state, int64_t /* now */)
{
    state.cwnd = m_parameters.initialWindow;
    Pace(state);
}

uint32_t
ZetaLike::GetSsThresh(SenderState& state, int64_t /* now */)
{
    CountLosses(state);
    const bool isLossRising = m_shortLoss > m_parameters.lossRise * m_longLoss;
    const int signs = static_cast<int>(IsQueueLong(state)) + static_cast<int>(isLossRising);
    if (signs == 0)
    {
        m_keptThreshold = state.ssthresh; // no congestion: not the end of slow start either
        return std::max(state.cwnd, MIN_SSTHRESH);
    }
    m_keptThreshold = 0;
    const double beta = signs == 1 ? m_parameters.betaOne : m_parameters.betaBoth;
    return std::max(static_cast<uint32_t>(state.cwnd * beta), MIN_SSTHRESH);
}

bool
ZetaLike::IsQueueLong(const SenderState& state) const
{
    const auto part =
        static_cast<int64_t>(static_cast<double>(state.minRtt) / m_parameters.queueDelayPart);
    return state.srtt - state.minRtt > std::max(m_minQueueDelay, part);
}

void
ZetaLike::CountLosses(const SenderState& state)
{
    // Exponential averages: each segment delivered counts as 0, each one lost as 1.
    const auto average = [&](double& loss, double window) {
        const double keep = 1 - 1 / window;
        loss *= std::pow(keep, static_cast<double>(state.delivered - m_delivered));
        loss = 1 - (1 - loss) * std::pow(keep, static_cast<double>(state.lost - m_lost));
    };
    average(m_shortLoss, m_parameters.shortWindow);
    average(m_longLoss, m_parameters.longWindow);
    m_delivered = state.delivered;
    m_lost = state.lost;
}

void
ZetaLike::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    CountLosses(state);
    if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
    Pace(state);
}

void
ZetaLike::Pace(SenderState& state) const
{
    const double rate = WindowPacing{}.GetRate(state);
    state.pacingRate = rate > 0 ? std::min(rate, m_parameters.rate) : m_parameters.rate;
}

void
ZetaLike::OnCaState(SenderState& state, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
    else if (m_keptThreshold > 0)
    {
        state.ssthresh = std::max(state.ssthresh, m_keptThreshold);
        m_keptThreshold = 0;
    }
}

} // namespace tunnelcc
