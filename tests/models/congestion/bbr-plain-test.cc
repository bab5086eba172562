/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks BBRv1 against one that is written in the order of Linux net/ipv4/tcp_bbr.c, function by
 * function, over random ACKs, losses, time-outs and pauses.
 */
#include "congestion/ack-aggregation.h"
#include "congestion/bbr.h"
#include "congestion/flow-random.h"
#include "congestion/windowed-max-filter.h"
#include "support/parameter-ranges.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-bbr-plain");

/// What struct bbr has, with the kernel's names, in segments, seconds and bytes/s.
class PlainBbr
{
  public:
    PlainBbr(const BbrParameters& parameters, int64_t stream)
        : m_is(parameters),
          m_cycleLength(parameters.probeInterval > 0 ? 3 : 2 + parameters.cruisePhases),
          m_random(stream)
    {
    }

    /// bbr_init()
    void Init(int64_t now)
    {
        tp.ssthresh = INFINITE_SSTHRESH;
        minRtt = tp.minRtt;
        m_minRttStamp = now;
        m_bw.Reset(0, 0);
        InitPacingRate();
        ResetLtBw();
        m_aggregation.Reset(now);
        UpdateGains();
    }

    /// bbr_main()
    void Main(const AckEvent& rs)
    {
        UpdateBw(rs);
        if (m_is.extraAckedGain > 0 && rs.ackedSacked > 0 && rs.rate.interval > 0)
        {
            if (m_roundStart)
            {
                m_aggregation.EndRound(m_is.extraAckedWindow);
            }
            m_aggregation.OnDelivered(tp.deliveredTime, rs.ackedSacked, Bw(), tp.cwnd);
        }
        if (mode == Bbr::Mode::PROBE_BW && IsNextCyclePhase(rs))
        {
            AdvanceCyclePhase();
        }
        CheckFullBw(rs);
        CheckDrain(rs.now);
        UpdateMinRtt(rs);
        UpdateGains();
        SetPacingRate(pacingGain);
        SetCwnd(rs);
    }

    /// bbr_set_state()
    void SetState(CaState next)
    {
        if (next == CaState::LOSS)
        {
            m_prevCaState = CaState::LOSS;
            m_fullBw = 0;
            m_roundStart = true;
            AckEvent rs;
            rs.newlyLost = 1;
            LtBwSampling(rs);
        }
        tp.caState = next;
    }

    /// bbr_ssthresh()
    void SaveCwnd()
    {
        const bool isCut = m_prevCaState >= CaState::RECOVERY || mode == Bbr::Mode::PROBE_RTT;
        m_priorCwnd = isCut ? std::max(m_priorCwnd, tp.cwnd) : tp.cwnd;
    }

    /// bbr_undo_cwnd()
    void Undo()
    {
        m_fullBw = 0;
        m_fullBwCount = 0;
        ResetLtBw();
    }

    /// bbr_cwnd_event() of CA_EVENT_TX_START
    void TransmitStart(int64_t now)
    {
        if (tp.appLimitedUntil == 0)
        {
            return;
        }
        m_idleRestart = true;
        m_aggregation.StartEpoch(now);
        if (mode == Bbr::Mode::PROBE_BW)
        {
            SetPacingRate(1);
        }
        else if (mode == Bbr::Mode::PROBE_RTT)
        {
            CheckProbeRttDone(now);
        }
    }

    SenderState tp;
    Bbr::Mode mode{Bbr::Mode::STARTUP};
    int64_t minRtt{NEVER};
    double pacingGain{1};
    bool ltUseBw{false};

  private:
    double Bw() const
    {
        return ltUseBw ? m_ltBw : m_bw.Get();
    }

    double BytesPerSecond(double segmentsPerSecond) const
    {
        return segmentsPerSecond * (1 - m_is.pacingMargin) * tp.mss;
    }

    void InitPacingRate()
    {
        m_hasSeenRtt = tp.srtt > 0;
        const double rtt = 1e-9 * static_cast<double>(tp.srtt > 0 ? tp.srtt : MS);
        tp.pacingRate = m_is.startupGain * BytesPerSecond(tp.cwnd / rtt);
    }

    void SetPacingRate(double gain)
    {
        const double rate = BytesPerSecond(gain * Bw());
        if (!m_hasSeenRtt && tp.srtt > 0)
        {
            InitPacingRate();
        }
        if (m_fullBwReached || rate > tp.pacingRate)
        {
            tp.pacingRate = rate;
        }
    }

    /// bbr_tso_segs_goal()
    uint32_t TsoSegsGoal() const
    {
        const double bytes = std::min(tp.pacingRate / 1024, 65536. - 1 - 320);
        const uint32_t least = tp.pacingRate < m_is.minTsoRate ? 1 : 2;
        return std::min(std::max(static_cast<uint32_t>(bytes / tp.mss), least), 127U);
    }

    /// bbr_bdp()
    uint32_t Bdp(double bw, double gain) const
    {
        if (minRtt == NEVER)
        {
            return 10; // TCP_INIT_CWND
        }
        const double exact = bw * gain * static_cast<double>(minRtt) * 1e-9;
        return static_cast<uint32_t>(std::ceil(exact - 1e-6));
    }

    /// bbr_quantization_budget()
    uint32_t QuantizationBudget(uint32_t cwnd) const
    {
        cwnd += 3 * TsoSegsGoal();
        cwnd += cwnd % 2;
        return cwnd + (mode == Bbr::Mode::PROBE_BW && m_cycleIndex == 0 ? 2 : 0);
    }

    uint32_t Inflight(double gain) const
    {
        return QuantizationBudget(Bdp(m_bw.Get(), gain));
    }

    uint32_t PacketsInNetAtEdt(int64_t now, uint32_t inflightNow) const
    {
        const uint32_t inflight = inflightNow + (pacingGain > 1 ? TsoSegsGoal() : 0);
        const int64_t wait = std::max<int64_t>(tp.nextSendTime - now, 0);
        const double delivered = Bw() * 1e-9 * static_cast<double>(wait);
        return delivered >= inflight ? 0 : inflight - static_cast<uint32_t>(delivered);
    }

    uint32_t AckAggregationCwnd() const
    {
        if (!m_fullBwReached)
        {
            return 0;
        }
        const double extra = m_is.extraAckedGain * m_aggregation.GetExtraAcked();
        return static_cast<uint32_t>(std::min(extra, Bw() * m_is.extraAckedMax));
    }

    /// bbr_set_cwnd_to_recover_or_restore()
    bool RecoverOrRestore(const AckEvent& rs)
    {
        const CaState prev = m_prevCaState;
        if (rs.newlyLost > 0)
        {
            tp.cwnd = std::max<int64_t>(int64_t{tp.cwnd} - rs.newlyLost, 1);
        }
        if (tp.caState == CaState::RECOVERY && prev != CaState::RECOVERY)
        {
            m_packetConservation = true;
            m_nextRttDelivered = tp.delivered;
            tp.cwnd = tp.inFlight + rs.ackedSacked;
        }
        else if (prev >= CaState::RECOVERY && tp.caState < CaState::RECOVERY)
        {
            tp.cwnd = std::max(tp.cwnd, m_priorCwnd);
            m_packetConservation = false;
        }
        m_prevCaState = tp.caState;
        if (m_packetConservation)
        {
            tp.cwnd = std::max(tp.cwnd, tp.inFlight + rs.ackedSacked);
        }
        return m_packetConservation;
    }

    void SetCwnd(const AckEvent& rs)
    {
        if (rs.ackedSacked > 0 && !RecoverOrRestore(rs))
        {
            const uint32_t target =
                QuantizationBudget(Bdp(Bw(), m_cwndGain) + AckAggregationCwnd());
            if (m_fullBwReached)
            {
                tp.cwnd = std::min(tp.cwnd + rs.ackedSacked, target);
            }
            else if (tp.cwnd < target || tp.delivered < 10)
            {
                tp.cwnd += rs.ackedSacked;
            }
            tp.cwnd = std::max(tp.cwnd, m_is.minCwnd);
        }
        if (mode == Bbr::Mode::PROBE_RTT)
        {
            tp.cwnd = std::min(tp.cwnd, m_is.minCwnd);
        }
    }

    bool IsNextCyclePhase(const AckEvent& rs) const
    {
        const bool isFullLength = tp.deliveredTime - m_cycleStamp > minRtt;
        if (pacingGain == 1)
        {
            const auto interval = static_cast<int64_t>(m_is.probeInterval * 1e9);
            return isFullLength && (interval == 0 || tp.deliveredTime >= m_probeStamp + interval);
        }
        const uint32_t inflight = PacketsInNetAtEdt(rs.now, rs.priorInFlight);
        if (pacingGain > 1)
        {
            return isFullLength && (rs.newlyLost > 0 || inflight >= Inflight(pacingGain));
        }
        return isFullLength || inflight <= Inflight(1);
    }

    void AdvanceCyclePhase()
    {
        m_cycleIndex = (m_cycleIndex + 1) % m_cycleLength;
        m_cycleStamp = tp.deliveredTime;
        m_probeStamp = m_cycleIndex == 0 ? m_cycleStamp : m_probeStamp;
    }

    void ResetProbeBwMode()
    {
        mode = Bbr::Mode::PROBE_BW;
        m_cycleIndex = m_cycleLength - 1 - m_random.DrawBelow(m_cycleLength - 1);
        AdvanceCyclePhase();
        if (m_is.probeInterval > 0)
        {
            const double part = m_random.DrawFraction();
            m_probeStamp = tp.deliveredTime - static_cast<int64_t>(m_is.probeInterval * 1e9 * part);
        }
    }

    void ResetLtBwInterval()
    {
        m_ltLastStamp = tp.deliveredTime;
        m_ltLastDelivered = tp.delivered;
        m_ltLastLost = tp.lost;
        m_ltRttCount = 0;
    }

    void ResetLtBw()
    {
        m_ltBw = 0;
        ltUseBw = false;
        m_ltIsSampling = false;
        ResetLtBwInterval();
    }

    void LtBwIntervalDone(double bw)
    {
        const double diff = std::abs(bw - m_ltBw);
        const bool isNear = diff <= m_is.policerRateRatio * m_ltBw ||
                            BytesPerSecond(diff) <= m_is.policerRateDifference;
        if (m_ltBw > 0 && isNear)
        {
            m_ltBw = (bw + m_ltBw) / 2;
            ltUseBw = true;
            m_ltRttCount = 0;
            return;
        }
        m_ltBw = bw;
        ResetLtBwInterval();
    }

    void LtBwSampling(const AckEvent& rs)
    {
        if (ltUseBw)
        {
            if (mode == Bbr::Mode::PROBE_BW && m_roundStart &&
                ++m_ltRttCount >= m_is.policerUseRounds)
            {
                ResetLtBw();
                ResetProbeBwMode();
            }
            return;
        }
        if (!m_ltIsSampling)
        {
            if (rs.newlyLost == 0 || !m_is.policerDetection)
            {
                return;
            }
            ResetLtBwInterval();
            m_ltIsSampling = true;
        }
        if (rs.rate.isAppLimited)
        {
            ResetLtBw();
            return;
        }
        m_ltRttCount += m_roundStart;
        if (m_ltRttCount < m_is.policerMinRounds)
        {
            return;
        }
        if (m_ltRttCount > 4 * m_is.policerMinRounds)
        {
            ResetLtBw();
            return;
        }
        const auto lost = static_cast<double>(tp.lost - m_ltLastLost);
        const auto delivered = static_cast<double>(tp.delivered - m_ltLastDelivered);
        const int64_t time = tp.deliveredTime - m_ltLastStamp;
        if (rs.newlyLost > 0 && delivered > 0 && lost >= m_is.policerLossThreshold * delivered &&
            time >= MS)
        {
            LtBwIntervalDone(delivered * 1e9 / static_cast<double>(time));
        }
    }

    void UpdateBw(const AckEvent& rs)
    {
        m_roundStart = false;
        if (rs.rate.interval <= 0)
        {
            return;
        }
        if (rs.rate.priorDelivered >= m_nextRttDelivered)
        {
            m_nextRttDelivered = tp.delivered;
            ++m_rttCount;
            m_roundStart = true;
            m_packetConservation = false;
        }
        LtBwSampling(rs);
        const double bw = rs.rate.delivered * 1e9 / static_cast<double>(rs.rate.interval);
        if (!rs.rate.isAppLimited || bw >= m_bw.Get())
        {
            m_bw.Update(bw, m_rttCount, m_is.bandwidthWindow);
        }
    }

    void CheckFullBw(const AckEvent& rs)
    {
        if (m_fullBwReached || !m_roundStart || rs.rate.isAppLimited)
        {
            return;
        }
        if (m_bw.Get() >= m_fullBw * m_is.fullPipeGrowth)
        {
            m_fullBw = m_bw.Get();
            m_fullBwCount = 0;
            return;
        }
        m_fullBwReached = ++m_fullBwCount >= m_is.fullPipeRounds;
    }

    void CheckDrain(int64_t now)
    {
        if (mode == Bbr::Mode::STARTUP && m_fullBwReached)
        {
            mode = Bbr::Mode::DRAIN;
            tp.ssthresh = Inflight(1);
        }
        if (mode == Bbr::Mode::DRAIN && PacketsInNetAtEdt(now, tp.inFlight) <= Inflight(1))
        {
            ResetProbeBwMode();
        }
    }

    void CheckProbeRttDone(int64_t now)
    {
        if (m_probeRttDoneStamp == 0 || now <= m_probeRttDoneStamp)
        {
            return;
        }
        m_minRttStamp = now;
        tp.cwnd = std::max(tp.cwnd, m_priorCwnd);
        mode = Bbr::Mode::STARTUP;
        if (m_fullBwReached)
        {
            ResetProbeBwMode();
        }
    }

    void UpdateMinRtt(const AckEvent& rs)
    {
        const auto window = static_cast<int64_t>(std::llround(m_is.probeRttInterval * 1e9));
        const auto length = static_cast<int64_t>(std::llround(m_is.probeRttDuration * 1e9));
        const bool isExpired = rs.now > m_minRttStamp + window;
        const bool isSmaller = m_is.renewMinRttOnTie ? rs.rtt <= minRtt : rs.rtt < minRtt;
        if (rs.rtt >= 0 && (isSmaller || (isExpired && !rs.isAckDelayed)))
        {
            minRtt = rs.rtt;
            m_minRttStamp = rs.now;
        }
        if (length > 0 && isExpired && !m_idleRestart && mode != Bbr::Mode::PROBE_RTT)
        {
            mode = Bbr::Mode::PROBE_RTT;
            SaveCwnd();
            m_probeRttDoneStamp = 0;
        }
        if (mode == Bbr::Mode::PROBE_RTT)
        {
            tp.appLimitedUntil = std::max<uint64_t>(tp.delivered + tp.inFlight, 1);
            if (m_probeRttDoneStamp == 0 && tp.inFlight <= m_is.minCwnd)
            {
                m_probeRttDoneStamp = rs.now + length;
                m_probeRttRoundDone = false;
                m_nextRttDelivered = tp.delivered;
            }
            else if (m_probeRttDoneStamp > 0)
            {
                m_probeRttRoundDone |= m_roundStart;
                if (m_probeRttRoundDone)
                {
                    CheckProbeRttDone(rs.now);
                }
            }
        }
        m_idleRestart = m_idleRestart && rs.ackedSacked == 0;
    }

    void UpdateGains()
    {
        const bool probes = m_cycleIndex < 2 && !ltUseBw;
        switch (mode)
        {
        case Bbr::Mode::STARTUP:
            pacingGain = m_cwndGain = m_is.startupGain;
            break;
        case Bbr::Mode::DRAIN:
            pacingGain = m_is.drainGain;
            m_cwndGain = m_is.startupGain;
            break;
        case Bbr::Mode::PROBE_BW:
            pacingGain = !probes ? 1 : m_cycleIndex == 0 ? m_is.probeUpGain : m_is.probeDownGain;
            m_cwndGain = m_is.cwndGain;
            break;
        case Bbr::Mode::PROBE_RTT:
            pacingGain = m_cwndGain = 1;
            break;
        }
    }

    const BbrParameters m_is;
    const uint32_t m_cycleLength;
    FlowRandom m_random;
    WindowedMaxFilter<double> m_bw;
    AckAggregation m_aggregation;
    CaState m_prevCaState{CaState::OPEN};
    double m_cwndGain{1};
    int64_t m_minRttStamp{0};
    int64_t m_cycleStamp{0};
    int64_t m_probeStamp{0};
    int64_t m_probeRttDoneStamp{0};
    uint64_t m_nextRttDelivered{0};
    uint32_t m_rttCount{0};
    uint32_t m_cycleIndex{0};
    uint32_t m_priorCwnd{0};
    double m_fullBw{0};
    uint32_t m_fullBwCount{0};
    bool m_fullBwReached{false};
    bool m_roundStart{false};
    bool m_packetConservation{false};
    bool m_idleRestart{false};
    bool m_hasSeenRtt{false};
    bool m_probeRttRoundDone{false};
    double m_ltBw{0};
    bool m_ltIsSampling{false};
    uint32_t m_ltRttCount{0};
    uint64_t m_ltLastDelivered{0};
    uint64_t m_ltLastLost{0};
    int64_t m_ltLastStamp{0};
};

class BbrPlainTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    int64_t Pick(std::initializer_list<int64_t> values)
    {
        return *(values.begin() + m_random() % values.size());
    }

    bool IsOneOf(uint32_t times)
    {
        return m_random() % times == 0;
    }

    BbrParameters PickParameters()
    {
        BbrParameters parameters;
        parameters.probeInterval = IsOneOf(3) ? 1.5 : 0;
        parameters.cruisePhases = static_cast<uint32_t>(Pick({0, 2, 6}));
        parameters.probeRttInterval = IsOneOf(2) ? 0.5 : 10;
        parameters.probeRttDuration = IsOneOf(4) ? 0 : 0.1;
        parameters.renewMinRttOnTie = IsOneOf(2);
        parameters.extraAckedGain = static_cast<double>(Pick({0, 1, 1, 2}));
        parameters.extraAckedMax = IsOneOf(2) ? 0.1 : 0.01;
        parameters.policerDetection = !IsOneOf(4);
        parameters.policerMinRounds = static_cast<uint32_t>(Pick({1, 2, 4}));
        parameters.policerUseRounds = static_cast<uint32_t>(Pick({4, 12}));
        parameters.policerLossThreshold = IsOneOf(2) ? 0.125 : 50. / 256;
        parameters.policerRateDifference = IsOneOf(2) ? 500 : 0;
        return parameters;
    }

    /// What an ACK brings, to both.
    AckEvent PickAck(SenderState& state, int64_t now, int64_t unit, bool isDraining)
    {
        AckEvent event;
        event.now = now;
        event.ackedSacked = static_cast<uint32_t>(Pick({0, 1, 1, 2, 10, 10, 100}));
        event.newlyLost = static_cast<uint32_t>(IsOneOf(6) ? Pick({1, 2, 30}) : 0);
        event.rtt = Pick({-1, 0, 0, 0, 1, 2, 10}) * 10 * MS;
        event.rtt = event.rtt < 0 ? -1 : event.rtt + 100 * MS;
        event.isAckDelayed = IsOneOf(3);
        event.priorInFlight = state.inFlight;
        state.delivered += event.ackedSacked;
        state.deliveredTime = event.ackedSacked > 0 ? now : state.deliveredTime;
        state.lost += event.newlyLost;
        state.inFlight = PickInFlight(unit, isDraining);
        state.nextSendTime = now + Pick({-MS, 0, 0, 1, MS, 50 * MS});
        event.rate.interval = IsOneOf(12) ? 0 : 100 * MS;
        event.rate.delivered = static_cast<uint32_t>(Pick({4, 4, 4, 5, 3, 6}) * unit / 40);
        event.rate.priorDelivered = IsOneOf(2) ? state.delivered : 0;
        event.rate.isAppLimited = IsOneOf(10);
        return event;
    }

    /// Few, or near a BDP or two. In DRAIN it is mostly two, or the mode would be over at once.
    uint32_t PickInFlight(int64_t unit, bool isDraining)
    {
        const int64_t bdps = (isDraining && !IsOneOf(8) ? 2 : Pick({0, 0, 1, 1, 2})) * unit / 10;
        return static_cast<uint32_t>(bdps + Pick({0, 1, 3, 4, 5, 6, 7, 8, 9, 12}));
    }

    void Run(int64_t unit)
    {
        const BbrParameters parameters = PickParameters();
        const auto stream = static_cast<int64_t>(m_random());
        Bbr bbr(parameters, stream);
        PlainBbr plain(parameters, stream);
        SenderState state;
        state.cwnd = 10;
        state.srtt = IsOneOf(2) ? 0 : 100 * MS;
        state.minRtt = state.srtt > 0 ? 100 * MS : NEVER;
        plain.tp = state;
        int64_t now = 0;
        bbr.Init(state, now);
        plain.Init(now);
        Compare(bbr, state, plain, -1);
        for (int i = 0; i < 1'500 && !IsStatusFailure(); ++i)
        {
            now += Pick({0, 1, MS, 10 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS});
            const auto same = [&](auto member) { plain.tp.*member = state.*member; };
            switch (m_random() % 40)
            {
            case 0:
            case 1: {
                const auto next = static_cast<CaState>(Pick({0, 1, 2, 3, 4}));
                if (next >= CaState::RECOVERY)
                {
                    NS_TEST_ASSERT_MSG_EQ(bbr.GetSsThresh(state, now), state.ssthresh, "kept");
                    plain.SaveCwnd();
                }
                if (next == CaState::LOSS)
                {
                    state.cwnd = plain.tp.cwnd = 1;
                }
                bbr.OnCaState(state, next, now);
                state.caState = next;
                plain.SetState(next);
                break;
            }
            case 2:
                state.appLimitedUntil = plain.tp.appLimitedUntil = IsOneOf(2) ? state.delivered : 0;
                bbr.OnTransmitStart(state, now, MS);
                plain.TransmitStart(now);
                break;
            case 3:
                if (IsOneOf(8))
                {
                    NS_TEST_ASSERT_MSG_EQ(bbr.GetUndoCwnd(state, 7), state.cwnd, "as it is");
                    plain.Undo();
                }
                break;
            case 4:
                now += IsOneOf(20) ? 11 * SECOND : 0;
                state.srtt = plain.tp.srtt = 100 * MS;
                break;
            default: {
                const AckEvent event = PickAck(state, now, unit, plain.mode == Bbr::Mode::DRAIN);
                same(&SenderState::delivered);
                same(&SenderState::deliveredTime);
                same(&SenderState::lost);
                same(&SenderState::inFlight);
                same(&SenderState::nextSendTime);
                bbr.OnAck(state, event, true);
                plain.Main(event);
            }
            }
            Compare(bbr, state, plain, i);
        }
    }

    void Compare(const Bbr& bbr, const SenderState& state, const PlainBbr& plain, int step)
    {
        ++m_steps[static_cast<size_t>(plain.mode)];
        m_policed += plain.ltUseBw;
        NS_TEST_ASSERT_MSG_EQ(bbr.GetPhase(), Bbr::NameOf(plain.mode), "mode after " << step);
        NS_TEST_ASSERT_MSG_EQ(bbr.GetMinRtt(), plain.minRtt, "least RTT after " << step);
        NS_TEST_ASSERT_MSG_EQ(bbr.GetPacingGain(), plain.pacingGain, "gain after " << step);
        NS_TEST_ASSERT_MSG_EQ(bbr.IsPolicerDetected(), plain.ltUseBw, "policer after " << step);
        NS_TEST_ASSERT_MSG_EQ(state.cwnd, plain.tp.cwnd, "window after " << step);
        NS_TEST_ASSERT_MSG_EQ(state.ssthresh, plain.tp.ssthresh, "ssthresh after " << step);
        NS_TEST_ASSERT_MSG_EQ(state.appLimitedUntil, plain.tp.appLimitedUntil, "after " << step);
        NS_TEST_ASSERT_MSG_EQ_TOL(state.pacingRate,
                                  plain.tp.pacingRate,
                                  1e-9 * state.pacingRate,
                                  "pacing rate after " << step);
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Bbr(BbrParameters{}, 1).HasCongControl(), true, "as bbr_main()");
        for (int i = 0; i < 300 && !IsStatusFailure(); ++i)
        {
            // Segments/s: bursts of one segment, of two, of 19, and of 64 KiB.
            Run(Pick({40, 1'000, 1'000, 20'000, 200'000}));
        }
        for (const int64_t steps : m_steps)
        {
            NS_TEST_EXPECT_MSG_GT(steps, 200, "each mode was there");
        }
        NS_TEST_EXPECT_MSG_GT(m_policed, 1'000, "and policers");
    }

    std::mt19937 m_random{10};
    std::vector<int64_t> m_steps = std::vector<int64_t>(4); //!< by mode
    int64_t m_policed{0};
};

ADD_CASE(BbrPlainTest, "BBR equals one in the order of Linux tcp_bbr.c, over random ACKs");

TEST_CASE(SimulationTestCase, BbrRangesTest, "BBR takes values of its parameters in these ranges")
{
    const std::vector<ParameterRange> expected{
        {"startup_gain", 1, 16},
        {"drain_gain", 0.01, 1},
        {"cwnd_gain", 1, 16},
        {"probe_up_gain", 1, 16},
        {"probe_down_gain", 0.01, 1},
        {"cruise_phases", 0, 1'000},
        {"probe_interval", 0, 1e6},
        {"bandwidth_window", 1, 1e6},
        {"pacing_margin", 0, 0.99},
        {"min_cwnd", 1, 1e6},
        {"full_pipe_growth", 1, 16},
        {"full_pipe_rounds", 1, 1e6},
        {"probe_rtt_interval", 0.001, 1e6},
        {"probe_rtt_duration", 0, 1e6},
        {"extra_acked_gain", 0, 16},
        {"extra_acked_window", 1, 1e6},
        {"extra_acked_max", 0, 1e6},
        {"min_tso_rate", 0, 1e15},
        {"policer_min_rounds", 1, 1e6},
        {"policer_loss_threshold", 0, 1},
        {"policer_rate_ratio", 0, 1},
        {"policer_rate_difference", 0, 1e15},
        {"policer_use_rounds", 1, 1e6},
    };
    const auto ranges = RangesOf(Bbr::GetParameterTable());
    NS_TEST_ASSERT_MSG_EQ(ranges.size(), expected.size(), "all of them");
    for (size_t i = 0; i < expected.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_EQ((ranges[i] == expected[i]), true, expected[i].name);
    }
}

} // namespace
