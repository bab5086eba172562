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

TEST_CASE(SimulationTestCase,
          PacedMessagesTest,
          "A message is due once an interval, whatever the time asked for, and late ones follow at "
          "once")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.rate = 4e6; // a message of 8000 bits each 2 ms
    flow.dataStart = 10 * MS;
    flow.bytes = 4'500; // the fifth is not whole
    FakeStream socket;
    BulkSender sender(socket, flow, true, thread, 0);
    NS_TEST_EXPECT_MSG_EQ(sender.WritesMessages(), true, "it has a rate");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(0, SECOND), 0, "it has not begun");
    socket.room = 1'500;
    socket.Connect(0);
    RunUntil(10 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(socket.writes.size(), 0, "not before its data start");
    RunUntil(15 * MS);
    NS_TEST_EXPECT_MSG_EQ((socket.writes == std::vector<uint64_t>{1'000, 500}), true, "full");
    socket.Drain(10'000, 15 * MS);
    // The rest of that of 12 ms, and that of 14 ms, which was due meanwhile.
    const std::vector<uint64_t> late{1'000, 500, 500, 1'000};
    NS_TEST_EXPECT_MSG_EQ((socket.writes == late), true, "what is late follows at once");
    RunUntil(18 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(socket.writes.size(), 5, "that of 16 ms");
    NS_TEST_EXPECT_MSG_EQ(socket.isClosed, false, "the last is due at 18 ms");
    RunUntil(18 * MS);
    NS_TEST_EXPECT_MSG_EQ(socket.writes.back(), 500, "what is left of the bytes");
    NS_TEST_EXPECT_MSG_EQ(socket.isClosed, true, "and the end at once");
    // Due at 10, 12, 14 and 16 ms; whole ones count.
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(0, SECOND), 4, "all");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(0, 12 * MS - 1), 1, "that of 10 ms");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(0, 12 * MS), 2, "its own moment counts");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(12 * MS, 12 * MS), 1, "of both ends");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(12 * MS + 1, 14 * MS - 1), 0, "between two");
    NS_TEST_EXPECT_MSG_EQ(sender.MessagesDue(17 * MS, 10 * MS), 0, "nothing is due backwards");
    NS_TEST_EXPECT_MSG_EQ(sender.MessageDue(3), 16 * MS, "10 + 3 · 2");
}

TEST_CASE(SimulationTestCase,
          StoppedSenderTest,
          "At its stop a sender writes no more, not even what waited for room, and closes")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.stop = 30 * MS;
    FakeStream socket;
    socket.room = 1'200;
    BulkSender sender(socket, flow, true, thread, 0);
    NS_TEST_EXPECT_MSG_EQ(sender.WritesMessages(), false, "as fast as it can");
    socket.Connect(0);
    RunUntil(30 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(socket.isClosed, false, "not yet");
    RunUntil(30 * MS);
    NS_TEST_EXPECT_MSG_EQ(socket.isClosed, true, "closed");
    socket.Drain(10'000, 31 * MS);
    NS_TEST_EXPECT_MSG_EQ(socket.inFlight, 1'200, "no more than it had taken");

    // A server that nobody asked has nothing to close.
    FakeStream unasked;
    BulkSender server(unasked, flow, false, thread, 0);
    unasked.Connect(0);
    unasked.Drain(1, 0);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(unasked.writes.size(), 0, "it waits for a request");
    NS_TEST_EXPECT_MSG_EQ(unasked.isClosed, false, "for ever");

    // One that is asked before its data start waits for that.
    FlowSpec later = BulkFlow();
    later.dataStart = 2 * SECOND;
    FakeStreamPair asked;
    BulkSender waits(asked.server, later, false, thread, 0);
    asked.client.Write(SECOND, 1);
    asked.client.Deliver(asked.server, 1, SECOND);
    RunUntil(2 * SECOND - 1);
    NS_TEST_EXPECT_MSG_EQ(asked.server.inFlight, 0, "not yet");
    asked.server.room = 5'000;
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(asked.server.inFlight, 5'000, "then");
}

TEST_CASE(SimulationTestCase,
          PreambleTest,
          "A preamble that finds no room goes on when there is some, and data follow it")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.preamble = 100;
    flow.bytes = 1'000;
    FakeStreamPair wire;
    wire.client.room = 60;
    BulkSender sender(wire.client, flow, true, thread, 0);
    BulkReceiver receiver(wire.server, flow, false, thread, 0);
    wire.client.Connect(0);
    RunUntil(MS);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == std::vector<uint64_t>{60}), true, "a part");
    wire.client.Drain(30, MS);
    RunUntil(2 * MS);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == std::vector<uint64_t>{60, 30}), true, "more");
    wire.client.Drain(2'000, 2 * MS);
    RunUntil(3 * MS);
    const std::vector<uint64_t> all{60, 30, 10, 1'000};
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == all), true, "the rest, and the data");

    // The receiver of an upload has all once it has read preamble and data.
    wire.client.Deliver(wire.server, 1'099, 5 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.CompletionTime(), -1, "one byte is missing");
    wire.client.Deliver(wire.server, 1, 6 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.CompletionTime(), 6 * MS, "that byte");
    NS_TEST_EXPECT_MSG_EQ(receiver.FirstByteTime(), 5 * MS, "the first ones");

    // That of a download asks with what room it has.
    FakeStreamPair down;
    down.client.room = 40;
    BulkReceiver asks(down.client, flow, true, thread, 0);
    down.client.Connect(0);
    NS_TEST_EXPECT_MSG_EQ(down.client.inFlight, 40, "a part of the request");
    down.client.Drain(1'000);
    NS_TEST_EXPECT_MSG_EQ(down.client.inFlight, 100, "all of it");
    down.client.Drain(1'000);
    NS_TEST_EXPECT_MSG_EQ(down.client.inFlight, 100, "once");
    down.server.Write(0, 1'000);
    down.server.Deliver(down.client, 1'000, 7 * MS);
    NS_TEST_EXPECT_MSG_EQ(asks.CompletionTime(), 7 * MS, "no preamble comes back");
}

TEST_CASE(SimulationTestCase,
          EndTest,
          "A flow that was stopped is complete at the end of its stream, one that broke off never")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    auto completion = [&](const FlowSpec& flow, uint64_t bytes) {
        FakeStreamPair wire;
        BulkReceiver receiver(wire.server, flow, false, thread, 0);
        wire.client.Write(0, bytes);
        wire.client.Deliver(wire.server, bytes, 3 * MS);
        NS_TEST_EXPECT_MSG_EQ((receiver.CompletionTime() < 0 || bytes == 2'000), true, "open");
        wire.client.isClosed = true;
        wire.client.DeliverAll(wire.server);
        return receiver.CompletionTime();
    };
    FlowSpec stopped = BulkFlow();
    stopped.stop = MS;
    NS_TEST_EXPECT_MSG_EQ(completion(stopped, 700), 0, "the end, which DeliverAll() dates 0");
    FlowSpec finite = BulkFlow();
    finite.bytes = 2'000;
    NS_TEST_EXPECT_MSG_EQ(completion(finite, 1'999), -1, "it broke off");
    NS_TEST_EXPECT_MSG_EQ(completion(finite, 2'000), 3 * MS, "the last byte");
    finite.stop = MS;
    NS_TEST_EXPECT_MSG_EQ(completion(finite, 1'500), 0, "stopped before its bytes were sent");
    const FlowSpec endless = BulkFlow();
    NS_TEST_EXPECT_MSG_EQ(completion(endless, 700), -1, "without an end");
}

TEST_CASE(SimulationTestCase,
          TimedMessagesTest,
          "Messages are timed from when they are due, behind the preamble, since measuring began")
{
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    FlowSpec flow = BulkFlow();
    flow.preamble = 100;
    flow.rate = 8e6; // each millisecond
    FakeStreamPair wire;
    BulkSender sender(wire.client, flow, true, thread, 0);
    BulkReceiver receiver(wire.server, flow, false, thread, 0);
    NS_TEST_EXPECT_MSG_EQ((receiver.MessageLatency() == nullptr), true, "none is timed");
    receiver.TimeMessages(2 * MS, sender);
    wire.client.Connect(0);
    RunUntil(5 * MS);
    wire.client.Deliver(wire.server, 100 + 3'000 - 1, 7 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.MessageLatency()->Count(), 0, "those of 0 and 1 ms came before");
    wire.client.Deliver(wire.server, 1, 8 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.TakeLatencySample(), 6 * MS, "that of 2 ms");
    wire.client.Deliver(wire.server, 2'000, 10 * MS);
    NS_TEST_EXPECT_MSG_EQ(receiver.TakeLatencySample(), 6.5 * MS, "those of 3 and 4 ms");
    NS_TEST_EXPECT_MSG_EQ(receiver.MessageLatency()->Count(), 3, "in all");
    NS_TEST_EXPECT_MSG_EQ(receiver.MessagesDue(5 * MS), 4, "of 2, 3, 4 and 5 ms");

    FlowSpec fast = BulkFlow();
    FakeStream socket;
    BulkSender without(socket, fast, true, thread, 0);
    FakeStream other;
    BulkReceiver of(other, fast, false, thread, 0);
    of.TimeMessages(0, without);
    NS_TEST_EXPECT_MSG_EQ((of.MessageLatency() == nullptr), true, "it writes no messages");
}

TEST_CASE(ns3::TestCase,
          PlayoutTest,
          "A playout buffer counts from the least delay of the last 10 s")
{
    DatagramMeter meter(5 * MS);
    auto record = [&](uint32_t number, int64_t sent, int64_t delay) {
        meter.Record(sent + delay, number, sent);
        return meter.Late();
    };
    NS_TEST_EXPECT_MSG_EQ(meter.PlayDelay(), 0, "none came");
    NS_TEST_EXPECT_MSG_EQ(meter.Jitter(), 0, "none came");
    NS_TEST_EXPECT_MSG_EQ(record(0, 0, 20 * MS), 0, "the first is played after 25 ms");
    NS_TEST_EXPECT_MSG_EQ(record(1, SECOND, 25 * MS), 0, "at its moment it is not late");
    NS_TEST_EXPECT_MSG_EQ(record(2, 2 * SECOND, 25 * MS + 1), 1, "behind it, it is");
    NS_TEST_EXPECT_MSG_EQ(record(3, 3 * SECOND, 18 * MS), 1, "faster: played after 23 ms");
    NS_TEST_EXPECT_MSG_EQ(record(4, 12 * SECOND, 24 * MS), 2, "within 10 s of that");
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.PlayDelay(), (3 * 25 + 2 * 23) * MS / 5.0, 1, "the mean");
    // 10 s after the fast one, the least of later ones counts: 24 ms at 12 s.
    NS_TEST_EXPECT_MSG_EQ(record(5, 14 * SECOND, 29 * MS), 2, "29 ms are not late");
    NS_TEST_EXPECT_MSG_EQ(record(6, 15 * SECOND, 29 * MS + 1), 3, "more are");
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(100), 7, "0 to 6");
    NS_TEST_EXPECT_MSG_EQ(meter.Reordered(), 0, "in order");
}

TEST_CASE(ns3::TestCase,
          MeterWithoutPlayoutTest,
          "Without a playout buffer nothing is late; counting begins anew from a number on")
{
    DatagramMeter meter(0);
    meter.Record(10 * MS, 7, 0);
    meter.Record(40 * MS, 8, 10 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Late(), 0, "nothing is");
    NS_TEST_EXPECT_MSG_EQ(meter.PlayDelay(), 0, "nothing is played");
    // RFC 3550, 6.4.1: (20 − 0) / 16 after the second, nothing after the first.
    NS_TEST_EXPECT_MSG_EQ_TOL(meter.Jitter(), 20 * MS / 16.0 / 2, 1, "mean of 0 and 1.25 ms");
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(9), 9, "0 to 8");
    meter.Record(41 * MS, 8, 10 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Reordered(), 1, "the same number again");
    meter.CountFrom(9);
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(12), 3, "9 to 11 were sent");
    meter.Record(60 * MS, 8, 20 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 0, "of before");
    meter.Record(70 * MS, 9, 60 * MS);
    NS_TEST_EXPECT_MSG_EQ(meter.Received(), 1, "the first that counts");
    NS_TEST_EXPECT_MSG_EQ(meter.Expected(12), 1, "9");
    NS_TEST_EXPECT_MSG_EQ(meter.Jitter(), 0, "no change of delay yet");
    NS_TEST_EXPECT_MSG_EQ(meter.TakeSample(), 10 * MS, "its delay alone");
    NS_TEST_EXPECT_MSG_EQ(std::isnan(meter.TakeSample()), true, "none since");
}

TEST_CASE(SimulationTestCase,
          SocketTest,
          "A datagram carries 48 bits of when it was sent, and its payload counts where it arrives")
{
    Sockets sockets;

    struct Notes final : DatagramUser
    {
        void OnDatagram(int64_t, const Packet& packet) override
        {
            sentAt.push_back(SentAt(packet));
        }

        std::vector<int64_t> sentAt;
    } notes;

    sockets.server.SetReceiver(notes);
    const std::vector<int64_t> times{0, (1LL << 32) - 1, 1LL << 32, 78 * 3600 * SECOND};
    for (const int64_t time : times)
    {
        sockets.client.Send(0, 0, time, 128);
    }
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((notes.sentAt == times), true, "78 hours are less than 2^48 ns");
    NS_TEST_EXPECT_MSG_EQ(sockets.client.Datagrams(), 4, "sent");
    NS_TEST_EXPECT_MSG_EQ(sockets.client.WireBytes(), 4 * 128, "IP bytes");
    NS_TEST_EXPECT_MSG_EQ(sockets.server.PayloadBytes(), 4 * 100, "without 28 of UDP and IP");
}

/// Sends datagrams to nobody, and counts them.
struct Counted
{
    explicit Counted(const FlowSpec& flow)
        : meter(0),
          sender(TestLoop(),
                 flow,
                 sockets.client,
                 MakeRandomStream(1, RandomComponent::DATAGRAM_TIMES),
                 meter),
          receiver(*flow.datagrams, sockets.server, meter)
    {
    }

    Sockets sockets;
    DatagramMeter meter;
    DatagramSender sender;
    DatagramReceiver receiver;
};

TEST_CASE(SimulationTestCase,
          DrawnGapsTest,
          "Drawn gaps have the rate in the mean, and a coefficient of variation of 1")
{
    FlowSpec flow = DatagramFlow();
    flow.datagrams->drawsGaps = true;
    Counted counted(flow);
    // Counts of 1 s: 1000 in the mean, and of Poisson's variance.
    double sum = 0;
    double squares = 0;
    constexpr int SECONDS = 100;
    uint64_t before = 0;
    for (int i = 1; i <= SECONDS; ++i)
    {
        RunUntil(i * SECOND);
        const auto count = static_cast<double>(counted.sender.Sent() - before);
        before = counted.sender.Sent();
        sum += count;
        squares += count * count;
    }
    const double mean = sum / SECONDS;
    NS_TEST_EXPECT_MSG_EQ_TOL(mean, 1'000, 12, "four standard errors of 32 / 10");
    const double variance = squares / SECONDS - mean * mean;
    NS_TEST_EXPECT_MSG_EQ_TOL(variance, 1'000, 600, "as of Poisson: 4 · 1000 · √(2 / 100)");
}

TEST_CASE(SimulationTestCase,
          DrawnPeriodsTest,
          "Drawn periods of sending and silence have their means, and the rate within them")
{
    FlowSpec flow = DatagramFlow();
    DatagramSpec& spec = *flow.datagrams;
    spec.on = 20 * MS;
    spec.off = 60 * MS;
    spec.drawsPeriods = true;
    Counted counted(flow);
    uint32_t silences = 0; // of more than 1 ms, in whole ms
    uint32_t silent = 0;
    uint64_t before = 0;
    uint32_t none = 0;
    constexpr int64_t MILLISECONDS = 400'000;
    for (int64_t now = 1; now <= MILLISECONDS; ++now)
    {
        RunUntil(now * MS);
        const uint64_t sent = counted.sender.Sent() - before;
        before = counted.sender.Sent();
        NS_TEST_ASSERT_MSG_LT_OR_EQ(sent, 3, "one a ms, and one as a period begins");
        none = sent == 0 ? none + 1 : 0;
        silences += none == 2;
        silent += none > 0;
    }
    // A quarter of the time it sends, in 5000 periods, each of which varies by its mean.
    NS_TEST_EXPECT_MSG_EQ_TOL(before, 100'000U, 10'000U, "a quarter of 400,000");
    NS_TEST_EXPECT_MSG_EQ_TOL(silences, 4'800U, 400U, "about 5000 periods; few are shorter");
    NS_TEST_EXPECT_MSG_EQ_TOL(silent, 300'000U, 12'000U, "three quarters");
}

TEST_CASE(SimulationTestCase, NeverTest, "A time beyond the clock's range never comes")
{
    FlowSpec slow = DatagramFlow();
    slow.datagrams->rate = 1e-9; // 8000 bits take 8e12 s
    Counted rare(slow);
    FlowSpec silent = DatagramFlow();
    silent.datagrams->on = MS;
    silent.datagrams->off = NEVER / 2;
    Counted paused(silent);
    FlowSpec drawn = slow;
    drawn.datagrams->drawsGaps = true;
    Counted random(drawn);
    RunUntil(100 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(rare.sender.Sent(), 1, "the first alone");
    NS_TEST_EXPECT_MSG_EQ(paused.sender.Sent(), 1, "the first of a period of 1 ms");
    NS_TEST_EXPECT_MSG_EQ(random.sender.Sent(), 1, "the first alone");
}

TEST_CASE(SimulationTestCase,
          AttemptsTest,
          "Requests are sent again in order of their deadlines, and late answers count once")
{
    FlowSpec flow = DatagramFlow();
    flow.stop = 45 * MS;
    DatagramSpec& spec = *flow.datagrams;
    spec.rate = 800e3; // one each 10 ms: at 0, 10, 20, 30 and 40 ms
    spec.answer = 200;
    spec.timeout = 15 * MS; // answers take 20 ms
    spec.attempts = 2;
    Counted counted(flow);
    RunUntil(15 * MS - 1);
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Resent(), 0, "none is due");
    RunUntil(15 * MS);
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Resent(), 1, "that of 0");
    counted.sender.StartMeasuring();
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Resent(), 0, "what was before does not count");
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Next(), 5, "none from the stop on");
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Sent(), 3, "since measuring began");
    NS_TEST_EXPECT_MSG_EQ(counted.sender.Resent(), 4, "each of the others, once");
    NS_TEST_EXPECT_MSG_EQ(counted.sockets.client.Datagrams(), 10, "on the wire");
    NS_TEST_EXPECT_MSG_EQ(counted.sockets.server.Datagrams(), 10, "each is answered");
    NS_TEST_EXPECT_MSG_EQ(counted.meter.Received(), 3, "and counts once");
    NS_TEST_EXPECT_MSG_EQ(counted.meter.Delays().Mean(), 20 * MS, "the first answer");

    FlowSpec once = DatagramFlow();
    once.datagrams->rate = 8e3;
    once.datagrams->answer = 200; // without a time-out, none is sent again
    once.start = SECOND;
    Counted single(once);
    RunUntil(SECOND + 500 * MS);
    NS_TEST_EXPECT_MSG_EQ(single.sender.Resent(), 0, "no time-out");
    NS_TEST_EXPECT_MSG_EQ(single.meter.Received(), 1, "answered");

    // What a server sends unasked is no answer.
    FlowSpec plain = DatagramFlow();
    plain.datagrams->rate = 8e3;
    plain.start = SECOND + 500 * MS;
    Counted download(plain);
    download.sockets.server.Send(SECOND + 500 * MS, 0, SECOND + 500 * MS, 100);
    RunUntil(SECOND + 520 * MS);
    NS_TEST_EXPECT_MSG_EQ(download.sockets.client.PayloadBytes(), 72, "it came");
    NS_TEST_EXPECT_MSG_EQ(download.meter.Received(), 1, "the datagram that was sent alone");
}

} // namespace
