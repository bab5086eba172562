/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_H
#define TUNNELCC_PATH_H

#include "delay-line.h"
#include "link.h"

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

    PathDirection(const LinkSpec& spec, const ns3::RngStream& stream)
        : m_link(std::in_place, spec, stream)
    {
    }

    /// The link, or null where there is none.
    Link* GetLink()
    {
        return m_link ? &*m_link : nullptr;
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
    std::vector<std::unique_ptr<DelayLine>> m_lines;
};

/// What one end of a connection sends into.
class Channel
{
  public:
    Channel(PathDirection& direction, int64_t delay)
        : m_link(direction.GetLink()),
          m_line(&direction.LineFor(delay))
    {
    }

    /**
     * Send a packet.
     *
     * \param now simulated time, ns
     * \param packet the packet; its time is set on the way
     * \param ipBytes its size
     * \param blocks its SACK blocks, if Packet::sackBlocks says that it has any
     * \returns whether it will arrive
     */
    bool Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const SackBlocks* blocks = nullptr)
    {
        m_departure = m_link ? m_link->Enqueue(now, ipBytes) : now;
        if (m_departure == Link::DROPPED)
        {
            return false;
        }
        m_line->Push(m_departure, packet, blocks);
        return true;
    }

    /// Let an ACK ride in the header of the packet for which Send() just returned true.
    void SendAlong(const Packet& ack, const SackBlocks* blocks)
    {
        m_line->Push(m_departure, ack, blocks);
    }

  private:
    Link* m_link;
    DelayLine* m_line;
    int64_t m_departure{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_H
