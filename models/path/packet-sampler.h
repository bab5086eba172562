/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_SAMPLER_H
#define TUNNELCC_PACKET_SAMPLER_H

#include "event/random-stream.h"
#include "gilbert-elliott.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace tunnelcc
{

/**
 * Picks the packets that are lost or come late: each independently with probability p, or one in
 * every 1/p, or in bursts.
 *
 * For independent picks it draws the number of packets before the next one from the geometric
 * distribution, so it takes one random number for each packet that is picked. Periodic loss is the
 * deterministic model behind response functions (RFC 9438, section 5.1): losses are 1/p packets
 * apart, rounded so that the mean is kept. Each packet is a share p of the way to the next loss,
 * also where p changes on that way. Bursts are those of GilbertElliott.
 */
class PacketSampler
{
  public:
    /// \param probability of picking a packet, in [0, 1]
    /// \param stream its random numbers
    /// \param isPeriodic whether to pick one packet in every 1/probability
    PacketSampler(double probability, const RandomStream& stream, bool isPeriodic = false)
        : m_probability(probability),
          m_isPeriodic(isPeriodic),
          m_stream(stream)
    {
        Draw();
    }

    /// The random loss of a link: in bursts, if the link has any. \param stream its random numbers
    PacketSampler(const LinkSpec& spec, const RandomStream& stream)
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

    /// From the next packet on, pick with another probability. Not for bursts. With the same one,
    /// nothing changes: not even the random numbers.
    void SetProbability(double probability)
    {
        if (probability == m_probability)
        {
            return;
        }
        if (m_isPeriodic && m_probability > 0)
        {
            const int64_t passed = m_last - 1 - m_untilNext;
            m_phase += static_cast<double>(passed) * m_probability;
            m_phase -= static_cast<double>(m_drawn - 1);
        }
        m_probability = probability;
        m_drawn = 0;
        m_last = 0;
        Draw();
    }

    /// Go on by a packet. \returns whether it is picked
    bool PickNext()
    {
        if (m_untilNext-- > 0)
        {
            return false;
        }
        const bool isPicked = m_isNextPicked;
        Draw();
        return isPicked;
    }

  private:
    static constexpr double MOST = 1e18; //!< packets, more than any run has

    void Draw()
    {
        if (m_bursts)
        {
            const GilbertElliott::Gap gap = m_bursts->NextGap();
            m_untilNext = gap.arriving;
            m_isNextPicked = gap.endsInLoss;
            return;
        }
        if (m_isPeriodic && m_probability > 0)
        {
            // The k-th picked is the nearest to (k - phase) / probability.
            const double due = (static_cast<double>(++m_drawn) - m_phase) / m_probability;
            const int64_t next = std::max<int64_t>(std::llround(std::min(due, MOST)), m_last + 1);
            m_untilNext = next - m_last - 1;
            m_last = next;
            return;
        }
        m_untilNext = DrawGeometric(m_probability, m_stream);
    }

    double m_probability;
    bool m_isPeriodic;
    RandomStream m_stream;
    std::optional<GilbertElliott> m_bursts;
    int64_t m_untilNext{0};
    bool m_isNextPicked{true};
    // Of periodic picks, since the probability changed:
    int64_t m_drawn{0}; //!< how many there were, with the next one
    int64_t m_last{0};  //!< number of the packet that is picked next, from 1
    double m_phase{0};  //!< part of the way to the first one that was gone before, below 1
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SAMPLER_H
