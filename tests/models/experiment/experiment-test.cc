/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Properties of whole experiments over random specifications: bytes are conserved, finite flows
 * complete exactly, queues stay within their limits, results depend on nothing but the
 * specification.
 */
#include "experiment/experiment.h"
#include "experiment/world.h"
#include "interop/ns3-experiment.h"
#include "spec/spec-text.h"
#include "support/quic-hosts.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"

#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-experiment");

/// Draws specifications.
class SpecSource
{
  public:
    explicit SpecSource(uint32_t seed)
        : m_random(seed)
    {
    }

    ExperimentSpec Draw(bool isFinite)
    {
        ExperimentSpec spec = Chance(0.6) ? MakeRelaySpec(Chance(0.5)) : MakePlainSpec();
        spec.seed = m_random();
        const bool isDownload = Chance(0.3);
        SetRtt(spec.links[0], Between(1, 200) * MS);
        for (LinkSpec* link : {&Forward(spec), &Reverse(spec)})
        {
            link->rate = Chance(0.1) ? 0 : 1e6 * static_cast<double>(Between(1, 50));
            link->bufferBytes = Chance(0.7) ? Between(5'000, 500'000) : 0;
            link->bufferPackets = link->bufferBytes && Chance(0.7) ? 0 : Between(3, 300);
            link->loss = Chance(0.5) ? 0 : 0.0005 * static_cast<double>(Between(1, 100));
            link->lossPosition = DrawPosition();
            link->framing = Chance(0.3) ? 38 : 0;
        }
        spec.tcp[0].receiveWindow = Between(20'000, 3'000'000);
        spec.tcp[0].sendBuffer = Between(20'000, 3'000'000);
        spec.tcp[0].mss = Between(500, 1'448);
        spec.tcp[0].headerBytes = Chance(0.3) ? 40 : 52;
        spec.flows[0].appPerByte = {Chance(0.2) ? 2.0 : 0.0, Chance(0.2) ? 2.0 : 0.0};
        spec.duration = isFinite ? 300 * SECOND : 3 * SECOND;
        spec.warmup = isFinite ? 0 : SECOND;
        const FlowSpec model = spec.flows[0];
        spec.flows.assign(Between(1, 4), model);
        for (FlowSpec& flow : spec.flows)
        {
            flow.start = Between(0, 1'000) * MS;
            flow.dataStart = flow.start + Between(0, 1'000) * MS;
            flow.bytes = isFinite ? Between(1, 300'000) : 0;
            flow.cc.name = DrawControl();
            flow.carrierCc.name = DrawControl();
        }
        if (!spec.tunnels.empty())
        {
            DrawCarriers(spec);
        }
        else
        {
            DrawTransports(spec);
        }
        if (isDownload)
        {
            MakeDownload(spec);
        }
        Vary(Forward(spec));
        return spec;
    }

  private:
    /// Queue disciplines, policers, bursts and jitter.
    void Vary(LinkSpec& link)
    {
        if (link.rate > 0 && Chance(0.5))
        {
            static const std::vector<QueueSpec> DISCIPLINES{
                CodelSpec{.target = 5 * MS, .interval = 100 * MS, .ecn = true},
                FqCodelSpec{.target = 5 * MS,
                            .interval = 100 * MS,
                            .quantum = 1'514,
                            .queues = 64,
                            .ecn = true},
                PieSpec{.target = 5 * MS,
                        .interval = 15 * MS,
                        .alpha = 0.125,
                        .beta = 1.25,
                        .burst = 150 * MS,
                        .ecn = true},
                RedSpec{.minThreshold = 7'500,
                        .maxThreshold = 22'500,
                        .maxProbability = 0.1,
                        .weight = 0.002,
                        .gentle = true,
                        .meanPacketTime = MS,
                        .ecn = true}};
            link.queue = DISCIPLINES[Between(0, DISCIPLINES.size() - 1)];
        }
        if (link.loss == 0 && Chance(0.3))
        {
            link.gilbertElliott = GilbertElliottSpec{0.002, 0.3, 0, 1};
        }
        if (Chance(0.2))
        {
            link.policer =
                PolicerSpec{1e6 * static_cast<double>(Between(1, 20)), 30'000, DrawPosition()};
        }
        if (Chance(0.3))
        {
            link.jitter = static_cast<int64_t>(Between(1, 5)) * MS;
            link.jitterDistribution = JitterDistribution::EXPONENTIAL;
            link.jitterReorders = Chance(0.5);
        }
    }

    LinkPosition DrawPosition()
    {
        return Chance(0.5) ? LinkPosition::BEFORE : LinkPosition::AFTER;
    }

    bool Chance(double probability)
    {
        return std::uniform_real_distribution<double>(0, 1)(m_random) < probability;
    }

    uint64_t Between(uint64_t least, uint64_t most)
    {
        return std::uniform_int_distribution<uint64_t>(least, most)(m_random);
    }

    void DrawTransports(ExperimentSpec& spec)
    {
        spec.quic = {MakeQuic()};
        for (FlowSpec& flow : spec.flows)
        {
            if (Chance(0.4))
            {
                flow.quic = 0;
            }
        }
    }

    void DrawCarriers(ExperimentSpec& spec)
    {
        while (Chance(0.3))
        {
            AddHop(spec, static_cast<int64_t>(Between(1, 100)) * MS);
            spec.duration += 4 * SECOND; // for one more handshake
        }
        RelaySpec& relay = RelayOf(spec);
        if (Chance(0.6))
        {
            relay.mux = Chance(0.5) ? MakeSmux(Chance(0.5) ? 0 : Between(8'192, 200'000))
                                    : MakeWindowedMux(Between(5'000, 100'000), 150'000);
            relay.mux->sent.client.sessionBuffer = Chance(0.5) ? 0 : Between(1, 200'000);
            relay.early = Chance(0.3);
        }
        relay.sent.client.prefix = Chance(0.7) ? 11 : 0;
        uint32_t carriers = relay.mux ? static_cast<uint32_t>(Between(1, 4)) : UINT32_MAX;
        for (uint32_t i = 0; i < spec.flows.size(); ++i)
        {
            spec.flows[i].carrier = i % carriers;
        }
    }

    std::string DrawControl()
    {
        static const std::vector<std::string> NAMES{"bbr", "cubic", "reno", "ns3::TcpCubic"};
        return NAMES[Between(0, NAMES.size() - 1)];
    }

    std::mt19937_64 m_random;
};

void
Print(std::ostream& text, const std::vector<double>& series)
{
    for (const double value : series)
    {
        text << value << ' ';
    }
    text << '\n';
}

/// Everything that belongs to one flow, in every bit.
std::string
PrintFlow(const ExperimentResult& result, uint32_t index)
{
    std::ostringstream text;
    text << std::hexfloat;
    const FlowResult& flow = result.flows[index];
    text << flow.deliveredBytes << ' ' << flow.totalBytes << ' ' << flow.firstByteAt.value_or(-1)
         << ' ' << flow.completedAt.value_or(-1) << '\n';
    Print(text, flow.goodputSeries);
    for (const uint32_t number : flow.legs)
    {
        const LegResult& leg = result.legs[number];
        text << leg.name << ' ' << leg.payloadBytes << ' ' << leg.wireBytes << ' '
             << leg.ackWireBytes << ' ' << leg.segments << ' ' << leg.retransmits << ' ' << leg.rtos
             << ' ' << leg.establishedAt.value_or(-1) << ' ' << leg.finishedAt.value_or(-1) << '\n';
        for (const auto* series : {&leg.goodputSeries,
                                   &leg.throughput,
                                   &leg.cwnd,
                                   &leg.inFlight,
                                   &leg.pacingRate,
                                   &leg.srtt,
                                   &leg.retransmitsSeries})
        {
            Print(text, *series);
        }
    }
    return text.str();
}

/// Everything, in every bit.
std::string
PrintResult(const ExperimentResult& result)
{
    std::ostringstream text;
    text << std::hexfloat << result.events << ' ' << result.pathSegments << '\n';
    for (uint32_t index = 0; index < result.flows.size(); ++index)
    {
        text << PrintFlow(result, index);
    }
    for (const LinkResult* link : {&result.links[0].forward, &result.links[0].reverse})
    {
        text << link->packets << ' ' << link->bytesSent << ' ' << link->queueDrops << ' '
             << link->randomLosses << ' ' << link->queueDelayMean << ' ' << link->queueDelayP95
             << '\n';
        Print(text, link->queueBytes);
    }
    for (const HostResult& host : result.hosts)
    {
        text << host.cpuTime << '\n';
    }
    return text.str();
}

/// What holds for every experiment.
class PropertyTestCase : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  protected:
    void CheckLink(const LinkResult& link, const LinkSpec& spec, const std::string& what)
    {
        if (spec.bufferBytes)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(link.queueBytesMax,
                                        static_cast<double>(spec.bufferBytes),
                                        "queue: " << what);
        }
        const uint64_t lost = link.queueDrops + link.randomLosses + link.policerDrops.value_or(0);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(lost, link.packets, what);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(link.utilisation, 1 + 1e-9, what);
        const bool mayLose = spec.loss > 0 || spec.gilbertElliott;
        NS_TEST_EXPECT_MSG_EQ((link.randomLosses > 0 && !mayLose), false, what);
    }

    void CheckLegs(const ExperimentResult& result, const ExperimentSpec& spec)
    {
        for (const LegResult& leg : result.legs)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(leg.retransmits, leg.segments, FormatSpec(spec));
            NS_TEST_EXPECT_MSG_LT_OR_EQ(leg.payloadBytes, leg.wireBytes, FormatSpec(spec));
            for (const double inFlight : leg.inFlight)
            {
                NS_TEST_EXPECT_MSG_GT_OR_EQ(inFlight, 0, "in flight: " << FormatSpec(spec));
            }
        }
    }

    void CheckAll(const ExperimentResult& result, const ExperimentSpec& spec)
    {
        CheckLink(result.links[0].forward, Forward(spec), FormatSpec(spec));
        CheckLink(result.links[0].reverse, Reverse(spec), FormatSpec(spec));
        CheckLegs(result, spec);
    }
};

TEST_CASE(PropertyTestCase,
          FiniteFlowsTest,
          "Finite flows complete, with every byte, whatever the path")
{
    SpecSource source(10);
    for (int run = 0; run < 120; ++run)
    {
        const ExperimentSpec spec = source.Draw(true);
        const ExperimentResult result = RunExperiment(spec);
        CheckAll(result, spec);
        for (size_t i = 0; i < spec.flows.size(); ++i)
        {
            const FlowSpec& flow = spec.flows[i];
            const uint64_t preamble = flow.sender == End::SERVER ? 0 : flow.preamble;
            NS_TEST_EXPECT_MSG_EQ(result.flows[i].totalBytes,
                                  flow.bytes + preamble,
                                  "run " << run << ", flow " << i << ": " << FormatSpec(spec));
            NS_TEST_EXPECT_MSG_GT(result.flows[i].completedAt.value(),
                                  result.flows[i].firstByteAt.value() - 1e-12,
                                  "run " << run << ", flow " << i << ": " << FormatSpec(spec));
        }
    }
}

TEST_CASE(PropertyTestCase,
          EndlessFlowsTest,
          "Endless flows keep within the path's rate and limits")
{
    SpecSource source(11);
    for (int run = 0; run < 60; ++run)
    {
        const ExperimentSpec spec = source.Draw(false);
        const ExperimentResult result = RunExperiment(spec);
        CheckAll(result, spec);
        uint64_t delivered = 0;
        for (const FlowResult& flow : result.flows)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(flow.deliveredBytes, flow.totalBytes, run);
            delivered += flow.totalBytes;
        }
        NS_TEST_EXPECT_MSG_GT(delivered, 0, "run " << run << ": " << FormatSpec(spec));
        if (Forward(spec).rate > 0)
        {
            NS_TEST_EXPECT_MSG_LT(static_cast<double>(delivered) * 8,
                                  Forward(spec).rate * Seconds(spec.duration) +
                                      static_cast<double>(spec.flows.size() * 37 * 8),
                                  "run " << run << ": " << FormatSpec(spec));
        }
    }
}

/// An experiment that can stop at any time.
struct Paused
{
    explicit Paused(const ExperimentSpec& spec)
        : spec(spec),
          experiment(loop, this->spec, progress, nullptr, {})
    {
    }

    const ExperimentSpec spec;
    const ProgressCallback progress;
    EventLoop loop;
    Experiment experiment;
};

TEST_CASE(ns3::TestCase,
          TwoExperimentsTest,
          "Two experiments that take turns in a process have the results of each alone")
{
    SpecSource source(13);
    for (int run = 0; run < 6; ++run)
    {
        Paused first(source.Draw(false));
        Paused second(source.Draw(false));
        const int64_t end = std::max(first.spec.duration, second.spec.duration);
        for (int64_t time = 0; time < end; time += 7'654'321)
        {
            for (Paused* it : {&first, &second})
            {
                it->loop.RunTo(std::min(time, it->spec.duration));
            }
        }
        for (Paused* it : {&first, &second})
        {
            it->loop.RunTo(it->spec.duration);
            NS_TEST_EXPECT_MSG_EQ(PrintResult(it->experiment.Finish()),
                                  PrintResult(RunExperiment(it->spec)),
                                  FormatSpec(it->spec));
        }
    }
}

TEST_CASE(ns3::TestCase, DeterminismTest, "The same seed gives the same results, in any order")
{
    SpecSource source(12);
    std::vector<ExperimentSpec> specs;
    std::vector<std::string> results;
    for (int i = 0; i < 12; ++i)
    {
        specs.push_back(source.Draw(false));
        results.push_back(PrintResult(RunExperiment(specs.back())));
    }
    for (size_t i = specs.size(); i-- > 0;)
    {
        NS_TEST_EXPECT_MSG_EQ((PrintResult(RunExperiment(specs[i])) == results[i]),
                              true,
                              FormatSpec(specs[i]));
    }
    ExperimentSpec spec = MakePlainSpec();
    Forward(spec).loss = 0.01;
    const std::string result = PrintResult(RunExperiment(spec));
    spec.seed = 2;
    NS_TEST_EXPECT_MSG_EQ((PrintResult(RunExperiment(spec)) == result), false, "another seed");
}

class IndependenceTest : public ns3::TestCase
{
  public:
    explicit IndependenceTest(bool hasRelay)
        : ns3::TestCase(std::string("A flow that comes later leaves the others' past alone") +
                        (hasRelay ? ", relay" : "")),
          m_hasRelay(hasRelay)
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string name : {"bbr", "ns3::TcpBbr", "cubic"})
        {
            ExperimentSpec spec = m_hasRelay ? MakeRelaySpec(false) : MakePlainSpec();
            Forward(spec).loss = 0.01;
            spec.flows[0].cc.name = spec.flows[0].carrierCc.name = name;
            spec.flows[0].bytes = 2'000'000;
            spec.duration = 15 * SECOND;
            const ExperimentResult alone = RunExperiment(spec);
            NS_TEST_ASSERT_MSG_GT(alone.flows[0].completedAt.value_or(-1), 0, name);
            NS_TEST_ASSERT_MSG_LT(alone.flows[0].completedAt.value_or(-1), 14, name);
            spec.flows.push_back(spec.flows[0]);
            spec.flows[1].carrier = 1;
            spec.flows[1].start = spec.flows[1].dataStart = 14 * SECOND;
            const ExperimentResult both = RunExperiment(spec);
            NS_TEST_EXPECT_MSG_GT(both.flows[1].totalBytes, 0, name);
            NS_TEST_EXPECT_MSG_EQ((PrintFlow(both, 0) == PrintFlow(alone, 0)), true, name);
        }
    }

    bool m_hasRelay;
};

TEST_CASE(ns3::TestCase, FlowStreamsTest, "BBR's flows do not probe in step")
{
    // Both links unlimited: flows meet nowhere, and differ in their random phase alone.
    for (const std::string name : {"bbr", "ns3::TcpBbr"})
    {
        ExperimentSpec spec = MakePlainSpec();
        Forward(spec).rate = Reverse(spec).rate = 0;
        spec.tcp[0].receiveWindow = 1'000'000;
        spec.flows[0].cc.name = name;
        spec.flows.assign(4, spec.flows[0]);
        spec.duration = 5 * SECOND;
        const ExperimentResult result = RunNs3Experiment(spec);
        int different = 0;
        for (const LegResult& leg : result.legs)
        {
            different += leg.pacingRate != result.legs[0].pacingRate;
        }
        NS_TEST_EXPECT_MSG_GT(different, 1, name);
    }
}

class LargestWindowTest : public SimulationTestCase
{
  public:
    LargestWindowTest(const std::string& cc,
                      uint64_t room,
                      uint32_t scale,
                      double measured,
                      double tolerance)
        : SimulationTestCase("Windows grow to what Linux 6.18 offered at most: " + cc + ", " +
                             std::to_string(room)),
          m_cc(cc),
          m_room(room),
          m_scale(scale),
          m_measured(measured),
          m_tolerance(tolerance)
    {
    }

  private:
    void DoRun() override
    {
        ExperimentSpec spec = MakePlainSpec();
        SetRtt(spec.links[0], 170 * MS);
        Forward(spec).rate = 200e6;
        Forward(spec).bufferBytes = 0;
        Forward(spec).bufferPackets = 2'833;
        Reverse(spec).rate = 0;
        Reverse(spec).bufferBytes = 0;
        spec.flows[0].cc.name = m_cc;
        spec.tcp[0].receiveWindow = m_room;
        spec.tcp[0].initialReceiveWindow = 65'160;
        spec.tcp[0].initialReceiveRoom = 81'920;
        spec.tcp[0].windowScale = m_scale;
        World world(TestLoop(), spec);
        world.Start();
        RunUntil(30 * SECOND);
        const uint32_t window = world.Legs().front().Tcp().server->GetReceiver().Window();
        NS_TEST_EXPECT_MSG_EQ_TOL(window, m_measured, m_tolerance, "bytes");
    }

    std::string m_cc;
    uint64_t m_room;
    uint32_t m_scale;
    double m_measured;
    double m_tolerance;
};

ADD_CASES
{
    AddCase(new IndependenceTest(false));
    AddCase(new IndependenceTest(true));
    // max_rcv_wnd of the runs behind validation/data/linux/window_limits.csv, 200 Mbit/s x
    // 170 ms, of 6 and of 64 MiB of tcp_rmem. Only in the last was a window not the largest
    // there may be: it depends on the fastest round trip of one run's slow start.
    AddCase(new LargestWindowTest("cubic", 3'932'160, 7, 3'930'752, 2'000));
    AddCase(new LargestWindowTest("bbr", 3'932'160, 7, 3'930'752, 2'000));
    AddCase(new LargestWindowTest("bbr", 41'943'040, 11, 41'943'040, 1));
    AddCase(new LargestWindowTest("cubic", 41'943'040, 11, 39'659'520, 4e6));
}

} // namespace
