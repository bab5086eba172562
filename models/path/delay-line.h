/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DELAY_LINE_H
#define TUNNELCC_DELAY_LINE_H

#include "event/event-loop.h"
#include "event/fifo.h"
#include "packet.h"

namespace tunnelcc
{

/**
 * A constant propagation delay. Packets leave in the order in which they came, so one pending event
 * serves all of them.
 */
class DelayLine final : public EventSource
{
  public:
    /// \param delay one-way delay, ns
    DelayLine(EventLoop& loop, int64_t delay)
        : EventSource(loop),
          m_delay(delay)
    {
    }

    int64_t Delay() const
    {
        return m_delay;
    }

    /// Deliver `packet` at `departure` (ns) plus the delay. Calls come in order of departure.
    /// \returns the packet in the line; valid until the next call
    Packet& Push(int64_t departure, const Packet& packet, const PacketExtras* extras)
    {
        Packet& queued = Append(departure);
        queued = packet;
        queued.time = departure + m_delay;
        if (packet.HasExtras())
        {
            m_extras.Push(*extras);
        }
        return queued;
    }

    /// As Push(), for a packet without extras. The caller writes the packet, except its time.
    Packet& Append(int64_t departure)
    {
        const bool isIdle = m_packets.IsEmpty() && !m_isDelivering;
        Packet& queued = m_packets.Append();
        queued.time = departure + m_delay;
        if (isIdle)
        {
            m_loop.Insert(queued.time, m_rank, this);
        }
        return queued;
    }

    void Fire(int64_t now) override
    {
        m_isDelivering = true;
        Deliver(now);
        while (!m_packets.IsEmpty())
        {
            int64_t next = m_packets.Front().time;
            if (!m_loop.IsNext(next, m_rank))
            {
                m_loop.Insert(next, m_rank, this);
                break;
            }
            m_loop.AdvanceTo(next);
            Deliver(next);
        }
        m_isDelivering = false;
    }

  private:
    void Deliver(int64_t now)
    {
        m_packets.Prefetch();
        Packet packet = m_packets.Front();
        m_packets.Pop();
        if (!m_packets.IsEmpty())
        {
            // Of hundreds of flows, whoever receives the next packet is in no near cache.
            const auto* next = reinterpret_cast<const char*>(m_packets.Front().sink);
            __builtin_prefetch(next);
            __builtin_prefetch(next + 64);
        }
        if (!packet.HasExtras())
        {
            packet.sink->Receive(now, packet, nullptr);
            return;
        }
        PacketExtras extras = m_extras.Front();
        m_extras.Pop();
        packet.sink->Receive(now, packet, &extras);
    }

    int64_t m_delay;
    bool m_isDelivering{false};
    Fifo<Packet> m_packets;
    Fifo<PacketExtras> m_extras; //!< of the packets that have extras, in the same order
};

} // namespace tunnelcc

#endif // TUNNELCC_DELAY_LINE_H
