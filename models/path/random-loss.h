/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RANDOM_LOSS_H
#define TUNNELCC_RANDOM_LOSS_H

#include "gilbert-elliott.h"

#include "ns3/rng-stream.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace tunnelcc
{

/**
 * Packet loss: independent and identically distributed, one packet in every 1/p, or in bursts.
 *
 * Draws the number of packets until the next loss from the geometric distribution: one random
 * number per loss instead of one per packet. Periodic loss is the deterministic model behind
 * response functions (RFC 9438, section 5.1): each loss follows a whole number of packets, the
 * nearest to 1/p, after the last one. Bursts are those of GilbertElliott.
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

    /// Loss of a link: its bursts where it has any. \param stream where random numbers come from
    RandomLoss(const LinkSpec& spec, const ns3::RngStream& stream)
        : m_probability(spec.loss),
          m_isPeriodic(spec.lossPeriodic),
          m_stream(stream)
    {
        if (spec.gilbertElliott.p > 0)
        {
            m_bursts.emplace(spec.gilbertElliott, stream);
        }
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
        if (m_bursts)
        {
            m_untilLoss = m_bursts->NextGap();
            return;
        }
        if (m_isPeriodic && m_probability > 0)
        {
            m_untilLoss = std::llround(1 / m_probability) - 1;
            return;
        }
        m_untilLoss = DrawGeometric(m_probability, m_stream);
    }

    double m_probability;
    bool m_isPeriodic;
    ns3::RngStream m_stream;
    std::optional<GilbertElliott> m_bursts;
    int64_t m_untilLoss{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RANDOM_LOSS_H
