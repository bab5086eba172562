/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the path: the link against a drop-tail queue simulated event by event, delay lines.
 */
#include "event/random-stream.h"
#include "path/path.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <deque>
#include <random>
#include <tuple>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path");

RandomStream
LossStream()
{
    return MakeRandomStream(1, RandomComponent::FORWARD_LOSS);
}

/// A drop-tail queue and its server, one event after the other.
class PlainQueue
{
  public:
    PlainQueue(const LinkSpec& spec, int64_t nsPerByte)
        : m_spec(spec),
          m_nsPerByte(nsPerByte)
    {
    }

    /// Whether a packet that arrives now is taken.
    bool Offer(int64_t now, uint32_t bytes)
    {
        RunUntil(now);
        if (m_inService == 0)
        {
            Serve(now, bytes);
            return true;
        }
        const bool isFull = (m_spec.bufferBytes && waitingBytes + bytes > m_spec.bufferBytes) ||
                            (m_spec.bufferPackets && m_waiting.size() + 1 > m_spec.bufferPackets);
        if (isFull)
        {
            return false;
        }
        m_waiting.push_back(bytes);
        waitingBytes += bytes;
        return true;
    }

    void RunUntil(int64_t now)
    {
        while (m_inService && m_serviceEnd <= now)
        {
            departures.push_back(m_serviceEnd);
            servedBytes += m_inService;
            m_inService = 0;
            if (!m_waiting.empty())
            {
                waitingBytes -= m_waiting.front();
                Serve(m_serviceEnd, m_waiting.front());
                m_waiting.pop_front();
            }
        }
    }

    uint64_t waitingBytes{0};
    uint64_t servedBytes{0};
    std::vector<int64_t> departures;

  private:
    void Serve(int64_t now, uint32_t bytes)
    {
        m_inService = bytes;
        m_serviceEnd = now + bytes * m_nsPerByte;
    }

    LinkSpec m_spec;
    int64_t m_nsPerByte;
    std::deque<uint32_t> m_waiting;
    uint32_t m_inService{0};
    int64_t m_serviceEnd{0};
};

class LinkReferenceTest : public SimulationTestCase
{
  public:
    LinkReferenceTest(const std::string& name, uint64_t bytes, uint64_t packets, uint32_t framing)
        : SimulationTestCase("The link is a drop-tail queue: " + name)
    {
        m_spec.rate = 80e6; // 100 ns a byte
        m_spec.bufferBytes = bytes;
        m_spec.bufferPackets = packets;
        m_spec.framing = framing;
    }

  private:
    void DoRun() override
    {
        constexpr int64_t NS_PER_BYTE = 100;
        std::mt19937 random(4);
        Link link(m_spec, LossStream());
        PlainQueue queue(m_spec, NS_PER_BYTE);
        std::vector<int64_t> departures;
        uint64_t drops = 0;
        int64_t now = 0;
        for (int i = 0; i < 200'000; ++i)
        {
            // Alternates between overload and underload. Whole 100 ns: arrivals often coincide
            // with departures.
            const bool isOverload = (i / 500) % 2;
            now += 100 * (random() % (isOverload ? 1'200 : 3'000));
            const uint32_t bytes = 40 + random() % 1'461;
            const int64_t departure = link.Enqueue(now, bytes);
            const bool isTaken = queue.Offer(now, bytes + m_spec.framing);
            NS_TEST_ASSERT_MSG_EQ((departure != Link::DROPPED), isTaken, "packet " << i);
            NS_TEST_ASSERT_MSG_EQ(link.WaitingBytes(now), queue.waitingBytes, "packet " << i);
            if (isTaken)
            {
                departures.push_back(departure);
            }
            drops += !isTaken;
            if (m_spec.bufferBytes)
            {
                NS_TEST_ASSERT_MSG_LT_OR_EQ(queue.waitingBytes, m_spec.bufferBytes, "limit");
            }
        }
        queue.RunUntil(INT64_MAX / 2);
        NS_TEST_EXPECT_MSG_EQ((departures == queue.departures), true, "departures");
        NS_TEST_EXPECT_MSG_EQ(link.Drops().all, drops, "drops");
        NS_TEST_EXPECT_MSG_EQ(link.ServedBytes(INT64_MAX / 2), queue.servedBytes, "bytes served");
        const bool hasLimit = m_spec.bufferBytes || m_spec.bufferPackets;
        NS_TEST_EXPECT_MSG_EQ((drops > 100), hasLimit, "overload drops");
        if (m_spec.bufferBytes)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(link.MaxWaitingBytes(), m_spec.bufferBytes, "limit");
        }
    }

    LinkSpec m_spec;
};

class LinkLimitTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static int CountTaken(const LinkSpec& spec)
    {
        Link link(spec, LossStream());
        int taken = 0;
        for (int i = 0; i < 10; ++i)
        {
            taken += link.Enqueue(0, 1'000) != Link::DROPPED;
        }
        return taken;
    }

    void DoRun() override
    {
        LinkSpec spec;
        spec.rate = 8e6;
        spec.bufferPackets = 3;
        NS_TEST_EXPECT_MSG_EQ(CountTaken(spec), 4, "three wait, one is in service");
        spec.bufferPackets = 0;
        spec.bufferBytes = 3'999;
        NS_TEST_EXPECT_MSG_EQ(CountTaken(spec), 4, "three fit into 3999 bytes");
        spec.bufferBytes = 4'000;
        NS_TEST_EXPECT_MSG_EQ(CountTaken(spec), 5, "four fit into 4000 bytes");
        spec.framing = 38;
        NS_TEST_EXPECT_MSG_EQ(CountTaken(spec), 4, "framing counts");
        spec.bufferBytes = 500;
        NS_TEST_EXPECT_MSG_EQ(CountTaken(spec), 1, "none may wait");
    }
};

ADD_CASE(LinkLimitTest, "The packet in service does not count against the limit");

TEST_CASE(SimulationTestCase,
          LinkRoundingTest,
          "Rounding to nanoseconds does not drift over a million packets")
{
    for (const double rate : {1e3, 7e6, 2.03e9, 99'999'999.0, 400e9})
    {
        std::mt19937 random(5);
        LinkSpec spec;
        spec.rate = rate;
        Link link(spec, LossStream());
        unsigned __int128 work = 0;
        int64_t departure = 0;
        const int packets = rate < 1e6 ? 10'000 : 1'000'000;
        for (int i = 0; i < packets; ++i)
        {
            const uint32_t bytes = 40 + random() % 1'461;
            work += static_cast<unsigned __int128>(bytes) * 8'000'000'000U;
            departure = link.Enqueue(0, bytes);
        }
        const auto exact = static_cast<int64_t>(work / static_cast<uint64_t>(rate));
        NS_TEST_EXPECT_MSG_EQ(departure, exact, "whole nanoseconds at " << rate << " bit/s");
    }
}

TEST_CASE(SimulationTestCase, LinkMeasurementTest, "Waiting times and bytes served, by hand")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    Link link(spec, LossStream());
    link.Enqueue(0, 1'000);
    link.StartMeasuring();
    for (int i = 0; i < 4; ++i)
    {
        link.Enqueue(500 * US, 1'000);
    }
    const Histogram& delay = link.QueueDelay();
    NS_TEST_EXPECT_MSG_EQ_TOL(link.ServedBytes(2'250 * US), 2'250, 1e-6, "in the middle");
    NS_TEST_EXPECT_MSG_EQ(link.WaitingBytes(2'250 * US), 2'000, "two wait, one is in service");
    NS_TEST_EXPECT_MSG_EQ(delay.Count(), 2, "two have waited, the first before measuring began");
    NS_TEST_EXPECT_MSG_EQ_TOL(delay.Mean(), 1.0e6, 0.5, "mean of 0.5 and 1.5 ms");
    NS_TEST_EXPECT_MSG_EQ(link.ServedBytes(SECOND), 5'000, "all");
    NS_TEST_EXPECT_MSG_EQ(delay.Count(), 4, "all since the measurement began");
    NS_TEST_EXPECT_MSG_EQ_TOL(delay.Mean(), 2.0e6, 0.5, "mean of 0.5, 1.5, 2.5 and 3.5 ms");

    Link unlimited(LinkSpec{}, LossStream());
    NS_TEST_EXPECT_MSG_EQ(unlimited.Enqueue(7, 1'000), 7, "no rate, no delay");
    NS_TEST_EXPECT_MSG_EQ(unlimited.ServedBytes(7), 1'000, "served at once");
}

TEST_CASE(SimulationTestCase,
          LossPositionTest,
          "Loss before the queue saves its capacity, loss after it does not")
{
    LinkSpec spec;
    spec.rate = 8e6;
    spec.loss = 0.5;
    for (const bool isBefore : {true, false})
    {
        spec.lossPosition = isBefore ? LinkPosition::BEFORE : LinkPosition::AFTER;
        Link link(spec, LossStream());
        constexpr uint64_t PACKETS = 1'000;
        uint64_t arrived = 0;
        for (uint64_t i = 0; i < PACKETS; ++i)
        {
            arrived += link.Enqueue(0, 1'000) != Link::DROPPED;
        }
        const uint64_t served = isBefore ? arrived : PACKETS;
        NS_TEST_EXPECT_MSG_EQ(link.RandomLosses().all, PACKETS - arrived, "losses");
        NS_TEST_EXPECT_MSG_EQ(link.Drops().all, 0, "not the queue's");
        NS_TEST_EXPECT_MSG_EQ(link.PacketsIn().all, PACKETS, "all were offered");
        NS_TEST_EXPECT_MSG_EQ(link.ServedBytes(3'000 * SECOND),
                              1'000 * served,
                              "what took up the link");
    }
}

/// Notes what arrives and when.
class Destination final : public PacketSink
{
  public:
    using Arrival = std::tuple<int64_t, int, uint32_t>; //!< time, destination, segment

    Destination(int name, std::vector<Arrival>& arrivals)
        : m_name(name),
          m_arrivals(arrivals)
    {
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        m_arrivals.emplace_back(now, m_name, packet.segment);
        isClockRight = isClockRight && ns3::Simulator::Now().GetNanoSeconds() == now;
        areExtrasRight = areExtrasRight && packet.HasExtras() == (extras != nullptr) &&
                         (!extras || extras->blocks.begin[0] == packet.segment + 1);
    }

    bool isClockRight{true};
    bool areExtrasRight{true};

  private:
    int m_name;
    std::vector<Arrival>& m_arrivals;
};

TEST_CASE(SimulationTestCase,
          DelayLineTest,
          "Delay lines deliver everything, in order, with its extras")
{
    std::mt19937 random(6);
    std::vector<Destination::Arrival> arrivals;
    std::vector<Destination::Arrival> expected;
    PathDirection direction(TestLoop());
    std::deque<Destination> destinations;
    std::vector<Channel> channels;
    const std::vector<int64_t> delays{0, 10, 10, 500, 10'000};
    for (const int64_t delay : delays)
    {
        destinations.emplace_back(static_cast<int>(destinations.size()), arrivals);
        channels.emplace_back(direction, delay);
    }
    int64_t now = 0;
    for (uint32_t i = 0; i < 20'000; ++i)
    {
        now += random() % 30;
        const size_t choice = random() % delays.size();
        Packet packet{};
        packet.kind = PacketKind::DATA;
        packet.sink = &destinations[choice];
        packet.segment = i;
        packet.sackBlocks = random() % 3;
        At(now, [&channels, packet, now, choice] {
            PacketExtras extras{};
            extras.blocks.begin[0] = packet.segment + 1;
            channels[choice].Send(now, packet, 52, &extras);
        });
        expected.emplace_back(now + delays[choice], choice, i);
    }
    ns3::Simulator::Run();
    for (const Destination& destination : destinations)
    {
        NS_TEST_EXPECT_MSG_EQ(destination.isClockRight, true, "the simulator's clock agrees");
        NS_TEST_EXPECT_MSG_EQ(destination.areExtrasRight, true, "extras");
    }
    // Lines of equal delay are one; those of different delay may tie, in order of their making.
    auto byTime = [&](const auto& a, const auto& b) {
        const auto key = [&](const auto& x) {
            return std::make_pair(std::get<0>(x), delays[std::get<1>(x)]);
        };
        return key(a) < key(b);
    };
    std::stable_sort(expected.begin(), expected.end(), byTime);
    std::stable_sort(arrivals.begin(), arrivals.end(), byTime);
    NS_TEST_EXPECT_MSG_EQ((arrivals == expected), true, "arrivals");
}

TEST_CASE(SimulationTestCase,
          ChannelTest,
          "A packet takes its place in the queue, then its own delay")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.bufferPackets = 1;
    PathDirection direction(TestLoop(), spec, PathStreams::Forward(1));
    std::vector<Destination::Arrival> arrivals;
    Destination near(0, arrivals);
    Destination far(1, arrivals);
    Channel toNear(direction, 10 * MS);
    Channel toFar(direction, 20 * MS);
    auto send = [](Channel& channel, Destination& sink, uint32_t segment) {
        Packet packet{};
        packet.sink = &sink;
        packet.segment = segment;
        channel.Send(0, packet, 1'000);
    };
    send(toFar, far, 1);   // in service
    send(toNear, near, 2); // waits
    send(toFar, far, 3);   // is dropped
    ns3::Simulator::Run();
    const std::vector<Destination::Arrival> expected{{12 * MS, 0, 2}, {21 * MS, 1, 1}};
    NS_TEST_EXPECT_MSG_EQ((arrivals == expected), true, "arrivals");
}

ADD_CASES
{
    AddCase(new LinkReferenceTest("limit in bytes", 30'000, 0, 0));
    AddCase(new LinkReferenceTest("limit in packets", 0, 20, 0));
    AddCase(new LinkReferenceTest("both, framed", 20'000, 20, 38));
    AddCase(new LinkReferenceTest("no limit", 0, 0, 38));
}

} // namespace
