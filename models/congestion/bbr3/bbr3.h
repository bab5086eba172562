/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_H
#define TUNNELCC_BBR3_H

#include "congestion/ack-aggregation.h"
#include "congestion/bbr3/delivery-signals.h"
#include "congestion/bbr3/full-pipe.h"
#include "congestion/bbr3/max-bandwidth.h"
#include "congestion/bbr3/min-rtt.h"
#include "congestion/bbr3/parameters.h"
#include "congestion/bbr3/probe-schedule.h"
#include "congestion/bbr3/short-term-model.h"
#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"

#include <cstdint>

/**
 * \file
 * BBRv3 (draft-ietf-ccwg-bbr, August 2026, after revision 06; and Google's v3 branch of Linux): a
 * model of the path at two time scales. The long-term one (the largest bandwidth, and the volume in
 * flight from which probing lost too much) is learned by probes for bandwidth; the short-term one
 * lowers both after losses until the next probe.
 *
 * Where the two differ, this follows the draft. From Linux: the volume in flight that PROBE_BW
 * compares is that before the ACK; a time-out starts the search for a plateau anew and bounds the
 * volume by the window from before it; at most 100 ms of ACK aggregation are believed.
 *
 * Not modelled: ECN (the draft has none), Linux's response to a tail loss probe that repaired a
 * loss, its fast path, and its larger bursts at RTTs below 3 ms.
 */

namespace tunnelcc
{

/// Bottleneck bandwidth and round-trip propagation time, version 3.
class Bbr3 : public CongestionControl
{
  public:
    /// The state machine of the draft, section 5.1.
    enum class Mode : uint8_t
    {
        STARTUP,
        DRAIN,
        PROBE_BW_DOWN,
        PROBE_BW_CRUISE,
        PROBE_BW_REFILL,
        PROBE_BW_UP,
        PROBE_RTT
    };

    /**
     * \param parameters constants
     * \param stream seeds the random waits between probes for bandwidth
     */
    Bbr3(const Bbr3Parameters& parameters, int64_t stream);

    /// Names, ranges and sources of Bbr3Parameters.
    static const CongestionParameterTable<Bbr3Parameters>& GetParameterTable();

    bool HasCongControl() const override;
    bool WantsLosses() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnSegmentLost(SenderState& state, const LostSegment& segment, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;
    uint32_t GetSendBufferFactor() const override;
    std::string_view GetPhase() const override;

    PathEstimate GetPathEstimate() const override
    {
        return {GetBandwidth(), GetMinRtt()};
    }

    Mode GetMode() const
    {
        return m_mode;
    }

    /// Bandwidth in use (BBR.bw), segments/s.
    double GetBandwidth() const
    {
        return std::min(m_maxBandwidth.Get(), m_shortTerm.bandwidth);
    }

    /// Largest bandwidth of two cycles (BBR.max_bw), segments/s.
    double GetMaxBandwidth() const
    {
        return m_maxBandwidth.Get();
    }

    /// Least RTT (BBR.min_rtt), ns.
    int64_t GetMinRtt() const
    {
        return m_minRtt.Get();
    }

    /// Volume from which probing lost too much (BBR.inflight_longterm; Linux inflight_hi),
    /// segments; BBR3_UNBOUNDED: none is known.
    uint32_t GetInflightLongterm() const
    {
        return m_inflightLongterm;
    }

    /// Pacing gain of the present state.
    double GetPacingGain() const;

  private:
    /// What ACKs mean for probing (draft, section 2.14).
    enum class AckPhase : uint8_t
    {
        INIT,
        REFILLING,
        PROBE_STARTING,
        PROBE_FEEDBACK,
        PROBE_STOPPING
    };

    /// The flight that led up to a segment that was acknowledged or lost.
    struct Flight
    {
        double bandwidth{0};    //!< segments/s; 0: no valid sample
        uint32_t delivered{0};  //!< segments
        uint32_t txInFlight{0}; //!< segments
        uint64_t lost{0};       //!< segments, since it was sent
        bool isAppLimited{false};
    };

    // Steps for each ACK (bbr3.cc)
    void UpdateRound(const SenderState& state, const RateSample& rate);
    void UpdateCongestionSignals(const SenderState& state, const Flight& flight);
    void UpdateAckAggregation(const SenderState& state, const AckEvent& event);
    void StartRound(const SenderState& state);
    void SaveStateUponLoss(const SenderState& state);
    bool IsInProbeBw() const;
    bool IsProbingBandwidth() const;

    // STARTUP and DRAIN (startup.cc)
    void CheckFullPipe(const Flight& flight);
    void CheckStartupDone(SenderState& state, const Flight& flight);
    void CheckStartupHighLoss(const SenderState& state, const Flight& flight);
    void CheckDrainDone(const SenderState& state, int64_t now);

    // PROBE_BW (probe-bw.cc)
    void UpdateProbeBw(const SenderState& state, const AckEvent& event, const Flight& flight);
    void StartDown(const SenderState& state, int64_t now);
    void StartRefill(const SenderState& state);
    void StartUp(const SenderState& state, const Flight& flight);
    bool IsTimeToProbe(const SenderState& state, int64_t now);
    bool IsTimeToCruise(const SenderState& state, uint32_t inFlight) const;
    bool IsTimeToGoDown(const SenderState& state, uint32_t inFlight, const Flight& flight);

    // Long-term volume (inflight-longterm.cc)
    bool AdaptLongTermModel(const SenderState& state, uint32_t acked, const Flight& flight);
    bool IsInflightTooHigh(const Flight& flight) const;
    void HandleInflightTooHigh(const SenderState& state, const Flight& flight, int64_t now);
    uint32_t GetInflightAtLoss(const Flight& flight) const;
    void ProbeInflightUpward(const SenderState& state, uint32_t acked);
    void RaiseInflightSlope(const SenderState& state);
    uint32_t GetInflightWithHeadroom() const;

    // PROBE_RTT (probe-rtt.cc)
    void CheckProbeRtt(SenderState& state, const AckEvent& event);
    void RunProbeRtt(SenderState& state, int64_t now);
    void CheckProbeRttDone(SenderState& state, int64_t now);
    uint32_t GetProbeRttCwnd() const;

    // Pacing rate and window (control.cc)
    void SetPacingRate(SenderState& state, double gain) const;
    void SetCwnd(SenderState& state, uint32_t acked) const;
    void BoundCwndForModel(SenderState& state) const;
    void SaveCwnd(const SenderState& state);
    double GetCwndGain() const;
    double GetBdp(double bandwidth, double gain) const;
    double GetTargetInflight(const SenderState& state) const;
    uint32_t GetInflight(const SenderState& state, double bandwidth, double gain) const;
    uint32_t GetMaxInflight(const SenderState& state) const;
    uint32_t AddQuantizationBudget(const SenderState& state, double volume) const;

    // Parameters in the units that the hot path computes in.
    Bbr3Parameters m_parameters;
    int64_t m_probeRttDuration;  //!< ns
    uint32_t m_extraAckedWindow; //!< rounds
    uint32_t m_minCwnd;          //!< segments
    double m_paceFactor;         //!< 1 − pacing margin

    // Model of the path.
    Bbr3MaxBandwidth m_maxBandwidth;
    Bbr3MinRtt m_minRtt;
    Bbr3ShortTermModel m_shortTerm;
    uint32_t m_inflightLongterm{BBR3_UNBOUNDED}; //!< segments
    AckAggregation m_aggregation;
    Bbr3DeliverySignals m_signals;

    // Rounds.
    uint64_t m_nextRoundDelivered{0}; //!< SenderState::delivered that ends the round
    uint32_t m_roundCount{0};
    bool m_isRoundStart{false};

    // States.
    Mode m_mode{Mode::STARTUP};
    Bbr3FullPipe m_fullPipe;
    bool m_isPipeFull{false}; //!< BBR.full_bw_reached
    uint32_t m_drainStartRound{0};
    uint64_t m_lastLost{0};        //!< number of the segment lost last
    uint32_t m_lossRanges{0};      //!< gaps among the losses of the round
    int64_t m_probeRttDoneTime{0}; //!< ns; 0: the volume is not down yet
    bool m_isProbeRttRoundDone{false};
    bool m_isIdleRestart{false};

    // Probes for bandwidth.
    Bbr3ProbeSchedule m_schedule;
    AckPhase m_ackPhase{AckPhase::INIT};
    bool m_isProbeSample{false};            //!< BBR.is_bw_probe_sample
    bool m_wasProbeTooHigh{false};          //!< BBR.prev_probe_too_high
    bool m_wasProbePrecautionary{false};    //!< BBR.prev_probe_precautionary
    uint32_t m_probeUpRounds{0};            //!< BBR.bw_probe_up_rounds
    uint32_t m_probeUpAcked{0};             //!< segments since the long-term volume last grew
    uint32_t m_probeUpStep{BBR3_UNBOUNDED}; //!< segments to be acknowledged for it to grow by one

    // Window, and what to go back to when losses were none.
    uint32_t m_initialCwnd{10}; //!< segments
    uint32_t m_priorCwnd{0};    //!< segments, before recovery or PROBE_RTT
    bool m_isUndoSaved{false};  //!< in this episode of loss
    bool m_hasUndoMode{false};
    Mode m_undoMode{Mode::STARTUP};
    Bbr3ShortTermModel m_undoShortTerm;
    uint32_t m_undoInflightLongterm{BBR3_UNBOUNDED};
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_H
