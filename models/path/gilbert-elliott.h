/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_GILBERT_ELLIOTT_H
#define TUNNELCC_GILBERT_ELLIOTT_H

#include "spec/path-spec.h"

#include "ns3/rng-stream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tunnelcc
{

/// Failures before the first success of trials of probability `p`, in [0, 1]: one random number.
inline int64_t
DrawGeometric(double p, ns3::RngStream& stream)
{
    if (p <= 0)
    {
        return std::numeric_limits<int64_t>::max();
    }
    if (p >= 1)
    {
        return 0;
    }
    double trials = std::log(stream.RandU01()) / std::log1p(-p);
    constexpr auto MOST = static_cast<double>(std::numeric_limits<int64_t>::max() / 2);
    return static_cast<int64_t>(std::min(trials, MOST));
}

/**
 * Bursty loss: a chain of a good and a bad state that moves once per packet.
 *
 * Gilbert (Bell System Technical Journal 39(5), 1960) loses nothing in the good state, k = 1;
 * Elliott (Bell System Technical Journal 42(5), 1963) gives both states a loss of their own. The
 * letters p, r, h and k are those of netem's `loss gemodel p r 1-h 1-k`, and so is the order: a
 * packet is lost or not in the state it finds, and then the state changes or not. A share
 * r / (p + r) of the packets finds the good state; runs of packets in the bad state are geometric
 * with mean 1/r. The chain starts in the good state.
 *
 * Draws how long each state lasts and how far the next loss in it is, not one number per packet.
 */
class GilbertElliott
{
  public:
    GilbertElliott(const GilbertElliottSpec& spec, const ns3::RngStream& stream)
        : m_spec(spec),
          m_stream(stream)
    {
        Stay();
    }

    /// Packets that arrive before the next one that is lost.
    int64_t NextGap()
    {
        if (m_spec.h >= 1 && m_spec.k >= 1)
        {
            return std::numeric_limits<int64_t>::max();
        }
        int64_t gap = 0;
        while (true)
        {
            double loss = 1 - (m_isBad ? m_spec.h : m_spec.k);
            int64_t arriving = DrawGeometric(loss, m_stream);
            if (arriving < m_left)
            {
                m_left -= arriving + 1;
                return gap + arriving;
            }
            gap += m_left;
            m_isBad = !m_isBad;
            Stay();
        }
    }

  private:
    /// Draw how many packets find the present state.
    void Stay()
    {
        int64_t more = DrawGeometric(m_isBad ? m_spec.r : m_spec.p, m_stream);
        m_left = std::min(more, std::numeric_limits<int64_t>::max() / 4) + 1;
    }

    GilbertElliottSpec m_spec;
    ns3::RngStream m_stream;
    bool m_isBad{false};
    int64_t m_left{0}; //!< packets that still find the present state
};

} // namespace tunnelcc

#endif // TUNNELCC_GILBERT_ELLIOTT_H
