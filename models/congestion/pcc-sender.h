/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PCC_SENDER_H
#define TUNNELCC_PCC_SENDER_H

#include "congestion/congestion-control.h"
#include "congestion/flow-random.h"
#include "event/time-units.h"

#include <array>
#include <cstdint>

/**
 * \file
 * What PCC Allegro and PCC Vivace have in common as Linux modules (PCCproject/PCC-Kernel,
 * src/tcp_pcc.c): monitor intervals. The sender paces at a rate for some tens of segments and until
 * the first of them is accounted for, then keeps a rate until enough of the interval's segments
 * were delivered or lost, and judges the rate by the interval's utility. Four intervals, two above
 * the rate and two below, are an experiment; else an interval stands alone.
 *
 * Which segments of an interval were delivered or lost is not known by number: the first segment
 * accounted for is taken for the first sent, and so on (delivered + lost). The first and last
 * segments of an interval are ignored for that. After a time-out nothing is measured until it is
 * over, and counts are set right again. The window is twice rate · RTT, and losses do not change
 * it. Rates are whole bytes of payload a second.
 */

namespace tunnelcc
{

// Units in which the modules count.
constexpr int64_t PERCENT = 100;              // the whole
constexpr int64_t SCALE = 1000;               // fractions and exponents are whole thousandths
constexpr int64_t MICROSECONDS = SECOND / US; // a second

/// A rate-based sender that experiments with its rate.
class PccSender : public CongestionControl
{
  public:
    bool HasCongControl() const override;
    void Init(TcpState& state, int64_t now) override;
    uint32_t GetSsThresh(TcpState& state, int64_t now) override;
    void OnAck(TcpState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(TcpState& state, CaState next, int64_t now) override;
    uint32_t GetUndoCwnd(TcpState& state, uint32_t priorCwnd) override;

    /// Rate that the sender has settled on for now, bytes/s; intervals may differ from it.
    int64_t GetRate() const
    {
        return m_rate;
    }

  protected:
    /// Intervals of an experiment.
    static constexpr uint32_t INTERVALS = 4;

    /// Utility of a rate that was not judged yet.
    static constexpr int64_t NO_UTILITY = INT64_MIN;

    /// What the two algorithms count differently.
    struct Counts
    {
        uint32_t segments{0}; //!< least segments of an interval
        uint32_t ignored{0};  //!< segments ignored at its start and at its end
    };

    /// A time in which one rate was tried, and what became of its segments.
    struct Interval
    {
        int64_t rate{0};        //!< bytes/s
        uint64_t sentBefore{0}; //!< segments sent before it; 0: it has not begun
        uint64_t sentUntil{0};  //!< segments sent at its end; 0: it is not over
        int64_t sendBegin{0};   //!< ns
        int64_t sendEnd{0};     //!< ns
        int64_t countBegin{0};  //!< when the first segment counted, ns
        int64_t countEnd{0};    //!< ns
        int64_t beginRtt{0};    //!< smoothed RTT then, ns
        int64_t endRtt{0};      //!< ns
        int64_t lost{0};        //!< segments
        int64_t delivered{0};   //!< segments
        int64_t utility{NO_UTILITY};
    };

    /**
     * \param counts what an interval is
     * \param initialRate bytes/s
     * \param stream random stream of this sender
     */
    PccSender(const Counts& counts, int64_t initialRate, int64_t stream);

    /// Whether the intervals are an experiment rather than one of its own.
    virtual bool IsExperimenting() const = 0;

    /// Segments that an interval needs now.
    virtual uint32_t LeastSegments() const;

    /// The connection begins: set up the first interval.
    virtual void Begin() = 0;

    /// The segments of an interval were counted. \returns whether to start the next interval
    virtual bool Decide(const TcpState& state) = 0;

    /// A time-out is over: set up intervals.
    virtual void Resume() = 0;

    /// Set up four intervals, a pair at `rate` · (1 ± `percent`) each, in random order.
    void SetUpExperiment(int64_t percent);

    /// Set up one interval at `rate`.
    void SetUpSingle(int64_t rate);

    /**
     * What the two pairs of an experiment agree upon.
     * \returns index in the second pair of the interval with the better rate; INTERVALS: they
     * differ
     */
    uint32_t FindAgreement() const;

    const Counts m_counts;
    std::array<Interval, INTERVALS> m_intervals;
    uint32_t m_countIndex{0}; //!< interval whose segments are being counted
    int64_t m_rate;           //!< bytes/s
    int64_t m_lastRate;       //!< the rate before, bytes/s

  private:
    void Rewind();
    void StartInterval(TcpState& state, int64_t now);
    bool IsSent(const TcpState& state, const Interval& interval) const;
    void Count(const TcpState& state, int64_t now, Interval& interval) const;
    static void SetWindow(TcpState& state);

    FlowRandom m_random;
    bool m_waits{false};     //!< all intervals were sent; not all were counted
    uint32_t m_sendIndex{0}; //!< interval being sent
    uint64_t m_counted{0};   //!< segments delivered or lost
    int64_t m_miscounted{0}; //!< delivered or lost more than once
    uint64_t m_lost{0};      //!< TcpState::lost at the last ACK
    uint64_t m_delivered{0}; //!< TcpState::delivered at the last ACK
};

} // namespace tunnelcc

#endif // TUNNELCC_PCC_SENDER_H
