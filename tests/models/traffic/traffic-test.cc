/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks applications: bulk senders and receivers over a stream that the test controls, and
 * senders, receivers and meters of datagrams.
 */
#include "event/random-stream.h"
#include "host/cpu.h"
#include "path/path.h"
#include "support/fake-stream.h"
#include "support/simulation-test-case.h"
#include "support/test-case.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-sender.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-traffic");

/// A bulk flow of the client, in writes of 1000 bytes.
FlowSpec
BulkFlow()
{
    FlowSpec flow;
    flow.writeSize = 1'000;
    return flow;
}

TEST_CASE(SimulationTestCase,
          BulkSenderTest,
          "A bulk sender fills its socket, waits for room, and closes at its end")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.preamble = 37;
    flow.dataStart = 5 * MS;
    flow.bytes = 3'500;
    FakeStream socket;
    socket.room = 37 + 1'200;
    BulkSender sender(socket, flow, true, thread, 0);
    socket.Connect(0);
    RunUntil(4 * MS);
    NS_TEST_EXPECT_MSG_EQ((socket.writes == std::vector<uint64_t>{37}), true, "preamble first");
    RunUntil(6 * MS);
    const std::vector<uint64_t> first{37, 1'000, 200};
    NS_TEST_EXPECT_MSG_EQ((socket.writes == first), true, "then what has room");
    socket.Drain(UINT64_MAX / 2, 6 * MS);
    NS_TEST_EXPECT_MSG_EQ(socket.inFlight, 37 + 3'500, "the rest, and no more");
    NS_TEST_EXPECT_MSG_EQ(socket.writes.back(), 500, "the last write is shorter");
    NS_TEST_EXPECT_MSG_EQ(socket.isClosed, true, "closed");
}

TEST_CASE(SimulationTestCase,
          PacedSenderTest,
          "A sender with a rate writes messages when they are due, until it stops")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.rate = 8e6; // a message each millisecond
    flow.stop = 10 * MS + MS / 2;
    FakeStream socket;
    BulkSender sender(socket, flow, true, thread, 0);
    socket.Connect(0);
    for (int64_t now = 0; now < 15; ++now)
    {
        RunUntil(now * MS + MS / 4);
        const uint64_t due = std::min<uint64_t>(now + 1, 11);
        NS_TEST_EXPECT_MSG_EQ(socket.inFlight, 1'000 * due, "at " << now << " ms");
        NS_TEST_EXPECT_MSG_EQ(socket.isClosed, (now > 10), "closed at " << now << " ms");
    }
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(0, SECOND), 11, "none after the stop");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(2 * MS, 4 * MS), 3, "both ends included");
    NS_TEST_EXPECT_MSG_EQ(sender.MessageDue(7), 7 * MS, "when they are due");
}

TEST_CASE(SimulationTestCase, SlowWriterTest, "Writes and reads take the CPU time of their bytes")
{
    Cores cores(TestLoop(), 2, 0);
    Cpu cpu(cores, 1);
    CpuThread writing(cpu);
    CpuThread reading(cpu);
    FlowSpec flow = BulkFlow();
    flow.bytes = 10'000;
    FakeStreamPair wire;
    BulkSender sender(wire.client, flow, true, writing, 1'000); // 1 ms a write
    BulkReceiver receiver(wire.server, flow, false, reading, 2'000);
    wire.client.Connect(0);
    RunUntil(5 * MS + MS / 2);
    NS_TEST_EXPECT_MSG_EQ(wire.client.inFlight, 5'000, "five writes in 5.5 ms");
    RunUntil(20 * MS);
    NS_TEST_EXPECT_MSG_EQ(wire.client.inFlight, 10'000, "all of them");
    NS_TEST_EXPECT_MSG_EQ(cpu.Busy(20 * MS), 10 * MS, "counted");
    wire.client.Deliver(wire.server, 10'000, 20 * MS);
    RunUntil(20 * MS + 7 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Total(), 3'000, "three reads in 7 ms");
    NS_TEST_EXPECT_MSG_EQ(receiver.CompletionTime(), -1, "not all of them");
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(receiver.Total(), 10'000, "all bytes");
    NS_TEST_EXPECT_MSG_EQ(receiver.CompletionTime(), 40 * MS, "ten reads of 2 ms");

    FakeStreamPair fast;
    BulkSender quick(fast.client, flow, true, writing, 0);
    BulkReceiver half(fast.server, flow, false, reading, 0.5);
    fast.client.Connect(SECOND);
    RunUntil(SECOND);
    fast.client.Deliver(fast.server, 10'000, SECOND);
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(half.CompletionTime(), SECOND + 5'000, "half a nanosecond a byte");
}

TEST_CASE(SimulationTestCase,
          ReceiverTest,
          "A receiver of a download asks first, and times messages")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.sender = End::SERVER;
    flow.preamble = 100;
    flow.rate = 8e6;
    FakeStreamPair wire;
    BulkSender sender(wire.server, flow, false, thread, 0);
    BulkReceiver receiver(wire.client, flow, true, thread, 0);
    receiver.TimeMessages(0, sender);
    wire.server.Connect(0);
    NS_TEST_EXPECT_MSG_EQ(wire.server.inFlight, 0, "the server waits");
    wire.client.Connect(0);
    NS_TEST_EXPECT_MSG_EQ(wire.client.inFlight, 100, "for a request");
    wire.client.DeliverAll(wire.server);
    RunUntil(2 * MS + MS / 2);
    NS_TEST_EXPECT_MSG_EQ(wire.server.inFlight, 3'000, "messages of 0, 1 and 2 ms");
    wire.server.Deliver(wire.client, 1'500, 2 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.Total(), 1'500, "bytes");
    NS_TEST_EXPECT_MSG_EQ(receiver.FirstByteTime(), 2 * MS, "the first");
    wire.server.Deliver(wire.client, 1'500, 4 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.MessageLatency()->Count(), 3, "whole messages");
    NS_TEST_EXPECT_MSG_EQ(receiver.TakeLatencySample(), 7 * MS / 3.0, "2, 3 and 2 ms");
    NS_TEST_EXPECT_MSG_EQ(std::isnan(receiver.TakeLatencySample()), true, "none since");
    NS_TEST_EXPECT_MSG_EQ(receiver.CompletionTime(), -1, "a flow without end");
}

TEST_CASE(SimulationTestCase,
          MeterTest,
          "A meter counts loss, reordering, jitter and lateness as RTP does")
{
    DatagramMeter meter(5 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(4), 4, "all that were sent, if none arrived");

    // One each 10 ms: 1 is lost, 3 comes behind 4, and 5 takes 16 ms.
    struct
    {
        uint32_t number;
        int64_t delay;
    } const arrivals[] = {{0, 10 * MS}, {2, 12 * MS}, {4, 10 * MS}, {3, 21 * MS}, {5, 16 * MS}};

    for (const auto& it : arrivals)
    {
        const int64_t sent = it.number * 10 * MS;
        meter.Record(sent + it.delay, it.number, sent);
    }
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 5, "arrived");
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(9), 6, "up to the latest that arrived");
    NS_TEST_EXPECT_MSG_EQ(meter.Reordered(), 1, "behind a later one");
    NS_TEST_EXPECT_MSG_EQ(meter.Late(), 2, "more than 5 ms behind the fastest");
    NS_TEST_EXPECT_MSG_EQ(meter.FirstTime(), 10 * MS, "the first");
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.TakeSample(), 13.8 * MS, 1, "mean delay");
    // RFC 3550, 6.4.1: J += (|D| - J) / 16.
    double jitter = 0;
    double sum = 0;
    for (const double change : {2e6, 2e6, 11e6, 5e6})
    {
        jitter += (change - jitter) / 16;
        sum += jitter;
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.Jitter(), sum / 5, 1, "mean jitter");
    meter.CountFrom(6);
    meter.Record(80 * MS, 5, 50 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 0, "one of before");
    NS_TEST_EXPECT_MSG_EQ(meter.FirstTime(), 10 * MS, "the first of all stays");
}

/// Two sockets, 10 ms apart, of which the test may lose packets on the way to the server.
struct Sockets
{
    explicit Sockets(const LinkSpec& spec = {})
        : there(TestLoop(), spec, PathStreams::Forward(1)),
          back(TestLoop()),
          client(28),
          server(28)
    {
        DatagramSocket::Join(client, server);
        client.SetChannel(Channel(there, 10 * MS));
        server.SetChannel(Channel(back, 10 * MS));
    }

    PathDirection there;
    PathDirection back;
    DatagramSocket client;
    DatagramSocket server;
};

/// Datagrams of 1000 IP bytes, one each millisecond.
FlowSpec
DatagramFlow()
{
    FlowSpec flow;
    DatagramSpec& datagrams = flow.datagrams.emplace();
    datagrams.rate = 8e6;
    datagrams.last = 1'000;
    datagrams.header = 28;
    return flow;
}

class DatagramSenderTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// The sender's counts after 100 ms.
    uint64_t SentIn100Ms(const FlowSpec& flow)
    {
        Sockets sockets;
        DatagramMeter meter(0);
        DatagramSender sender(TestLoop(),
                              flow,
                              sockets.client,
                              MakeRandomStream(1, RandomComponent::DATAGRAM_TIMES),
                              meter);
        DatagramReceiver receiver(*flow.datagrams, sockets.server, meter);
        const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        RunUntil(begin + 100 * MS - 1);
        const uint64_t sent = sender.Sent();
        NS_TEST_EXPECT_MSG_EQ(sockets.client.Datagrams(), sent, "as the socket counts");
        RunUntil(begin + 2 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(meter.Received(), sender.Sent(), "each arrives");
        NS_TEST_EXPECT_MSG_EQ(meter.Delays().Mean(), 10 * MS, "after the delay");
        return sent;
    }

    void DoRun() override
    {
        FlowSpec flow = DatagramFlow();
        flow.start = 20 * MS;
        flow.stop = 120 * MS;
        NS_TEST_EXPECT_MSG_EQ(SentIn100Ms(flow), 80, "from its start on");
    }
};

ADD_CASE(DatagramSenderTest, "Datagrams leave at their rate, in periods, several at once");

TEST_CASE(SimulationTestCase,
          BurstTest,
          "A burst has several datagrams; silence follows a period of sending")
{
    FlowSpec flow = DatagramFlow();
    DatagramSpec& spec = *flow.datagrams;
    spec.packet = 1'000;
    spec.full = 2;
    spec.last = 500; // bursts of 2500 bytes, each 2.5 ms
    spec.on = 10 * MS;
    spec.off = 30 * MS;
    Sockets sockets;
    DatagramMeter meter(0);
    DatagramSender sender(TestLoop(),
                          flow,
                          sockets.client,
                          MakeRandomStream(1, RandomComponent::DATAGRAM_TIMES),
                          meter);
    DatagramReceiver receiver(spec, sockets.server, meter);
    RunUntil(9 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Sent(), 4 * 3, "at 0, 2.5, 5 and 7.5 ms");
    NS_TEST_EXPECT_MSG_EQ(sockets.client.WireBytes(), 4 * 2'500, "bytes");
    RunUntil(39 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Sent(), 4 * 3, "silence");
    RunUntil(49 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Sent(), 8 * 3, "the next period");
    sender.StartMeasuring();
    RunUntil(85 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Sent(), 3 * 3, "sent since measuring began");
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 0, "of these, none is there yet");
    RunUntil(95 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 2 * 3, "but later, those of 80 and 82.5 ms are");
}

TEST_CASE(SimulationTestCase,
          RequestTest,
          "A request without an answer is sent again, and its answer counts once")
{
    FlowSpec flow = DatagramFlow();
    DatagramSpec& spec = *flow.datagrams;
    spec.rate = 8e3; // one a second
    spec.answer = 200;
    spec.timeout = 50 * MS;
    spec.attempts = 3;
    LinkSpec link;
    link.outages = {{0, 60 * MS}, {900 * MS, 2 * SECOND}};
    Sockets sockets(link);
    DatagramMeter meter(0);
    DatagramSender sender(TestLoop(),
                          flow,
                          sockets.client,
                          MakeRandomStream(1, RandomComponent::DATAGRAM_TIMES),
                          meter);
    DatagramReceiver receiver(spec, sockets.server, meter);
    RunUntil(900 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Sent(), 1, "one request");
    NS_TEST_EXPECT_MSG_EQ(sender.Resent(), 2, "sent at 0 and 50, and at 100 ms");
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 1, "one answer");
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.Delays().Mean(), 120 * MS, 1, "since the first attempt");
    NS_TEST_EXPECT_MSG_EQ(sockets.server.WireBytes(), 200, "of this size");
    RunUntil(1'900 * MS);
    NS_TEST_EXPECT_MSG_EQ(sender.Resent(), 4, "three attempts at most");
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 1, "none answered");
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(sender.Next()), 1, "loss is not told before a later");
}

} // namespace
