/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RED_H
#define TUNNELCC_RED_H

#include "queue-disc.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * RED, random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993),
 * with the gentle slope of Floyd (2000): while the average goes from one to two maximum thresholds,
 * the probability of a drop rises from maxProbability to 1.
 *
 * The average is in bytes, without the packet in service. A drop is as likely for a small packet as
 * for a large one. Above twice the maximum threshold all packets are dropped, also ECN-capable ones
 * (RFC 3168, section 7).
 *
 * Differs from ns-3: drops are spaced by the rule of the paper, not by that of ns-3's `Wait`. The
 * first packet above the minimum threshold may be dropped, and so may one that finds the queue
 * empty or with one packet.
 */
class RedQueueDisc final : public QueueDisc
{
  public:
    RedQueueDisc(const LinkSpec& link,
                 const RedSpec& spec,
                 PacketStore& store,
                 const RandomStream& stream);

    bool Enqueue(int64_t now, QueuedPacket* packet) override;
    QueuedPacket* Dequeue(int64_t now) override;

    /// Average length of the queue, bytes.
    double Average() const
    {
        return m_average;
    }

  private:
    void UpdateAverage(int64_t now);
    double DropProbability() const;
    /// Draw whether a packet is dropped, or marked, before the queue is full.
    bool RollEarlyDrop(double probability);

    RedSpec m_spec;
    double m_minThreshold; //!< bytes
    double m_maxThreshold; //!< bytes
    RandomStream m_stream;
    PacketQueue m_queue;
    double m_average{0};    //!< length of the queue, bytes
    int64_t m_idleSince{0}; //!< time, ns; −1: the link is busy
    int64_t m_count{-1};    //!< packets since the last drop; −1: the average is below the minimum
};

} // namespace tunnelcc

#endif // TUNNELCC_RED_H
