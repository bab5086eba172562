/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks probes, what they measure with, and results as arrays.
 */
#include "event/random-stream.h"
#include "path/histogram.h"
#include "probe/columns.h"
#include "probe/host-probe.h"
#include "probe/known-mean.h"
#include "probe/leg-probe.h"
#include "probe/link-probe.h"
#include "support/simulation-test-case.h"
#include "support/test-case.h"
#include "traffic/datagram-socket.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-probe");

class HistogramTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void CheckQuantiles(std::vector<int64_t> records)
    {
        Histogram histogram;
        double sum = 0;
        for (const int64_t record : records)
        {
            histogram.Record(record);
            sum += static_cast<double>(record);
        }
        std::sort(records.begin(), records.end());
        for (const double q : {0.01, 0.5, 0.75, 0.95, 0.99, 1.0})
        {
            const auto rank =
                static_cast<size_t>(std::ceil(q * static_cast<double>(records.size()) - 1e-9));
            const auto exact = static_cast<double>(records[std::max<size_t>(rank, 1) - 1]);
            const double tolerance = exact < 128 ? 0.001 : 0.008 * exact;
            NS_TEST_EXPECT_MSG_EQ_TOL(histogram.Quantile(q),
                                      exact,
                                      tolerance,
                                      "quantile " << q << " of " << records.size());
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(histogram.Mean() * static_cast<double>(records.size()),
                                  sum,
                                  1e-9 * sum,
                                  "mean");
        NS_TEST_EXPECT_MSG_EQ(histogram.Count(), records.size(), "count");
    }

    void DoRun() override
    {
        std::mt19937 random(7);
        std::uniform_real_distribution<double> exponent(0, 30);
        for (const size_t size : {1, 2, 7, 10, 1'000, 100'000})
        {
            std::vector<int64_t> records;
            for (size_t i = 0; i < size; ++i)
            {
                records.push_back(static_cast<int64_t>(std::exp(exponent(random))));
            }
            CheckQuantiles(records);
        }
        CheckQuantiles({0, 0, 0});
        CheckQuantiles({127, 128, 129, 130, 255, 256, 257, int64_t{1} << 60});
        NS_TEST_EXPECT_MSG_EQ(Histogram().Quantile(0.5), 0, "without records");
        NS_TEST_EXPECT_MSG_EQ(Histogram().Mean(), 0, "without records");
    }
};

ADD_CASE(HistogramTest, "A histogram's quantiles are those of the sorted records");

TEST_CASE(SimulationTestCase, LinkProbeTest, "A link's probe counts what arrives after the warm-up")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.bufferPackets = 3;
    Link link(spec, MakeRandomStream(1, RandomComponent::FORWARD_LOSS));
    link.KeepMtu() = {7, 8, 9};
    LinkResult result;
    LinkProbe probe(link, result);
    for (int i = 0; i < 6; ++i)
    {
        link.Enqueue(0, 1'000); // one leaves, three wait, two are dropped
    }
    probe.Sample(2 * MS);
    probe.StartMeasuring(2 * MS);
    link.KeepMtu().tooBig += 1;
    link.KeepMtu().fragmented += 2;
    for (int i = 0; i < 5; ++i)
    {
        link.Enqueue(2 * MS, 1'000); // two have left, one waits: two wait, three are dropped
    }
    probe.Sample(4 * MS);
    probe.Finish(12 * MS);
    NS_TEST_EXPECT_MSG_EQ(result.packets, 5, "packets offered");
    NS_TEST_EXPECT_MSG_EQ(result.queueDrops, 3, "dropped");
    NS_TEST_EXPECT_MSG_EQ(result.queueDropsSeries.back(), 5, "of the whole run");
    NS_TEST_EXPECT_MSG_EQ(result.bytesSent, 4'000, "two of before, and two");
    NS_TEST_EXPECT_MSG_EQ_TOL(result.utilisation, 0.4, 1e-9, "4 of 10 ms");
    NS_TEST_EXPECT_MSG_EQ_TOL(result.utilisationSeries[0], 1, 1e-9, "busy at first");
    NS_TEST_EXPECT_MSG_EQ(result.queueBytes[0], 1'000, "one waits at 2 ms");
    NS_TEST_EXPECT_MSG_EQ(*result.mtuDrops, 1, "too big");
    NS_TEST_EXPECT_MSG_EQ(*result.fragmented, 2, "fragmented");
    NS_TEST_EXPECT_MSG_EQ(*result.fragmentDrops, 0, "and no fragment lost");
    NS_TEST_EXPECT_MSG_EQ(result.policerDrops.has_value(), false, "no policer");
}

TEST_CASE(SimulationTestCase,
          HostProbeTest,
          "A host's probe has the share of its cores that was busy")
{
    Cores cores(TestLoop(), 2, 0);
    Cpu cpu(cores, 1);
    HostResult result;
    HostProbe probe(cpu, result);
    const int one = 0;
    const int other = 0;
    cpu.Run(0, 4e6, &one);
    cpu.Run(0, 10e6, &other);
    probe.Sample(4 * MS, 4e-3);
    NS_TEST_EXPECT_MSG_EQ_TOL(result.cpuSeries.back(), 1, 1e-9, "both cores");
    probe.StartMeasuring(5 * MS);
    probe.Sample(8 * MS, 4e-3);
    NS_TEST_EXPECT_MSG_EQ_TOL(result.cpuSeries.back(), 0.5, 1e-9, "one of them");
    probe.Finish(15 * MS);
    NS_TEST_EXPECT_MSG_EQ_TOL(result.cpuTime, 5e-3, 1e-12, "what was left at 5 ms");
    NS_TEST_EXPECT_MSG_EQ_TOL(result.cpu, 0.25, 1e-9, "5 of 2 · 10 ms");
}

class DatagramProbeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    struct Nobody final : DatagramUser
    {
        void OnDatagram(int64_t /* now */, const Packet& /* packet */) override
        {
        }
    };

    void DoRun() override
    {
        PathDirection path(TestLoop());
        DatagramSocket sender(28);
        DatagramSocket receiver(28);
        DatagramSocket::Join(sender, receiver);
        sender.SetChannel(Channel(path, MS));
        Nobody nobody;
        receiver.SetReceiver(nobody);
        LegResult result;
        auto probe = MakeLegProbe(sender, receiver, result);
        sender.Send(0, 0, 0, 528);
        RunUntil(5 * MS);
        probe->Sample(0.005);
        probe->StartMeasuring(5 * MS);
        sender.Send(5 * MS, 1, 5 * MS, 1'028);
        RunUntil(10 * MS);
        probe->Sample(0.005);
        probe->Finish(10 * MS);
        const std::vector<double> goodput{500 * 8 / 0.005, 1'000 * 8 / 0.005};
        NS_TEST_EXPECT_MSG_EQ((result.goodputSeries == goodput), true, "payload each 5 ms");
        NS_TEST_EXPECT_MSG_EQ(result.payloadBytes, 1'000, "after the warm-up");
        NS_TEST_EXPECT_MSG_EQ(result.segments, 1, "after the warm-up");
        NS_TEST_EXPECT_MSG_EQ(result.totalSegments, 2, "of the whole run");
        NS_TEST_EXPECT_MSG_EQ(result.wireBytes, 1'556, "with headers");
    }
};

ADD_CASE(DatagramProbeTest,
         "The probe of datagrams has their bytes on the path and at the receiver");

class KnownMeanTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    /// How many of so many random series, each a mean of 100 with a memory of some samples, end
    /// with a mean that is off by more than they ask for; and how many end.
    static std::pair<int, int> WrongAndEnded(int runs, double memory, double deviation)
    {
        std::mt19937_64 random(7);
        std::normal_distribution<double> normal;
        std::pair<int, int> found;
        for (int run = 0; run < runs; ++run)
        {
            std::vector<double> samples;
            double state = normal(random);
            size_t look = FirstLook(0.1);
            while (samples.size() < 2000)
            {
                state = memory * state + std::sqrt(1 - memory * memory) * normal(random);
                samples.push_back(100 + deviation * state);
                if (samples.size() < look)
                {
                    continue;
                }
                look = NextLook(look);
                if (IsMeanKnown(samples, 0.05))
                {
                    const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
                    const double mean = sum / static_cast<double>(samples.size());
                    found.first += std::abs(mean - 100) > 0.05 * mean;
                    ++found.second;
                    break;
                }
            }
        }
        return found;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(FirstLook(0.1), 50, "five seconds");
        NS_TEST_EXPECT_MSG_EQ(FirstLook(1), 20, "twenty samples");
        std::vector<double> samples(50, 7);
        NS_TEST_EXPECT_MSG_EQ(IsMeanKnown(samples, 0.001), true, "all samples are equal");
        NS_TEST_EXPECT_MSG_EQ(IsMeanKnown(std::vector<double>(50, 0.0), 0.05), false, "of nothing");
        samples[0] = 0;
        NS_TEST_EXPECT_MSG_EQ(IsMeanKnown(samples, 0.021), true, "a start costs 2 % of the mean");
        NS_TEST_EXPECT_MSG_EQ(IsMeanKnown(samples, 0.02), false, "which is a part of its error");
        std::iota(samples.begin(), samples.end(), 30.0);
        NS_TEST_EXPECT_MSG_EQ(IsMeanKnown(samples, 0.1), false, "what grows has not settled");

        constexpr int RUNS = 1000;
        for (const auto& [memory, deviation] : {std::pair(0.0, 20.0), {0.5, 20.0}, {0.8, 10.0}})
        {
            const auto [wrong, ended] = WrongAndEnded(RUNS, memory, deviation);
            NS_TEST_EXPECT_MSG_LT(wrong, RUNS / 20, "memory " << memory);
            NS_TEST_EXPECT_MSG_EQ(ended, RUNS, "memory " << memory);
        }
    }
};

ADD_CASE(KnownMeanTest, "A mean is known where its batches agree, and rarely where it is wrong");

class ColumnsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static const Column* Find(const Columns& columns, std::string_view name)
    {
        const auto found = std::ranges::find(columns.numbers, name, &Column::name);
        return found != columns.numbers.end() ? &*found : nullptr;
    }

    void DoRun() override
    {
        ExperimentResult result;
        result.links.resize(2);
        result.links[0].forward.policerDrops = 5;
        result.links[1].reverse.packets = 7;
        for (DuplexLinkResult& link : result.links)
        {
            for (LinkResult* way : {&link.forward, &link.reverse})
            {
                way->queueBytes = way->queueDropsSeries = way->utilisationSeries = {1, 2, 3};
            }
        }
        result.links[1].forward.queueBytes = {4, 5, 6};
        result.time = {1, 2, 3};
        const Columns columns = ToColumns(result);
        const Column* packets = Find(columns, "link_packets");
        NS_TEST_ASSERT_MSG_NE(packets, nullptr, "a column of each number");
        NS_TEST_EXPECT_MSG_EQ((packets->shape == std::vector<size_t>{2, 2}), true, "two links");
        NS_TEST_EXPECT_MSG_EQ((packets->values == std::vector<double>{0, 0, 0, 7}),
                              true,
                              "packets");
        const Column* policed = Find(columns, "link_policer_drops");
        NS_TEST_EXPECT_MSG_EQ(policed->values[0], 5, "where there is a policer");
        NS_TEST_EXPECT_MSG_EQ(std::isnan(policed->values[3]), true, "and where there is none");
        const Column* queue = Find(columns, "link_queue_bytes");
        NS_TEST_EXPECT_MSG_EQ((queue->shape == std::vector<size_t>{2, 2, 3}), true, "series");
        NS_TEST_EXPECT_MSG_EQ(queue->values[2 * 3 + 1], 5, "the last dimension fastest");
        NS_TEST_EXPECT_MSG_EQ(Find(columns, "flow_delivered_bytes"), nullptr, "there is no flow");
        std::set<std::string> names;
        for (const MeasurementInfo& info : ListMeasurements())
        {
            NS_TEST_EXPECT_MSG_EQ(names.insert(info.what.name).second,
                                  true,
                                  info.what.name << " is one");
        }
        for (const Column& column : columns.numbers)
        {
            NS_TEST_EXPECT_MSG_EQ(names.contains(std::string(column.name)), true, column.name);
        }
    }
};

ADD_CASE(ColumnsTest, "A result's arrays have its values, and NaN where there is none");

} // namespace
