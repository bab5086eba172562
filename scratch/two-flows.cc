/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Two flows share a bottleneck: a starting point for programs on the models, to copy and change.
 *
 * Everything between the applications is put together by hand here, which tunnelcc::World does for
 * whole experiments (models/experiment/world.h, with tunnels), and printed instead of recorded.
 * Copy this file to scratch/NAME.cc, run `make programs`, then `build/release/scratch/NAME --help`.
 * Where to start: another topology in Dumbbell, other traffic in Flow, other columns in Report.
 */
#include "congestion/congestion-control.h"
#include "event/time-units.h"
#include "host/cpu.h"
#include "interop/ns3-simulator.h"
#include "path/path.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "transport/endpoint.h"

#include "ns3/command-line.h"
#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace tunnelcc;

namespace
{

/// What the command line sets.
struct Options
{
    std::string first{"bbr"};
    std::string second{"cubic"};
    ns3::DataRate rate{"50Mbps"};
    ns3::Time rtt{ns3::MilliSeconds(40)};
    double buffer{1}; //!< in bandwidth-delay products
    double loss{0};   //!< probability
    ns3::Time headStart{ns3::Seconds(5)};
    ns3::Time duration{ns3::Seconds(30)};
    uint64_t seed{1};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    ns3::CommandLine cmd(__FILE__);
    cmd.AddValue("first", "congestion control of the first flow", options.first);
    cmd.AddValue("second", "congestion control of the second flow", options.second);
    cmd.AddValue("rate", "bottleneck rate, such as 50Mbps", options.rate);
    cmd.AddValue("rtt", "base round-trip time, such as 40ms", options.rtt);
    cmd.AddValue("buffer", "bottleneck buffer in bandwidth-delay products", options.buffer);
    cmd.AddValue("loss", "probability that a data packet is lost", options.loss);
    cmd.AddValue("headStart", "how much earlier the first flow starts", options.headStart);
    cmd.AddValue("duration", "simulated time, such as 30s", options.duration);
    cmd.AddValue("seed", "of every random draw", options.seed);
    cmd.Parse(argc, argv);
    if (options.rate.GetBitRate() == 0 || !options.rtt.IsStrictlyPositive() ||
        !options.duration.IsStrictlyPositive() || options.headStart.IsStrictlyNegative())
    {
        throw std::invalid_argument("rate, rtt and duration must be more than 0, headStart not "
                                    "negative");
    }
    if (options.buffer < 0.01)
    {
        throw std::invalid_argument("buffer must be at least 0.01 bandwidth-delay products");
    }
    if (options.loss < 0 || options.loss >= 1)
    {
        throw std::invalid_argument("loss must be at least 0 and less than 1");
    }
    return options;
}

/// The network: one bottleneck for the data; ACKs return without limit.
class Dumbbell
{
  public:
    explicit Dumbbell(const Options& options)
        : m_rtt(options.rtt.GetNanoSeconds()),
          m_forward(Ns3Simulator::Loop(), Bottleneck(options), PathStreams::Forward(options.seed)),
          m_reverse(Ns3Simulator::Loop())
    {
    }

    Channel ToServer()
    {
        return Channel(m_forward, m_rtt / 2);
    }

    Channel ToClient()
    {
        return Channel(m_reverse, m_rtt - m_rtt / 2);
    }

    /// Bytes that wait at the bottleneck at time `now`, ns.
    uint64_t Queue(int64_t now)
    {
        return m_forward.GetLink()->WaitingBytes(now);
    }

    uint64_t Drops()
    {
        return m_forward.GetLink()->Drops().all;
    }

  private:
    static LinkSpec Bottleneck(const Options& options)
    {
        LinkSpec link;
        link.rate = static_cast<double>(options.rate.GetBitRate());
        link.bufferBytes =
            static_cast<uint64_t>(options.buffer * link.rate * options.rtt.GetSeconds() / 8);
        link.loss = options.loss;
        link.lossPosition = LinkPosition::AFTER;
        return link;
    }

    int64_t m_rtt; //!< ns
    PathDirection m_forward;
    PathDirection m_reverse;
};

/// One TCP connection with a bulk transfer on it.
class Flow
{
  public:
    Flow(const std::string& congestion, int64_t congestionSeed, Dumbbell& network)
        : m_client(Ns3Simulator::Loop(),
                   m_tcp,
                   network.ToServer(),
                   MakeCongestionControl(congestion, {}, congestionSeed)),
          m_server(Ns3Simulator::Loop(),
                   m_tcp,
                   network.ToClient(),
                   MakeCongestionControl(congestion, {}, congestionSeed + 1)),
          m_sender(m_client, m_transfer, true, m_thread, 0),
          m_receiver(m_server, m_transfer, false, m_thread, 0)
    {
        TcpEndpoint::Join(m_client, m_server);
    }

    /// Connect at `time`; the sender then writes as much as its socket takes.
    void StartAt(ns3::Time time)
    {
        ns3::Simulator::Schedule(time, [this, time] { m_client.Connect(time.GetNanoSeconds()); });
    }

    const Sender& GetSender() const
    {
        return m_client.GetSender();
    }

    /// Bytes that the receiving application has read.
    uint64_t BytesRead() const
    {
        return m_receiver.Total();
    }

  private:
    static TcpSpec Sockets()
    {
        constexpr uint64_t NEVER_LIMITS = 64 << 20;
        TcpSpec tcp;    // as Linux 6.18 sets up a connection over Ethernet
        tcp.mss = 1448; // MTU 1500, timestamps
        tcp.headerBytes = 52;
        tcp.synBytes = 60;
        tcp.receiveGrowth = ReceiveGrowth::OUT_OF_ORDER;
        tcp.initialWindow = 10;
        tcp.minRto = 200 * MS;
        tcp.delayedAck = 40 * MS;
        tcp.ackEvery = 2;
        tcp.pingPongAnswers = 1;
        tcp.pushedAcks = true;
        tcp.pacingQuantum = 1 * MS;
        tcp.tsoDeferralLimit = 1 * MS;
        tcp.prrSlowStart = PrrSlowStart::PROGRESS;
        tcp.receiveWindow = NEVER_LIMITS;
        tcp.sendBuffer = NEVER_LIMITS;
        return tcp;
    }

    static FlowSpec Transfer()
    {
        FlowSpec flow; // from the client, without end
        flow.writeSize = 131072;
        return flow;
    }

    const TcpSpec m_tcp{Sockets()};        //!< of both ends
    const FlowSpec m_transfer{Transfer()}; //!< of both applications
    TcpEndpoint m_client;
    TcpEndpoint m_server;
    Cores m_cores{Ns3Simulator::Loop(), 1, 0};
    Cpu m_cpu{m_cores, 1};
    CpuThread m_thread{m_cpu}; //!< of both applications, which cost nothing here
    BulkSender m_sender;
    BulkReceiver m_receiver;
};

/// Prints goodput, congestion window and queue ten times in a run.
class Report
{
  public:
    Report(const Options& options, Dumbbell& network, std::array<Flow*, 2> flows)
        : m_interval(options.duration / LINES),
          m_rate(static_cast<double>(options.rate.GetBitRate())),
          m_network(network),
          m_flows(flows)
    {
        std::printf("%8s  %-29s%-29s%s\n",
                    "time",
                    options.first.c_str(),
                    options.second.c_str(),
                    "bottleneck");
        for (int line = 1; line <= LINES; ++line)
        {
            ns3::Simulator::Schedule(line * m_interval, &Report::Print, this);
        }
    }

  private:
    static constexpr int LINES = 10;

    void Print()
    {
        const ns3::Time now = ns3::Simulator::Now();
        std::printf("%6.1f s", now.GetSeconds());
        for (size_t i = 0; i < m_flows.size(); ++i)
        {
            const uint64_t read = m_flows[i]->BytesRead();
            std::printf("  %6.2f Mbit/s %5u segments",
                        8e-6 * static_cast<double>(read - m_lastRead[i]) / m_interval.GetSeconds(),
                        m_flows[i]->GetSender().State().cwnd);
            m_lastRead[i] = read;
        }
        const auto waiting = static_cast<double>(m_network.Queue(now.GetNanoSeconds()));
        std::printf("  queue %5.1f ms\n", 8e3 * waiting / m_rate);
    }

    ns3::Time m_interval;
    double m_rate; //!< bit/s
    Dumbbell& m_network;
    std::array<Flow*, 2> m_flows;
    std::array<uint64_t, 2> m_lastRead{};
};

void
Run(const Options& options)
{
    Ns3Simulator::Install(); // before anything else touches the simulator
    Dumbbell network(options);
    const auto seed = static_cast<int64_t>(options.seed);
    Flow first(options.first, 4 * seed, network);
    Flow second(options.second, 4 * seed + 2, network);
    first.StartAt(ns3::Seconds(0));
    second.StartAt(options.headStart);
    Report report(options, network, {&first, &second});

    ns3::Simulator::Stop(options.duration);
    ns3::Simulator::Run();

    for (const Flow* flow : {&first, &second})
    {
        const SenderCounters& counters = flow->GetSender().Counters();
        std::printf("%s: %.2f MB read, %llu of %llu segments retransmitted\n",
                    flow == &first ? options.first.c_str() : options.second.c_str(),
                    1e-6 * static_cast<double>(flow->BytesRead()),
                    static_cast<unsigned long long>(counters.retransmits),
                    static_cast<unsigned long long>(counters.segments));
    }
    std::printf("%llu packets dropped by the full queue\n",
                static_cast<unsigned long long>(network.Drops()));
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        Run(ParseOptions(argc, argv));
    }
    catch (const std::invalid_argument& error)
    {
        std::cerr << error.what() << std::endl;
        return 2;
    }
    ns3::Simulator::Destroy();
    return 0;
}
