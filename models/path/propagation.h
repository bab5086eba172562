/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PROPAGATION_H
#define TUNNELCC_PROPAGATION_H

#include "delay-line.h"
#include "jitter.h"
#include "random-loss.h"
#include "reordering-line.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// What delays the packets of one direction differently: jitter, and packets that come late.
struct DelayVariation
{
    std::optional<RandomLoss> late; //!< chooses the packets that others overtake
    int64_t lateness{0};            //!< by how much they come late, ns
    std::optional<Jitter> jitter;
    std::optional<ReorderingLine> shuffled; //!< where jitter lets packets overtake each other
};

/// What follows a link on the way to one destination: jitter, then a constant delay.
class Propagation
{
  public:
    /**
     * \param punctual line of the constant delay
     * \param tardy line of packets that come late; null where none do
     * \param variation of the direction; null where every packet takes as long
     */
    Propagation(DelayLine& punctual, DelayLine* tardy, DelayVariation* variation)
        : m_line(&punctual),
          m_punctual(&punctual),
          m_tardy(tardy),
          m_variation(variation)
    {
    }

    /// Constant delay, the least of any packet, ns.
    int64_t Delay() const
    {
        return m_punctual->Delay();
    }

    /// Send a packet on its way. \param departure from the link, ns, never earlier than the last
    /// \param isCe it was marked there
    void Push(int64_t departure, const Packet& packet, const SackBlocks* blocks, bool isCe = false)
    {
        if (m_variation)
        {
            PushVaried(departure, packet, blocks, isCe);
            return;
        }
        m_departure = departure;
        Packet& queued = m_punctual->Push(departure, packet, blocks);
        if (isCe)
        {
            queued.isCe = true;
        }
    }

    /// Send a packet together with the latest one.
    void PushAlong(const Packet& packet, const SackBlocks* blocks)
    {
        if (m_line)
        {
            m_line->Push(m_departure, packet, blocks);
        }
        else
        {
            m_variation->shuffled->Push(m_departure, packet, blocks);
        }
    }

  private:
    void PushVaried(int64_t departure, Packet packet, const SackBlocks* blocks, bool isCe)
    {
        packet.isCe |= isCe;
        bool isLate = m_variation->late && m_variation->late->Lose();
        if (m_variation->shuffled)
        {
            int64_t delay = Delay() + (isLate ? m_variation->lateness : 0);
            m_line = nullptr;
            m_departure = departure + delay + m_variation->jitter->Draw();
        }
        else
        {
            m_line = isLate ? m_tardy : m_punctual;
            m_departure = m_variation->jitter ? m_variation->jitter->InOrder(departure) : departure;
        }
        PushAlong(packet, blocks);
    }

    DelayLine* m_line; //!< which the latest packet took; null: the line that reorders
    DelayLine* m_punctual;
    DelayLine* m_tardy;
    DelayVariation* m_variation;
    int64_t m_departure{0}; //!< of the latest packet, ns: into its line, jitter included, or from
                            //!< the line that reorders
};

} // namespace tunnelcc

#endif // TUNNELCC_PROPAGATION_H
