/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: closed receive windows and their probes, windows that open slowly (RFC 9293),
 * and full send buffers. The RTT is 100 ms unless said otherwise, so that the client is connected
 * at 100 ms and the server at 150 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"

#include <algorithm>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-flow-control");

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

TEST_CASE(SimulationTestCase,
          PersistBackOffTest,
          "Window probes back off; the time-out of data sent later does not"
          " -> probes at 500, 1100, 2300, 4700 ms, data at 6050, 6350, 6650 ms "
          "(RFC 9293, 3.8.6.1; Linux tcp_ack_probe())")
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

TEST_CASE(SimulationTestCase,
          SillyWindowTest,
          "A slow reader's window opens by whole segments"
          " -> 1448 bytes in each segment (RFC 9293, 3.8.6.2.2)")
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

TEST_CASE(SimulationTestCase,
          SendBufferFullTest,
          "A full send buffer blocks the writer until a third is free"
          " -> writable once, at 200 ms (Linux sk_stream_write_space())")
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

ADD_CASES
{
    AddCase(new ZeroWindowTest(false));
    AddCase(new ZeroWindowTest(true));
}

} // namespace
