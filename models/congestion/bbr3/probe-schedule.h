/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_PROBE_SCHEDULE_H
#define TUNNELCC_BBR3_PROBE_SCHEDULE_H

#include "congestion/flow-random.h"

#include <cstdint>

/**
 * \file
 * When BBRv3 probes for bandwidth next: after a random 2 to 3 s, or earlier after as many round
 * trips as a Reno flow of the same window would need between its losses (draft-ietf-ccwg-bbr,
 * section 5.3.3.8).
 */

namespace tunnelcc
{

/// Time to the next probe for bandwidth.
class Bbr3ProbeSchedule
{
  public:
    /// Bounds of the draft.
    struct Parameters
    {
        double waitBase;       //!< s
        double waitRandom;     //!< s, drawn on top
        uint32_t maxRounds;    //!< most round trips to wait
        uint32_t randomRounds; //!< number of values that the round trips start from
    };

    Bbr3ProbeSchedule(const Parameters& parameters, int64_t stream)
        : m_parameters(parameters),
          m_random(stream)
    {
    }

    /// A cycle begins: draw how long it lasts (PickProbeWait()).
    void StartCycle(int64_t now)
    {
        constexpr double NS = 1e9;
        m_rounds = m_random.DrawBelow(m_parameters.randomRounds);
        const double wait =
            m_parameters.waitBase + m_parameters.waitRandom * m_random.DrawFraction();
        m_deadline = now + static_cast<int64_t>(wait * NS);
    }

    void CountRound()
    {
        ++m_rounds;
    }

    /// Whether to probe. \param inflight target, segments: a Reno flow's rounds between losses
    bool IsDue(int64_t now, double inflight) const
    {
        return now > m_deadline ||
               m_rounds >= (inflight < m_parameters.maxRounds ? inflight : m_parameters.maxRounds);
    }

    /// When it is due by the clock, ns.
    int64_t GetDeadline() const
    {
        return m_deadline;
    }

  private:
    Parameters m_parameters;
    FlowRandom m_random;
    uint32_t m_rounds{0};  //!< BBR.rounds_since_probe_up
    int64_t m_deadline{0}; //!< BBR.cycle_stamp + BBR.bw_probe_wait, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_PROBE_SCHEDULE_H
