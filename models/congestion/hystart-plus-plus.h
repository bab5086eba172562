/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HYSTART_PLUS_PLUS_H
#define TUNNELCC_HYSTART_PLUS_PLUS_H

#include "congestion/congestion-control.h"

#include <cstdint>
#include <string>

/**
 * \file
 * HyStart++ (RFC 9406): when the least RTT of a round has risen by an eighth over that of the round
 * before, slow start goes on more slowly for some rounds (conservative slow start). If the RTT
 * falls again, slow start resumes; else it ends.
 */

namespace tunnelcc
{

/// Finds the end of the initial slow start.
class HyStartPlusPlus
{
  public:
    /// The constants that a user may set (RFC 9406, section 4.3).
    struct Parameters
    {
        uint32_t growthDivisor; //!< CSS_GROWTH_DIVISOR
        uint32_t rounds;        //!< CSS_ROUNDS
    };

    explicit HyStartPlusPlus(const Parameters& parameters)
        : m_parameters(parameters)
    {
    }

    /// The other constants with their names in RFC 9406, section 4.3, for people.
    static std::string DescribeConstants();

    /// Begin with the connection's first round.
    void Reset(const SenderState& state);

    /**
     * Take an RTT sample in slow start.
     *
     * \param state the connection
     * \param rtt the sample, ns
     * \returns whether slow start is to end here
     */
    bool OnRtt(const SenderState& state, int64_t rtt);

    /// The segments by which slow start may grow the window for `acked` segments.
    uint32_t LimitGrowth(const SenderState& state, uint32_t acked);

    /// Whether growth is slowed down.
    bool IsConservative() const
    {
        return m_isConservative;
    }

  private:
    bool EndRound(const SenderState& state);
    void CheckDelay();

    Parameters m_parameters;
    uint64_t m_roundEnd{0};      //!< segment whose ACK ends the round
    int64_t m_lastMinRtt{NEVER}; //!< least RTT of the round before, ns
    int64_t m_minRtt{NEVER};     //!< least RTT of the round, ns
    int64_t m_baseline{NEVER};   //!< cssBaselineMinRtt, ns
    uint32_t m_samples{0};       //!< RTT samples of the round
    uint32_t m_rounds{0};        //!< of conservative slow start
    uint32_t m_remainder{0};     //!< segments acknowledged that growth has not used yet
    bool m_isConservative{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_HYSTART_PLUS_PLUS_H
