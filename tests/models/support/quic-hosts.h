/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_HOSTS_H
#define TUNNELCC_QUIC_HOSTS_H

#include "quic/loss-detection.h"
#include "quic/quic-connection.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

/**
 * \file
 * Two ends of a QUIC connection for the tests, set as quic-go sets it. What they send each other is
 * written down; the test says what is lost, late or doubled.
 */
namespace tunnelcc
{

/// quic-go v0.60.0's, for packets of 1280 bytes: the search for larger ones is off.
inline QuicSpec
MakeQuic()
{
    QuicSpec spec;
    spec.packets = {{23, 19}, 28, {1280, 1280}, 1280, 20, 5};
    spec.packets.mtu = 65'535;
    spec.acks = {2, 25 * MS, 64, 19};
    spec.loss = {3, 1.125, MS, 200 * MS, 0, true};
    spec.pacing = {1.25, 2 * MS, 10, MS, true};
    spec.window = {32, 10'000};
    spec.stream = {512 << 10, 6 << 20, 0.25};
    spec.connection = {768 << 10, 15 << 20, 0.25};
    spec.isOneFrame = true;
    spec.handshake = {{{1280}, {1280, 1280, 500}}, {{1280}, {}}};
    return spec;
}

/// A sender's packets, and ACKs for them.
struct AckedPackets
{
    explicit AckedPackets(const QuicLossSpec& spec = MakeQuic().loss)
        : detection(spec, 25 * MS, sent)
    {
    }

    void Send(int64_t time, uint16_t bytes = 1280)
    {
        sent.AddFrame({});
        QuicPacket& packet = sent.Send();
        packet.bytes = bytes;
        packet.sample.sentTime = time;
        sent.CountInFlight(packet);
        detection.OnSent(time);
    }

    const LossDetection::Outcome& Ack(int64_t now,
                                      const std::vector<NumberRange>& ranges,
                                      int64_t delay = 0)
    {
        QuicPacket& ack = peer.Send(ranges, ++acks);
        ack.ackDelay = delay;
        return detection.OnAck(now, ack, peer);
    }

    PacketHistory sent;
    PacketHistory peer;
    LossDetection detection;
    uint64_t acks{0};
};

/// A packet that left.
struct QuicDeparture
{
    int64_t time;
    uint32_t number;
    uint32_t ipBytes;
};

/// What an end sends: kept, and carried to the other one, unless it is lost.
class QuicWay final : public PacketDevice
{
  public:
    /// When copies of a packet arrive, ns after it left; none: it is lost.
    std::function<std::vector<int64_t>(const QuicDeparture&)> delays =
        [](const QuicDeparture&) -> std::vector<int64_t> { return {10 * MS}; };
    std::vector<QuicDeparture> sent;

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* /* extras */) override
    {
        sent.push_back({now, packet.segment, ipBytes});
        for (int64_t delay : delays(sent.back()))
        {
            ns3::Simulator::Schedule(ns3::NanoSeconds(delay), [packet] {
                packet.sink->Receive(ns3::Simulator::Now().GetNanoSeconds(), packet, nullptr);
            });
        }
    }
};

/// Writes to a stream, reads from it at once if it is to, and closes it at the end.
class QuicProgram final : public StreamUser
{
  public:
    /// \param left bytes to write
    QuicProgram(QuicStream& stream, uint64_t left, bool reads = true)
        : m_stream(stream),
          m_left(left),
          m_reads(reads)
    {
        stream.SetUser(this);
    }

    void OnOpen(int64_t now) override
    {
        connected = now;
        OnWritable(now);
    }

    void OnReadable(int64_t now) override
    {
        if (m_reads)
        {
            Read(now, m_stream.Readable());
        }
    }

    void OnWritable(int64_t now) override
    {
        while (m_left > 0)
        {
            const uint64_t bytes = m_stream.Write(now, std::min<uint64_t>(m_left, 32'768));
            if (bytes == 0)
            {
                return;
            }
            m_left -= bytes;
        }
        if (!stays)
        {
            m_stream.Close(now);
        }
    }

    /// Write so many bytes more.
    void Offer(int64_t now, uint64_t bytes)
    {
        m_left += bytes;
        OnWritable(now);
    }

    void Read(int64_t now, uint64_t bytes)
    {
        m_stream.Read(now, bytes);
        read += bytes;
        lastRead = bytes > 0 ? now : lastRead;
    }

    bool stays{false}; //!< it does not close the stream
    uint64_t read{0};
    int64_t connected{-1};
    int64_t lastRead{-1};

  private:
    QuicStream& m_stream;
    uint64_t m_left;
    const bool m_reads;
};

/// Both ends of a connection.
struct QuicHosts
{
    explicit QuicHosts(const QuicSpec& spec,
                       std::string_view algorithm = "reno",
                       const CongestionParameters& parameters = {{"beta", 0.7}})
        : client(TestLoop(),
                 spec,
                 End::CLIENT,
                 Channel(up),
                 MakeCongestionControl(algorithm, parameters, 0),
                 MakeRandomStream(1, RandomComponent::APP_THREADS, 0)),
          server(TestLoop(),
                 spec,
                 End::SERVER,
                 Channel(down),
                 MakeCongestionControl(algorithm, parameters, 1),
                 MakeRandomStream(1, RandomComponent::APP_THREADS, 1))
    {
        QuicConnection::Join(client, server);
    }

    virtual ~QuicHosts() = default;
    QuicHosts(const QuicHosts&) = delete;
    QuicHosts& operator=(const QuicHosts&) = delete;

    QuicWay up;
    QuicWay down;
    QuicConnection client;
    QuicConnection server;
};

/// A stream between two programs.
struct QuicFlow
{
    QuicFlow(QuicHosts& hosts, uint64_t up, uint64_t down, bool reads = true)
        : stream(hosts.client.AddStream()),
          client(stream, up),
          server(hosts.server.AddStream(), down, reads)
    {
    }

    QuicStream& stream;
    QuicProgram client;
    QuicProgram server;
};

/// MakeQuic() with connection IDs of 4 bytes in both directions.
inline QuicSpec
MakeQuicOfPaths()
{
    QuicSpec spec = MakeQuic();
    spec.packets.overhead = {23, 23};
    spec.packets.pathId = 4;
    return spec;
}

/// Both ends of a connection over two paths, with RTTs of 20 and 100 ms unless the test sets
/// others.
struct QuicPathHosts : QuicHosts
{
    explicit QuicPathHosts(MultipathScheduler scheduler = MultipathScheduler::LOWEST_RTT,
                           bool isSecondBackup = false,
                           const QuicSpec& spec = MakeQuicOfPaths(),
                           bool isFirstBackup = false)
        : QuicHosts(spec)
    {
        auto late = [](const QuicDeparture&) { return std::vector<int64_t>{50 * MS}; };
        for (auto [end, way] : {std::pair(&client, &up2), std::pair(&server, &down2)})
        {
            way->delays = late;
            end->UsePaths(scheduler, isFirstBackup);
            end->AddPath(Channel(*way),
                         MakeCongestionControl("reno", {{"beta", 0.7}}, 2),
                         isSecondBackup);
        }
        QuicConnection::Join(client, server);
    }

    QuicWay up2;
    QuicWay down2;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_HOSTS_H
