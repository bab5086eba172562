/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_H
#define TUNNELCC_PATH_H

#include "event/random-stream.h"
#include "link.h"
#include "packet-device.h"
#include "propagation.h"
#include "queued-link.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// Random numbers of one direction of a path.
struct PathStreams
{
    RandomStream loss;       //!< which packets are lost
    RandomStream reordering; //!< which packets come late
    RandomStream jitter;
    RandomStream queue; //!< of the queue discipline

    /// \param link its number
    static PathStreams Forward(uint64_t seed, uint32_t link = 0)
    {
        return {MakeRandomStream(seed, RandomComponent::FORWARD_LOSS, link),
                MakeRandomStream(seed, RandomComponent::FORWARD_REORDERING, link),
                MakeRandomStream(seed, RandomComponent::FORWARD_JITTER, link),
                MakeRandomStream(seed, RandomComponent::FORWARD_QUEUE, link)};
    }

    /// \param link as in Forward()
    static PathStreams Reverse(uint64_t seed, uint32_t link = 0)
    {
        return {MakeRandomStream(seed, RandomComponent::REVERSE_LOSS, link),
                MakeRandomStream(seed, RandomComponent::REVERSE_REORDERING, link),
                MakeRandomStream(seed, RandomComponent::REVERSE_JITTER, link),
                MakeRandomStream(seed, RandomComponent::REVERSE_QUEUE, link)};
    }
};

/// One direction between two hosts: a link that all packets share, then a delay for each
/// destination.
class PathDirection
{
  public:
    /// A direction without limits, such as a host's loopback.
    explicit PathDirection(EventLoop& loop)
        : m_loop(loop)
    {
    }

    /**
     * \param spec the link, and the loss and delays behind it
     * \param streams random numbers
     */
    PathDirection(EventLoop& loop, const LinkSpec& spec, const PathStreams& streams)
        : m_loop(loop)
    {
        if (std::holds_alternative<DropTailSpec>(spec.queue))
        {
            m_link.emplace(spec, streams.loss);
        }
        else
        {
            m_queuedLink = std::make_unique<QueuedLink>(loop, spec, streams.loss, streams.queue);
        }
        if (spec.reorder > 0 || spec.jitter > 0 || !spec.delaySteps.empty())
        {
            m_variation = MakeVariation(loop, spec, streams);
        }
    }

    EventLoop& Loop() const
    {
        return m_loop;
    }

    /// The link, with any kind of queue; null if there is none.
    Bottleneck* GetBottleneck()
    {
        return m_link ? &*m_link : static_cast<Bottleneck*>(m_queuedLink.get());
    }

    /// The link, if its queue is drop-tail; otherwise null.
    Link* GetLink()
    {
        return m_link ? &*m_link : nullptr;
    }

    /// The link behind a queue discipline; null if its queue is drop-tail.
    QueuedLink* GetQueuedLink()
    {
        return m_queuedLink.get();
    }

    /// The part behind the link with a delay of `delay` ns at the start. It is made at the first
    /// call.
    Propagation& PropagationOf(int64_t delay)
    {
        if (m_variation && m_variation->shift)
        {
            delay -= m_variation->shift->Below();
        }
        for (auto& propagation : m_propagations)
        {
            if (propagation->Delay() == delay)
            {
                return *propagation;
            }
        }
        DelayLine& punctual = LineFor(delay);
        bool hasLate = m_variation && m_variation->late;
        DelayLine* tardy = hasLate ? &LineFor(delay + m_variation->lateness) : nullptr;
        auto made = std::make_unique<Propagation>(punctual, tardy, m_variation.get());
        return *m_propagations.emplace_back(std::move(made));
    }

    /// Whether the time of a packet's arrival is known when it is sent.
    bool IsClocked() const
    {
        return m_link && !m_variation;
    }

    /// The port of one more sender into the queue discipline; null if the link has none. Behind the
    /// link, its packets take `delay` ns. \param hosts from which and to which they go
    PacketDevice* NewPort(int64_t delay, const FlowHosts& hosts)
    {
        if (!m_queuedLink)
        {
            return nullptr;
        }
        auto flow = static_cast<uint32_t>(m_ports.size());
        m_ports.push_back(
            std::make_unique<QueuedPort>(*m_queuedLink, PropagationOf(delay), flow, hosts));
        return m_ports.back().get();
    }

  private:
    static std::unique_ptr<DelayVariation> MakeVariation(EventLoop& loop,
                                                         const LinkSpec& spec,
                                                         const PathStreams& streams)
    {
        auto variation = std::make_unique<DelayVariation>();
        if (spec.reorder > 0)
        {
            variation->late.emplace(spec.reorder, streams.reordering);
            variation->lateness = spec.reorderDelay;
        }
        if (spec.jitter > 0)
        {
            variation->jitter.emplace(spec, streams.jitter);
            variation->jitterReorders = spec.jitterReorders;
        }
        if (!spec.delaySteps.empty())
        {
            variation->shift.emplace(spec);
        }
        if (variation->jitterReorders || (variation->shift && !variation->shift->KeepsOrder()))
        {
            variation->shuffled.emplace(loop);
        }
        return variation;
    }

    DelayLine& LineFor(int64_t delay)
    {
        for (auto& line : m_lines)
        {
            if (line->Delay() == delay)
            {
                return *line;
            }
        }
        return *m_lines.emplace_back(std::make_unique<DelayLine>(m_loop, delay));
    }

    std::optional<Link> m_link;
    std::unique_ptr<QueuedLink> m_queuedLink;
    std::unique_ptr<DelayVariation> m_variation;
    std::vector<std::unique_ptr<DelayLine>> m_lines;
    std::vector<std::unique_ptr<Propagation>> m_propagations;
    std::vector<std::unique_ptr<QueuedPort>> m_ports;
    EventLoop& m_loop;
};

/// The way of packets from one end of a connection to the other.
class Channel
{
  public:
    /// \param hosts of the sender and of the receiver
    Channel(PathDirection& direction, int64_t delay, const FlowHosts& hosts = {})
        : m_device(direction.NewPort(delay, hosts)),
          m_link(direction.GetLink()),
          m_propagation(&direction.PropagationOf(delay))
    {
    }

    /// \param device takes all packets in place of a path; outlives the channel
    explicit Channel(PacketDevice& device)
        : m_device(&device)
    {
    }

    /**
     * Send a packet.
     *
     * \param now simulated time, ns
     * \param packet the packet; its time is set on the way
     * \param ipBytes its size, bytes
     * \param extras its extras, if Packet::HasExtras()
     */
    // Inline, as Propagate(), because every packet takes this way.
    [[gnu::always_inline]] void Send(int64_t now,
                                     const Packet& packet,
                                     uint32_t ipBytes,
                                     const PacketExtras* extras = nullptr)
    {
        if (m_device)
        {
            m_device->Send(now, packet, ipBytes, extras);
            return;
        }
        int64_t departure = m_link ? m_link->Enqueue(now, ipBytes) : now;
        Propagate(departure, packet, extras);
    }

    /**
     * Send a run of packets of the same size, without extras.
     *
     * \param now,ipBytes as for Send(), of each packet
     * \param count number of packets
     * \param write writes a packet, except its time. It is called with the packet, where that
     * waits, and its place in the run. (A copy would wait for what was just written.)
     */
    template <class Write>
    void SendRun(int64_t now, uint32_t ipBytes, uint32_t count, Write&& write)
    {
        if (m_device || m_propagation->IsVaried())
        {
            for (uint32_t place = 0; place < count; ++place)
            {
                Packet packet;
                write(packet, place);
                Send(now, packet, ipBytes);
            }
            return;
        }
        if (!m_link)
        {
            for (uint32_t place = 0; place < count; ++place)
            {
                write(m_propagation->Append(now), place);
            }
            return;
        }
        uint32_t place = 0;
        m_link->EnqueueRun(now, ipBytes, count, [&](int64_t departure) {
            if (departure != Link::DROPPED)
            {
                Packet& packet = m_propagation->Append(departure);
                write(packet, place);
                packet.isCe = packet.isEct && m_link->MarkLatest();
            }
            ++place;
        });
    }

    /// As PacketDevice::GetMtuSource().
    MtuSource* GetMtuSource()
    {
        return m_device ? m_device->GetMtuSource() : nullptr;
    }

  private:
    /// A packet left the link, or was dropped there. Inline, because every packet takes this way.
    [[gnu::always_inline]] void Propagate(int64_t departure,
                                          const Packet& packet,
                                          const PacketExtras* extras)
    {
        if (departure != Link::DROPPED)
        {
            bool isCe = packet.isEct && m_link && m_link->MarkLatest();
            m_propagation->Push(departure, packet, extras, isCe);
        }
    }

    PacketDevice* m_device{nullptr}; //!< takes the packets in place of all members that follow
    Link* m_link{nullptr};
    Propagation* m_propagation{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_H
