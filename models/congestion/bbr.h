/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR_H
#define TUNNELCC_BBR_H

#include "congestion/ack-aggregation.h"
#include "congestion/bbr-policer.h"
#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/flow-random.h"
#include "congestion/windowed-max-filter.h"

#include <cstdint>
#include <memory>

/**
 * \file
 * BBRv1 as in Linux net/ipv4/tcp_bbr.c (5.10 to 6.18) and
 * draft-cardwell-iccrg-bbr-congestion-control-00: a model of the path (bandwidth: maximum of ten
 * rounds; propagation delay: minimum of ten seconds) sets the pacing rate and the window. Modelled
 * are the four states, packet conservation in the first round of recovery, ACK aggregation,
 * policers, idle restart and the allowance for TSO bursts.
 *
 * Not modelled: a socket's SO_MAX_PACING_RATE, cwnd clamps, and the microsecond and jiffy
 * granularity of the kernel's clocks. An RTT equal to the minimum does not renew it, as in Linux
 * since 5.10; before, it did (`renew_min_rtt_on_tie`), which puts PROBE_RTT off where RTTs tie.
 */

namespace tunnelcc
{

/// Constants of BBRv1.
struct BbrParameters
{
    double startupGain{739. / 256};         //!< pacing and window gain in STARTUP
    double drainGain{88. / 256};            //!< pacing gain in DRAIN
    double cwndGain{2};                     //!< window gain in PROBE_BW
    double probeUpGain{1.25};               //!< pacing gain of the first phase of PROBE_BW
    double probeDownGain{0.75};             //!< pacing gain of the second phase
    uint32_t cruisePhases{6};               //!< phases at the estimate between two probes
    double probeInterval{0};                //!< s from probe to probe; 0: cruisePhases count
    uint32_t bandwidthWindow{10};           //!< rounds
    double pacingMargin{0.01};              //!< paced below the estimate by this part
    uint32_t minCwnd{4};                    //!< segments
    double fullPipeGrowth{1.25};            //!< bandwidth growth that keeps STARTUP going
    uint32_t fullPipeRounds{3};             //!< rounds without it that end STARTUP
    double probeRttInterval{10};            //!< s; window of the minimum RTT as well
    double probeRttDuration{0.2};           //!< s
    bool renewMinRttOnTie{false};           //!< an equal RTT restarts probeRttInterval
    double extraAckedGain{1};               //!< 0: no allowance for ACK aggregation
    uint32_t extraAckedWindow{5};           //!< rounds
    double extraAckedMax{0.1};              //!< s of bandwidth
    double minTsoRate{150000};              //!< bytes/s; below it bursts are one segment
    bool policerDetection{true};            //!< watch for token-bucket policers
    uint32_t policerMinRounds{4};           //!< rounds
    double policerLossThreshold{50. / 256}; //!< lost/delivered
    double policerRateRatio{0.125};         //!< relative difference of two equal intervals
    double policerRateDifference{500};      //!< bytes/s
    uint32_t policerUseRounds{48};          //!< rounds

    bool operator==(const BbrParameters&) const = default;
};

/// Bottleneck bandwidth and round-trip propagation time, version 1.
class alignas(64) Bbr : public CongestionControl
{
  public:
    /// The state machine of the draft, section 3.3.
    enum class Mode : uint8_t
    {
        STARTUP,
        DRAIN,
        PROBE_BW,
        PROBE_RTT
    };

    /**
     * \param parameters constants
     * \param stream seeds the random phase at which PROBE_BW starts
     */
    Bbr(const BbrParameters& parameters, int64_t stream);

    /// Names, ranges and sources of BbrParameters.
    static const CongestionParameterTable<BbrParameters>& GetParameterTable();

    bool HasCongControl() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;
    uint32_t GetSendBufferFactor() const override;

    std::string_view GetPhase() const override
    {
        return NameOf(m_mode);
    }

    /// What results call a mode.
    static std::string_view NameOf(Mode mode);

    PathEstimate GetPathEstimate() const override
    {
        return {GetBandwidth(), GetMinRtt()};
    }

    uint32_t MinTsoSegments(const SenderState& state) const override;

    Mode GetMode() const
    {
        return m_mode;
    }

    /// Bandwidth estimate in use, segments/s.
    double GetBandwidth() const
    {
        return m_policer.IsDetected() ? m_policer.GetRate() : m_maxBandwidth.Get();
    }

    /// Estimate of the propagation delay, ns; NEVER before the first sample.
    int64_t GetMinRtt() const
    {
        return m_minRtt;
    }

    double GetPacingGain() const
    {
        return m_pacingGain;
    }

    /// Whether the policer's rate is in use.
    bool IsPolicerDetected() const
    {
        return m_policer.IsDetected();
    }

    /// Rounds counted so far.
    uint32_t GetRoundCount() const
    {
        return m_roundCount;
    }

  private:
    void UpdateBandwidth(SenderState& state, const AckEvent& event);
    void UpdatePolicer(const SenderState& state, bool isLoss, bool isAppLimited);
    void UpdateAckAggregation(const SenderState& state, const AckEvent& event);
    void UpdateCyclePhase(const SenderState& state, const AckEvent& event);
    bool IsPhaseOver(const SenderState& state, const AckEvent& event);
    void CheckFullPipe(const AckEvent& event);
    void CheckDrain(SenderState& state, int64_t now);
    void UpdateMinRtt(SenderState& state, const AckEvent& event);
    void RunProbeRtt(SenderState& state, int64_t now);
    void CheckProbeRttDone(SenderState& state, int64_t now);
    void UpdateGains();
    void LeaveProbeRtt(const SenderState& state);
    void EnterProbeBw(const SenderState& state);
    void AdvanceCyclePhase(const SenderState& state);

    void InitPacingRate(SenderState& state);
    void SetPacingRate(SenderState& state, double gain);
    void SetCwnd(SenderState& state, const AckEvent& event);
    bool ConservePackets(SenderState& state, const AckEvent& event);
    void SaveCwnd(const SenderState& state);

    uint32_t GetBdp(double bandwidth, double gain) const;
    uint32_t GetInflight(const SenderState& state, double gain);
    uint32_t AddBurstAllowance(const SenderState& state, uint32_t segments);
    uint32_t GetAggregationAllowance() const;
    uint32_t GetInNetworkAtDeparture(const SenderState& state, int64_t now, uint32_t inFlight);
    uint32_t GetBurst(const SenderState& state);

    /// The parameters, and some of them in the units that the hot path computes in.
    struct Constants : BbrParameters
    {
        explicit Constants(const BbrParameters& parameters);
        bool operator==(const Constants&) const = default;

        uint32_t cycleLength;         //!< phases of PROBE_BW's gain cycle
        int64_t probeIntervalTime;    //!< ns
        int64_t probeRttIntervalTime; //!< ns
        int64_t probeRttDurationTime; //!< ns
        double paceFactor;            //!< 1 − pacing margin
        BbrPolicer::Parameters policer;
    };

    // What each ACK and each burst need stands first, on few cache lines (hence alignas): where
    // flows are many, they find it cold.
    std::shared_ptr<const Constants> m_constants;
    CaState m_priorCaState{CaState::OPEN}; //!< at the previous ACK
    Mode m_mode{Mode::STARTUP};
    bool m_isRoundStart{false};
    bool m_isPipeFull{false};
    bool m_isConserving{false};
    bool m_isIdleRestart{false};
    bool m_hasSeenRtt{false};
    bool m_isProbeRttRoundDone{false};
    double m_pacingGain{1};
    double m_cwndGain{1};
    double m_burstRate{-1};  //!< pacing rate that m_burst was computed for, bytes/s
    uint32_t m_burst{1};     //!< segments in a TSO burst
    uint32_t m_priorCwnd{0}; //!< segments, before recovery or PROBE_RTT
    int64_t m_minRtt{NEVER}; //!< ns
    int64_t m_minRttTime{0}; //!< when m_minRtt was measured, ns
    WindowedMaxFilter<double> m_maxBandwidth; //!< segments/s, by round
    AckAggregation m_aggregation;
    uint64_t m_nextRoundDelivered{0}; //!< SenderState::delivered that ends the round
    uint32_t m_roundCount{0};         //!< round trips so far
    uint32_t m_cycleIndex{0};
    int64_t m_cycleTime{0}; //!< start of the phase, ns
    BbrPolicer m_policer;

    // What some states need.
    double m_fullBandwidth{0};     //!< segments/s at the last growth in STARTUP
    uint32_t m_fullPipeCount{0};   //!< rounds without growth
    int64_t m_probeTime{0};        //!< start of the cycle, ns; used with a probe interval
    int64_t m_probeRttDoneTime{0}; //!< ns; 0: not yet down to the minimum
    FlowRandom m_random;           //!< draws the phase at which PROBE_BW starts
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR_H
