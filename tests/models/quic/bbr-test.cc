/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks BBR of Chromium's QUIC, and its samples, by numbers that follow from the source (hysteria
 * cb70589, core/internal/congestion/bbr). A script sends packets and settles them by hand.
 */
#include "quic/chromium-bbr.h"
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <deque>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-bbr");

using Mode = ChromiumBbr::Mode;

constexpr double RATE = 12.5e6; //!< bytes/s
constexpr uint32_t FIRST_WINDOW = 32;
constexpr uint32_t BYTES = 1250;

/// Some packets in flight across a path of constant rate: an ACK for every two, two for every ACK.
struct BbrScript
{
    explicit BbrScript(int packets)
        : bbr({2, 8, 0.02, 65536}, {}, FIRST_WINDOW, BYTES, 0)
    {
        state.minRtt = 40 * MS;
        bbr.Init(state, 0);
        Send(1);
        now += 40 * MS;
        Settle(1, 0); // no sample: nothing had been acknowledged when it left
        Send(packets);
        now += 40 * MS;
    }

    void Send(int packets)
    {
        for (int i = 0; i < packets; ++i)
        {
            history.AddFrame({});
            QuicPacket& packet = history.Send();
            packet.bytes = static_cast<uint16_t>(bytes);
            packet.sample.sentTime = now;
            history.CountInFlight(packet);
            bbr.OnSent(now, history, true);
            inFlight.push_back(history.Next() - 1);
        }
    }

    /// The oldest ones are lost, and those after them acknowledged.
    void Settle(int acked, int lost)
    {
        const uint64_t before = history.BytesInFlight();
        const std::vector<uint64_t> losses = Take(lost, QuicPacketFate::LOST);
        const std::vector<uint64_t> acks = Take(acked, QuicPacketFate::ACKED);
        bbr.OnEvent(state, {now, history, before, acks, losses});
    }

    /// ACKs of two packets at the path's rate. \param lost before each, sent again at once
    void Run(int acks, int lost = 0)
    {
        for (int i = 0; i < acks; ++i)
        {
            now += static_cast<int64_t>(2 * bytes / RATE * 1e9);
            Settle(2, lost);
            Send(2 + lost);
        }
    }

    std::vector<uint64_t> Take(int count, QuicPacketFate fate)
    {
        std::vector<uint64_t> taken;
        for (int i = 0; i < count; ++i)
        {
            taken.push_back(inFlight.front());
            inFlight.pop_front();
            history.Settle(history.At(taken.back()), fate);
        }
        return taken;
    }

    ChromiumBbr bbr;
    PacketHistory history;
    std::deque<uint64_t> inFlight;
    SenderState state;
    uint32_t bytes{BYTES};
    int64_t now{0};
};

TEST_CASE(ns3::TestCase,
          ByteSamplesTest,
          "A sample is the lower of the rates of sending and of arriving")
{
    ByteSampler sampler;
    sampler.OnSent(0, 0, 1000, 1000, true);
    NS_TEST_EXPECT_MSG_EQ(sampler.OnAcked(40 * MS, 0).sent.isKnown, false, "nothing before it");
    for (uint64_t i = 1; i <= 10; ++i)
    {
        const auto time = static_cast<int64_t>(40 + i) * MS;
        sampler.OnSent(time, i, 1000, 1000 * i, true);
    }
    // 2 was sent 42 ms after 0, and 3 kB with it; 1 and 2 arrive in 42 ms after 0 did.
    sampler.OnAcked(81 * MS, 1);
    auto sample = sampler.OnAcked(82 * MS, 2);
    NS_TEST_EXPECT_MSG_EQ_TOL(sample.bandwidth, 2000 / 0.042, 1, "2 kB in 42 ms");
    NS_TEST_EXPECT_MSG_EQ(sample.rtt, 40 * MS, "since it left");
    // Late by a whole RTT: what counts is when it arrived.
    sample = sampler.OnAcked(122 * MS, 3);
    NS_TEST_EXPECT_MSG_EQ_TOL(sample.bandwidth, 3000 / 0.082, 1, "3 kB in 82 ms");
    // Two losses lower what arrived, not what was sent: 6 is the fourth after 0 that arrives.
    sampler.OnLost(4, 1000);
    sampler.OnLost(5, 1000);
    sample = sampler.OnAcked(122 * MS + 1, 6);
    NS_TEST_EXPECT_MSG_EQ_TOL(sample.bandwidth, 4000 / 0.082, 1, "4 kB in 82 ms");
    NS_TEST_EXPECT_MSG_EQ(sampler.Lost(), 2000, "both");

    sampler.MarkAppLimited();
    sampler.OnSent(1000 * MS, 11, 1000, 5000, true);
    sample = sampler.OnAcked(1040 * MS, 11);
    NS_TEST_EXPECT_MSG_EQ_TOL(sample.bandwidth, 1000 / 0.918, 1, "1 kB since 6 arrived");
    NS_TEST_EXPECT_MSG_EQ(sample.sent.isAppLimited, true, "until one sent since is acknowledged");
    sampler.OnSent(1041 * MS, 12, 1000, 1000, true);
    NS_TEST_EXPECT_MSG_EQ(sampler.OnAcked(1081 * MS, 12).sent.isAppLimited, false, "it was");

    // Sent 80 ms after 0 and back in 1 ms: the rate of sending is the lower one.
    ByteSampler other;
    other.OnSent(0, 0, 1000, 1000, true);
    other.OnAcked(40 * MS, 0);
    other.OnSent(41 * MS, 1, 1000, 1000, true);
    other.OnSent(80 * MS, 2, 1000, 2000, true);
    other.OnAcked(81 * MS, 1);
    sample = other.OnAcked(81 * MS, 2);
    NS_TEST_EXPECT_MSG_EQ_TOL(sample.bandwidth, 2000 / 0.080, 1, "2 kB in 80 ms, not in 41");
}

TEST_CASE(ns3::TestCase,
          StartUpWindowTest,
          "In start-up the window is two BDP, not the 2.885 of the rate")
{
    BbrScript script(400);
    script.Run(100); // half a round
    const uint64_t bdp = 40 * static_cast<uint64_t>(RATE / 1000);
    for (int i = 0; i < 450 && script.bbr.GetMode() == Mode::STARTUP; ++i)
    {
        script.Run(1);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(script.bbr.Window(),
                                    2 * bdp + 2 * BYTES,
                                    "no more than two BDP and what an ACK adds");
    }
    NS_TEST_EXPECT_MSG_GT(script.bbr.Window(), 3 * bdp / 2, "it grew");
    NS_TEST_EXPECT_MSG_EQ_TOL(script.state.pacingRate, 2.887 * RATE, 0.01 * RATE, "the rate");
}

TEST_CASE(ns3::TestCase,
          FirstWindowTest,
          "The first window has as many packets when they become larger")
{
    ChromiumBbr bbr({2, 8, 0.02, 65536}, {}, FIRST_WINDOW, BYTES, 0);
    NS_TEST_EXPECT_MSG_EQ(bbr.Window(), FIRST_WINDOW * BYTES, "of packets");
    bbr.OnPacketBytes(1439);
    NS_TEST_EXPECT_MSG_EQ(bbr.Window(), FIRST_WINDOW * 1439, "of larger ones");
}

TEST_CASE(ns3::TestCase, LargerPacketsTest, "Larger packets change neither estimate nor window")
{
    BbrScript script(400);
    script.Run(3000);
    NS_TEST_ASSERT_MSG_EQ(script.bbr.GetPhase(), "PROBE_BW", "400 packets are the BDP");
    const uint64_t window = script.bbr.Window();
    NS_TEST_EXPECT_MSG_EQ_TOL(script.bbr.GetBandwidth(), RATE, 1e-3 * RATE, "of the path");
    script.bbr.OnPacketBytes(1439);
    script.bytes = 1439;
    for (int i = 0; i < 10; ++i)
    {
        script.Run(50);
        NS_TEST_EXPECT_MSG_EQ_TOL(script.bbr.GetBandwidth(),
                                  RATE,
                                  1e-3 * RATE,
                                  "in bytes it is the same");
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(script.bbr.Window()),
                              static_cast<double>(window),
                              0.01 * static_cast<double>(window),
                              "and so is the window");
    NS_TEST_EXPECT_MSG_EQ(script.state.cwnd,
                          (script.bbr.Window() + 1438) / 1439,
                          "in packets it is smaller");
}

class StartUpLossTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Rounds(0, 0), 3, "without losses after three rounds");
        NS_TEST_EXPECT_MSG_EQ(Rounds(7, 4), 3, "seven ACKs do not do");
        NS_TEST_EXPECT_MSG_EQ(Rounds(12, 4), 1, "more do");
        NS_TEST_EXPECT_MSG_EQ(Rounds(8, 1), 3, "2 % of twice 400 packets are 16");
    }

    /// Rounds without growth until it is over. \param acks in each of which some are lost
    int Rounds(int acks, int lost)
    {
        BbrScript script(400);
        script.Run(210); // into the second round, with the estimate
        for (int round = 0; round < 5; ++round)
        {
            script.Run(acks, lost);
            const uint64_t window = script.bbr.Window();
            NS_TEST_EXPECT_MSG_GT_OR_EQ(window, FIRST_WINDOW * BYTES, "no recovery in start-up");
            // Until the first packet sent in the round is acknowledged.
            for (uint64_t end = script.history.Next(); script.inFlight.front() < end;)
            {
                script.Run(1);
                if (script.bbr.GetMode() != Mode::STARTUP)
                {
                    return round + 1;
                }
            }
        }
        return 0;
    }
};

ADD_CASE(StartUpLossTest, "Start-up ends when eight ACKs of a round tell of losses of 2 %");

TEST_CASE(ns3::TestCase,
          RecoveryWindowTest,
          "A loss conserves packets for a round; then two leave for each one")
{
    BbrScript script(400);
    script.Run(3000);
    NS_TEST_ASSERT_MSG_EQ(script.bbr.GetPhase(), "PROBE_BW", "after start-up");
    script.now += 200 * US;
    script.Settle(2, 4);
    NS_TEST_EXPECT_MSG_EQ(script.bbr.Window(), 396 * BYTES, "394 in flight, two acknowledged");
    script.Send(2);
    script.Run(196);
    NS_TEST_EXPECT_MSG_EQ(script.bbr.Window(), 396 * BYTES, "one for one, in this round");
    script.now += 200 * US;
    script.Settle(2, 1); // a loss in the next round goes on with it, and more may leave
    script.Send(2);
    script.Run(20);
    NS_TEST_EXPECT_MSG_GT(script.bbr.Window(), 399 * BYTES, "it grows");
    script.Run(250);
    NS_TEST_EXPECT_MSG_GT(script.bbr.Window(), 780 * BYTES, "a round without a loss ends it");
}

} // namespace
