/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_H
#define TUNNELCC_LINK_H

#include "event/fifo.h"
#include "experiment/experiment-spec.h"
#include "probe/histogram.h"
#include "random-loss.h"
#include "rate-schedule.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * Bottleneck of one direction of a path: drop-tail queue, serialization, random loss.
 *
 * Runs on a virtual clock: a packet's departure is known when it arrives, so that queueing costs
 * no event. The limit counts packets that wait; the one in service does not count.
 */
class Link
{
  public:
    static constexpr int64_t DROPPED = -1;

    Link(const LinkSpec& spec, const ns3::RngStream& stream)
        : m_rate(spec.rate, spec.rateChanges),
          m_bufferBytes(spec.bufferBytes ? spec.bufferBytes : UINT64_MAX),
          m_bufferPackets(spec.bufferPackets ? spec.bufferPackets : UINT64_MAX),
          m_ecnThreshold(spec.ecnThreshold ? spec.ecnThreshold : UINT64_MAX),
          m_framing(spec.framing),
          m_lossBefore(spec.lossBefore),
          m_loss(spec.loss, stream, spec.lossPeriodic)
    {
    }

    /**
     * Offer a packet.
     *
     * \param now arrival, ns
     * \param ipBytes its size without framing
     * \returns when its last bit leaves the link, ns; DROPPED if it was dropped or lost
     */
    int64_t Enqueue(int64_t now, uint32_t ipBytes)
    {
        ++m_packetsIn;
        if (m_lossBefore && m_loss.Lose())
        {
            ++m_randomLosses;
            return DROPPED;
        }
        int64_t departure = Queue(now, ipBytes + m_framing);
        if (departure != DROPPED && !m_lossBefore && m_loss.Lose())
        {
            ++m_randomLosses;
            return DROPPED;
        }
        return departure;
    }

    /// Whether the packet just accepted found more bytes waiting than the ECN threshold.
    bool IsCongested() const
    {
        return m_isCongested;
    }

    /// Bytes that wait at time `now` (never earlier than in the call before), without the packet in
    /// service.
    uint64_t WaitingBytes(int64_t now)
    {
        Serve(now);
        return m_waitingBytes;
    }

    /// Bytes served until `now`, framing included.
    double ServedBytes(int64_t now)
    {
        Serve(now);
        double left = 0;
        int64_t end = m_waiting.IsEmpty() ? m_freeAt : m_waiting.Front().serviceStart;
        if (end > now)
        {
            left = m_inService.bytes * static_cast<double>(end - now) /
                   static_cast<double>(end - m_inService.serviceStart);
        }
        return static_cast<double>(m_acceptedBytes - m_waitingBytes) - left;
    }

    /// Bytes that could have been served until `now`; 0: not limited.
    double OfferedBytes(int64_t now) const
    {
        return m_rate.OfferedBytes(now);
    }

    /// Record waiting times from now on.
    void StartMeasuring()
    {
        m_isMeasuring = true;
    }

    const Histogram& QueueDelay() const
    {
        return m_queueDelay;
    }

    uint64_t PacketsIn() const
    {
        return m_packetsIn;
    }

    uint64_t Drops() const
    {
        return m_drops;
    }

    uint64_t RandomLosses() const
    {
        return m_randomLosses;
    }

    uint64_t MaxWaitingBytes() const
    {
        return m_maxWaitingBytes;
    }

  private:
    struct Waiting
    {
        int64_t serviceStart;
        uint32_t bytes;
    };

    /// Forget the packets whose service has begun.
    void Serve(int64_t now)
    {
        while (!m_waiting.IsEmpty() && m_waiting.Front().serviceStart <= now)
        {
            m_inService = m_waiting.Front();
            m_waitingBytes -= m_inService.bytes;
            m_waiting.Pop();
        }
    }

    int64_t Queue(int64_t now, uint32_t bytes)
    {
        if (!m_rate.IsLimited())
        {
            m_acceptedBytes += bytes;
            return now;
        }
        Serve(now);
        m_isCongested = m_waitingBytes > m_ecnThreshold;
        int64_t start = std::max(now, m_freeAt);
        if (start > now)
        {
            if (m_waitingBytes + bytes > m_bufferBytes || m_waiting.Size() >= m_bufferPackets)
            {
                ++m_drops;
                return DROPPED;
            }
            m_waiting.Push({start, bytes});
            m_waitingBytes += bytes;
            m_maxWaitingBytes = std::max(m_maxWaitingBytes, m_waitingBytes);
        }
        else
        {
            m_inService = {start, bytes};
        }
        if (m_isMeasuring)
        {
            m_queueDelay.Record(start - now);
        }
        m_acceptedBytes += bytes;
        m_freeAt = m_rate.Serve(start, bytes);
        return m_freeAt;
    }

    RateSchedule m_rate;
    uint64_t m_bufferBytes;
    uint64_t m_bufferPackets;
    uint64_t m_ecnThreshold; //!< bytes
    uint32_t m_framing;      //!< bytes
    bool m_lossBefore;
    RandomLoss m_loss;

    int64_t m_freeAt{0}; //!< when the last accepted packet leaves, ns
    Fifo<Waiting> m_waiting;
    uint64_t m_waitingBytes{0};
    Waiting m_inService{0, 0}; //!< latest packet whose service has begun

    bool m_isCongested{false};
    bool m_isMeasuring{false};
    Histogram m_queueDelay;
    uint64_t m_packetsIn{0};
    uint64_t m_acceptedBytes{0};
    uint64_t m_drops{0};
    uint64_t m_randomLosses{0};
    uint64_t m_maxWaitingBytes{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_H
