/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: losses that SACKs show, and their repair. RACK (RFC 8985), PRR (RFC 9937).
 * The RTT is 100 ms, the handshake ends at 100 ms, and data written then is acknowledged at 200 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"
#include "transport/prr.h"

#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-recovery");

TEST_CASE(SimulationTestCase,
          FastRetransmitTest,
          "A hole below three SACKs is retransmitted at once"
          " -> segment 2 at 200 ms (RFC 8985, 6.2)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(2);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), "2@200", "with the third SACK");
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(150 * MS, 151 * MS),
                          "1@150 2@150 2[3-4)@150 2[3-5)@150 2[3-6)@150 2[3-7)@150 "
                          "2[3-8)@150 2[3-9)@150 2[3-10)@150",
                          "what told it so");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().retransmits, 1, "one");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.control.reductions == std::vector<int64_t>{200 * MS}),
                          true,
                          "one reduction");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 5, "the window ends at ssthresh");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 14'480, "all read");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "over");
}

class ReorderingTimerTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void Check(int64_t jiffy, const std::string& repair)
    {
        TcpSpec spec = Exchange::Spec();
        spec.jiffy = jiffy;
        Exchange exchange(100 * MS, spec);
        exchange.Connect();
        exchange.toServer.LoseSegment(2);
        exchange.WriteSegments(100 * MS, 5);
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), repair, "after SACKs at 200 ms");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "one reduction");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().tailLossProbes,
                              0,
                              "no probe while there are SACKs");
        ns3::Simulator::Destroy();
    }

    void DoRun() override
    {
        Check(0, "2@227");      // 100 / 4 + 2 ms
        Check(4 * MS, "2@232"); // 27 ms are 7 jiffies, and one more ends
    }
};

ADD_CASE(ReorderingTimerTest,
         "With fewer SACKs, a hole is lost after a quarter of the least RTT"
         " -> segment 2 at 227 ms, with jiffies of 4 ms at 232 ms (RFC 8985, "
         "6.2; Linux tcp_rack_mark_lost())");

TEST_CASE(SimulationTestCase,
          LastHoleTest,
          "The reordering timer waits for the last of several holes"
          " -> segments 0 to 2 lost at 237 ms (RFC 8985, 6.2; Linux tcp_rack_detect_loss())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(0);
    exchange.toServer.LoseSegment(1);
    exchange.toServer.LoseSegment(2);
    exchange.WriteSegments(100 * MS, 2);
    exchange.WriteSegments(110 * MS, 2);
    RunUntil(236 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().LostOut(), 0, "none yet");
    RunUntil(238 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().LostOut(),
                          3,
                          "all 25 + 2 ms after the SACK of segment 3");
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(111 * MS), "0@237", "the first goes at once");
}

TEST_CASE(SimulationTestCase,
          DelayedSampleTest,
          "An ACK that was delayed and then brings a SACK tells RACK its own RTT"
          " -> segment 17 at 467 ms (RFC 8985, 6.2; Linux tcp_rack_advance())")
{
    TcpSpec late = Exchange::Spec();
    late.pushedAcks = false;
    Exchange exchange(100 * MS, Exchange::Spec(), late);
    exchange.Connect();
    exchange.client.control.cwnd = 40;
    exchange.WriteSegments(100 * MS, 16); // uses up the quick ACKs
    exchange.toServer.LoseSegment(17);
    exchange.WriteSegments(310 * MS, 2);
    exchange.WriteSegments(340 * MS, 1);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(310 * MS, 400 * MS),
                          "17[18-19)@390",
                          "segment 16 after 30 ms, with the SACK of 18");
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(341 * MS),
                          "17@467",
                          "130 ms is how long an ACK may take: 25 + 2 ms more");
}

TEST_CASE(SimulationTestCase,
          PacedRepairTest,
          "Pacing lets one buffer of lost segments go at a time"
          " -> segment 10 at 415, 13 at 415.5, 14 and 15 at 416.5 ms (Linux "
          "tcp_xmit_retransmit_queue())")
{
    TcpSpec spec = Exchange::Spec();
    spec.pacingQuantum = 2 * MS;
    Exchange exchange(100 * MS, spec, spec);
    exchange.client.control.cwnd = 40;
    exchange.client.control.ssthresh = 40;
    exchange.client.control.pacingRate = 1448e3; // a segment a millisecond
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 10); // not paced
    for (uint32_t segment : {10, 13, 14, 15})
    {
        exchange.toServer.LoseSegment(segment);
    }
    exchange.WriteSegments(310 * MS, 10);
    RunUntil(416 * MS);
    exchange.client.control.SetCwnd(40); // PRR would let one go for each SACK
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(310 * MS, 400 * MS),
                          "10@310 11@310 12@311 13@311 14@313 15@313 16@315 17@315 18@317 "
                          "19@317",
                          "pairs");
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(400 * MS),
                          "10@415 13@415.5 14@416.5 15@416.5",
                          "what was lost of each");
}

TEST_CASE(SimulationTestCase,
          ReorderingTest,
          "Reordering widens the window in which a hole may yet be filled"
          " -> 20 ms late: none; 40 ms late: segment 22 at 2127 ms, then none (RFC 8985, 6.2)")
{
    Exchange exchange;
    exchange.Connect();
    Wire& wire = exchange.toServer;

    wire.HoldSegment(8, 20 * MS);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(wire.Data(101 * MS), "", "one SACK, 20 ms late: within 25 ms");

    wire.HoldSegment(12, 20 * MS);
    exchange.WriteSegments(1'000 * MS, 10);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(wire.Data(1'001 * MS),
                          "",
                          "once reordering was seen, three SACKs prove nothing");

    wire.HoldSegment(22, 40 * MS);
    exchange.WriteSegments(2'000 * MS, 10);
    RunUntil(3'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(wire.Data(2'001 * MS), "22@2127", "40 ms late: beyond 27 ms");
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(2'051 * MS),
                          "30@2090 30[D22-23)@2177",
                          "the original, then the retransmission");

    exchange.client.control.SetCwnd(10);
    wire.HoldSegment(32, 40 * MS);
    exchange.WriteSegments(3'000 * MS, 10);
    RunUntil(4'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(wire.Data(3'001 * MS), "", "after a D-SACK, within 2 x 25 ms");
}

TEST_CASE(SimulationTestCase,
          LostRetransmissionTest,
          "A lost retransmission is detected by data sent after it"
          " -> segment 2 at 100, 200, 300, 400 ms (RFC 8985, 6.2)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(2, 3);
    exchange.WriteSegments(100 * MS, 60);
    RunUntil(2'000 * MS);
    std::string repairs;
    for (const Transmission& sent : exchange.toServer.log)
    {
        if (sent.packet.kind == PacketKind::DATA && sent.packet.segment == 2)
        {
            repairs += std::to_string(sent.time / MS) + " ";
        }
    }
    NS_TEST_EXPECT_MSG_EQ(repairs, "100 200 300 400 ", "once a round trip");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 0, "no time-out");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Received(), 60 * 1'448, "all");
}

class PrrNumbersTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // RFC 6937, section 4, figure 2: window 20, one loss, ssthresh 10.
        Prr prr(PrrSlowStart::PROGRESS);
        prr.Begin(20);
        std::string sent;
        uint32_t inFlight = 18; // 20 less the loss and the segment just delivered
        for (int ack = 0; ack < 16; ++ack)
        {
            for (uint32_t cwnd = prr.Cwnd(10, inFlight, 1, {.isLossless = true}); inFlight < cwnd;
                 ++inFlight)
            {
                sent += "N";
                prr.OnSent();
            }
            sent += " ";
            --inFlight;
        }
        NS_TEST_EXPECT_MSG_EQ(sent, "N  N  N  N  N  N  N  N  ", "every other ACK");

        // Below ssthresh (RFC 9937, section 6.2): what was delivered, and one more if it is safe.
        prr.Begin(20);
        NS_TEST_EXPECT_MSG_EQ(prr.Cwnd(10, 4, 1, {.isLossless = true}), 6, "slow start");
        prr.Begin(20);
        NS_TEST_EXPECT_MSG_EQ(prr.Cwnd(10, 4, 1, {}), 5, "conservation of packets");
        prr.Begin(20);
        NS_TEST_EXPECT_MSG_EQ(prr.Cwnd(10, 4, 8, {.isLossless = true}),
                              10,
                              "no more than ssthresh");
        prr.Begin(20);
        NS_TEST_EXPECT_MSG_EQ(prr.Cwnd(10, 10, 0, {}), 11, "at least the retransmission");
        prr.OnSent();
        NS_TEST_EXPECT_MSG_EQ(prr.Cwnd(10, 11, 0, {}), 11, "which goes once");
        CheckRepairBound();
    }

    /// Eight segments delivered while nothing could be sent; then one more, below ssthresh.
    static uint32_t CwndAfterPause(PrrSlowStart slowStart, Prr::Progress progress)
    {
        Prr prr(slowStart);
        prr.Begin(20);
        prr.Cwnd(10, 9, 8, {});
        return prr.Cwnd(10, 2, 1, progress);
    }

    void CheckRepairBound()
    {
        // Linux tcp_cwnd_reduction(), today and before 5.11
        NS_TEST_EXPECT_MSG_EQ(CwndAfterPause(PrrSlowStart::PROGRESS, {}),
                              10,
                              "all that was delivered");
        NS_TEST_EXPECT_MSG_EQ(CwndAfterPause(PrrSlowStart::REPAIR, {}),
                              3,
                              "what this ACK delivered");
        NS_TEST_EXPECT_MSG_EQ(CwndAfterPause(PrrSlowStart::REPAIR, {.isLossless = true}),
                              3,
                              "new data");
        NS_TEST_EXPECT_MSG_EQ(CwndAfterPause(PrrSlowStart::REPAIR, {.isRepaired = true}),
                              10,
                              "a repair");
    }
};

ADD_CASE(PrrNumbersTest,
         "PRR sends the share ssthresh has of the window per segment delivered"
         " -> one for every second ACK; windows 6, 5, 10, 11 (RFC 6937; RFC 9937)");

TEST_CASE(SimulationTestCase,
          PrrExchangeTest,
          "PRR brings the window to ssthresh within a round trip"
          " -> 0 at 203, 22 at 205.1, 28 at 217.1 ms; window 10 at 304 ms (RFC "
          "9937; Linux tcp_cwnd_reduction())")
{
    Exchange exchange;
    exchange.client.control.cwnd = 20;
    exchange.client.control.ssthresh = 10;
    exchange.Connect();
    exchange.toServer.LoseSegment(0);
    for (uint32_t segment = 1; segment < 20; ++segment)
    {
        exchange.toServer.HoldSegment(segment,
                                      segment * MS); // so that ACKs wait for the second of two
    }
    exchange.WriteSegments(100 * MS, 200);
    RunUntil(300 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                          "20@201 21@202 0@203 22@205.1 23@207.1 24@209.1 25@211.1 26@213.1 "
                          "27@215.1 28@217.1",
                          "new data for two SACKs, then a segment for every other one");
    RunUntil(304 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 10, "ssthresh");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "over");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().InFlight(), 10, "full");
    RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().retransmits, 1, "one");
}

} // namespace
