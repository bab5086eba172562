/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/cubic.h"

#include "congestion/jiffies.h"
#include "congestion/pacing-parameters.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// While the window stands still the step is renewed after more jiffies than this.
constexpr int64_t IDLE_UPDATE = HZ / 32;

/// RTT samples are not trusted for so many jiffies after an epoch starts.
constexpr int64_t DISTRUST_TIME = HZ;

/// Window growth when the curve lies below the window: one segment per this many windows.
constexpr uint32_t FLAT_STEP_WINDOWS = 100;

/// Slowest growth while no maximum is known: one segment per this many, 5 % per RTT.
constexpr uint32_t SEARCH_STEP = 20;

/// Fastest growth: one segment per this many, half a window per RTT (RFC 9438, section 4.2).
constexpr uint32_t MIN_STEP = 2;

HyStart::Parameters
MakeHyStartParameters(const CubicParameters& parameters)
{
    return {parameters.hystartAckTrain,
            parameters.hystartDelay,
            parameters.hystartLowWindow,
            ToNanoseconds(parameters.hystartAckSpacing),
            ToNanoseconds(parameters.hystartMinDelayRise),
            ToNanoseconds(parameters.hystartMaxDelayRise),
            parameters.hystartMinSamples};
}

/// Round down to an eighth, as the kernel's scale of the Reno-friendly window: 15/8 for 17/9.
double
Eighths(double x)
{
    return std::floor(8 * x) / 8;
}

/// Part of a window to which truncation must not apply: 0.7 · 10 is 7, whatever its last bit.
constexpr double ROUNDING = 1e-9;

} // namespace

const CongestionParameterTable<CubicParameters>&
Cubic::GetParameterTable()
{
    using P = CubicParameters;
    static const auto table = JoinRows<P>(
        {
            {&P::c, "c", "segments/s^3", 1e-6, 1e6, "scale of the curve", "RFC 9438, 5.1"},
            {&P::beta, "beta", "", 0.01, 0.99, "window left after a loss", "RFC 9438, 4.6"},
            {&P::fastConvergence,
             "fast_convergence",
             "give way to new flows when the maximum shrinks",
             "RFC 9438, 4.7"},
            {&P::renoFriendly, "reno_friendly", "at least Reno's growth", "RFC 9438, 4.3"},
            {&P::renoFriendlyAlphaOne,
             "reno_friendly_alpha_one",
             "Reno-friendly growth of 1 per RTT above the window of the last loss",
             "RFC 9438, 4.3; absent from Linux"},
            {&P::hystart, "hystart", "end slow start early", "tcp_cubic.c hystart"},
            {&P::hystartPlusPlus,
             "hystart_plus_plus",
             "end slow start by HyStart++ in place of HyStart; fixed, as section 4.3 recommends: " +
                 HyStartPlusPlus::DescribeConstants(),
             "RFC 9406; absent from Linux"},
            {&P::cssGrowthDivisor,
             "css_growth_divisor",
             "",
             2,
             1e6,
             "how much slower HyStart++ grows once the RTT has risen",
             "RFC 9406, 4.3"},
            {&P::cssRounds,
             "css_rounds",
             "rounds",
             1,
             1e6,
             "rounds of that growth before slow start ends",
             "RFC 9406, 4.3"},
            {&P::hystartAckTrain,
             "hystart_ack_train",
             "by ACK trains",
             "tcp_cubic.c hystart_detect"},
            {&P::hystartDelay,
             "hystart_delay",
             "by a rise of the RTT",
             "tcp_cubic.c hystart_detect"},
            {&P::hystartLowWindow,
             "hystart_low_window",
             "segments",
             0,
             1e9,
             "window below which HyStart does not look",
             "tcp_cubic.c hystart_low_window"},
            {&P::hystartAckSpacing,
             "hystart_ack_spacing",
             "s",
             0,
             1e3,
             "longest gap between ACKs of a train",
             "tcp_cubic.c hystart_ack_delta_us"},
            {&P::hystartMinDelayRise,
             "hystart_min_delay_rise",
             "s",
             0,
             1e3,
             "least rise of the RTT (of RTT/8) that counts",
             "tcp_cubic.c HYSTART_DELAY_MIN"},
            {&P::hystartMaxDelayRise,
             "hystart_max_delay_rise",
             "s",
             0,
             1e3,
             "greatest rise of the RTT (of RTT/8) that is needed",
             "tcp_cubic.c HYSTART_DELAY_MAX"},
            {&P::hystartMinSamples,
             "hystart_min_samples",
             "samples",
             1,
             1e6,
             "RTT samples of a round before it is judged",
             "tcp_cubic.c HYSTART_MIN_SAMPLES"},
        },
        PacingRows<P>());
    return table;
}

Cubic::Cubic(const CubicParameters& parameters)
    : m_parameters(parameters),
      m_pacing(MakeWindowPacing(parameters)),
      m_hystart(MakeHyStartParameters(parameters)),
      m_hystartPlusPlus({parameters.cssGrowthDivisor, parameters.cssRounds}),
      m_acksPerRenoStep(Eighths((1 + parameters.beta) / (3 * (1 - parameters.beta))))
{
}

void
Cubic::Reset()
{
    m_epochStart = NEVER;
    m_lastUpdate = 0;
    m_minRtt = NEVER;
    m_k = 0;
    m_lastMax = 0;
    m_origin = 0;
    m_lastCwnd = 0;
    m_step = 0;
    m_renoWindow = 0;
    m_renoAcked = 0;
    m_isSlowStartOver = false;
}

void
Cubic::Init(SenderState& state, int64_t now)
{
    Reset();
    m_increase.Reset();
    m_hystart.StartRound(state, now);
    m_hystartPlusPlus.Reset(state);
    state.pacingRate = 0;
    m_pacing.Update(state);
}

uint32_t
Cubic::GetSsThresh(SenderState& state, int64_t /* now */)
{
    m_epochStart = NEVER;
    m_priorCwnd = state.cwnd;
    const bool isConverging = m_parameters.fastConvergence && state.cwnd < m_lastMax;
    m_lastMax = isConverging
                    ? static_cast<uint32_t>(state.cwnd * (1 + m_parameters.beta) / 2 + ROUNDING)
                    : state.cwnd;
    return std::max(static_cast<uint32_t>(state.cwnd * m_parameters.beta + ROUNDING), MIN_SSTHRESH);
}

bool
Cubic::WantsDeliveries() const
{
    return true;
}

void
Cubic::OnDelivered(SenderState& state, const AckEvent& event)
{
    if (event.rtt >= 0)
    {
        TakeRtt(state, event);
    }
}

void
Cubic::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    if (mayGrow && state.isCwndLimited)
    {
        uint32_t acked = event.ackedSacked;
        if (state.InSlowStart())
        {
            if (m_parameters.hystartPlusPlus)
            {
                acked = m_hystartPlusPlus.LimitGrowth(state, acked);
            }
            acked = GrowInSlowStart(state, acked);
        }
        if (acked > 0)
        {
            UpdateStep(state, acked, Jiffies(event.now));
            m_increase.Grow(state, m_step, acked);
        }
    }
    m_pacing.Update(state);
}

void
Cubic::OnCaState(SenderState& state, CaState next, int64_t now)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
    if (next == CaState::LOSS)
    {
        Reset();
        m_hystart.StartRound(state, now);
    }
}

void
Cubic::OnTransmitStart(SenderState& /* state */, int64_t now, int64_t idle)
{
    // Time without data must not count on the curve.
    if (m_epochStart != NEVER && idle > 0)
    {
        const int64_t begin = Jiffies(now - idle);
        m_epochStart = std::min(m_epochStart + Jiffies(now) - begin, Jiffies(now));
    }
}

void
Cubic::TakeRtt(SenderState& state, const AckEvent& event)
{
    if (m_epochStart != NEVER && Jiffies(event.now) - m_epochStart < DISTRUST_TIME)
    {
        return;
    }
    m_minRtt = std::min(m_minRtt, event.rtt);
    if (!m_isSlowStartOver && state.InSlowStart() && IsSlowStartToEnd(state, event))
    {
        m_isSlowStartOver = true;
        state.ssthresh = state.cwnd;
    }
}

bool
Cubic::IsSlowStartToEnd(const SenderState& state, const AckEvent& event)
{
    if (m_parameters.hystartPlusPlus)
    {
        // RFC 9406, section 4.3: only the initial slow start.
        return state.ssthresh == INFINITE_SSTHRESH && m_hystartPlusPlus.OnRtt(state, event.rtt);
    }
    return m_parameters.hystart && m_hystart.OnRtt(state, event.now, event.rtt, m_minRtt);
}

void
Cubic::UpdateStep(const SenderState& state, uint32_t acked, int64_t now)
{
    m_renoAcked += acked;
    if (state.cwnd == m_lastCwnd && now - m_lastUpdate <= IDLE_UPDATE)
    {
        return;
    }
    if (m_epochStart == NEVER || now != m_lastUpdate)
    {
        m_lastCwnd = state.cwnd;
        m_lastUpdate = now;
        if (m_epochStart == NEVER)
        {
            StartEpoch(state, acked, now);
        }
        FollowCurve(state.cwnd, now);
    }
    if (m_parameters.renoFriendly)
    {
        FollowReno(state.cwnd);
    }
    m_step = std::max(m_step, MIN_STEP);
}

void
Cubic::StartEpoch(const SenderState& state, uint32_t acked, int64_t now)
{
    m_epochStart = now;
    m_renoAcked = acked;
    m_renoWindow = state.cwnd;
    m_origin = std::max(m_lastMax, state.cwnd);
    m_k = std::cbrt((m_origin - state.cwnd) / m_parameters.c);
}

void
Cubic::FollowCurve(uint32_t cwnd, int64_t now)
{
    // The target is the curve one RTT from now (RFC 9438, section 4.2), in Linux a jiffy begun
    // more.
    const int64_t ahead = m_minRtt == NEVER ? 0 : JiffiesBegun(m_minRtt);
    const double t = static_cast<double>(now - m_epochStart + ahead) / HZ - m_k;
    const double distance = m_parameters.c * t * t * t;
    const auto whole =
        static_cast<int64_t>(std::clamp<double>(distance, -1. * MAX_WINDOW, MAX_WINDOW));
    const int64_t rise = m_origin + whole - static_cast<int64_t>(cwnd);
    m_step = rise > 0 ? static_cast<uint32_t>(cwnd / rise) : FLAT_STEP_WINDOWS * cwnd;
    if (m_lastMax == 0)
    {
        m_step = std::min(m_step, SEARCH_STEP);
    }
}

void
Cubic::FollowReno(uint32_t cwnd)
{
    const bool isAlphaOne = m_parameters.renoFriendlyAlphaOne && m_renoWindow >= m_priorCwnd;
    const auto perStep =
        std::max(1U, static_cast<uint32_t>(isAlphaOne ? cwnd : cwnd * m_acksPerRenoStep));
    while (m_renoAcked > perStep)
    {
        m_renoAcked -= perStep;
        ++m_renoWindow;
    }
    if (m_renoWindow > cwnd)
    {
        m_step = std::min(m_step, cwnd / (m_renoWindow - cwnd));
    }
}

} // namespace tunnelcc
