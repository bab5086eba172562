/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_HOSTS_H
#define TUNNELCC_RUDP_HOSTS_H

#include "arq/rudp-endpoint.h"
#include "event/random-stream.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

/**
 * \file
 * Two hosts with RUDP for the tests, set as FinalSpeed sets it at 1 MB/s. What they send each other
 * is written down, and lost if the test says so.
 */
namespace tunnelcc
{

inline constexpr uint32_t RUDP_HEADER = 52;
inline constexpr uint32_t RUDP_ACK_HEADER = 79;
inline constexpr double RUDP_RATE = 1e6; // bytes/s
inline constexpr double RUDP_FIRST_RATE = 0.5e6;

/// FinalSpeed's, at a rate of 1 MB/s.
inline RudpSpec
MakeRudp()
{
    RudpSpec spec;
    spec.packets = {.data = 1000, .header = RUDP_HEADER, .window = 5120, .doubled = 6, .close = 44};
    spec.acks = {.interval = 5 * MS, .most = 300, .header = RUDP_ACK_HEADER, .number = 4};
    spec.rate = {RUDP_RATE, RUDP_RATE};
    spec.firstRate = {0, RUDP_FIRST_RATE};
    spec.burst = 10'240;
    spec.resends = {0.6, 100 * MS, 10};
    spec.pings = {48, 44, SECOND, 8 * SECOND, 250 * MS};
    spec.wakeDelay = 100 * US;
    return spec;
}

/// Writes, and reads at once if it is to.
class RudpProgram final : public StreamUser
{
  public:
    /// \param left bytes to write
    RudpProgram(RudpEndpoint& socket, uint64_t left, bool reads = true)
        : m_socket(socket),
          m_left(left),
          m_reads(reads)
    {
        socket.SetUser(this);
    }

    void OnOpen(int64_t now) override
    {
        OnWritable(now);
    }

    void OnReadable(int64_t now) override
    {
        if (m_reads)
        {
            Read(now, m_socket.Readable());
        }
    }

    void OnWritable(int64_t now) override
    {
        while (m_left > 0)
        {
            uint64_t bytes = m_socket.Write(now, std::min<uint64_t>(m_left, 2500));
            if (bytes == 0)
            {
                return;
            }
            m_left -= bytes;
        }
    }

    void Read(int64_t now, uint64_t bytes)
    {
        m_socket.Read(now, bytes);
        m_read += bytes;
    }

    uint64_t Read() const
    {
        return m_read;
    }

  private:
    RudpEndpoint& m_socket;
    uint64_t m_left;
    const bool m_reads;
    uint64_t m_read{0};
};

/// A datagram that left.
struct RudpDatagram
{
    int64_t time;
    RudpMessage kind;
    uint32_t number;
    uint32_t bytes;
    PacketSink* sink;
};

/// What an end sends: kept, and carried to the other one after a delay, unless it is lost.
class RudpWay final : public PacketDevice
{
  public:
    /// Whether a datagram is lost.
    std::function<bool(const RudpDatagram&)> isLost = [](const RudpDatagram&) { return false; };
    int64_t delay{10 * MS};
    std::vector<RudpDatagram> sent;

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* /* extras */) override
    {
        sent.push_back({now,
                        static_cast<RudpMessage>(packet.datagramMessage),
                        packet.segment,
                        ipBytes,
                        packet.sink});
        if (!isLost(sent.back()))
        {
            ns3::Simulator::Schedule(ns3::NanoSeconds(delay), [packet] {
                packet.sink->Receive(ns3::Simulator::Now().GetNanoSeconds(), packet, nullptr);
            });
        }
    }

    std::vector<RudpDatagram> Of(RudpMessage kind) const
    {
        std::vector<RudpDatagram> found;
        std::copy_if(sent.begin(),
                     sent.end(),
                     std::back_inserter(found),
                     [=](const RudpDatagram& it) { return it.kind == kind; });
        return found;
    }
};

/// How late an end wakes.
inline RandomStream
RudpDraws(uint32_t end)
{
    return MakeRandomStream(1, RandomComponent::ARQ_CLOCK, end);
}

/// Two hosts, and connections between them.
struct RudpHosts
{
    explicit RudpHosts(const RudpSpec& its)
        : spec(its),
          client(TestLoop(), its, End::CLIENT, Channel(up), {0, 500 * MS, 2 * MS}, RudpDraws(0)),
          server(TestLoop(),
                 its,
                 End::SERVER,
                 Channel(down),
                 {300 * US, 700 * MS, 3 * MS},
                 RudpDraws(1))
    {
        RudpSession::Join(client, server);
    }

    struct Connection
    {
        explicit Connection(RudpHosts& hosts)
            : client(hosts.spec, hosts.client, Channel(hosts.up)),
              server(hosts.spec, hosts.server, Channel(hosts.down))
        {
            RudpEndpoint::Join(client, server);
        }

        RudpEndpoint client;
        RudpEndpoint server;
    };

    const RudpSpec spec;
    RudpWay up;
    RudpWay down;
    RudpSession client;
    RudpSession server;
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_HOSTS_H
