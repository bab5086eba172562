/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the parts of QUIC by numbers that follow from RFC 9000, RFC 9002 and quic-go's source:
 * when packets are lost, when they are acknowledged, windows of flow control, pacing, the search
 * for larger packets.
 */
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <random>
#include <set>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-recovery");

using Numbers = std::vector<uint64_t>;

TEST_CASE(ns3::TestCase,
          PacketThresholdTest,
          "A packet is lost when one three numbers higher is acknowledged")
{
    AckedPackets it(MakeQuic().loss);
    for (int64_t i = 0; i < 8; ++i)
    {
        it.Send(i * 100 * US);
    }
    auto outcome = it.Ack(100 * MS, {{0, 1}, {2, 4}}); // 1 is missing, 3 − 1 = 2
    NS_TEST_EXPECT_MSG_EQ((outcome.acked == Numbers{0, 2, 3}), true, "what it reports");
    NS_TEST_EXPECT_MSG_EQ(outcome.lost.empty(), true, "two higher do not do");
    outcome = it.Ack(100'100 * US, {{0, 1}, {2, 5}}); // 4 − 1 = 3
    NS_TEST_EXPECT_MSG_EQ((outcome.acked == Numbers{4}), true, "only what is new");
    NS_TEST_EXPECT_MSG_EQ((outcome.lost == Numbers{1}), true, "three higher");
    NS_TEST_EXPECT_MSG_EQ(it.detection.LostByNumber(), 1, "by kPacketThreshold");
    NS_TEST_EXPECT_MSG_EQ(it.sent.InFlight(), 3, "5, 6, 7");
    NS_TEST_EXPECT_MSG_EQ(it.sent.BytesInFlight(), 3 * 1280, "their bytes");
    outcome = it.Ack(101 * MS, {{0, 5}});
    NS_TEST_EXPECT_MSG_EQ(outcome.acked.empty(), true, "a lost packet that comes late");
}

TEST_CASE(ns3::TestCase,
          TimeThresholdTest,
          "A packet is lost 1.125 RTTs after it was sent, if a later one has arrived")
{
    AckedPackets it(MakeQuic().loss);
    it.Send(0);
    it.Send(10 * MS);
    it.Send(20 * MS);
    // RTT 80 ms: 10 + 9/8 · 80 = 100 ms is the time of the ACK.
    auto outcome = it.Ack(80 * MS, {{0, 1}});
    NS_TEST_EXPECT_MSG_EQ(outcome.hasSample, true, "80 ms");
    outcome = it.Ack(99 * MS, {{0, 1}, {2, 3}}); // RTT 79 ms; smoothed 79.875
    NS_TEST_EXPECT_MSG_EQ(outcome.lost.empty(), true, "not yet");
    const int64_t smoothed = (7 * 80 * MS + 79 * MS) / 8;
    const int64_t due = 10 * MS + smoothed * 9 / 8;
    NS_TEST_EXPECT_MSG_EQ_TOL(it.detection.Deadline(), due, 1, "9/8 of the larger one");
    outcome = it.detection.OnTimer(it.detection.Deadline());
    NS_TEST_EXPECT_MSG_EQ((outcome.lost == Numbers{1}), true, "then");
    NS_TEST_EXPECT_MSG_EQ(it.detection.LostByTime(), 1, "by kTimeThreshold");
    NS_TEST_EXPECT_MSG_EQ(it.detection.ProbesDue(), 0, "no probe");
    NS_TEST_EXPECT_MSG_EQ((it.detection.Deadline() == NEVER), true, "nothing is in flight");
}

TEST_CASE(ns3::TestCase, RoundTripTest, "Estimates of the RTT are those of RFC 9002, section 5.3")
{
    RoundTrip rtt;
    rtt.Sample(100 * MS, 20 * MS);
    NS_TEST_EXPECT_MSG_EQ(rtt.Smoothed(), 100 * MS, "the first, with its delay");
    NS_TEST_EXPECT_MSG_EQ(rtt.Variation(), 50 * MS, "half of it");
    rtt.Sample(140 * MS, 20 * MS); // adjusted: 120
    NS_TEST_EXPECT_MSG_EQ(rtt.Variation(), 42'500 * US, "3/4 · 50 + 1/4 · |100 − 120|");
    NS_TEST_EXPECT_MSG_EQ(rtt.Smoothed(), 102'500 * US, "7/8 · 100 + 1/8 · 120");
    rtt.Sample(110 * MS, 20 * MS); // 90 would be below the least
    NS_TEST_EXPECT_MSG_EQ(rtt.Smoothed(), (7 * 102'500 * US + 110 * MS) / 8, "not adjusted");
    NS_TEST_EXPECT_MSG_EQ(rtt.Least(), 100 * MS, "least");
}

TEST_CASE(ns3::TestCase,
          ProbeTimeoutTest,
          "PTO is srtt + 4 rttvar + max_ack_delay, doubles, and loses nothing")
{
    AckedPackets it(MakeQuic().loss);
    it.Send(0);
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(), 200 * MS, "before a sample");
    it.Ack(80 * MS, {{0, 1}});
    it.Send(100 * MS);
    it.Send(110 * MS);
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(), 350 * MS, "110 + 80 + 4 · 40");
    it.detection.OnHandshakeDone();
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(), 375 * MS, "and 25");
    auto outcome = it.detection.OnTimer(375 * MS);
    NS_TEST_EXPECT_MSG_EQ(outcome.lost.empty(), true, "no loss");
    NS_TEST_EXPECT_MSG_EQ(it.detection.ProbesDue(), 2, "two probes");
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(), 640 * MS, "110 + 2 · 265");
    it.detection.OnTimer(640 * MS);
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(), 1170 * MS, "110 + 4 · 265");
    NS_TEST_EXPECT_MSG_EQ(it.detection.ProbeTimeouts(), 2, "both");
    it.Send(700 * MS);
    // Its ACK ends doublings and probes; what was sent so much earlier is lost by time.
    outcome = it.Ack(780 * MS, {{3, 4}});
    NS_TEST_EXPECT_MSG_EQ((outcome.lost == Numbers{1, 2}), true, "now they are");
    NS_TEST_EXPECT_MSG_EQ(it.detection.ProbesDue(), 0, "not needed");
    it.Send(800 * MS);
    const int64_t variation = 30 * MS; // 3/4 · 40 + 1/4 · |80 − 80|
    NS_TEST_EXPECT_MSG_EQ(it.detection.Deadline(),
                          800 * MS + 80 * MS + 4 * variation + 25 * MS,
                          "without doublings");
}

class PersistentCongestionTest : public ns3::TestCase
{
  public:
    /// \param threshold kPersistentCongestionThreshold
    explicit PersistentCongestionTest(uint32_t threshold)
        : ns3::TestCase("Losses over three PTOs are persistent congestion where that exists"),
          m_threshold(threshold)
    {
    }

  private:
    /// Lose all that was sent in a time. \returns whether that is persistent
    bool Lose(int64_t duration, bool hasSurvivor)
    {
        QuicLossSpec spec = MakeQuic().loss;
        spec.persistent = m_threshold;
        AckedPackets it(spec);
        it.Send(0);
        it.Ack(80 * MS, {{0, 1}});        // 3 · (80 + 4 · 40 + 25) = 795 ms
        it.Send(100 * MS);                // 1
        it.Send(100 * MS + duration / 2); // 2
        it.Send(100 * MS + duration);     // 3
        it.Send(3000 * MS);               // 4
        const auto& outcome =
            hasSurvivor ? it.Ack(3080 * MS, {{2, 3}, {4, 5}}) : it.Ack(3080 * MS, {{4, 5}});
        NS_TEST_EXPECT_MSG_EQ(outcome.lost.size(), (hasSurvivor ? 2 : 3), "all by time");
        return outcome.isPersistent;
    }

    void DoRun() override
    {
        // The ACK's sample of 80 ms makes rttvar 30 ms: 3 · (80 + 120 + 25) = 675 ms.
        NS_TEST_EXPECT_MSG_EQ(Lose(676 * MS, false), (m_threshold > 0), "long enough");
        NS_TEST_EXPECT_MSG_EQ(Lose(675 * MS, false), false, "too short");
        NS_TEST_EXPECT_MSG_EQ(Lose(1500 * MS, true), false, "one between them arrived");
    }

    const uint32_t m_threshold;
};

TEST_CASE(ns3::TestCase,
          AckTrackerTest,
          "ACKs leave for every second packet, for gaps at once, else after 25 ms")
{
    AckTracker acks(MakeQuic().acks);
    acks.OnPacket(0, 0, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(25 * MS - 1), false, "one packet");
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(25 * MS), true, "max_ack_delay");
    acks.OnPacket(MS, 1, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(MS), true, "the second");
    NS_TEST_EXPECT_MSG_EQ(acks.Delay(3 * MS), 2 * MS, "of the largest");
    acks.OnSent();
    acks.OnPacket(2 * MS, 2, false, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(SECOND), false, "an ACK asks for none");
    acks.OnPacket(3 * MS, 5, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(3 * MS), true, "3 and 4 are missing");
    acks.OnSent();
    acks.OnPacket(4 * MS, 6, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(4 * MS), false, "the gap was reported");
    acks.OnPacket(5 * MS, 3, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(5 * MS), true, "it is being filled");
    acks.OnSent();
    acks.OnPacket(6 * MS, 7, true, true);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(6 * MS), true, "of the handshake");
    NS_TEST_EXPECT_MSG_EQ(acks.IsKnown(3), true, "a copy");
    NS_TEST_EXPECT_MSG_EQ(acks.IsKnown(4), false, "missing");
    // 5…7 and 0…3: type, largest, delay, count, 2, gap 0, 3
    NS_TEST_EXPECT_MSG_EQ(acks.FrameBytes(6 * MS), 7, "a byte each");
    NS_TEST_EXPECT_MSG_EQ(acks.FrameBytes(7 * MS), 8, "1 ms is 125 units: two bytes");
    acks.OnAckOfAck(5);
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All().size(), 1, "6 and 7 are left");
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All()[0].begin, 6, "from 6 on");
    NS_TEST_EXPECT_MSG_EQ(acks.IsKnown(4), true, "will not be acknowledged");
    for (uint64_t number = 10; number < 300; number += 2)
    {
        acks.OnPacket(8 * MS, number, true, false);
    }
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All().size(), 64, "at most");
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All().back().end, 299, "the latest");
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All().front().begin, 298 - 63 * 2, "64 of them");

    QuicAcksSpec rare = MakeQuic().acks;
    rare.every = 4;
    AckTracker patient(rare);
    patient.OnPacket(0, 0, true, false);
    patient.OnPacket(20 * MS, 1, true, false);
    NS_TEST_EXPECT_MSG_EQ(patient.Deadline(), 25 * MS, "of the first (RFC 9000, 13.2.1)");
}

TEST_CASE(ns3::TestCase,
          FlowWindowTest,
          "A window is told after a quarter, and doubles when used up in 4 RTTs")
{
    const int64_t rtt = 100 * MS;
    FlowWindow window({1000, 3000, 0.25});
    window.Read(0, 249);
    NS_TEST_EXPECT_MSG_EQ(window.IsUpdateDue(), false, "751 left of 1000");
    window.Read(0, 1);
    NS_TEST_EXPECT_MSG_EQ(window.IsUpdateDue(), true, "750 left");
    NS_TEST_EXPECT_MSG_EQ(window.Update(10 * MS, rtt), false, "less than half was read");
    NS_TEST_EXPECT_MSG_EQ(window.Limit(), 1250, "250 + 1000");
    window.Read(20 * MS, 350);
    // 600 of 1000 in 20 ms, less than 4 · 0.6 · 100
    NS_TEST_EXPECT_MSG_EQ(window.Update(20 * MS, rtt), true, "doubled");
    NS_TEST_EXPECT_MSG_EQ(window.Limit(), 2600, "600 + 2000");
    window.Read(SECOND, 1200);
    // 1200 of 2000 in 980 ms, more than 4 · 0.6 · 100
    NS_TEST_EXPECT_MSG_EQ(window.Update(SECOND, rtt), false, "slow");
    NS_TEST_EXPECT_MSG_EQ(window.Limit(), 3800, "1800 + 2000");
    window.Read(SECOND + MS, 1200);
    NS_TEST_EXPECT_MSG_EQ(window.Update(SECOND + MS, rtt), true, "fast again");
    NS_TEST_EXPECT_MSG_EQ(window.Limit(), 6000, "3000 + 3000, the most");
    FlowWindow fixed({1000, 1000, 0.25});
    fixed.Read(0, 1000);
    NS_TEST_EXPECT_MSG_EQ(fixed.Update(MS, rtt), false, "is not to grow");
    NS_TEST_EXPECT_MSG_EQ(fixed.Limit(), 2000, "1000 + 1000");
    FlowWindow none({0, 0, 0.25});
    none.Read(0, 1'000'000);
    NS_TEST_EXPECT_MSG_EQ(none.IsUpdateDue(), false, "no limit");
}

TEST_CASE(ns3::TestCase,
          TokenBucketTest,
          "Ten packets leave at once, then each as its bytes come in")
{
    TokenBucket bucket(MakeQuic().pacing);
    bucket.SetRate(1e6, 1280); // 2 ms of it are 2000 bytes, less than ten packets
    for (int i = 0; i < 10; ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(bucket.NextSend(SECOND), SECOND, "at once");
        bucket.OnSent(SECOND, 1280);
    }
    NS_TEST_EXPECT_MSG_EQ(bucket.NextSend(SECOND), SECOND + 1280 * US, "1 MB/s");
    bucket.SetRate(10e6, 1280);
    NS_TEST_EXPECT_MSG_EQ(bucket.NextSend(SECOND), SECOND + MS, "1 ms at least");
    // At 100 MB/s, 2 ms are 200,000 bytes: after a long time all of them may leave at once.
    bucket.SetRate(100e6, 1280);
    int packets = 0;
    while (bucket.NextSend(2 * SECOND) == 2 * SECOND)
    {
        bucket.OnSent(2 * SECOND, 1280);
        ++packets;
    }
    NS_TEST_EXPECT_MSG_EQ(packets, 200'000 / 1280, "whole packets");
}

TEST_CASE(ns3::TestCase, PathMtuSearchTest, "The search goes by halves, and believes three losses")
{
    QuicPacketsSpec spec = MakeQuic().packets;
    spec.most = 1452;
    PathMtuSearch search(spec, End::CLIENT);
    const int64_t rtt = 100 * MS;
    NS_TEST_EXPECT_MSG_EQ(search.IsDue(SECOND, rtt), false, "not begun");
    search.Start(0);
    std::vector<uint32_t> sizes;
    int64_t now = 0;
    for (; search.IsDue(now + 500 * MS, rtt); search.OnAcked())
    {
        NS_TEST_EXPECT_MSG_EQ(search.IsDue(now + 500 * MS - 1, rtt), false, "5 RTTs");
        now += 500 * MS;
        sizes.push_back(search.Begin(now));
        NS_TEST_EXPECT_MSG_EQ(search.IsDue(now + SECOND, rtt), false, "one at a time");
    }
    NS_TEST_EXPECT_MSG_EQ((sizes == std::vector<uint32_t>{1366, 1409, 1430, 1441}),
                          true,
                          "quic-go's");
    NS_TEST_EXPECT_MSG_EQ(search.Size(), 1441, "the largest that arrived");

    // Nothing above 1300 arrives. After a loss, half way to the smallest lost; after an
    // arrival, half way to the largest of the last three lost, which is the bound.
    PathMtuSearch narrow(spec, End::CLIENT);
    narrow.Start(0);
    sizes.clear();
    for (now = 0; narrow.IsDue(now + 500 * MS, rtt);)
    {
        now += 500 * MS;
        sizes.push_back(narrow.Begin(now));
        sizes.back() > 1300 ? narrow.OnLost() : narrow.OnAcked();
    }
    const std::vector<uint32_t> tried{1366, 1323, 1301, 1290, 1328, 1295, 1311, 1298, 1310};
    NS_TEST_EXPECT_MSG_EQ((sizes == tried), true, "and ends with 1311 − 1298 ≤ 21");
    NS_TEST_EXPECT_MSG_EQ(narrow.Size(), 1298, "the largest that arrived");

    // One loss by chance does not end it.
    PathMtuSearch lucky(spec, End::CLIENT);
    lucky.Start(0);
    lucky.Begin(SECOND);
    lucky.OnLost();
    NS_TEST_EXPECT_MSG_EQ(lucky.Begin(2 * SECOND), 1323, "half of that");
    lucky.OnAcked();
    NS_TEST_EXPECT_MSG_EQ(lucky.Begin(3 * SECOND), (1323 + 1452) / 2, "larger again");
}

TEST_CASE(ns3::TestCase, NumberRangesTest, "Ranges of numbers are those of a set")
{
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round)
    {
        NumberRanges ranges;
        std::set<uint64_t> expected;
        for (int i = 0; i < 40; ++i)
        {
            const uint64_t begin = random() % 100;
            const uint64_t end = begin + 1 + random() % 8;
            ranges.Add(begin, end);
            for (uint64_t number = begin; number < end; ++number)
            {
                expected.insert(number);
            }
        }
        const uint64_t floor = random() % 50;
        ranges.RemoveBelow(floor);
        expected.erase(expected.begin(), expected.lower_bound(floor));
        uint64_t count = 0;
        for (size_t i = 0; i < ranges.All().size(); ++i)
        {
            const NumberRange& range = ranges.All()[i];
            count += range.end - range.begin;
            NS_TEST_ASSERT_MSG_EQ((i == 0 || ranges.All()[i - 1].end < range.begin),
                                  true,
                                  "in order, and apart");
        }
        NS_TEST_ASSERT_MSG_EQ(count, expected.size(), "as many");
        for (uint64_t number = 0; number < 110; ++number)
        {
            NS_TEST_ASSERT_MSG_EQ(ranges.Contains(number), expected.contains(number), number);
        }
    }
}

ADD_CASES
{
    AddCase(new PersistentCongestionTest(0));
    AddCase(new PersistentCongestionTest(3));
}

} // namespace
