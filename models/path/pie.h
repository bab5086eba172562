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
 * PIE, proportional integral controller enhanced (RFC 8033), as Linux has it (net/sched/sch_pie.c).
 * It drops arriving packets with a probability, which is updated at fixed times from the waiting
 * time: that of the packet that left last, and 0 if no other waited.
 *
 * Linux differs from the RFC so:
 *
 * - The probability grows during a burst, too. Above a delay of 250 ms a step is 2 % more. It has
 *   no limit at 1, but that of its type (256), so it needs time to fall after an overshoot.
 * - It decays by 1/64 (RFC: 2 %) at a step without a delay, a delay before, and packets that wait.
 * - Time that passes between packets that leave uses up a burst (RFC: each update).
 * - Drops are spread (RFC 8033, section 5.4). They end where the delay of now is below half of the
 *   target (RFC: that of the latest update).
 *
 * Drops do not depend on packets' sizes, and it does not turn off when idle, as by default. Two
 * packets may always wait; the largest packet so far stands for the MTU.
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
    /// Whether to drop, or mark, an arriving packet before the queue is full.
    bool DropsEarly();

    PieSpec m_spec;
    RandomStream m_stream;
    PacketQueue m_queue;
    double m_probability{0}; //!< of a drop; from 1 on all are dropped
    double m_accumulated{0}; //!< sum of probabilities since the latest drop
    int64_t m_delay{0};      //!< waiting time of the packet that left last, ns
    int64_t m_oldDelay{0};   //!< m_delay at the update before, ns
    int64_t m_burstLeft;     //!< rest of the time in which a burst is not dropped, ns
    int64_t m_lastLeft{-1};  //!< time at which a packet left last, ns; −1: none since the calm
    int64_t m_nextUpdate;    //!< time of the next update, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_PIE_H
