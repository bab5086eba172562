/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks MPTCP: reassembly, schedulers, backup, reinjection, and the connection's window. Two
 * paths have an RTT of 20 and 100 ms, windows of ten segments, and no other limit, unless said
 * otherwise.
 */
#include "multipath/mptcp-endpoint.h"
#include "support/exchange.h"
#include "support/test-case.h"
#include "transport/packet-size.h"

#include <array>
#include <deque>
#include <memory>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-multipath-mptcp");

constexpr uint64_t SEGMENT = 1'424;

/// Reads at once unless told not to.
class Reader final : public StreamUser
{
  public:
    explicit Reader(ByteStream& stream)
        : m_stream(stream)
    {
        stream.SetUser(this);
    }

    void OnOpen(int64_t) override
    {
        ++opened;
    }

    void OnReadable(int64_t now) override
    {
        if (reads)
        {
            total += m_stream.ReadAll(now);
            last = now;
        }
        isAtEof |= m_stream.IsAtEof();
    }

    void OnWritable(int64_t) override
    {
    }

    uint64_t total{0};
    int64_t last{-1};
    int opened{0};
    bool reads{true};
    bool isAtEof{false};

  private:
    ByteStream& m_stream;
};

/// A connection from a client to a server over two paths.
class TwoPaths
{
  public:
    explicit TwoPaths(MultipathScheduler scheduler = {},
                      bool isSecondBackup = false,
                      std::array<int64_t, 2> rtts = {20 * MS, 100 * MS},
                      uint64_t window = 1 << 20)
        : spec(Spec(window)),
          multipath{scheduler, {{0, false}, {1, isSecondBackup}}},
          client(TestLoop(), spec, multipath, true),
          server(TestLoop(), spec, multipath, false),
          writer(client),
          reader(server)
    {
        for (size_t path = 0; path < 2; ++path)
        {
            exchanges.emplace_back(rtts[path], spec, spec);
            exchanges[path].client.control.cwnd = 10;
            client.AddSubflow(exchanges[path].client.tcp,
                              up[path],
                              down[path],
                              multipath.paths[path].backup);
            server.AddSubflow(exchanges[path].server.tcp,
                              down[path],
                              up[path],
                              multipath.paths[path].backup);
        }
        client.Connect(0);
    }

    static TcpSpec Spec(uint64_t window)
    {
        TcpSpec spec = Exchange::Spec();
        spec.mss = SEGMENT;
        spec.headerBytes = 76;
        spec.mappingBytes = 12;
        spec.receiveWindow = window;
        return spec;
    }

    /// Bytes that the server read of a path's segments.
    uint64_t Carried(size_t path) const
    {
        return exchanges[path].server.tcp.GetReceiver().TotalRead();
    }

    const TcpSpec spec;
    const MultipathSpec multipath;
    std::array<MappingLog, 2> up;
    std::array<MappingLog, 2> down;
    std::deque<Exchange> exchanges;
    MptcpEndpoint client;
    MptcpEndpoint server;
    Reader writer;
    Reader reader;
};

TEST_CASE(SimulationTestCase,
          ReassemblyTest,
          "Bytes that come early wait, and each is delivered once"
          " -> duplicates are counted, the window's right edge stays (RFC 8684, section 3.3)")
{
    DataReceiver data(TwoPaths::Spec(100'000));
    data.OnEstablished(0);
    const uint32_t before = data.Advertise();
    data.OnData(0, 2'000, 3'000);
    data.OnData(1 * MS, 4'000, 5'000);
    NS_TEST_EXPECT_MSG_EQ(data.Readable(), 0, "a hole comes first");
    NS_TEST_EXPECT_MSG_EQ(data.OutOfOrder(), 2'000, "both wait");
    NS_TEST_EXPECT_MSG_EQ(data.Advertise(), before, "what waits does not move the edge back");
    data.OnData(2 * MS, 2'500, 4'500);
    NS_TEST_EXPECT_MSG_EQ(data.OutOfOrder(), 3'000, "the hole between them is filled");
    NS_TEST_EXPECT_MSG_EQ(data.Counters(2 * MS).duplicates, 1'000, "500 of each");
    data.OnData(10 * MS, 0, 2'000);
    NS_TEST_EXPECT_MSG_EQ(data.Next(), 5'000, "all are in order");
    NS_TEST_EXPECT_MSG_EQ(data.Readable(), 5'000, "all can be read");
    const ReorderingCounters& counters = data.Counters(10 * MS);
    NS_TEST_EXPECT_MSG_EQ(counters.arrived, 5'000, "each counts once");
    NS_TEST_EXPECT_MSG_EQ(counters.reordered, 3'000, "those behind the hole");
    NS_TEST_EXPECT_MSG_EQ(counters.longest, 10 * MS, "the first of them");
    // 1000 for 10 ms, 1000 for 9 ms, 1000 for 8 ms
    NS_TEST_EXPECT_MSG_EQ_TOL(counters.waited, 27'000.0 * MS, 1.0, "byte times time");
    data.OnData(11 * MS, 0, 5'000);
    NS_TEST_EXPECT_MSG_EQ(data.Counters(11 * MS).duplicates, 6'000, "all once more");
}

TEST_CASE(SimulationTestCase,
          JoinTest,
          "The second subflow joins after the first data and their ACK, and carries data "
          "once its own third ACK is answered -> its SYN leaves at 40 ms, data at 240 ms "
          "(RFC 8684, section 3.2; Linux mptcp_pm_fully_established())")
{
    TwoPaths paths;
    paths.client.Write(0, 1'000); // before it is open
    SimulationTestCase::RunUntil(239 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.writer.opened, 1, "the first path opens the connection");
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 1'000, "what was written before goes there");
    const std::vector<Transmission>& second = paths.exchanges[1].toServer.log;
    NS_TEST_EXPECT_MSG_EQ(second.size(), 2, "SYN and the third ACK");
    NS_TEST_EXPECT_MSG_EQ(second.empty() ? 0 : second.front().time, 40 * MS, "MP_JOIN");
    paths.client.Write(239 * MS, 4 * SEGMENT);
    SimulationTestCase::RunUntil(245 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.exchanges[1].toServer.Data(), "", "the first path has all");
    paths.client.Write(245 * MS, 100 * SEGMENT);
    SimulationTestCase::RunUntil(400 * MS);
    const std::string data = paths.exchanges[1].toServer.Data();
    NS_TEST_EXPECT_MSG_EQ(data.substr(0, 5), "0@245", "it carries data");
    NS_TEST_EXPECT_MSG_EQ(paths.exchanges[0].toClient.log.back().packet.HasExtras(),
                          true,
                          "ACKs carry data ACKs");
}

TEST_CASE(
    SimulationTestCase,
    SendBufferTest,
    "A new buffer of 32,728 bytes needs room below the limit, 1,048,576 of the subflow and 4,096,"
    " and is then filled -> 33 buffers (Linux mptcp_sendmsg())")
{
    TwoPaths paths;
    SimulationTestCase::RunUntil(21 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.client.Write(21 * MS, 10'000'000), 33 * 32'728, "whole buffers");
    NS_TEST_EXPECT_MSG_EQ(paths.client.Write(21 * MS, 1'000), 0, "the last one is full");
}

TEST_CASE(SimulationTestCase,
          CutTest,
          "What a cut path held goes over the other one, in order"
          " -> all bytes within 3 s, the rest over the first path alone (Linux __mptcp_retrans(), "
          "stale_loss_cnt)")
{
    TwoPaths paths;
    SimulationTestCase::RunUntil(21 * MS);
    paths.client.Write(21 * MS, 200 * SEGMENT);
    SimulationTestCase::RunUntil(1'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 200 * SEGMENT, "all came over both paths");
    const uint64_t before = paths.Carried(1);
    paths.exchanges[1].toServer.LoseNext(PacketKind::DATA, 1'000'000);
    paths.client.Write(1'000 * MS, 200 * SEGMENT);
    SimulationTestCase::RunUntil(4'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(1), before, "nothing comes over the cut path");
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 400 * SEGMENT, "all came all the same");
    NS_TEST_EXPECT_MSG_GT(paths.client.Reinjected(), 0, "some a second time");
    paths.client.Write(4'000 * MS, 100 * SEGMENT);
    paths.client.Close(4'000 * MS);
    SimulationTestCase::RunUntil(9'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 500 * SEGMENT, "new data, too");
    NS_TEST_EXPECT_MSG_EQ(paths.reader.isAtEof, true, "and the end of the stream");
}

TEST_CASE(SimulationTestCase,
          BackupTest,
          "A backup carries nothing until the other path fails, and then all")
{
    TwoPaths paths({}, true);
    SimulationTestCase::RunUntil(21 * MS);
    paths.client.Write(21 * MS, 300 * SEGMENT);
    SimulationTestCase::RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 300 * SEGMENT, "all came");
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(1), 0, "over the first path alone");
    paths.exchanges[0].toServer.LoseNext(PacketKind::DATA, 1'000'000);
    paths.client.Write(2'000 * MS, 300 * SEGMENT);
    SimulationTestCase::RunUntil(8'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 600 * SEGMENT, "the backup carries what is left");
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(1), 300 * SEGMENT, "all of it");
}

TEST_CASE(SimulationTestCase, RoundRobinTest, "Round robin: two equal paths carry equal parts")
{
    TwoPaths paths(MultipathScheduler::ROUND_ROBIN, false, {50 * MS, 50 * MS});
    SimulationTestCase::RunUntil(51 * MS);
    paths.client.Write(51 * MS, SEGMENT);
    SimulationTestCase::RunUntil(1'000 * MS);
    paths.client.Write(1'000 * MS, 20 * SEGMENT);
    SimulationTestCase::RunUntil(1'030 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(0), 11 * SEGMENT, "ten of twenty, beside the first one");
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(1), 10 * SEGMENT, "ten of twenty");
}

TEST_CASE(SimulationTestCase,
          LowestRttTest,
          "Lowest RTT: the faster path's window is filled before the slower one has anything")
{
    TwoPaths paths(MultipathScheduler::LOWEST_RTT);
    SimulationTestCase::RunUntil(21 * MS);
    paths.client.Write(21 * MS, SEGMENT);
    SimulationTestCase::RunUntil(1'000 * MS);
    paths.client.Write(1'000 * MS, 12 * SEGMENT);
    SimulationTestCase::RunUntil(1'060 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(0), 11 * SEGMENT, "a whole window, beside the first one");
    NS_TEST_EXPECT_MSG_EQ(paths.Carried(1), 2 * SEGMENT, "the rest");
}

TEST_CASE(SimulationTestCase,
          RedundantTest,
          "Redundant: both paths carry the same bytes, and one may lose all of them")
{
    TwoPaths paths(MultipathScheduler::REDUNDANT, false, {50 * MS, 50 * MS});
    SimulationTestCase::RunUntil(51 * MS);
    paths.client.Write(51 * MS, SEGMENT);
    SimulationTestCase::RunUntil(1'000 * MS);
    paths.exchanges[0].toServer.LoseNext(PacketKind::DATA, 10);
    paths.client.Write(1'000 * MS, 10 * SEGMENT);
    SimulationTestCase::RunUntil(1'030 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 11 * SEGMENT, "after half a round trip");
    SimulationTestCase::RunUntil(4'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 11 * SEGMENT, "each byte once");
    NS_TEST_EXPECT_MSG_GT(paths.server.Data().Counters(4'000 * MS).duplicates,
                          9 * SEGMENT,
                          "the lost ones were repaired there as well");
}

TEST_CASE(SimulationTestCase,
          WindowTest,
          "The connection's window holds back both subflows, and opens when the reader goes on"
          " -> no more than the buffer, then all (Linux mptcp_set_rwin())")
{
    TwoPaths paths({}, false, {20 * MS, 100 * MS}, 60'000);
    paths.reader.reads = false;
    SimulationTestCase::RunUntil(21 * MS);
    paths.client.Write(21 * MS, 100 * SEGMENT);
    SimulationTestCase::RunUntil(3'000 * MS);
    NS_TEST_EXPECT_MSG_LT(paths.server.Data().Readable(), 60'000 + 1, "the buffer is full");
    NS_TEST_EXPECT_MSG_GT(paths.server.Data().Readable(), 50'000, "nearly");
    paths.reader.reads = true;
    paths.reader.OnReadable(3'000 * MS);
    SimulationTestCase::RunUntil(6'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(paths.reader.total, 100 * SEGMENT, "all");
}

TEST_CASE(SimulationTestCase,
          SackRoomTest,
          "Beside a data ACK, an ACK has room for one SACK block, and has 64 bytes without it"
          " (RFC 8684, section 3.3; 40 bytes of options, 12 of timestamps, 12 of DSS)")
{
    const TcpSpec spec = TwoPaths::Spec(100'000);
    NS_TEST_EXPECT_MSG_EQ(spec.MaxSackBlocks(), 1, "one");
    NS_TEST_EXPECT_MSG_EQ(AckIpBytes(0, spec), 64, "IP, TCP, timestamps, DSS");
    NS_TEST_EXPECT_MSG_EQ(Exchange::Spec().MaxSackBlocks(), 3, "TCP has three");
}

} // namespace
