/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: when ACKs leave (RFC 5681, Linux), what they report of holes, and what they
 * echo of marks. The RTT is 100 ms unless said otherwise, so that the client is connected at 100 ms
 * and the server at 150 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"

#include <sstream>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-acks");

/// An exchange with a receiver that pays no heed to PSH on full segments, as Linux before 6.6.
Exchange
MakeExchangeWithoutPush()
{
    TcpSpec spec = Exchange::Spec();
    spec.pushedAcks = false;
    return Exchange(100 * MS, spec, spec);
}

TEST_CASE(SimulationTestCase,
          DelayedAckTest,
          "Quick ACKs for 16 segments, then every second one or after 40 ms"
          " -> ACKs 1 to 16, 18, 20 at 150 ms, 21 at 190 ms (RFC 5681, 4.2; "
          "Linux tcp_incr_quickack())")
{
    Exchange exchange = MakeExchangeWithoutPush();
    exchange.client.control.cwnd = 100;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 21);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(),
                          "1@150 2@150 3@150 4@150 5@150 6@150 7@150 8@150 9@150 10@150 "
                          "11@150 12@150 13@150 14@150 15@150 16@150 18@150 20@150 21@190",
                          "the 21st alone is delayed");
    exchange.Write(1'000 * MS, 100);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(1'000 * MS),
                          "22@1050",
                          "a small segment that was read is not");
}

class CompressedAckTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// \param rise of the RTT after the handshake
    void Check(int64_t rtt, const std::string& acks, int64_t rise = 0)
    {
        Exchange exchange(rtt);
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        RunUntil(150 * MS);
        exchange.toServer.SetDelay(rtt / 2 + rise);
        exchange.WriteSegments(200 * MS, 16); // uses up the quick ACKs
        exchange.WriteSegments(500 * MS, 16); // and those that a needless probe brings
        exchange.toServer.LoseSegment(32);
        exchange.WriteSegments(1'000 * MS, 7);
        RunUntil(1'000 * MS + rtt + rise);
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(1'000 * MS),
                              acks,
                              "RTT " << rtt / MS << " ms, then " << rise / MS << " ms more");
        ns3::Simulator::Destroy();
    }

    void DoRun() override
    {
        Check(100 * MS, "32[33-34)@1050 32[33-35)@1050 32[33-36)@1050 32[33-39)@1051.1");
        Check(10 * MS, "32[33-34)@1005 32[33-35)@1005 32[33-36)@1005 32[33-39)@1005.6");
        Check(10 * MS, "32[33-34)@1035 32[33-35)@1035 32[33-36)@1035 32[33-39)@1035.6", 30 * MS);
    }
};

ADD_CASE(CompressedAckTest,
         "Beyond the third, duplicate ACKs wait for up to a millisecond"
         " -> for 1.1 ms at an RTT of 100 ms, for 0.6 ms at 10 ms (Linux "
         "__tcp_ack_snd_check())");

TEST_CASE(SimulationTestCase,
          ManyCompressedAcksTest,
          "No more than 44 duplicate ACKs become one; a filled hole ends them"
          " -> SACK of 17 to 64 at 360 ms, ACK 76 at 360.5 ms (Linux "
          "__tcp_ack_snd_check(), tcp_comp_sack_nr)")
{
    Exchange exchange;
    exchange.client.control.cwnd = 100;
    exchange.Connect();
    exchange.WriteSegments(200 * MS, 16);
    exchange.toServer.HoldSegment(16, 500 * US);
    exchange.WriteSegments(310 * MS, 60);
    RunUntil(400 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(310 * MS),
                          "16[17-18)@360 16[17-19)@360 16[17-20)@360 16[17-65)@360 76@360.5",
                          "ACKs");
}

TEST_CASE(SimulationTestCase,
          ManyHolesTest,
          "No run of segments goes untold because ACKs were compressed"
          " -> five SACKs at 360 ms, that of the sixth run at 361.1 ms (Linux "
          "tcp_sack_new_ofo_skb())")
{
    Exchange exchange;
    exchange.client.control.cwnd = 100;
    exchange.Connect();
    exchange.WriteSegments(200 * MS, 16);
    for (uint32_t segment = 16; segment < 28; segment += 2)
    {
        exchange.toServer.LoseSegment(segment);
    }
    exchange.WriteSegments(310 * MS, 12);
    RunUntil(400 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(310 * MS),
                          "16[17-18)@360 16[19-20)[17-18)@360 16[21-22)[19-20)[17-18)@360 "
                          "16[23-24)[21-22)[19-20)@360 16[25-26)[23-24)[21-22)@360 "
                          "16[27-28)[25-26)[23-24)@361.1",
                          "each when the next hole opens");
}

class PushTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Numbers of the segments with PSH.
    static std::string Pushed(const Wire& wire)
    {
        std::ostringstream text;
        for (const Transmission& sent : wire.log)
        {
            if (sent.packet.kind == PacketKind::DATA && sent.packet.isPushed)
            {
                text << (text.tellp() > 0 ? " " : "") << sent.packet.segment;
            }
        }
        return text.str();
    }

    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.pacingQuantum = 51 * MS / 10; // four segments at twice 40 in 100 ms
        Exchange exchange(100 * MS, spec, spec);
        exchange.client.control.cwnd = 40;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 16); // all quick ACKs
        exchange.WriteSegments(300 * MS, 7);
        exchange.WriteSegments(310 * MS, 1);
        RunUntil(400 * MS);
        exchange.server.reads = false;
        exchange.WriteSegments(400 * MS, 1);
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(Pushed(exchange.toServer), "3 7 11 15 19 22 23 24", "bursts, writes");
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(300 * MS),
                              "18@350 20@350 22@350 23@350 24@360 25@490",
                              "at once what was read, the last after 40 ms");
    }
};

ADD_CASE(PushTest,
         "PSH ends super-segments and writes, and is acknowledged once read"
         " -> PSH on 3 7 11 15 19 22 23 24; ACK 24 at 360 ms, 25 unread at 490 "
         "ms (Linux tcp_push(), tcp_measure_rcv_mss(), tcp_cleanup_rbuf())");

class QuickAckAfterGapTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// ACKs of a segment that arrives `gap` ns after the quick ACKs are used up.
    static std::string AcksAfter(int64_t gap)
    {
        Exchange exchange = MakeExchangeWithoutPush();
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 20);
        exchange.WriteSegments(100 * MS + gap, 1);
        RunUntil(1'000 * MS);
        ns3::Simulator::Destroy();
        return exchange.toClient.Acks(200 * MS);
    }

    void DoRun() override
    {
        // The server's RTO is 100 ms of SRTT and 200 ms.
        NS_TEST_EXPECT_MSG_EQ(AcksAfter(290 * MS), "21@480", "after 40 ms");
        NS_TEST_EXPECT_MSG_EQ(AcksAfter(310 * MS), "21@460", "at once");
    }
};

ADD_CASE(QuickAckAfterGapTest,
         "Quick ACKs come back after a gap longer than the RTO"
         " -> ACK after 40 ms where the gap is 290 ms, at once where 310 ms "
         "(Linux tcp_event_data_recv())");

class QuickAckWhileWindowGrowsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// ACKs of 24 segments where the window has room to grow by two segments for each of `grows`.
    static std::string AcksOf24(uint32_t grows)
    {
        TcpSpec spec = Exchange::Spec();
        spec.pushedAcks = false;
        spec.initialReceiveWindow = 65'535;
        spec.initialReceiveRoom = 65'535 + grows * 2 * spec.mss;
        Exchange exchange(100 * MS, spec, spec);
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 24);
        RunUntil(180 * MS);
        ns3::Simulator::Destroy();
        return exchange.toClient.Acks();
    }

    void DoRun() override
    {
        const std::string singly = "1@150 2@150 3@150 4@150 5@150 6@150 7@150 8@150 9@150 10@150 "
                                   "11@150 12@150 13@150 14@150 15@150 16@150 ";
        NS_TEST_EXPECT_MSG_EQ(AcksOf24(0), singly + "18@150 20@150 22@150 24@150", "no growth");
        NS_TEST_EXPECT_MSG_EQ(AcksOf24(4),
                              singly + "17@150 18@150 19@150 20@150 22@150 24@150",
                              "four segments let it grow");

        Exchange exchange;
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        exchange.toServer.LoseSegment(0);
        exchange.WriteSegments(100 * MS, 8);
        RunUntil(180 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(),
                              "0[1-2)@150 0[1-3)@150 0[1-4)@150 0[1-8)@151.1",
                              "compressed after the third where the first segment was lost");
    }
};

ADD_CASE(QuickAckWhileWindowGrowsTest,
         "Quick ACKs begin with data in order, and last while windows grow"
         " -> ACKs 1 to 16 singly, to 20 if four segments let the window grow "
         "(Linux tcp_event_data_recv(), tcp_grow_window())");

class AckTimeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// ACKs of segments that arrive at 1000, 1100, 1200 and 1450 ms.
    static std::string AcksOfLoneSegments(int64_t rtt)
    {
        TcpSpec spec = Exchange::Spec();
        spec.pushedAcks = false;
        Exchange exchange(rtt, spec, spec);
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        exchange.WriteSegments(850 * MS - rtt / 2, 16); // uses up the quick ACKs
        for (const int64_t arrival : {1'000, 1'100, 1'200, 1'450})
        {
            exchange.WriteSegments(arrival * MS - rtt / 2, 1);
        }
        RunUntil(2'000 * MS);
        ns3::Simulator::Destroy();
        return exchange.toClient.Acks(1'000 * MS);
    }

    void DoRun() override
    {
        // By hand, from tcp_event_data_recv() and tcp_delack_timer_handler(): 40 ms double as the
        // timer fires; the third segment comes within 160 ms, which makes it 80 + 100; the fourth
        // within 360, which makes it 180 + 250.
        NS_TEST_EXPECT_MSG_EQ(AcksOfLoneSegments(400 * MS),
                              "17@1040 18@1180 19@1380 20@1650",
                              "RTT 400 ms");
        NS_TEST_EXPECT_MSG_EQ(AcksOfLoneSegments(100 * MS),
                              "17@1040 18@1180 19@1300 20@1550",
                              "RTT 100 ms");
        NS_TEST_EXPECT_MSG_EQ(AcksOfLoneSegments(20 * MS),
                              "17@1040 18@1140 19@1240 20@1450",
                              "RTT 20 ms: at once after a gap longer than the RTO");
    }
};

ADD_CASE(AckTimeTest,
         "ACKs wait as long as segments are apart, up to RTT and 200 ms"
         " -> for 40, 80, 180, 200 ms at an RTT of 400 ms (Linux "
         "tcp_event_data_recv(), tcp_delack_timer_handler())");

class PingPongExchangeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// ACKs of two messages that are not answered, after one that was.
    static std::string AcksAfterAnswer(uint32_t enough)
    {
        TcpSpec spec = Exchange::Spec();
        spec.pingPongAnswers = enough;
        Exchange exchange(100 * MS, spec, spec);
        exchange.server.answers = 500;
        exchange.Connect();
        exchange.Write(100 * MS, 100);
        RunUntil(200 * MS);
        exchange.server.answers = 0;
        exchange.Write(300 * MS, 100);
        exchange.Write(500 * MS, 100);
        RunUntil(1'000 * MS);
        ns3::Simulator::Destroy();
        return exchange.toClient.Acks(300 * MS);
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(AcksAfterAnswer(1), "2@390 3@550", "6.18: it waits once in vain");
        NS_TEST_EXPECT_MSG_EQ(AcksAfterAnswer(3), "2@350 3@550", "5.10: one answer is not enough");
    }
};

ADD_CASE(PingPongExchangeTest,
         "ACKs wait for an answer where there was one before"
         " -> for 40 ms, once, as in 6.18; not at all as in 5.10 (Linux "
         "inet_csk_in_pingpong_mode(), tcp_delack_timer_handler())");

class EcnEchoExchangeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// ACKs that the server sends from `begin` ns on, those that echo a mark with "E".
    static std::string Echoes(const Exchange& exchange, int64_t begin)
    {
        std::ostringstream text;
        for (const Transmission& sent : exchange.toClient.log)
        {
            if (sent.HasAck() && sent.time >= begin)
            {
                text << (text.tellp() > 0 ? " " : "") << sent.Ack().number
                     << (sent.packet.isEce ? "E@" : "@") << sent.time / MS;
            }
        }
        return text.str();
    }

    static TcpSpec Spec(bool isEcnOn)
    {
        TcpSpec spec = Exchange::Spec();
        spec.pushedAcks = false;
        spec.ecn = isEcnOn;
        return spec;
    }

    void DoRun() override
    {
        Exchange exchange(100 * MS, Spec(true), Spec(true));
        exchange.client.control.cwnd = 100;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 16); // uses up the quick ACKs
        exchange.toServer.MarkSegment(19);
        exchange.WriteSegments(200 * MS, 8);
        exchange.WriteSegments(400 * MS, 1);
        exchange.WriteSegments(500 * MS, 1);
        RunUntil(1'000 * MS);
        // The 24th came late for its ACK: the next that waits does so for 80 ms.
        NS_TEST_EXPECT_MSG_EQ(Echoes(exchange, 200 * MS),
                              "18@250 20E@250 21E@250 23E@250 24E@290 25@450 26@630",
                              "echoed until the sender says that it has reduced its window");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "once");
        ns3::Simulator::Destroy();

        Exchange lossy(100 * MS, Spec(true), Spec(true));
        lossy.client.control.cwnd = 100;
        lossy.Connect();
        lossy.WriteSegments(100 * MS, 16);
        lossy.toServer.LoseSegment(17);
        lossy.WriteSegments(200 * MS, 6);
        lossy.WriteSegments(400 * MS, 4);
        RunUntil(480 * MS);
        NS_TEST_EXPECT_MSG_EQ(Echoes(lossy, 340 * MS),
                              "22@350 23@450 25@450",
                              "a retransmission, which cannot be marked, brings two as well");
        ns3::Simulator::Destroy();

        Exchange dctcp(100 * MS, Spec(false), Spec(false));
        dctcp.client.control.cwnd = 100;
        dctcp.client.control.needsEcn = dctcp.server.control.needsEcn = true;
        dctcp.Connect();
        dctcp.WriteSegments(100 * MS, 16);
        for (const uint32_t segment : {17, 18, 22})
        {
            dctcp.toServer.MarkSegment(segment);
        }
        dctcp.WriteSegments(200 * MS, 8);
        RunUntil(280 * MS);
        NS_TEST_EXPECT_MSG_EQ(Echoes(dctcp, 200 * MS),
                              "17@250 18E@250 19E@250 20@250 22@250 23E@250 24@250",
                              "RFC 8257: each change at once, and what came before it by itself");
    }
};

ADD_CASE(EcnEchoExchangeTest,
         "A mark brings two ACKs at once, and so does the answer to its echo"
         " -> ACKs 20, 21 at 250 ms with echoes, 25 at 450 ms without (RFC "
         "3168, 6.1.3; RFC 8257, 3.2; Linux tcp_enter_quickack_mode())");

class AnnouncedReductionTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static TcpSpec Spec()
    {
        TcpSpec spec = Exchange::Spec();
        spec.ecn = true;
        return spec;
    }

    /// The client's segments with CWR.
    static std::string Announced(const Exchange& exchange)
    {
        std::ostringstream text;
        for (const Transmission& sent : exchange.toServer.log)
        {
            if (sent.packet.kind == PacketKind::DATA && sent.packet.isCwr)
            {
                text << (text.tellp() > 0 ? " " : "") << sent.packet.segment << '@'
                     << sent.time / MS;
            }
        }
        return text.str();
    }

    void DoRun() override
    {
        Exchange both(100 * MS, Spec(), Spec());
        both.client.control.cwnd = 100;
        both.Connect();
        both.WriteSegments(100 * MS, 16);
        both.toServer.LoseSegment(17);
        both.toServer.LoseSegment(23);
        both.toServer.MarkSegment(19);
        both.WriteSegments(200 * MS, 8);
        both.WriteSegments(320 * MS, 4);
        both.WriteSegments(800 * MS, 4);
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(both.toServer.Data(201 * MS, 319 * MS), "17@300", "repaired");
        NS_TEST_EXPECT_MSG_EQ(Announced(both), "24@320", "not with the retransmission");
        NS_TEST_EXPECT_MSG_EQ(both.client.control.reductions.size(), 1, "of one window of data");
        ns3::Simulator::Destroy();

        Exchange timeOut(100 * MS, Spec(), Spec());
        timeOut.Connect();
        timeOut.toServer.LoseSegment(0, 2);
        timeOut.WriteSegments(100 * MS, 1);
        timeOut.WriteSegments(800 * MS, 1);
        RunUntil(1'500 * MS);
        NS_TEST_EXPECT_MSG_EQ(Announced(timeOut), "1@800", "a time-out");
        ns3::Simulator::Destroy();

        Exchange late(100 * MS, Spec(), Spec());
        late.Connect();
        RunUntil(99 * MS);
        late.toServer.SetDelay(650 * MS);
        late.WriteSegments(100 * MS, 30);
        RunUntil(2'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(late.client.tcp.GetSender().Counters().undos, 1, "undone");
        NS_TEST_EXPECT_MSG_EQ(Announced(late), "", "nothing was reduced");
    }
};

ADD_CASE(AnnouncedReductionTest,
         "The next new data tells of every reduction that is not undone"
         " -> CWR with 24 at 320 ms after a drop and a mark, with 1 at 800 ms"
         " after a time-out (RFC 3168, 6.1.2; Linux tcp_ecn_queue_cwr(),"
         " tcp_ecn_withdraw_cwr())");

TEST_CASE(SimulationTestCase,
          PiggybackTest,
          "An answer carries the ACK"
          " -> ACK 1 with data at 150 ms, no packet of its own (RFC 9293, 3.8.6.3)")
{
    Exchange exchange;
    exchange.server.answers = 500;
    exchange.Connect();
    exchange.Write(100 * MS, 100);
    RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Data(), "0@150", "the answer");
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(), "1@150", "an ACK");
    NS_TEST_EXPECT_MSG_EQ(+exchange.toClient.log.back().packet.hasAck, 1, "in its header");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.Wire().acks, 0, "no packet of its own");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetReceiver().TotalRead(), 500, "read");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().PacketsOut(), 0, "acked");
}

} // namespace
