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
    ns3::RngStream loss;       //!< chooses the packets to lose
    ns3::RngStream reordering; //!< chooses the packets that come late
    ns3::RngStream jitter;
    ns3::RngStream queue; //!< of the queue discipline

    /// \param link which one
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

/// One direction between two hosts: a link that all share, then a delay for each destination.
class PathDirection
{
  public:
    /// A direction without limits, such as a host's loopback.
    PathDirection() = default;

    /**
     * \param spec the link, and what happens behind it
     * \param streams random numbers
     */
    PathDirection(const LinkSpec& spec, const PathStreams& streams)
    {
        if (std::holds_alternative<DropTailSpec>(spec.queue))
        {
            m_link.emplace(spec, streams.loss);
        }
        else
        {
            m_queuedLink = std::make_unique<QueuedLink>(spec, streams.loss, streams.queue);
        }
        if (spec.reorder > 0 || spec.jitter > 0)
        {
            m_variation = MakeVariation(spec, streams);
        }
    }

    /// The link, whatever its queue; null: there is none.
    Bottleneck* GetBottleneck()
    {
        return m_link ? &*m_link : static_cast<Bottleneck*>(m_queuedLink.get());
    }

    /// The link behind a drop-tail queue; null: there is none.
    Link* GetLink()
    {
        return m_link ? &*m_link : nullptr;
    }

    /// The link behind a queue discipline; null: there is none.
    QueuedLink* GetQueuedLink()
    {
        return m_queuedLink.get();
    }

    /// The way from the link with a delay of `delay` ns, made on first use.
    Propagation& PropagationOf(int64_t delay)
    {
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

    /// Whether a packet's arrival is known when it is sent.
    bool IsClocked() const
    {
        return m_link && !m_variation;
    }

    /// What one more sender, whose packets take `delay` ns from the link on, puts into the queue
    /// discipline; null: there is none.
    PacketDevice* NewPort(int64_t delay)
    {
        if (!m_queuedLink)
        {
            return nullptr;
        }
        auto flow = static_cast<uint32_t>(m_ports.size());
        m_ports.push_back(std::make_unique<QueuedPort>(*m_queuedLink, PropagationOf(delay), flow));
        return m_ports.back().get();
    }

  private:
    static std::unique_ptr<DelayVariation> MakeVariation(const LinkSpec& spec,
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
            if (spec.jitterReorders)
            {
                variation->shuffled.emplace();
            }
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
        return *m_lines.emplace_back(std::make_unique<DelayLine>(delay));
    }

    std::optional<Link> m_link;
    std::unique_ptr<QueuedLink> m_queuedLink;
    std::unique_ptr<DelayVariation> m_variation;
    std::vector<std::unique_ptr<DelayLine>> m_lines;
    std::vector<std::unique_ptr<Propagation>> m_propagations;
    std::vector<std::unique_ptr<QueuedPort>> m_ports;
};

/// What one end of a connection sends into.
class Channel
{
  public:
    Channel(PathDirection& direction, int64_t delay)
        : m_device(direction.NewPort(delay)),
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
     * \param ipBytes its size
     * \param extras what goes with it, if Packet::HasExtras()
     */
    void Send(int64_t now,
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
     * Send packets that follow each other at once, and carry no extras.
     *
     * \param now,ipBytes as for Send(), of each
     * \param count of them
     * \param write writes a packet, all but its time; called with it and its place in the run. It
     *        writes where the packet waits: a copy would wait for what was just written
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

  private:
    /// A packet leaves the link, or was dropped there. Inline, because it is so for every packet.
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

    PacketDevice* m_device{nullptr}; //!< in place of all that follows
    Link* m_link{nullptr};
    Propagation* m_propagation{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_H
