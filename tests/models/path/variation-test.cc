/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event/random-stream.h"
#include "path/path.h"
#include "support/simulation-test-case.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

/**
 * \file
 * Paths that are not the same all the time: rates in steps, packets that come late, policers.
 */
using namespace tunnelcc;

namespace
{

TEST_SUITE("tunnelcc-path-variation");

RandomStream
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
    void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
    {
        arrivals.push_back({now, packet.segment});
    }

    std::vector<Arrival> arrivals;
};

TEST_CASE(SimulationTestCase,
          RateStepTest,
          "A packet in service when the rate changes is served partly at each")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.rateSteps = {{1'500 * US, 4e6}, {2 * MS, 16e6}, {10 * MS, 8e6}};
    Link link(spec, Stream(1));
    NS_TEST_EXPECT_MSG_EQ(link.Enqueue(0, 1'000), 1'000 * US, "at the first rate");
    // 500 bytes by 1.5 ms, 250 more by 2 ms, the last 250 in 0.125 ms.
    NS_TEST_EXPECT_MSG_EQ(link.Enqueue(0, 1'000), 2'125 * US, "across two changes");
    NS_TEST_EXPECT_MSG_EQ(link.Enqueue(20 * MS, 1'000), 21 * MS, "a change while idle");
    NS_TEST_EXPECT_MSG_EQ_TOL(link.OfferedBytes(3 * MS), 1'500 + 250 + 2'000, 1e-6, "offered");
}

TEST_CASE(SimulationTestCase,
          LatePacketTest,
          "Late packets are overtaken by the ones that left within their delay")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.reorder = 0.2;
    spec.reorderDelay = 2'500 * US;
    PathDirection direction(TestLoop(), spec, PathStreams::Forward(1));
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
        NS_TEST_ASSERT_MSG_EQ((lateness == 0 || lateness == 2'500 * US), true, "on either line");
        late += lateness > 0;
    }
    NS_TEST_EXPECT_MSG_EQ(destination.arrivals.size(), PACKETS, "none is lost");
    NS_TEST_EXPECT_MSG_EQ_TOL(late, 200, 40, "a fifth is late");
}

TEST_CASE(SimulationTestCase, RepeatingRateTest, "Rates repeat, and a rate of 0 holds packets up")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond for 2 ms, nothing for 3 ms, and again
    spec.rateSteps = {{2 * MS, 0}, {5 * MS, 8e6}};
    spec.ratePeriod = 5 * MS;
    Link link(spec, Stream(1));
    std::vector<int64_t> departures;
    for (int i = 0; i < 5; ++i)
    {
        departures.push_back(link.Enqueue(0, 1'000));
    }
    const std::vector<int64_t> expected{MS, 5 * MS, 6 * MS, 10 * MS, 11 * MS};
    NS_TEST_EXPECT_MSG_EQ((departures == expected), true, "departures");
    NS_TEST_EXPECT_MSG_EQ(link.Enqueue(5'003 * MS, 1'000), 5'006 * MS, "a thousand times on");
    NS_TEST_EXPECT_MSG_EQ_TOL(link.OfferedBytes(1'500 * US), 1'500, 1e-6, "at first");
    NS_TEST_EXPECT_MSG_EQ_TOL(link.OfferedBytes(4 * MS), 2'000, 1e-6, "during the outage");
    NS_TEST_EXPECT_MSG_EQ_TOL(link.OfferedBytes(5'001 * MS), 2'001'000, 1e-3, "later");
    LinkSpec late; // begins with an outage
    late.rateSteps = {{MS, 8e6}};
    Link waiting(late, Stream(1));
    NS_TEST_EXPECT_MSG_EQ(waiting.Enqueue(0, 1'000), 2 * MS, "it is a link all the same");
}

TEST_CASE(SimulationTestCase,
          PolicerTest,
          "A policer passes burst plus rate times time, and all of it")
{
    constexpr double RATE = 8e6; // a byte a microsecond
    constexpr uint64_t BURST = 10'000;
    Policer policer({RATE, BURST});
    std::mt19937 random(3);

    struct Passed
    {
        int64_t time;
        double before; //!< bytes that passed earlier
    };

    std::vector<Passed> passed;
    double total = 0;
    double tokens = BURST;
    int64_t now = 0;
    for (int i = 0; i < 3'000; ++i)
    {
        const auto gap = static_cast<int64_t>(random() % (i % 300 < 200 ? 800'000 : 3'000'000));
        now += gap;
        const uint32_t bytes = 40 + random() % 1'461;
        tokens = std::min<double>(BURST, tokens + static_cast<double>(gap) / US);
        const bool passes = policer.Admit(now, bytes);
        NS_TEST_ASSERT_MSG_EQ(passes, (tokens >= bytes), "packet " << i);
        if (passes)
        {
            tokens -= bytes;
            passed.push_back({now, total});
            total += bytes;
            for (const Passed& earlier : passed)
            {
                const double most = BURST + static_cast<double>(now - earlier.time) / US;
                NS_TEST_ASSERT_MSG_LT_OR_EQ(total - earlier.before, most + 1e-6, "conforms");
            }
        }
    }
    NS_TEST_EXPECT_MSG_LT(passed.size(), 2'900, "some are dropped");
}

TEST_CASE(SimulationTestCase,
          PolicerPlaceTest,
          "A policer before the queue keeps it short, one behind sees it smooth")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.policer = PolicerSpec{8e6, 2'000, LinkPosition::BEFORE};
    Link before(spec, Stream(1));
    spec.policer->position = LinkPosition::AFTER;
    Link behind(spec, Stream(1));
    int passedBefore = 0;
    int passedBehind = 0;
    for (int i = 0; i < 10; ++i)
    {
        passedBefore += before.Enqueue(0, 1'000) != Link::DROPPED;
        passedBehind += behind.Enqueue(0, 1'000) != Link::DROPPED;
    }
    NS_TEST_EXPECT_MSG_EQ(passedBefore, 2, "the burst alone");
    NS_TEST_EXPECT_MSG_EQ(before.PolicerDrops().value().all, 8, "the rest");
    NS_TEST_EXPECT_MSG_EQ(before.WaitingBytes(0), 1'000, "one waits");
    NS_TEST_EXPECT_MSG_EQ(passedBehind, 10, "a millisecond apart");
    NS_TEST_EXPECT_MSG_EQ(behind.WaitingBytes(0), 9'000, "all wait");
}

class JitterTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int PACKETS = 20'000;
    static constexpr int64_t DELAY = 10 * MS;

    static std::vector<Arrival> Send(JitterDistribution distribution, bool reorders, int64_t gap)
    {
        Ns3Simulator::Install();
        LinkSpec spec;
        spec.jitter = 2 * MS;
        spec.jitterDistribution = distribution;
        spec.jitterDeviation = distribution == JitterDistribution::LOGNORMAL ? 2 * MS : 500 * US;
        spec.jitterReorders = reorders;
        PathDirection direction(TestLoop(), spec, PathStreams::Forward(1));
        Destination destination;
        Channel channel(direction, DELAY);
        for (int i = 0; i < PACKETS; ++i)
        {
            At(i * gap, [&channel, &destination, i, now = i * gap] {
                Packet packet{};
                packet.sink = &destination;
                packet.segment = i;
                channel.Send(now, packet, 1'000);
            });
        }
        ns3::Simulator::Run();
        return destination.arrivals;
    }

    /// Share of the neighbours that came in the wrong order.
    static double Overtaken(const std::vector<Arrival>& arrivals)
    {
        double overtaken = 0;
        for (size_t i = 1; i < arrivals.size(); ++i)
        {
            overtaken += arrivals[i].segment < arrivals[i - 1].segment;
        }
        return overtaken / PACKETS;
    }

    void DoRun() override
    {
        for (const auto distribution : {JitterDistribution::UNIFORM,
                                        JitterDistribution::EXPONENTIAL,
                                        JitterDistribution::HALF_NORMAL,
                                        JitterDistribution::NORMAL,
                                        JitterDistribution::LOGNORMAL})
        {
            for (const bool reorders : {false, true})
            {
                // Packets far apart are as late as they were drawn.
                const auto apart = Send(distribution, reorders, SECOND);
                NS_TEST_ASSERT_MSG_EQ(apart.size(), PACKETS, "none is lost");
                double sum = 0;
                double squares = 0;
                for (const Arrival& arrival : apart)
                {
                    const int64_t extra = arrival.time - arrival.segment * SECOND - DELAY;
                    NS_TEST_ASSERT_MSG_GT_OR_EQ(extra, 0, "never early");
                    sum += static_cast<double>(extra);
                    squares += std::pow(static_cast<double>(extra), 2);
                }
                if (distribution == JitterDistribution::NORMAL ||
                    distribution == JitterDistribution::LOGNORMAL)
                {
                    const double variance = squares / PACKETS - std::pow(sum / PACKETS, 2);
                    const double expected = distribution == JitterDistribution::NORMAL ? 5e5 : 2e6;
                    NS_TEST_EXPECT_MSG_EQ_TOL(std::sqrt(variance),
                                              expected,
                                              0.1 * expected,
                                              "standard deviation");
                }
                // The standard deviation of a draw is at most its mean.
                const double sigma = 2e6 / std::sqrt(PACKETS);
                NS_TEST_EXPECT_MSG_EQ_TOL(sum / PACKETS,
                                          2e6,
                                          4 * sigma,
                                          NamesOf(distribution)[static_cast<size_t>(distribution)]);
                const auto close = Send(distribution, reorders, 100 * US);
                NS_TEST_ASSERT_MSG_EQ(close.size(), PACKETS, "none is lost");
                NS_TEST_EXPECT_MSG_EQ((Overtaken(close) > 0.1), reorders, "order");
            }
        }
    }
};

ADD_CASE(JitterTest, "Jitter has its mean; packets overtake only where they may");

class DelayStepTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int64_t EXTRA = 1 * MS; // of the flow

    void Check(Handover handover, const std::vector<Arrival>& expected, uint64_t losses)
    {
        Ns3Simulator::Install();
        LinkSpec spec;
        spec.delay = 10 * MS;
        spec.delaySteps = {{100 * MS, 30 * MS}, {200 * MS, 5 * MS}};
        spec.handover = handover;
        PathDirection direction(TestLoop(), spec, PathStreams::Forward(1));
        Destination destination;
        Channel channel(direction, spec.delay + EXTRA);
        uint32_t sent = 0;
        for (const int64_t time : {80, 95, 100, 195, 205})
        {
            At(time * MS, [&channel, &destination, time, number = sent++] {
                Packet packet{};
                packet.sink = &destination;
                packet.segment = number;
                channel.Send(time * MS, packet, 1'000);
            });
        }
        ns3::Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(destination.arrivals.size(), expected.size(), "arrivals");
        for (size_t i = 0; i < expected.size(); ++i)
        {
            const Arrival& arrival = destination.arrivals[i];
            NS_TEST_EXPECT_MSG_EQ(arrival.segment, expected[i].segment, "order");
            NS_TEST_EXPECT_MSG_EQ(arrival.time, expected[i].time * MS + EXTRA, "time");
        }
        NS_TEST_EXPECT_MSG_EQ(direction.GetBottleneck()->RandomLosses().all, losses, "losses");
    }

    void DoRun() override
    {
        Check(Handover::OVERTAKE, {{90, 0}, {105, 1}, {130, 2}, {210, 4}, {225, 3}}, 0);
        Check(Handover::IN_ORDER, {{90, 0}, {105, 1}, {130, 2}, {225, 3}, {225, 4}}, 0);
        Check(Handover::LOST, {{90, 0}, {130, 2}, {210, 4}}, 2);
    }
};

ADD_CASE(DelayStepTest,
         "At a step of the delay, packets in flight are overtaken, or waited "
         "for, or lost");

TEST_CASE(SimulationTestCase, LossStepTest, "Loss has its value of the time, random or periodic")
{
    LinkSpec spec;
    spec.lossSteps = {{10 * MS, 1}, {20 * MS, 0}, {30 * MS, 0.25}};
    spec.lossPattern = LossPattern::PERIODIC;
    Link link(spec, Stream(1));
    std::vector<int64_t> lost;
    for (int64_t time = 0; time < 50; ++time)
    {
        if (link.Enqueue(time * MS, 1'000) == Link::DROPPED)
        {
            lost.push_back(time);
        }
    }
    std::vector<int64_t> expected{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 33, 37, 41, 45, 49};
    NS_TEST_EXPECT_MSG_EQ((lost == expected), true, "every fourth from 30 ms on");
    spec.lossPattern = LossPattern::RANDOM;
    spec.lossSteps = {{10 * MS, 0.3}, {20 * SECOND, 0}};
    Link random(spec, Stream(2));
    for (int64_t time = 0; time < 30'000; ++time)
    {
        random.Enqueue(time * MS, 1'000);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(random.RandomLosses().all, 0.3 * 19'990, 260, "four sigma");
}

class BufferStepTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    template <class Offer>
    static int Accepted(int packets, Offer offer)
    {
        int accepted = 0;
        for (int i = 0; i < packets; ++i)
        {
            accepted += offer();
        }
        return accepted;
    }

    void DoRun() override
    {
        LinkSpec spec;
        spec.rate = 8e6; // 1000 bytes a millisecond
        spec.bufferBytes = 2'000;
        spec.bufferSteps = {{10 * MS, 0, 5}, {12 * MS, 1'000, 0}, {50 * MS, 0, 0}};
        Link link(spec, Stream(1));
        auto at = [&](int64_t now) {
            return [&link, now] { return link.Enqueue(now, 1'000) != Link::DROPPED; };
        };
        NS_TEST_EXPECT_MSG_EQ(Accepted(9, at(0)), 3, "one in service, two wait");
        NS_TEST_EXPECT_MSG_EQ(Accepted(9, at(10 * MS)), 6, "one in service, five wait");
        NS_TEST_EXPECT_MSG_EQ(link.WaitingBytes(12 * MS), 3'000, "they stay");
        NS_TEST_EXPECT_MSG_EQ(Accepted(9, at(12 * MS)), 0, "three wait");
        NS_TEST_EXPECT_MSG_EQ(Accepted(9, at(15 * MS)), 1, "none waits, one is in service");
        NS_TEST_EXPECT_MSG_EQ(Accepted(9, at(50 * MS)), 9, "without a limit");

        spec.queue = CodelSpec{.target = 5 * SECOND, .interval = 100 * SECOND};
        QueuedLink queued(TestLoop(), spec, Stream(1), Stream(2));
        PathDirection behind(TestLoop());
        Propagation& exit = behind.PropagationOf(0);
        Destination destination;
        Packet packet{};
        packet.sink = &destination;
        for (const auto& [now, drops] : {std::pair{0, 6}, {10, 9}, {12, 18}, {50, 18}})
        {
            for (int i = 0; i < 9; ++i)
            {
                queued.Enqueue(now * MS, packet, 1'000, nullptr, 0, exit);
            }
            NS_TEST_EXPECT_MSG_EQ(queued.Drops().all, drops, "a queue discipline at " << now);
        }
    }
};

ADD_CASE(BufferStepTest, "A buffer has its size of the time; what waits in it stays");

} // namespace
