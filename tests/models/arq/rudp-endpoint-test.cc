/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks RUDP between two ends, by scripts whose outcome follows from FinalSpeed's source: lists of
 * ACKs, pings, the end of a stream; and what holds whatever is lost.
 */
#include "support/rudp-hosts.h"
#include "support/test-case.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;
using enum RudpMessage;

TEST_SUITE("tunnelcc-arq-rudp-endpoint");

TEST_CASE(SimulationTestCase,
          RudpAckListTest,
          "Lists of 300 numbers at most leave twice, every 5 ms and a bit")
{
    RudpSpec spec = MakeRudp();
    spec.rate = {1e9, 1e9};
    RudpHosts hosts(spec);
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 700'000);
    RudpProgram reader(connection.server, 0, false);
    connection.client.Connect(0);
    RunUntil(16 * MS); // looks at 3, 8.1 and 13.2 ms; all have arrived since 10 ms
    const auto lists = hosts.down.Of(ACKS);
    NS_TEST_ASSERT_MSG_EQ(lists.size(), 6, "three, twice each");
    const std::vector<uint32_t> numbers{300, 300, 300, 300, 240, 240};
    for (size_t i = 0; i < lists.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(lists[i].time, 13'200 * US, "when");
        NS_TEST_EXPECT_MSG_EQ(lists[i].number, i / 2, "twice the same");
        NS_TEST_EXPECT_MSG_EQ(lists[i].bytes, RUDP_ACK_HEADER + 4 * numbers[i], "size");
        const RudpAcks* list = connection.server.Log().Find(lists[i].number);
        NS_TEST_ASSERT_MSG_EQ((list != nullptr), true, "kept");
        NS_TEST_EXPECT_MSG_EQ(list->read, 0, "nothing was read");
    }
    RunUntil(40 * MS);
    NS_TEST_EXPECT_MSG_EQ(hosts.down.Of(ACKS).size(), 6, "there was nothing to tell");
    // Reading is told by a list without numbers; a packet counts with its first byte.
    At(50 * MS, [&] { reader.Read(50 * MS, 2001); });
    RunUntil(60 * MS);
    const auto more = hosts.down.Of(ACKS);
    NS_TEST_ASSERT_MSG_EQ(more.size(), 8, "one, twice");
    NS_TEST_EXPECT_MSG_EQ(more[7].bytes, RUDP_ACK_HEADER, "no numbers");
    NS_TEST_EXPECT_MSG_EQ(connection.server.Log().Find(more[7].number)->read, 3, "1000, 1000, 500");
}

TEST_CASE(SimulationTestCase,
          CopyTest,
          "A copy is acknowledged again, once in a list, and read once")
{
    RudpHosts hosts(MakeRudp());
    hosts.down.isLost = [](const RudpDatagram& it) { return it.kind == ACKS; };
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 1000);
    RudpProgram reader(connection.server, 0);
    connection.client.Connect(0);
    RunUntil(500 * MS);
    const auto lists = hosts.down.Of(ACKS);
    NS_TEST_ASSERT_MSG_EQ(lists.size(), 4, "of the first two copies, and of the next");
    for (const RudpDatagram& list : lists)
    {
        NS_TEST_EXPECT_MSG_EQ(list.bytes, RUDP_ACK_HEADER + 4, "one number");
    }
    NS_TEST_EXPECT_MSG_EQ(reader.Read(), 1000, "once");
    RunUntil(7 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 12, "all that it may");
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(),
                          1,
                          "as nothing told that it was read");
}

TEST_CASE(SimulationTestCase,
          PingTest,
          "A ping each one or two seconds; 8 s without an answer close all")
{
    RudpHosts hosts(MakeRudp());
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 1000);
    RudpProgram reader(connection.server, 0);
    connection.client.Connect(0);
    RunUntil(120 * SECOND);
    const auto pings = hosts.up.Of(PING);
    NS_TEST_ASSERT_MSG_GT(pings.size(), 58, "at least each two seconds");
    std::vector<int64_t> gaps;
    for (size_t i = 1; i < pings.size(); ++i)
    {
        gaps.push_back((pings[i].time - pings[i - 1].time) / SECOND);
    }
    NS_TEST_EXPECT_MSG_EQ((std::count(gaps.begin(), gaps.end(), 2) > 40), true, "mostly two");
    NS_TEST_EXPECT_MSG_EQ((std::count(gaps.begin(), gaps.end(), 1) > 1), true, "one at times");
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(REPLY).size(), hosts.down.Of(PING).size(), "answers");
    NS_TEST_EXPECT_MSG_EQ(pings[0].time, 500 * MS, "the first time that it looks");
    NS_TEST_EXPECT_MSG_EQ(connection.client.IsOpen(), true, "all is well");

    // Answers no longer come back: the client closes, the server goes on.
    int64_t last = 0;
    hosts.down.isLost = [](const RudpDatagram& it) { return it.kind == REPLY; };
    for (const RudpDatagram& it : hosts.down.Of(REPLY))
    {
        last = it.time + hosts.down.delay;
    }
    RunUntil(last + 8 * SECOND - MS);
    NS_TEST_EXPECT_MSG_EQ(connection.client.IsOpen(), true, "not yet");
    RunUntil(last + 9 * SECOND + 2 * MS);
    NS_TEST_EXPECT_MSG_EQ(connection.client.IsOpen(), false, "8 s, and until it looks");
    NS_TEST_EXPECT_MSG_EQ(connection.client.IsAtEof(), true, "its program sees the end");
    NS_TEST_EXPECT_MSG_EQ(connection.client.Write(last + 9 * SECOND, 10), 0, "no more");
    NS_TEST_EXPECT_MSG_EQ(connection.server.IsOpen(), true, "it has answers");
    const size_t before = hosts.up.Of(DATA).size();
    RunUntil(140 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), before, "nothing is sent again");

    // A later connection begins anew.
    hosts.down.isLost = [](const RudpDatagram&) { return false; };
    RudpHosts::Connection later(hosts);
    RudpProgram second(later.client, 5000);
    RudpProgram sink(later.server, 0);
    later.client.Connect(140 * SECOND);
    RunUntil(160 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(sink.Read(), 5000, "it carries");
    NS_TEST_EXPECT_MSG_EQ(later.client.IsOpen(), true, "and stays");
}

TEST_CASE(SimulationTestCase,
          CloseTest,
          "The end of a stream is told twice, and lost where data are missing")
{
    std::deque<RudpHosts> all; // whose timers go on
    std::deque<RudpHosts::Connection> connections;
    for (bool isMissing : {false, true})
    {
        RudpHosts& hosts = all.emplace_back(MakeRudp());
        int left = isMissing ? 1 : 0;
        hosts.up.isLost = [&](const RudpDatagram& it) { return it.number == 8 && left-- > 0; };
        RudpHosts::Connection& connection = connections.emplace_back(hosts);
        RudpProgram writer(connection.client, 20'000);
        RudpProgram reader(connection.server, 0);
        const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        connection.client.Connect(begin);
        At(begin + 100 * MS, [&] { connection.client.Close(begin + 100 * MS); });
        RunUntil(begin + 3 * SECOND);
        const auto closes = hosts.up.Of(CLOSE);
        NS_TEST_ASSERT_MSG_EQ(closes.size(), 2, "twice");
        NS_TEST_EXPECT_MSG_EQ(closes[0].number, 24, "after all of 8 writes of 3 packets");
        NS_TEST_EXPECT_MSG_EQ(reader.Read(), 20'000, "data");
        NS_TEST_EXPECT_MSG_EQ(connection.server.IsAtEof(), !isMissing, "the end");
        hosts.up.isLost = [](const RudpDatagram&) { return false; };
        connection.client.SetUser(nullptr);
        connection.server.SetUser(nullptr);
    }
}

class RudpConservationTest : public SimulationTestCase
{
  public:
    RudpConservationTest(double loss, bool reorders)
        : SimulationTestCase("Every byte arrives once, both ways, loss " + std::to_string(loss) +
                             (reorders ? ", reordering" : "")),
          m_loss(loss),
          m_reorders(reorders)
    {
    }

  private:
    void DoRun() override
    {
        LinkSpec link;
        link.rate = 20e6;
        link.bufferBytes = 1'000'000;
        link.loss = m_loss;
        if (m_reorders)
        {
            link.reorder = 0.1;
            link.reorderDelay = 30 * MS;
            link.jitter = 2 * MS;
            link.jitterReorders = true;
        }
        PathDirection forward(TestLoop(), link, PathStreams::Forward(1));
        PathDirection reverse(TestLoop(), link, PathStreams::Reverse(1));
        const RudpSpec spec = MakeRudp();
        RudpSession near(TestLoop(),
                         spec,
                         End::CLIENT,
                         Channel(forward, 20 * MS),
                         {0, 0, MS},
                         RudpDraws(0));
        RudpSession far(TestLoop(),
                        spec,
                        End::SERVER,
                        Channel(reverse, 20 * MS),
                        {0, 500 * MS, 2 * MS},
                        RudpDraws(1));
        RudpSession::Join(near, far);
        RudpEndpoint client(spec, near, Channel(forward, 20 * MS));
        RudpEndpoint server(spec, far, Channel(reverse, 20 * MS));
        RudpEndpoint::Join(client, server);
        constexpr uint64_t UP = 2'345'678;
        constexpr uint64_t DOWN = 1'234'567;
        RudpProgram above(client, UP);
        RudpProgram below(server, DOWN);
        client.Connect(0);
        RunUntil(30 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(below.Read(), UP, "up");
        NS_TEST_EXPECT_MSG_EQ(above.Read(), DOWN, "down");
        for (const RudpEndpoint* end : {&client, &server})
        {
            NS_TEST_EXPECT_MSG_EQ(end->ClosedTime(), -1, "open");
            NS_TEST_EXPECT_MSG_EQ(end->GetSender().BytesInFlight(), 0, "nothing is under way");
            NS_TEST_EXPECT_MSG_EQ(end->GetSender().GivenUp(), 0, "nothing is missing");
            uint64_t resent = end->GetSender().Counters().resent;
            uint64_t sent = end->GetSender().Counters().packets - resent;
            if (m_loss == 0)
            {
                // 40 ms, twice 30 where both are late, and up to 5 until a list leaves.
                NS_TEST_EXPECT_MSG_LT_OR_EQ(resent, m_reorders ? 5 : 0, "ACKs come in time");
            }
            else
            {
                // Lost are data, or both lists that tell of them.
                double again = (m_loss + (1 - m_loss) * m_loss * m_loss);
                double expected = static_cast<double>(sent) * again / (1 - again);
                NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(resent),
                                          expected,
                                          0.2 * expected,
                                          "");
            }
        }
    }

    const double m_loss;
    const bool m_reorders;
};

ADD_CASES
{
    for (bool reorders : {false, true})
    {
        for (double loss : {0.0, 0.05, 0.2})
        {
            AddCase(new RudpConservationTest(loss, reorders));
        }
    }
}

} // namespace
