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
 * Packet loss: independent and identically distributed, or one packet in every 1/p.
 *
 * Draws the number of packets until the next loss from the geometric distribution: one random
 * number per loss instead of one per packet. Periodic loss is the deterministic model behind
 * response functions (RFC 9438, section 5.1): each loss follows a whole number of packets, the
 * nearest to 1/p, after the last one.
 */
class RandomLoss
{
  public:
    /// \param probability of losing a packet, in [0, 1)
    /// \param stream where random numbers come from
    /// \param isPeriodic one packet in every 1/probability is lost instead
    RandomLoss(double probability, const ns3::RngStream& stream, bool isPeriodic = false)
        : m_probability(probability),
          m_isPeriodic(isPeriodic),
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
        if (m_isPeriodic)
        {
            m_untilLoss = std::llround(1 / m_probability) - 1;
            return;
        }
        double u = m_stream.RandU01(); // in (0, 1)
        m_untilLoss = static_cast<int64_t>(std::log(u) / std::log1p(-m_probability));
    }

    double m_probability;
    bool m_isPeriodic;
    ns3::RngStream m_stream;
    int64_t m_untilLoss{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RANDOM_LOSS_H
