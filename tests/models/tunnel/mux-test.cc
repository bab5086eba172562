/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks carriers that streams share against smux, HTTP/2 and SSH: frames on the wire, turns of the
 * writers, round trips before the first byte, windows and what happens when they are full; and
 * chains of relays.
 */
#include "support/relay-hops.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"
#include "tunnel/layer.h"

#include <numeric>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-mux");

uint32_t
Sum(const std::vector<uint32_t>& sizes)
{
    return std::accumulate(sizes.begin(), sizes.end(), uint32_t{0});
}

TEST_CASE(ns3::TestCase,
          MuxFramesTest,
          "Frames of relay+mws and packets of SSH have the sizes captured")
{
    const RelaySpec relay = MakeRelay(false);
    const uint32_t frame = MakeSmux().frames.header + COPY_BUFFER;
    const auto up = LayerStack(relay.sent.client.layers).Wrap(frame);
    NS_TEST_EXPECT_MSG_EQ(up.size(), 9, "eight full WebSocket frames and what is left");
    NS_TEST_EXPECT_MSG_EQ(up.back(), 14, "8 bytes, with a short header");
    NS_TEST_EXPECT_MSG_EQ(Sum(up), 8 * 4'104 + 14, "32 KiB up");
    NS_TEST_EXPECT_MSG_EQ(Sum(LayerStack(relay.sent.server.layers).Wrap(frame)),
                          32'780,
                          "32 KiB down");

    SshLayerSpec ssh{.block = 8, .overhead = 16}; // chacha20-poly1305@openssh.com
    NS_TEST_EXPECT_MSG_EQ(Sum(LayerStack({ssh}).Wrap(9 + COPY_BUFFER)), 32'804, "32 KiB");
    NS_TEST_EXPECT_MSG_EQ(Sum(LayerStack({ssh}).Wrap(9)), 36, "a window adjust");
    ssh.block = 16; // aes256-gcm@openssh.com
    NS_TEST_EXPECT_MSG_EQ(Sum(LayerStack({ssh}).Wrap(9 + COPY_BUFFER)), 32'804, "32 KiB");
}

/// Kinds of multiplexing under test.
struct Protocol
{
    const char* name;
    MuxSpec mux;
};

const Protocol SMUX_1{"smux 1", MakeSmux()};
const Protocol SMUX_2{"smux 2", MakeSmux(65'536)};
const Protocol WINDOWED{"as HTTP 2", MakeWindowedMux(100'000, 150'000)};
const Protocol CHANNELS{"as SSH", MakeSshMux()};

class MuxConservationTest : public SimulationTestCase
{
  public:
    MuxConservationTest(const Protocol& protocol, bool isDownload, uint32_t extraHops)
        : SimulationTestCase(std::string("Every byte arrives once and the end with it, ") +
                             protocol.name + (isDownload ? " down, " : " up, ") +
                             std::to_string(1 + extraHops) + " hops"),
          m_mux(protocol.mux),
          m_isDownload(isDownload),
          m_extraHops(extraHops)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(3, m_mux);
        if (m_isDownload)
        {
            MakeDownload(spec);
        }
        Forward(spec).loss = Reverse(spec).loss = 0.02;
        for (uint32_t hop = 0; hop < m_extraHops; ++hop)
        {
            AddHop(spec, 30 * MS);
        }
        for (uint32_t i = 0; i < 3; ++i)
        {
            spec.flows[i].bytes = 1'234'567 + i;
        }
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(200 * SECOND);
        for (uint32_t i = 0; i < 3; ++i)
        {
            const Flow& flow = world.Flows()[i];
            const uint64_t preamble = m_isDownload ? 0 : spec.flows[i].preamble;
            NS_TEST_EXPECT_MSG_EQ(flow.receiver->Total(), preamble + 1'234'567 + i, "bytes");
            NS_TEST_EXPECT_MSG_GT(flow.receiver->CompletionTime(), 0, "end of the stream");
            NS_TEST_EXPECT_MSG_EQ(flow.legs.size(), 3 + m_extraHops, "legs");
        }
        for (uint32_t hop = 0; hop <= m_extraHops; ++hop)
        {
            CheckCarriers(HopsOf(world)[hop].carriers);
        }
    }

    void CheckCarriers(std::deque<RelayBuilder::Carrier>& carriers)
    {
        NS_TEST_ASSERT_MSG_EQ(carriers.size(), 1, "all flows share one");
        const RelayBuilder::Carrier& carrier = carriers.front();
        const End sends = m_isDownload ? End::SERVER : End::CLIENT;
        const TcpEndpoint& sender = *carrier.leg->Tcp()[sends];
        const TcpEndpoint& receiver = *carrier.leg->Tcp()[Other(sends)];
        NS_TEST_EXPECT_MSG_GT(sender.GetSender().Counters().retransmits, 5, "there was loss");
        NS_TEST_EXPECT_MSG_EQ(sender.GetSender().Buffer().Written(),
                              receiver.GetReceiver().TotalRead(),
                              "what went into the carrier came out of it");
        NS_TEST_EXPECT_MSG_EQ(carrier.sessions.server->Unread(), 0, "nothing waits to be read");
        NS_TEST_EXPECT_MSG_EQ(carrier.sessions.client->Unread(), 0, "nothing waits to be read");
    }

    const MuxSpec m_mux;
    const bool m_isDownload;
    const uint32_t m_extraHops;
};

class MuxHandshakeTest : public SimulationTestCase
{
  public:
    MuxHandshakeTest(const Protocol& protocol, int64_t first, int64_t later)
        : SimulationTestCase(std::string("Only the first stream waits for the carrier, ") +
                             protocol.name),
          m_mux(protocol.mux),
          m_first(first),
          m_later(later)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(2, m_mux);
        Forward(spec).rate = Reverse(spec).rate = 0;
        spec.flows[1].start = SECOND;
        for (FlowSpec& flow : spec.flows)
        {
            flow.dataStart = 5 * SECOND; // the cookie alone
        }
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(2 * SECOND);
        Check(world, 0, m_first);
        Check(world, 1, SECOND + m_later);
    }

    void Check(World& world, uint32_t index, int64_t expected)
    {
        const int64_t firstByte = world.Flows()[index].receiver->FirstByteTime();
        NS_TEST_EXPECT_MSG_GT_OR_EQ(firstByte, expected, "no earlier");
        NS_TEST_EXPECT_MSG_LT(firstByte, expected + MS, "but for the loopbacks, no later");
    }

    const MuxSpec m_mux;
    const int64_t m_first;
    const int64_t m_later;
};

TEST_CASE(SimulationTestCase,
          MuxTurnsTest,
          "Streams that always have data to send take turns, frame by frame")
{
    ExperimentSpec spec = MakeMuxSpec(3);
    spec.tcp[0].sendBuffer = 250'000; // a late stream waits for what lies in it
    spec.flows[2].start = spec.flows[2].dataStart = 5 * SECOND;
    World world(TestLoop(), spec);
    world.Start();
    RunUntil(7 * SECOND);
    uint64_t before[3];
    for (uint32_t i = 0; i < 3; ++i)
    {
        before[i] = world.Flows()[i].receiver->Total();
    }
    RunUntil(20 * SECOND);
    const uint64_t share = world.Flows()[0].receiver->Total() - before[0];
    NS_TEST_EXPECT_MSG_GT(share, 100 * COPY_BUFFER, "a good number of frames");
    for (uint32_t i = 1; i < 3; ++i)
    {
        const uint64_t other = world.Flows()[i].receiver->Total() - before[i];
        NS_TEST_EXPECT_MSG_EQ_TOL(other, share, 2 * COPY_BUFFER, "late or not");
    }
}

class MuxEndTest : public SimulationTestCase
{
  public:
    explicit MuxEndTest(const Protocol& protocol)
        : SimulationTestCase(std::string("The end of a stream arrives, whatever it carried, ") +
                             protocol.name),
          m_mux(protocol.mux)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(2, m_mux);
        spec.flows[0].stop = SECOND;
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(20 * SECOND);
        NS_TEST_EXPECT_MSG_GT(world.Flows()[0].receiver->CompletionTime(), SECOND, "its end");
        NS_TEST_EXPECT_MSG_EQ(world.Flows()[1].receiver->CompletionTime(), -1, "goes on");
    }

    const MuxSpec m_mux;
};

class MuxBackPressureTest : public SimulationTestCase
{
  public:
    MuxBackPressureTest(const Protocol& protocol, bool blocksOthers)
        : SimulationTestCase(std::string("A target that never reads stops ") +
                             (blocksOthers ? "every stream, " : "its own stream alone, ") +
                             protocol.name),
          m_mux(protocol.mux),
          m_blocksOthers(blocksOthers)
    {
    }

  private:
    void DoRun() override
    {
        World world(TestLoop(), MakeMuxSpec(2, m_mux));
        world.Flows()[0].legs.back()->Tcp().server->SetUser(nullptr);
        world.Start();
        RunUntil(30 * SECOND);
        const SendBuffer& stuck = world.Flows()[0].legs.front()->Tcp().client->GetSender().Buffer();
        const uint64_t absorbed = stuck.Written();
        const uint64_t other = world.Flows()[1].receiver->Total();
        RunUntil(40 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(stuck.Written(), absorbed, "nothing more goes in");
        const uint64_t progress = world.Flows()[1].receiver->Total() - other;
        const uint64_t unread = HopsOf(world)[0].carriers.front().sessions.server->Unread();
        if (m_blocksOthers)
        {
            NS_TEST_EXPECT_MSG_EQ(progress, 0, "the other stream");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(unread, m_mux.sent.client.sessionBuffer, "it is full");
            NS_TEST_EXPECT_MSG_LT(unread,
                                  m_mux.sent.client.sessionBuffer + COPY_BUFFER,
                                  "and no more");
        }
        else
        {
            NS_TEST_EXPECT_MSG_GT(progress, 1'000'000, "the other stream");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(unread,
                                        m_mux.sent.client.streamWindow + COPY_BUFFER,
                                        "what the window allows, and what just came in");
        }
    }

    const MuxSpec m_mux;
    const bool m_blocksOthers;
};

TEST_CASE(SimulationTestCase,
          StreamWindowTest,
          "A stream sends no more than its window each round trip")
{
    ExperimentSpec spec = MakeMuxSpec(1, MakeSmux(1 << 20));
    RelayOf(spec).mux->sent.client.creditStep = 4'096;
    World world(TestLoop(), spec);
    world.Start();
    RunUntil(3 * SECOND);
    const uint64_t before = world.Flows()[0].receiver->Total();
    RunUntil(13 * SECOND);
    const uint64_t rounds = 100; // of 100 ms
    const uint64_t sent = world.Flows()[0].receiver->Total() - before;
    NS_TEST_EXPECT_MSG_LT_OR_EQ(sent, (rounds + 1) << 20, "no more than that");
    NS_TEST_EXPECT_MSG_GT(sent, (rounds << 20) * 9 / 10, "but nearly as much");
}

class FirstReadTest : public SimulationTestCase
{
  public:
    explicit FirstReadTest(bool isCredited)
        : SimulationTestCase(std::string("A stream whose first window is below the step ") +
                             (isCredited ? "goes on where the first read is credited" : "stops")),
          m_isCredited(isCredited)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(1, MakeSmux(2 << 20));
        MuxDirectionSpec& window = RelayOf(spec).mux->sent.client;
        window.firstStreamWindow = 256 << 10;
        window.creditStep = 1 << 20;
        window.creditsFirstRead = m_isCredited;
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(5 * SECOND);
        uint64_t read = world.Flows()[0].receiver->Total();
        if (m_isCredited)
        {
            NS_TEST_EXPECT_MSG_GT(read, 4 << 20, "more than two windows");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(read, 256 << 10, "the first window");
        }
    }

    const bool m_isCredited;
};

class ManyShortStreamsTest : public SimulationTestCase
{
  public:
    explicit ManyShortStreamsTest(const Protocol& protocol, bool isDownload)
        : SimulationTestCase(std::string("Streams that each carry less than is credited at once, "
                                         "and together more than all windows, end: ") +
                             protocol.name + (isDownload ? " down" : " up")),
          m_mux(protocol.mux),
          m_isDownload(isDownload)
    {
    }

  private:
    static constexpr uint32_t FLOWS = 400;
    static constexpr uint32_t BYTES = 1'000;

    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(FLOWS, m_mux);
        if (m_isDownload)
        {
            MakeDownload(spec);
        }
        for (uint32_t i = 0; i < FLOWS; ++i)
        {
            spec.flows[i].bytes = BYTES;
            spec.flows[i].start = spec.flows[i].dataStart = i * MS;
        }
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(5 * SECOND);
        for (const Flow& flow : world.Flows())
        {
            NS_TEST_EXPECT_MSG_GT(flow.receiver->CompletionTime(), 0, "its end has arrived");
        }
    }

    const MuxSpec m_mux;
    const bool m_isDownload;
};

class ManySlowStreamsTest : public SimulationTestCase
{
  public:
    explicit ManySlowStreamsTest(const Protocol& protocol)
        : SimulationTestCase(std::string("Streams of small writes go on at their rate: ") +
                             protocol.name),
          m_mux(protocol.mux)
    {
    }

  private:
    static constexpr uint32_t FLOWS = 100;

    void DoRun() override
    {
        ExperimentSpec spec = MakeMuxSpec(FLOWS, m_mux);
        for (FlowSpec& flow : spec.flows)
        {
            flow.rate = 20'000;
            flow.writeSize = 500;
        }
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(2 * SECOND);
        uint64_t before = Total(world);
        RunUntil(10 * SECOND);
        const double rate = 8.0 * (Total(world) - before) / 8;
        NS_TEST_EXPECT_MSG_EQ_TOL(rate, FLOWS * 20e3, FLOWS * 20e3 / 20, "bit/s in all");
    }

    static uint64_t Total(World& world)
    {
        uint64_t total = 0;
        for (const Flow& flow : world.Flows())
        {
            total += flow.receiver->Total();
        }
        return total;
    }

    const MuxSpec m_mux;
};

class CreditTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CreditAccount account;
        NS_TEST_EXPECT_MSG_EQ(account.Take(4'095, 4'096), 0, "not yet");
        NS_TEST_EXPECT_MSG_EQ(account.Take(5, 4'096), 4'100, "all that is owed");
        NS_TEST_EXPECT_MSG_EQ(account.Take(4'095, 4'096), 0, "from the beginning again");

        NS_TEST_EXPECT_MSG_EQ(CarrierBytes(4, 1'500),
                              CarrierBytes(4, 1) + UPDATE + FRAME,
                              "four streams of 1500 bytes: the session's window alone, once");
        NS_TEST_EXPECT_MSG_EQ(CarrierBytes(1, 5'000),
                              CarrierBytes(1, 1) + 2 * UPDATE + FRAME,
                              "one of 5000: both windows in one write");
    }

    static constexpr uint32_t UPDATE = 16;
    static constexpr uint32_t FRAME = 2; // an unmasked WebSocket frame of up to 125 bytes

    /// What the server's session writes while `flows` streams carry `bytes` to it.
    uint64_t CarrierBytes(uint32_t flows, uint32_t bytes)
    {
        Ns3Simulator::Install();
        ExperimentSpec spec = MakeMuxSpec(flows, WINDOWED.mux);
        for (FlowSpec& flow : spec.flows)
        {
            flow.preamble = bytes;
            flow.dataStart = 100 * SECOND;
        }
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(5 * SECOND);
        return HopsOf(world)[0].carriers.front().leg->Tcp().server->GetSender().Buffer().Written();
    }
};

ADD_CASE(CreditTest,
         "The session is credited by what all streams took, with a stream's own credit or alone");

TEST_CASE(SimulationTestCase,
          ChainTest,
          "Each relay of a chain shakes hands when the request reaches it")
{
    ExperimentSpec spec = MakeRelaySpec(false);
    Forward(spec).rate = Reverse(spec).rate = 0;
    AddHop(spec, 60 * MS);
    AddHop(spec, 40 * MS);
    RelayOf(spec).hops[2].cc.name = "reno";
    spec.flows[0].dataStart = 5 * SECOND; // the cookie alone
    World world(TestLoop(), spec);
    world.Start();
    RunUntil(2 * SECOND);
    const Flow& flow = world.Flows()[0];
    // TCP and WebSocket upgrade on each hop in turn, and half a round trip across it.
    const int64_t expected = 5 * (100 + 60 + 40) * MS / 2;
    NS_TEST_EXPECT_MSG_GT_OR_EQ(flow.receiver->FirstByteTime(), expected, "no earlier");
    NS_TEST_EXPECT_MSG_LT(flow.receiver->FirstByteTime(), expected + MS, "no later");
    const std::string names[] = {"app", "carrier", "carrier2", "carrier3", "target"};
    NS_TEST_ASSERT_MSG_EQ(flow.legs.size(), 5, "legs");
    for (size_t i = 0; i < 5; ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(flow.legs[i]->Name(), names[i], "in order");
    }
    NS_TEST_EXPECT_MSG_EQ(flow.legs[2]->cc, "cubic", "as the first carrier");
    NS_TEST_EXPECT_MSG_EQ(flow.legs[3]->cc, "reno", "as it was told");
}

ADD_CASES
{
    for (const Protocol& protocol : {SMUX_1, SMUX_2, WINDOWED, CHANNELS})
    {
        AddCase(new MuxEndTest(protocol));
    }
    for (const Protocol& protocol : {SMUX_1, SMUX_2, WINDOWED})
    {
        AddCase(new MuxConservationTest(protocol, false, 0));
        AddCase(new MuxConservationTest(protocol, true, 0));
        AddCase(new MuxConservationTest(protocol, false, 2));
    }
    // TCP 1, WebSocket 1, and half a round trip; where streams are answered, one more.
    AddCase(new MuxHandshakeTest(SMUX_1, 250 * MS, 50 * MS));
    AddCase(new MuxHandshakeTest(WINDOWED, 350 * MS, 150 * MS));
    AddCase(new MuxBackPressureTest(SMUX_1, true));
    AddCase(new MuxBackPressureTest(SMUX_2, false));
    AddCase(new FirstReadTest(false));
    AddCase(new FirstReadTest(true));
    for (const Protocol& protocol : {SMUX_1, SMUX_2, WINDOWED, CHANNELS})
    {
        AddCase(new ManyShortStreamsTest(protocol, false));
        AddCase(new ManyShortStreamsTest(protocol, true));
        AddCase(new ManySlowStreamsTest(protocol));
    }
}

} // namespace
