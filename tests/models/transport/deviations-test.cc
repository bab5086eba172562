/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Where our TCP is not the RFCs' but Linux's, and where it is not Linux's: see
 * models/deviations.md. The RTT is 100 ms unless said otherwise, so that the client is connected at
 * 100 ms.
 */
#include "support/exchange.h"
#include "support/sender-script.h"
#include "support/test-case.h"
#include "transport/rack.h"
#include "transport/rtt-estimator.h"

#include <sstream>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-deviations");

class ConnectTimeoutTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void Check(uint32_t linearTimeouts, const std::string& syns, int64_t end)
    {
        TcpSpec spec = Exchange::Spec();
        spec.synLinearTimeouts = linearTimeouts;
        Exchange exchange(100 * MS, spec);
        exchange.toServer.LoseNext(PacketKind::SYN, 100);
        exchange.Connect();
        RunUntil(1'000'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Show(PacketKind::SYN), syns, "SYNs");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.ConnectFailedTime(), end, "then it fails");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.connectedTime, -1, "never connected");
        ns3::Simulator::Destroy();
    }

    void DoRun() override
    {
        // Documentation/networking/ip-sysctl.rst: 127 s; 131 s with tcp_syn_linear_timeouts = 4.
        Check(0, "@0 @1000 @3000 @7000 @15000 @31000 @63000", 127'000 * MS);
        Check(4,
              "@0 @1000 @2000 @3000 @4000 @5000 @7000 @11000 @19000 @35000 @67000",
              131'000 * MS);
    }
};

ADD_CASE(ConnectTimeoutTest,
         "A SYN is sent again six times, and four more of them since 6.5"
         " -> gives up at 127 s; 10 repeats, 131 s since 6.5 (Linux "
         "tcp_syn_retries, tcp_syn_linear_timeouts)");

TEST_CASE(SimulationTestCase,
          ForgottenHandshakeTest,
          "A SYN-ACK is sent again five times; a later SYN begins anew"
          " -> SYN-ACKs at 0, 1, 3, 7, 15, 31 s (Linux tcp_synack_retries)")
{
    Exchange exchange;
    exchange.toClient.LoseNext(PacketKind::SYN_ACK, 6);
    Packet syn{};
    syn.kind = PacketKind::SYN;
    exchange.server.tcp.Receive(0, syn, nullptr);
    RunUntil(100'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Show(PacketKind::SYN_ACK),
                          "@0 @1000 @3000 @7000 @15000 @31000",
                          "SYN-ACKs");
    exchange.client.tcp.Connect(100'000 * MS);
    RunUntil(101'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.connectedTime, 100'100 * MS, "connected");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.connectedTime, 100'150 * MS, "connected");
}

class FirstWindowTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Windows of SYN and SYN-ACK.
    std::string Windows(uint64_t initial)
    {
        TcpSpec spec = Exchange::Spec();
        spec.initialReceiveWindow = initial;
        Exchange exchange(100 * MS, spec, spec);
        exchange.Connect();
        RunUntil(200 * MS);
        ns3::Simulator::Destroy();
        return std::to_string(exchange.toServer.log.front().packet.synWindow) + " " +
               std::to_string(exchange.toClient.log.front().packet.synWindow);
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Windows(65'535), "65535 65535", "of the connections on the path");
        NS_TEST_EXPECT_MSG_EQ(Windows(0), "1048576 1048576", "of sockets of a fixed size");
    }
};

ADD_CASE(FirstWindowTest,
         "The first window has 16 bits where windows grow, and is whole if not"
         " -> 65535 bytes; 1048576 of a fixed buffer (RFC 7323, 2.2; Linux "
         "tcp_select_initial_window())");

class SackMemoryTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    std::string Deliver(uint32_t number)
    {
        Packet data{};
        data.segment = number;
        data.length = 1'448;
        m_receiver.OnData(data);
        Acknowledgement ack;
        m_receiver.Describe(ack);
        std::ostringstream text;
        for (uint32_t i = 0; i < ack.sackBlocks; ++i)
        {
            text << "[" << ack.blocks->begin[i] << "-" << ack.blocks->end[i] << ")";
        }
        return text.str();
    }

    void DoRun() override
    {
        Deliver(2);
        Deliver(4);
        Deliver(6);
        NS_TEST_EXPECT_MSG_EQ(Deliver(8), "[8-9)[6-7)[4-5)", "the latest three of four");
        NS_TEST_EXPECT_MSG_EQ(Deliver(7), "[6-9)[4-5)[2-3)", "two became one: the oldest is back");
    }

    Receiver m_receiver{Exchange::Spec()};
};

ADD_CASE(SackMemoryTest,
         "Four runs are remembered, of which three fit beside timestamps"
         " -> [8-9)[6-7)[4-5), then [6-9)[4-5)[2-3) (RFC 2018, 3; Linux "
         "tcp_sack_new_ofo_skb())");

/// RFC 6298, rules 2.2 and 2.3, as it stands.
class Rfc6298
{
  public:
    void Sample(double rtt)
    {
        m_rttvar = m_srtt > 0 ? 0.75 * m_rttvar + 0.25 * std::abs(m_srtt - rtt) : rtt / 2;
        m_srtt = m_srtt > 0 ? 0.875 * m_srtt + 0.125 * rtt : rtt;
    }

    double Rto() const
    {
        return m_srtt + 4 * m_rttvar;
    }

  private:
    double m_srtt{0};
    double m_rttvar{0};
};

class RttVarianceTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// One segment of a flight of ten is acknowledged.
    void Sample(int64_t rtt)
    {
        ++m_una;
        m_linux.Sample(rtt * MS, m_una, m_una + 10);
        m_rfc.Sample(static_cast<double>(rtt));
    }

    double Linux() const
    {
        return static_cast<double>(m_linux.Rto()) / MS;
    }

    void DoRun() override
    {
        for (int i = 0; i < 400; ++i)
        {
            Sample(500);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(Linux(), 700, 2, "SRTT and 200 ms");
        NS_TEST_EXPECT_MSG_EQ_TOL(m_rfc.Rto(), 500, 2, "SRTT; a second is the RFC's least");
        Sample(1'500);
        NS_TEST_EXPECT_MSG_EQ_TOL(Linux(), 625 + 1'000, 2, "SRTT, and four times a quarter");
        NS_TEST_EXPECT_MSG_EQ_TOL(m_rfc.Rto(), 625 + 1'000, 2, "no difference yet");
        for (int i = 0; i < 20; ++i)
        {
            Sample(500);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(m_rfc.Rto(), 578, 2, "two round trips later");
        NS_TEST_EXPECT_MSG_EQ_TOL(Linux(), 1'345, 2, "but a quarter for each, in Linux");

        // Falling RTTs do not raise it as rising ones do.
        RttEstimator falls(200 * MS);
        RttEstimator rises(200 * MS);
        falls.Sample(1'000 * MS, 0, 1);
        rises.Sample(1'000 * MS, 0, 1);
        for (uint64_t una = 1; una < 100; ++una)
        {
            falls.Sample(1'000 * MS, una, una);
            rises.Sample(1'000 * MS, una, una);
        }
        falls.Sample(200 * MS, 100, 100);
        rises.Sample(1'800 * MS, 100, 100);
        NS_TEST_EXPECT_MSG_EQ_TOL(falls.Rto() / MS, 900 + 200, 5, "by an eighth of it");
        NS_TEST_EXPECT_MSG_GT(rises.Rto() / MS, 1'100 + 750, "by all of it");
    }

    uint64_t m_una{0};
    RttEstimator m_linux{200 * MS};
    Rfc6298 m_rfc;
};

ADD_CASE(RttVarianceTest,
         "The variance is a round trip's largest, and forgotten by round trips"
         " -> RTO of 1345 ms two round trips after a peak, by the RFC 578 ms "
         "(Linux tcp_rtt_estimator(), unlike RFC 6298, 2)");

TEST_CASE(SimulationTestCase,
          NeedlessRetransmissionTest,
          "D-SACKs widen RACK's window only where reordering was seen"
          " -> 25 ms; 50 ms once a segment was late (Linux tcp_dsack_seen())")
{
    SenderState state;
    state.minRtt = state.srtt = 100 * MS;
    Rack rack;
    rack.OnDuplicate();
    rack.UpdateWindow(0, 10);
    NS_TEST_EXPECT_MSG_EQ(rack.ReorderingWindow(state, 0), 25 * MS, "a D-SACK alone");
    Segment late{};
    rack.OnDelivered(100 * MS, {3, 3, late}, 100 * MS, 5, false);
    rack.OnDuplicate();
    rack.UpdateWindow(10, 20);
    NS_TEST_EXPECT_MSG_EQ(rack.ReorderingWindow(state, 0), 50 * MS, "after segment 3 was late");
}

TEST_CASE(SimulationTestCase,
          LastingMinRttTest,
          "The least RTT is the connection's: RACK waits a quarter of it"
          " -> segment 406 327 ms later; in Linux 377 ms (RFC 8985, 6.2; unlike "
          "Linux tcp_update_rtt_min())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 5);
    RunUntil(1'000 * MS);
    exchange.toServer.SetDelay(250 * MS);
    for (int64_t time = 1'000 * MS; time < 400'000 * MS; time += 1'000 * MS)
    {
        exchange.WriteSegments(time, 1); // SRTT becomes 300 ms
    }
    exchange.toServer.LoseSegment(406);
    exchange.WriteSegments(400'000 * MS, 5);
    RunUntil(402'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().minRtt, 100 * MS, "of the first second");
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(400'001 * MS),
                          "406@400327",
                          "300 + 100 / 4 + 2 ms; Linux has forgotten: 300 + 300 / 4 + 2");
}

} // namespace
