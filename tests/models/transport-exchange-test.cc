/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: handshake, acknowledgements, segments, windows, buffers, the end of a
 * connection (RFC 9293, RFC 5681, RFC 896), delivery-rate samples and pacing. The RTT is 100 ms
 * unless said otherwise, so that the client is connected at 100 ms and the server at 150 ms.
 */
#include "exchange.h"

namespace
{

using namespace tunnelcc;

class HandshakeTest : public SimulationTestCase
{
  public:
    HandshakeTest()
        : SimulationTestCase("SYN, SYN-ACK, ACK; data follows at once"
                             " -> SYN at 0, SYN-ACK at 50, ACK and data at 100 ms (RFC 9293, 3.5)")
    {
    }

  private:
    void DoRun() override
    {
        Exchange exchange;
        exchange.Write(0, 1'448);
        exchange.Connect();
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::SYN), "@0", "SYN");
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Show(PacketKind::SYN_ACK), "@50", "SYN-ACK");
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Acks(), "0@100", "ACK");
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(), "0@100", "data");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.connectedTime, 100 * MS, "the client");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.connectedTime, 150 * MS, "the server");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().minRtt, 100 * MS, "the first RTT sample");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.State().minRtt, 100 * MS, "the first RTT sample");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.Wire().ackBytes, 60 + 52, "SYN and ACK");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.Wire().dataBytes, 1'500, "a full packet");
    }
};

class LostHandshakeTest : public SimulationTestCase
{
  public:
    LostHandshakeTest()
        : SimulationTestCase("Lost handshake packets come again after 1 s, then 2 s"
                             " -> SYNs at 0, 1, 3 s; SYN-ACKs at 50, 1050 ms (RFC 6298, 2.1 and 5)")
    {
    }

  private:
    void DoRun() override
    {
        {
            Exchange exchange;
            exchange.toServer.LoseNext(PacketKind::SYN, 2);
            exchange.Connect();
            RunUntil(4'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::SYN), "@0 @1000 @3000", "");
            NS_TEST_EXPECT_MSG_EQ(exchange.client.connectedTime, 3'100 * MS, "with the third");
            NS_TEST_EXPECT_MSG_EQ(exchange.client.State().srtt, 100 * MS, "of the third");
        }
        ns3::Simulator::Destroy();
        {
            Exchange exchange;
            exchange.toClient.LoseNext(PacketKind::SYN_ACK);
            exchange.Connect();
            RunUntil(4'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::SYN), "@0 @1000", "SYN");
            NS_TEST_EXPECT_MSG_EQ(exchange.client.connectedTime, 1'100 * MS, "SYN-ACK lost");
            NS_TEST_EXPECT_MSG_EQ(exchange.server.connectedTime, 1'150 * MS, "SYN-ACK lost");
        }
        ns3::Simulator::Destroy();
        {
            Exchange exchange;
            exchange.toServer.LoseNext(PacketKind::ACK);
            exchange.Connect();
            RunUntil(4'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Show(PacketKind::SYN_ACK), "@50 @1050", "");
            NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Acks(), "0@100 0@1100", "once more");
            NS_TEST_EXPECT_MSG_EQ(exchange.server.connectedTime, 1'150 * MS, "ACK lost");
        }
        ns3::Simulator::Destroy();
        {
            Exchange exchange;
            exchange.toServer.LoseNext(PacketKind::ACK);
            exchange.Write(0, 1'448);
            exchange.Connect();
            RunUntil(4'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.server.connectedTime, 150 * MS, "data says the same");
            NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(),
                                  1'448,
                                  "and is read");
        }
    }
};

class UnmeasuredHandshakeTest : public SimulationTestCase
{
  public:
    UnmeasuredHandshakeTest()
        : SimulationTestCase(
              "What was sent twice is answered, without timestamps -> no RTT; data is"
              " sent again after 3 s, its probe after 1 s (RFC 6298, 3 and 5.7)")
    {
    }

  private:
    static Exchange MakeExchange()
    {
        TcpSpec spec = Exchange::Spec();
        spec.headerBytes = 40;
        return Exchange(100 * MS, spec, spec);
    }

    void DoRun() override
    {
        {
            Exchange exchange = MakeExchange();
            exchange.toServer.LoseNext(PacketKind::ACK);
            exchange.Connect();
            RunUntil(2'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Show(PacketKind::SYN_ACK), "@50 @1050", "");
            NS_TEST_EXPECT_MSG_EQ(exchange.client.State().srtt, 100 * MS, "its SYN was sent once");
            NS_TEST_EXPECT_MSG_EQ(exchange.server.State().srtt, 0, "which one was answered?");
            NS_TEST_EXPECT_MSG_EQ(exchange.server.State().minRtt, NEVER, "none");
        }
        ns3::Simulator::Destroy();
        {
            Exchange exchange = MakeExchange();
            exchange.toServer.LoseNext(PacketKind::SYN);
            exchange.toServer.LoseSegment(0, 3);
            exchange.Write(0, 1'448);
            exchange.Connect();
            RunUntil(12'000 * MS);
            NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(), "0@1100 0@2100 0@5100 0@11100", "");
            NS_TEST_EXPECT_MSG_EQ(exchange.client.State().srtt, 0, "still none");
        }
    }
};

/// An exchange with a receiver that pays no heed to PSH on full segments, as Linux before 6.6.
Exchange
MakeExchangeWithoutPush()
{
    TcpSpec spec = Exchange::Spec();
    spec.pushedAcks = false;
    return Exchange(100 * MS, spec, spec);
}

class DelayedAckTest : public SimulationTestCase
{
  public:
    DelayedAckTest()
        : SimulationTestCase("Quick ACKs for 16 segments, then every second one or after 40 ms"
                             " -> ACKs 1 to 16, 18, 20 at 150 ms, 21 at 190 ms (RFC 5681, 4.2; "
                             "Linux tcp_incr_quickack())")
    {
    }

  private:
    void DoRun() override
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
};

class CompressedAckTest : public SimulationTestCase
{
  public:
    CompressedAckTest()
        : SimulationTestCase("Beyond the third, duplicate ACKs wait for up to a millisecond"
                             " -> for 1.1 ms at an RTT of 100 ms, for 0.6 ms at 10 ms (Linux "
                             "__tcp_ack_snd_check())")
    {
    }

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

class ManyCompressedAcksTest : public SimulationTestCase
{
  public:
    ManyCompressedAcksTest()
        : SimulationTestCase("No more than 44 duplicate ACKs become one; a filled hole ends them"
                             " -> SACK of 17 to 64 at 360 ms, ACK 76 at 360.5 ms (Linux "
                             "__tcp_ack_snd_check(), tcp_comp_sack_nr)")
    {
    }

  private:
    void DoRun() override
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
};

class ManyHolesTest : public SimulationTestCase
{
  public:
    ManyHolesTest()
        : SimulationTestCase("No run of segments goes untold because ACKs were compressed"
                             " -> five SACKs at 360 ms, that of the sixth run at 361.1 ms (Linux "
                             "tcp_sack_new_ofo_skb())")
    {
    }

  private:
    void DoRun() override
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
};

class PushTest : public SimulationTestCase
{
  public:
    PushTest()
        : SimulationTestCase("PSH ends super-segments and writes, and is acknowledged once read"
                             " -> PSH on 3 7 11 15 19 22 23 24; ACK 24 at 360 ms, 25 unread at 490 "
                             "ms (Linux tcp_push(), tcp_measure_rcv_mss(), tcp_cleanup_rbuf())")
    {
    }

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

class QuickAckAfterGapTest : public SimulationTestCase
{
  public:
    QuickAckAfterGapTest()
        : SimulationTestCase("Quick ACKs come back after a gap longer than the RTO"
                             " -> ACK after 40 ms where the gap is 290 ms, at once where 310 ms "
                             "(Linux tcp_event_data_recv())")
    {
    }

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

class QuickAckWhileWindowGrowsTest : public SimulationTestCase
{
  public:
    QuickAckWhileWindowGrowsTest()
        : SimulationTestCase("Quick ACKs begin with data in order, and last while windows grow"
                             " -> ACKs 1 to 16 singly, to 20 if four segments let the window grow "
                             "(Linux tcp_event_data_recv(), tcp_grow_window())")
    {
    }

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

class AckTimeTest : public SimulationTestCase
{
  public:
    AckTimeTest()
        : SimulationTestCase("ACKs wait as long as segments are apart, up to RTT and 200 ms"
                             " -> for 40, 80, 180, 200 ms at an RTT of 400 ms (Linux "
                             "tcp_event_data_recv(), tcp_delack_timer_handler())")
    {
    }

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

class PingPongTest : public SimulationTestCase
{
  public:
    PingPongTest()
        : SimulationTestCase("ACKs wait for an answer where there was one before"
                             " -> for 40 ms, once, as in 6.18; not at all as in 5.10 (Linux "
                             "inet_csk_in_pingpong_mode(), tcp_delack_timer_handler())")
    {
    }

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

class EcnEchoTest : public SimulationTestCase
{
  public:
    EcnEchoTest()
        : SimulationTestCase("A mark brings two ACKs at once, and so does the answer to its echo"
                             " -> ACKs 20, 21 at 250 ms with echoes, 25 at 450 ms without (RFC "
                             "3168, 6.1.3; RFC 8257, 3.2; Linux tcp_enter_quickack_mode())")
    {
    }

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

class PiggybackTest : public SimulationTestCase
{
  public:
    PiggybackTest()
        : SimulationTestCase(
              "An answer carries the ACK"
              " -> ACK 1 with data at 150 ms, no packet of its own (RFC 9293, 3.8.6.3)")
    {
    }

  private:
    void DoRun() override
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
};

class NagleTest : public SimulationTestCase
{
  public:
    NagleTest()
        : SimulationTestCase("Nagle: small segments wait for each other, unless nodelay"
                             " -> 100 bytes at 100 ms, 200 at 200 ms; all at 100 ms if nodelay "
                             "(RFC 896; RFC 9293, 3.7.4; Linux tcp_nagle_check())")
    {
    }

  private:
    std::string Send(bool isNodelay, std::initializer_list<uint64_t> writes)
    {
        ns3::Simulator::Destroy();
        TcpSpec spec = Exchange::Spec();
        spec.nodelay = isNodelay;
        Exchange exchange(100 * MS, spec);
        exchange.Connect();
        for (const uint64_t bytes : writes)
        {
            exchange.Write(100 * MS, bytes);
        }
        RunUntil(2'000 * MS);
        return exchange.toServer.Lengths() + " | " + exchange.toServer.Data();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Send(false, {100, 100, 100}),
                              "100 200 | 0@100 1@200",
                              "the first goes, the others wait for its ACK and go together");
        NS_TEST_EXPECT_MSG_EQ(Send(false, {1'500}),
                              "1448 52 | 0@100 1@100",
                              "Minshall: a full segment outstanding holds nothing back");
        NS_TEST_EXPECT_MSG_EQ(Send(true, {100, 100, 100}),
                              "100 100 100 | 0@100 1@100 2@100",
                              "nodelay");
        // tests/reference: a WebSocket frame of 8 + 4096 bytes as captured.
        NS_TEST_EXPECT_MSG_EQ(Send(true, {4'104}),
                              "1448 1448 1208 | 0@100 1@100 2@100",
                              "a frame, limited by the application");
    }
};

class AckBeforeAnswerTest : public SimulationTestCase
{
  public:
    AckBeforeAnswerTest()
        : SimulationTestCase("Data come with an ACK that lets held bytes go -> these go first, 80"
                             " at 300 ms, and hold back the answer, 50 at 400 ms"
                             " (Linux tcp_rcv_established())")
    {
    }

  private:
    void DoRun() override
    {
        Exchange exchange;
        exchange.client.answers = 100;
        exchange.server.answers = 50;
        exchange.Connect();
        exchange.RunUntil(200 * MS);
        exchange.server.tcp.Write(200 * MS, 100);
        exchange.server.tcp.Write(200 * MS, 80); // held: the 100 are outstanding
        exchange.RunUntil(450 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(), "0@250 1@350", "each with an ACK");
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Data(), "0@200 1@300 2@400", "as RFC 896 has it");
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Lengths(), "100 80 50", "not 130 at once");
    }
};

class BacklogTest : public SimulationTestCase
{
  public:
    BacklogTest()
        : SimulationTestCase("Under backlog segments are full whatever was written"
                             " -> eight of 1448 bytes, one of 728 (Linux tcp_sendmsg_locked())")
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.nodelay = true;
        Exchange exchange(100 * MS, spec);
        exchange.client.control.cwnd = 2;
        exchange.Connect();
        for (int i = 0; i < 3; ++i)
        {
            exchange.Write(100 * MS, 4'104);
        }
        RunUntil(2'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Lengths(),
                              "1448 1448 1448 1448 1448 1448 1448 1448 728",
                              "12312 bytes");
    }
};

class DeferralTest : public SimulationTestCase
{
  public:
    /**
     * \param gap between pairs of segments, ns
     * \param limit TcpSpec::tsoDeferralLimit
     * \param expected what leaves while ACKs of the pairs come in
     */
    DeferralTest(int64_t gap, int64_t limit, const std::string& name, const std::string& expected)
        : SimulationTestCase("New data waits for a burst of four: " + name +
                             " (Linux tcp_tso_should_defer())"),
          m_gap(gap),
          m_limit(limit),
          m_expected(expected)
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.pacingQuantum = 51 * MS / 10; // 4.08 segments at twice 40 in 100 ms
        spec.tsoDeferralLimit = m_limit;
        Exchange exchange(100 * MS, spec);
        exchange.client.control.cwnd = 40;
        exchange.Connect();
        for (int pair = 0; pair < 20; ++pair)
        {
            int64_t time = 100 * MS + pair / 2 * m_gap + pair % 2 * MS / 2;
            exchange.WriteSegments(time, 2);
        }
        exchange.WriteSegments(190 * MS, 100);
        RunUntil(202 * MS + 3 * m_gap / 2);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(190 * MS), m_expected, "bursts");
    }

    int64_t m_gap;
    int64_t m_limit;
    std::string m_expected;
};

class FinTest : public SimulationTestCase
{
  public:
    FinTest()
        : SimulationTestCase("FIN follows the data, is acknowledged, and sent again if lost"
                             " -> acknowledged at 200 ms; the lost one sent at 1000 and 1300 ms "
                             "(RFC 9293, 3.6; RFC 6298, 5)")
    {
    }

  private:
    void DoRun() override
    {
        Exchange exchange;
        exchange.Connect();
        exchange.Write(100 * MS, 2'000);
        exchange.client.tcp.Close(100 * MS);
        RunUntil(140 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Lengths(), "1448 552 0", "data, then FIN");
        NS_TEST_EXPECT_MSG_EQ(+exchange.toServer.log.back().packet.isFin, 1, "FIN");
        RunUntil(1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().IsFinished(), true, "arrived");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 2'000, "data");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.FinishedTime(), 200 * MS, "acknowledged");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.FinishedTime(), -1, "the other half is open");

        exchange.toClient.LoseSegment(0);
        exchange.server.tcp.Close(1'000 * MS);
        RunUntil(3'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Data(), "0@1000 0@1300", "lost, then again");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.FinishedTime(), 1'400 * MS, "acknowledged");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetReceiver().IsFinished(), true, "arrived");
    }
};

class ZeroWindowTest : public SimulationTestCase
{
  public:
    explicit ZeroWindowTest(bool losesUpdate)
        : SimulationTestCase(losesUpdate ? "A lost window update: the next probe finds out"
                                           " -> probes at 500, 1100 ms, data at 2400 ms (RFC 9293, "
                                           "3.8.6.1; Linux tcp_send_probe0())"
                                         : "A closed window is probed, and opens with an update"
                                           " -> probes at 500, 1100 ms, data at 1550 ms (RFC 9293, "
                                           "3.8.6.1; Linux tcp_send_probe0())"),
          m_losesUpdate(losesUpdate)
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.receiveWindow = 10 * 1'448;
        Exchange exchange(100 * MS, Exchange::Spec(), spec);
        exchange.server.reads = false;
        exchange.client.control.cwnd = 50;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 20);
        RunUntil(1'499 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), "", "ten fill the window");
        NS_TEST_EXPECT_MSG_EQ(exchange.toClient.log.back().packet.window, 0, "closed");
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::WINDOW_PROBE),
                              "@500 @1100",
                              "after 300 ms, then 600");
        RunUntil(1'500 * MS);
        if (m_losesUpdate)
        {
            exchange.toClient.LoseNext(PacketKind::ACK);
        }
        exchange.server.reads = true;
        exchange.server.tcp.Read(1'500 * MS, exchange.server.tcp.Readable());
        const int64_t opens = (m_losesUpdate ? 2'400 : 1'550) * MS;
        exchange.toServer.LoseSegment(10);
        exchange.toServer.LoseSegment(11);
        RunUntil(opens + 1'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.log.back().packet.length, 1'448, "all is sent");
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS, opens), "", "not before");
        const std::string first =
            m_losesUpdate ? "10@2400 11@2400 12@2400" : "10@1550 11@1550 12@1550";
        const std::string sent = exchange.toServer.Data(opens, opens + 1);
        NS_TEST_EXPECT_MSG_EQ(sent.substr(0, first.size()), first, "then at once");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 20 * 1'448, "all");
    }

    bool m_losesUpdate;
};

class PersistBackOffTest : public SimulationTestCase
{
  public:
    PersistBackOffTest()
        : SimulationTestCase("Window probes back off; the time-out of data sent later does not"
                             " -> probes at 500, 1100, 2300, 4700 ms, data at 6050, 6350, 6650 ms "
                             "(RFC 9293, 3.8.6.1; Linux tcp_ack_probe())")
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.receiveWindow = 10 * 1'448;
        Exchange exchange(100 * MS, Exchange::Spec(), spec);
        exchange.server.reads = false;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 11);
        RunUntil(6'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::WINDOW_PROBE),
                              "@500 @1100 @2300 @4700",
                              "300, 600, 1200, 2400 ms");
        exchange.toServer.LoseSegment(10, 2);
        exchange.server.tcp.Read(6'000 * MS, exchange.server.tcp.Readable());
        RunUntil(8'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(6'000 * MS),
                              "10@6050 10@6350 10@6650",
                              "300 ms again (Linux tcp_ack_probe())");
    }
};

class SillyWindowTest : public SimulationTestCase
{
  public:
    SillyWindowTest()
        : SimulationTestCase("A slow reader's window opens by whole segments"
                             " -> 1448 bytes in each segment (RFC 9293, 3.8.6.2.2)")
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.receiveWindow = 10 * 1'448;
        Exchange exchange(10 * MS, Exchange::Spec(), spec);
        exchange.server.reads = false;
        exchange.client.control.cwnd = 50;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 200);
        for (int64_t time = 200 * MS; time < 2'000 * MS; time += MS)
        {
            RunUntil(time);
            exchange.server.tcp.Read(time, std::min<uint64_t>(100, exchange.server.tcp.Readable()));
        }
        uint64_t packets = 0;
        uint64_t bytes = 0;
        for (const Transmission& sent : exchange.toServer.log)
        {
            packets += sent.packet.kind == PacketKind::DATA;
            bytes += sent.packet.kind == PacketKind::DATA ? sent.packet.length : 0;
        }
        NS_TEST_EXPECT_MSG_EQ(bytes, packets * 1'448, "no small segments");
        NS_TEST_EXPECT_MSG_GT(exchange.server.tcp.GetReceiver().TotalRead(), 150'000, "it goes on");
    }
};

class SendBufferFullTest : public SimulationTestCase
{
  public:
    SendBufferFullTest()
        : SimulationTestCase("A full send buffer blocks the writer until a third is free"
                             " -> writable once, at 200 ms (Linux sk_stream_write_space())")
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.sendBuffer = 30 * 1'448;
        Exchange exchange(100 * MS, spec);
        exchange.Connect();
        RunUntil(100 * MS);
        const uint64_t taken = exchange.client.tcp.Write(100 * MS, 50 * 1'448);
        NS_TEST_EXPECT_MSG_EQ(taken, 30 * 1'448, "what fits");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.Write(110 * MS, 1), 0, "nothing more");
        RunUntil(199 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.client.writable.size(), 0, "blocked");
        RunUntil(2'000 * MS);
        NS_TEST_EXPECT_MSG_EQ((exchange.client.writable == std::vector<int64_t>{200 * MS}),
                              true,
                              "once, when the tenth segment is acknowledged");
        // One of the kernel's buffers has 45 segments; ten are sent of it, and make room for ten.
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.Write(2'000 * MS, 60 * 1'448), 55 * 1'448, "");
    }
};

class RateSampleTest : public SimulationTestCase
{
  public:
    RateSampleTest()
        : SimulationTestCase("Delivery-rate samples, by hand"
                             " -> ACK 9: 10 segments in 145 ms, ACK 14: 10 in 120 ms "
                             "(draft-cheng-iccrg-delivery-rate-estimation; Linux tcp_rate_gen())")
    {
    }

  private:
    void CheckSample(size_t ack, uint32_t delivered, int64_t interval, uint64_t prior)
    {
        const RateSample& rate = m_events->at(ack).rate;
        NS_TEST_EXPECT_MSG_EQ(rate.delivered, delivered, "ACK " << ack);
        NS_TEST_EXPECT_MSG_EQ(rate.interval, interval, "ACK " << ack);
        NS_TEST_EXPECT_MSG_EQ(rate.priorDelivered, prior, "ACK " << ack);
    }

    void DoRun() override
    {
        Exchange exchange;
        m_events = &exchange.client.control.events;
        exchange.Connect();
        for (uint32_t segment = 0; segment < 10; ++segment)
        {
            exchange.toServer.HoldSegment(segment, segment * 5 * MS);
        }
        exchange.WriteSegments(100 * MS, 15);
        RunUntil(1'000 * MS);
        // Sent at 100 ms, acknowledged one by one, 5 ms apart: the send phase has no length.
        CheckSample(0, 1, 100 * MS, 0);
        CheckSample(4, 5, 120 * MS, 0);
        CheckSample(9, 10, 145 * MS, 0);
        // Segment 10 left at 200 ms with the first ACK, 100 ms after segment 0, whose delivery
        // began the window; ten more were delivered when its own ACK came, at 300 ms.
        CheckSample(10, 10, 100 * MS, 1);
        // Segment 14 left at 220 ms, after five deliveries and 120 ms after the latest of these;
        // its ACK, 100 ms later, is the fifteenth.
        CheckSample(14, 10, 120 * MS, 5);
        NS_TEST_EXPECT_MSG_EQ(m_events->at(0).rtt, 100 * MS, "RTT");
        NS_TEST_EXPECT_MSG_EQ(m_events->at(9).rtt, 145 * MS, "RTT");
        NS_TEST_EXPECT_MSG_EQ(m_events->at(9).priorInFlight, 6, "9 of 15 were acknowledged");

        exchange.Write(1'000 * MS, 1'448);
        exchange.Write(1'010 * MS, 10 * 1'448);
        RunUntil(2'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(m_events->at(15).rate.isAppLimited, true, "it had nothing to send");
        NS_TEST_EXPECT_MSG_EQ(m_events->back().rate.isAppLimited, true, "nor the next time");
    }

    const std::vector<AckEvent>* m_events{nullptr};
};

class PacingTest : public SimulationTestCase
{
  public:
    explicit PacingTest(int64_t quantum, const std::string& name, std::string expected)
        : SimulationTestCase("Pacing at a segment a millisecond: " + name +
                             " (Linux tcp_tso_autosize(), tcp_update_skb_after_send())"),
          m_quantum(quantum),
          m_expected(std::move(expected))
    {
    }

  private:
    void DoRun() override
    {
        TcpSpec spec = Exchange::Spec();
        spec.pacingQuantum = m_quantum;
        Exchange exchange(100 * MS, spec);
        exchange.client.control.pacingRate = 1'448e3;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 100);
        RunUntil(199 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), "", "the first ten at once");
        exchange.client.control.SetCwnd(90);
        RunUntil(206 * MS);
        // As late as it is, the first burst gets the credit of half its own duration.
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS), m_expected, "then paced");
        RunUntil(299 * MS);
        const auto sent = static_cast<double>(exchange.client.tcp.GetSender().Counters().segments);
        NS_TEST_EXPECT_MSG_EQ_TOL(sent, 100, 1e-3, "all within 90 ms");
    }

    int64_t m_quantum;
    std::string m_expected;
};

class TransportExchangeTestSuite : public ns3::TestSuite
{
  public:
    TransportExchangeTestSuite()
        : ns3::TestSuite("tunnelcc-transport-exchange", Type::UNIT)
    {
        AddTestCase(new HandshakeTest, Duration::QUICK);
        AddTestCase(new LostHandshakeTest, Duration::QUICK);
        AddTestCase(new UnmeasuredHandshakeTest, Duration::QUICK);
        AddTestCase(new DelayedAckTest, Duration::QUICK);
        AddTestCase(new CompressedAckTest, Duration::QUICK);
        AddTestCase(new ManyCompressedAcksTest, Duration::QUICK);
        AddTestCase(new ManyHolesTest, Duration::QUICK);
        AddTestCase(new PushTest, Duration::QUICK);
        AddTestCase(new QuickAckAfterGapTest, Duration::QUICK);
        AddTestCase(new QuickAckWhileWindowGrowsTest, Duration::QUICK);
        AddTestCase(new AckTimeTest, Duration::QUICK);
        AddTestCase(new PingPongTest, Duration::QUICK);
        AddTestCase(new EcnEchoTest, Duration::QUICK);
        AddTestCase(new PiggybackTest, Duration::QUICK);
        AddTestCase(new NagleTest, Duration::QUICK);
        AddTestCase(new AckBeforeAnswerTest, Duration::QUICK);
        AddTestCase(new BacklogTest, Duration::QUICK);
        AddTestCase(new DeferralTest(MS,
                                     MS,
                                     "the next ACK is near -> segments 41 to 44 at 201 ms",
                                     "40@200 41@201 42@201 43@201 44@201 45@202 46@202 47@202 "
                                     "48@202 49@203 50@203 51@203 52@203"),
                    Duration::QUICK);
        AddTestCase(
            new DeferralTest(5 * MS,
                             MS,
                             "not if it is far off -> segments 41 to 43 at 200.5 ms",
                             "40@200 41@200.5 42@200.5 43@200.5 44@205 45@205.5 46@205.5 47@205.5"),
            Duration::QUICK);
        AddTestCase(new DeferralTest(5 * MS,
                                     NEVER,
                                     "before 6.18, even then -> segments 41 to 44 at 205 ms",
                                     "40@200 41@205 42@205 43@205 44@205"),
                    Duration::QUICK);
        AddTestCase(new FinTest, Duration::QUICK);
        AddTestCase(new ZeroWindowTest(false), Duration::QUICK);
        AddTestCase(new ZeroWindowTest(true), Duration::QUICK);
        AddTestCase(new SendBufferFullTest, Duration::QUICK);
        AddTestCase(new RateSampleTest, Duration::QUICK);
        AddTestCase(
            new PacingTest(1 * MS,
                           "bursts of at least two -> 12 and 13 at 201, 14 and 15 at 203 ms",
                           "10@200 11@200 12@201 13@201 14@203 15@203 16@205 17@205"),
            Duration::QUICK);
        AddTestCase(
            new PacingTest(5 * MS,
                           "five milliseconds' worth -> 10 to 14 at 200, 15 to 19 at 202.5 ms",
                           "10@200 11@200 12@200 13@200 14@200 15@202.5 16@202.5 "
                           "17@202.5 18@202.5 19@202.5"),
            Duration::QUICK);
        AddTestCase(new PacingTest(0,
                                   "one by one -> 10 at 200, 11 at 200.5, 12 at 201.5 ms",
                                   "10@200 11@200.5 12@201.5 13@202.5 14@203.5 15@204.5 "
                                   "16@205.5"),
                    Duration::QUICK);
        AddTestCase(new PersistBackOffTest, Duration::QUICK);
        AddTestCase(new SillyWindowTest, Duration::QUICK);
    }
};

TransportExchangeTestSuite g_transportExchangeTestSuite;

} // namespace
