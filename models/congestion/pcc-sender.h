/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PCC_SENDER_H
#define TUNNELCC_PCC_SENDER_H

#include "congestion/congestion-parameters.h"
#include "congestion/flow-random.h"
#include "event/time-units.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

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

/// The rows of `initialRate`, `intervalSegments` and `ignoredSegments`, which are members of `P`.
/// \param interval,ignored the constants of the module that the defaults of the last two are
template <typename P>
CongestionParameterTable<P>
PccRows(const std::string& interval, const std::string& ignored)
{
    return {
        {&P::initialRate,
         "initial_rate",
         "bytes/s",
         1024,
         1e9,
         "rate at the start",
         "tcp_pcc.c pcc_init()"},
        {&P::intervalSegments,
         "interval_segments",
         "segments",
         1,
         1e6,
         "least segments of an interval",
         "tcp_pcc.c " + interval},
        {&P::ignoredSegments,
         "ignored_segments",
         "segments",
         0,
         1e6,
         "segments of an interval that do not count, at its start and at its end",
         "tcp_pcc.c " + ignored},
    };
}

/// A rate-based sender that experiments with its rate.
class PccSender : public CongestionControl
{
  public:
    /// What the sender uses its intervals for.
    enum class Mode : uint8_t
    {
        SLOW_START,
        EXPERIMENT, //!< two pairs of intervals seek a direction
        MOVING      //!< the rate goes that way, an interval at each
    };

    bool HasCongControl() const override;
    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;

    /// Rate that the sender has settled on for now, bytes/s; intervals may differ from it.
    int64_t GetRate() const
    {
        return m_rate;
    }

    Mode GetMode() const
    {
        return m_mode;
    }

  protected:
    /// Intervals of an experiment.
    static constexpr uint32_t INTERVALS = 4;

    /// Utility of a rate that was not judged yet.
    static constexpr int64_t NO_UTILITY = INT64_MIN;

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
     * \param parameters constants of either algorithm
     * \param epsilon first step between the rates of an experiment
     * \param stream random stream of this sender
     */
    template <typename P>
    PccSender(const P& parameters, double epsilon, int64_t stream)
        : m_intervalSegments(parameters.intervalSegments),
          m_ignoredSegments(parameters.ignoredSegments),
          m_rate(static_cast<int64_t>(parameters.initialRate)),
          m_lastRate(m_rate),
          m_epsilon(std::lround(epsilon * PERCENT)),
          m_random(stream)
    {
    }

    /// Whether the intervals are an experiment rather than one of its own.
    bool IsExperimenting() const
    {
        return m_mode == Mode::EXPERIMENT;
    }

    /// Segments that an interval needs now.
    virtual uint32_t LeastSegments() const;

    /// The connection begins: set up the first interval.
    virtual void Begin() = 0;

    /// A time-out is over: set up intervals.
    virtual void Resume();

    /// The segments of `interval` were counted: what its rate is worth.
    virtual void Judge(const SenderState& state, Interval& interval) const = 0;

    /// Slow start's interval was judged, and the one before it at `lastUtility`: set the rate, or
    /// begin to experiment.
    virtual void GrowInSlowStart(const SenderState& state, int64_t lastUtility) = 0;

    /**
     * An experiment was judged: set the rate and the mode.
     * \param better the interval whose rate both pairs found better; null: they differ
     * \returns rate of the next interval, if that is to move, bytes/s
     */
    virtual int64_t FindDirection(const Interval* better) = 0;

    /// An interval was judged, and the one before it at `lastUtility`: move on, or experiment.
    virtual void Move(const SenderState& state, int64_t lastUtility) = 0;

    /// Set up four intervals, a pair at the rate · (1 ± epsilon) each, in random order.
    void SetUpExperiment();

    /// Set up an experiment, if it is time for one, or an interval at `rate`.
    void SetUp(int64_t rate);

    const uint32_t m_intervalSegments; //!< least segments of an interval
    const uint32_t m_ignoredSegments;  //!< at the start and at the end of each
    std::array<Interval, INTERVALS> m_intervals;
    Mode m_mode{Mode::SLOW_START};
    int64_t m_rate;     //!< bytes/s
    int64_t m_lastRate; //!< the rate before, bytes/s
    int64_t m_epsilon;  //!< distance of an experiment's rates, percent

  private:
    void Rewind();
    const Interval* FindAgreement() const;
    bool Decide(const SenderState& state);
    void StartInterval(SenderState& state, int64_t now);
    bool IsSent(const SenderState& state, const Interval& interval) const;
    void Count(const SenderState& state, int64_t now, Interval& interval) const;
    static void SetWindow(SenderState& state);

    FlowRandom m_random;
    bool m_waits{false};      //!< all intervals were sent; not all were counted
    uint32_t m_sendIndex{0};  //!< interval being sent
    uint32_t m_countIndex{0}; //!< interval whose segments are being counted
    uint64_t m_counted{0};    //!< segments delivered or lost
    int64_t m_miscounted{0};  //!< delivered or lost more than once
    uint64_t m_lost{0};       //!< SenderState::lost at the last ACK
    uint64_t m_delivered{0};  //!< SenderState::delivered at the last ACK
};

} // namespace tunnelcc

#endif // TUNNELCC_PCC_SENDER_H
