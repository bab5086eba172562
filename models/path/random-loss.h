/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RANDOM_LOSS_H
#define TUNNELCC_RANDOM_LOSS_H

#include "ns3/rng-stream.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tunnelcc
{

/**
 * Independent, identically distributed packet loss.
 *
 * Draws the number of packets until the next loss from the geometric distribution: one random
 * number per loss instead of one per packet.
 */
class RandomLoss
{
  public:
    /// \param probability of losing a packet, in [0, 1)
    /// \param stream where random numbers come from
    RandomLoss(double probability, const ns3::RngStream& stream)
        : m_probability(probability),
          m_stream(stream)
    {
        Draw();
    }

    /// Whether the next packet is lost.
    bool Lose()
    {
        if (m_untilLoss-- > 0)
        {
            return false;
        }
        Draw();
        return true;
    }

  private:
    void Draw()
    {
        if (m_probability <= 0)
        {
            m_untilLoss = std::numeric_limits<int64_t>::max();
            return;
        }
        double u = m_stream.RandU01(); // in (0, 1)
        m_untilLoss = static_cast<int64_t>(std::log(u) / std::log1p(-m_probability));
    }

    double m_probability;
    ns3::RngStream m_stream;
    int64_t m_untilLoss{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RANDOM_LOSS_H
