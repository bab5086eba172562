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
 * PIE, proportional integral controller enhanced (RFC 8033). It drops arriving packets with a
 * probability, which is updated at fixed times from the waiting time.
 *
 * The waiting time is that of the packet that left last (RFC 8033, section 5.2, and the default of
 * Linux and ns-3), and 0 if the queue is empty. Of the enhancements in section 5, it has the two
 * limits to the growth of the probability (5.5), and ECN up to a probability of 10 % (5.1). It does
 * not turn off when idle (5.3), and has no de-randomization (5.4) and no scaling by packet size.
 * Two mean packets may always wait; in place of the mean it takes the largest packet so far.
 */
class PieQueueDisc final : public QueueDisc
{
  public:
    PieQueueDisc(const LinkSpec& link,
                 const PieSpec& spec,
                 PacketStore& store,
                 const RandomStream& stream);

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
    RandomStream m_stream;
    PacketQueue m_queue;
    double m_probability{0};
    int64_t m_delay{0};    //!< waiting time of the packet that left last, ns
    int64_t m_oldDelay{0}; //!< m_delay at the update before, ns
    int64_t m_burstLeft;   //!< rest of the time in which a burst is not dropped, ns
    int64_t m_nextUpdate;  //!< time of the next update, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_PIE_H
