/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event/random-stream.h"
#include "path/path.h"
#include "simulation-test-case.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>
#include <vector>

/**
 * \file
 * Paths that are not the same all the time: rates in steps, packets that come late.
 */
using namespace tunnelcc;

namespace
{

constexpr int64_t US = 1'000;
constexpr int64_t MS = 1'000'000;

ns3::RngStream
Stream(uint32_t number)
{
    return MakeRandomStream(1, RandomComponent::FORWARD_LOSS, number);
}

struct Arrival
{
    int64_t time;
    uint32_t segment;
};

class Destination final : public PacketSink
{
  public:
    void Receive(int64_t now, const Packet& packet, const SackBlocks* /* blocks */) override
    {
        arrivals.push_back({now, packet.segment});
    }

    std::vector<Arrival> arrivals;
};

class RateStepTest : public SimulationTestCase
{
  public:
    RateStepTest()
        : SimulationTestCase("A packet in service when the rate changes is served partly at each")
    {
    }

  private:
    void DoRun() override
    {
        LinkSpec spec;
        spec.rate = 8e6; // 1000 bytes a millisecond
        spec.rateChanges = {{1'500 * US, 4e6}, {2 * MS, 16e6}, {10 * MS, 8e6}};
        Link link(spec, Stream(1));
        NS_TEST_EXPECT_MSG_EQ(link.Enqueue(0, 1'000), 1'000 * US, "at the first rate");
        // 500 bytes by 1.5 ms, 250 more by 2 ms, the last 250 in 0.125 ms.
        NS_TEST_EXPECT_MSG_EQ(link.Enqueue(0, 1'000), 2'125 * US, "across two changes");
        NS_TEST_EXPECT_MSG_EQ(link.Enqueue(20 * MS, 1'000), 21 * MS, "a change while idle");
        NS_TEST_EXPECT_MSG_EQ_TOL(link.OfferedBytes(3 * MS), 1'500 + 250 + 2'000, 1e-6, "offered");
    }
};

class LatePacketTest : public SimulationTestCase
{
  public:
    LatePacketTest()
        : SimulationTestCase("Late packets are overtaken by the ones that left within their delay")
    {
    }

  private:
    void DoRun() override
    {
        LinkSpec spec;
        spec.rate = 8e6; // 1000 bytes a millisecond
        spec.reorder = 0.2;
        spec.reorderDelay = 2'500 * US;
        PathDirection direction(spec, PathStreams::Forward(1));
        Destination destination;
        Channel channel(direction, 10 * MS);
        constexpr int PACKETS = 1'000;
        for (int i = 0; i < PACKETS; ++i)
        {
            Packet packet{};
            packet.sink = &destination;
            packet.segment = i;
            channel.Send(0, packet, 1'000);
        }
        ns3::Simulator::Run();
        int late = 0;
        for (const Arrival& arrival : destination.arrivals)
        {
            const int64_t punctual = (arrival.segment + 1) * MS + 10 * MS;
            const int64_t lateness = arrival.time - punctual;
            NS_TEST_ASSERT_MSG_EQ((lateness == 0 || lateness == 2'500 * US),
                                  true,
                                  "on either line");
            late += lateness > 0;
        }
        NS_TEST_EXPECT_MSG_EQ(destination.arrivals.size(), PACKETS, "none is lost");
        NS_TEST_EXPECT_MSG_EQ_TOL(late, 200, 40, "a fifth is late");
    }
};

class PathVariationTestSuite : public ns3::TestSuite
{
  public:
    PathVariationTestSuite()
        : ns3::TestSuite("tunnelcc-path-variation", Type::UNIT)
    {
        AddTestCase(new RateStepTest, Duration::QUICK);
        AddTestCase(new LatePacketTest, Duration::QUICK);
    }
};

PathVariationTestSuite g_pathVariationTestSuite;

} // namespace
