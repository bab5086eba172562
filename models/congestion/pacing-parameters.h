/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACING_PARAMETERS_H
#define TUNNELCC_PACING_PARAMETERS_H

#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"

/**
 * \file
 * The parameters of WindowPacing, which algorithms that set no rate of their own share.
 */

namespace tunnelcc
{

/// The rows of `pacing`, `pacingSlowStart` and `pacingAvoidance`, which are members of `P`.
template <typename P>
CongestionParameterTable<P>
PacingRows()
{
    return {
        {&P::pacing,
         "pacing",
         "pace segments, as the fq queueing discipline does",
         "Linux: off without sch_fq"},
        {&P::pacingSlowStart,
         "pacing_ss_ratio",
         "",
         0.1,
         100,
         "pacing rate in slow start, times cwnd/srtt",
         "Linux sysctl tcp_pacing_ss_ratio"},
        {&P::pacingAvoidance,
         "pacing_ca_ratio",
         "",
         0.1,
         100,
         "pacing rate in congestion avoidance, times cwnd/srtt",
         "Linux sysctl tcp_pacing_ca_ratio"},
    };
}

/// Pacing as these members say.
template <typename P>
WindowPacing
MakeWindowPacing(const P& parameters)
{
    return {parameters.pacing, parameters.pacingSlowStart, parameters.pacingAvoidance};
}

} // namespace tunnelcc

#endif // TUNNELCC_PACING_PARAMETERS_H
