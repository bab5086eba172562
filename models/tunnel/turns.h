/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TURNS_H
#define TUNNELCC_TURNS_H

#include "event/random-stream.h"
#include "spec/tunnel-spec.h"

#include <cstddef>
#include <numeric>
#include <vector>

namespace tunnelcc
{

/**
 * Which of several routes the next packet takes, by their weights.
 *
 * SMOOTH: smooth weighted round robin, as nginx 1.27 (ngx_http_upstream_get_peer()): each route
 * gains its weight, the first with the most is taken, and loses what all gained. With equal weights
 * they take turns.
 *
 * COUNTDOWN: as MLVPN b934d49 (wrr.c, mlvpn_rtun_wrr_choose()): the route with the least count is
 * taken, the counts above 0 of all fall by 1, and its own becomes the inverse of its share. Shares
 * are those of the weights only where the inverses are whole numbers, or nearly: 60 and 40 % become
 * halves.
 *
 * RANDOM: as glorytun's mud c426cef (mud_select_path()), which takes the last bytes of an encrypted
 * packet for a random number.
 */
class Turns
{
  public:
    /// \param weights of the routes  \param draws for RANDOM
    Turns(UplinkTurns how,
          const std::vector<double>& weights,
          const RandomStream& draws = MakeRandomStream(1, RandomComponent::UPLINK_TURNS))
        : m_how(how),
          m_weights(weights),
          m_counts(weights.size()),
          m_draws(draws)
    {
    }

    /// \param route its number
    void SetWeight(size_t route, double weight)
    {
        m_weights[route] = weight;
    }

    /// The next route of those that work, by their numbers; of all, if none does.
    size_t Next(const std::vector<bool>& works)
    {
        double total = 0;
        for (size_t i = 0; i < m_weights.size(); ++i)
        {
            total += works[i] ? m_weights[i] : 0;
        }
        const bool takesAll = total == 0;
        auto isIn = [&](size_t i) { return takesAll || works[i]; };
        if (takesAll)
        {
            total = std::accumulate(m_weights.begin(), m_weights.end(), 0.0);
        }
        return m_how == UplinkTurns::SMOOTH      ? NextSmooth(total, isIn)
               : m_how == UplinkTurns::COUNTDOWN ? NextCountdown(total, isIn)
                                                 : NextAtRandom(total, isIn);
    }

  private:
    template <class IsIn>
    size_t NextSmooth(double total, IsIn isIn)
    {
        size_t best = m_weights.size();
        for (size_t i = 0; i < m_weights.size(); ++i)
        {
            if (isIn(i))
            {
                m_counts[i] += m_weights[i];
                if (best == m_weights.size() || m_counts[i] > m_counts[best])
                {
                    best = i;
                }
            }
        }
        m_counts[best] -= total;
        return best;
    }

    template <class IsIn>
    size_t NextCountdown(double total, IsIn isIn)
    {
        size_t best = m_weights.size();
        for (size_t i = 0; i < m_weights.size(); ++i)
        {
            if (isIn(i) && (best == m_weights.size() || m_counts[i] < m_counts[best]))
            {
                best = i;
            }
        }
        for (double& count : m_counts)
        {
            count -= count > 0 ? 1 : 0;
        }
        m_counts[best] = total / m_weights[best];
        return best;
    }

    template <class IsIn>
    size_t NextAtRandom(double total, IsIn isIn)
    {
        double left = total * m_draws.RandU01();
        size_t taken = 0;
        for (size_t i = 0; i < m_weights.size(); ++i)
        {
            if (isIn(i))
            {
                taken = i;
                if (left < m_weights[i])
                {
                    break;
                }
                left -= m_weights[i];
            }
        }
        return taken;
    }

    const UplinkTurns m_how;
    std::vector<double> m_weights;
    std::vector<double> m_counts;
    RandomStream m_draws;
};

} // namespace tunnelcc

#endif // TUNNELCC_TURNS_H
