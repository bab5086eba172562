/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PI_CONTROLLER_H
#define TUNNELCC_PI_CONTROLLER_H

#include <cstdint>

namespace tunnelcc
{

/**
 * The change of probability at one update of a proportional integral controller (RFC 8033, section
 * 4.2; RFC 9332, appendix A).
 *
 * \param spec with target (ns), alpha and beta (1/s)
 * \param delay waiting time, ns
 * \param oldDelay waiting time at the update before, ns
 */
template <typename Spec>
double
PiStep(const Spec& spec, int64_t delay, int64_t oldDelay)
{
    constexpr double NS = 1e-9;
    return spec.alpha * static_cast<double>(delay - spec.target) * NS +
           spec.beta * static_cast<double>(delay - oldDelay) * NS;
}

} // namespace tunnelcc

#endif // TUNNELCC_PI_CONTROLLER_H
