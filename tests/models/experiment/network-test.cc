/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Routes over several links: delays by hand, ns-3's parking lot packet by packet, and what holds
 * for every network.
 */
#include "experiment/experiment.h"
#include "experiment/network.h"
#include "spec/spec-text.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"

#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-network");

/// Hosts in a row, and a link of so many bit/s and a delay of so many ns between each two.
ExperimentSpec
MakeRow(const std::vector<std::pair<double, int64_t>>& links)
{
    ExperimentSpec spec;
    AddHost(spec);
    for (const auto& [rate, delay] : links)
    {
        AddHost(spec);
        DuplexLinkSpec& link = spec.links.emplace_back();
        SetRtt(link, 2 * delay);
        link.forward.rate = link.reverse.rate = rate;
    }
    return spec;
}

/// Links `first` to `last` of a row, as a route.
uint32_t
AddRowRoute(ExperimentSpec& spec, uint32_t first, uint32_t last)
{
    std::vector<uint32_t> links(last - first + 1);
    std::iota(links.begin(), links.end(), first);
    return AddRoute(spec, first, last + 1, links);
}

/// Keeps what it receives, and when.
class Log final : public PacketSink
{
  public:
    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        times.push_back(now);
        packets.push_back(packet);
        if (packet.HasExtras())
        {
            allExtras.push_back(*extras);
        }
    }

    std::vector<int64_t> times;
    std::vector<Packet> packets;
    std::vector<PacketExtras> allExtras;
};

TEST_CASE(SimulationTestCase,
          RouteDelayTest,
          "Two packets cross three links in the time that follows by hand")
{
    ExperimentSpec spec = MakeRow({{10e6, 3 * MS}, {4e6, 7 * MS}, {20e6, 1 * MS}});
    AddRowRoute(spec, 0, 2);
    Network network(TestLoop(), spec);
    for (const End sender : ENDS)
    {
        constexpr int64_t EXTRA = 12'345;
        Log log;
        Channel channel = network.ChannelFrom(0, sender, EXTRA);
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.sink = &log;
        const int64_t start = ns3::Simulator::Now().GetNanoSeconds();
        channel.Send(start, packet, 1500);
        channel.Send(start, packet, 1500);
        RunUntil(start + SECOND);
        // Each spends 1.2, 3 and 0.6 ms in service. Forwards the second one waits for 1.2 ms at
        // the first link and for 1.8 ms at the second; backwards for 0.6, 2.4 and 0 ms.
        NS_TEST_ASSERT_MSG_EQ(log.times.size(), 2, "both arrive");
        NS_TEST_EXPECT_MSG_EQ(log.times[0] - start, 15'800 * US + EXTRA, "the first");
        NS_TEST_EXPECT_MSG_EQ(log.times[1] - start, 18'800 * US + EXTRA, "the second");
        NS_TEST_EXPECT_MSG_EQ(log.packets[0].isInTransit, false, "it is there");
    }
}

TEST_CASE(SimulationTestCase,
          RouteExtrasTest,
          "What a packet carries crosses routers and queue disciplines unharmed")
{
    ExperimentSpec spec = MakeRow({{10e6, MS}, {10e6, MS}, {10e6, MS}});
    spec.links[1].forward.queue =
        FqCodelSpec{.target = 5 * MS, .interval = 100 * MS, .quantum = 1'514, .queues = 64};
    spec.links[1].forward.jitter = MS;
    spec.links[1].forward.jitterReorders = true;
    spec.links[2].forward.queue = DropTailSpec{.ecnThreshold = 1};
    AddRowRoute(spec, 0, 2);
    Network network(TestLoop(), spec);
    Log log;
    Channel channel = network.ChannelFrom(0, End::CLIENT, 0);
    for (uint32_t number = 0; number < 20; ++number)
    {
        Packet packet{};
        packet.kind = PacketKind::DATA;
        packet.segment = number;
        packet.sink = &log;
        packet.isEct = true;
        packet.sackBlocks = number % 2;
        PacketExtras extras{};
        extras.blocks.begin[0] = 100 + number;
        channel.Send(0, packet, 1500 - number, &extras);
    }
    RunUntil(SECOND);
    NS_TEST_ASSERT_MSG_EQ(log.packets.size(), 20, "all arrive");
    NS_TEST_ASSERT_MSG_EQ(log.allExtras.size(), 10, "those with extras have them");
    size_t next = 0;
    bool hasMarks = false;
    for (const Packet& packet : log.packets)
    {
        hasMarks = hasMarks || packet.isCe;
        if (packet.sackBlocks)
        {
            const uint32_t begin = log.allExtras[next++].blocks.begin[0];
            NS_TEST_EXPECT_MSG_EQ(begin, 100 + packet.segment, "its own");
        }
    }
    NS_TEST_EXPECT_MSG_EQ(hasMarks, true, "the last link marks what jitter bunched");
}

/// A datagram of a schedule: who sends it, when (ns), and how large it is.
struct Departure
{
    uint32_t route;
    int64_t time;
    uint32_t ipBytes;
};

/// When each datagram arrived, ns; −1: it was dropped.
using Arrivals = std::vector<int64_t>;

constexpr uint32_t PPP = 2;         // bytes of framing on ns-3's point-to-point links
constexpr uint32_t IP_AND_UDP = 28; // bytes of headers
constexpr uint32_t QUEUE_PACKETS = 8;
// Rates at which a byte takes whole nanoseconds, to which ns-3 rounds.
const std::vector<std::pair<double, int64_t>> PARKING_LOT{{8e6, 5 * MS},
                                                          {5e6, 3 * MS},
                                                          {6.4e6, MS}};
const std::vector<std::pair<uint32_t, uint32_t>> PARKING_LOT_ROUTES{{0, 2}, {0, 0}, {1, 1}, {2, 2}};

/// Takes note of the datagrams that reach their host.
class NumberedSink final : public PacketSink
{
  public:
    NumberedSink(Arrivals& arrivals, size_t number)
        : m_arrivals(arrivals),
          m_number(number)
    {
    }

    void Receive(int64_t now, const Packet&, const PacketExtras*) override
    {
        m_arrivals[m_number] = now;
    }

  private:
    Arrivals& m_arrivals;
    size_t m_number;
};

class ParkingLotTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        std::vector<Departure> schedule = MakeSchedule();
        const Arrivals theirs = RunNs3(schedule);
        DoTeardownSimulator();
        const Arrivals ours = RunOurs(schedule);
        const auto dropped = std::count(theirs.begin(), theirs.end(), -1);
        NS_TEST_EXPECT_MSG_GT(dropped, 50, "queues overflow");
        NS_TEST_EXPECT_MSG_LT(dropped, static_cast<int64_t>(schedule.size()) / 2, "not all drop");
        for (size_t i = 0; i < schedule.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(ours[i], theirs[i], "datagram " << i);
        }
    }

    static void DoTeardownSimulator()
    {
        Ns3Simulator::Install();
    }

    /// One and a half times what the links carry, no two at the same time.
    static std::vector<Departure> MakeSchedule()
    {
        std::mt19937_64 random(7);
        std::uniform_int_distribution<int64_t> gap(1, 4 * MS);
        std::uniform_int_distribution<uint32_t> size(100, 1500);
        std::vector<Departure> schedule;
        for (uint32_t route = 0; route < PARKING_LOT_ROUTES.size(); ++route)
        {
            for (int64_t time = gap(random); time < SECOND; time += gap(random))
            {
                schedule.push_back({route, time, size(random)});
            }
        }
        return schedule;
    }

    static Arrivals RunOurs(const std::vector<Departure>& schedule)
    {
        ExperimentSpec spec = MakeRow(PARKING_LOT);
        for (DuplexLinkSpec& link : spec.links)
        {
            link.forward.bufferPackets = QUEUE_PACKETS;
            link.forward.framing = PPP;
        }
        for (const auto& [first, last] : PARKING_LOT_ROUTES)
        {
            AddRowRoute(spec, first, last);
        }
        Network network(TestLoop(), spec);
        std::vector<Channel> channels;
        for (uint32_t route = 0; route < spec.routes.size(); ++route)
        {
            channels.push_back(network.ChannelFrom(route, End::CLIENT, 0));
        }
        Arrivals arrivals(schedule.size(), -1);
        std::vector<std::unique_ptr<NumberedSink>> sinks;
        for (size_t i = 0; i < schedule.size(); ++i)
        {
            sinks.push_back(std::make_unique<NumberedSink>(arrivals, i));
            At(schedule[i].time, [&, i] {
                Packet packet{};
                packet.kind = PacketKind::DATAGRAM;
                packet.sink = sinks[i].get();
                channels[schedule[i].route].Send(schedule[i].time, packet, schedule[i].ipBytes);
            });
        }
        RunUntil(2 * SECOND);
        return arrivals;
    }

    static Arrivals RunNs3(const std::vector<Departure>& schedule)
    {
        using namespace ns3;
        NodeContainer hosts(static_cast<uint32_t>(PARKING_LOT.size() + 1));
        InternetStackHelper().Install(hosts);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
        std::vector<Ipv4Address> lastAddress; // of the host behind each link
        for (uint32_t i = 0; i < PARKING_LOT.size(); ++i)
        {
            PointToPointHelper link;
            const auto rate = static_cast<uint64_t>(PARKING_LOT[i].first);
            link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
            link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(PARKING_LOT[i].second)));
            const std::string limit = std::to_string(QUEUE_PACKETS) + "p";
            link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(limit));
            const NetDeviceContainer devices = link.Install(hosts.Get(i), hosts.Get(i + 1));
            lastAddress.push_back(addresses.Assign(devices).GetAddress(1));
            TrafficControlHelper().Uninstall(devices); // FQ-CoDel, which drops
            addresses.NewNetwork();
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();

        Arrivals arrivals(schedule.size(), -1);
        std::map<uint64_t, size_t> numbers; // by the packet's uid
        constexpr uint16_t PORT = 9;
        std::vector<Ptr<Socket>> sockets;
        for (uint32_t i = 0; i < hosts.GetN(); ++i)
        {
            Ptr<Socket> socket = Socket::CreateSocket(hosts.Get(i), UdpSocketFactory::GetTypeId());
            socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            socket->SetRecvCallback(Callback<void, Ptr<Socket>>([&](Ptr<Socket> from) {
                while (Ptr<ns3::Packet> packet = from->Recv())
                {
                    arrivals[numbers.at(packet->GetUid())] = Simulator::Now().GetNanoSeconds();
                }
            }));
            sockets.push_back(socket);
        }
        for (size_t i = 0; i < schedule.size(); ++i)
        {
            At(schedule[i].time, [&, i] {
                const auto [first, last] = PARKING_LOT_ROUTES[schedule[i].route];
                auto packet = Create<ns3::Packet>(schedule[i].ipBytes - IP_AND_UDP);
                numbers[packet->GetUid()] = i;
                sockets[first]->SendTo(packet, 0, InetSocketAddress(lastAddress[last], PORT));
            });
        }
        RunUntil(2 * SECOND);
        return arrivals;
    }
};

ADD_CASE(ParkingLotTest,
         "A parking lot drops the datagrams that ns-3's drops, and delivers the "
         "others when it does");

/// Draws networks: hosts in a row with shortcuts, flows of every kind in both directions, and UDP.
class NetworkSource
{
  public:
    explicit NetworkSource(uint32_t seed)
        : m_random(seed)
    {
    }

    ExperimentSpec Draw()
    {
        ExperimentSpec spec;
        spec.seed = m_random();
        spec.duration = 300 * SECOND;
        spec.probeInterval = 100 * MS;
        const auto hosts = static_cast<uint32_t>(Between(3, 6));
        for (uint32_t i = 0; i < hosts; ++i)
        {
            AddHost(spec);
        }
        for (uint32_t i = 0; i + 1 < hosts; ++i)
        {
            AddLink(spec);
        }
        AddLink(spec); // from the last back to the first
        spec.tcp = MakeRelaySpec(false).tcp;
        const auto flows = Between(1, 5);
        for (uint64_t i = 0; i < flows; ++i)
        {
            AddFlow(spec);
        }
        for (uint64_t i = Between(0, 2); i > 0; --i)
        {
            FlowSpec source;
            source.route = DrawRoute(spec);
            source.sender = DrawEnd();
            source.stop = 5 * SECOND;
            source.datagrams = DatagramSpec{.rate = 1e6, .last = 1'000, .header = 28};
            source.role = FlowRole::CROSS_TRAFFIC;
            spec.flows.push_back(source);
        }
        return spec;
    }

  private:
    void AddLink(ExperimentSpec& spec)
    {
        DuplexLinkSpec& link = spec.links.emplace_back();
        SetRtt(link, static_cast<int64_t>(Between(0, 50)) * MS);
        for (LinkSpec* way : {&link.forward, &link.reverse})
        {
            way->rate = 1e6 * static_cast<double>(Between(1, 20));
            way->bufferBytes = Between(5'000, 100'000);
            way->loss = Between(0, 1) ? 0.01 : 0;
            way->lossPosition = LinkPosition::AFTER;
            if (Between(0, 3) == 0)
            {
                way->queue = FqCodelSpec{.target = 5 * MS,
                                         .interval = 100 * MS,
                                         .quantum = 1'514,
                                         .queues = 64};
            }
        }
    }

    End DrawEnd()
    {
        return Between(0, 1) ? End::CLIENT : End::SERVER;
    }

    /// Along the row, one way or the other, or by the shortcut; back perhaps the other way.
    uint32_t DrawRoute(ExperimentSpec& spec)
    {
        const auto last = static_cast<uint32_t>(spec.hosts.size() - 1);
        auto client = static_cast<uint32_t>(Between(0, last));
        auto server = static_cast<uint32_t>(Between(0, last - 1));
        server += server >= client;
        spec.routes.push_back(
            {{client, server}, {Walk(spec, client, server), Walk(spec, server, client)}});
        return static_cast<uint32_t>(spec.routes.size() - 1);
    }

    /// From host to host round the ring that row and shortcut are.
    std::vector<RouteStepSpec> Walk(const ExperimentSpec& spec, uint32_t from, uint32_t to)
    {
        const auto hosts = static_cast<uint32_t>(spec.hosts.size());
        const bool isUp = Between(0, 1);
        std::vector<RouteStepSpec> steps;
        for (uint32_t at = from; at != to;)
        {
            const uint32_t next = (at + (isUp ? 1 : hosts - 1)) % hosts;
            const uint32_t link =
                std::max(at, next) - std::min(at, next) == 1 ? std::min(at, next) : hosts - 1;
            const bool isSeam = link == hosts - 1;
            steps.push_back({link, isSeam ? at != 0 : at > next});
            at = next;
        }
        return steps;
    }

    void AddFlow(ExperimentSpec& spec)
    {
        FlowSpec flow = MakeFlowSpec();
        flow.route = DrawRoute(spec);
        flow.sender = DrawEnd();
        flow.cc.name = flow.carrierCc.name = Between(0, 1) ? "bbr" : "cubic";
        flow.preamble = 37;
        flow.bytes = Between(1, 200'000);
        flow.start = flow.dataStart = static_cast<int64_t>(Between(0, 1'000)) * MS;
        const auto kind = Between(0, 2);
        if (kind == 1)
        {
            RelaySpec relay = MakeRelay(Between(0, 1));
            relay.hops.emplace_back().route = flow.route;
            spec.tunnels.emplace_back(relay);
            flow.appTcp = APP_TCP;
            flow.targetTcp = TARGET_TCP;
        }
        else if (kind == 2)
        {
            DatagramTunnelSpec tunnel;
            tunnel.route = flow.route;
            for (uint32_t ipBytes = 0; ipBytes <= 1500; ++ipBytes)
            {
                tunnel.outer.push_back(ipBytes > 1'440
                                           ? std::vector<uint32_t>{1'400, ipBytes - 1'320}
                                           : std::vector<uint32_t>{ipBytes + 60});
            }
            tunnel.end = {{1000}, {1000}, {3'511, 1.3}, {2'903, 1.7}, false};
            spec.tunnels.emplace_back(tunnel);
        }
        if (kind > 0)
        {
            flow.tunnel = static_cast<uint32_t>(spec.tunnels.size() - 1);
        }
        spec.flows.push_back(flow);
    }

    uint64_t Between(uint64_t least, uint64_t most)
    {
        return std::uniform_int_distribution<uint64_t>(least, most)(m_random);
    }

    std::mt19937_64 m_random;
};

class NetworkConservationTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        NetworkSource source(20);
        for (int run = 0; run < 150; ++run)
        {
            ExperimentSpec spec = source.Draw();
            const std::string what = "run " + std::to_string(run) + ": " + FormatSpec(spec);
            const ExperimentResult result = RunExperiment(spec);
            for (size_t i = 0; i < result.flows.size(); ++i) // cross traffic comes behind them
            {
                const FlowSpec& flow = spec.flows[i];
                const uint64_t preamble = flow.sender == End::SERVER ? 0 : flow.preamble;
                NS_TEST_ASSERT_MSG_EQ(result.flows[i].totalBytes, flow.bytes + preamble, what);
            }
            for (const DuplexLinkResult& link : result.links)
            {
                NS_TEST_EXPECT_MSG_LT_OR_EQ(link.forward.utilisation, 1 + 1e-9, what);
                NS_TEST_EXPECT_MSG_LT_OR_EQ(link.reverse.utilisation, 1 + 1e-9, what);
            }
            std::erase_if(spec.flows, [](const FlowSpec& it) { return it.role == FlowRole::FLOW; });
            CheckDatagrams(RunExperiment(spec), spec, what);
        }
    }

    /// Without flows, what a link has not passed on is what a source misses.
    void CheckDatagrams(const ExperimentResult& result,
                        const ExperimentSpec& spec,
                        const std::string& what)
    {
        uint64_t missing = 0;
        uint64_t crossings = 0;
        for (size_t i = 0; i < spec.flows.size(); ++i)
        {
            missing += result.crossTraffic[i].sent - result.crossTraffic[i].received;
            const FlowSpec& source = spec.flows[i];
            crossings += result.crossTraffic[i].received *
                         spec.routes[source.route].sent[source.sender].size();
        }
        uint64_t lost = 0;
        uint64_t passed = 0;
        for (const DuplexLinkResult& link : result.links)
        {
            for (const LinkResult* way : {&link.forward, &link.reverse})
            {
                lost += way->queueDrops + way->randomLosses;
                passed += way->packets - way->queueDrops - way->randomLosses;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(missing, lost, what);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(passed, crossings, what);
    }
};

ADD_CASE(NetworkConservationTest,
         "Whatever the network and its tunnels, every byte arrives once, and every "
         "datagram arrives or was lost at a link");

} // namespace
