/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CODEL_H
#define TUNNELCC_CODEL_H

#include "queue-disc.h"

#include <cstdint>

namespace tunnelcc
{

/// CoDel's state for one queue (RFC 8289, section 5). Times in ns.
struct CodelState
{
    int64_t firstAbove{0}; //!< when waiting times will have been too long for an interval; 0: they
                           //!< are not
    int64_t dropNext{0};   //!< while dropping
    uint32_t count{0};     //!< drops since dropping began
    uint32_t lastCount{0}; //!< count when dropping last began
    bool isDropping{false};
};

/**
 * Controlled delay (RFC 8289): what CoDel and FQ-CoDel have in common.
 *
 * Packets are dropped as they leave, once waiting times have exceeded the target for an interval,
 * and then ever faster, every interval / sqrt(count). A marked packet counts as a dropped one but
 * leaves (Linux, ns-3; the RFC's code has drops only). The RFC's MAXPACKET, the backlog that is
 * always all right, is the largest packet seen, as in Linux. Differs from Linux and ns-3 in that
 * the square root is exact; theirs takes some drops to converge.
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

    /// The next packet of a queue to send, those before it dropped; null if none is left.
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

/// CoDel on one queue (RFC 8289). Packets that find it full are dropped.
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
