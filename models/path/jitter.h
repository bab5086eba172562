/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_JITTER_H
#define TUNNELCC_JITTER_H

#include "event/random-stream.h"
#include "spec/path-spec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tunnelcc
{

/**
 * Jitter: an extra delay of each packet, drawn independently from a distribution with a given mean.
 * It is never negative, so the constant delay of the path stays the least.
 *
 * The distributions are uniform (between 0 and twice the mean), exponential, half-normal (the
 * absolute value of a normal variable with mean 0), normal and lognormal. The last two also have a
 * standard deviation. Draws of the normal one below 0 count as 0: with a deviation of half the
 * mean, these are 2.3 % of the draws, and the mean is 0.4 % larger. Unlike here, netem's jitter is
 * centred on the delay, and packets may always overtake each other.
 */
class Jitter
{
  public:
    Jitter(const LinkSpec& spec, const RandomStream& stream)
        : m_mean(static_cast<double>(spec.jitter)),
          m_relativeDeviation(spec.jitter ? static_cast<double>(spec.jitterDeviation) / m_mean : 0),
          m_distribution(spec.jitterDistribution),
          m_stream(stream)
    {
    }

    /// The extra delay of the next packet, ns.
    int64_t Draw()
    {
        return static_cast<int64_t>(m_mean * DrawShape());
    }

    /// When a packet that came at `time` leaves, ns: after its extra delay, and not before the
    /// packets that came earlier.
    int64_t InOrder(int64_t time)
    {
        m_latest = std::max(m_latest, time + Draw());
        return m_latest;
    }

  private:
    /// Draw from the distribution, scaled to the mean 1.
    double DrawShape()
    {
        double u = m_stream.RandU01(); // in (0, 1)
        if (m_distribution == JitterDistribution::UNIFORM)
        {
            return 2 * u;
        }
        double exponential = -std::log(u);
        if (m_distribution == JitterDistribution::EXPONENTIAL)
        {
            return exponential;
        }
        // Box and Muller: a normal variable, whose absolute value has the mean sqrt(2/pi).
        double angle = 2 * std::numbers::pi * m_stream.RandU01();
        double normal = std::sqrt(2 * exponential) * std::cos(angle);
        if (m_distribution == JitterDistribution::NORMAL)
        {
            return std::max(0.0, 1 + m_relativeDeviation * normal);
        }
        if (m_distribution == JitterDistribution::LOGNORMAL)
        {
            // The logarithm has the variance v = ln(1 + (deviation / mean)^2) and the mean -v/2.
            double variance = std::log1p(m_relativeDeviation * m_relativeDeviation);
            return std::exp(std::sqrt(variance) * normal - variance / 2);
        }
        return std::abs(normal) * std::sqrt(std::numbers::pi / 2);
    }

    double m_mean;              //!< ns
    double m_relativeDeviation; //!< standard deviation / mean, if the distribution has one
    JitterDistribution m_distribution;
    RandomStream m_stream;
    int64_t m_latest{0}; //!< the latest time that InOrder() returned, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_JITTER_H
