/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * A condition of the validation on devices of ns-3, with its applications on sockets of
 * tunnelcc::LinuxTcpSocket: flows over a bottleneck, each between hosts of its own, with half of
 * the flow's RTT behind the bottleneck. tests/python/validation/test_on_devices.py runs it. It
 * prints what validation/measure.py defines, as JSON. tests/bench/sockets.py runs it with sockets
 * of ns-3, too, and compares what they cost.
 */
#include "socket/linux-tcp-socket-factory.h"
#include "transport/endpoint.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5001;

struct Options
{
    DataRate rate;
    uint32_t buffer{0}; //!< packets that wait
    double loss{0};     //!< of each data packet, behind the queue
    Time jitter;        //!< mean lateness of a data packet
    uint32_t write{0};  //!< bytes
    bool noDelay{false};
    uint32_t tcpRmem{0}; //!< bytes
    uint32_t tcpWmem{0};
    Time warmup;
    Time duration;
    std::string flows; //!< CC/RTT/START,…
    bool isStock{false};
};

/// A flow, and what is measured of it.
struct Flow
{
    std::string cc;
    Time rtt;
    Time start;
    Time steady; //!< when its measurement begins
    Ptr<BulkSendApplication> source;
    Ptr<PacketSink> sink;
    uint64_t before{0};       //!< bytes that were read when it begins
    std::vector<double> rtts; //!< smoothed, ms

    Ptr<tunnelcc::LinuxTcpSocket> Socket() const
    {
        return DynamicCast<tunnelcc::LinuxTcpSocket>(source->GetSocket());
    }
};

/// Mean time that packets wait in a FIFO queue.
class Waits
{
  public:
    explicit Waits(Time warmup)
        : m_warmup(warmup)
    {
    }

    void OnEnqueue(Ptr<const Packet> /* packet */)
    {
        m_since.push_back(Simulator::Now());
    }

    void OnDequeue(Ptr<const Packet> /* packet */)
    {
        if (Simulator::Now() >= m_warmup)
        {
            m_sum += (Simulator::Now() - m_since.front()).GetSeconds();
            ++m_packets;
        }
        m_since.pop_front();
    }

    double Mean() const
    {
        return m_packets > 0 ? m_sum / m_packets : 0;
    }

  private:
    const Time m_warmup;
    std::deque<Time> m_since;
    double m_sum{0};
    double m_packets{0};
};

/// A channel whose packets are late at random, and stay in order, in one direction.
class LateChannel final : public PointToPointChannel
{
  public:
    /// \param from where late packets come from  \param mean of a half-normal distribution
    void SetLate(Ptr<PointToPointNetDevice> from, Time mean)
    {
        m_from = PeekPointer(from);
        m_deviation = mean.GetSeconds() * std::sqrt(M_PI / 2);
    }

    bool TransmitStart(Ptr<const Packet> packet,
                       Ptr<PointToPointNetDevice> from,
                       Time sending) override
    {
        if (PeekPointer(from) == m_from)
        {
            const Time late = Seconds(std::abs(m_deviation * m_normal->GetValue()));
            m_last = std::max(m_last, Simulator::Now() + sending + late);
            sending = m_last - Simulator::Now();
        }
        return PointToPointChannel::TransmitStart(packet, from, sending);
    }

  private:
    const PointToPointNetDevice* m_from{nullptr};
    double m_deviation{0}; //!< s
    Time m_last;           //!< when the last packet has left
    Ptr<NormalRandomVariable> m_normal{CreateObject<NormalRandomVariable>()};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rate", "of the bottleneck", options.rate);
    cmd.AddValue("buffer", "packets that wait at the bottleneck", options.buffer);
    cmd.AddValue("loss", "probability", options.loss);
    cmd.AddValue("jitter", "mean lateness of a packet, half-normal", options.jitter);
    cmd.AddValue("write", "bytes at once", options.write);
    cmd.AddValue("nodelay", "TCP_NODELAY", options.noDelay);
    cmd.AddValue("rmem", "largest receive buffer, bytes", options.tcpRmem);
    cmd.AddValue("wmem", "largest send buffer, bytes", options.tcpWmem);
    cmd.AddValue("warmup", "time that the queueing delay leaves out", options.warmup);
    cmd.AddValue("duration", "simulated time", options.duration);
    cmd.AddValue("flows", "CC/RTT/START,…", options.flows);
    cmd.AddValue("stock",
                 "sockets of ns-3; CC is a TypeId, the same for all flows",
                 options.isStock);
    cmd.Parse(argc, argv);
    return options;
}

std::vector<Flow>
ParseFlows(const Options& options)
{
    std::vector<Flow> flows;
    for (const std::string& text : SplitString(options.flows, ","))
    {
        const StringVector parts = SplitString(text, "/");
        Flow flow;
        flow.cc = parts.at(0);
        flow.rtt = Time(parts.at(1));
        flow.start = Time(parts.at(2));
        // As in validation/measure.py.
        flow.steady = std::max(options.warmup, flow.start + Seconds(3));
        flows.push_back(flow);
    }
    return flows;
}

/// A device of a node, with a drop-tail queue.
Ptr<PointToPointNetDevice>
AddDevice(Ptr<Node> node, DataRate rate, uint32_t buffer)
{
    auto device = CreateObject<PointToPointNetDevice>();
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, buffer));
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(rate);
    node->AddDevice(device);
    return device;
}

/// Connect a pair of devices. \returns the address of the second
Ipv4Address
Connect(Ptr<PointToPointChannel> channel,
        Ptr<PointToPointNetDevice> from,
        Ptr<PointToPointNetDevice> to,
        Ipv4AddressHelper& addresses)
{
    from->Attach(channel);
    to->Attach(channel);
    NetDeviceContainer devices(from);
    devices.Add(to);
    const Ipv4Address address = addresses.Assign(devices).GetAddress(1);
    addresses.NewNetwork();
    return address;
}

void
Sample(std::vector<Flow>& flows)
{
    for (Flow& flow : flows)
    {
        if (flow.Socket() && Simulator::Now() >= flow.steady)
        {
            flow.rtts.push_back(1e3 * flow.Socket()->GetRtt().GetSeconds());
        }
    }
    Simulator::Schedule(MilliSeconds(100), &Sample, std::ref(flows));
}

double
Goodput(const Flow& flow, Time end)
{
    return 8e-6 * static_cast<double>(flow.sink->GetTotalRx() - flow.before) /
           (end - flow.steady).GetSeconds();
}

/// \param end of the simulation
void
PrintFlow(Flow& flow, Time end)
{
    std::printf("{\"cc\": \"%s\", \"goodput\": %.6f", flow.cc.c_str(), Goodput(flow, end));
    if (const auto socket = flow.Socket(); socket && !flow.rtts.empty())
    {
        std::sort(flow.rtts.begin(), flow.rtts.end());
        const auto count = static_cast<double>(flow.rtts.size());
        const auto counters = socket->Endpoint()->GetSender().Counters();
        std::printf(", \"rtt_mean\": %.6f, \"rtt_p95\": %.6f, \"retransmits\": %llu, \"segments\": "
                    "%llu",
                    std::accumulate(flow.rtts.begin(), flow.rtts.end(), 0.0) / count,
                    flow.rtts[flow.rtts.size() * 95 / 100],
                    static_cast<unsigned long long>(counters.retransmits),
                    static_cast<unsigned long long>(counters.segments));
    }
    std::printf("}");
}

/// Let sockets of ns-3 be as ours are.
void
SetStock(const Options& options, const std::string& cc)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(cc));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.tcpWmem));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.tcpRmem));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(options.noDelay));
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    std::vector<Flow> flows = ParseFlows(options);
    const std::string type =
        options.isStock ? "ns3::TcpSocketFactory" : "tunnelcc::LinuxTcpSocketFactory";
    if (options.isStock)
    {
        SetStock(options, flows.front().cc);
    }
    const auto count = static_cast<uint32_t>(flows.size());
    NodeContainer routers(2);
    NodeContainer senders(count);
    NodeContainer receivers(count);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    // Nothing but the bottleneck holds up or drops: neither hosts, nor the way of the ACKs.
    const auto addFast = [](Ptr<Node> node) {
        return AddDevice(node, DataRate("10Gbps"), 1'000'000);
    };
    const auto bottleneck = AddDevice(routers.Get(0), options.rate, options.buffer);
    const auto behind = addFast(routers.Get(1));
    auto channel = CreateObject<LateChannel>();
    channel->SetLate(bottleneck, options.jitter);
    Connect(channel, bottleneck, behind, addresses);
    if (options.loss > 0)
    {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(options.loss);
        behind->SetReceiveErrorModel(errors);
    }
    Waits waits(options.warmup);
    const auto queue = bottleneck->GetQueue();
    queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Waits::OnEnqueue, &waits));
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Waits::OnDequeue, &waits));

    tunnelcc::LinuxTcpHelper tcp;
    tcp.SetAttribute("TcpNoDelay", BooleanValue(options.noDelay));
    tcp.SetAttribute("RcvBufSize", UintegerValue(options.tcpRmem));
    tcp.SetAttribute("SndBufSize", UintegerValue(options.tcpWmem));
    tcp.Install(receivers);
    for (uint32_t i = 0; i < count; ++i)
    {
        Flow& flow = flows[i];
        Connect(CreateObject<PointToPointChannel>(),
                addFast(senders.Get(i)),
                addFast(routers.Get(0)),
                addresses);
        auto half = CreateObject<PointToPointChannel>();
        half->SetAttribute("Delay", TimeValue(flow.rtt / 2));
        const Ipv4Address address =
            Connect(half, addFast(routers.Get(1)), addFast(receivers.Get(i)), addresses);
        PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), PORT));
        flow.sink = DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0));
        BulkSendHelper source(type, InetSocketAddress(address, PORT));
        source.SetAttribute("SendSize", UintegerValue(options.write));
        if (!options.isStock)
        {
            tcp.SetAttribute("CongestionControl", StringValue(flow.cc));
            tcp.Install(senders.Get(i));
        }
        const auto sources = source.Install(senders.Get(i));
        sources.Start(flow.start);
        flow.source = DynamicCast<BulkSendApplication>(sources.Get(0));
        Simulator::Schedule(flow.steady, [&flow] { flow.before = flow.sink->GetTotalRx(); });
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(MilliSeconds(100), &Sample, std::ref(flows));
    Simulator::Stop(options.duration);
    Simulator::Run();

    std::printf("{\"queue_ms\": %.6f, \"packets\": %u, \"flows\": [",
                1e3 * waits.Mean(),
                queue->GetTotalReceivedPackets());
    for (uint32_t i = 0; i < count; ++i)
    {
        std::printf("%s", i > 0 ? ", " : "");
        PrintFlow(flows[i], options.duration);
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
