/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Reductions of the window that were needless are taken back: F-RTO (RFC 5682), Eifel (RFC 3522),
 * D-SACK (RFC 3708). The RTT is 100 ms, the handshake ends at 100 ms, and data written then is
 * acknowledged at 200 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-undo");

/// Without timestamps, which would tell at once.
TcpSpec
PlainSpec()
{
    TcpSpec spec = Exchange::Spec();
    spec.headerBytes = 40;
    return spec;
}

SenderCounters
Counters(const Exchange& exchange)
{
    return exchange.client.tcp.GetSender().Counters();
}

class SpuriousTimeOutTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Everything after the handshake is 600 ms late. \returns what follows the time-out
    std::string Run(const TcpSpec& spec)
    {
        Exchange exchange(100 * MS, spec, spec);
        exchange.Connect();
        RunUntil(99 * MS);
        exchange.toServer.SetDelay(650 * MS);
        exchange.WriteSegments(100 * MS, 30);
        RunUntil(700 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), "10@302 0@602", "probe, time-out");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 1, "one segment");
        RunUntil(805 * MS);
        NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 1, "undone");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 10, "the window from before");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().LostOut(), 0, "none lost");
        RunUntil(10'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(Counters(exchange).retransmits, 1, "the one that tested");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Received(), 30 * 1'448, "all");
        std::string sent = exchange.toServer.Data(700 * MS, 801 * MS);
        ns3::Simulator::Destroy();
        return sent;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Run(PlainSpec()),
                              "11@800 12@800 13@800 14@800 15@800 16@800 17@800 18@800 19@800",
                              "F-RTO: the second ACK is of segment 1, which was sent once");
        NS_TEST_EXPECT_MSG_EQ(Run(Exchange::Spec()),
                              "11@800 12@800 13@800 14@800 15@800 16@800 17@800 18@800 19@800",
                              "Eifel: the first ACK echoes 100 ms");
    }
};

ADD_CASE(SpuriousTimeOutTest,
         "A time-out that only a delay caused is undone"
         " -> window 10 and segments 11 to 19 at 800 ms (RFC 5682, 3.1; RFC "
         "3522; Linux tcp_process_loss())");

TEST_CASE(SimulationTestCase,
          GenuineTimeOutTest,
          "A time-out that a loss caused is not undone"
          " -> segment 11 at 702, 1 at 802 ms (RFC 5682, 3.1; Linux tcp_process_loss())")
{
    Exchange exchange;
    exchange.Connect();
    for (uint32_t segment = 0; segment <= 10; ++segment)
    {
        exchange.toServer.LoseSegment(segment);
    }
    exchange.WriteSegments(100 * MS, 30);
    RunUntil(850 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                          "10@302 0@602 11@702 1@802",
                          "F-RTO sends new data first, whose SACK shows the loss");
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 0, "a genuine one");
    RunUntil(20'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 0, "for good");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Received(), 30 * 1'448, "all");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Duplicates(), 0, "nothing twice");
}

TEST_CASE(SimulationTestCase,
          EifelTest,
          "An ACK that echoes a time before the retransmission undoes recovery"
          " -> segment 5 at 200 ms, window 10 by 221 ms (RFC 3522; RFC 4015; "
          "Linux tcp_packet_delayed())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.HoldSegment(5, 20 * MS);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(210 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), "5@200", "three SACKs");
    RunUntil(221 * MS);
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 1, "the ACK of the original");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 10, "the window from before");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "over");
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(221 * MS), "10[D5-6)@250", "then a D-SACK");
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 1, "undone once");
}

class DuplicateUndoTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Check(false);
        Check(true);
    }

    /// Two segments are late. \param losesAck whether one of their D-SACKs is lost
    void Check(bool losesAck)
    {
        Exchange exchange(100 * MS, PlainSpec(), PlainSpec());
        exchange.Connect();
        exchange.toServer.HoldSegment(4, 20 * MS);
        exchange.toServer.HoldSegment(5, 20 * MS);
        exchange.WriteSegments(100 * MS, 10);
        RunUntil(221 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                              "4@200 5@200",
                              "both are sent again");
        NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 0, "no evidence");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 5, "the reduction is complete");
        if (losesAck)
        {
            exchange.toClient.LoseNext(PacketKind::ACK);
        }
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(221 * MS),
                              "10[D4-5)@250 10[D5-6)@250",
                              "two D-SACKs");
        const uint64_t undos = losesAck ? 0 : 1;
        const uint32_t cwnd = losesAck ? 5 : 10;
        NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, undos, "undone by both only");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, cwnd, "the window");
        ns3::Simulator::Destroy();
    }
};

ADD_CASE(DuplicateUndoTest,
         "Without timestamps D-SACKs of all retransmissions undo recovery"
         " -> window 10 after both D-SACKs, 5 after one (RFC 3708; Linux "
         "tcp_try_undo_dsack())");

TEST_CASE(SimulationTestCase,
          LossBehindReorderingTest,
          "The ACK that undoes a recovery begins the next one if it shows a loss"
          " -> reductions at 200 and 250 ms (Linux tcp_fastretrans_alert(), TCP_CA_Recovery)")
{
    Exchange exchange;
    exchange.client.control.cwnd = 20;
    exchange.Connect();
    exchange.toServer.HoldSegment(5, 50 * MS); // comes at 200 ms, its repair at 250
    exchange.WriteSegments(100 * MS, 10);
    exchange.toServer.LoseSegment(10);
    exchange.WriteSegments(105 * MS, 1);
    exchange.WriteSegments(145 * MS, 3);
    RunUntil(194 * MS);
    exchange.toClient.LoseNext(PacketKind::ACK, 3); // so that one ACK tells of 5 and of 11 to 13
    RunUntil(249 * MS);
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 0, "in the first recovery");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::RECOVERY), true, "still");
    RunUntil(251 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(196 * MS, 202 * MS), "10[11-14)@200", "the ACK");
    NS_TEST_EXPECT_MSG_EQ(Counters(exchange).undos, 1, "5 was only late");
    // 10 was sent 40 ms before 13, more than RACK's window of 25 ms, a quarter of the RTT.
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::RECOVERY),
                          true,
                          "10 is not");
    const std::vector<int64_t> reductions{200 * MS, 250 * MS};
    NS_TEST_EXPECT_MSG_EQ((exchange.client.control.reductions == reductions), true, "reductions");
}

TEST_CASE(SimulationTestCase,
          MarkedUndoTest,
          "Once an ECN echo proved congestion, the window stays reduced"
          " -> window below 10, one reduction (RFC 3168, 6.1.2; Linux tcp_fastretrans_alert())")
{
    // Linux tcp_fastretrans_alert(): the echo clears prior_ssthresh.
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.HoldSegment(5, 20 * MS);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(210 * MS);
    Packet echo{};
    echo.kind = PacketKind::ACK;
    echo.ackNumber = 5;
    echo.window = 1 << 20;
    echo.tsEcr = 100;
    echo.isEce = true;
    exchange.client.tcp.Receive(210 * MS, echo, nullptr);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "over");
    NS_TEST_EXPECT_MSG_LT(exchange.client.State().cwnd, 10, "not the window from before");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "one reduction");
}

} // namespace
