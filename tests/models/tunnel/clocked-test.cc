/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks that datagram tunnels which look ahead do to every packet what those do that have an event
 * for each of its steps: single programs, and whole experiments.
 */
#include "experiment/experiment.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"
#include "tunnel/clocked-server.h"
#include "tunnel/packet-server.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-clocked");

/// A packet offered to a program.
struct Offer
{
    int64_t time;
    uint32_t ipBytes;
    bool hasAck; //!< in its header
};

/// What a program did.
struct Record
{
    struct Note
    {
        int64_t time;
        uint32_t segment;
        uint32_t ackNumber; //!< 0: none
        bool operator==(const Note&) const = default;
    };

    std::vector<Note> notes;       //!< packets that it was done with
    std::vector<uint64_t> counts;  //!< packets offered, drops and the CPU's time, at each look
    std::vector<uint32_t> waiting; //!< at each look
    uint32_t maxWaiting{0};
};

/// Takes down what a program is done with.
class NoteTaker final : public PacketHandler
{
  public:
    explicit NoteTaker(Record& record)
        : m_record(record)
    {
    }

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t /* ipBytes */,
                   const PacketExtras* extras) override
    {
        m_record.notes.push_back({now, packet.segment, packet.hasAck ? extras->ackNumber : 0});
    }

  private:
    Record& m_record;
};

/// Offers the same packets to programs of both kinds, and looks at them at the same times.
class ProgramTest : public SimulationTestCase
{
  public:
    ProgramTest(uint32_t seed, const PacketCostSpec& cost, uint32_t limit)
        : SimulationTestCase("Programs on virtual clocks, seed " + std::to_string(seed)),
          m_random(seed),
          m_cost(cost),
          m_limit(limit)
    {
    }

  private:
    static constexpr int64_t END = 100 * US;
    static constexpr double SPEED = 1.7;

    void DoRun() override
    {
        DrawOffers();
        Record expected = Run(0, [&](Cpu& cpu) {
            m_thread = std::make_unique<CpuThread>(cpu);
            return std::make_unique<PacketServer>(*m_thread, m_cost, m_limit);
        });
        auto clocked = [&](int64_t slack) {
            return [=, this](Cpu& cpu) {
                return std::make_unique<ClockedServer>(cpu, m_cost, m_limit, slack);
            };
        };
        NS_TEST_EXPECT_MSG_GT(expected.counts[expected.counts.size() - 2], 0, "there were drops");
        Compare(Run(0, clocked(0)), expected, "in time");
        Compare(Run(0, clocked(3 * US)), expected, "handed over late");
        Record ahead = Run(5 * US, clocked(0));
        ahead.waiting = expected.waiting; // who offers ahead cannot ask for it
        Compare(ahead, expected, "offered ahead");
    }

    void DrawOffers()
    {
        std::uniform_int_distribution<int64_t> time(5 * US, 90 * US);
        std::uniform_int_distribution<uint32_t> bytes(40, 1500);
        for (uint32_t i = 0; i < 300; ++i)
        {
            m_offers.push_back({time(m_random), bytes(m_random), i % 4 == 0});
        }
        std::sort(m_offers.begin(), m_offers.end(), [](const Offer& a, const Offer& b) {
            return a.time < b.time;
        });
    }

    /// \param lead how long before their times packets are offered, ns
    template <class Make>
    Record Run(int64_t lead, const Make& make)
    {
        ns3::Simulator::Destroy();
        Record record;
        NoteTaker taker(record);
        Cores cores(TestLoop(), 1, 0);
        Cpu cpu(cores, SPEED);
        std::unique_ptr<ProgramQueue> program = make(cpu);
        for (uint32_t i = 0; i < m_offers.size(); ++i)
        {
            At(m_offers[i].time - lead, [&, i] { Give(i, *program, taker); });
        }
        for (int64_t look = 7; look < END; look += 611)
        {
            At(look, [&, look] {
                program->CatchUp(look);
                const ProgramQueueCounters& counters = program->Counters();
                record.counts.push_back(counters.drops);
                record.counts.push_back(static_cast<uint64_t>(cpu.Busy(look)));
                record.waiting.push_back(program->Waiting());
            });
        }
        RunUntil(END + 10 * US);
        record.maxWaiting = program->Counters().maxWaiting;
        return record;
    }

    void Give(uint32_t number, ProgramQueue& program, PacketHandler& handler) const
    {
        const Offer& offer = m_offers[number];
        Packet packet{};
        packet.kind = PacketKind::DATA;
        packet.segment = number;
        packet.hasAck = offer.hasAck;
        PacketExtras extras{};
        extras.ackNumber = 1000 + number;
        program.Enqueue(offer.time, packet, offer.ipBytes, &extras, handler);
    }

    void Compare(const Record& record, const Record& expected, const std::string& how)
    {
        NS_TEST_EXPECT_MSG_EQ((record.notes == expected.notes), true, how << ": packets");
        NS_TEST_EXPECT_MSG_EQ((record.counts == expected.counts), true, how << ": drops, CPU");
        NS_TEST_EXPECT_MSG_EQ((record.waiting == expected.waiting), true, how << ": waiting");
        NS_TEST_EXPECT_MSG_EQ(record.maxWaiting, expected.maxWaiting, how << ": most waiting");
    }

    std::mt19937 m_random;
    const PacketCostSpec m_cost;
    const uint32_t m_limit;
    std::vector<Offer> m_offers;
    std::unique_ptr<CpuThread> m_thread;
};

/// All numbers of a result but for the events that it took.
class Numbers
{
  public:
    explicit Numbers(const ExperimentResult& result)
    {
        for (const FlowResult& flow : result.flows)
        {
            Add(flow.deliveredBytes,
                flow.totalBytes,
                flow.firstByteAt.value_or(-1),
                flow.completedAt.value_or(-1));
            Add(flow.goodputSeries);
        }
        for (const LegResult& leg : result.legs)
        {
            AddLeg(leg);
        }
        for (const CrossTrafficResult& source : result.crossTraffic)
        {
            Add(source.sent, source.received);
        }
        AddLink(result.links[0].forward);
        AddLink(result.links[0].reverse);
        AddTunnel(*result.tunnels[0].forward);
        AddTunnel(*result.tunnels[0].reverse);
        for (const HostResult* host : {&result.hosts[0], &result.hosts[1]})
        {
            Add(host->cpuTime, host->cpu);
            Add(host->cpuSeries);
        }
    }

    bool operator==(const Numbers&) const = default;

  private:
    void AddLeg(const LegResult& leg)
    {
        Add(leg.payloadBytes, leg.wireBytes, leg.ackWireBytes, leg.segments, leg.retransmits);
        Add(leg.rtos,
            leg.tailLossProbes,
            leg.establishedAt.value_or(-1),
            leg.finishedAt.value_or(-1));
        for (const auto* series : {&leg.goodputSeries, &leg.throughput, &leg.cwnd, &leg.inFlight})
        {
            Add(*series);
        }
        for (const auto* series :
             {&leg.pacingRate, &leg.srtt, &leg.retransmitsSeries, &leg.rtosSeries})
        {
            Add(*series);
        }
    }

    void AddLink(const LinkResult& link)
    {
        Add(link.packets, link.bytesSent, link.queueDrops, link.randomLosses, link.utilisation);
        Add(link.marks.value_or(0), link.policerDrops.value_or(0), link.queueDelayMean);
        Add(link.queueDelayP50, link.queueDelayP95, link.queueDelayP99, link.queueBytesMax);
        Add(link.queueBytes);
        Add(link.queueDropsSeries);
        Add(link.utilisationSeries);
    }

    void AddTunnel(const PacketTunnelResult& tunnel)
    {
        Add(tunnel.packets, tunnel.deviceDrops, tunnel.socketDrops, tunnel.outerPackets);
        Add(tunnel.outerBytes, tunnel.fragmented, tunnel.devicePacketsMax);
        Add(tunnel.innerPackets, tunnel.innerBytes);
        Add(tunnel.devicePackets);
        Add(tunnel.deviceDropsSeries);
    }

    template <class... Values>
    void Add(Values... values)
    {
        (m_numbers.push_back(static_cast<double>(values)), ...);
    }

    void Add(const std::vector<double>& series)
    {
        for (const double value : series)
        {
            m_numbers.push_back(std::isnan(value) ? -1 : value); // NaN differs from itself
        }
    }

    std::vector<double> m_numbers;
};

DatagramTunnelSpec&
TunnelOf(ExperimentSpec& spec)
{
    return std::get<DatagramTunnelSpec>(spec.tunnels.front());
}

/// A tunnel whose packets all fit: 60 bytes more each.
ExperimentSpec
MakeTunnelSpec(const std::string& cc, uint32_t flows)
{
    ExperimentSpec spec = MakePlainSpec();
    DatagramTunnelSpec tunnel;
    for (uint32_t ipBytes = 0; ipBytes <= 1500; ++ipBytes)
    {
        tunnel.outer.push_back({ipBytes + 60});
    }
    tunnel.end = {{1000}, {1000}, {3511, 1.3}, {2903, 1.7}, false};
    spec.tunnels.emplace_back(tunnel);
    spec.flows[0].tunnel = 0;
    SetRtt(spec.links[0], 20'000'018);
    spec.flows[0].cc.name = cc;
    spec.flows.assign(flows, FlowSpec(spec.flows[0]));
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        spec.flows[flow].start = flow * 100'003'001;
    }
    spec.duration = 3 * SECOND;
    spec.warmup = 333'333'331;
    spec.probeInterval = 7'777'777;
    return spec;
}

using Change = std::function<void(ExperimentSpec&)>;

/// Runs an experiment with and without looking ahead.
class LookaheadTest : public ns3::TestCase
{
  public:
    /// What has to happen, so that the comparison says something.
    using Happens = std::function<bool(const ExperimentResult&)>;

    LookaheadTest(
        const std::string& name,
        const Change& change,
        const Happens& happens = [](const ExperimentResult&) { return true; })
        : ns3::TestCase("Looking ahead: " + name),
          m_change(change),
          m_happens(happens)
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string cc : {"bbr", "cubic"})
        {
            ExperimentSpec spec = MakeTunnelSpec(cc, 3);
            m_change(spec);
            AddIdleFlow(spec, 0);
            ExperimentResult ahead = RunExperiment(spec);
            spec.flows.erase(spec.flows.begin());
            AddIdleFlow(spec, 1); // packets of two delays come out of order
            ExperimentResult stepwise = RunExperiment(spec);
            double share = spec.flows.back().datagrams ? 0.95 : 0.75; // beside others the ACKs only
            NS_TEST_EXPECT_MSG_LT(ahead.events, share * stepwise.events, cc << " looked ahead");
            NS_TEST_EXPECT_MSG_EQ(m_happens(stepwise), true, cc << " was put to the test");
            NS_TEST_EXPECT_MSG_EQ((Numbers(ahead) == Numbers(stepwise)), true, cc);
        }
    }

    /// One that starts when all is over.
    static void AddIdleFlow(ExperimentSpec& spec, int64_t extraDelay)
    {
        FlowSpec flow = spec.flows[0];
        flow.start = 2 * spec.duration;
        flow.extraDelay = {extraDelay, extraDelay};
        spec.flows.insert(spec.flows.begin(), flow); // flows come before cross traffic
    }

    Change m_change;
    Happens m_happens;
};

void
Fragment(ExperimentSpec& spec)
{
    for (std::vector<uint32_t>& outer : TunnelOf(spec).outer)
    {
        if (outer[0] > 1000)
        {
            outer = {1000, outer[0] - 980};
        }
    }
    Forward(spec).loss = 0.002;
}

void
ShareOneMachine(ExperimentSpec& spec)
{
    spec.hosts[1].machine = 0;
    spec.hosts[0].cores = spec.hosts[1].cores = 4;
}

void
MarkPackets(ExperimentSpec& spec)
{
    spec.tcp[0].ecn = TunnelOf(spec).ecn.copied = true;
    Forward(spec).queue = DropTailSpec{.ecnThreshold = 100'000};
}

template <class... Arguments>
void
Add(Arguments... arguments)
{
    AddCase(new LookaheadTest(arguments...));
}

ADD_CASES
{
    for (uint32_t seed = 1; seed <= 5; ++seed)
    {
        AddCase(new ProgramTest(seed, {200, 0.5}, 5 * seed));
    }
    using Result = const ExperimentResult&;
    Add(
        "the path is the bottleneck",
        [](ExperimentSpec& spec) { Forward(spec).bufferBytes = 100'000; },
        [](Result r) { return r.links[0].forward.queueDrops > 0; });
    Add(
        "the device overflows",
        [](ExperimentSpec& spec) {
            TunnelOf(spec).end.device.queue = 20;
            TunnelOf(spec).end.encapsulate.perPacket = 35'011;
            Forward(spec).rate = 1e9;
        },
        [](Result r) { return r.tunnels[0].forward->deviceDrops > 0; });
    Add(
        "the socket overflows",
        [](ExperimentSpec& spec) {
            TunnelOf(spec).end.socket.queue = 20;
            TunnelOf(spec).end.decapsulate.perPacket = 200'003;
        },
        [](Result r) { return r.tunnels[0].forward->socketDrops > 0; });
    Add(
        "random loss",
        [](ExperimentSpec& spec) {
            Forward(spec).loss = 0.01;
            Reverse(spec).loss = 0.02;
        },
        [](Result r) {
            return r.links[0].forward.randomLosses > 0 && r.links[0].reverse.randomLosses > 0;
        });
    Add("ECN", MarkPackets, [](Result r) { return r.links[0].forward.marks > 0; });
    Add("fragments", Fragment, [](Result r) { return r.tunnels[0].forward->fragmented > 0; });
    Add("download", MakeDownload);
    Add("one machine", ShareOneMachine);
    Add("work that costs nothing",
        [](ExperimentSpec& spec) { TunnelOf(spec).end.decapsulate = {0, 0}; });
    Add(
        "cross traffic",
        [](ExperimentSpec& spec) {
            FlowSpec& source = spec.flows.emplace_back();
            source.datagrams = DatagramSpec{.rate = 20e6, .last = 1500, .header = 28};
            source.role = FlowRole::CROSS_TRAFFIC;
        },
        [](Result r) { return r.crossTraffic[0].received > 0; });
    Add(
        "a policer",
        [](ExperimentSpec& spec) {
            Forward(spec).policer.emplace().rate = 30e6;
            Forward(spec).policer->burst = 100'000;
        },
        [](Result r) { return r.links[0].forward.policerDrops > 0; });
}

} // namespace
