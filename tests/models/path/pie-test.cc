/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks PIE against what its source says and, fed with the same packets, against stock ns-3's.
 */
#include "path/pie.h"
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include "ns3/pie-queue-disc.h"

#include <cmath>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-pie");

class PieStockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static ns3::Ptr<ns3::QueueDisc> MakeStock()
    {
        auto disc = ns3::CreateObject<ns3::PieQueueDisc>();
        disc->SetAttribute("UseEcn", ns3::BooleanValue(true));
        // ns-3 counts the time of a burst from its first packet, RFC 8033 from the last calm one.
        disc->SetAttribute("MaxBurstAllowance", ns3::TimeValue(ns3::Seconds(0)));
        disc->AssignStreams(QUEUE_STREAM);
        return disc;
    }

    void DoRun() override
    {
        for (const double load : {0.9, 1.05, 1.3, 2.0})
        {
            for (const bool isEct : {false, true})
            {
                const auto offers = MakeOffers(load, 30 * SECOND, 3, isEct);
                OurSubject subject(MakeSpec(PIE));
                const auto ours = RunOurs(subject, offers);
                const auto stock = RunStock(MakeStock, offers);
                const size_t drops = CountDrops(stock);
                NS_TEST_EXPECT_MSG_EQ((ours == stock), true, "load " << load << " ECT " << isEct);
                NS_TEST_EXPECT_MSG_EQ((drops > 100), (load > 1), "drops at load " << load);
            }
        }
    }
};

ADD_CASE(PieStockTest, "PIE drops and marks the very packets that ns-3's does");

class PieTargetTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const double load = 1.1;
        const auto offers = MakeOffers(load, 120 * SECOND, 4);
        LinkSpec spec = MakeSpec(PIE);
        std::get<PieSpec>(spec.queue).burst = 150 * MS;
        OurSubject subject(spec);
        const auto fates = RunOurs(subject, offers);
        double sum = 0;
        double served = 0;
        for (size_t i = offers.size() / 4; i < offers.size(); ++i)
        {
            if (fates[i].served >= 0)
            {
                sum += static_cast<double>(fates[i].served - offers[i].time);
                ++served;
            }
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(sum / served, 15.0 * MS, 2.0 * MS, "mean waiting time");
        const auto drops = static_cast<double>(subject.disc->Drops().all);
        NS_TEST_EXPECT_MSG_EQ_TOL(drops / static_cast<double>(offers.size()),
                                  1 - 1 / load,
                                  0.01,
                                  "drops make up for the load");
        CheckBurst(spec);
    }

    /// 100 packets at once, which take 100 ms to serve.
    void CheckBurst(LinkSpec spec)
    {
        std::vector<Offer> offers(100, Offer{SECOND});
        offers.push_back({2 * SECOND});
        OurSubject subject(spec);
        RunOurs(subject, offers);
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 0, "a burst shorter than 150 ms");
        // While bursts pass, no probability builds up: it begins at 0 after.
        OurSubject longer(spec);
        RunOurs(longer, MakeOffers(1.3, 300 * MS, 7));
        NS_TEST_EXPECT_MSG_EQ(longer.disc->Drops().all, 0, "nor soon after a longer one");
    }
};

ADD_CASE(PieTargetTest, "PIE holds a waiting time of 15 ms, and lets bursts pass");

class PieBurstTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// \returns share dropped of the packets from `begin` on
    static double Dropped(int64_t burst, const std::vector<Offer>& offers, int64_t begin)
    {
        LinkSpec spec = MakeSpec(PIE);
        std::get<PieSpec>(spec.queue).burst = burst;
        OurSubject subject(spec);
        std::vector<Offer> all = offers;
        all.push_back({offers.back().time + 2 * SECOND}); // until all others are served
        const auto fates = RunOurs(subject, all);
        double dropped = 0;
        double offered = 0;
        for (size_t i = 0; i < offers.size(); ++i)
        {
            offered += offers[i].time >= begin;
            dropped += offers[i].time >= begin && fates[i].served < 0;
        }
        return dropped / offered;
    }

    /// Packets at a constant rate from `begin` to `end`.
    static void Add(std::vector<Offer>& offers, int64_t begin, int64_t end, int64_t gap)
    {
        for (int64_t time = begin; time < end; time += gap)
        {
            offers.push_back({time});
        }
    }

    void DoRun() override
    {
        // RFC 8033, section 4.4: the allowance of 150 ms is whole again after calm, that is, with
        // no probability and both delays below half of the target. It is used up 150 ms after
        // that, and the probability, 0 until then, begins with steps of 1/2048 (section 4.2).
        std::vector<Offer> again;
        Add(again, 0, 10 * SECOND, 100 * MS);
        const int64_t second = 10 * SECOND;
        Add(again, second, second + 200 * MS, PACKET_TIME / 3);
        NS_TEST_EXPECT_MSG_EQ(Dropped(150 * MS, again, second), 0, "an allowance for each burst");
        NS_TEST_EXPECT_MSG_GT(Dropped(0, again, second), 0, "without one it is too long");

        // Twice what the link carries holds the probability at 1/2. When the queue has drained it
        // falls by 2 % in 15 ms (section 4.2): that is no calm yet, and there is no allowance.
        std::vector<Offer> soon;
        Add(soon, 0, 5 * SECOND, PACKET_TIME / 2);
        const int64_t next = 5 * SECOND + 200 * MS;
        Add(soon, next, next + 100 * MS, PACKET_TIME / 2);
        const double expected = 0.5 * std::pow(0.98, 12);
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(150 * MS, soon, next), expected, 0.1, "soon after");

        // An overload that goes on is no burst, however long the delay has been above the target.
        std::vector<Offer> lasting;
        Add(lasting, 0, 5 * SECOND, PACKET_TIME / 2);
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(150 * MS, lasting, 2 * SECOND), 0.5, 0.05, "overload");
    }
};

ADD_CASE(PieBurstTest, "PIE lets a burst pass again once it is calm, and not before");

} // namespace
