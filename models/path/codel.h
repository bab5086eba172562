/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CODEL_H
#define TUNNELCC_CODEL_H

#include "queue-disc.h"

#include <cstdint>

namespace tunnelcc
{

/// CoDel's state of one queue (RFC 8289, section 5). Times are in ns.
struct CodelState
{
    int64_t firstAbove{0}; //!< when waiting times will have been above the target for an interval;
                           //!< 0: they are below it
    int64_t dropNext{0};   //!< time of the next drop, while dropping
    uint32_t count{0};     //!< drops since dropping began
    uint32_t lastCount{0}; //!< count when dropping last began
    bool isDropping{false};
};

/**
 * Controlled delay (RFC 8289): the part that CoDel and FQ-CoDel share.
 *
 * Packets are dropped when they leave the queue. The first drop comes when waiting times have been
 * above the target for an interval. Then the time between drops shrinks: interval / sqrt(count). A
 * packet that is marked counts as dropped, but leaves (Linux, ns-3; the RFC's code only drops). A
 * backlog of up to MAXPACKET is never too long; this is the largest packet so far, as in Linux.
 *
 * Differs from Linux and ns-3: the square root is exact, while theirs converges over some drops.
 */
class CodelControl : public QueueDisc
{
  protected:
    /// \param codel CodelSpec or FqCodelSpec
    template <class Spec>
    CodelControl(const LinkSpec& link, const Spec& codel, PacketStore& store)
        : QueueDisc(link, codel.ecn, store),
          m_target(codel.target),
          m_interval(codel.interval)
    {
    }

    /// Take the next packet to send from a queue, and drop those before it that CoDel drops. Null
    /// if none is left.
    QueuedPacket* Next(int64_t now, PacketQueue& queue, CodelState& state);

  private:
    QueuedPacket* Head(int64_t now, PacketQueue& queue, CodelState& state, bool& isOkToDrop);
    int64_t ControlLaw(int64_t time, uint32_t count) const;
    QueuedPacket* KeepDropping(int64_t now,
                               PacketQueue& queue,
                               CodelState& state,
                               QueuedPacket* packet);
    void BeginDropping(int64_t now, CodelState& state) const;

    int64_t m_target;   //!< ns
    int64_t m_interval; //!< ns
};

/// CoDel on one queue (RFC 8289). Packets that arrive at a full queue are dropped.
class CodelQueueDisc final : public CodelControl
{
  public:
    CodelQueueDisc(const LinkSpec& link, const CodelSpec& spec, PacketStore& store)
        : CodelControl(link, spec, store)
    {
    }

    bool Enqueue(int64_t now, QueuedPacket* packet) override;

    QueuedPacket* Dequeue(int64_t now) override
    {
        return Next(now, m_queue, m_state);
    }

  private:
    PacketQueue m_queue;
    CodelState m_state;
};

} // namespace tunnelcc

#endif // TUNNELCC_CODEL_H
