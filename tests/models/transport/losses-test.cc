/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: what a congestion control is told of losses, flights (draft-ietf-ccwg-bbr,
 * sections 4.1.2 and 5.2.4), delayed ACKs and transmissions after silence (Linux). The RTT is
 * 100 ms; data written at 100 ms is acknowledged at 200 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-losses");

class LossReportTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Exchange exchange;
        exchange.Connect();
        exchange.toServer.LoseSegment(2, 2);
        exchange.toServer.LoseSegment(4);
        exchange.WriteSegments(100 * MS, 10);
        exchange.WriteSegments(210 * MS, 10);
        RunUntil(2'000 * MS);
        const auto& losses = exchange.client.control.losses;
        NS_TEST_ASSERT_MSG_EQ(losses.size(), 3, "two segments, and a retransmission");
        CheckLoss(losses[0], 2, 3, 0);
        CheckLoss(losses[1], 4, 5, 0);
        NS_TEST_EXPECT_MSG_EQ(losses[2].number, 2, "the retransmission");
        NS_TEST_EXPECT_MSG_EQ(losses[2].priorLost, 2, "sent after both losses");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().lost, 3, "all counted");
    }

    void CheckLoss(const LostSegment& loss, uint64_t number, uint32_t inFlight, uint64_t priorLost)
    {
        NS_TEST_EXPECT_MSG_EQ(loss.number, number, "segment");
        NS_TEST_EXPECT_MSG_EQ(loss.txInFlight, inFlight, "in flight with segment " << number);
        NS_TEST_EXPECT_MSG_EQ(loss.priorLost, priorLost, "lost before segment " << number);
    }
};

ADD_CASE(LossReportTest,
         "Each loss is told with the flight that the segment was sent in"
         " -> 3 and 5 in flight; 2 lost before the lost retransmission "
         "(draft-ietf-ccwg-bbr, 4.1.2)");

TEST_CASE(SimulationTestCase,
          RateSampleFlightTest,
          "A rate sample tells of the flight of its segment, in a growing ring"
          " -> 1 to 200 in flight, by the place in the burst (draft-ietf-ccwg-bbr, 4.1.2)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.client.control.cwnd = 300;
    exchange.toServer.LoseSegment(195);
    exchange.WriteSegments(100 * MS, 200);
    RunUntil(1'000 * MS);
    const auto& events = exchange.client.control.events;
    NS_TEST_ASSERT_MSG_GT(events.size(), 100, "ACKs");
    uint64_t delivered = 0;
    for (const AckEvent& event : events)
    {
        delivered += event.ackedSacked;
        if (event.now == 200 * MS)
        {
            // All were sent at once, the lost one among them.
            const uint64_t sent = delivered + (delivered > 195 ? 1 : 0);
            NS_TEST_EXPECT_MSG_EQ(event.rate.txInFlight, sent, "at its place in the burst");
            NS_TEST_EXPECT_MSG_EQ(event.rate.priorLost, 0, "nothing was lost then");
        }
    }
    NS_TEST_EXPECT_MSG_EQ(events.back().rate.priorLost, 1, "the retransmission was sent later");
}

TEST_CASE(SimulationTestCase,
          MaybeDelayedAckTest,
          "Only the ACK of a lone short segment may have been delayed"
          " -> of 500 bytes; not of 1448, nor of both (Linux tcp_clean_rtx_queue())")
{
    Exchange exchange;
    exchange.Connect();
    const auto& events = exchange.client.control.events;
    exchange.Write(100 * MS, 500);
    RunUntil(500 * MS);
    NS_TEST_ASSERT_MSG_EQ(events.size(), 1, "one ACK");
    NS_TEST_EXPECT_MSG_EQ(events[0].isAckDelayed, true, "of a lone short segment");
    exchange.WriteSegments(500 * MS, 1);
    RunUntil(1'000 * MS);
    NS_TEST_ASSERT_MSG_EQ(events.size(), 2, "one ACK");
    NS_TEST_EXPECT_MSG_EQ(events[1].isAckDelayed, false, "of a full one");
    exchange.Write(1'000 * MS, 1'448 + 500);
    RunUntil(1'500 * MS);
    NS_TEST_ASSERT_MSG_GT(events.size(), 2, "ACKs");
    NS_TEST_EXPECT_MSG_EQ(events.back().isAckDelayed, false, "of two");
}

TEST_CASE(SimulationTestCase,
          TransmitStartTest,
          "A transmission is announced when nothing is in flight, repeats too"
          " -> three of four: not the probe (Linux tcp_event_data_sent())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(0, 3);
    exchange.WriteSegments(100 * MS, 1);
    RunUntil(5'000 * MS);
    const auto& wire = exchange.toServer.log;
    std::vector<int64_t> sent;
    for (const Transmission& transmission : wire)
    {
        if (transmission.packet.kind == PacketKind::DATA)
        {
            sent.push_back(transmission.time);
        }
    }
    NS_TEST_ASSERT_MSG_EQ(sent.size(), 4, "sent, probed, and two time-outs");
    // The probe goes out while the segment still counts as in flight.
    const std::vector<int64_t> expected{sent[0], sent[2], sent[3]};
    NS_TEST_EXPECT_MSG_EQ((exchange.client.control.starts == expected), true, "announced");
}

} // namespace
