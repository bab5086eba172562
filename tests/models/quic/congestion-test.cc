/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what congestion control hears of QUIC's packets, and how they are paced.
 */
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <string>
#include <utility>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-congestion");

/// Congestion control of packets that the script sends, and settles, by hand. The RTT is 100 ms.
struct CongestionScript
{
    explicit CongestionScript(const std::string& algorithm, const QuicSpec& spec = MakeQuic())
        : congestion(spec, End::CLIENT, MakeCongestionControl(algorithm, {}, 0), history)
    {
        rtt.Sample(100 * MS, 0);
        congestion.Init(0, rtt);
    }

    void Send(int count, uint16_t bytes)
    {
        for (int i = 0; i < count; ++i)
        {
            const bool isIdle = history.InFlight() == 0;
            history.AddFrame({});
            QuicPacket& packet = history.Send();
            packet.bytes = bytes;
            history.CountInFlight(packet);
            congestion.OnSent(0, packet, isIdle);
        }
    }

    /// An ACK, or the loss timer, tells of packets from `first` on.
    void Settle(int64_t now, uint64_t first, uint64_t count, QuicPacketFate fate)
    {
        const uint64_t before = history.BytesInFlight();
        LossDetection::Outcome outcome;
        for (uint64_t number = first; number < first + count; ++number)
        {
            history.Settle(history.At(number), fate);
            (fate == QuicPacketFate::LOST ? outcome.lost : outcome.acked).push_back(number);
        }
        congestion.OnOutcome(now, outcome, rtt, before);
    }

    PacketHistory history;
    RoundTrip rtt;
    QuicCongestion congestion;
};

class LoneAcksTest : public ns3::TestCase
{
  public:
    explicit LoneAcksTest(bool count)
        : ns3::TestCase("ACKs that leave alone use up what pacing allows where they count"),
          m_count(count)
    {
    }

  private:
    void DoRun() override
    {
        QuicSpec spec = MakeQuic();
        spec.pacing.countsAcks = m_count;
        CongestionScript script("reno", spec);
        for (int i = 0; i < 100; ++i)
        {
            QuicPacket& ack = script.history.Send();
            ack.bytes = 150;
            script.congestion.OnAckSent(SECOND, ack);
        }
        // 32 · 1280 in 100 ms, times 1.25, is 512 bytes a ms: a packet's worth comes in 2.5 ms.
        NS_TEST_EXPECT_MSG_EQ(script.congestion.NextSend(SECOND),
                              SECOND + (m_count ? 2'500'000 : 0),
                              "100 · 150 bytes are more than ten packets");
    }

    const bool m_count;
};

TEST_CASE(ns3::TestCase,
          DeliveredBytesTest,
          "Samples of the rate and windows count bytes delivered, as full packets")
{
    CongestionScript script("bbr");
    script.Send(8, 320);
    script.Send(2, 1280);
    script.Settle(100 * MS, 0, 10, QuicPacketFate::ACKED);
    const SenderState& state = script.congestion.State();
    NS_TEST_EXPECT_MSG_EQ(state.delivered, 4, "two of eight quarters, and two");
    NS_TEST_EXPECT_MSG_EQ(state.maxPacketsOut, 4, "in as many full ones");
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 32 + 4, "in start-up");
}

class RecoveryPeriodTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        // The first of twelve packets is lost; after six more, the eleventh is.
        NS_TEST_EXPECT_MSG_EQ(IsRecovered("reno", 12), true, "sent since the cut");
        NS_TEST_EXPECT_MSG_EQ(IsRecovered("bbr", 12), false, "sent before the second loss");
        NS_TEST_EXPECT_MSG_EQ(IsRecovered("bbr", 18), true, "sent since then");
    }

    /// Whether the period is over once the packet of this number is acknowledged.
    bool IsRecovered(const std::string& algorithm, uint64_t number)
    {
        CongestionScript script(algorithm);
        script.Send(12, 1280);
        script.Settle(100 * MS, 0, 1, QuicPacketFate::LOST);
        script.Send(6, 1280);
        script.Settle(100 * MS, 10, 1, QuicPacketFate::LOST);
        script.Send(1, 1280);
        script.Settle(200 * MS, number, 1, QuicPacketFate::ACKED);
        return script.congestion.State().caState == CaState::OPEN;
    }
};

ADD_CASE(RecoveryPeriodTest, "A further loss makes a recovery period longer where BBR runs");

TEST_CASE(
    ns3::TestCase,
    UsedWindowTest,
    "A window grows only if it was used: more than half in slow start, else but for 3 packets")
{
    // quic-go, cubic_sender.go, isCwndLimited(), and RFC 9002, section 7.8.
    auto after = [](int packets, bool isSlowStart) {
        CongestionScript script("reno");
        uint64_t first = 0;
        if (!isSlowStart)
        {
            script.Send(2, 1280);
            script.Settle(100 * MS, 0, 1, QuicPacketFate::LOST);
            script.Send(1, 1280);
            script.Settle(200 * MS, 1, 2, QuicPacketFate::ACKED);
            first = 3;
        }
        const uint32_t before = script.congestion.State().cwnd;
        script.Send(packets, 1280);
        script.Settle(300 * MS, first, static_cast<uint64_t>(packets), QuicPacketFate::ACKED);
        return std::pair(before, script.congestion.State().cwnd);
    };
    NS_TEST_EXPECT_MSG_EQ((after(16, true) == std::pair(32U, 32U)), true, "half is not more");
    NS_TEST_EXPECT_MSG_EQ((after(17, true) == std::pair(32U, 32U + 17)), true, "one for each");
    // Reno halves 32 to 16. Thirteen packets and three more are 16: one more for 16 of them.
    NS_TEST_EXPECT_MSG_EQ((after(12, false) == std::pair(16U, 16U)), true, "four are left");
    CongestionScript script("reno");
    script.Send(1, 1280);
    script.Settle(100 * MS, 0, 1, QuicPacketFate::LOST);
    NS_TEST_EXPECT_MSG_EQ(script.congestion.State().cwnd, 16, "half of 32");
    script.Send(13, 1280);
    script.Settle(200 * MS, 1, 13, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(script.congestion.State().cwnd, 16, "13 of 16 are counted");
    script.Send(13, 1280);
    script.Settle(300 * MS, 14, 13, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(script.congestion.State().cwnd, 17, "26 are more than 16");
}

TEST_CASE(ns3::TestCase,
          RecoveryEdgesTest,
          "What was sent before a loss was known makes no window grow, nor cuts it again")
{
    CongestionScript script("reno");
    script.Send(20, 1280);
    script.Settle(100 * MS, 0, 1, QuicPacketFate::LOST);
    const SenderState& state = script.congestion.State();
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 16, "half of 32");
    NS_TEST_EXPECT_MSG_EQ(state.ssthresh, 16, "half of 32");
    NS_TEST_EXPECT_MSG_EQ((state.caState == CaState::RECOVERY), true, "recovery");
    script.Settle(110 * MS, 1, 18, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 16, "no growth");
    NS_TEST_EXPECT_MSG_EQ((state.caState == CaState::RECOVERY), true, "sent before it");
    script.Settle(120 * MS, 19, 1, QuicPacketFate::LOST);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 16, "the last of them: no second cut");
    script.Send(1, 1280);
    script.Settle(220 * MS, 20, 1, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ((state.caState == CaState::OPEN), true, "the first sent since then");
    script.Send(1, 1280);
    script.Settle(300 * MS, 21, 1, QuicPacketFate::LOST);
    NS_TEST_EXPECT_MSG_EQ(state.cwnd, 8, "a loss of its own");
    NS_TEST_EXPECT_MSG_EQ(state.lost, 3, "in all");
}

TEST_CASE(ns3::TestCase,
          WindowLimitsTest,
          "A window has two packets at least (RFC 9002, section 7.2), and the most that it may")
{
    QuicSpec spec = MakeQuic();
    spec.window = {3, 10'000};
    CongestionScript least("reno", spec);
    for (uint64_t number = 0; number < 5; ++number)
    {
        least.Send(1, 1280);
        least.Settle(100 * MS, number, 1, QuicPacketFate::LOST);
    }
    NS_TEST_EXPECT_MSG_EQ(least.congestion.State().cwnd, 2, "two packets");

    spec.window = {32, 40};
    CongestionScript most("reno", spec);
    most.Send(32, 1280);
    most.Settle(100 * MS, 0, 7, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(most.congestion.State().cwnd, 39, "below");
    most.Settle(100 * MS, 7, 20, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(most.congestion.State().cwnd, 40, "the most");
    spec.window = {32, 0};
    CongestionScript any("reno", spec);
    any.Send(32, 1280);
    any.Settle(100 * MS, 0, 32, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(any.congestion.State().cwnd, 64, "without one");

    // Persistent congestion (RFC 9002, section 7.6.2).
    CongestionScript lost("reno");
    lost.Send(10, 1280);
    const uint64_t before = lost.history.BytesInFlight();
    LossDetection::Outcome outcome;
    outcome.isPersistent = true;
    for (uint64_t number = 0; number < 9; ++number)
    {
        lost.history.Settle(lost.history.At(number), QuicPacketFate::LOST);
        outcome.lost.push_back(number);
    }
    lost.congestion.OnOutcome(SECOND, outcome, lost.rtt, before);
    NS_TEST_EXPECT_MSG_EQ(lost.congestion.State().cwnd, 2, "two packets");
    NS_TEST_EXPECT_MSG_EQ((lost.congestion.State().caState == CaState::LOSS),
                          true,
                          "as a time-out");
    lost.Settle(2 * SECOND, 9, 1, QuicPacketFate::ACKED);
    NS_TEST_EXPECT_MSG_EQ(lost.congestion.State().cwnd, 3, "what was sent before counts here");
}

ADD_CASES
{
    AddCase(new LoneAcksTest(true));
    AddCase(new LoneAcksTest(false));
}

} // namespace
