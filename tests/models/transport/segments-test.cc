/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: which segments leave and when. Nagle's rule (RFC 896), full segments, bursts,
 * pacing, the FIN behind them (RFC 9293), and samples of the delivery rate. The RTT is 100 ms
 * unless said otherwise, so that the client is connected at 100 ms and the server at 150 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-segments");

class NagleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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

ADD_CASE(NagleTest,
         "Nagle: small segments wait for each other, unless nodelay"
         " -> 100 bytes at 100 ms, 200 at 200 ms; all at 100 ms if nodelay "
         "(RFC 896; RFC 9293, 3.7.4; Linux tcp_nagle_check())");

TEST_CASE(SimulationTestCase,
          AckBeforeAnswerTest,
          "Data come with an ACK that lets held bytes go -> these go first, 80"
          " at 300 ms, and hold back the answer, 50 at 400 ms"
          " (Linux tcp_rcv_established())")
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

TEST_CASE(SimulationTestCase,
          BacklogTest,
          "Under backlog segments are full whatever was written"
          " -> eight of 1448 bytes, one of 728 (Linux tcp_sendmsg_locked())")
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

TEST_CASE(SimulationTestCase,
          PartsTest,
          "Parts of 100, 2000 and 100 bytes wait -> no segment has bytes of two; Nagle's rule holds"
          " back none but the last (Linux mptcp_skb_can_collapse_to(), tcp_write_xmit())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.client.tcp.EndPart(); // nothing waits: nothing to keep apart
    exchange.client.tcp.Write(0, 60);
    exchange.client.tcp.Write(0, 40);
    exchange.client.tcp.EndPart();
    exchange.client.tcp.EndPart();
    exchange.client.tcp.Write(0, 2'000);
    exchange.client.tcp.EndPart();
    exchange.client.tcp.Write(0, 100);
    exchange.RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Lengths(), "100 1448 552 100", "by parts");
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(),
                          "0@100 1@100 2@100 3@200",
                          "the last waits for small ones before it");
}

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

TEST_CASE(SimulationTestCase,
          FinTest,
          "FIN follows the data, is acknowledged, and sent again if lost"
          " -> acknowledged at 200 ms; the lost one sent at 1000 and 1300 ms "
          "(RFC 9293, 3.6; RFC 6298, 5)")
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

class RateSampleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

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

ADD_CASE(RateSampleTest,
         "Delivery-rate samples, by hand"
         " -> ACK 9: 10 segments in 145 ms, ACK 14: 10 in 120 ms "
         "(draft-cheng-iccrg-delivery-rate-estimation-02; Linux tcp_rate_gen())");

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

ADD_CASES
{
    AddCase(new DeferralTest(MS,
                             MS,
                             "the next ACK is near -> segments 41 to 44 at 201 ms",
                             "40@200 41@201 42@201 43@201 44@201 45@202 46@202 47@202 "
                             "48@202 49@203 50@203 51@203 52@203"));
    AddCase(
        new DeferralTest(5 * MS,
                         MS,
                         "not if it is far off -> segments 41 to 43 at 200.5 ms",
                         "40@200 41@200.5 42@200.5 43@200.5 44@205 45@205.5 46@205.5 47@205.5"));
    AddCase(new DeferralTest(5 * MS,
                             NEVER,
                             "before 6.18, even then -> segments 41 to 44 at 205 ms",
                             "40@200 41@205 42@205 43@205 44@205"));
    AddCase(new PacingTest(1 * MS,
                           "bursts of at least two -> 12 and 13 at 201, 14 and 15 at 203 ms",
                           "10@200 11@200 12@201 13@201 14@203 15@203 16@205 17@205"));
    AddCase(new PacingTest(5 * MS,
                           "five milliseconds' worth -> 10 to 14 at 200, 15 to 19 at 202.5 ms",
                           "10@200 11@200 12@200 13@200 14@200 15@202.5 16@202.5 "
                           "17@202.5 18@202.5 19@202.5"));
    AddCase(new PacingTest(0,
                           "one by one -> 10 at 200, 11 at 200.5, 12 at 201.5 ms",
                           "10@200 11@200.5 12@201.5 13@202.5 14@203.5 15@204.5 "
                           "16@205.5"));
}

} // namespace
