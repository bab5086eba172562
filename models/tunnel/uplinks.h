/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UPLINKS_H
#define TUNNELCC_UPLINKS_H

#include "event/event-loop.h"
#include "path/packet-device.h"
#include "path/path.h"
#include "spec/tunnel-spec.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace tunnelcc
{

/**
 * One end of a tunnel that has several routes to its other end: one route for each packet in turn,
 * or the first one over which probes are answered.
 *
 * Probes after EthUDP c45a8c2 (EthUDP.c, send_keepalive_to_udp() and process_udp_to_raw()): each
 * end sends one over each route once a second, and counts these seconds. The other end answers over
 * the same route. A route fails when its last answer came more than 5 counts ago, and is back when
 * that is less than 4. Each end decides for what it sends.
 */
class Uplinks final : public PacketDevice, private EventSource
{
  public:
    /// What an end sends into, of a route.
    struct Ways
    {
        Channel packets;
        Channel probes;
    };

    /**
     * \param spec which routes, and the times of probes
     * \param ways of each route
     * \param phase when it sends its first probes, ns
     */
    Uplinks(EventLoop& loop, const UplinksSpec& spec, const std::vector<Ways>& ways, int64_t phase)
        : EventSource(loop),
          m_spec(spec)
    {
        for (const Ways& way : ways)
        {
            m_routes.emplace_back(*this, way);
        }
        if (m_spec.use == UplinkUse::FAIL_OVER)
        {
            m_loop.Insert(phase, m_rank, this);
        }
    }

    /// Make two ends those of a tunnel.
    static void Join(Uplinks& one, Uplinks& other)
    {
        for (size_t number = 0; number < one.m_routes.size(); ++number)
        {
            one.m_routes[number].peer = &other.m_routes[number];
            other.m_routes[number].peer = &one.m_routes[number];
        }
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        m_routes[m_current].ways.packets.Send(now, packet, ipBytes, extras);
        if (m_spec.use == UplinkUse::PACKETS)
        {
            m_current = (m_current + 1) % m_routes.size();
        }
    }

  private:
    /// A route, and what arrives over it: probes of the other end, and answers.
    struct Route final : PacketSink
    {
        Route(Uplinks& end, const Ways& out)
            : uplinks(end),
              ways(out)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
        {
            if (packet.datagramMessage == ANSWER)
            {
                answered = uplinks.m_count;
                return;
            }
            uplinks.SendProbe(now, *this, ANSWER);
        }

        Uplinks& uplinks;
        Ways ways;
        Route* peer{nullptr}; //!< that of the other end
        uint64_t answered{0}; //!< count at its last answer
        bool works{true};
    };

    static constexpr uint16_t PROBE = 0;
    static constexpr uint16_t ANSWER = 1;

    /// Send a probe, or an answer, over a route.
    void SendProbe(int64_t now, Route& route, uint16_t kind)
    {
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.datagramMessage = kind;
        packet.datagramBytes = m_spec.probe;
        packet.sink = route.peer;
        route.ways.probes.Send(now, packet, m_spec.probe);
    }

    void Fire(int64_t now) override
    {
        ++m_count;
        m_current = m_routes.size();
        for (size_t number = 0; number < m_routes.size(); ++number)
        {
            Route& route = m_routes[number];
            SendProbe(now, route, PROBE);
            route.works = route.works ? m_count <= route.answered + m_spec.failAfter
                                      : m_count < route.answered + m_spec.returnAfter;
            if (route.works && m_current == m_routes.size())
            {
                m_current = number;
            }
        }
        if (m_current == m_routes.size())
        {
            --m_current; // none answers: the last one
        }
        m_loop.Insert(now + m_spec.interval, m_rank, this);
    }

    const UplinksSpec& m_spec;
    std::deque<Route> m_routes;
    size_t m_current{0}; //!< route of the next packet
    uint64_t m_count{0}; //!< of intervals
};

} // namespace tunnelcc

#endif // TUNNELCC_UPLINKS_H
