/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * A tunnel as an ns-3 application on stock TCP, against the fused path: same bytes, same goodput
 * where nothing is lost.
 */
#include "event/event-loop.h"
#include "experiment/experiment.h"
#include "interop/tunnel-application.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"

#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

namespace tunnelcc
{

namespace
{

using namespace ns3;

constexpr double RATE = 10e6;
constexpr uint32_t WINDOW = 200'000; // four BDP, so that the link limits
constexpr int64_t SECOND = 1'000'000'000;
constexpr uint32_t PPP = 2; // bytes of framing on ns-3's point-to-point links

/// Two hosts and a link of 10 Mbit/s and 40 ms, with stock TCP.
class StockWorld
{
  public:
    /// \param cc TypeId of the congestion control  \param relay the tunnel
    /// \param bytes to send
    StockWorld(const std::string& cc, const RelaySpec& relay, uint64_t bytes)
    {
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * WINDOW));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
        Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(cc));
        NodeContainer hosts(2);
        InternetStackHelper().Install(hosts);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
        link.SetChannelAttribute("Delay", StringValue("20ms"));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
        auto devices = link.Install(hosts);
        Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
        TrafficControlHelper().Uninstall(devices); // FQ-CoDel, which drops
        devices.Get(0)->TraceConnectWithoutContext("PhyTxEnd",
                                                   MakeCallback(&StockWorld::OnSent, this));

        InetSocketAddress address("10.0.0.2", 443);
        client = CreateObject<TunnelApplication>();
        client->SetClient(relay);
        client->SetAttribute("Remote", AddressValue(address));
        client->SetAttribute("MaxBytes", UintegerValue(bytes));
        hosts.Get(0)->AddApplication(client);
        server = CreateObject<TunnelApplication>();
        server->SetServer(relay, client);
        server->SetAttribute("Local", AddressValue(address));
        hosts.Get(1)->AddApplication(server);
    }

    ~StockWorld()
    {
        Simulator::Destroy();
        Config::Reset();
    }

    Ptr<TunnelApplication> client;
    Ptr<TunnelApplication> server;
    uint64_t wireBytes{0}; //!< IP bytes towards the server

  private:
    void OnSent(Ptr<const ns3::Packet> packet)
    {
        wireBytes += packet->GetSize() - PPP;
    }
};

/// The same on the fused path.
ExperimentSpec
FusedSpec(const std::string& cc, const RelaySpec& relay, uint64_t bytes)
{
    ExperimentSpec spec = MakeRelaySpec(false);
    std::vector<HopSpec> hops = RelayOf(spec).hops;
    RelayOf(spec) = relay;
    RelayOf(spec).hops = hops;
    SetRtt(spec.links[0], 40'000'000);
    for (LinkSpec* link : {&Forward(spec), &Reverse(spec)})
    {
        link->rate = RATE;
        link->bufferBytes = 0;
        link->framing = PPP;
    }
    spec.tcp[0].receiveWindow = WINDOW;
    spec.tcp[0].sendBuffer = 4 * WINDOW;
    FlowSpec& flow = spec.flows.front();
    flow.cc.name = flow.carrierCc.name = cc;
    flow.preamble = 0;
    flow.bytes = bytes;
    return spec;
}

const LegResult&
Carrier(const ExperimentResult& result)
{
    return result.legs.at(1);
}

/// A transfer that ends: the same TCP payload crosses the path, and about as many IP bytes.
class BytesTest : public SimulationTestCase
{
  public:
    /// \param bytes of the application  \param isTls wss instead of ws
    /// \param tolerance of messages that the relay cuts elsewhere, as a share
    BytesTest(uint64_t bytes, bool isTls, double tolerance)
        : SimulationTestCase(std::to_string(bytes) + " bytes become as many through relay+" +
                             (isTls ? "wss" : "ws")),
          m_bytes(bytes),
          m_isTls(isTls),
          m_tolerance(tolerance)
    {
    }

  private:
    void DoRun() override
    {
        const RelaySpec relay = MakeRelay(m_isTls);
        uint64_t payload = 0;
        uint64_t wire = 0;
        {
            StockWorld stock("ns3::TcpCubic", relay, m_bytes);
            RunUntil(10 * SECOND);
            NS_TEST_EXPECT_MSG_EQ(stock.server->ReceivedBytes(), m_bytes, "all arrived");
            payload = stock.client->CarrierBytes();
            wire = stock.wireBytes;
        }
        ExperimentResult fused = RunExperiment(FusedSpec("cubic", relay, m_bytes));
        NS_TEST_EXPECT_MSG_EQ(fused.flows.at(0).totalBytes, m_bytes, "all arrived");
        auto expected = static_cast<double>(Carrier(fused).payloadBytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(payload, expected, m_tolerance * expected, "TCP payload");
        // ns-3 leaves MSS out of its SYN, and acknowledges the handshake with fewer packets.
        auto ipBytes = static_cast<double>(Carrier(fused).wireBytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(wire, ipBytes, 0.002 * ipBytes + 312, "IP bytes");
    }

    uint64_t m_bytes;
    bool m_isTls;
    double m_tolerance;
};

class GoodputTest : public SimulationTestCase
{
  public:
    /// \param stock TypeId  \param fused name of the algorithm on the fused path
    GoodputTest(const std::string& stock, const std::string& fused, bool isTls)
        : SimulationTestCase(stock + (isTls ? " with TLS" : "") + " carries as much as " + fused +
                             " on the fused path"),
          m_stock(stock),
          m_fused(fused),
          m_isTls(isTls)
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t WARM_UP = 4 * SECOND;
        constexpr int64_t END = 20 * SECOND; // many times a copy buffer
        const RelaySpec relay = MakeRelay(m_isTls);
        uint64_t bytes = 0;
        {
            StockWorld stock(m_stock, relay, UINT64_MAX);
            RunUntil(WARM_UP);
            bytes = stock.server->ReceivedBytes();
            RunUntil(END);
            bytes = stock.server->ReceivedBytes() - bytes;
        }
        ExperimentSpec spec = FusedSpec(m_fused, relay, 0);
        spec.warmup = WARM_UP;
        spec.duration = END;
        ExperimentResult result = RunExperiment(spec);
        auto fused = static_cast<double>(result.flows.at(0).deliveredBytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes, fused, 0.01 * fused, "application bytes in 16 s");
    }

    std::string m_stock;
    std::string m_fused;
    bool m_isTls;
};

/// Counts of what an application's trace sources tell.
struct Told
{
    explicit Told(Ptr<TunnelApplication> application)
    {
        application->TraceConnectWithoutContext("PeerClosed",
                                                MakeCallback(&Told::OnPeerClosed, this));
        application->TraceConnectWithoutContext("Failed", MakeCallback(&Told::OnFailed, this));
    }

    void OnPeerClosed()
    {
        ++peerClosed;
    }

    void OnFailed()
    {
        ++failed;
    }

    int peerClosed{0};
    int failed{0};
};

class StopTest : public SimulationTestCase
{
  public:
    explicit StopTest(bool isClient)
        : SimulationTestCase(std::string("StopTime ends the carrier, ") +
                             (isClient ? "the client's" : "the server's")),
          m_isClient(isClient)
    {
    }

  private:
    void DoRun() override
    {
        StockWorld stock("ns3::TcpCubic", MakeRelay(false), UINT64_MAX);
        Told client(stock.client);
        Told server(stock.server);
        (m_isClient ? stock.client : stock.server)->SetStopTime(ns3::Seconds(2));
        RunUntil(3 * SECOND);
        uint64_t bytes = stock.server->ReceivedBytes();
        uint64_t wire = stock.wireBytes;
        NS_TEST_EXPECT_MSG_GT(bytes, 1'000'000, "it carried something before");
        RunUntil(6 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(stock.server->ReceivedBytes(), bytes, "nothing arrives any more");
        NS_TEST_EXPECT_MSG_EQ(stock.wireBytes, wire, "nothing is sent any more");
        if (m_isClient)
        {
            NS_TEST_EXPECT_MSG_EQ(server.peerClosed, 1, "the server is told");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(client.peerClosed + client.failed, 1, "the client is told");
        }
    }

    bool m_isClient;
};

class StopBeforeOpenTest : public SimulationTestCase
{
  public:
    StopBeforeOpenTest()
        : SimulationTestCase("A client that stops before its carrier is open sends nothing")
    {
    }

  private:
    void DoRun() override
    {
        StockWorld stock("ns3::TcpCubic", MakeRelay(false), UINT64_MAX);
        Told client(stock.client);
        stock.client->SetStopTime(ns3::MilliSeconds(10));
        RunUntil(5 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(client.failed + client.peerClosed, 0, "it knows that it stopped");
        NS_TEST_EXPECT_MSG_EQ(stock.client->CarrierBytes(), 0, "nothing was written");
    }
};

class PeerClosedTest : public SimulationTestCase
{
  public:
    PeerClosedTest()
        : SimulationTestCase("The end of a transfer is told, after its last byte")
    {
    }

  private:
    void DoRun() override
    {
        StockWorld stock("ns3::TcpCubic", MakeRelay(true), 100'000);
        Told client(stock.client);
        Told server(stock.server);
        stock.server->TraceConnectWithoutContext("PeerClosed",
                                                 MakeCallback(&PeerClosedTest::OnClosed, this));
        m_server = stock.server;
        RunUntil(5 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(m_bytes, 100'000, "all had arrived when it was told");
        NS_TEST_EXPECT_MSG_EQ(server.peerClosed, 1, "once");
        NS_TEST_EXPECT_MSG_EQ(client.peerClosed, 1, "the server, which sends nothing, closes too");
        NS_TEST_EXPECT_MSG_EQ(client.failed + server.failed, 0, "nothing failed");
        m_server = nullptr;
    }

    void OnClosed()
    {
        m_bytes = m_server->ReceivedBytes();
    }

    Ptr<TunnelApplication> m_server;
    uint64_t m_bytes{0};
};

class RefusedTest : public SimulationTestCase
{
  public:
    RefusedTest()
        : SimulationTestCase("A carrier that nobody accepts is told to have failed")
    {
    }

  private:
    void DoRun() override
    {
        StockWorld stock("ns3::TcpCubic", MakeRelay(false), 1'000);
        stock.client->SetAttribute("Remote", AddressValue(InetSocketAddress("10.0.0.2", 444)));
        Told client(stock.client);
        RunUntil(500 * SECOND); // ns-3 ignores the reset, and gives up when its SYNs are used up
        NS_TEST_EXPECT_MSG_EQ(client.failed, 1, "once");
        NS_TEST_EXPECT_MSG_EQ(stock.server->ReceivedBytes(), 0, "nothing arrived");
    }
};

class TunnelApplicationTestSuite : public TestSuite
{
  public:
    TunnelApplicationTestSuite()
        : TestSuite("tunnelcc-interop-tunnel-application", Type::UNIT)
    {
        AddTestCase(new StopTest(true), Duration::QUICK);
        AddTestCase(new StopTest(false), Duration::QUICK);
        AddTestCase(new StopBeforeOpenTest, Duration::QUICK);
        AddTestCase(new PeerClosedTest, Duration::QUICK);
        AddTestCase(new RefusedTest, Duration::QUICK);
        for (bool isTls : {false, true})
        {
            AddTestCase(new BytesTest(20'000, isTls, 0), Duration::QUICK);
            AddTestCase(new BytesTest(4'000'000, isTls, 0.001), Duration::QUICK);
            AddTestCase(new GoodputTest("ns3::TcpCubic", "cubic", isTls), Duration::QUICK);
            AddTestCase(new GoodputTest("ns3::TcpBbr", "bbr", isTls), Duration::QUICK);
        }
    }
};

TunnelApplicationTestSuite g_tunnelApplicationTestSuite;

} // namespace

} // namespace tunnelcc
