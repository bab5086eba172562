/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks KCP's sender: time-outs, writes, what is sent again, and the congestion window, as
 * kcp-go's source has them. Its lists are compared with a sender that walks through its window for
 * every ACK and every flush, as kcp-go does.
 */
#include "arq/kcp-sender.h"
#include "event/random-stream.h"
#include "support/kcp-specs.h"
#include "support/simulation-test-case.h"
#include "tunnel/layer.h"

#include <string>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-arq-kcp-sender");

TEST_CASE(ns3::TestCase, RtoTest, "The time-out after samples is kcp-go's, in whole ms")
{
    KcpRto rto(false, 30);
    NS_TEST_EXPECT_MSG_EQ(rto.Timeout(), 200, "before any sample");
    const std::vector<std::pair<uint32_t, uint32_t>> samples{{100, 300}, {100, 248}, {180, 298}};
    for (auto [sample, timeout] : samples)
    {
        rto.Sample(sample);
        NS_TEST_EXPECT_MSG_EQ(rto.Timeout(), timeout, "after " << sample);
    }
    NS_TEST_EXPECT_MSG_EQ(rto.Srtt(), 110, "an eighth of 80 more");

    KcpRto slow(false, 40);
    KcpRto fast(true, 10);
    slow.Sample(2);
    fast.Sample(2);
    NS_TEST_EXPECT_MSG_EQ(slow.Timeout(), 100, "at least");
    NS_TEST_EXPECT_MSG_EQ(fast.Timeout(), 30, "at least, with nodelay");
    fast.Sample(100'000);
    NS_TEST_EXPECT_MSG_EQ(fast.Timeout(), 60'000, "at most");
}

class WriteTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    std::vector<uint16_t> Lengths(KcpSender& sender)
    {
        std::vector<uint16_t> lengths;
        for (const auto& sent : sender.Flush(0))
        {
            lengths.push_back(sent.length);
        }
        return lengths;
    }

    void DoRun() override
    {
        KcpSender sender(MakeKcp(), 8, KCP_MSS);
        sender.SetPeerWindow(8);
        // A frame through snappy, while the window is open: two writes, each of which flushes.
        const auto writes = LayerStack({SnappyLayerSpec{65'536, 8, 10, 1}}).Wrap(8200);
        NS_TEST_ASSERT_MSG_EQ(writes.size(), 2, "what does not compress");
        NS_TEST_EXPECT_MSG_EQ(writes[0], 18, "header of the stream, header of the chunk");
        sender.Write(8);
        NS_TEST_EXPECT_MSG_EQ((Lengths(sender) == std::vector<uint16_t>{8}), true, "header");
        NS_TEST_EXPECT_MSG_EQ(sender.HasRoom(), true, "one of eight");
        sender.Write(8200);
        const std::vector<uint16_t>
            frame{KCP_MSS, KCP_MSS, KCP_MSS, KCP_MSS, KCP_MSS, KCP_MSS, 412};
        NS_TEST_EXPECT_MSG_EQ((Lengths(sender) == frame), true, "eight segments for a frame");
        NS_TEST_EXPECT_MSG_EQ(sender.HasRoom(), false, "as many as the window");

        // What waits behind a closed window is filled up.
        KcpSender waiting(MakeKcp(), 8, KCP_MSS);
        waiting.SetPeerWindow(0);
        waiting.Write(8);
        waiting.Flush(0);
        waiting.Write(8200);
        NS_TEST_EXPECT_MSG_EQ(waiting.Waiting(), 7, "8208 bytes in seven segments");
        NS_TEST_EXPECT_MSG_EQ(waiting.HasRoom(), true, "window − 1");
        waiting.Write(8200);
        NS_TEST_EXPECT_MSG_EQ(waiting.Waiting(), 13, "taken as a whole");
        NS_TEST_EXPECT_MSG_EQ(waiting.HasRoom(), false, "and no more");

        KcpSender of2020(MakeKcp(KcpGeneration::OF_2020), 8, KCP_MSS);
        of2020.SetPeerWindow(2);
        of2020.Write(2 * KCP_MSS);
        NS_TEST_EXPECT_MSG_EQ(of2020.HasRoom(), false, "the peer's window stops the writer, too");
    }
};

ADD_CASE(WriteTest, "A write is taken whole below the window, and segments are filled up");

class ResendTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static std::vector<uint32_t> Numbers(const std::vector<KcpSender::Transmission>& sent)
    {
        std::vector<uint32_t> numbers;
        for (const auto& it : sent)
        {
            numbers.push_back(it.number);
        }
        return numbers;
    }

    void DoRun() override
    {
        using Expected = std::vector<uint32_t>;
        for (KcpGeneration generation : {KcpGeneration::OF_2020, KcpGeneration::OF_2025})
        {
            bool isOnce = generation == KcpGeneration::OF_2025;
            KcpSender sender(MakeKcp(generation), KCP_WINDOW, KCP_MSS);
            sender.SetPeerWindow(KCP_WINDOW);
            sender.Write(4 * KCP_MSS);
            NS_TEST_EXPECT_MSG_EQ(sender.Flush(0).size(), 4, "all");
            sender.OnAck(1);
            NS_TEST_EXPECT_MSG_EQ(sender.CountFor(1, 0), false, "one");
            sender.OnAck(2);
            NS_TEST_EXPECT_MSG_EQ(sender.CountFor(2, 0), true, "two");
            NS_TEST_EXPECT_MSG_EQ((Numbers(sender.Flush(100)) == Expected{0}), true, "fast");
            // ACKs of what left before it was sent again do not count …
            sender.OnAck(3);
            sender.CountFor(3, 0);
            NS_TEST_EXPECT_MSG_EQ(sender.Flush(110).size(), 0, "left at 0, resent at 100");
            // … those of what left after it do, but for 2025.
            sender.Write(2 * KCP_MSS);
            sender.Flush(120);
            sender.OnAck(4);
            sender.CountFor(4, 120);
            sender.OnAck(5);
            NS_TEST_EXPECT_MSG_EQ(sender.CountFor(5, 120), !isOnce, "two of later ones");
            NS_TEST_EXPECT_MSG_EQ(sender.Flush(220).size(), !isOnce, "again");
            uint32_t due = (isOnce ? 100 : 220) + 200;
            NS_TEST_EXPECT_MSG_EQ(sender.Flush(due - 1).size(), 0, "not yet");
            NS_TEST_EXPECT_MSG_EQ((Numbers(sender.Flush(due)) == Expected{0}), true, "time-out");
            NS_TEST_EXPECT_MSG_EQ(sender.TimeToTimeout(due, 1000), 400, "twice the time-out");
            NS_TEST_EXPECT_MSG_EQ(sender.Counters().fast, 1 + !isOnce, "fast");
            NS_TEST_EXPECT_MSG_EQ(sender.Counters().timeouts, 1, "time-outs");
            // After the time-out it is counted for in 2025, too.
            sender.Write(2 * KCP_MSS);
            sender.Flush(due + 10);
            sender.OnAck(6);
            sender.CountFor(6, due + 10);
            NS_TEST_EXPECT_MSG_EQ((Numbers(sender.Flush(due + 110)) == Expected{0}),
                                  true,
                                  "early, with one ACK and nothing new");
            NS_TEST_EXPECT_MSG_EQ(sender.Counters().early, 1, "early");
        }
        KcpSpec nodelay = MakeKcp();
        nodelay.nodelay = true;
        KcpSender sender(nodelay, KCP_WINDOW, KCP_MSS);
        sender.SetPeerWindow(KCP_WINDOW);
        sender.Write(1);
        sender.Flush(0);
        NS_TEST_EXPECT_MSG_EQ(sender.Flush(200).size(), 1, "time-out");
        NS_TEST_EXPECT_MSG_EQ(sender.TimeToTimeout(200, 1000), 300, "half as much more");
    }
};

ADD_CASE(ResendTest, "A segment is resent by count, again only before 2025, and by time-out");

TEST_CASE(ns3::TestCase, CongestionTest, "With nc = 0 the congestion window is kcp-go's")
{
    KcpSpec spec = MakeKcp();
    spec.congestion = true;
    KcpSender sender(spec, KCP_WINDOW, KCP_MSS);
    sender.SetPeerWindow(KCP_WINDOW);
    sender.Write(100 * KCP_MSS);
    NS_TEST_EXPECT_MSG_EQ(sender.Flush(0).size(), 0, "there is none before the first flush");
    NS_TEST_EXPECT_MSG_EQ(sender.Flush(10).size(), 1, "one segment");
    sender.OnUna(1);
    sender.GrowWindow();
    NS_TEST_EXPECT_MSG_EQ(sender.Window(), 2, "the threshold");
    NS_TEST_EXPECT_MSG_EQ(sender.Flush(110).size(), 2, "two");
    uint32_t una = 1;
    uint32_t grown = 0;
    for (; sender.Window() == 2; ++grown)
    {
        sender.OnUna(++una);
        sender.GrowWindow();
        sender.Flush(111);
    }
    // Bytes: 2596, + mss²/incr + mss/16 each time until three segments are reached.
    NS_TEST_EXPECT_MSG_EQ(grown, 2, "ACKs for the next one");
    NS_TEST_EXPECT_MSG_EQ(sender.Window(), 4, "3913 bytes, rounded up");
    sender.Flush(112);
    sender.Flush(800);
    NS_TEST_EXPECT_MSG_EQ(sender.Window(), 1, "a time-out");
}

/// A sender that walks through all of its window, for comparison: straight from the rules.
class NaiveSender
{
  public:
    NaiveSender(const KcpSpec& spec, uint32_t window)
        : m_spec(spec),
          m_behaviour(KcpBehaviour::Of(spec.generation)),
          m_window(window),
          m_rto(spec.nodelay, static_cast<uint32_t>(spec.interval / MS))
    {
    }

    struct Segment
    {
        uint32_t number;
        uint32_t sent{0};
        uint32_t due{0};
        uint32_t rto{0};
        uint32_t count{0};
        bool isSent{false};
        bool isAcked{false};
        bool countsNoMore{false};
    };

    bool OnUna(uint32_t una)
    {
        size_t before = m_segments.size();
        std::erase_if(m_segments, [=](const Segment& it) { return it.number < una; });
        return m_segments.size() < before;
    }

    void OnAck(uint32_t number)
    {
        for (Segment& it : m_segments)
        {
            it.isAcked |= it.number == number;
        }
        if (!m_behaviour.keepsAcked)
        {
            std::erase_if(m_segments, [](const Segment& it) { return it.isAcked; });
        }
    }

    bool CountFor(uint32_t number, uint32_t time)
    {
        bool isEnough = false;
        uint32_t una = m_segments.empty() ? m_next : m_segments.front().number;
        for (Segment& it : m_segments)
        {
            bool isOlder = !m_behaviour.countsEachAck || it.sent <= time;
            if (number >= una && it.number < number && !it.isAcked && isOlder && !it.countsNoMore)
            {
                isEnough |= ++it.count >= m_spec.resend;
            }
        }
        return isEnough;
    }

    void OnSample(uint32_t rtt)
    {
        m_rto.Sample(rtt);
    }

    std::vector<uint32_t> Flush(uint32_t now, uint32_t& queued)
    {
        uint32_t una = m_segments.empty() ? m_next : m_segments.front().number;
        bool hasNew = false;
        for (; queued > 0 && m_next < una + m_window; --queued, hasNew = true)
        {
            m_segments.push_back({m_next++});
        }
        std::vector<uint32_t> sent;
        for (Segment& it : m_segments)
        {
            if (!it.isAcked && IsDue(it, now, hasNew))
            {
                it.sent = now;
                it.due = now + it.rto;
                it.isSent = true;
                sent.push_back(it.number);
            }
        }
        return sent;
    }

  private:
    bool IsDue(Segment& it, uint32_t now, bool hasNew)
    {
        bool isLate = it.isSent && now >= it.due;
        bool isCounted = !it.countsNoMore && it.count > 0 &&
                         ((m_spec.resend > 0 && it.count >= m_spec.resend) || !hasNew);
        if (!it.isSent)
        {
            it.rto = m_rto.Timeout();
            return true;
        }
        if (isCounted && !(m_behaviour.timeoutFirst && isLate))
        {
            it.rto = m_rto.Timeout();
            it.count = 0;
            it.countsNoMore = m_behaviour.resendsOnce;
            return true;
        }
        if (isLate)
        {
            it.rto += m_spec.nodelay ? m_rto.Timeout() / 2 : m_rto.Timeout();
            it.count = m_behaviour.timeoutFirst ? it.count : 0;
            it.countsNoMore = false;
        }
        return isLate;
    }

    const KcpSpec m_spec;
    const KcpBehaviour m_behaviour;
    const uint32_t m_window;
    KcpRto m_rto;
    std::vector<Segment> m_segments;
    uint32_t m_next{0};
};

class SenderListsTest : public ns3::TestCase
{
  public:
    SenderListsTest(KcpGeneration generation, bool nodelay, uint32_t resend, double loss)
        : ns3::TestCase("The sender's lists find what a walk through its window finds, " +
                        NameOf(generation) + (nodelay ? ", nodelay" : "") + ", resend " +
                        std::to_string(resend) + ", loss " + std::to_string(loss)),
          m_loss(loss)
    {
        m_spec = MakeKcp(generation);
        m_spec.nodelay = nodelay;
        m_spec.resend = resend;
    }

  private:
    struct UnderWay
    {
        uint32_t arrival;
        uint32_t number;
        uint32_t time;
    };

    void DoRun() override
    {
        constexpr uint32_t MEMBERS = 64;
        KcpSender sender(m_spec, MEMBERS, KCP_MSS);
        NaiveSender naive(m_spec, MEMBERS);
        sender.SetPeerWindow(MEMBERS);
        RandomStream draws = MakeRandomStream(7, RandomComponent::FORWARD_LOSS);
        std::vector<UnderWay> data;
        std::vector<bool> arrived(200'000);
        uint32_t una = 0;
        uint32_t queued = 0;
        uint64_t flushes = 0;
        for (uint32_t now = 1; now < 20'000; ++now)
        {
            // The receiver acknowledges what arrives, in a few ACKs at once, some of them lost.
            bool isFlushed = now % 30 == 0;
            std::vector<UnderWay> acks;
            std::erase_if(data, [&](const UnderWay& it) {
                if (it.arrival <= now)
                {
                    arrived[it.number] = true;
                    acks.push_back(it);
                }
                return it.arrival <= now;
            });
            while (arrived[una])
            {
                ++una;
            }
            bool isRegular = draws.RandU01() >= m_loss;
            if (!acks.empty() && isRegular)
            {
                isFlushed |= Acknowledge(sender, naive, acks, una, now);
            }
            if (draws.RandU01() < 0.7)
            {
                auto count = static_cast<uint32_t>(draws.RandU01() * 6);
                queued += count;
                sender.Write(count * KCP_MSS);
                isFlushed |= count > 0;
            }
            if (isFlushed)
            {
                ++flushes;
                uint32_t timeout = now;
                std::vector<uint32_t> sent;
                for (const auto& it : sender.Flush(now))
                {
                    sent.push_back(it.number);
                }
                NS_TEST_ASSERT_MSG_EQ((sent == naive.Flush(timeout, queued)), true, "at " << now);
                for (uint32_t number : sent)
                {
                    if (draws.RandU01() >= m_loss)
                    {
                        auto jitter = static_cast<uint32_t>(draws.RandU01() * 5);
                        data.push_back({now + 40 + jitter, number, now});
                    }
                }
            }
        }
        NS_TEST_EXPECT_MSG_GT(flushes, 5'000, "flushes");
        NS_TEST_EXPECT_MSG_GT(una, 2'000, "segments");
        if (m_loss > 0)
        {
            NS_TEST_EXPECT_MSG_GT(sender.Counters().Retransmits(), 100, "sent again");
        }
    }

    bool Acknowledge(KcpSender& sender,
                     NaiveSender& naive,
                     const std::vector<UnderWay>& acks,
                     uint32_t una,
                     uint32_t now)
    {
        bool hasAdvanced = sender.OnUna(una);
        NS_TEST_EXPECT_MSG_EQ(naive.OnUna(una), hasAdvanced, "UNA");
        bool hasResend = false;
        UnderWay highest = acks.front();
        for (const UnderWay& ack : acks)
        {
            sender.OnAck(ack.number);
            naive.OnAck(ack.number);
            highest = ack.number > highest.number ? ack : highest;
            if (KcpBehaviour::Of(m_spec.generation).countsEachAck)
            {
                bool isEnough = sender.CountFor(ack.number, ack.time);
                naive.CountFor(ack.number, ack.time);
                hasResend |= isEnough;
            }
        }
        if (!KcpBehaviour::Of(m_spec.generation).countsEachAck)
        {
            sender.CountFor(highest.number, highest.time);
            naive.CountFor(highest.number, highest.time);
        }
        sender.OnSample(now - acks.back().time);
        naive.OnSample(now - acks.back().time);
        return hasAdvanced || hasResend;
    }

    KcpSpec m_spec;
    const double m_loss;
};

ADD_CASES
{
    for (KcpGeneration generation : KCP_GENERATIONS)
    {
        for (uint32_t resend : {0, 1, 2, 5})
        {
            for (bool nodelay : {false, true})
            {
                for (double loss : {0.0, 0.05, 0.3})
                {
                    AddCase(new SenderListsTest(generation, nodelay, resend, loss));
                }
            }
        }
    }
}

} // namespace
