/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PIE_H
#define TUNNELCC_PIE_H

#include "queue-disc.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * Proportional integral controller enhanced (RFC 8033): drops arriving packets with a probability
 * that is updated at fixed times from how long packets wait.
 *
 * The waiting time is that of the packet that left last (RFC 8033, section 5.2, and the default of
 * Linux and ns-3), 0 once none waits. Of the enhancements in section 5, those two steps of
 * probability that cap its growth (5.5) are here and ECN up to a probability of 10 % (5.1); turning
 * PIE off when idle (5.3) and de-randomization (5.4) are not, nor is scaling by packet size. The
 * RFC's mean packet, of which two may always wait, is the largest seen.
 */
class PieQueueDisc final : public QueueDisc
{
  public:
    PieQueueDisc(const LinkSpec& link,
                 const PieSpec& spec,
                 PacketStore& store,
                 const ns3::RngStream& stream);

    bool Enqueue(int64_t now, QueuedPacket* packet) override;
    QueuedPacket* Dequeue(int64_t now) override;

    double DropProbability() const
    {
        return m_probability;
    }

  private:
    void UpdateUntil(int64_t now);
    void Update();
    double Step() const;
    bool IsCalm() const;
    /// Draw whether a packet is dropped, or marked, before the queue is full.
    bool RollEarlyDrop();

    PieSpec m_spec;
    ns3::RngStream m_stream;
    PacketQueue m_queue;
    double m_probability{0};
    int64_t m_delay{0};    //!< waiting time of the latest packet that left, ns
    int64_t m_oldDelay{0}; //!< at the update before, ns
    int64_t m_burstLeft;   //!< for how long a burst may go on without drops, ns
    int64_t m_nextUpdate;  //!< ns
};

} // namespace tunnelcc

#endif // TUNNELCC_PIE_H
