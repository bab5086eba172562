/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The handshake: scripted exchanges (RFC 9293, RFC 6298), and its parts alone. In exchanges the RTT
 * is 100 ms, so that the client is connected at 100 ms and the server at 150 ms.
 */
#include "support/exchange.h"
#include "support/simulation-test-case.h"
#include "transport/tcp-handshake.h"

#include <sstream>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-handshake");

TEST_CASE(SimulationTestCase,
          HandshakeTest,
          "SYN, SYN-ACK, ACK; data follows at once"
          " -> SYN at 0, SYN-ACK at 50, ACK and data at 100 ms (RFC 9293, 3.5)")
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

TEST_CASE(SimulationTestCase,
          LostHandshakeTest,
          "Lost handshake packets come again after 1 s, then 2 s"
          " -> SYNs at 0, 1, 3 s; SYN-ACKs at 50, 1050 ms (RFC 6298, 2.1 and 5)")
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
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 1'448, "and is read");
    }
}

class UnmeasuredHandshakeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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

ADD_CASE(UnmeasuredHandshakeTest,
         "What was sent twice is answered, without timestamps -> no RTT; data is"
         " sent again after 3 s, its probe after 1 s (RFC 6298, 3 and 5.7)");

/// A handshake, and when its SYNs leave.
class Opener final : public SynOutput
{
  public:
    explicit Opener(uint32_t linearTimeouts)
        : handshake(TestLoop(), linearTimeouts, *this)
    {
    }

    void SendSyn(int64_t now, bool isAnswer) override
    {
        syns << (isAnswer ? "A" : "S") << now / SECOND << " ";
    }

    std::ostringstream syns; //!< SYNs as "S", SYN-ACKs as "A", with their times, s
    TcpHandshake handshake;
};

TEST_CASE(SimulationTestCase,
          UnansweredTest,
          "No SYN is answered -> again after 1 s, 2 s, ..., the end after 127 s, or "
          "131 s (RFC 6298, 2.1 and 5.5; Linux tcp_syn_retries, 6.5)")
{
    Opener opener(0);
    opener.handshake.Connect(0);
    RunUntil(200 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(opener.syns.str(), "S0 S1 S3 S7 S15 S31 S63 ", "doubling");
    NS_TEST_EXPECT_MSG_EQ(opener.handshake.FailedTime(), 127 * SECOND, "given up");
    Ns3Simulator::Install();
    Opener linear(4);
    linear.handshake.Connect(0);
    RunUntil(200 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(linear.handshake.FailedTime(), 131 * SECOND, "four more");
    Ns3Simulator::Install();
    Opener listener(4);
    listener.handshake.Accept(0);
    RunUntil(200 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(listener.syns.str(), "A0 A1 A3 A7 A15 A31 ", "tcp_synack_retries");
    NS_TEST_EXPECT_MSG_EQ(listener.handshake.FailedTime(), -1, "nobody is waiting");
}

TEST_CASE(SimulationTestCase,
          HandshakeRttTest,
          "A SYN that was sent again is answered -> the echo alone tells the RTT"
          " (RFC 7323, 4; Karn's rule)")
{
    Opener opener(0);
    opener.handshake.Connect(0);
    NS_TEST_EXPECT_MSG_EQ(*opener.handshake.Rtt(300 * MS, {}), 300 * MS, "sent once");
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(*opener.handshake.Rtt(1'300 * MS, 0), 1'300 * MS, "of the first");
    NS_TEST_EXPECT_MSG_EQ(*opener.handshake.Rtt(1'300 * MS, 1'000), 300 * MS, "of the second");
    NS_TEST_EXPECT_MSG_EQ(opener.handshake.Rtt(1'300 * MS, {}).has_value(), false, "none");
    opener.handshake.Establish(1'300 * MS);
    RunUntil(100 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(opener.syns.str(), "S0 S1 ", "no more");
    NS_TEST_EXPECT_MSG_EQ(opener.handshake.EstablishedTime(), 1'300 * MS, "answered");
}

class LostSynsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// The window after \p lost SYNs or, if \p isServer, SYN-ACKs.
    uint32_t WindowAfter(uint32_t lost, bool isServer)
    {
        TcpSpec spec = Exchange::Spec();
        Exchange exchange(100 * MS, spec);
        exchange.toServer.LoseNext(PacketKind::SYN, isServer ? 0 : lost);
        exchange.toClient.LoseNext(PacketKind::SYN_ACK, isServer ? lost : 0);
        exchange.Connect();
        RunUntil(60 * SECOND);
        NS_TEST_EXPECT_MSG_GT(exchange.client.connectedTime, 0, "connected");
        uint32_t window = (isServer ? exchange.server : exchange.client).control.windowAtInit;
        ns3::Simulator::Destroy();
        return window;
    }

    void DoRun() override
    {
        Opener opener(0);
        opener.handshake.Connect(0);
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns({}), false, "none");
        RunUntil(SECOND);
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns({}), false, "one");
        RunUntil(3 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns({}), true, "two, without timestamps");
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns(3'000), true, "the third was answered");
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns(1'000), true, "the second was");
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.LostSyns(0), false, "the first one was only late");
        ns3::Simulator::Destroy();
        for (bool isServer : {false, true})
        {
            NS_TEST_EXPECT_MSG_EQ(WindowAfter(0, isServer), 10, "nothing was lost");
            NS_TEST_EXPECT_MSG_EQ(WindowAfter(1, isServer), 10, "one was");
            // A listener sends twice a second: its timer and the repeated SYN make it.
            NS_TEST_EXPECT_MSG_EQ(WindowAfter(isServer ? 4 : 2, isServer), 1, "two were");
        }
    }
};

ADD_CASE(LostSynsTest,
         "The third SYN is answered -> the window begins with one segment, with"
         " ten where the answer is the first one's (Linux tcp_init_transfer())");

} // namespace
