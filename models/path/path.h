/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_H
#define TUNNELCC_PATH_H

#include "delay-line.h"
#include "link.h"
#include "packet-device.h"

#include <memory>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// One direction between two hosts: a link that all share, then one delay line per distinct delay.
class PathDirection
{
  public:
    /// A direction without limits, such as a host's loopback.
    PathDirection() = default;

    /**
     * \param spec the link, and what happens behind it
     * \param lossStream random numbers that choose the packets to lose
     * \param reorderStream random numbers that choose the packets to delay
     */
    PathDirection(const LinkSpec& spec,
                  const ns3::RngStream& lossStream,
                  const ns3::RngStream& reorderStream)
        : m_link(std::in_place, spec, lossStream)
    {
        if (spec.reorder > 0)
        {
            m_late.emplace(spec.reorder, reorderStream);
            m_lateness = spec.reorderDelay;
        }
    }

    /// The link, or null where there is none.
    Link* GetLink()
    {
        return m_link ? &*m_link : nullptr;
    }

    /// Chooses the packets that come late, so that others overtake them; null where none do.
    RandomLoss* GetLate()
    {
        return m_late ? &*m_late : nullptr;
    }

    /// By how much they come late, ns.
    int64_t Lateness() const
    {
        return m_lateness;
    }

    /// The delay line of `delay` ns, made on first use.
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

  private:
    std::optional<Link> m_link;
    std::optional<RandomLoss> m_late;
    int64_t m_lateness{0};
    std::vector<std::unique_ptr<DelayLine>> m_lines;
};

/// What one end of a connection sends into.
class Channel
{
  public:
    Channel(PathDirection& direction, int64_t delay)
        : m_link(direction.GetLink()),
          m_late(direction.GetLate()),
          m_punctual(&direction.LineFor(delay)),
          m_tardy(m_late ? &direction.LineFor(delay + direction.Lateness()) : nullptr)
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
     * \param blocks its SACK blocks, if Packet::sackBlocks says that it has any
     * \returns whether it will arrive, as far as is known
     */
    bool Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const SackBlocks* blocks = nullptr)
    {
        if (m_device)
        {
            return m_device->Send(now, packet, ipBytes, blocks);
        }
        m_departure = m_link ? m_link->Enqueue(now, ipBytes) : now;
        if (m_departure == Link::DROPPED)
        {
            return false;
        }
        m_line = m_late && m_late->Lose() ? m_tardy : m_punctual;
        Packet& queued = m_line->Push(m_departure, packet, blocks);
        if (packet.isEct && m_link)
        {
            queued.isCe = m_link->IsCongested();
        }
        return true;
    }

    /// Let an ACK ride in the header of the packet for which Send() just returned true.
    void SendAlong(const Packet& ack, const SackBlocks* blocks)
    {
        if (m_device)
        {
            m_device->SendAlong(ack, blocks);
            return;
        }
        m_line->Push(m_departure, ack, blocks);
    }

  private:
    PacketDevice* m_device{nullptr}; //!< in place of all that follows
    Link* m_link{nullptr};
    RandomLoss* m_late{nullptr};
    DelayLine* m_punctual{nullptr};
    DelayLine* m_tardy{nullptr}; //!< of packets that come late
    DelayLine* m_line{nullptr};  //!< which the latest packet took
    int64_t m_departure{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_H
