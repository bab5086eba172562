/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks QUIC over two paths (draft-ietf-quic-multipath-21): how paths open, who sends on which,
 * what is repeated over the other one, and that all bytes arrive once whatever is lost. The first
 * path has an RTT of 20 ms and the second one of 100 ms, unless said otherwise.
 */
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <cmath>
#include <deque>
#include <random>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-paths");

constexpr uint32_t UDP_IP = 28;
constexpr size_t FIRST = 4; // packet of the client behind its handshake, and ACKs of the server's

/// Bytes of streams and datagrams that the server has over a path.
uint64_t
Carried(const QuicHosts& hosts, size_t path)
{
    return hosts.server.Paths()[path]->TotalRead();
}

/// A way through a link with a rate and a drop-tail queue.
class QuicLink
{
  public:
    /// \param rate bytes/s \param delay ns \param queue ns that a packet waits at most
    QuicLink(double rate, int64_t delay, int64_t queue)
        : m_rate(rate),
          m_delay(delay),
          m_queue(queue)
    {
    }

    std::vector<int64_t> operator()(const QuicDeparture& it)
    {
        const int64_t begin = std::max(it.time, m_free);
        if (begin - it.time > m_queue || isCut)
        {
            return {};
        }
        m_free = begin + std::llround(it.ipBytes / m_rate * 1e9);
        return {m_free - it.time + m_delay};
    }

    bool isCut{false};

  private:
    const double m_rate;
    const int64_t m_delay;
    const int64_t m_queue;
    int64_t m_free{0};
};

TEST_CASE(
    SimulationTestCase,
    PathsOpenTest,
    "The client opens a path when it has a connection ID for it; each end validates the other")
{
    QuicPathHosts hosts;
    hosts.client.Connect(0);
    RunUntil(SECOND);
    // The handshake is over at 20 ms for the client, and at 30 ms for the server, whose
    // PATH_NEW_CONNECTION_ID comes at 40 ms. Then a round trip over the second path, of 100 ms.
    NS_TEST_EXPECT_MSG_EQ(hosts.client.Paths()[1]->EstablishedTime(), 140 * MS, "client");
    NS_TEST_EXPECT_MSG_EQ(hosts.server.Paths()[1]->EstablishedTime(), 190 * MS, "server");
    NS_TEST_ASSERT_MSG_EQ(hosts.up2.sent.size(), 2, "PATH_CHALLENGE and PATH_RESPONSE");
    NS_TEST_EXPECT_MSG_EQ(hosts.up2.sent[0].time, 40 * MS, "the first");
    NS_TEST_EXPECT_MSG_EQ(hosts.up2.sent[1].time, 140 * MS, "the second");
    for (const QuicDeparture& it : {hosts.up2.sent[0], hosts.up2.sent[1], hosts.down2.sent[0]})
    {
        NS_TEST_EXPECT_MSG_EQ(it.ipBytes, UDP_IP + 1200, "padded (RFC 9000, section 8.2.1)");
    }
    NS_TEST_EXPECT_MSG_EQ(hosts.client.Paths()[1]->Srtt(), 100 * MS, "the RTT of its own path");
    // Header 1, ID 4, number 2, tag 16; PATH_NEW_CONNECTION_ID: type 2, path 1, number 1, Retire
    // Prior To 1, length 1, ID 4, token 16.
    NS_TEST_EXPECT_MSG_EQ(hosts.up.sent[FIRST].ipBytes, UDP_IP + 23 + 26, "the ID for the server");
}

TEST_CASE(SimulationTestCase,
          LostValidationTest,
          "What validates a path is sent again until it arrives")
{
    for (size_t lost = 0; lost < 3; ++lost)
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        QuicPathHosts hosts;
        QuicWay& way = lost == 1 ? hosts.down2 : hosts.up2;
        way.delays = [&](const QuicDeparture&) {
            const size_t place = lost == 2 ? 2 : 1; // the client sends two
            return way.sent.size() == place ? std::vector<int64_t>{} : std::vector{50 * MS};
        };
        hosts.client.Connect(0);
        RunUntil(2 * SECOND);
        NS_TEST_EXPECT_MSG_GT(hosts.server.Paths()[1]->EstablishedTime(), 190 * MS, "late");
        for (const QuicConnection* end : {&hosts.client, &hosts.server})
        {
            NS_TEST_EXPECT_MSG_EQ(end->Paths()[1]->Works(), true, "and works, " << lost);
        }
    }
}

TEST_CASE(SimulationTestCase, OnePathTest, "With one path, it is QUIC as ever, to the byte")
{
    std::vector<std::vector<QuicDeparture>> sent;
    for (bool usesPaths : {false, true})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        QuicHosts hosts(MakeQuic());
        if (usesPaths)
        {
            hosts.client.UsePaths(MultipathScheduler::LOWEST_RTT, false);
            hosts.server.UsePaths(MultipathScheduler::LOWEST_RTT, false);
        }
        std::mt19937 random(5);
        hosts.up.delays = [&](const QuicDeparture&) {
            return random() % 50 ? std::vector<int64_t>{10 * MS} : std::vector<int64_t>{};
        };
        QuicFlow flow(hosts, 2'000'000, 300'000);
        flow.stream.Connect(0);
        RunUntil(20 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 2'000'000, "all");
        sent.push_back(hosts.up.sent);
        sent.push_back(hosts.down.sent);
    }
    for (size_t way : {0, 1})
    {
        NS_TEST_ASSERT_MSG_EQ(sent[way].size(), sent[way + 2].size(), "as many packets");
        for (size_t i = 0; i < sent[way].size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(sent[way][i].time, sent[way + 2][i].time, "at the same time");
            NS_TEST_ASSERT_MSG_EQ(sent[way][i].ipBytes, sent[way + 2][i].ipBytes, "as large");
        }
    }
}

TEST_CASE(SimulationTestCase,
          PathAckTest,
          "An ACK names its path, which takes a byte, and takes it")
{
    std::vector<uint32_t> sizes;
    for (bool hasPaths : {false, true})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        std::unique_ptr<QuicHosts> hosts;
        if (hasPaths)
        {
            hosts = std::make_unique<QuicPathHosts>();
        }
        else
        {
            hosts = std::make_unique<QuicHosts>(MakeQuicOfPaths());
        }
        QuicFlow flow(*hosts, 0, 0);
        flow.client.stays = true;
        flow.stream.Connect(0);
        RunUntil(SECOND);
        const size_t before = hosts->down.sent.size();
        flow.stream.Write(SECOND, 1000);
        RunUntil(1100 * MS);
        NS_TEST_ASSERT_MSG_EQ(hosts->down.sent.size(), before + 1, "an ACK, over the same path");
        sizes.push_back(hosts->down.sent.back().ipBytes);
    }
    NS_TEST_EXPECT_MSG_EQ(sizes[1], sizes[0] + 1, "draft-ietf-quic-multipath-21, section 4.1");
}

TEST_CASE(SimulationTestCase,
          LowestRttTest,
          "Packets take the path of the lowest RTT while it has room, then the other")
{
    QuicPathHosts hosts;
    QuicFlow flow(hosts, 0, 0);
    flow.client.stays = true;
    flow.stream.Connect(0);
    RunUntil(SECOND);
    const uint64_t window = hosts.client.Paths()[0]->GetSender().Congestion().Window();
    flow.stream.Write(SECOND, 5'000);
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0), 5'000, "all on the first one");
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 1), 0, "none on the other");
    flow.client.Offer(2 * SECOND, 4 * window);
    RunUntil(4 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 5'000 + 4 * window, "all arrives");
    NS_TEST_EXPECT_MSG_GT(Carried(hosts, 1), window / 4, "a good part over the slower path");
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0) + Carried(hosts, 1), flow.server.read, "once");
}

TEST_CASE(SimulationTestCase,
          RoundRobinTest,
          "In turn, packets of the slower path hold up the others, which is counted")
{
    QuicPathHosts hosts(MultipathScheduler::ROUND_ROBIN);
    QuicFlow flow(hosts, 0, 0);
    flow.client.stays = true;
    flow.stream.Connect(0);
    RunUntil(SECOND);
    hosts.server.StartMeasuring(SECOND);
    for (int i = 0; i < 4; ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(flow.stream.Write(SECOND, 1'200), 1'200, "a packet's worth");
    }
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 4'800, "all arrives");
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0), 2'400, "one half");
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 1), 2'400, "and the other");
    // A packet of the faster path that follows one of the slower path waits 40 ms for it.
    const ReorderingCounters counters = hosts.server.Reordering(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(counters.arrived, 4'800, "counted once");
    NS_TEST_EXPECT_MSG_EQ(counters.duplicates, 0, "none twice");
    const bool areSome = counters.reordered == 1'200 || counters.reordered == 2'400;
    NS_TEST_EXPECT_MSG_EQ(areSome, true, "one, or both if the slower path was first");
    NS_TEST_EXPECT_MSG_EQ(counters.longest, 40 * MS, "the difference of both delays");
    NS_TEST_EXPECT_MSG_EQ(static_cast<uint64_t>(counters.waited),
                          counters.reordered * 40 * MS,
                          "each byte that came early waits so long");
}

TEST_CASE(SimulationTestCase,
          TwoLinksTest,
          "Two equal links carry twice what one does, and unequal ones their sum")
{
    for (double second : {1.0, 0.5})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        constexpr double RATE = 1.25e6; // bytes/s
        QuicPathHosts hosts;
        hosts.up.delays = QuicLink(RATE, 10 * MS, 30 * MS);
        hosts.up2.delays = QuicLink(second * RATE, 10 * MS, 30 * MS);
        hosts.down2.delays = hosts.down.delays;
        QuicFlow flow(hosts, 100'000'000, 0);
        flow.stream.Connect(0);
        RunUntil(5 * SECOND);
        const uint64_t before = flow.server.read;
        RunUntil(25 * SECOND);
        // 1255 bytes at most of a packet's 1308.
        const double most = RATE * (1 + second) * 20 * 1255 / 1308;
        const auto read = static_cast<double>(flow.server.read - before);
        NS_TEST_EXPECT_MSG_LT(read, most, "no more than the links carry");
        NS_TEST_EXPECT_MSG_GT(read, 0.95 * most, "and nearly that");
    }
}

TEST_CASE(SimulationTestCase,
          CutPathTest,
          "What a path held that is cut goes over the other one, which then carries all")
{
    QuicPathHosts hosts;
    QuicLink first(1.25e6, 10 * MS, 30 * MS);
    hosts.up.delays = [&](const QuicDeparture& it) { return first(it); };
    hosts.down.delays = [&](const QuicDeparture&) {
        return first.isCut ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    hosts.up2.delays = QuicLink(0.5e6, 30 * MS, 50 * MS);
    QuicFlow flow(hosts, 100'000'000, 0);
    flow.stream.Connect(0);
    RunUntil(5 * SECOND);
    first.isCut = true;
    const uint64_t atCut = flow.server.read;
    RunUntil(6 * SECOND);
    NS_TEST_EXPECT_MSG_GT(flow.server.read, atCut + 300'000, "it goes on within a second");
    NS_TEST_EXPECT_MSG_GT(hosts.client.Reinjected(), 10'000, "with what was in flight");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.Paths()[0]->Works(), false, "known to fail");
    const uint64_t overFirst = Carried(hosts, 0);
    const uint64_t later = flow.server.read;
    RunUntil(8 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0), overFirst, "nothing on it");
    NS_TEST_EXPECT_MSG_GT(flow.server.read, later + 900'000, "the rate of the other one");
    first.isCut = false;
    RunUntil(20 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.client.Paths()[0]->Works(), true, "a probe came through");
    NS_TEST_EXPECT_MSG_GT(Carried(hosts, 0), overFirst + 2'000'000, "and it is used again");
}

TEST_CASE(SimulationTestCase,
          BackupPathTest,
          "A backup carries nothing while another path works, first or second")
{
    for (bool isFirst : {false, true})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        QuicPathHosts hosts(MultipathScheduler::LOWEST_RTT, !isFirst, MakeQuicOfPaths(), isFirst);
        bool isCut = false;
        auto cuts = [&](const QuicDeparture&) {
            return isCut ? std::vector<int64_t>{} : std::vector<int64_t>{20 * MS};
        };
        const size_t backup = isFirst ? 0 : 1;
        (isFirst ? hosts.up2 : hosts.up).delays = cuts;
        (isFirst ? hosts.down2 : hosts.down).delays = cuts;
        QuicFlow flow(hosts, 0, 0);
        flow.client.stays = true;
        flow.stream.Connect(0);
        RunUntil(SECOND);
        const uint64_t before = Carried(hosts, backup);
        flow.client.Offer(SECOND, 2'000'000);
        RunUntil(4 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 2'000'000, "all arrived");
        NS_TEST_EXPECT_MSG_EQ(Carried(hosts, backup), before, "not over the backup");
        isCut = true;
        flow.client.Offer(4 * SECOND, 2'000'000);
        RunUntil(9 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 4'000'000, "all arrived once more");
        NS_TEST_EXPECT_MSG_GT(Carried(hosts, backup), 1'900'000, "over the backup");
    }
}

TEST_CASE(SimulationTestCase,
          BlestPathTest,
          "BLEST lets the slower path wait where the receiver's window has no room for it")
{
    std::vector<uint64_t> carried;
    for (auto scheduler : {MultipathScheduler::LOWEST_RTT, MultipathScheduler::BLEST})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        QuicSpec spec = MakeQuicOfPaths();
        spec.connection = {100'000, 100'000, 0.25};
        spec.stream = {100'000, 100'000, 0.25};
        QuicPathHosts hosts(scheduler, false, spec);
        QuicFlow flow(hosts, 20'000'000, 0);
        flow.stream.Connect(0);
        RunUntil(10 * SECOND);
        carried.push_back(Carried(hosts, 1));
        NS_TEST_EXPECT_MSG_GT(flow.server.read, 1'000'000, "it goes on");
    }
    NS_TEST_EXPECT_MSG_GT(carried[0], 100'000, "lowest RTT uses what the first one leaves");
    NS_TEST_EXPECT_MSG_LT(carried[1], carried[0] / 2, "BLEST far less");
}

TEST_CASE(SimulationTestCase,
          RedundantPathTest,
          "Redundant sends all on both paths, so that what one loses waits for no other round trip")
{
    std::vector<int64_t> longest;
    for (auto scheduler : {MultipathScheduler::LOWEST_RTT, MultipathScheduler::REDUNDANT})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        QuicPathHosts hosts(scheduler);
        hosts.up2.delays = hosts.down2.delays = hosts.down.delays;
        QuicFlow flow(hosts, 0, 0);
        flow.client.stays = true;
        flow.stream.Connect(0);
        RunUntil(SECOND);
        hosts.server.StartMeasuring(SECOND);
        const uint64_t first = hosts.up.sent.size() + 10;
        hosts.up.delays = [&](const QuicDeparture&) {
            return hosts.up.sent.size() == first ? std::vector<int64_t>{}
                                                 : std::vector<int64_t>{10 * MS};
        };
        flow.client.Offer(SECOND, 30'000);
        RunUntil(3 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 30'000, "all arrives");
        longest.push_back(hosts.server.Reordering(3 * SECOND).longest);
        const uint64_t twice = hosts.server.Reordering(3 * SECOND).duplicates;
        if (scheduler == MultipathScheduler::REDUNDANT)
        {
            NS_TEST_EXPECT_MSG_GT(twice, 25'000, "nearly all twice");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(twice, hosts.client.Reinjected(), "as often as sent");
            NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0) + Carried(hosts, 1), 30'000 + twice, "in all");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(twice, 0, "once");
        }
    }
    NS_TEST_EXPECT_MSG_GT(longest[0], 10 * MS, "a loss is repaired after a round trip");
    NS_TEST_EXPECT_MSG_LT(longest[1], 5 * MS, "the other path has it");
}

/// Whatever two paths lose, double or let overtake, all bytes arrive once.
class PathConservationTest final : public SimulationTestCase
{
  public:
    PathConservationTest(double loss, bool reorders, MultipathScheduler scheduler)
        : SimulationTestCase("All bytes arrive once over two paths"),
          m_loss(loss),
          m_reorders(reorders),
          m_scheduler(scheduler)
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(4);
        std::uniform_real_distribution<> uniform;
        auto delays = [&](int64_t least) {
            return [&, least](const QuicDeparture&) {
                std::vector<int64_t> times;
                for (int copies = m_reorders && uniform(random) < 0.05 ? 2 : 1; copies > 0;
                     --copies)
                {
                    if (uniform(random) >= m_loss)
                    {
                        const double late = m_reorders ? 15 * uniform(random) : 0;
                        times.push_back(least + static_cast<int64_t>(late * MS));
                    }
                }
                return times;
            };
        };
        QuicSpec spec = MakeQuicOfPaths();
        spec.packets.most = 1452;
        QuicPathHosts hosts(m_scheduler, false, spec);
        hosts.up.delays = hosts.down.delays = delays(10 * MS);
        hosts.up2.delays = hosts.down2.delays = delays(35 * MS);
        std::deque<QuicFlow> flows;
        for (uint64_t i = 0; i < 5; ++i)
        {
            flows.emplace_back(hosts, 300'000 + i, 200'000 + i);
            flows.back().stream.Connect(0);
        }
        RunUntil(300 * SECOND);
        uint64_t up = 0;
        for (uint64_t i = 0; i < flows.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(flows[i].server.read, 300'000 + i, "up, " << i);
            NS_TEST_EXPECT_MSG_EQ(flows[i].client.read, 200'000 + i, "down, " << i);
            NS_TEST_EXPECT_MSG_EQ(flows[i].stream.IsAtEof(), true, "the end, " << i);
            up += 300'000 + i;
        }
        NS_TEST_EXPECT_MSG_GT(hosts.client.FinishedTime(), 0, "the client knows it");
        NS_TEST_EXPECT_MSG_GT(hosts.server.FinishedTime(), 0, "the server knows it");
        const ReorderingCounters counters = hosts.server.Reordering(300 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(counters.arrived, up, "each byte counts once");
        NS_TEST_EXPECT_MSG_EQ(Carried(hosts, 0) + Carried(hosts, 1),
                              up + counters.duplicates,
                              "what came is new or a copy");
        for (const QuicConnection* end : {&hosts.client, &hosts.server})
        {
            for (const QuicPath* path : end->Paths())
            {
                NS_TEST_EXPECT_MSG_EQ(path->GetSender().History().InFlight(), 0, "nothing is left");
                NS_TEST_EXPECT_MSG_EQ(path->GetSender().BytesInFlight(), 0, "nothing is left");
                if (m_loss == 0 && !m_reorders)
                {
                    NS_TEST_EXPECT_MSG_EQ(path->GetSender().Counters().retransmits, 0, "once");
                }
            }
        }
    }

    const double m_loss;
    const bool m_reorders;
    const MultipathScheduler m_scheduler;
};

ADD_CASES
{
    for (auto scheduler : {MultipathScheduler::LOWEST_RTT,
                           MultipathScheduler::ROUND_ROBIN,
                           MultipathScheduler::REDUNDANT,
                           MultipathScheduler::BLEST})
    {
        for (bool reorders : {false, true})
        {
            for (double loss : {0.0, 0.05, 0.2})
            {
                AddCase(new PathConservationTest(loss, reorders, scheduler));
            }
        }
    }
}

} // namespace
