/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_H
#define TUNNELCC_LINK_H

#include "event/fifo.h"
#include "experiment/experiment-spec.h"
#include "probe/histogram.h"
#include "random-loss.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * Bottleneck of one direction of a path: drop-tail queue, serialization, random loss.
 *
 * Runs on a virtual clock: a packet's departure is known when it arrives, so that queueing costs
 * no event. The limit counts packets that wait; the one in service does not count. All arithmetic
 * is in whole nanoseconds with the remainder carried, so that no rate drifts.
 */
class Link
{
  public:
    static constexpr int64_t DROPPED = -1;

    Link(const LinkSpec& spec, const ns3::RngStream& stream)
        : m_rate(static_cast<uint64_t>(spec.rate)),
          m_bufferBytes(spec.bufferBytes ? spec.bufferBytes : UINT64_MAX),
          m_bufferPackets(spec.bufferPackets ? spec.bufferPackets : UINT64_MAX),
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

    /// Bytes that wait at time `now`, without the packet in service.
    uint64_t WaitingBytes(int64_t now)
    {
        Serve(now);
        return m_waitingBytes;
    }

    /// Bytes served until `now`, framing included.
    double ServedBytes(int64_t now)
    {
        if (!m_rate)
        {
            return static_cast<double>(m_acceptedBytes);
        }
        double backlog =
            std::max<int64_t>(0, m_freeAt - now) * 1e-9 * static_cast<double>(m_rate) / 8;
        return static_cast<double>(m_acceptedBytes) - backlog;
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
            m_waitingBytes -= m_waiting.Front().bytes;
            m_waiting.Pop();
        }
    }

    int64_t Queue(int64_t now, uint32_t bytes)
    {
        if (!m_rate)
        {
            m_acceptedBytes += bytes;
            return now;
        }
        int64_t start = now;
        if (m_freeAt > now)
        {
            Serve(now);
            if (m_waitingBytes + bytes > m_bufferBytes || m_waiting.Size() >= m_bufferPackets)
            {
                ++m_drops;
                return DROPPED;
            }
            start = m_freeAt;
            m_waiting.Push({start, bytes});
            m_waitingBytes += bytes;
            m_maxWaitingBytes = std::max(m_maxWaitingBytes, m_waitingBytes);
        }
        if (m_isMeasuring)
        {
            m_queueDelay.Record(start - now);
        }
        m_acceptedBytes += bytes;
        m_freeAt = start + ServiceTime(bytes);
        return m_freeAt;
    }

    int64_t ServiceTime(uint32_t bytes)
    {
        constexpr uint64_t NS_PER_BYTE_AT_1BPS = 8'000'000'000;
        uint64_t work = bytes * NS_PER_BYTE_AT_1BPS + m_remainder;
        uint64_t time = work / m_rate;
        m_remainder = work - time * m_rate;
        return static_cast<int64_t>(time);
    }

    uint64_t m_rate; //!< bit/s; 0: unlimited
    uint64_t m_bufferBytes;
    uint64_t m_bufferPackets;
    uint32_t m_framing; //!< bytes
    bool m_lossBefore;
    RandomLoss m_loss;

    int64_t m_freeAt{0};     //!< when the last accepted packet leaves, ns
    uint64_t m_remainder{0}; //!< bit·ns/s left over from the last service time
    Fifo<Waiting> m_waiting;
    uint64_t m_waitingBytes{0};

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
