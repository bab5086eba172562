/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The same transfer twice: through sockets and devices of ns-3 on its default simulator, and on the
 * engine's own path.
 */
#include "congestion/congestion-control.h"
#include "event/time-units.h"
#include "host/cpu.h"
#include "interop/ns3-simulator.h"
#include "path/path.h"
#include "socket/linux-tcp-settings.h"
#include "socket/linux-tcp-socket-factory.h"
#include "support/simulation-test-case.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "transport/endpoint.h"

#include "ns3/boolean.h"
#include "ns3/bulk-send-application.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/error-model.h"
#include "ns3/global-value.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <string>

namespace tunnelcc
{

namespace
{

TEST_SUITE("tunnelcc-socket-dumbbell");

constexpr int64_t RATE = 20'000'000;       // bit/s
constexpr int64_t RTT = 40 * MS;           // without queues
constexpr uint64_t BUFFER = RATE / 8 / 25; // bytes, one bandwidth-delay product
constexpr uint32_t PPP = 2;                // bytes of framing on ns-3's point-to-point links
constexpr uint32_t WRITE = 131'072;        // bytes at once
constexpr uint32_t LOSS_PERIOD = 500;      // packets
constexpr int64_t TARGET = 5 * MS;         // of CoDel
/// Of a full segment, ns: so much earlier it leaves ns-3's queue disc, for the device's queue.
constexpr int64_t SERIALIZATION = (1500 + PPP) * 8 * SECOND / RATE;
constexpr int64_t DURATION = 10 * SECOND;
constexpr int64_t SAMPLE = 20 * MS;

/// What disturbs the flow.
enum class Disturbance
{
    NONE,
    LOSS, //!< of each LOSS_PERIOD-th packet, behind the queue
    CODEL
};

/// What a run shows.
struct Outcome
{
    double received{0};    //!< bytes
    double retransmits{0}; //!< segments
    double cwnd{0};        //!< mean, segments
};

/// Mean of the congestion window, sampled from the third second on.
class WindowMean
{
  public:
    void Add(int64_t now, const Sender& sender)
    {
        if (now >= 3 * SECOND)
        {
            m_sum += sender.State().cwnd;
            ++m_count;
        }
    }

    double Get() const
    {
        return m_sum / m_count;
    }

  private:
    double m_sum{0};
    double m_count{0};
};

/// Loses each LOSS_PERIOD-th packet.
class PeriodicLoss final : public ns3::ErrorModel
{
  private:
    bool DoCorrupt(ns3::Ptr<ns3::Packet> /* packet */) override
    {
        return ++m_packets % LOSS_PERIOD == 0;
    }

    void DoReset() override
    {
    }

    uint32_t m_packets{0};
};

/// On a dumbbell of ns-3's devices.
Outcome
RunOnDevices(const std::string& congestion, Disturbance disturbance)
{
    using namespace ns3;
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
    NodeContainer nodes(4);
    InternetStackHelper().Install(nodes);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue(std::to_string(RATE) + "bps"));
    bottleneck.SetChannelAttribute("Delay", TimeValue(NanoSeconds(RTT / 2)));
    const bool isCodel = disturbance == Disturbance::CODEL;
    bottleneck.SetQueue("ns3::DropTailQueue",
                        "MaxSize",
                        StringValue(isCodel ? "1p" : std::to_string(BUFFER) + "B"));
    const NetDeviceContainer links[] = {access.Install(nodes.Get(0), nodes.Get(1)),
                                        bottleneck.Install(nodes.Get(1), nodes.Get(2)),
                                        access.Install(nodes.Get(2), nodes.Get(3))};
    if (isCodel)
    {
        TrafficControlHelper codel;
        codel.SetRootQueueDisc("ns3::CoDelQueueDisc",
                               "MaxSize",
                               StringValue("10000p"),
                               "Target",
                               TimeValue(NanoSeconds(TARGET - SERIALIZATION)),
                               "UseEcn",
                               BooleanValue(false));
        codel.Install(links[1].Get(0));
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4Address server;
    for (const NetDeviceContainer& link : links)
    {
        server = addresses.Assign(link).GetAddress(1);
        addresses.NewNetwork();
        for (uint32_t side = 0; side < 2; ++side)
        {
            if (!(isCodel && &link == &links[1] && side == 0))
            {
                TrafficControlHelper().Uninstall(link.Get(side)); // FQ-CoDel, which drops
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    if (disturbance == Disturbance::LOSS)
    {
        links[1].Get(1)->SetAttribute("ReceiveErrorModel",
                                      PointerValue(CreateObject<PeriodicLoss>()));
    }

    LinuxTcpHelper tcp;
    tcp.SetAttribute("CongestionControl", StringValue(congestion));
    tcp.InstallAll();
    const std::string type = "tunnelcc::LinuxTcpSocketFactory";
    BulkSendHelper source(type, InetSocketAddress(server, 5001));
    source.SetAttribute("SendSize", UintegerValue(WRITE));
    auto sender = DynamicCast<BulkSendApplication>(source.Install(nodes.Get(0)).Get(0));
    PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), 5001));
    auto receiver = DynamicCast<ns3::PacketSink>(sink.Install(nodes.Get(3)).Get(0));
    WindowMean cwnd;
    for (int64_t time = SAMPLE; time < DURATION; time += SAMPLE)
    {
        Simulator::Schedule(NanoSeconds(time), [&] {
            const auto socket = DynamicCast<LinuxTcpSocket>(sender->GetSocket());
            cwnd.Add(Simulator::Now().GetNanoSeconds(), socket->Endpoint()->GetSender());
        });
    }
    Simulator::Stop(NanoSeconds(DURATION));
    Simulator::Run();
    const auto socket = DynamicCast<LinuxTcpSocket>(sender->GetSocket());
    const Outcome outcome{
        static_cast<double>(receiver->GetTotalRx()),
        static_cast<double>(socket->Endpoint()->GetSender().Counters().retransmits),
        cwnd.Get()};
    Simulator::Destroy();
    return outcome;
}

/// On the engine's own path.
Outcome
RunOnPath(const std::string& congestion, Disturbance disturbance)
{
    Ns3Simulator::Install();
    LinkSpec link;
    link.rate = RATE;
    link.framing = PPP;
    link.bufferBytes = BUFFER;
    if (disturbance == Disturbance::LOSS)
    {
        link.loss = 1.0 / LOSS_PERIOD;
        link.lossPattern = LossPattern::PERIODIC;
        link.lossPosition = LinkPosition::AFTER;
    }
    if (disturbance == Disturbance::CODEL)
    {
        link.bufferBytes = 0;
        link.bufferPackets = 10'000;
        link.queue = CodelSpec{TARGET, 100 * MS, false}; // the interval of ns-3's default
    }
    LinkSpec back;
    back.rate = RATE;
    back.framing = PPP;
    PathDirection forward(TestLoop(), link, PathStreams::Forward(1));
    PathDirection reverse(TestLoop(), back, PathStreams::Reverse(1));
    const TcpSpec client = MakeLinuxTcpSpec({}, 1448, 20, true);
    const TcpSpec server = MakeLinuxTcpSpec({}, 1448, 20, false);
    TcpEndpoint sender(TestLoop(),
                       client,
                       Channel(forward, RTT / 2),
                       MakeCongestionControl(congestion, {}, 1));
    TcpEndpoint receiver(TestLoop(),
                         server,
                         Channel(reverse, RTT / 2),
                         MakeCongestionControl(congestion, {}, 2));
    TcpEndpoint::Join(sender, receiver);
    FlowSpec flow;
    flow.writeSize = WRITE;
    Cores cores(TestLoop(), 1, 0);
    Cpu cpu(cores, 1);
    CpuThread thread(cpu);
    BulkSender source(sender, flow, true, thread, 0);
    BulkReceiver sink(receiver, flow, false, thread, 0);
    ns3::Simulator::ScheduleNow([&] { sender.Connect(0); });
    WindowMean cwnd;
    for (int64_t time = SAMPLE; time < DURATION; time += SAMPLE)
    {
        ns3::Simulator::Schedule(ns3::NanoSeconds(time),
                                 [&, time] { cwnd.Add(time, sender.GetSender()); });
    }
    ns3::Simulator::Stop(ns3::NanoSeconds(DURATION));
    ns3::Simulator::Run();
    const Outcome outcome{static_cast<double>(sink.Total()),
                          static_cast<double>(sender.GetSender().Counters().retransmits),
                          cwnd.Get()};
    ns3::Simulator::Destroy();
    return outcome;
}

/// The transfer is the same, whatever carries it.
class DumbbellTest : public ns3::TestCase
{
  public:
    DumbbellTest(const std::string& congestion, Disturbance disturbance, const std::string& name)
        : ns3::TestCase(congestion + " over devices of ns-3 goes as on the engine's path, " + name),
          m_congestion(congestion),
          m_disturbance(disturbance)
    {
    }

  private:
    void DoRun() override
    {
        const Outcome devices = RunOnDevices(m_congestion, m_disturbance);
        const Outcome path = RunOnPath(m_congestion, m_disturbance);
        NS_TEST_EXPECT_MSG_EQ_TOL(devices.received, path.received, 0.01 * path.received, "goodput");
        NS_TEST_EXPECT_MSG_EQ_TOL(devices.retransmits,
                                  path.retransmits,
                                  0.05 * path.retransmits + 2,
                                  "retransmissions");
        NS_TEST_EXPECT_MSG_EQ_TOL(devices.cwnd, path.cwnd, 0.05 * path.cwnd, "cwnd");
    }

    void DoTeardown() override
    {
        ns3::Simulator::Destroy();
    }

    std::string m_congestion;
    Disturbance m_disturbance;
};

ADD_CASES
{
    for (const char* congestion : {"bbr", "cubic", "bbr3"})
    {
        AddCase(new DumbbellTest(congestion, Disturbance::NONE, "with a full buffer"));
        AddCase(new DumbbellTest(congestion, Disturbance::LOSS, "with loss"));
        AddCase(new DumbbellTest(congestion, Disturbance::CODEL, "with CoDel"));
    }
}

} // namespace

} // namespace tunnelcc
