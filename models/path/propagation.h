/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PROPAGATION_H
#define TUNNELCC_PROPAGATION_H

#include "delay-line.h"
#include "delay-shift.h"
#include "jitter.h"
#include "packet-sampler.h"
#include "reordering-line.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// Differences in the delay of packets of one direction: steps, jitter, and packets that come late.
struct DelayVariation
{
    std::optional<PacketSampler> late; //!< picks the packets that come late
    int64_t lateness{0};               //!< their extra delay, ns
    std::optional<DelayShift> shift;
    std::optional<Jitter> jitter;
    bool jitterReorders{false};             //!< jitter lets packets overtake each other
    std::optional<ReorderingLine> shuffled; //!< if jitter or shift does
};

/// The way from a link to one destination: jitter, then a constant delay.
class Propagation
{
  public:
    /**
     * \param punctual line with the constant delay
     * \param tardy line for packets that come late; null if none do
     * \param variation of the direction; null if all packets have the same delay
     */
    Propagation(DelayLine& punctual, DelayLine* tardy, DelayVariation* variation)
        : m_punctual(punctual),
          m_tardy(tardy),
          m_variation(variation)
    {
    }

    /// The constant delay, ns: the least of all packets.
    int64_t Delay() const
    {
        return m_punctual.Delay();
    }

    /// Deliver a packet. \param departure time at which it left the link, ns; in order of time
    /// \param isCe whether the link marked it
    void Push(int64_t departure,
              const Packet& packet,
              const PacketExtras* extras,
              bool isCe = false)
    {
        if (m_variation)
        {
            PushVaried(departure, packet, extras, isCe);
            return;
        }
        Packet& queued = m_punctual.Push(departure, packet, extras);
        if (isCe)
        {
            queued.isCe = true;
        }
    }

    /// Whether packets have different delays.
    bool IsVaried() const
    {
        return m_variation;
    }

    /// As DelayLine::Append(). \pre not IsVaried()
    Packet& Append(int64_t departure)
    {
        return m_punctual.Append(departure);
    }

  private:
    /// Not inline: otherwise calls without variation would pay for its registers.
    [[gnu::noinline]] void PushVaried(int64_t departure,
                                      Packet packet,
                                      const PacketExtras* extras,
                                      bool isCe)
    {
        packet.isCe |= isCe;
        DelayVariation& varied = *m_variation;
        bool isLate = varied.late && varied.late->PickNext();
        const int64_t extra = varied.shift ? varied.shift->Extra(departure) : 0;
        if (varied.jitter)
        {
            departure = varied.jitterReorders ? departure + varied.jitter->Draw()
                                              : varied.jitter->InOrder(departure);
        }
        if (varied.shift)
        {
            departure = varied.shift->InOrder(departure + extra);
        }
        if (varied.shuffled)
        {
            int64_t delay = Delay() + (isLate ? varied.lateness : 0);
            varied.shuffled->Push(departure + delay, packet, extras);
            return;
        }
        DelayLine& line = isLate ? *m_tardy : m_punctual;
        line.Push(departure, packet, extras);
    }

    DelayLine& m_punctual;
    DelayLine* m_tardy;
    DelayVariation* m_variation;
};

} // namespace tunnelcc

#endif // TUNNELCC_PROPAGATION_H
