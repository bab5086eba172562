/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_GILBERT_ELLIOTT_H
#define TUNNELCC_GILBERT_ELLIOTT_H

#include "event/random-stream.h"
#include "spec/path-spec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tunnelcc
{

/// Draw the number of failures before the first success, where each trial succeeds with probability
/// `p`, in [0, 1]. Takes one random number.
inline int64_t
DrawGeometric(double p, RandomStream& stream)
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
    constexpr double MOST = 0x1p62;
    return static_cast<int64_t>(std::min(trials, MOST));
}

/**
 * Bursty loss: a Markov chain with a good and a bad state, which takes one step per packet.
 *
 * In Gilbert's model (Bell System Technical Journal 39(5), 1960) the good state loses nothing, k
 * = 1. In Elliott's (Bell System Technical Journal 42(5), 1963) each state has its own loss. The
 * letters p, r, h and k are those of netem's `loss gemodel p r 1-h 1-k`. So is the order: first the
 * packet is lost or not, then the state changes or not. The chain starts in the good state. It is
 * in the good state for a share r / (p + r) of the packets. The number of packets in a stay in the
 * bad state is geometric with mean 1/r.
 *
 * The model draws how long each state lasts, and how many packets come before the next loss: this
 * takes fewer random numbers than one for each packet.
 */
class GilbertElliott
{
  public:
    GilbertElliott(const GilbertElliottSpec& spec, const RandomStream& stream)
        : m_spec(spec),
          m_stream(stream)
    {
        Stay();
    }

    /// Packets that arrive, and whether the next one is lost. It is not if there are very many, so
    /// that a state that is left soon and loses next to nothing does not take for ever.
    struct Gap
    {
        int64_t arriving;
        bool endsInLoss;
    };

    Gap NextGap()
    {
        constexpr int64_t LONG = 1 << 20;
        if (m_spec.h >= 1 && m_spec.k >= 1)
        {
            return {std::numeric_limits<int64_t>::max(), true};
        }
        int64_t gap = 0;
        while (true)
        {
            double loss = 1 - (m_isBad ? m_spec.h : m_spec.k);
            int64_t arriving = DrawGeometric(loss, m_stream);
            if (arriving < m_left)
            {
                m_left -= arriving + 1;
                return {gap + arriving, true};
            }
            gap += m_left;
            m_isBad = !m_isBad;
            Stay();
            if (gap >= LONG)
            {
                return {gap - 1, false};
            }
        }
    }

  private:
    /// Draw for how many packets the present state lasts.
    void Stay()
    {
        int64_t more = DrawGeometric(m_isBad ? m_spec.r : m_spec.p, m_stream);
        m_left = std::min(more, std::numeric_limits<int64_t>::max() / 4) + 1;
    }

    GilbertElliottSpec m_spec;
    RandomStream m_stream;
    bool m_isBad{false};
    int64_t m_left{0}; //!< packets before the state changes
};

} // namespace tunnelcc

#endif // TUNNELCC_GILBERT_ELLIOTT_H
