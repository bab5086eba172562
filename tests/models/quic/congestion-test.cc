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

ADD_CASES
{
    AddCase(new LoneAcksTest(true));
    AddCase(new LoneAcksTest(false));
}

} // namespace
