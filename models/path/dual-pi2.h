/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DUAL_PI2_H
#define TUNNELCC_DUAL_PI2_H

#include "queue-disc.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * Dual-queue coupled AQM, DualPI2 (RFC 9332, appendix A; Linux 6.17 sch_dualpi2.c with its
 * defaults): L4S packets and marked ones wait in a low-latency queue, all others in the classic
 * queue.
 *
 * A proportional integral controller keeps the longer of the two waiting times at a target. It sets
 * one probability, p. Classic packets are marked or dropped with probability p². L4S packets are
 * marked with probability p times the coupling, and always if they waited longer than the step. So
 * flows in both queues get similar rates. The low-latency queue goes first, but leaves a share of
 * the link to the other. Above p = 1 / coupling (overload), L4S packets are dropped with
 * probability p², too, and classic packets are dropped even if they could be marked.
 *
 * Left out, options of Linux: filters, a step in packets, drops on arrival.
 */
class DualPi2QueueDisc final : public QueueDisc
{
  public:
    DualPi2QueueDisc(const LinkSpec& link,
                     const DualPi2Spec& spec,
                     PacketStore& store,
                     const RandomStream& stream);

    bool Enqueue(int64_t now, QueuedPacket* packet) override;
    QueuedPacket* Dequeue(int64_t now) override;

    /// The probability p, from which those of both queues follow.
    double Probability() const
    {
        return m_probability;
    }

  private:
    void UpdateUntil(int64_t now);
    void Update(int64_t now);
    /// Draw what becomes of a packet of each queue: mark it, or nothing. \returns whether to drop
    /// it
    bool RollClassic(QueuedPacket& packet);
    bool RollL4s(QueuedPacket& packet);
    bool Roll(double probability);

    const DualPi2Spec m_spec;
    RandomStream m_stream;
    PacketQueue m_lowLatency;
    PacketQueue m_classic;
    double m_probability{0};
    int64_t m_oldDelay{0}; //!< the longer waiting time at the latest update, ns
    int64_t m_nextUpdate;  //!< ns
    double m_credit{0};    //!< credit of the classic queue, bytes; above 0, it is next
};

} // namespace tunnelcc

#endif // TUNNELCC_DUAL_PI2_H
