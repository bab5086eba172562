/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The benchmark's baseline: bulk flows over ns-3's own TcpSocketBase, with none of tunnelcc's code.
 *
 * Two hosts and one PointToPoint link, the fewest events that stock ns-3 needs for this: the
 * sender's device is the bottleneck, its drop-tail queue the buffer, and packets are lost at
 * random where they arrive. SACK, timestamps, PRR and delayed ACKs are on, the initial window is
 * 10 segments and the minimum RTO 200 ms, as in tunnelcc.
 *
 * Prints one JSON object. A run that reaches the CPU limit stops and says how far it came.
 */
#include "measured-run.h"

#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5201;

/// What the command line sets.
struct Options
{
    std::string cc{"ns3::TcpBbr"};
    double rate{100e6};          //!< bit/s
    double rtt{0.1};             //!< s
    uint32_t bufferPackets{833}; //!< most packets waiting
    double loss{0};              //!< probability
    uint32_t flows{1};
    uint32_t window{3 << 20}; //!< receive window of a flow, bytes
    double duration{10};      //!< s
    double cpuLimit{60};      //!< s of CPU time
    uint32_t seed{1};
};

/// What a run counts.
struct Counters
{
    uint64_t dataSegments{0}; //!< sent into the path, retransmissions included
    uint64_t goodputBytes{0}; //!< read by the receiver
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "TypeId of the congestion control", options.cc);
    cmd.AddValue("rate", "bottleneck rate, bit/s", options.rate);
    cmd.AddValue("rtt", "base round-trip time, s", options.rtt);
    cmd.AddValue("buffer", "packets that may wait at the bottleneck", options.bufferPackets);
    cmd.AddValue("loss", "probability that a data packet is lost", options.loss);
    cmd.AddValue("flows", "number of flows", options.flows);
    cmd.AddValue("window", "receive window of a flow, bytes", options.window);
    cmd.AddValue("duration", "simulated time, s", options.duration);
    cmd.AddValue("cpu-limit", "CPU time after which to give up, s", options.cpuLimit);
    cmd.AddValue("seed", "run number of the random streams", options.seed);
    cmd.Parse(argc, argv);
    return options;
}

void
SetDefaults(const Options& options)
{
    // The send buffer also holds what waits to be sent, and so never limits.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * options.window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.window));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(options.cc)));
    RngSeedManager::SetRun(options.seed);
}

Ptr<PointToPointNetDevice>
AddDevice(Ptr<Node> node, Ptr<PointToPointChannel> channel, const char* address, QueueSize buffer)
{
    auto device = CreateObject<PointToPointNetDevice>();
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(buffer);
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    node->AddDevice(device);
    device->Attach(channel);

    auto ipv4 = node->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, "255.255.255.0"));
    ipv4->SetUp(interface);
    return device;
}

/// Two hosts and the link between them; returns the sender and the receiver.
std::pair<Ptr<Node>, Ptr<Node>>
BuildPath(const Options& options)
{
    auto sender = CreateObject<Node>();
    auto receiver = CreateObject<Node>();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(sender);
    stack.Install(receiver);

    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(Seconds(options.rtt / 2)));
    const QueueSize buffer(QueueSizeUnit::PACKETS, options.bufferPackets);
    const QueueSize ackBuffer(QueueSizeUnit::PACKETS, 1'000'000);
    auto bottleneck = AddDevice(sender, channel, "10.0.0.1", buffer);
    auto arrival = AddDevice(receiver, channel, "10.0.0.2", ackBuffer);
    const DataRate rate(static_cast<uint64_t>(options.rate));
    bottleneck->SetDataRate(rate);
    arrival->SetDataRate(rate);

    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(options.loss);
    arrival->SetReceiveErrorModel(errors);
    return {sender, receiver};
}

void
Listen(Ptr<Node> receiver, Counters& counters)
{
    auto socket = Socket::CreateSocket(receiver, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    socket->Listen();
    auto read = [&counters](Ptr<Socket> connection) {
        while (auto packet = connection->Recv())
        {
            counters.goodputBytes += packet->GetSize();
        }
    };
    socket->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        [read](Ptr<Socket> connection, const Address&) { connection->SetRecvCallback(read); });
}

/// Opens a connection and keeps its send buffer full.
void
StartFlow(Ptr<Node> sender, Counters& counters)
{
    auto socket = Socket::CreateSocket(sender, TcpSocketFactory::GetTypeId());
    socket->TraceConnectWithoutContext(
        "Tx",
        Callback<void, Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase>>(
            [&counters](Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>) {
                counters.dataSegments += packet->GetSize() > 0 ? 1 : 0;
            }));
    auto fill = [](Ptr<Socket> connection) {
        constexpr uint32_t WRITE = 128 * 1024;
        while (connection->GetTxAvailable() >= WRITE)
        {
            connection->Send(Create<Packet>(WRITE));
        }
    };
    socket->SetConnectCallback(fill, MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback([fill](Ptr<Socket> connection, uint32_t) { fill(connection); });
    socket->Bind();
    socket->Connect(InetSocketAddress("10.0.0.2", PORT));
}

/// Looks at the CPU time every simulated millisecond.
void
WatchCpu(double limit)
{
    if (CpuSeconds() > limit)
    {
        Simulator::Stop();
        return;
    }
    Simulator::Schedule(MilliSeconds(1), &WatchCpu, limit);
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    SetDefaults(options);
    auto [sender, receiver] = BuildPath(options);
    Counters counters;
    Listen(receiver, counters);
    for (uint32_t flow = 0; flow < options.flows; ++flow)
    {
        // TcpBbr's random stream is the same for all connections unless told otherwise.
        Config::SetDefault("ns3::TcpBbr::Stream", UintegerValue(1000 + flow));
        StartFlow(sender, counters);
    }

    const double before = CpuSeconds();
    WatchCpu(before + options.cpuLimit);
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();
    const double cpu = CpuSeconds() - before;
    const double simulated = Simulator::Now().GetSeconds();

    MeasuredRun{cpu > options.cpuLimit,
                simulated,
                cpu,
                counters.dataSegments,
                8.0 * counters.goodputBytes / simulated,
                Simulator::GetEventCount()}
        .Print();
    Simulator::Destroy();
    return 0;
}
