/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the parts of QUIC at the edges of their comparisons: lengths of integers and frames (RFC
 * 9000), thresholds of losses and time-outs (RFC 9002), and beside plain ones over random input.
 */
#include "quic/chromium-bbr.h"
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-parts");

/// Bytes of an integer, by the table of RFC 9000, section 16.
uint32_t
BytesOf(uint64_t value)
{
    return value <= 63 ? 1 : value <= 16'383 ? 2 : value <= 1'073'741'823 ? 4 : 8;
}

TEST_CASE(ns3::TestCase, VariableLengthTest, "Integers have the lengths of RFC 9000, section 16")
{
    for (const uint64_t limit : {uint64_t{63},
                                 uint64_t{16'383},
                                 uint64_t{1'073'741'823},
                                 uint64_t{4'611'686'018'427'387'902}})
    {
        NS_TEST_EXPECT_MSG_EQ(VariableLength(limit), BytesOf(limit), limit);
        NS_TEST_EXPECT_MSG_EQ(VariableLength(limit + 1), BytesOf(limit + 1), limit + 1);
    }
    NS_TEST_EXPECT_MSG_EQ(VariableLength(0), 1, "zero");
}

TEST_CASE(ns3::TestCase,
          AckFrameTest,
          "An ACK frame has the fields of RFC 9000, section 19.3, of all ranges that it reports")
{
    std::mt19937 random(3);
    for (int round = 0; round < 50; ++round)
    {
        QuicAcksSpec spec = MakeQuic().acks;
        spec.ranges = 6;
        AckTracker acks(spec);
        std::map<uint64_t, bool> arrived;
        uint64_t floor = 0;
        uint64_t largest = 0;
        int64_t largestTime = 0;
        const uint64_t scale = round % 2 ? 3 : 200;
        uint64_t next = round % 3 ? 0 : 20'000;
        for (int i = 0; i < 60; ++i)
        {
            const int64_t now = i * MS;
            next += random() % scale;
            const uint64_t back = random() % 4 ? 0 : random() % 10;
            const uint64_t number = next - std::min(back, next);
            if (!acks.IsKnown(number))
            {
                acks.OnPacket(now, number, true, false);
                arrived[number] = true;
                if (number >= largest)
                {
                    largest = number;
                    largestTime = now;
                }
            }
            // Ranges of what arrived above the floor; the lowest ones are forgotten.
            std::vector<std::pair<uint64_t, uint64_t>> ranges;
            for (const auto& [at, is] : arrived)
            {
                if (at < floor)
                {
                    continue;
                }
                if (ranges.empty() || ranges.back().second + 1 < at)
                {
                    ranges.emplace_back(at, at);
                }
                ranges.back().second = at;
            }
            while (ranges.size() > 6)
            {
                for (uint64_t at = ranges.front().first; at <= ranges.front().second; ++at)
                {
                    arrived.erase(at);
                }
                ranges.erase(ranges.begin());
            }
            if (ranges.empty() || !acks.HasNew())
            {
                continue;
            }
            const int64_t asked = now + (random() % 5) * 700 * US;
            // Type, largest, delay in units of 8 us, count of further ranges, first range.
            uint32_t bytes = 1 + BytesOf(largest) +
                             BytesOf(static_cast<uint64_t>((asked - largestTime) / 8'000)) +
                             BytesOf(ranges.size() - 1) +
                             BytesOf(ranges.back().second - ranges.back().first);
            for (size_t at = ranges.size() - 1; at > 0; --at)
            {
                // Each other one: the gap less two, and its length less one.
                bytes += BytesOf(ranges[at].first - ranges[at - 1].second - 2) +
                         BytesOf(ranges[at - 1].second - ranges[at - 1].first);
            }
            NS_TEST_ASSERT_MSG_EQ(acks.FrameBytes(asked), bytes, "packet " << i);
            if (random() % 8 == 0)
            {
                acks.OnSent();
                NS_TEST_ASSERT_MSG_EQ(acks.HasNew(), false, "all is reported");
                if (random() % 2 && largest > 5)
                {
                    floor = std::max(floor, largest - 3);
                    acks.OnAckOfAck(largest - 4);
                    NS_TEST_ASSERT_MSG_EQ(acks.IsKnown(largest - 4), true, "acknowledged");
                }
            }
        }
    }
}

TEST_CASE(ns3::TestCase,
          AckMomentsTest,
          "An ACK is due at once for what leaves or fills a gap, not for what is next")
{
    const QuicAcksSpec spec = MakeQuic().acks;
    auto isDue = [&](std::vector<uint64_t> before, uint64_t number) {
        AckTracker acks(spec);
        for (uint64_t it : before)
        {
            acks.OnPacket(0, it, true, false);
        }
        acks.OnSent();
        acks.OnPacket(MS, number, true, false);
        return acks.IsDue(MS);
    };
    NS_TEST_EXPECT_MSG_EQ(isDue({0, 1}, 2), false, "the next one");
    NS_TEST_EXPECT_MSG_EQ(isDue({0, 1}, 3), true, "2 is missing");
    NS_TEST_EXPECT_MSG_EQ(isDue({0, 3}, 4), false, "that gap was reported");
    NS_TEST_EXPECT_MSG_EQ(isDue({0, 3}, 2), true, "it fills the gap");
    AckTracker acks(spec);
    NS_TEST_EXPECT_MSG_EQ(acks.HasNew(), false, "nothing came");
    acks.OnPacket(5 * MS, 7, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.Deadline(), 30 * MS, "no gap before the first ACK: 25 ms");
    acks.OnPacket(6 * MS, 9, false, false);
    NS_TEST_EXPECT_MSG_EQ(acks.IsDue(6 * MS), false, "it asks for none");
    NS_TEST_EXPECT_MSG_EQ(acks.Delay(8 * MS), 2 * MS, "of the largest");
    acks.OnPacket(7 * MS, 8, true, false);
    NS_TEST_EXPECT_MSG_EQ(acks.Delay(8 * MS), 2 * MS, "8 is not");
    NS_TEST_EXPECT_MSG_EQ((acks.Deadline() == NEVER), true, "it is due: no timer");
    acks.OnAckOfAck(8);
    NS_TEST_EXPECT_MSG_EQ(acks.IsKnown(8), true, "no longer acknowledged");
    acks.OnAckOfAck(4);
    NS_TEST_EXPECT_MSG_EQ(acks.Ranges().All().front().begin, 9, "an older one changes nothing");
    NS_TEST_EXPECT_MSG_EQ(acks.IsKnown(10), false, "it has not come");
}

TEST_CASE(ns3::TestCase,
          HistoryTest,
          "A history knows its packets, frames and ranges until one arrives 4096 numbers later")
{
    std::mt19937 random(4);
    PacketHistory history;

    struct Known
    {
        std::vector<QuicFrame> frames;
        std::vector<NumberRange> ranges;
        uint16_t bytes;
    };

    std::map<uint64_t, Known> sent;
    std::map<uint64_t, uint16_t> outstanding;
    std::vector<NumberRange> ranges;
    uint64_t version = 0;
    uint64_t bytesInFlight = 0;
    for (int i = 0; i < 14'000; ++i)
    {
        Known known;
        for (uint64_t left = random() % 3; left > 0; --left)
        {
            const QuicFrame frame{random(), static_cast<uint32_t>(random() % 9)};
            known.frames.push_back(frame);
            history.AddFrame(frame);
        }
        NS_TEST_ASSERT_MSG_EQ(history.NewFrames(), known.frames.size(), "of the next");
        if (random() % 4 == 0)
        {
            const uint64_t begin = ranges.empty() ? 0 : ranges.back().end + 1 + random() % 3;
            ranges.push_back({begin, begin + 1 + random() % 5});
            ++version;
            if (ranges.size() > 7)
            {
                ranges.erase(ranges.begin(), ranges.begin() + 1 + random() % 6);
            }
        }
        const bool hasAck = random() % 2 && !ranges.empty();
        if (hasAck)
        {
            known.ranges = ranges;
        }
        QuicPacket& packet = hasAck ? history.Send(ranges, version) : history.Send();
        packet.bytes = known.bytes = static_cast<uint16_t>(100 + random() % 1000);
        const uint64_t number = history.Next() - 1;
        NS_TEST_ASSERT_MSG_EQ(number, static_cast<uint64_t>(i), "numbers rise by one");
        if (!known.frames.empty())
        {
            history.CountInFlight(packet);
            outstanding[number] = known.bytes;
            bytesInFlight += known.bytes;
        }
        sent[number] = known;
        while (outstanding.size() > 50)
        {
            auto it = outstanding.begin();
            std::advance(it, random() % outstanding.size());
            history.Settle(history.At(it->first), QuicPacketFate::ACKED);
            bytesInFlight -= it->second;
            outstanding.erase(it);
        }
        NS_TEST_ASSERT_MSG_EQ(history.InFlight(), outstanding.size(), "outstanding");
        NS_TEST_ASSERT_MSG_EQ(history.BytesInFlight(), bytesInFlight, "their bytes");
        NS_TEST_ASSERT_MSG_EQ(history.Oldest(),
                              outstanding.empty() ? QuicPacket::NONE : outstanding.begin()->first,
                              "the oldest");
        if (i % 7 == 0)
        {
            history.OnArrival(number);
            // All but 4096, unless one of them is outstanding.
            const uint64_t least = number > 4'096 ? number - 4'096 : 0;
            const uint64_t first =
                outstanding.empty() ? least : std::min(least, outstanding.begin()->first);
            sent.erase(sent.begin(), sent.lower_bound(first));
            NS_TEST_ASSERT_MSG_EQ(history.Find(static_cast<uint32_t>(first)), first, "kept");
            if (first > 0)
            {
                NS_TEST_ASSERT_MSG_EQ(history.Find(static_cast<uint32_t>(first - 1)),
                                      QuicPacket::NONE,
                                      "removed");
            }
            NS_TEST_ASSERT_MSG_EQ(history.Find(static_cast<uint32_t>(number + 1)),
                                  QuicPacket::NONE,
                                  "not sent yet");
        }
        if (i % 50 == 0)
        {
            auto it = sent.begin();
            std::advance(it, random() % sent.size());
            const QuicPacket& old = history.At(it->first);
            NS_TEST_ASSERT_MSG_EQ(old.frames, it->second.frames.size(), "its frames");
            for (uint32_t k = 0; k < old.frames; ++k)
            {
                NS_TEST_ASSERT_MSG_EQ(history.FrameOf(old, k).offset,
                                      it->second.frames[k].offset,
                                      "frame " << k);
            }
            NS_TEST_ASSERT_MSG_EQ(old.ranges, it->second.ranges.size(), "its ranges");
            for (uint32_t k = 0; k < old.ranges; ++k)
            {
                NS_TEST_ASSERT_MSG_EQ(history.RangeOf(old, k).begin,
                                      it->second.ranges[k].begin,
                                      "range " << k);
                NS_TEST_ASSERT_MSG_EQ(history.RangeOf(old, k).end,
                                      it->second.ranges[k].end,
                                      "range " << k);
            }
        }
    }
}

TEST_CASE(ns3::TestCase,
          BucketTest,
          "A bucket has what its rate brings, up to its size, and waits for whole packets")
{
    std::mt19937 random(6);
    const QuicPacingSpec spec = MakeQuic().pacing; // 2 ms, ten packets, 1 ms at least
    TokenBucket bucket(spec);
    NS_TEST_EXPECT_MSG_EQ(bucket.NextSend(5), 5, "without a rate");
    bucket.OnSent(5, 60'000); // counts for nothing
    double rate = 0;
    double most = 0;
    double left = -1; // never sent: full
    int64_t last = 0;
    int64_t now = MS;
    for (int i = 0; i < 3'000; ++i)
    {
        if (i % 100 == 0)
        {
            rate = 1e5 * (1 + random() % 400);
            most = std::max(rate * 2e-3, 10.0 * 1200);
            bucket.SetRate(rate, 1200);
        }
        const double budget =
            left < 0 ? most : std::min(most, left + rate * static_cast<double>(now - last) * 1e-9);
        const int64_t at = bucket.NextSend(now);
        if (budget >= 1200)
        {
            NS_TEST_ASSERT_MSG_EQ(at, now, "enough");
        }
        else
        {
            const auto wait = static_cast<int64_t>(std::ceil((1200 - left) * 1e9 / rate));
            NS_TEST_ASSERT_MSG_EQ(at, last + std::max<int64_t>(wait, MS), "as soon as there is");
        }
        if (random() % 3)
        {
            const uint32_t bytes = random() % 2 ? 1200 : random() % 1200;
            bucket.OnSent(now, bytes);
            left = std::max(budget - bytes, 0.0);
            last = now;
        }
        now += random() % 4 ? static_cast<int64_t>(random() % (100 * US)) : at - now + random() % 2;
    }
    bucket.SetRate(0, 1200);
    NS_TEST_EXPECT_MSG_EQ(bucket.NextSend(now), now, "no longer paced");
}

TEST_CASE(ns3::TestCase, AdjustedTest, "An ACK delay counts where the least RTT allows it exactly")
{
    RoundTrip rtt;
    NS_TEST_EXPECT_MSG_EQ(rtt.HasSample(), false, "none");
    rtt.Sample(80 * MS, 0);
    RoundTrip other = rtt;
    rtt.Sample(100 * MS, 20 * MS); // RFC 9002, section 5.3: latest_rtt >= min_rtt + ack_delay
    NS_TEST_EXPECT_MSG_EQ(rtt.Smoothed(), 80 * MS, "adjusted to 80");
    NS_TEST_EXPECT_MSG_EQ(rtt.Variation(), 30 * MS, "3/4 of 40, and no difference");
    other.Sample(100 * MS, 20 * MS + 1);
    NS_TEST_EXPECT_MSG_EQ(other.Smoothed(), 82'500 * US, "7/8 · 80 + 100/8");
    NS_TEST_EXPECT_MSG_EQ(other.Variation(), 35 * MS, "3/4 · 40 + 20/4");
    NS_TEST_EXPECT_MSG_EQ(other.Latest(), 100 * MS, "the latest");
}

TEST_CASE(ns3::TestCase,
          WindowEdgesTest,
          "A window grows if more than half of it was read in less than its part of four RTTs")
{
    // quic-go, flow_controller_base.go, maybeAdjustWindowSize().
    auto grows = [](uint64_t read, int64_t time, int64_t rtt) {
        FlowWindow window({1000, 4000, 0.25});
        window.Read(SECOND, read);
        return window.Update(SECOND + time, rtt);
    };
    const int64_t rtt = 100 * MS;
    NS_TEST_EXPECT_MSG_EQ(grows(500, 0, rtt), false, "half is not more than half");
    NS_TEST_EXPECT_MSG_EQ(grows(501, 0, rtt), true, "more is");
    NS_TEST_EXPECT_MSG_EQ(grows(600, 240 * MS - 1, rtt), true, "0.6 of 4 RTTs are 240 ms");
    NS_TEST_EXPECT_MSG_EQ(grows(600, 240 * MS, rtt), false, "no less than that");
    NS_TEST_EXPECT_MSG_EQ(grows(600, 0, 0), false, "no RTT is known");

    FlowWindow window({1000, 1500, 0.25});
    window.Read(0, 900);
    window.Update(MS, rtt);
    NS_TEST_EXPECT_MSG_EQ(window.Window(), 1500, "no more than the most");
    NS_TEST_EXPECT_MSG_EQ(window.Limit(), 2400, "900 + 1500");
    NS_TEST_EXPECT_MSG_EQ(window.TotalRead(), 900, "read");
    window.Read(2 * MS, 374);
    NS_TEST_EXPECT_MSG_EQ(window.IsUpdateDue(), false, "1126 left: more than three quarters");
    window.Read(2 * MS, 1);
    NS_TEST_EXPECT_MSG_EQ(window.IsUpdateDue(), true, "1125");
    // What was read before an epoch does not count in it: 375 of 1500 since it began.
    NS_TEST_EXPECT_MSG_EQ(window.Update(3 * MS, rtt), false, "less than half");

    FlowWindow wide({1000, 4000, 0.25});
    wide.Widen(SECOND, 1000);
    NS_TEST_EXPECT_MSG_EQ(wide.Window(), 1000, "as wide as it is");
    wide.Widen(SECOND, 2500);
    NS_TEST_EXPECT_MSG_EQ(wide.Window(), 2500, "as told");
    wide.Widen(SECOND, 9000);
    NS_TEST_EXPECT_MSG_EQ(wide.Window(), 4000, "no more than the most");
    NS_TEST_EXPECT_MSG_EQ(wide.Limit(), 1000, "the peer is not told");
    FlowWindow none({0, 0, 0.25});
    none.Widen(SECOND, 100);
    NS_TEST_EXPECT_MSG_EQ(none.Window(), 0, "there is no limit to widen");
    NS_TEST_EXPECT_MSG_EQ((none.Limit() == FlowWindow::UNLIMITED), true, "none");

    // A window of one byte: the peer is told of each.
    FlowWindow one({1, 1, 0.25});
    NS_TEST_EXPECT_MSG_EQ(one.IsUpdateDue(), false, "nothing was read");
    one.Read(0, 1);
    NS_TEST_EXPECT_MSG_EQ(one.IsUpdateDue(), true, "it was");
    one.Update(0, rtt);
    NS_TEST_EXPECT_MSG_EQ(one.Limit(), 2, "one more");
}

TEST_CASE(ns3::TestCase,
          SendStreamTest,
          "A stream sends each byte of its window once, lost ones again, and its end with the last")
{
    std::mt19937 random(8);
    for (int round = 0; round < 200; ++round)
    {
        QuicSendStream stream(static_cast<uint32_t>(round), 500);
        std::vector<int> sent(3000);
        uint64_t written = 0;
        uint64_t limit = 500;
        uint64_t highest = 0;
        uint64_t lostBytes = 0;
        uint32_t ends = 0;
        bool isClosed = false;
        std::vector<QuicFrame> flying;
        while (ends == 0 || lostBytes > 0 || stream.HasLost())
        {
            switch (random() % 6)
            {
            case 0:
                if (!isClosed && written < 2500)
                {
                    const uint64_t bytes = 1 + random() % 400;
                    stream.Write(bytes, false);
                    written += bytes;
                }
                else if (!isClosed)
                {
                    isClosed = true;
                    stream.Close();
                }
                break;
            case 1:
                limit += random() % 300;
                stream.SetLimit(limit);
                stream.SetLimit(limit - random() % 100); // an older one
                break;
            case 2:
                if (!flying.empty())
                {
                    const QuicFrame frame = flying.back();
                    flying.pop_back();
                    stream.OnLost(frame);
                    lostBytes += frame.length;
                    ends -= frame.isFin;
                }
                break;
            case 3:
                while (stream.HasLost())
                {
                    const uint32_t room = 2 + random() % 200;
                    const auto frame = stream.TakeLost(room);
                    if (!frame)
                    {
                        continue;
                    }
                    const uint32_t header = stream.HeaderBytes(frame->offset);
                    NS_TEST_ASSERT_MSG_LT_OR_EQ(header + frame->length, room, "it fits");
                    NS_TEST_ASSERT_MSG_EQ(frame->isAgain, true, "again");
                    NS_TEST_ASSERT_MSG_LT_OR_EQ(frame->length, lostBytes, "of what was lost");
                    lostBytes -= frame->length;
                    ends += frame->isFin;
                    flying.push_back(*frame);
                }
                NS_TEST_ASSERT_MSG_EQ(lostBytes, 0, "all of it");
                break;
            default: {
                const uint32_t room = random() % 200;
                const uint64_t credit = random() % 4 ? 1'000'000 : random() % 100;
                const uint64_t most = std::min({written - highest, limit - highest, credit});
                const bool mayEnd = isClosed && highest == written && ends == 0 &&
                                    !stream.HasLost() && lostBytes == 0;
                NS_TEST_ASSERT_MSG_EQ((stream.CanSend(credit) || most == 0), true, "it can");
                const uint32_t header = stream.HeaderBytes(highest);
                const auto frame = stream.TakeNew(room, credit);
                if (!frame)
                {
                    NS_TEST_ASSERT_MSG_EQ((header >= room || (most == 0 && !mayEnd) ||
                                           (most == 0 && mayEnd && !flying.empty())),
                                          true,
                                          "no room, or nothing to send");
                    break;
                }
                NS_TEST_ASSERT_MSG_EQ(frame->offset, highest, "the next");
                NS_TEST_ASSERT_MSG_EQ(frame->length,
                                      std::min<uint64_t>(most, room - header),
                                      "all");
                NS_TEST_ASSERT_MSG_EQ(frame->isFin,
                                      (isClosed && highest + frame->length == written),
                                      "the end with the last byte");
                NS_TEST_ASSERT_MSG_EQ(frame->isAgain, false, "new");
                highest += frame->length;
                ends += frame->isFin;
                flying.push_back(*frame);
                NS_TEST_ASSERT_MSG_EQ(stream.Unsent(), written - highest, "what is left");
            }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(highest, written, "all was sent");
    }
    // Type, identifier of 4 times its number, offset if it is not 0 (RFC 9000, section 19.8).
    NS_TEST_EXPECT_MSG_EQ(QuicSendStream(15, 0).HeaderBytes(0), 2, "identifier 60");
    NS_TEST_EXPECT_MSG_EQ(QuicSendStream(16, 0).HeaderBytes(0), 3, "identifier 64");
    NS_TEST_EXPECT_MSG_EQ(QuicSendStream(0, 0).HeaderBytes(63), 3, "an offset of a byte");
    NS_TEST_EXPECT_MSG_EQ(QuicSendStream(0, 0).HeaderBytes(64), 4, "of two");

    // What is apart shares no frame with what was before.
    QuicSendStream apart(0, 10'000);
    apart.Write(100, false);
    apart.Write(200, true);
    NS_TEST_EXPECT_MSG_EQ(apart.TakeNew(1000, 10'000)->length, 100, "alone");
    NS_TEST_EXPECT_MSG_EQ(apart.TakeNew(1000, 10'000)->length, 200, "then the other");
    // The end that was lost alone comes again without data, and counts once.
    QuicSendStream ended(0, 10'000);
    ended.Close();
    NS_TEST_EXPECT_MSG_EQ(ended.CanSend(0), true, "an end needs no window");
    const QuicFrame end = *ended.TakeNew(3, 0);
    NS_TEST_EXPECT_MSG_EQ(end.isFin, true, "the end");
    NS_TEST_EXPECT_MSG_EQ(ended.CanSend(0), false, "once");
    ended.OnLost(end);
    NS_TEST_EXPECT_MSG_EQ(ended.HasLost(), true, "it was lost");
    NS_TEST_EXPECT_MSG_EQ(ended.TakeLost(2).has_value(), false, "a header has two bytes");
    NS_TEST_EXPECT_MSG_EQ(ended.TakeLost(3)->isFin, true, "again");
    NS_TEST_EXPECT_MSG_EQ(ended.HasLost(), false, "and no more");
    NS_TEST_EXPECT_MSG_EQ(ended.OnAcked(end), true, "the first that ends it");
    NS_TEST_EXPECT_MSG_EQ(ended.OnAcked(end), false, "a second");
}

TEST_CASE(ns3::TestCase,
          ReceivedStreamTest,
          "A frame brings something to read if it moves the first gap, or tells the end there")
{
    QuicReceiveStream stream({100, 100, 0.25});
    auto frame = [&](uint64_t offset, uint16_t length, bool isFin = false) {
        return stream.OnFrame({offset, 0, length, QuicFrameKind::STREAM, isFin});
    };
    NS_TEST_EXPECT_MSG_EQ(frame(10, 10), false, "behind a gap");
    NS_TEST_EXPECT_MSG_EQ(stream.Readable(), 0, "nothing");
    NS_TEST_EXPECT_MSG_EQ(frame(0, 10), true, "the gap");
    NS_TEST_EXPECT_MSG_EQ(stream.Readable(), 20, "both");
    NS_TEST_EXPECT_MSG_EQ(frame(0, 20), false, "a copy");
    NS_TEST_EXPECT_MSG_EQ(frame(20, 0), false, "an empty one");
    stream.Window().Read(0, 20);
    NS_TEST_EXPECT_MSG_EQ(stream.IsUpdateDue(), false, "80 left");
    NS_TEST_EXPECT_MSG_EQ(frame(20, 5), true, "more");
    stream.Window().Read(0, 5);
    NS_TEST_EXPECT_MSG_EQ(stream.IsUpdateDue(), true, "75 left");
    NS_TEST_EXPECT_MSG_EQ(stream.IsAtEof(), false, "no end was told");
    NS_TEST_EXPECT_MSG_EQ(frame(25, 0, true), true, "the end");
    NS_TEST_EXPECT_MSG_EQ(stream.IsAtEof(), true, "all was read");
    NS_TEST_EXPECT_MSG_EQ(stream.IsUpdateDue(), false, "no more will come");
    QuicReceiveStream late({100, 100, 0.25});
    NS_TEST_EXPECT_MSG_EQ(late.OnFrame({5, 0, 5, QuicFrameKind::STREAM, true}), false, "a gap");
    NS_TEST_EXPECT_MSG_EQ(late.OnFrame({0, 0, 5, QuicFrameKind::STREAM, false}), true, "filled");
    late.Window().Read(0, 9);
    NS_TEST_EXPECT_MSG_EQ(late.IsAtEof(), false, "a byte is left");
    late.Window().Read(0, 1);
    NS_TEST_EXPECT_MSG_EQ(late.IsAtEof(), true, "read");
}

using PacketNumbers = std::vector<uint64_t>;

TEST_CASE(ns3::TestCase,
          LossEdgesTest,
          "Thresholds of RFC 9002, section 6.1, at their edges: three packets, 1.125 RTTs, 1 ms")
{
    AckedPackets by;
    by.Send(0);
    by.Ack(80 * MS, {{0, 1}});
    for (int i = 0; i < 3; ++i)
    {
        by.Send(100 * MS);
    }
    by.Send(110 * MS - 1);
    // 9/8 · 80 = 90 ms: what left at 100 ms is lost from 190 ms on.
    const auto& outcome = by.Ack(190 * MS - 1, {{4, 5}});
    NS_TEST_EXPECT_MSG_EQ((outcome.lost == PacketNumbers{1}), true, "1 = 4 − 3 alone");
    NS_TEST_EXPECT_MSG_EQ(by.detection.LostByNumber(), 1, "by its number");
    NS_TEST_EXPECT_MSG_EQ(by.detection.Deadline(), 190 * MS, "the others by time");
    by.detection.OnTimer(190 * MS);
    NS_TEST_EXPECT_MSG_EQ((outcome.lost == PacketNumbers{2, 3}), true, "at 9/8");
    NS_TEST_EXPECT_MSG_EQ(by.detection.LostByTime(), 2, "by time");

    // An RTT of 100 us: kGranularity, 1 ms, is the longer one.
    AckedPackets fast;
    fast.Send(0);
    fast.Ack(100 * US, {{0, 1}});
    fast.Send(SECOND);
    fast.Send(SECOND);
    fast.Ack(SECOND + 100 * US, {{2, 3}});
    NS_TEST_EXPECT_MSG_EQ(fast.detection.Deadline(), SECOND + MS, "kGranularity");
    fast.detection.OnTimer(SECOND + MS);
    fast.Send(2 * SECOND);
    // srtt 100 us, rttvar 3/4 · 3/4 · 50 us… less than 1 ms / 4.
    NS_TEST_EXPECT_MSG_EQ(fast.detection.ProbeTimeout(), MS + 100 * US, "and in the PTO");
    fast.detection.OnHandshakeDone();
    NS_TEST_EXPECT_MSG_EQ(fast.detection.ProbeTimeout(), 26 * MS + 100 * US, "max_ack_delay");
}

TEST_CASE(ns3::TestCase,
          AckDelayTest,
          "An ACK delay counts once the handshake is over, up to max_ack_delay; samples are of the "
          "largest number")
{
    auto smoothed = [](bool isDone, int64_t delay) {
        AckedPackets it;
        it.Send(0);
        it.Ack(80 * MS, {{0, 1}});
        if (isDone)
        {
            it.detection.OnHandshakeDone();
        }
        it.Send(100 * MS);
        it.Ack(100 * MS + 160 * MS, {{1, 2}}, delay);
        return it.detection.Rtt().Smoothed();
    };
    NS_TEST_EXPECT_MSG_EQ(smoothed(false, 8 * MS), 90 * MS, "80 + 80/8");
    NS_TEST_EXPECT_MSG_EQ(smoothed(true, 8 * MS), 89 * MS, "less 8/8");
    NS_TEST_EXPECT_MSG_EQ(smoothed(true, 40 * MS), 90 * MS - 25 * MS / 8, "25 ms at most");

    AckedPackets it;
    for (int i = 0; i < 4; ++i)
    {
        it.Send(i * MS);
    }
    const auto& outcome = it.Ack(50 * MS, {{2, 3}});
    NS_TEST_EXPECT_MSG_EQ(outcome.hasSample, true, "the largest is new");
    it.Ack(60 * MS, {{1, 3}});
    NS_TEST_EXPECT_MSG_EQ((outcome.acked == PacketNumbers{1}), true, "1 is new");
    NS_TEST_EXPECT_MSG_EQ(outcome.hasSample, false, "and not the largest");
    NS_TEST_EXPECT_MSG_EQ(it.detection.Rtt().Latest(), 48 * MS, "that of 2");
    it.Ack(61 * MS, {{1, 3}});
    NS_TEST_EXPECT_MSG_EQ(outcome.acked.empty(), true, "nothing new");
    NS_TEST_EXPECT_MSG_EQ(it.sent.InFlight(), 1, "3: more than 9/8 of 48 ms have passed for 0");
}

TEST_CASE(ns3::TestCase,
          LongTimeoutTest,
          "Time-outs double up to 60 s, as quic-go's maxPTODuration, and each sends two probes")
{
    AckedPackets it;
    it.Send(0);
    int64_t expected = 200 * MS;
    for (int i = 0; i < 30; ++i)
    {
        NS_TEST_ASSERT_MSG_EQ(it.detection.Deadline(),
                              std::min(expected, 60 * SECOND),
                              "time-out " << i);
        it.detection.OnTimer(it.detection.Deadline());
        NS_TEST_ASSERT_MSG_EQ(it.detection.ProbesDue(), 2U * (i + 1), "two each");
        expected = std::min(2 * expected, 60 * SECOND);
    }
    it.detection.OnProbe();
    NS_TEST_EXPECT_MSG_EQ(it.detection.ProbesDue(), 59, "one was sent");
    it.Ack(70 * SECOND, {{0, 1}});
    NS_TEST_EXPECT_MSG_EQ((it.detection.Deadline() == NEVER), true, "nothing is in flight");
}

TEST_CASE(ns3::TestCase,
          ManyRangesTest,
          "An ACK of any ranges acknowledges just what is outstanding in them")
{
    std::mt19937 random(9);
    QuicLossSpec spec = MakeQuic().loss;
    spec.packets = 1'000'000; // no loss by number
    spec.time = 1e9;          // nor by time
    for (int round = 0; round < 100; ++round)
    {
        AckedPackets it(spec);
        std::vector<bool> isOut;
        for (int i = 0; i < 40; ++i)
        {
            it.Send(MS);
            isOut.push_back(true);
        }
        for (int acks = 0; acks < 10; ++acks)
        {
            std::vector<NumberRange> ranges;
            PacketNumbers expected;
            uint64_t at = random() % 5;
            while (at < 40)
            {
                const uint64_t end = std::min<uint64_t>(at + 1 + random() % 4, 40);
                ranges.push_back({at, end});
                for (; at < end; ++at)
                {
                    if (isOut[at])
                    {
                        expected.push_back(at);
                    }
                    isOut[at] = false;
                }
                at += 1 + random() % 12;
            }
            const auto& outcome = it.Ack(50 * MS, ranges);
            NS_TEST_ASSERT_MSG_EQ((outcome.acked == expected), true, "just those");
            NS_TEST_ASSERT_MSG_EQ(outcome.lost.empty(), true, "none is lost");
        }
    }
}

TEST_CASE(ns3::TestCase,
          PersistentSampleTest,
          "Persistent congestion begins with a packet that was sent once there was an RTT sample")
{
    // RFC 9002, section 7.6.2.
    auto isPersistent = [](int64_t first) {
        QuicLossSpec spec = MakeQuic().loss;
        spec.persistent = 3;
        AckedPackets it(spec);
        it.Send(0);
        it.Send(first);
        it.Ack(80 * MS, {{0, 1}});
        it.Send(2 * SECOND);
        it.Send(5 * SECOND);
        return it.Ack(5 * SECOND + 80 * MS, {{3, 4}}).isPersistent;
    };
    NS_TEST_EXPECT_MSG_EQ(isPersistent(80 * MS - 1), false, "before it");
    NS_TEST_EXPECT_MSG_EQ(isPersistent(80 * MS), true, "at its moment");
}

TEST_CASE(ns3::TestCase,
          WhoseBbrTest,
          "A program has Chromium's BBR if it says so, and if BBR is asked for")
{
    QuicSpec spec = MakeQuic();
    auto isThere = [&](const std::string& name) {
        CongestionSpec cc;
        cc.name = name;
        return MakeChromiumBbr(spec, End::CLIENT, cc, 0) != nullptr;
    };
    NS_TEST_EXPECT_MSG_EQ(isThere("bbr"), false, "it has Linux's");
    spec.bbr = QuicBbrSpec{2, 8, 0.02, 65'536};
    NS_TEST_EXPECT_MSG_EQ(isThere("bbr"), true, "it has Chromium's");
    NS_TEST_EXPECT_MSG_EQ(isThere("cubic"), false, "but not as CUBIC");
}

TEST_CASE(SimulationTestCase,
          OverTest,
          "A connection is over when the ends of all streams, and all that they carried, are "
          "acknowledged")
{
    QuicHosts hosts(MakeQuic());
    QuicStream& one = hosts.client.AddStream();
    QuicStream& other = hosts.client.AddStream();
    const QuicProgram first(one, 1);
    const QuicProgram second(other, 5'000);
    const QuicProgram near(hosts.server.AddStream(), 0);
    const QuicProgram far(hosts.server.AddStream(), 0);
    one.Connect(0);
    other.Connect(0);
    RunUntil(20 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(hosts.client.FinishedTime(), -1, "the handshake");
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(near.read, 1, "a byte is enough to be told of");
    NS_TEST_EXPECT_MSG_EQ(far.read, 5'000, "all");
    NS_TEST_EXPECT_MSG_GT(hosts.client.FinishedTime(), 39 * MS, "its ends were acknowledged");
    const SendLimit limit = hosts.client.GetSender().Limits().Get();
    NS_TEST_EXPECT_MSG_EQ((limit == SendLimit::NONE), true, "nothing limits it any more");
}

} // namespace
