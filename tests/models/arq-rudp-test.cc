/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks RUDP: scripts whose outcome follows from FinalSpeed's source, and what holds whatever is
 * lost.
 */
#include "arq/rudp-endpoint.h"
#include "event/random-stream.h"
#include "simulation-test-case.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;
using enum RudpMessage;

constexpr uint32_t HEADER = 52;
constexpr uint32_t ACK_HEADER = 79;
constexpr double RATE = 1e6; // bytes/s
constexpr double FIRST_RATE = 0.5e6;

/// FinalSpeed's, at a rate of 1 MB/s.
RudpSpec
MakeRudp()
{
    RudpSpec spec;
    spec.packet = 1000;
    spec.header = HEADER;
    spec.window = 5120;
    spec.doubled = 6;
    spec.closeBytes = 44;
    spec.ackInterval = 5 * MS;
    spec.acks = 300;
    spec.ackHeader = ACK_HEADER;
    spec.ackBytes = 4;
    spec.rate = {RATE, RATE};
    spec.firstRate = {0, FIRST_RATE};
    spec.burst = 10'240;
    spec.resend = {0.6, 100 * MS, 10};
    spec.ping = {48, 44, SECOND, 8 * SECOND, 250 * MS};
    spec.wakeDelay = 100 * US;
    return spec;
}

/// Writes, and reads at once if it is to.
class Program final : public SocketUser
{
  public:
    /// \param left bytes to write
    Program(RudpEndpoint& socket, uint64_t left, bool reads = true)
        : m_socket(socket),
          m_left(left),
          m_reads(reads)
    {
        socket.SetUser(this);
    }

    void OnConnected(int64_t now) override
    {
        OnWritable(now);
    }

    void OnReadable(int64_t now) override
    {
        if (m_reads)
        {
            Read(now, m_socket.Readable());
        }
    }

    void OnWritable(int64_t now) override
    {
        while (m_left > 0)
        {
            uint64_t bytes = m_socket.Write(now, std::min<uint64_t>(m_left, 2500));
            if (bytes == 0)
            {
                return;
            }
            m_left -= bytes;
        }
    }

    void Read(int64_t now, uint64_t bytes)
    {
        m_socket.Read(now, bytes);
        m_read += bytes;
    }

    uint64_t Read() const
    {
        return m_read;
    }

  private:
    RudpEndpoint& m_socket;
    uint64_t m_left;
    const bool m_reads;
    uint64_t m_read{0};
};

/// A datagram that left.
struct Sent
{
    int64_t time;
    RudpMessage kind;
    uint32_t number;
    uint32_t bytes;
    PacketSink* sink;
};

/// What an end sends: kept, and carried to the other one after a delay, unless it is lost.
class Way final : public PacketDevice
{
  public:
    /// Whether a datagram is lost.
    std::function<bool(const Sent&)> isLost = [](const Sent&) { return false; };
    int64_t delay{10 * MS};
    std::vector<Sent> sent;

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* /* extras */) override
    {
        sent.push_back(
            {now, static_cast<RudpMessage>(packet.length), packet.segment, ipBytes, packet.sink});
        if (!isLost(sent.back()))
        {
            ns3::Simulator::Schedule(ns3::NanoSeconds(delay), [packet] {
                packet.sink->Receive(ns3::Simulator::Now().GetNanoSeconds(), packet, nullptr);
            });
        }
    }

    std::vector<Sent> Of(RudpMessage kind) const
    {
        std::vector<Sent> found;
        std::copy_if(sent.begin(), sent.end(), std::back_inserter(found), [=](const Sent& it) {
            return it.kind == kind;
        });
        return found;
    }
};

const auto ALL_LOST = [](const Sent&) { return true; };

/// How late an end wakes.
ns3::RngStream
Draws(uint32_t end)
{
    return MakeRandomStream(1, RandomComponent::ARQ_CLOCK, end);
}

/// Two hosts, and connections between them.
struct Hosts
{
    explicit Hosts(const RudpSpec& its)
        : spec(its),
          client(its, End::CLIENT, Channel(up), {0, 500 * MS, 2 * MS}, Draws(0)),
          server(its, End::SERVER, Channel(down), {300 * US, 700 * MS, 3 * MS}, Draws(1))
    {
        RudpSession::Join(client, server);
    }

    struct Connection
    {
        explicit Connection(Hosts& hosts)
            : client(hosts.spec, hosts.client, Channel(hosts.up)),
              server(hosts.spec, hosts.server, Channel(hosts.down))
        {
            RudpEndpoint::Join(client, server);
        }

        RudpEndpoint client;
        RudpEndpoint server;
    };

    const RudpSpec spec;
    Way up;
    Way down;
    RudpSession client;
    RudpSession server;
};

class ResendTest : public SimulationTestCase
{
  public:
    ResendTest()
        : SimulationTestCase("A packet without an ACK leaves twelve times, evenly, and no more")
    {
    }

  private:
    void DoRun() override
    {
        // Before a ping was answered one is taken to need 250 ms: 400 ms between transmissions.
        Hosts hosts(MakeRudp());
        hosts.up.isLost = hosts.down.isLost = ALL_LOST;
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 10);
        connection.client.Connect(0);
        RunUntil(4 * SECOND - 1);
        NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(), 0, "one is left");
        RunUntil(7 * SECOND);
        const auto data = hosts.up.Of(DATA);
        NS_TEST_ASSERT_MSG_EQ(data.size(), 12, "two at once, then ten");
        NS_TEST_EXPECT_MSG_EQ(data[0].bytes, HEADER + 10, "what was written");
        for (size_t i = 1; i < data.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(data[i].time, static_cast<int64_t>(i - 1) * 400 * MS, i);
        }
        NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(), 1, "never again");
        NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().Counters().resent, 10, "counted");
    }
};

class PingTimeTest : public SimulationTestCase
{
  public:
    PingTimeTest()
        : SimulationTestCase("It is sent again 1.6 pings later, or 100 ms, and not after an ACK")
    {
    }

  private:
    void DoRun() override
    {
        std::deque<Hosts> all; // whose timers go on
        std::deque<Hosts::Connection> connections;
        for (auto [rtt, wait] : {std::pair(20 * MS, 100 * MS), std::pair(206 * MS, 329 * MS)})
        {
            Hosts& hosts = all.emplace_back(MakeRudp());
            hosts.up.delay = hosts.down.delay = rtt / 2;
            const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
            Hosts::Connection& first = connections.emplace_back(hosts);
            Program idle(first.client, 0);
            first.client.Connect(begin);
            RunUntil(begin + 3 * SECOND);
            NS_TEST_EXPECT_MSG_EQ(hosts.client.PingTime(), rtt / MS, "ping");
            // The first transmission is lost, both copies; the ACK of the second ends it.
            int left = 2;
            hosts.up.isLost = [&](const Sent& it) { return it.kind == DATA && left-- > 0; };
            Hosts::Connection& second = connections.emplace_back(hosts);
            Program writer(second.client, 1000);
            Program reader(second.server, 0);
            second.client.Connect(begin + 3 * SECOND);
            RunUntil(begin + 6 * SECOND);
            const auto data = hosts.up.Of(DATA);
            NS_TEST_ASSERT_MSG_EQ(data.size(), 3, "twice, and once more");
            NS_TEST_EXPECT_MSG_EQ(data[2].time - data[0].time, wait, "wait");
            NS_TEST_EXPECT_MSG_EQ(reader.Read(), 1000, "it is there");
            NS_TEST_EXPECT_MSG_EQ(second.client.GetSender().BytesInFlight(), 0, "acknowledged");
            hosts.up.isLost = [](const Sent&) { return false; };
            for (RudpEndpoint* end : {&first.client, &second.client, &second.server})
            {
                end->SetUser(nullptr);
            }
            RunUntil(begin + 20 * SECOND);
        }
    }
};

class AckListTest : public SimulationTestCase
{
  public:
    AckListTest()
        : SimulationTestCase("Lists of 300 numbers at most leave twice, every 5 ms and a bit")
    {
    }

  private:
    void DoRun() override
    {
        RudpSpec spec = MakeRudp();
        spec.rate = {1e9, 1e9};
        Hosts hosts(spec);
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 700'000);
        Program reader(connection.server, 0, false);
        connection.client.Connect(0);
        RunUntil(16 * MS); // looks at 3, 8.1 and 13.2 ms; all have arrived since 10 ms
        const auto lists = hosts.down.Of(ACKS);
        NS_TEST_ASSERT_MSG_EQ(lists.size(), 6, "three, twice each");
        const std::vector<uint32_t> numbers{300, 300, 300, 300, 240, 240};
        for (size_t i = 0; i < lists.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(lists[i].time, 13'200 * US, "when");
            NS_TEST_EXPECT_MSG_EQ(lists[i].number, i / 2, "twice the same");
            NS_TEST_EXPECT_MSG_EQ(lists[i].bytes, ACK_HEADER + 4 * numbers[i], "size");
            const RudpLog::List* list = connection.server.Log().Find(lists[i].number);
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
        NS_TEST_EXPECT_MSG_EQ(more[7].bytes, ACK_HEADER, "no numbers");
        NS_TEST_EXPECT_MSG_EQ(connection.server.Log().Find(more[7].number)->read,
                              3,
                              "1000, 1000, 500");
    }
};

class CopyTest : public SimulationTestCase
{
  public:
    CopyTest()
        : SimulationTestCase("A copy is acknowledged again, once in a list, and read once")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts(MakeRudp());
        hosts.down.isLost = [](const Sent& it) { return it.kind == ACKS; };
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 1000);
        Program reader(connection.server, 0);
        connection.client.Connect(0);
        RunUntil(500 * MS);
        const auto lists = hosts.down.Of(ACKS);
        NS_TEST_ASSERT_MSG_EQ(lists.size(), 4, "of the first two copies, and of the next");
        for (const Sent& list : lists)
        {
            NS_TEST_EXPECT_MSG_EQ(list.bytes, ACK_HEADER + 4, "one number");
        }
        NS_TEST_EXPECT_MSG_EQ(reader.Read(), 1000, "once");
        RunUntil(7 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 12, "all that it may");
        NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(),
                              1,
                              "as nothing told that it was read");
    }
};

class PacingTest : public SimulationTestCase
{
  public:
    PacingTest()
        : SimulationTestCase("Data are paced, also those sent again, but not second copies")
    {
    }

  private:
    /// Data of what left, but second copies: times and sums.
    static std::vector<std::pair<int64_t, uint64_t>> Sums(const std::vector<Sent>& data)
    {
        std::vector<std::pair<int64_t, uint64_t>> sums;
        uint64_t sum = 0;
        const Sent* before = nullptr;
        for (const Sent& it : data)
        {
            bool isCopy = before && before->number == it.number && before->time == it.time &&
                          before->sink == it.sink;
            sum += isCopy ? 0 : it.bytes - HEADER;
            sums.emplace_back(it.time, sum);
            before = &it;
        }
        return sums;
    }

    void DoRun() override
    {
        Hosts hosts(MakeRudp());
        uint32_t count = 0;
        hosts.up.isLost = [&](const Sent& it) { return it.kind == DATA && ++count % 10 == 0; };
        Hosts::Connection first(hosts);
        Hosts::Connection second(hosts);
        Program writers[]{{first.client, 400'000}, {second.client, 400'000}};
        Program readers[]{{first.server, 0}, {second.server, 400'000}};
        first.client.Connect(0);
        second.client.Connect(0);
        RunUntil(5 * SECOND);
        const auto data = hosts.up.Of(DATA);
        // Eleven packets, and 11 ms: two writers and what is sent again share that.
        uint64_t whole = 0;
        for (auto [time, sum] : Sums(data))
        {
            NS_TEST_ASSERT_MSG_LT_OR_EQ(sum, 1.001e-3 * time + 11'000, "the rate, at " << time);
            whole = sum;
        }
        const uint64_t resent = first.client.GetSender().Counters().resent +
                                second.client.GetSender().Counters().resent;
        NS_TEST_EXPECT_MSG_GT(resent, 60, "a tenth of 800 and more");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(whole, 800'000 + 500 * resent, "all of it counts");
        for (const Program& reader : readers)
        {
            NS_TEST_EXPECT_MSG_EQ(reader.Read(), 400'000, "all is there");
        }
        // Writers take turns: at any time neither is far ahead.
        const auto early = std::count_if(data.begin(), data.end(), [&](const Sent& it) {
            return it.time < 200 * MS && it.sink == static_cast<PacketSink*>(&first.server);
        });
        NS_TEST_EXPECT_MSG_GT(early, 90, "half of 240");
        NS_TEST_EXPECT_MSG_LT(early, 150, "half of 240");

        // The server does not know its rate before the client's first ping, at 510 ms.
        const auto sums = Sums(hosts.down.Of(DATA));
        auto until = [&](int64_t time) {
            uint64_t sum = 0;
            for (auto [at, bytes] : sums)
            {
                sum = at <= time ? bytes : sum;
            }
            return static_cast<double>(sum);
        };
        NS_TEST_EXPECT_MSG_EQ_TOL(until(500 * MS), 0.5 * FIRST_RATE, 20'000, "at first");
        NS_TEST_EXPECT_MSG_EQ((until(600 * MS) - until(500 * MS) > 80'000), true, "then");
    }
};

class WriteTest : public SimulationTestCase
{
  public:
    WriteTest()
        : SimulationTestCase("A write is cut into thousands, which later writes do not fill up")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts(MakeRudp());
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 5001);
        connection.client.Connect(0);
        RunUntil(20 * MS);
        std::vector<uint32_t> lengths;
        uint32_t next = 0;
        for (const Sent& it : hosts.up.Of(DATA))
        {
            if (it.number == next)
            {
                lengths.push_back(it.bytes - HEADER);
                ++next;
            }
        }
        const std::vector<uint32_t> expected{1000, 1000, 500, 1000, 1000, 500, 1};
        NS_TEST_EXPECT_MSG_EQ((lengths == expected), true, "writes of 2500, 2500 and 1");
        NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 7 + 6, "the first six twice");
    }
};

class WindowTest : public SimulationTestCase
{
  public:
    WindowTest()
        : SimulationTestCase("The window moves with the reader alone")
    {
    }

  private:
    void DoRun() override
    {
        RudpSpec spec = MakeRudp();
        spec.window = 8;
        spec.doubled = 0;
        Hosts hosts(spec);
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 25'000);
        Program reader(connection.server, 0, false);
        connection.client.Connect(0);
        RunUntil(3 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 8, "all acknowledged, none read");
        NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().BytesInFlight(), 0, "acknowledged");
        At(3 * SECOND, [&] { reader.Read(3 * SECOND, 1000); });
        RunUntil(4 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 9, "one was read");
        NS_TEST_EXPECT_MSG_EQ((connection.client.Limits().Get() == SendLimit::RECEIVE_WINDOW),
                              true,
                              "limit");
    }
};

class PingTest : public SimulationTestCase
{
  public:
    PingTest()
        : SimulationTestCase("A ping each one or two seconds; 8 s without an answer close all")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts(MakeRudp());
        Hosts::Connection connection(hosts);
        Program writer(connection.client, 1000);
        Program reader(connection.server, 0);
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
        hosts.down.isLost = [](const Sent& it) { return it.kind == REPLY; };
        for (const Sent& it : hosts.down.Of(REPLY))
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
        hosts.down.isLost = [](const Sent&) { return false; };
        Hosts::Connection later(hosts);
        Program second(later.client, 5000);
        Program sink(later.server, 0);
        later.client.Connect(140 * SECOND);
        RunUntil(160 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(sink.Read(), 5000, "it carries");
        NS_TEST_EXPECT_MSG_EQ(later.client.IsOpen(), true, "and stays");
    }
};

class CloseTest : public SimulationTestCase
{
  public:
    CloseTest()
        : SimulationTestCase("The end of a stream is told twice, and lost where data are missing")
    {
    }

  private:
    void DoRun() override
    {
        std::deque<Hosts> all; // whose timers go on
        std::deque<Hosts::Connection> connections;
        for (bool isMissing : {false, true})
        {
            Hosts& hosts = all.emplace_back(MakeRudp());
            int left = isMissing ? 1 : 0;
            hosts.up.isLost = [&](const Sent& it) { return it.number == 8 && left-- > 0; };
            Hosts::Connection& connection = connections.emplace_back(hosts);
            Program writer(connection.client, 20'000);
            Program reader(connection.server, 0);
            const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
            connection.client.Connect(begin);
            At(begin + 100 * MS, [&] { connection.client.Close(begin + 100 * MS); });
            RunUntil(begin + 3 * SECOND);
            const auto closes = hosts.up.Of(CLOSE);
            NS_TEST_ASSERT_MSG_EQ(closes.size(), 2, "twice");
            NS_TEST_EXPECT_MSG_EQ(closes[0].number, 24, "after all of 8 writes of 3 packets");
            NS_TEST_EXPECT_MSG_EQ(reader.Read(), 20'000, "data");
            NS_TEST_EXPECT_MSG_EQ(connection.server.IsAtEof(), !isMissing, "the end");
            hosts.up.isLost = [](const Sent&) { return false; };
            connection.client.SetUser(nullptr);
            connection.server.SetUser(nullptr);
        }
    }
};

class ConservationTest : public SimulationTestCase
{
  public:
    ConservationTest(double loss, bool reorders)
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
            link.jitter = JitterSpec{2 * MS};
            link.jitter->reorders = true;
        }
        PathDirection forward(link, PathStreams::Forward(1));
        PathDirection reverse(link, PathStreams::Reverse(1));
        const RudpSpec spec = MakeRudp();
        RudpSession near(spec, End::CLIENT, Channel(forward, 20 * MS), {0, 0, MS}, Draws(0));
        RudpSession far(spec,
                        End::SERVER,
                        Channel(reverse, 20 * MS),
                        {0, 500 * MS, 2 * MS},
                        Draws(1));
        RudpSession::Join(near, far);
        RudpEndpoint client(spec, near, Channel(forward, 20 * MS));
        RudpEndpoint server(spec, far, Channel(reverse, 20 * MS));
        RudpEndpoint::Join(client, server);
        constexpr uint64_t UP = 2'345'678;
        constexpr uint64_t DOWN = 1'234'567;
        Program above(client, UP);
        Program below(server, DOWN);
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

class RudpTestSuite : public ns3::TestSuite
{
  public:
    RudpTestSuite()
        : TestSuite("tunnelcc-arq-rudp", Type::UNIT)
    {
        AddTestCase(new ResendTest, Duration::QUICK);
        AddTestCase(new PingTimeTest, Duration::QUICK);
        AddTestCase(new AckListTest, Duration::QUICK);
        AddTestCase(new CopyTest, Duration::QUICK);
        AddTestCase(new PacingTest, Duration::QUICK);
        AddTestCase(new WriteTest, Duration::QUICK);
        AddTestCase(new WindowTest, Duration::QUICK);
        AddTestCase(new PingTest, Duration::QUICK);
        AddTestCase(new CloseTest, Duration::QUICK);
        for (bool reorders : {false, true})
        {
            for (double loss : {0.0, 0.05, 0.2})
            {
                AddTestCase(new ConservationTest(loss, reorders), Duration::QUICK);
            }
        }
    }
};

const RudpTestSuite g_rudpTestSuite;

} // namespace
