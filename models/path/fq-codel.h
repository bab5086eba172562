/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FQ_CODEL_H
#define TUNNELCC_FQ_CODEL_H

#include "codel.h"
#include "flow-hash.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Flow queueing with CoDel (RFC 8290). Each flow has a queue with CoDel. The queues are served by
 * deficit round robin, new queues before old ones.
 *
 * A flow is what one end of a connection sends. Its queue is a hash of the flow, which stands for
 * the five-tuple. The hash depends on the seed, and two flows may share a queue. When the limits
 * are exceeded, half of the bytes of the longest queue, at most 64 packets, are dropped from its
 * head (RFC 8290, section 4.1, as in Linux).
 */
class FqCodelQueueDisc final : public CodelControl
{
  public:
    FqCodelQueueDisc(const LinkSpec& link,
                     const FqCodelSpec& spec,
                     PacketStore& store,
                     RandomStream stream);

    bool Enqueue(int64_t now, QueuedPacket* packet) override;
    QueuedPacket* Dequeue(int64_t now) override;

    /// Index of the queue of a flow.
    uint32_t QueueOf(uint32_t flow) const;

  private:
    struct FlowQueue
    {
        PacketQueue packets;
        CodelState state;
        int64_t deficit{0}; //!< bytes that it may still send in its turn
        FlowQueue* behind{nullptr};
        bool isActive{false}; //!< it is in one of the lists
    };

    /// A list of queues, in the order of their turns.
    struct Turns
    {
        FlowQueue* head{nullptr};
        FlowQueue* tail{nullptr};

        void Push(FlowQueue* queue);
        void Pop();
    };

    bool DropFromLongest(const QueuedPacket* newest);

    uint32_t m_quantum; //!< bytes
    FlowHash m_hash;
    std::vector<FlowQueue> m_queues;
    Turns m_new;
    Turns m_old;
};

} // namespace tunnelcc

#endif // TUNNELCC_FQ_CODEL_H
