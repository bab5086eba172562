/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The handshake alone, and the tail loss probe alone.
 */
#include "exchange.h"
#include "simulation-test-case.h"
#include "transport/tail-loss-probe.h"
#include "transport/tcp-handshake.h"

#include <sstream>
#include <string>

namespace
{

using namespace tunnelcc;

/// A handshake, and when its SYNs leave.
class Opener final : public SynOutput
{
  public:
    explicit Opener(uint32_t linearTimeouts)
        : handshake(linearTimeouts, *this)
    {
    }

    void SendSyn(int64_t now, bool isAnswer) override
    {
        syns << (isAnswer ? "A" : "S") << now / SECOND << " ";
    }

    std::ostringstream syns; //!< SYNs as "S", SYN-ACKs as "A", with their times, s
    TcpHandshake handshake;
};

class UnansweredTest : public SimulationTestCase
{
  public:
    UnansweredTest()
        : SimulationTestCase(
              "No SYN is answered -> again after 1 s, 2 s, ..., the end after 127 s, or "
              "131 s (RFC 6298, 2.1 and 5.5; Linux tcp_syn_retries, 6.5)")
    {
    }

  private:
    void DoRun() override
    {
        Opener opener(0);
        opener.handshake.Connect(0);
        RunUntil(200 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(opener.syns.str(), "S0 S1 S3 S7 S15 S31 S63 ", "doubling");
        NS_TEST_EXPECT_MSG_EQ(opener.handshake.FailedTime(), 127 * SECOND, "given up");
        ns3::Simulator::Destroy();
        EventLoop::Install();
        Opener linear(4);
        linear.handshake.Connect(0);
        RunUntil(200 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(linear.handshake.FailedTime(), 131 * SECOND, "four more");
        ns3::Simulator::Destroy();
        EventLoop::Install();
        Opener listener(4);
        listener.handshake.Accept(0);
        RunUntil(200 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(listener.syns.str(), "A0 A1 A3 A7 A15 A31 ", "tcp_synack_retries");
        NS_TEST_EXPECT_MSG_EQ(listener.handshake.FailedTime(), -1, "nobody is waiting");
    }
};

class HandshakeRttTest : public SimulationTestCase
{
  public:
    HandshakeRttTest()
        : SimulationTestCase("A SYN that was sent again is answered -> the echo alone tells the RTT"
                             " (RFC 7323, 4; Karn's rule)")
    {
    }

  private:
    void DoRun() override
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
};

class LostSynsTest : public SimulationTestCase
{
  public:
    LostSynsTest()
        : SimulationTestCase("The third SYN is answered -> the window begins with one segment, with"
                             " ten where the answer is the first one's (Linux tcp_init_transfer())")
    {
    }

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

class ProbeTest : public ns3::TestCase
{
  public:
    ProbeTest()
        : ns3::TestCase("A probe's ACK comes -> it repaired a loss, unless new or reported by"
                        " a D-SACK (RFC 8985, 7.4.2)")
    {
    }

  private:
    void DoRun() override
    {
        TailLossProbe probe;
        probe.OnSent(10, true);
        NS_TEST_EXPECT_MSG_EQ(probe.Is(9), true, "the last segment");
        NS_TEST_EXPECT_MSG_EQ(probe.EndsWithLoss(9, false), false, "not yet acknowledged");
        NS_TEST_EXPECT_MSG_EQ(probe.EndsWithLoss(10, false), false, "original or probe");
        NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), true, "a D-SACK may follow");
        NS_TEST_EXPECT_MSG_EQ(probe.EndsWithLoss(11, false), true, "none did");
        NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), false, "over");
        probe.OnSent(20, true);
        NS_TEST_EXPECT_MSG_EQ(probe.EndsWithLoss(20, true), false, "the original had arrived");
        NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), false, "over");
        probe.OnSent(30, false);
        NS_TEST_EXPECT_MSG_EQ(probe.IsRetransmissionOut(), false, "new data");
        NS_TEST_EXPECT_MSG_EQ(probe.EndsWithLoss(30, false), false, "nothing was lost");
    }
};

class TransportHandshakeTestSuite : public ns3::TestSuite
{
  public:
    TransportHandshakeTestSuite()
        : ns3::TestSuite("tunnelcc-transport-handshake", Type::UNIT)
    {
        AddTestCase(new UnansweredTest, Duration::QUICK);
        AddTestCase(new HandshakeRttTest, Duration::QUICK);
        AddTestCase(new LostSynsTest, Duration::QUICK);
        AddTestCase(new ProbeTest, Duration::QUICK);
    }
};

TransportHandshakeTestSuite g_transportHandshakeTestSuite;

} // namespace
