/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks relay tunnels against GOST as captured: sizes of frames and records, wire bytes for each
 * application byte, round trips of the handshake, and back-pressure from a target that never reads.
 */
#include "support/relay-hops.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"
#include "tunnel/layer.h"

#include <numeric>
#include <sstream>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel");

std::string
Show(const std::vector<uint32_t>& sizes)
{
    std::ostringstream text;
    for (const uint32_t size : sizes)
    {
        text << (text.tellp() > 0 ? " " : "") << size;
    }
    return text.str();
}

class WebSocketTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static uint32_t Overhead(bool isMasked, uint32_t payload)
    {
        return LayerStack({MakeWebSocket(isMasked, 0)}).Wrap(payload).at(0) - payload;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Overhead(false, 0), 2, "2");
        NS_TEST_EXPECT_MSG_EQ(Overhead(false, 125), 2, "2");
        NS_TEST_EXPECT_MSG_EQ(Overhead(false, 126), 4, "and 2 of length");
        NS_TEST_EXPECT_MSG_EQ(Overhead(false, 65'535), 4, "and 2 of length");
        NS_TEST_EXPECT_MSG_EQ(Overhead(false, 65'536), 10, "and 8 of length");
        NS_TEST_EXPECT_MSG_EQ(Overhead(true, 125), 6, "and 4 of mask");
        NS_TEST_EXPECT_MSG_EQ(Overhead(true, 4'096), 8, "and 4 of mask");

        const RelaySpec relay = MakeRelay(false);
        LayerStack up(relay.sent.client.layers);
        NS_TEST_EXPECT_MSG_EQ(Show(up.Wrap(COPY_BUFFER)),
                              "4104 4104 4104 4104 4104 4104 4104 4104",
                              "32 KiB up");
        NS_TEST_EXPECT_MSG_EQ(Show(up.Wrap(11 + 37)), "54", "relay request and iperf3's cookie");
        LayerStack down(relay.sent.server.layers);
        NS_TEST_EXPECT_MSG_EQ(Show(down.Wrap(COPY_BUFFER)), "32772", "32 KiB down");
        NS_TEST_EXPECT_MSG_EQ(Show(down.Wrap(4 + 1)), "7", "relay response and one byte");
    }
};

ADD_CASE(WebSocketTest, "WebSocket headers are those of RFC 6455, frames those of gorilla");

TEST_CASE(ns3::TestCase,
          TlsTest,
          "TLS records grow until 128 KiB were sent, then are those captured")
{
    const RelaySpec relay = MakeRelay(true);
    LayerStack up(relay.sent.client.layers);
    NS_TEST_EXPECT_MSG_EQ(Show(up.Wrap(11 + 37)), "76", "relay request and iperf3's cookie");
    LayerStack down(relay.sent.server.layers);
    LayerStack plain(MakeRelay(false).sent.server.layers);
    NS_TEST_EXPECT_MSG_EQ(
        Show(LayerStack(relay.sent.server.layers).Wrap(4 + COPY_BUFFER)).substr(0, 29),
        "2394 1736 4766 5952 7138 8324",
        "the first message down, as captured");
    uint64_t payload = 0;
    uint32_t record = 1; // the upgrade to WebSocket
    while (payload < 131'072)
    {
        uint32_t message = 0;
        for (const uint32_t size : down.Wrap(COPY_BUFFER))
        {
            ++record;
            const bool isRamp = payload + message < 131'072;
            const uint32_t limit = isRamp ? 1'186 * record : 16'384;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(size - 22, limit, "record " << record);
            message += size - 22;
        }
        NS_TEST_EXPECT_MSG_EQ(message, plain.Wrap(COPY_BUFFER).at(0), "nothing is lost");
        payload += message;
        up.Wrap(COPY_BUFFER);
    }
    NS_TEST_EXPECT_MSG_EQ(Show(up.Wrap(COPY_BUFFER)),
                          "4126 4126 4126 4126 4126 4126 4126 4126",
                          "32 KiB up");
    NS_TEST_EXPECT_MSG_EQ(Show(down.Wrap(COPY_BUFFER)), "4108 16406 12324", "32 KiB down");
}

/// A world with a tunnel, run step by step.
class TunnelTestCase : public SimulationTestCase
{
  public:
    TunnelTestCase(const std::string& name, bool isTls, bool isDownload)
        : SimulationTestCase(name + (isTls ? ", wss" : ", ws") + (isDownload ? " down" : " up")),
          m_isTls(isTls),
          m_isDownload(isDownload)
    {
    }

  protected:
    ExperimentSpec MakeSpec() const
    {
        ExperimentSpec spec = MakeRelaySpec(m_isTls);
        if (m_isDownload)
        {
            MakeDownload(spec);
        }
        return spec;
    }

    const bool m_isTls;
    const bool m_isDownload;
};

/// Where data enters the carrier, and where it leaves it.
const TcpEndpoint&
CarrierEnd(const Flow& flow, bool isClient)
{
    return *flow.legs[1]->Tcp()[isClient ? End::CLIENT : End::SERVER];
}

class ConservationTest : public TunnelTestCase
{
  public:
    ConservationTest(bool isTls, bool isDownload)
        : TunnelTestCase("Every byte arrives and the end with it, under loss", isTls, isDownload)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeSpec();
        Forward(spec).loss = 0.03;
        Reverse(spec).loss = 0.03;
        spec.flows[0].bytes = 1'234'567;
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(120 * SECOND);
        const Flow& flow = world.Flows()[0];
        const uint64_t preamble = m_isDownload ? 0 : spec.flows[0].preamble;
        NS_TEST_EXPECT_MSG_EQ(flow.receiver->Total(), preamble + 1'234'567, "bytes");
        NS_TEST_EXPECT_MSG_GT(flow.receiver->CompletionTime(), 0, "end of the stream");
        for (const Leg* leg : flow.legs)
        {
            NS_TEST_EXPECT_MSG_GT(
                leg->Tcp()[m_isDownload ? End::SERVER : End::CLIENT]->FinishedTime(),
                0,
                leg->Name() << " is closed");
        }
        const Sender& carrier = CarrierEnd(flow, !m_isDownload).GetSender();
        NS_TEST_EXPECT_MSG_GT(carrier.Counters().retransmits, 10, "there was loss");
        NS_TEST_EXPECT_MSG_EQ(carrier.Buffer().Written(),
                              CarrierEnd(flow, m_isDownload).GetReceiver().TotalRead(),
                              "what went into the carrier came out of it");
        const RelayBuilder::Carrier& tunnel = HopsOf(world)[0].carriers.front();
        NS_TEST_EXPECT_MSG_EQ(tunnel.logs.front().client.IsEmpty(), true, "no message is left");
        NS_TEST_EXPECT_MSG_EQ(tunnel.logs.front().server.IsEmpty(), true, "no message is left");
    }
};

class WholeMessageTest : public TunnelTestCase
{
  public:
    WholeMessageTest(bool isTls)
        : TunnelTestCase("A message is forwarded whole", isTls, false)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeSpec();
        Forward(spec).rate = 1e6; // the message takes 0.27 s
        spec.flows[0].preamble = 0;
        spec.flows[0].bytes = COPY_BUFFER;
        World world(TestLoop(), spec);
        world.Start();
        const Flow& flow = world.Flows()[0];
        const Receiver& carrier = flow.legs[1]->Tcp().server->GetReceiver();
        const Sender& target = flow.legs[2]->Tcp().client->GetSender();
        const RelaySpec& relay = RelayOf(spec);
        LayerStack layers(relay.sent.client.layers);
        const auto& writes = layers.Wrap(relay.sent.client.prefix + COPY_BUFFER);
        uint64_t end = std::accumulate(writes.begin(), writes.end(), uint64_t{0});
        for (const HandshakeTurn& turn : relay.handshake)
        {
            end = std::accumulate(turn.client.begin(), turn.client.end(), end);
        }
        int waits = 0;
        for (int64_t time = MS; time < 2 * SECOND; time += MS)
        {
            RunUntil(time);
            const bool isWhole = carrier.Received() == end;
            NS_TEST_EXPECT_MSG_EQ(target.Buffer().Written(), isWhole * COPY_BUFFER, "at " << time);
            waits += !isWhole && carrier.Received() > end / 10;
        }
        NS_TEST_EXPECT_MSG_EQ(carrier.Received(), end, "the message and the handshake");
        NS_TEST_EXPECT_MSG_GT(waits, 200, "it took its time");
    }
};

class HandshakeTimeTest : public TunnelTestCase
{
  public:
    HandshakeTimeTest(bool isTls)
        : TunnelTestCase("Round trips before the first byte", isTls, false)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeSpec();
        Forward(spec).rate = Reverse(spec).rate = 0;
        spec.flows[0].dataStart = 5 * SECOND; // the cookie alone
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(SECOND);
        const Flow& flow = world.Flows()[0];
        // TCP and WebSocket upgrade: 2; with TLS 1.3: 3. Half a round trip later it is there.
        const int64_t expected = (m_isTls ? 350 : 250) * MS;
        const int64_t firstByte = flow.receiver->FirstByteTime();
        NS_TEST_EXPECT_MSG_GT_OR_EQ(firstByte, expected, "no earlier");
        NS_TEST_EXPECT_MSG_LT(firstByte, expected + MS, "but for the loopbacks, no later");
    }
};

class WireBytesTest : public TunnelTestCase
{
  public:
    WireBytesTest(bool isTls, bool isDownload, double ideal, double measured)
        : TunnelTestCase("IP bytes for each application byte", isTls, isDownload),
          m_ideal(ideal),
          m_measured(measured)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakeSpec();
        Forward(spec).rate = 50e6;
        SetRtt(spec.links[0], 10 * MS);
        spec.flows[0].cc.name = spec.flows[0].carrierCc.name = "bbr";
        World world(TestLoop(), spec);
        world.Start();
        const Flow& flow = world.Flows()[0];
        const TcpEndpoint& carrier = CarrierEnd(flow, !m_isDownload);
        RunUntil(2 * SECOND);
        const uint64_t bytes = flow.receiver->Total();
        const uint64_t wire = carrier.Wire().dataBytes;
        RunUntil(12 * SECOND);
        const double ratio = static_cast<double>(carrier.Wire().dataBytes - wire) /
                             static_cast<double>(flow.receiver->Total() - bytes);
        NS_TEST_EXPECT_MSG_EQ(carrier.GetSender().Counters().retransmits, 0, "no loss");
        NS_TEST_EXPECT_MSG_EQ_TOL(ratio, m_ideal, 0.001, "full segments");
        NS_TEST_EXPECT_MSG_EQ_TOL(ratio, m_measured, 0.002 * m_measured, "capture at 50 Mbit/s");
    }

    double m_ideal;
    double m_measured;
};

class BackPressureTest : public TunnelTestCase
{
  public:
    BackPressureTest(bool isTls)
        : TunnelTestCase("A target that never reads stops the sender", isTls, false)
    {
    }

  private:
    void DoRun() override
    {
        // What each stage of relay+ws was seen to absorb, with an RTT of 100 ms; 12.8 MB in all.
        ExperimentSpec spec = MakeSpec();
        spec.tcp[0].sendBuffer = 4'090'000;
        spec.tcp[0].receiveWindow = 3'950'000;
        spec.flows[0].appPerByte.server = 1e9; // a second for each byte
        World world(TestLoop(), spec);
        world.Start();
        const Flow& flow = world.Flows()[0];
        const SendBuffer& app = flow.legs[0]->Tcp().client->GetSender().Buffer();
        RunUntil(20 * SECOND);
        const uint64_t absorbed = app.Written();
        RunUntil(60 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(app.Written(), absorbed, "nothing more goes in");
        // Send buffers end up between two thirds, where a writer wakes, and full.
        const uint64_t windows = 300'000 + 3'950'000 + 130'000;
        const uint64_t sendBuffers = 1'760'000 + 4'090'000 + 2'630'000;
        const uint64_t most = windows + sendBuffers + 2 * COPY_BUFFER;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(absorbed, most, "no more than there is room for");
        NS_TEST_EXPECT_MSG_GT(absorbed, windows + 2 * sendBuffers / 3, "windows are full");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(12'800'000, most, "what was measured is possible");
        CheckStage(*flow.legs[0], spec.tcp[APP_TCP]);
        CheckStage(*flow.legs[1], spec.tcp[CARRIER_TCP]);
        CheckStage(*flow.legs[2], spec.tcp[TARGET_TCP]);
    }

    void CheckStage(const Leg& leg, const TcpSpec& tcp)
    {
        const Sender& sender = leg.Tcp().client->GetSender();
        NS_TEST_EXPECT_MSG_EQ(sender.Board().PacketsOut(), 0, leg.Name() << ": nothing in flight");
        NS_TEST_EXPECT_MSG_GT(sender.Buffer().Unsent(), 0, leg.Name() << ": but much to send");
        NS_TEST_EXPECT_MSG_GT(leg.Tcp().server->GetReceiver().Readable() + 1'448,
                              tcp.receiveWindow,
                              leg.Name() << ": the window is full");
    }
};

ADD_CASES
{
    for (const bool isTls : {false, true})
    {
        AddCase(new ConservationTest(isTls, false));
        AddCase(new ConservationTest(isTls, true));
        AddCase(new WholeMessageTest(isTls));
        AddCase(new HandshakeTimeTest(isTls));
    }
    AddCase(new BackPressureTest(false));
    // IP bytes per application byte: 1500 / 1448 times what framing adds; as captured.
    AddCase(new WireBytesTest(false, false, 1.03793, 1.03804));
    AddCase(new WireBytesTest(false, true, 1.03604, 1.0369));
    AddCase(new WireBytesTest(true, false, 1.04350, 1.0437));
    AddCase(new WireBytesTest(true, true, 1.03812, 1.0382));
}

} // namespace
