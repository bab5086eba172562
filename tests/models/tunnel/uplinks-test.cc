/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what a tunnel does with several routes: whose turn it is, in which order packets leave,
 * and what is told of their order.
 */
#include "support/simulation-test-case.h"
#include "tunnel/measured-rate.h"
#include "tunnel/reorder-buffer.h"
#include "tunnel/route-rtt.h"
#include "tunnel/turns.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-uplinks");

/// So many turns, as digits.
std::string
Taken(UplinkTurns how, const std::vector<double>& weights, size_t count)
{
    Turns turns(how, weights);
    const std::vector<bool> works(weights.size(), true);
    std::string taken;
    for (size_t i = 0; i < count; ++i)
    {
        taken += static_cast<char>('0' + turns.Next(works));
    }
    return taken;
}

TEST_CASE(ns3::TestCase, SmoothTurnsTest, "Routes take turns as evenly as their weights allow")
{
    NS_TEST_EXPECT_MSG_EQ(Taken(UplinkTurns::SMOOTH, {1, 1, 1}, 7), "0120120", "equal weights");
    NS_TEST_EXPECT_MSG_EQ(Taken(UplinkTurns::SMOOTH, {5, 1, 1}, 7), "0010200", "as nginx's");
    NS_TEST_EXPECT_MSG_EQ(Taken(UplinkTurns::SMOOTH, {60, 40}, 10), "0101001010", "3 to 2");
}

TEST_CASE(ns3::TestCase,
          CountdownTurnsTest,
          "MLVPN's turns have their weights where shares are parts of one")
{
    NS_TEST_EXPECT_MSG_EQ(Taken(UplinkTurns::COUNTDOWN, {1, 1}, 6), "010101", "halves");
    NS_TEST_EXPECT_MSG_EQ(Taken(UplinkTurns::COUNTDOWN, {4, 1}, 11), "01000010000", "4 to 1");
    const std::string taken = Taken(UplinkTurns::COUNTDOWN, {60, 40}, 100);
    NS_TEST_EXPECT_MSG_EQ(std::count(taken.begin(), taken.end(), '0'), 50, "not 60");
}

TEST_CASE(ns3::TestCase, RandomTurnsTest, "At random, routes have the shares of their weights")
{
    Turns turns(UplinkTurns::RANDOM, {3, 1});
    const std::vector<bool> both{true, true};
    auto firsts = [&](const std::vector<bool>& works) {
        size_t count = 0;
        for (size_t i = 0; i < 10'000; ++i)
        {
            count += turns.Next(works) == 0;
        }
        return static_cast<double>(count) / 10'000;
    };
    NS_TEST_EXPECT_MSG_EQ_TOL(firsts(both), 0.75, 0.02, "3 to 1");
    turns.SetWeight(0, 1);
    NS_TEST_EXPECT_MSG_EQ_TOL(firsts(both), 0.5, 0.02, "1 to 1");
    NS_TEST_EXPECT_MSG_EQ(firsts({false, true}), 0, "only those that work");
}

TEST_CASE(ns3::TestCase,
          MeasuredRateTest,
          "A rate falls below what arrives where probes come late, and else grows to the most")
{
    MeasuredRate rate(1e6);
    auto probe = [&](int64_t sent, int64_t came, uint64_t arrived) {
        const uint32_t number = rate.OnSent(sent);
        rate.OnArrived(came, number, arrived);
        rate.OnAnswer(number);
        return rate.Rate();
    };
    NS_TEST_EXPECT_MSG_EQ_TOL(probe(0, 10 * MS, 100), 1e6, 1e-6, "the most: nothing to compare");
    NS_TEST_EXPECT_MSG_EQ_TOL(probe(100 * MS, 110 * MS, 90'100), 1e6, 1e-6, "not more than that");
    NS_TEST_EXPECT_MSG_EQ_TOL(probe(200 * MS, 222 * MS, 100'100), 1e6, 1e-6, "112 of 100 ms");
    NS_TEST_EXPECT_MSG_EQ_TOL(probe(300 * MS, 347 * MS, 150'100), 350e3, 1e-6, "125 of 100 ms");
    NS_TEST_EXPECT_MSG_EQ_TOL(probe(400 * MS, 447 * MS, 200'100), 385e3, 1e-6, "a tenth more");
    const uint32_t lost = rate.OnSent(500 * MS);
    rate.OnAnswer(lost);
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), 385e3, 1e-6, "no answer without an arrival");
    const uint32_t old = rate.OnSent(600 * MS);
    rate.OnArrived(650 * MS, old, 250'100);
    probe(700 * MS, 750 * MS, 300'100);
    const double before = rate.Rate();
    rate.OnAnswer(old);
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), before, 1e-6, "an overtaken answer tells nothing");
}

TEST_CASE(ns3::TestCase, FailedTurnsTest, "A route that fails has no turn, unless all do")
{
    Turns turns(UplinkTurns::SMOOTH, {1, 1, 1});
    std::string taken;
    for (const auto& works : std::vector<std::vector<bool>>{{true, false, true},
                                                            {true, false, true},
                                                            {false, true, false},
                                                            {true, false, true},
                                                            {true, false, true}})
    {
        taken += static_cast<char>('0' + turns.Next(works));
    }
    NS_TEST_EXPECT_MSG_EQ(taken, "02102", "only those that work");
    Turns all(UplinkTurns::SMOOTH, {1, 1});
    const std::vector<bool> none{false, false};
    const size_t first = all.Next(none);
    NS_TEST_EXPECT_MSG_NE(first, all.Next(none), "both");
}

TEST_CASE(ns3::TestCase, ReorderingMeterTest, "Shares and extents are those of RFC 4737")
{
    ReorderingMeter meter;
    for (int64_t number : {0, 1, 3, 4, 5, 2, 6, 9, 8, 7}) // one is 3 late, one 1, one 2
    {
        meter.Count(number);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.Share(), 0.3, 1e-12, "2, 8 and 7");
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.MeanExtent(), 2, 1e-12, "3, 1 and 2");
    NS_TEST_EXPECT_MSG_EQ(meter.LongestExtent(), 3, "that of 2: 3 came 3 arrivals ago");
    meter.StartMeasuring();
    meter.Count(10);
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.Share(), 0, 1e-12, "what was before does not count");
    meter.Count(100'000);
    meter.Count(11);
    NS_TEST_EXPECT_MSG_EQ(meter.LongestExtent(), 16384, "further back than it remembers");
}

TEST_CASE(ns3::TestCase,
          RouteRttTest,
          "Both ends' packets measure the RTT, less what stamps are held")
{
    RouteRtt near;
    RouteRtt far;
    NS_TEST_EXPECT_MSG_EQ(near.Longest(), 0, "nothing is known");
    NS_TEST_EXPECT_MSG_EQ(far.OnArrival(20 * MS, near.Stamp(0)), false, "no stamp came back");
    NS_TEST_EXPECT_MSG_EQ(near.OnArrival(80 * MS, far.Stamp(50 * MS)), true, "held for 30 ms");
    NS_TEST_EXPECT_MSG_EQ(near.Longest(), 150 * MS, "50 ms, and 4 times a half");
    NS_TEST_EXPECT_MSG_EQ(near.OnArrival(90 * MS, far.Stamp(60 * MS)), false, "once for a stamp");
    NS_TEST_EXPECT_MSG_EQ(far.OnArrival(5 * SECOND, near.Stamp(4 * SECOND)),
                          false,
                          "not after a second");
}

/// A reorder buffer, and what leaves it.
class Buffer final : private PacketSink
{
  public:
    explicit Buffer(const std::optional<ReorderSpec>& spec)
        : buffer(TestLoop(), spec)
    {
    }

    void Offer(int64_t now, std::initializer_list<int64_t> numbers)
    {
        for (int64_t number : numbers)
        {
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.time = number;
            packet.sink = this;
            buffer.OnHandled(now, packet, 100, nullptr);
        }
    }

    /// What has left since the last call.
    std::vector<int64_t> Left()
    {
        return std::exchange(m_left, {});
    }

    ReorderBuffer buffer;

  private:
    void Receive(int64_t /* now */, const Packet& packet, const PacketExtras* /* extras */) override
    {
        m_left.push_back(packet.time);
    }

    std::vector<int64_t> m_left;
};

using SequenceNumbers = std::vector<int64_t>;

TEST_CASE(SimulationTestCase, NoBufferTest, "Without a buffer, packets leave as they come")
{
    Buffer it(std::nullopt);
    At(0, [&] { it.Offer(0, {1, 0, 3, 2}); });
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{1, 0, 3, 2}), true, "in that order");
    NS_TEST_EXPECT_MSG_EQ_TOL(it.buffer.Report().left.Share(), 0.5, 1e-12, "0 and 2");
}

TEST_CASE(SimulationTestCase, ReorderBufferTest, "A buffer puts packets into order")
{
    Buffer it(ReorderSpec{8, 50 * MS, false, 0});
    At(0, [&] { it.Offer(0, {0, 2, 3}); });
    At(10 * MS, [&] {
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{0}), true, "1 is missing");
        it.Offer(10 * MS, {1});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{1, 2, 3}), true, "1 came");
        it.Offer(10 * MS, {5, 6});
    });
    At(30 * MS, [&] { it.Offer(30 * MS, {8}); });
    At(60 * MS - 1, [&] { NS_TEST_EXPECT_MSG_EQ(it.Left().empty(), true, "they wait for 4"); });
    At(60 * MS + 1, [&] {
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{5, 6}),
                              true,
                              "for 50 ms, and 8 still does");
        it.Offer(60 * MS + 1, {4});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{4}),
                              true,
                              "too late, it leaves at once");
    });
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{8}), true, "after its own 50 ms");
    const UplinksReport told = it.buffer.Report();
    NS_TEST_EXPECT_MSG_EQ(told.givenUp, 2, "4 and 7");
    NS_TEST_EXPECT_MSG_EQ(told.late, 1, "4");
    NS_TEST_EXPECT_MSG_EQ_TOL(told.waited.Mean() * 8, 2.0 * 10 * MS + 3.0 * 50 * MS, 1, "in all");
}

TEST_CASE(SimulationTestCase, FullReorderBufferTest, "A full buffer gives up the first it lacks")
{
    Buffer it(ReorderSpec{4, SECOND, false, 0});
    At(0, [&] {
        it.Offer(0, {0, 2, 4});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{0}), true, "1 is missing");
        it.Offer(0, {5});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{2}),
                              true,
                              "2 to 5 fit; now 3 is missing");
        it.Offer(0, {100});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{4, 5}), true, "97 to 100 fit");
    });
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{100}), true, "its time came");
}

TEST_CASE(SimulationTestCase, MlvpnBufferTest, "MLVPN's buffer is emptied when nothing comes")
{
    Buffer it(ReorderSpec{4, 50 * MS, true, 6});
    At(0, [&] { it.Offer(0, {0, 2}); });
    At(40 * MS, [&] { it.Offer(40 * MS, {4, 3}); });
    At(80 * MS, [&] {
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{0}),
                              true,
                              "each packet begins the time anew");
        it.Offer(80 * MS, {0, 9});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{0, 9}),
                              true,
                              "one is late, and one twice as far as there is room");
    });
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{2, 4, 3, 0, 9}),
                          true,
                          "as they came, and late ones once more");
    At(SECOND, [&] {
        it.Offer(SECOND, {50, 49, 51, 48, 47, 46, 45, 44, 53});
        NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{50, 49, 51, 48, 47, 46, 45, 44, 53}),
                              true,
                              "six late ones take all places, and then packets pass");
    });
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ((it.Left() == SequenceNumbers{49, 48, 47, 46, 45, 44}),
                          true,
                          "once more");
}

} // namespace
