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

} // namespace
