/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_SAMPLER_H
#define TUNNELCC_PACKET_SAMPLER_H

#include "gilbert-elliott.h"

#include "ns3/rng-stream.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace tunnelcc
{

/**
 * Picks packets out of many, to be lost or to come late: independent and identically distributed,
 * one in every 1/p, or in bursts.
 *
 * Draws the number of packets until the next one from the geometric distribution: one random number
 * per packet picked instead of one per packet. Periodic loss is the deterministic model behind
 * response functions (RFC 9438, section 5.1): each loss follows a whole number of packets, the
 * nearest to 1/p, after the last one. Bursts are those of GilbertElliott.
 */
class PacketSampler
{
  public:
    /// \param probability of picking a packet, in [0, 1)
    /// \param stream where random numbers come from
    /// \param isPeriodic one packet in every 1/probability is picked instead
    PacketSampler(double probability, const ns3::RngStream& stream, bool isPeriodic = false)
        : m_probability(probability),
          m_isPeriodic(isPeriodic),
          m_stream(stream)
    {
        Draw();
    }

    /// Loss of a link: its bursts where it has any. \param stream where random numbers come from
    PacketSampler(const LinkSpec& spec, const ns3::RngStream& stream)
        : m_probability(spec.loss),
          m_isPeriodic(spec.lossPattern == LossPattern::PERIODIC),
          m_stream(stream)
    {
        if (spec.gilbertElliott)
        {
            m_bursts.emplace(*spec.gilbertElliott, stream);
        }
        Draw();
    }

    /// Go on by a packet. \returns whether it is picked
    bool PickNext()
    {
        if (m_untilNext-- > 0)
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
            m_untilNext = m_bursts->NextGap();
            return;
        }
        if (m_isPeriodic && m_probability > 0)
        {
            // The k-th picked is the nearest to k / probability.
            const int64_t next = std::llround(static_cast<double>(++m_drawn) / m_probability);
            m_untilNext = next - m_last - 1;
            m_last = next;
            return;
        }
        m_untilNext = DrawGeometric(m_probability, m_stream);
    }

    double m_probability;
    bool m_isPeriodic;
    ns3::RngStream m_stream;
    std::optional<GilbertElliott> m_bursts;
    int64_t m_untilNext{0};
    int64_t m_drawn{0}; //!< picked periodically so far, the next one included
    int64_t m_last{0};  //!< number of the latest of these, from 1
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SAMPLER_H
