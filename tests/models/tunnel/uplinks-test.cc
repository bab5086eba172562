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
#include "tunnel/uplinks.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <optional>
#include <random>
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

TEST_CASE(ns3::TestCase,
          ReorderingOfAllTest,
          "Of any order, shares and extents are those of RFC 4737, sections 3.3 and 4.2")
{
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round)
    {
        // Each is up to 40 places late.
        std::vector<std::pair<uint32_t, int64_t>> order;
        for (int64_t number = 0; number < 300; ++number)
        {
            order.emplace_back(static_cast<uint32_t>(number) + random() % 40, number);
        }
        std::sort(order.begin(), order.end());
        ReorderingMeter meter;
        uint64_t reordered = 0;
        uint64_t extents = 0;
        uint64_t longest = 0;
        for (size_t i = 0; i < order.size(); ++i)
        {
            meter.Count(order[i].second);
            // The extent: to the earliest arrival that has a greater number.
            for (size_t j = 0; j < i; ++j)
            {
                if (order[j].second > order[i].second)
                {
                    ++reordered;
                    extents += i - j;
                    longest = std::max<uint64_t>(longest, i - j);
                    break;
                }
            }
        }
        const auto count = static_cast<double>(reordered);
        NS_TEST_EXPECT_MSG_EQ_TOL(meter.Share(), count / 300, 1e-12, "share");
        NS_TEST_EXPECT_MSG_EQ_TOL(meter.MeanExtent(),
                                  static_cast<double>(extents) / count,
                                  1e-9,
                                  "mean extent");
        NS_TEST_EXPECT_MSG_EQ(meter.LongestExtent(), longest, "longest extent");
    }
    ReorderingMeter none;
    NS_TEST_EXPECT_MSG_EQ(none.Share(), 0, "of none");
    none.Count(0);
    NS_TEST_EXPECT_MSG_EQ(none.MeanExtent(), 0, "of none");
    // What it remembers: 2^14 numbers.
    for (const int64_t ahead : {16'384, 16'385})
    {
        ReorderingMeter far;
        far.Count(0);
        far.Count(1 + ahead);
        far.Count(1);
        NS_TEST_EXPECT_MSG_EQ(far.LongestExtent(), (ahead < 16'384 ? 1 : 16'384), ahead);
        far.Count(3 + ahead - 16'384);
        NS_TEST_EXPECT_MSG_EQ_TOL(far.MeanExtent(), (16'384 + 2) / 2.0, 1e-9, "remembered");
    }
}

TEST_CASE(ns3::TestCase,
          RouteRttAverageTest,
          "The RTT of a route gains an eighth of a sample, its variation a quarter, up to 5 s")
{
    RouteRtt rtt;
    // Stamps of the other end that come back after an RTT, as if it held them for no time.
    auto sample = [&](int64_t now, int64_t length) {
        return rtt.OnArrival(now, {now, now - length});
    };
    NS_TEST_EXPECT_MSG_EQ(sample(10 * SECOND, 5 * SECOND), false, "5 s are no RTT");
    NS_TEST_EXPECT_MSG_EQ(sample(10 * SECOND, 5 * SECOND - 1), true, "less is");
    RouteRtt other;
    double smoothed = 80e6;
    double variation = 40e6;
    other.OnArrival(SECOND, {SECOND, SECOND - 80 * MS});
    NS_TEST_EXPECT_MSG_EQ(other.Longest(), 240 * MS, "80 and 4 · 40");
    for (const int64_t length : {100 * MS, 60 * MS, 90 * MS})
    {
        other.OnArrival(SECOND, {SECOND, SECOND - length});
        const auto is = static_cast<double>(length);
        variation = 0.75 * variation + 0.25 * std::fabs(smoothed - is);
        smoothed = 0.875 * smoothed + 0.125 * is;
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(other.Longest()),
                                  smoothed + 4 * variation,
                                  1,
                                  "as mlvpn_protocol_read()");
    }
    // A stamp goes back within a second, later by how long it was held.
    RouteRtt held;
    held.OnArrival(2 * SECOND, {5 * MS, INT64_MIN});
    NS_TEST_EXPECT_MSG_EQ(held.Stamp(3 * SECOND - 1).echoed, 5 * MS + SECOND - 1, "just in time");
    NS_TEST_EXPECT_MSG_EQ(held.Stamp(3 * SECOND - 1).echoed, INT64_MIN, "once");
    held.OnArrival(4 * SECOND, {6 * MS, INT64_MIN});
    NS_TEST_EXPECT_MSG_EQ(held.Stamp(5 * SECOND).echoed, INT64_MIN, "not after a second");
    NS_TEST_EXPECT_MSG_EQ(held.Stamp(4 * SECOND + 1).echoed,
                          6 * MS + 1,
                          "an old stamp is not used up");
    NS_TEST_EXPECT_MSG_EQ(held.Stamp(5 * SECOND).sent, 5 * SECOND, "its own time");
}

TEST_CASE(ns3::TestCase,
          MeasuredRateEdgesTest,
          "A route is full if probes come more than an eighth further apart than they left")
{
    auto after = [](int64_t came, uint64_t arrived) {
        MeasuredRate rate(8e6);
        rate.OnArrived(10 * MS, rate.OnSent(0), 1'000);
        rate.OnAnswer(0);
        rate.OnArrived(10 * MS + came, rate.OnSent(80 * MS), arrived);
        rate.OnAnswer(1);
        return rate.Rate();
    };
    NS_TEST_EXPECT_MSG_EQ_TOL(after(90 * MS, 91'000), 8e6, 1e-6, "9/8 of 80 ms are not more");
    NS_TEST_EXPECT_MSG_EQ_TOL(after(90 * MS + 1, 91'000), 7.0 / 8 * 1e6, 1, "1 MB/s arrived");
    NS_TEST_EXPECT_MSG_EQ_TOL(after(100 * MS, 1'000), 8e6, 1e-6, "nothing arrived in between");

    // Answers that are overtaken, or of probes that are forgotten, tell nothing.
    MeasuredRate rate(1e6);
    auto probe = [&](int64_t sent, int64_t came, uint64_t arrived) {
        const uint32_t number = rate.OnSent(sent);
        rate.OnArrived(came, number, arrived);
        return number;
    };
    rate.OnAnswer(probe(0, 10 * MS, 1'000));
    rate.OnAnswer(probe(100 * MS, 310 * MS, 101'000));
    const double slow = 7.0 / 8 * 100'000 / 0.3;
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), slow, 1, "100 kB in 300 ms");
    rate.OnAnswer(probe(100 * MS, 320 * MS, 102'000));
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), slow, 1, "sent at the same time");
    rate.OnAnswer(probe(200 * MS, 310 * MS, 103'000));
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), slow, 1, "came at the same time");
    rate.OnAnswer(probe(300 * MS, 500 * MS, 101'000));
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), slow, 1, "no more has arrived");
    const uint32_t old = probe(400 * MS, 600 * MS, 200'000);
    for (int i = 0; i < 127; ++i)
    {
        rate.OnSent(500 * MS);
    }
    rate.OnAnswer(old);
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), 1.1 * slow, 1, "128 are kept");
    const uint32_t older = probe(700 * MS, 800 * MS, 300'000);
    for (int i = 0; i < 128; ++i)
    {
        rate.OnSent(800 * MS);
    }
    rate.OnAnswer(older);
    NS_TEST_EXPECT_MSG_EQ_TOL(rate.Rate(), 1.1 * slow, 1, "and no more");
}

TEST_CASE(ns3::TestCase,
          WeightedTurnsTest,
          "Turns by weights among routes that work are those of the sources, step by step")
{
    std::mt19937 random(7);
    for (int round = 0; round < 30; ++round)
    {
        const size_t count = 2 + random() % 3;
        std::vector<double> weights;
        for (size_t i = 0; i < count; ++i)
        {
            weights.push_back(static_cast<double>(1 + random() % 9));
        }
        Turns smooth(UplinkTurns::SMOOTH, weights);
        Turns countdown(UplinkTurns::COUNTDOWN, weights);
        std::vector<double> gained(count, 0);
        std::vector<double> counts(count, 0);
        for (int turn = 0; turn < 60; ++turn)
        {
            std::vector<bool> works(count);
            for (size_t i = 0; i < count; ++i)
            {
                works[i] = random() % 4 > 0;
            }
            const bool hasAny = std::find(works.begin(), works.end(), true) != works.end();
            auto isIn = [&](size_t i) { return works[i] || !hasAny; };
            double total = 0;
            for (size_t i = 0; i < count; ++i)
            {
                total += isIn(i) ? weights[i] : 0;
            }
            // ngx_http_upstream_get_peer(): all gain, the first with the most loses the total.
            size_t most = count;
            // mlvpn_rtun_wrr_choose(): the first with the least; then all above 0 fall by 1.
            size_t least = count;
            for (size_t i = 0; i < count; ++i)
            {
                if (!isIn(i))
                {
                    continue;
                }
                gained[i] += weights[i];
                most = most == count || gained[i] > gained[most] ? i : most;
                least = least == count || counts[i] < counts[least] ? i : least;
            }
            gained[most] -= total;
            for (double& it : counts)
            {
                it = it > 0 ? it - 1 : it;
            }
            counts[least] = total / weights[least];
            NS_TEST_ASSERT_MSG_EQ(smooth.Next(works), most, "smooth, turn " << turn);
            NS_TEST_ASSERT_MSG_EQ(countdown.Next(works), least, "countdown, turn " << turn);
        }
    }
    Turns three(UplinkTurns::RANDOM, {1, 2, 5});
    std::vector<double> taken(3, 0);
    for (int i = 0; i < 16'000; ++i)
    {
        taken[three.Next({true, true, true})] += 1.0 / 2'000;
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(taken[0], 1, 0.1, "an eighth");
    NS_TEST_EXPECT_MSG_EQ_TOL(taken[1], 2, 0.12, "a quarter");
    NS_TEST_EXPECT_MSG_EQ_TOL(taken[2], 5, 0.15, "the rest");
}

/// Two ends of a tunnel with two routes, whose delays and losses the test sets.
class UplinkPair
{
  public:
    static constexpr uint32_t PROBE_BYTES = 60;

    explicit UplinkPair(const UplinksSpec& spec, const std::vector<double>& weights = {})
        : m_spec(spec)
    {
        for (size_t end = 0; end < 2; ++end)
        {
            std::vector<Uplinks::Ways> ways;
            for (size_t route = 0; route < 2; ++route)
            {
                ways.push_back({Channel(m_ways[end][route][0]), Channel(m_ways[end][route][1])});
            }
            ends.emplace_back(TestLoop(),
                              m_spec,
                              weights,
                              ways,
                              end == 0 ? 0 : 500 * MS,
                              MakeRandomStream(1, RandomComponent::UPLINK_TURNS));
        }
        Uplinks::Join(ends[0], ends[1]);
    }

    /// Settings of EthUDP's probes: each second, 5 to fail, 4 to return.
    static UplinksSpec Spec(UplinkUse use)
    {
        UplinksSpec spec;
        spec.use = use;
        spec.turns = UplinkTurns::SMOOTH;
        spec.interval = SECOND;
        spec.probe = PROBE_BYTES;
        spec.failAfter = 5;
        spec.returnAfter = 4;
        return spec;
    }

    /// Send a datagram of 100 bytes from the first end. \param kind FRAGMENT: it goes on
    void Send(int64_t now, PacketSink& sink, PacketKind kind = PacketKind::DATAGRAM)
    {
        Packet packet{};
        packet.kind = kind;
        packet.datagramBytes = 100;
        packet.sink = &sink;
        ends[0].Send(now, packet, 100, nullptr);
    }

    /// What passed a way: the routes of packets, in order.
    std::string Routes()
    {
        return std::exchange(m_routes, {});
    }

    /// Break a route for what the second end sends, its answers among it, and for all else.
    void Break(size_t route, bool isBroken)
    {
        for (auto& end : m_ways)
        {
            for (Way& way : end[route])
            {
                way.isBroken = isBroken;
            }
        }
    }

    void Delay(size_t route, int64_t delay)
    {
        for (auto& end : m_ways)
        {
            for (Way& way : end[route])
            {
                way.delay = delay;
            }
        }
    }

    uint32_t Probes() const
    {
        return m_probes;
    }

    std::deque<Uplinks> ends;

  private:
    struct Way final : PacketDevice
    {
        Way(UplinkPair& itsPair, size_t itsEnd, size_t itsRoute, bool areProbes)
            : pair(itsPair),
              end(itsEnd),
              route(itsRoute),
              isProbes(areProbes)
        {
        }

        void Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras*) override
        {
            if (end == 0 && !isProbes)
            {
                pair.m_routes += static_cast<char>('0' + route);
            }
            pair.m_probes += isProbes && ipBytes == PROBE_BYTES;
            if (!isBroken && packet.kind != PacketKind::FRAGMENT)
            {
                At(now + delay,
                   [packet, at = now + delay] { packet.sink->Receive(at, packet, nullptr); });
            }
        }

        template <class F>
        static void At(int64_t time, F function)
        {
            ns3::Simulator::Schedule(ns3::NanoSeconds(time) - ns3::Simulator::Now(), function);
        }

        UplinkPair& pair;
        size_t end;
        size_t route;
        bool isProbes;
        bool isBroken{false};
        int64_t delay{10 * MS};
    };

    const UplinksSpec m_spec;
    std::string m_routes;
    uint32_t m_probes{0};
    Way m_ways[2][2][2]{
        {{{*this, 0, 0, false}, {*this, 0, 0, true}}, {{*this, 0, 1, false}, {*this, 0, 1, true}}},
        {{{*this, 1, 0, false}, {*this, 1, 0, true}}, {{*this, 1, 1, false}, {*this, 1, 1, true}}}};
};

/// Notes the numbers of datagrams that leave the tunnel.
struct Arrivals final : PacketSink
{
    void Receive(int64_t now, const Packet& packet, const PacketExtras*) override
    {
        numbers.push_back(packet.time);
        latest = now;
        isOwn = isOwn && packet.sink == this;
    }

    std::vector<int64_t> numbers;
    int64_t latest{-1};
    bool isOwn{true};
};

TEST_CASE(SimulationTestCase,
          UplinkFailureTest,
          "A route fails when its last answer is more than 5 counts old, and is back below 4")
{
    UplinkPair pair(UplinkPair::Spec(UplinkUse::FAIL_OVER));
    Arrivals arrivals;
    // Counts are 1 at 0 s, 2 at 1 s. The answer to the probe of 2 s comes at 2.02 s: count 3.
    At(2400 * MS, [&] { pair.Break(0, true); });
    for (int64_t half = 1; half < 26; half += 2)
    {
        At(half * 500 * MS, [&, half] { pair.Send(half * 500 * MS, arrivals); });
    }
    // At 8 s the count is 9 > 3 + 5; the route is back when an answer is that of the count before.
    At(10'600 * MS, [&] { pair.Break(0, false); });
    RunUntil(13 * SECOND);
    // 0.5 to 7.5 s, 8.5 to 11.5 s, 12.5 s: the answer to the probe of 11 s has count 12, and
    // 13 < 12 + 4 at 12 s.
    NS_TEST_EXPECT_MSG_EQ(pair.Routes(), "0000000011110", "fails at 8 s, is back at 12 s");
    NS_TEST_EXPECT_MSG_EQ(arrivals.numbers.size(), 13 - 6, "those of 2.5 to 7.5 s are lost");
    NS_TEST_EXPECT_MSG_EQ(arrivals.isOwn, true, "to whom they are for");
    // The ends send 14 and 13 probes over each route; what came was answered, but for that of 13 s.
    constexpr uint32_t BROKEN = (3 + 2) + (2 + 2); // before and after
    NS_TEST_EXPECT_MSG_EQ(pair.Probes(), 2 * (14 + 13) + (13 + 13) + BROKEN, "with answers");

    UplinkPair none(UplinkPair::Spec(UplinkUse::FAIL_OVER));
    none.Break(0, true);
    none.Break(1, true);
    At(30 * SECOND, [&] { none.Send(30 * SECOND, arrivals); });
    RunUntil(31 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(none.Routes(), "1", "if none answers, the last one");
}

TEST_CASE(SimulationTestCase,
          UplinkReturnTest,
          "A route that answers again, but 4 counts ago, is not back yet")
{
    UplinksSpec spec = UplinkPair::Spec(UplinkUse::FAIL_OVER);
    UplinkPair pair(spec);
    Arrivals arrivals;
    pair.Break(0, true);
    // It never answered: count 6 at 5 s is more than 5. One answer at 10.02 s has count 11.
    At(9500 * MS, [&] { pair.Break(0, false); });
    At(10'050 * MS, [&] { pair.Break(0, true); });
    std::string taken;
    for (const int64_t at : {4500 * MS, 5500 * MS, 10'900 * MS, 11'100 * MS, 16'500 * MS})
    {
        At(at, [&, at] { pair.Send(at, arrivals); });
    }
    // Count 12 < 11 + 4 at 11 s; 17 > 11 + 5 at 16 s.
    RunUntil(17 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(pair.Routes(), "01101", "back at 11 s, and failed again at 16 s");
}

TEST_CASE(SimulationTestCase,
          UplinkTurnsTest,
          "With PACKETS each packet has its turn, with WEIGHTS each datagram, which is numbered")
{
    Arrivals arrivals;
    auto send = [&](UplinkPair& pair) {
        for (int i = 0; i < 3; ++i)
        {
            pair.Send(MS, arrivals, PacketKind::FRAGMENT);
            pair.Send(MS, arrivals);
        }
    };
    UplinkPair packets(UplinkPair::Spec(UplinkUse::PACKETS));
    At(MS, [&] { send(packets); });
    RunUntil(100 * MS);
    NS_TEST_EXPECT_MSG_EQ(packets.Routes(), "010101", "fragments, too");
    NS_TEST_EXPECT_MSG_EQ((arrivals.numbers == std::vector<int64_t>{0, 1, 2}), true, "numbered");
    UplinksSpec spec = UplinkPair::Spec(UplinkUse::WEIGHTS);
    spec.interval = 0; // no probes
    UplinkPair datagrams(spec, {2, 1});
    At(100 * MS, [&] { send(datagrams); });
    RunUntil(200 * MS);
    NS_TEST_EXPECT_MSG_EQ(datagrams.Routes(), "001100", "2 to 1, fragments together");
    NS_TEST_EXPECT_MSG_EQ(datagrams.Probes(), 0, "none");
    NS_TEST_EXPECT_MSG_EQ(arrivals.numbers.size(), 6, "each once");
}

TEST_CASE(SimulationTestCase,
          UplinkRttTest,
          "The longest RTT of the routes is told as packets of both ends measure it")
{
    struct Told final : LongestRtt
    {
        void Set(int64_t rtt) override
        {
            latest = rtt;
        }

        int64_t latest{0};
    } told;

    UplinksSpec spec = UplinkPair::Spec(UplinkUse::PACKETS);
    UplinkPair pair(spec);
    pair.Delay(1, 25 * MS);
    pair.ends[0].SetRttUser(told);
    Arrivals arrivals;
    auto back = [&](int64_t now) {
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.sink = &arrivals;
        pair.ends[1].Send(now, packet, 100, nullptr);
        pair.ends[1].Send(now, packet, 100, nullptr);
    };
    At(0, [&] {
        pair.Send(0, arrivals);
        pair.Send(0, arrivals);
    });
    At(100 * MS, [&] { back(100 * MS); });
    RunUntil(120 * MS);
    NS_TEST_EXPECT_MSG_EQ(told.latest, 3 * 20 * MS, "20 ms, and 4 times a half, over the first");
    RunUntil(130 * MS);
    NS_TEST_EXPECT_MSG_EQ(told.latest, 3 * 50 * MS, "the longer one, over the second");
    At(150 * MS, [&] {
        pair.Send(150 * MS, arrivals);
        pair.Send(150 * MS, arrivals);
    });
    At(200 * MS, [&] { back(200 * MS); });
    RunUntil(212 * MS);
    NS_TEST_EXPECT_MSG_EQ(told.latest, 3 * 50 * MS, "still the longer one");
}

/// What reads packets of the device as long as it may.
struct Device final : private PacketHandler
{
    explicit Device(UplinkPair& itsPair)
        : pair(itsPair),
          server(thread, {0, 0}, 0)
    {
        pair.ends[0].Hold(server);
    }

    void Offer(int64_t now, int count)
    {
        for (int i = 0; i < count; ++i)
        {
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            server.Enqueue(now, packet, 100, nullptr, *this);
        }
    }

    void OnHandled(int64_t now, Packet&, uint32_t, const PacketExtras*) override
    {
        ++read;
        pair.Send(now, arrivals);
    }

    UplinkPair& pair;
    Cores cores{TestLoop(), 1, 0};
    Cpu cpu{cores, 1};
    CpuThread thread{cpu};
    PacketServer server;
    Arrivals arrivals;
    int read{0};
};

TEST_CASE(SimulationTestCase,
          UplinkHoldTest,
          "With MEASURED, a program reads while it may send 1500 bytes, which the rates fill each "
          "millisecond")
{
    UplinkPair pair(UplinkPair::Spec(UplinkUse::MEASURED), {400e3, 100e3}); // 500 bytes a ms
    Device device(pair);
    At(100 * MS, [&] { device.Offer(100 * MS, 200); });
    RunUntil(100 * MS);
    // 20 ms' worth are 10,000 bytes. The first packet finds nothing, and then all of that: it reads
    // until less than 1500 are left, of 100 each.
    NS_TEST_EXPECT_MSG_EQ(device.read, 1 + 86, "the first costs nothing: 10,000 − 8600 < 1500");
    NS_TEST_EXPECT_MSG_EQ(device.server.IsBlocked(), true, "no more");
    // More than a millisecond later 1400 + 500 bytes: five packets.
    RunUntil(101 * MS);
    NS_TEST_EXPECT_MSG_EQ(device.read, 87, "not at a millisecond");
    RunUntil(101 * MS + 1);
    NS_TEST_EXPECT_MSG_EQ(device.read, 87 + 5, "then down to 1400 again");
    RunUntil(110 * MS + 100);
    NS_TEST_EXPECT_MSG_EQ(device.read, 87 + 10 * 5, "and so on");
    const std::string routes = pair.Routes();
    const auto first = std::count(routes.begin(), routes.end(), '0');
    NS_TEST_EXPECT_MSG_EQ(first, 110, "four of five of 137, by their rates");
}

} // namespace
