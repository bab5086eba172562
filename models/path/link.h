/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_H
#define TUNNELCC_LINK_H

#include "bottleneck.h"
#include "event/fifo.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * A bottleneck with a drop-tail queue.
 *
 * It is a virtual clock: when a packet arrives, its departure is computed, so queueing needs no
 * event. The limit is for waiting packets, without the one in service.
 */
class Link final : public Bottleneck
{
  public:
    static constexpr int64_t DROPPED = -1;

    Link(const LinkSpec& spec, const RandomStream& lossStream)
        : Bottleneck(spec, lossStream),
          m_bufferBytes(spec.bufferBytes ? spec.bufferBytes : UINT64_MAX),
          m_bufferPackets(spec.bufferPackets ? spec.bufferPackets : UINT64_MAX),
          m_ecnThreshold(EcnThreshold(spec.queue)),
          m_buffer{0, spec.bufferBytes, spec.bufferPackets},
          m_bufferSteps(spec.bufferSteps)
    {
        for (const BufferStep& step : spec.bufferSteps)
        {
            m_bufferBytes = std::min(m_bufferBytes, step.bytes ? step.bytes : UINT64_MAX);
            m_bufferPackets = std::min(m_bufferPackets, step.packets ? step.packets : UINT64_MAX);
        }
    }

    /**
     * Put a packet into the queue.
     *
     * \param now time of arrival, ns
     * \param ipBytes its size without framing, bytes
     * \returns time at which its last bit leaves the link, ns; DROPPED if it was dropped or lost
     */
    int64_t Enqueue(int64_t now, uint32_t ipBytes)
    {
        int64_t departure = DROPPED;
        EnqueueRun(now, ipBytes, 1, [&](int64_t leaves) { departure = leaves; });
        return departure;
    }

    /**
     * Put packets into the queue that arrive at the same time and have the same size.
     *
     * \param now,ipBytes as for Enqueue(), of each packet
     * \param count number of packets
     * \param onDeparture called once for each packet, in order, with what Enqueue() returns
     */
    template <class OnDeparture>
    void EnqueueRun(int64_t now, uint32_t ipBytes, uint32_t count, OnDeparture&& onDeparture)
    {
        const uint32_t bytes = ipBytes + m_framing;
        CountIn(count);
        Serve(now);
        for (uint32_t left = count; left > 0; --left)
        {
            int64_t departure = Admit(now, bytes) ? Queue(now, bytes) : DROPPED;
            if (departure != DROPPED && !Release(departure, bytes, m_isMeasuring))
            {
                departure = DROPPED;
            }
            onDeparture(departure);
        }
    }

    /// Count a mark for the packet just accepted, which is ECN-capable, if it found more bytes
    /// waiting than the ECN threshold. \returns whether it did
    bool MarkLatest()
    {
        if (m_isCongested)
        {
            m_fate = PacketFate::MARKED;
            m_marks.Add(m_isMeasuring);
        }
        return m_isCongested;
    }

    uint64_t WaitingBytes(int64_t now) override
    {
        Serve(now);
        return m_waitingBytes;
    }

    double ServedBytes(int64_t now) override
    {
        Serve(now);
        double left = 0;
        int64_t end = m_waiting.IsEmpty() ? m_freeAt : m_waiting.Front().serviceStart;
        if (end > now)
        {
            left = m_rate.BytesLeft(m_inService.bytes, now, m_inService.serviceStart, end);
        }
        return static_cast<double>(m_acceptedBytes - m_waitingBytes) - left;
    }

    PacketCount Drops() const override
    {
        return m_drops;
    }

    std::optional<PacketCount> Marks() const override
    {
        return m_ecnThreshold < UINT64_MAX ? std::optional(m_marks) : std::nullopt;
    }

    uint64_t MaxWaitingBytes() const override
    {
        return m_maxWaitingBytes;
    }

  private:
    static uint64_t EcnThreshold(const QueueSpec& queue)
    {
        const auto* dropTail = std::get_if<DropTailSpec>(&queue);
        return dropTail && dropTail->ecnThreshold ? dropTail->ecnThreshold : UINT64_MAX;
    }

    struct Waiting
    {
        int64_t serviceStart;
        int64_t arrival;
        uint32_t bytes;
    };

    /// Remove the packets whose service has begun from the queue, and record how long they waited.
    void Serve(int64_t now)
    {
        while (!m_waiting.IsEmpty() && m_waiting.Front().serviceStart <= now)
        {
            m_inService = m_waiting.Front();
            m_waitingBytes -= m_inService.bytes;
            m_waiting.Pop();
            if (m_isMeasuring)
            {
                m_queueDelay.Record(m_inService.serviceStart - m_inService.arrival);
            }
        }
    }

    int64_t Queue(int64_t now, uint32_t bytes)
    {
        if (!m_rate.IsLimited())
        {
            m_acceptedBytes += bytes;
            return now;
        }
        m_isCongested = m_waitingBytes > m_ecnThreshold;
        int64_t start = std::max(now, m_freeAt);
        if (start > now)
        {
            if ((m_waitingBytes + bytes > m_bufferBytes || m_waiting.Size() >= m_bufferPackets) &&
                !HasRoom(now, bytes))
            {
                m_fate = PacketFate::DROPPED;
                m_drops.Add(m_isMeasuring);
                return DROPPED;
            }
            m_waiting.Push({start, now, bytes});
            m_waitingBytes += bytes;
            m_maxWaitingBytes = std::max(m_maxWaitingBytes, m_waitingBytes);
        }
        else
        {
            m_inService = {start, now, bytes};
            if (m_isMeasuring)
            {
                m_queueDelay.Record(0);
            }
        }
        m_acceptedBytes += bytes;
        m_freeAt = m_rate.Serve(start, bytes);
        return m_freeAt;
    }

    /// Whether the buffer of this time has room for a packet. Called where the least of all times
    /// has none. Not inline, or links of a constant buffer would pay for its registers.
    [[gnu::noinline]] bool HasRoom(int64_t now, uint32_t bytes)
    {
        if (const BufferStep* step = m_bufferSteps.Reach(now))
        {
            m_buffer = *step;
        }
        return (!m_buffer.bytes || m_waitingBytes + bytes <= m_buffer.bytes) &&
               (!m_buffer.packets || m_waiting.Size() < m_buffer.packets);
    }

    uint64_t m_bufferBytes;   //!< at least, at any time
    uint64_t m_bufferPackets; //!< at least, at any time
    uint64_t m_ecnThreshold;  //!< bytes

    int64_t m_freeAt{0}; //!< when the last accepted packet leaves, ns
    Fifo<Waiting> m_waiting;
    uint64_t m_waitingBytes{0};
    Waiting m_inService{0, 0, 0}; //!< the latest packet whose service has begun

    bool m_isCongested{false};
    uint64_t m_acceptedBytes{0};
    PacketCount m_drops;
    PacketCount m_marks;
    uint64_t m_maxWaitingBytes{0};
    BufferStep m_buffer; //!< that was reached last
    Steps<BufferStep> m_bufferSteps;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_H
