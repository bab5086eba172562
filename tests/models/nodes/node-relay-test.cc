/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * GOST's relays between nodes of ns-3, with carriers over its sockets or ours, against the engine's
 * own path: the same bytes cross the link, and as many in the same time where nothing is lost.
 */
#include "experiment/experiment.h"
#include "nodes/tunnel-catalogue.h"
#include "nodes/tunnel-helper.h"
#include "socket/linux-tcp-socket-factory.h"
#include "spec/spec-text.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <string>

namespace tunnelcc
{

namespace
{

using namespace ns3;

TEST_SUITE("tunnelcc-nodes-relay");

const std::string STOCK = "ns3::TcpSocketFactory";
const std::string OURS = "tunnelcc::LinuxTcpSocketFactory";
constexpr double RATE = 10e6;
constexpr uint32_t WINDOW = 200'000; // four BDP, so that the link limits
constexpr uint32_t FRAMING = 2;      // bytes of framing on ns-3's point-to-point links
constexpr uint32_t WRITE = 32'768;   // bytes at once

/// A relay, and the sockets of its carrier.
struct Carriage
{
    std::string relay;    //!< of the catalogue
    std::string protocol; //!< TypeId of the sockets
    std::string cc;       //!< as the engine names it

    std::string Name() const
    {
        return relay + " over " + cc + " of " + protocol;
    }
};

/// Two nodes and a link of 10 Mbit/s and 40 ms, with a relay between them.
class RelayedNodes
{
  public:
    /// \param bytes to send; 0: without end
    RelayedNodes(const Carriage& carriage, uint64_t bytes)
    {
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * WINDOW));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                           StringValue(carriage.cc == "bbr" ? "ns3::TcpBbr" : "ns3::TcpCubic"));
        NodeContainer hosts(2);
        InternetStackHelper().Install(hosts);
        LinuxTcpHelper tcp;
        tcp.SetAttribute("CongestionControl", StringValue(carriage.cc));
        tcp.SetAttribute("SndBufSize", UintegerValue(4 * WINDOW));
        tcp.SetAttribute("RcvBufSize", UintegerValue(WINDOW));
        tcp.Install(hosts);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
        link.SetChannelAttribute("Delay", StringValue("20ms"));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
        const auto devices = link.Install(hosts);
        const auto server =
            Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices).GetAddress(1);
        TrafficControlHelper().Uninstall(devices); // FQ-CoDel, which drops
        devices.Get(0)->TraceConnectWithoutContext("PhyTxEnd",
                                                   MakeCallback(&RelayedNodes::OnSent, this));

        TunnelHelper helper(carriage.relay);
        helper.SetAttribute("Protocol", TypeIdValue(TypeId::LookupByName(carriage.protocol)));
        helper.Install(hosts.Get(0), hosts.Get(1), server)
            ->Forward(1080, InetSocketAddress(server, 5001));
        BulkSendHelper source(OURS, InetSocketAddress("127.0.0.1", 1080));
        source.SetAttribute("SendSize", UintegerValue(WRITE));
        source.SetAttribute("MaxBytes", UintegerValue(bytes));
        source.Install(hosts.Get(0));
        PacketSinkHelper sink(OURS, InetSocketAddress(Ipv4Address::GetAny(), 5001));
        m_sink = DynamicCast<ns3::PacketSink>(sink.Install(hosts.Get(1)).Get(0));
    }

    ~RelayedNodes()
    {
        Simulator::Destroy();
        Config::Reset();
    }

    RelayedNodes(const RelayedNodes&) = delete;
    RelayedNodes& operator=(const RelayedNodes&) = delete;

    uint64_t Received() const
    {
        return m_sink->GetTotalRx();
    }

    uint64_t wireBytes{0}; //!< IP bytes towards the server

  private:
    void OnSent(Ptr<const ns3::Packet> packet)
    {
        wireBytes += packet->GetSize() - FRAMING;
    }

    Ptr<ns3::PacketSink> m_sink;
};

/// The same on the engine's path.
ExperimentSpec
PathSpec(const Carriage& carriage, uint64_t bytes)
{
    ExperimentSpec spec = MakeRelaySpec(false);
    const std::vector<HopSpec> hops = RelayOf(spec).hops;
    const NodeTunnelSpec tunnel = ParseNodeTunnel(TunnelCatalogue().at(carriage.relay));
    RelayOf(spec) = std::get<RelaySpec>(tunnel.tunnel);
    RelayOf(spec).hops = hops;
    SetRtt(spec.links[0], 40'000'000);
    for (LinkSpec* link : {&Forward(spec), &Reverse(spec)})
    {
        link->rate = RATE;
        link->bufferBytes = 0;
        link->framing = FRAMING;
    }
    spec.tcp[CARRIER_TCP].receiveWindow = WINDOW;
    spec.tcp[CARRIER_TCP].sendBuffer = 4 * WINDOW;
    FlowSpec& flow = spec.flows.front();
    flow.cc.name = flow.carrierCc.name = carriage.cc;
    flow.preamble = 0;
    flow.writeSize = WRITE;
    flow.bytes = bytes;
    return spec;
}

/// A transfer that ends: about as many IP bytes cross the link.
class RelayedBytesTest : public SimulationTestCase
{
  public:
    RelayedBytesTest(const Carriage& carriage, uint64_t bytes)
        : SimulationTestCase(std::to_string(bytes) + " bytes become as many through " +
                             carriage.Name()),
          m_carriage(carriage),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        uint64_t wire = 0;
        {
            RelayedNodes nodes(m_carriage, m_bytes);
            RunUntil(10 * SECOND);
            NS_TEST_EXPECT_MSG_EQ(nodes.Received(), m_bytes, "all arrived");
            wire = nodes.wireBytes;
        }
        const ExperimentResult path = RunExperiment(PathSpec(m_carriage, m_bytes));
        NS_TEST_EXPECT_MSG_EQ(path.flows.at(0).totalBytes, m_bytes, "all arrived");
        // ns-3 leaves MSS out of its SYN, and acknowledges the handshake with fewer packets. A
        // relay between nodes may cut messages elsewhere.
        const auto expected = static_cast<double>(path.legs.at(1).wireBytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(wire, expected, 0.002 * expected + 312, "IP bytes");
    }

    const Carriage m_carriage;
    const uint64_t m_bytes;
};

class RelayedGoodputTest : public SimulationTestCase
{
  public:
    explicit RelayedGoodputTest(const Carriage& carriage)
        : SimulationTestCase(carriage.Name() + " carries as much as on the engine's path"),
          m_carriage(carriage)
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t WARM_UP = 4 * SECOND;
        constexpr int64_t END = 12 * SECOND; // many times a copy buffer
        uint64_t bytes = 0;
        {
            RelayedNodes nodes(m_carriage, 0);
            RunUntil(WARM_UP);
            bytes = nodes.Received();
            RunUntil(END);
            bytes = nodes.Received() - bytes;
        }
        ExperimentSpec spec = PathSpec(m_carriage, 0);
        spec.warmup = WARM_UP;
        spec.duration = END;
        const ExperimentResult result = RunExperiment(spec);
        const auto expected = static_cast<double>(result.flows.at(0).deliveredBytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes, expected, 0.01 * expected, "application bytes in 8 s");
    }

    const Carriage m_carriage;
};

ADD_CASES
{
    for (const char* relay : {"gost-relay-ws", "gost-relay-wss"})
    {
        for (const auto& protocol : {STOCK, OURS})
        {
            const Carriage cubic{relay, protocol, "cubic"};
            AddCase(new RelayedBytesTest(cubic, 20'000));
            AddCase(new RelayedBytesTest(cubic, 4'000'000));
            AddCase(new RelayedGoodputTest(cubic));
            AddCase(new RelayedGoodputTest({relay, protocol, "bbr"}));
        }
    }
}

} // namespace

} // namespace tunnelcc
