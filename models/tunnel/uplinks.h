/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UPLINKS_H
#define TUNNELCC_UPLINKS_H

#include "event/event-loop.h"
#include "event/timer.h"
#include "measured-rate.h"
#include "packet-server.h"
#include "path/packet-device.h"
#include "path/path.h"
#include "route-rtt.h"
#include "spec/tunnel-spec.h"
#include "turns.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace tunnelcc
{

/**
 * One end of a tunnel that has several routes to its other end: packets take turns, or the first
 * route over which probes are answered.
 *
 * Probes after EthUDP c45a8c2 (EthUDP.c, send_keepalive_to_udp() and process_udp_to_raw()): each
 * end sends one over each route once a second, and counts these seconds. The other end answers over
 * the same route. A route fails when its last answer came more than 5 counts ago, and is back when
 * that is less than 4. Each end decides for what it sends. Routes that fail have no turn.
 *
 * With PACKETS, each IP packet has its turn, as at a router behind the tunnel. With WEIGHTS, each
 * datagram has: its fragments stay together. A datagram is numbered, and has its number when it
 * arrives (Packet::time, which is free then), so that a reorder buffer knows its place.
 *
 * With MEASURED, weights are rates that follow what arrives (MeasuredRate), and the program sends
 * no faster than their sum: it reads no packet of its device while it may send less than 1500
 * bytes, and may send more once a millisecond has passed, of at most the last 20 (mud_update()).
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
     * \param weights of the routes, for what this end sends; empty: they are equal
     * \param ways of each route
     * \param phase when it sends its first probes, ns
     * \param draws for turns at random
     */
    Uplinks(EventLoop& loop,
            const UplinksSpec& spec,
            const std::vector<double>& weights,
            const std::vector<Ways>& ways,
            int64_t phase,
            const RandomStream& draws)
        : EventSource(loop),
          m_spec(spec),
          m_turns(spec.use == UplinkUse::PACKETS ? UplinkTurns::SMOOTH : spec.turns,
                  weights.empty() ? std::vector<double>(ways.size(), 1.0) : weights,
                  draws),
          m_works(ways.size(), true),
          m_mayReadTimer(loop, this)
    {
        for (size_t number = 0; number < ways.size(); ++number)
        {
            m_routes.emplace_back(*this, ways[number], weights.empty() ? 1.0 : weights[number]);
        }
        if (m_spec.interval > 0)
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

    /// Tell somebody of the RTTs over the routes that packets measure.
    void SetRttUser(LongestRtt& user)
    {
        m_rttUser = &user;
    }

    /// \param device whose packets it sends no faster than MEASURED rates allow
    void Hold(PacketServer& device)
    {
        m_device = &device;
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        const bool isLast = packet.kind != PacketKind::FRAGMENT;
        const bool areTogether =
            m_spec.use == UplinkUse::WEIGHTS || m_spec.use == UplinkUse::MEASURED;
        if (m_spec.use == UplinkUse::PACKETS || (areTogether && m_isFirst))
        {
            m_current = m_turns.Next(m_works);
            m_bytes = 0;
        }
        m_isFirst = isLast;
        m_bytes += ipBytes;
        Route& route = m_routes[m_current];
        if (!isLast || m_spec.use == UplinkUse::FAIL_OVER)
        {
            route.ways.packets.Send(now, packet, ipBytes, extras);
            return;
        }
        Numbered& numbered = TakeNumbered();
        numbered.number = m_number++;
        numbered.receiver = packet.sink;
        numbered.arrival = route.peer;
        numbered.stamps = route.rtt.Stamp(now);
        numbered.bytes = m_bytes;
        Packet sent = packet;
        sent.sink = &numbered;
        route.ways.packets.Send(now, sent, ipBytes, extras);
        if (m_device)
        {
            Spend(now, m_bytes);
        }
    }

  private:
    struct Route;

    /// A datagram on its way, and who receives it.
    struct Numbered final : PacketSink
    {
        explicit Numbered(Uplinks& itsSender)
            : sender(itsSender)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
        {
            Packet arrived = packet;
            arrived.sink = receiver;
            arrived.time = number;
            PacketSink& taker = *receiver;
            arrival->arrived += bytes;
            arrival->OnArrival(now, stamps);
            sender.m_free.push_back(this);
            isFree = true;
            taker.Receive(now, arrived, extras);
        }

        const PacketSink* StandsFor() const override
        {
            return receiver;
        }

        Uplinks& sender;
        PacketSink* receiver{nullptr};
        Route* arrival{nullptr};
        RouteRtt::Stamps stamps{};
        int64_t number{0};
        uint32_t bytes{0}; //!< of it, with its other fragments
        bool isFree{false};
    };

    /// A route, and what arrives over it: probes of the other end, and answers.
    struct Route final : PacketSink
    {
        Route(Uplinks& end, const Ways& out, double most)
            : uplinks(end),
              ways(out),
              rate(most)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
        {
            if (packet.datagramMessage == ANSWER)
            {
                answered = uplinks.m_count;
                rate.OnAnswer(packet.segment);
                uplinks.OnMeasured(*this);
                return;
            }
            arrived += packet.datagramBytes;
            peer->rate.OnArrived(now, packet.segment, arrived); // what the answer says
            uplinks.SendProbe(now, *this, ANSWER, packet.segment);
        }

        /// A datagram of the other end came.
        void OnArrival(int64_t now, const RouteRtt::Stamps& stamps)
        {
            if (rtt.OnArrival(now, stamps) && uplinks.m_rttUser)
            {
                int64_t longest = 0;
                for (const Route& route : uplinks.m_routes)
                {
                    longest = std::max(longest, route.rtt.Longest());
                }
                uplinks.m_rttUser->Set(longest);
            }
        }

        Uplinks& uplinks;
        Ways ways;
        Route* peer{nullptr}; //!< that of the other end
        RouteRtt rtt;
        MeasuredRate rate;    //!< of what this end sends
        uint64_t arrived{0};  //!< bytes of the other end, without its answers
        uint64_t answered{0}; //!< count at its last answer
    };

    static constexpr uint16_t PROBE = 0;
    static constexpr uint16_t ANSWER = 1;
    static constexpr int64_t LATE = 1 << 17; //!< a datagram so far behind was lost

    // mud_send(), mud_update()
    static constexpr double LEAST = 1500;    //!< bytes that may be sent, or it does not read
    static constexpr int64_t MOST = 20 * MS; //!< time for which it may send once it has passed

    /// Room for a datagram on its way.
    Numbered& TakeNumbered()
    {
        if (m_free.empty())
        {
            for (Numbered& it : m_onTheWay)
            {
                if (!it.isFree && it.number + LATE < m_number)
                {
                    it.isFree = true;
                    m_free.push_back(&it);
                }
            }
            // Then half are free, so that looking through them costs little for each.
            for (size_t more = m_onTheWay.size() + 16; m_free.size() < more / 2;)
            {
                m_free.push_back(&m_onTheWay.emplace_back(*this));
            }
        }
        Numbered& taken = *m_free.back();
        m_free.pop_back();
        taken.isFree = false;
        return taken;
    }

    /// Send a probe, or an answer, over a route. \param number of the probe
    void SendProbe(int64_t now, Route& route, uint16_t kind, uint32_t number)
    {
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.datagramMessage = kind;
        packet.segment = number;
        packet.datagramBytes = m_spec.probe;
        packet.sink = route.peer;
        route.ways.probes.Send(now, packet, m_spec.probe);
    }

    /// The rate of a route may be another one.
    void OnMeasured(const Route& route)
    {
        for (size_t number = 0; m_device && number < m_routes.size(); ++number)
        {
            if (&m_routes[number] == &route)
            {
                m_turns.SetWeight(number, route.rate.Rate());
            }
        }
    }

    /// A datagram was sent: read no more if too little may be.
    void Spend(int64_t now, uint32_t bytes)
    {
        m_maySend = std::max(m_maySend - bytes, 0.0);
        if (m_maySend < LEAST && !MayRead(now))
        {
            m_device->Block();
        }
    }

    /// Whether enough may be sent; if not, it is looked at again.
    bool MayRead(int64_t now)
    {
        constexpr double NS_PER_SECOND = 1e9;
        if (const int64_t passed = now - m_filledAt; passed > MS)
        {
            double sum = 0;
            for (size_t number = 0; number < m_routes.size(); ++number)
            {
                sum += m_works[number] ? m_routes[number].rate.Rate() : 0;
            }
            m_maySend += sum * static_cast<double>(std::min(passed, MOST)) / NS_PER_SECOND;
            m_filledAt = now;
        }
        if (m_maySend < LEAST)
        {
            m_mayReadTimer.Set(m_filledAt + MS + 1);
            return false;
        }
        return true;
    }

    void OnMayRead(int64_t now)
    {
        if (MayRead(now))
        {
            m_device->Unblock(now);
        }
    }

    void Fire(int64_t now) override
    {
        ++m_count;
        size_t first = m_routes.size() - 1; // if none answers: the last one
        for (size_t number = m_routes.size(); number-- > 0;)
        {
            Route& route = m_routes[number];
            m_works[number] = m_works[number] ? m_count <= route.answered + m_spec.failAfter
                                              : m_count < route.answered + m_spec.returnAfter;
            first = m_works[number] ? number : first;
        }
        for (Route& route : m_routes)
        {
            SendProbe(now, route, PROBE, route.rate.OnSent(now));
        }
        if (m_spec.use == UplinkUse::FAIL_OVER)
        {
            m_current = first;
        }
        m_loop.Insert(now + m_spec.interval, m_rank, this);
    }

    const UplinksSpec& m_spec;
    std::deque<Route> m_routes;
    Turns m_turns;
    std::vector<bool> m_works;
    size_t m_current{0};  //!< route of the latest packet; of the next one with FAIL_OVER
    bool m_isFirst{true}; //!< the next packet begins a datagram
    uint64_t m_count{0};  //!< of intervals
    int64_t m_number{0};  //!< of the next datagram
    std::deque<Numbered> m_onTheWay;
    std::vector<Numbered*> m_free; //!< of them
    LongestRtt* m_rttUser{nullptr};
    uint32_t m_bytes{0};             //!< of the latest datagram so far
    PacketServer* m_device{nullptr}; //!< MEASURED: what it reads
    double m_maySend{0};             //!< bytes
    int64_t m_filledAt{0};           //!< when that grew, ns
    Timer<Uplinks, &Uplinks::OnMayRead> m_mayReadTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_UPLINKS_H
