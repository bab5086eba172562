/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUEUE_DISC_H
#define TUNNELCC_QUEUE_DISC_H

#include "event/random-stream.h"
#include "flow-hash.h"
#include "link-watcher.h"
#include "packet-count.h"
#include "packet.h"
#include "spec/path-spec.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace tunnelcc
{

class Propagation;

/// A packet that waits in a queue discipline.
struct QueuedPacket
{
    Packet packet;
    PacketExtras extras;  //!< its extras, if Packet::HasExtras()
    int64_t arrival;      //!< time of arrival, ns
    Propagation* exit;    //!< its way behind the link
    QueuedPacket* behind; //!< next in the same queue
    uint32_t bytes;       //!< its size with framing
    uint32_t flow;        //!< number of the connection's end that sent it
    bool isMeasured;      //!< see PacketCount
};

/// Memory for the packets of a queue, which is used again.
class PacketStore
{
  public:
    QueuedPacket* Take()
    {
        if (!m_free)
        {
            return &m_packets.emplace_back();
        }
        QueuedPacket* packet = m_free;
        m_free = packet->behind;
        return packet;
    }

    void Return(QueuedPacket* packet)
    {
        packet->behind = m_free;
        m_free = packet;
    }

  private:
    std::deque<QueuedPacket> m_packets;
    QueuedPacket* m_free{nullptr};
};

/// First-in first-out queue of packets.
class PacketQueue
{
  public:
    bool IsEmpty() const
    {
        return m_head == nullptr;
    }

    uint64_t Bytes() const
    {
        return m_bytes;
    }

    void Push(QueuedPacket* packet)
    {
        packet->behind = nullptr;
        (m_head ? m_tail->behind : m_head) = packet;
        m_tail = packet;
        m_bytes += packet->bytes;
    }

    /// The first packet, whose member `behind` is the next; null if the queue is empty.
    const QueuedPacket* Front() const
    {
        return m_head;
    }

    QueuedPacket* Front()
    {
        return m_head;
    }

    /// Take the packet behind `before`.
    QueuedPacket* PopBehind(QueuedPacket* before)
    {
        QueuedPacket* packet = before->behind;
        before->behind = packet->behind;
        m_tail = packet == m_tail ? before : m_tail;
        m_bytes -= packet->bytes;
        return packet;
    }

    /// Take the first packet; null if the queue is empty.
    QueuedPacket* Pop()
    {
        QueuedPacket* packet = m_head;
        if (packet)
        {
            m_head = packet->behind;
            m_bytes -= packet->bytes;
        }
        return packet;
    }

  private:
    QueuedPacket* m_head{nullptr};
    QueuedPacket* m_tail{nullptr};
    uint64_t m_bytes{0};
};

/**
 * A queue discipline. It decides which packets wait, in which order they leave, and which of them
 * are dropped or marked.
 *
 * The limits in bytes and packets are those of a drop-tail queue, for all waiting packets together.
 * Where the discipline would drop a packet, it marks it instead if it is ECN-capable (RFC 3168) and
 * the specification allows it. Packets beyond the limits are always dropped.
 */
class QueueDisc
{
  public:
    /// \param spec the link  \param marksEct whether to mark ECN-capable packets instead of
    /// dropping
    /// \param store takes back dropped packets
    QueueDisc(const LinkSpec& spec, bool marksEct, PacketStore& store)
        : m_store(store),
          m_marksEct(marksEct)
    {
        SetLimits(spec.bufferBytes, spec.bufferPackets);
    }

    virtual ~QueueDisc() = default;
    QueueDisc(const QueueDisc&) = delete;
    QueueDisc& operator=(const QueueDisc&) = delete;

    /**
     * A packet arrives.
     * \param now ns; calls of Enqueue() and Dequeue() come in order of time
     * \param packet belongs to the discipline from now on
     * \returns whether it waits; if not, it was dropped
     */
    virtual bool Enqueue(int64_t now, QueuedPacket* packet) = 0;

    /// The link is free at `now` ns. \returns the packet to send; null if none waits
    virtual QueuedPacket* Dequeue(int64_t now) = 0;

    /// Announce packets of a flow. \param flow its number, one more than that of the last call
    virtual void AddFlow(uint32_t /* flow */, const FlowHosts& /* hosts */)
    {
    }

    /// The link must not ask for a packet before this time, ns, if it has just sent one.
    int64_t NotBefore() const
    {
        return m_notBefore;
    }

    /// Change the limits. What waits beyond them stays, unless the discipline drops packets that
    /// wait; what arrives is dropped.
    void SetLimits(uint64_t bytes, uint64_t packets)
    {
        m_limitBytes = bytes ? bytes : UINT64_MAX;
        m_limitPackets = packets ? packets : UINT64_MAX;
    }

    uint64_t WaitingBytes() const
    {
        return m_bytes;
    }

    uint64_t WaitingPackets() const
    {
        return m_packets;
    }

    uint64_t MaxWaitingBytes() const
    {
        return m_maxBytes;
    }

    PacketCount Drops() const
    {
        return m_drops;
    }

    /// Tell of packets that are dropped or marked from now on.
    void SetWatcher(LinkWatcher* watcher)
    {
        m_watcher = watcher;
    }

    /// Packets that were marked; empty if the discipline never marks.
    std::optional<PacketCount> Marks() const
    {
        return m_marksEct ? std::optional(m_marks) : std::nullopt;
    }

  protected:
    /// Whether one more packet would exceed the limits.
    bool IsFullFor(const QueuedPacket& packet) const
    {
        return m_bytes + packet.bytes > m_limitBytes || m_packets >= m_limitPackets;
    }

    bool IsOverLimit() const
    {
        return m_bytes > m_limitBytes || m_packets > m_limitPackets;
    }

    void Push(PacketQueue& queue, QueuedPacket* packet)
    {
        queue.Push(packet);
        m_bytes += packet->bytes;
        ++m_packets;
        m_largest = std::max(m_largest, packet->bytes);
        if (!IsOverLimit())
        {
            m_maxBytes = std::max(m_maxBytes, m_bytes);
        }
    }

    /// Put an arriving packet into the queue, or drop it. \returns whether it waits
    bool Admit(PacketQueue& queue, QueuedPacket* packet, bool waits)
    {
        if (waits)
        {
            Push(queue, packet);
        }
        else
        {
            Drop(packet);
        }
        return waits;
    }

    QueuedPacket* Pop(PacketQueue& queue)
    {
        return Count(queue.Pop());
    }

    /// Take the packet behind `before`.
    QueuedPacket* PopBehind(PacketQueue& queue, QueuedPacket* before)
    {
        return Count(queue.PopBehind(before));
    }

    void Hold(int64_t notBefore)
    {
        m_notBefore = notBefore;
    }

    void Drop(QueuedPacket* packet)
    {
        m_drops.Add(packet->isMeasured);
        if (m_watcher) [[unlikely]]
        {
            TellWatcher(packet->packet.time, PacketFate::DROPPED);
        }
        m_store.Return(packet);
    }

    /// Mark a packet if that is possible.
    bool Mark(QueuedPacket& packet)
    {
        bool isMarked = m_marksEct && packet.packet.isEct;
        packet.packet.isCe |= isMarked;
        if (isMarked)
        {
            m_marks.Add(packet.isMeasured);
            if (m_watcher) [[unlikely]]
            {
                TellWatcher(packet.packet.time, PacketFate::MARKED);
            }
        }
        return isMarked;
    }

    /// The largest packet so far, bytes. It stands for the MTU of the link.
    uint32_t Largest() const
    {
        return m_largest;
    }

  private:
    /// A packet, or none, waits no more.
    QueuedPacket* Count(QueuedPacket* packet)
    {
        if (packet)
        {
            m_bytes -= packet->bytes;
            --m_packets;
        }
        return packet;
    }

    /// Not inline, as QueuedLink's.
    [[gnu::noinline]] void TellWatcher(int64_t packet, PacketFate fate)
    {
        m_watcher->OnFate(packet, fate);
    }

    PacketStore& m_store;
    LinkWatcher* m_watcher{nullptr};
    uint64_t m_limitBytes;
    uint64_t m_limitPackets;
    bool m_marksEct;
    uint64_t m_bytes{0};
    uint64_t m_packets{0};
    uint64_t m_maxBytes{0};
    PacketCount m_drops;
    PacketCount m_marks;
    uint32_t m_largest{0};
    int64_t m_notBefore{0};
};

/**
 * Make the queue discipline of a link.
 * \param stream its random numbers
 * \throws std::invalid_argument for drop-tail, which is part of Link
 */
std::unique_ptr<QueueDisc> MakeQueueDisc(const LinkSpec& link,
                                         PacketStore& store,
                                         const RandomStream& stream);

} // namespace tunnelcc

#endif // TUNNELCC_QUEUE_DISC_H
