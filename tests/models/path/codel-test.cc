/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks CoDel against what its source says and, fed with the same packets, against stock ns-3's.
 */
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include "ns3/codel-queue-disc.h"

#include <cmath>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-codel");

TEST_CASE(SimulationTestCase,
          CodelSpacingTest,
          "CoDel drops ever faster, by the root of the count, while a queue stands")
{
    // A packet every 0.9 ms, one served every 1 ms: waiting times pass 5 ms after some 50 ms
    // and go on rising for longer than this test.
    std::vector<Offer> offers;
    for (int i = 0; i < 2'000; ++i)
    {
        offers.push_back({i * 900 * US});
    }
    OurSubject subject(MakeSpec(CODEL));
    const std::vector<int64_t> drops = HeadDropTimes(RunOurs(subject, offers));
    NS_TEST_ASSERT_MSG_GT(drops.size(), 60, "many drops");
    // Waiting times reach 5 ms at about 50 ms; the first drop comes an interval later.
    NS_TEST_EXPECT_MSG_EQ_TOL(drops[0], 150 * MS, 3 * MS, "the first after an interval");
    auto due = static_cast<double>(drops[0]);
    for (size_t i = 1; i < drops.size() && drops[i] < 1'500 * MS; ++i)
    {
        due += 100 * MS / std::sqrt(i);
        // The control law's clock runs on at its own pace; packets leave at theirs.
        NS_TEST_EXPECT_MSG_EQ_TOL(drops[i], due, 1.01 * MS, "drop " << i);
    }
}

class CodelCalmTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // Every 90 ms a burst of 40 packets: waits of up to 40 ms, never for a whole interval.
        std::vector<Offer> offers;
        for (int burst = 0; burst < 100; ++burst)
        {
            for (int i = 0; i < 40; ++i)
            {
                offers.push_back({burst * 90 * MS + i});
            }
        }
        OurSubject subject(MakeSpec(CODEL));
        RunOurs(subject, offers);
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 0, "drops");
        // One packet may stay behind, however slow the link (RFC 8289, MAXPACKET), but not two.
        NS_TEST_EXPECT_MSG_EQ(DropsWithBacklog(1), 0, "one packet may always wait");
        NS_TEST_EXPECT_MSG_EQ(DropsWithBacklog(2), 1, "of two, one is dropped");
    }

    /// Drops where as many packets stay behind whenever one leaves.
    static uint64_t DropsWithBacklog(int packets)
    {
        std::vector<Offer> offers(packets + 2, Offer{0});
        for (int i = 1; i < 1'000; ++i)
        {
            offers.push_back({i * PACKET_TIME + 1});
        }
        LinkSpec spec = MakeSpec(CODEL);
        std::get<CodelSpec>(spec.queue).target = 500 * US;
        OurSubject subject(spec);
        RunOurs(subject, offers);
        return subject.disc->Drops().all;
    }
};

ADD_CASE(CodelCalmTest, "CoDel drops nothing while waiting times dip below the target");

TEST_CASE(SimulationTestCase,
          CodelEdgeTest,
          "CoDel drops once packets waited as long as its target for as long as its interval")
{
    // RFC 8289, section 5, dodequeue(): below the target is calm, at the target is not, and the
    // interval is over when it has passed.
    OurSubject subject(MakeSpec(CODEL));
    bool isMarked;
    int64_t first = 0;
    for (int64_t now = 0; now < SECOND && first == 0; now += MS)
    {
        subject.Enqueue(now, now / MS, {now, PACKET});
        if (now >= 5 * MS)
        {
            subject.Dequeue(now, isMarked);
        }
        first = subject.disc->Drops().all > 0 ? now : 0;
    }
    NS_TEST_EXPECT_MSG_EQ(first, 105 * MS, "the first packet left after 5 ms");
}

TEST_CASE(SimulationTestCase,
          CodelMarkTest,
          "CoDel marks what can be marked at the pace at which it drops")
{
    const auto offers = MakeOffers(1.2, 3 * SECOND, 1);
    auto capable = offers;
    for (Offer& offer : capable)
    {
        offer.isEct = true;
    }
    OurSubject dropping(MakeSpec(CODEL));
    RunOurs(dropping, offers);
    OurSubject marking(MakeSpec(CODEL));
    RunOurs(marking, capable);
    NS_TEST_EXPECT_MSG_EQ(marking.disc->Drops().all, 0, "nothing is dropped");
    NS_TEST_EXPECT_MSG_EQ(dropping.disc->Marks().value().all, 0, "nothing is marked");
    const auto drops = static_cast<double>(dropping.disc->Drops().all);
    const auto marks = static_cast<double>(marking.disc->Marks().value().all);
    NS_TEST_EXPECT_MSG_EQ_TOL(marks, drops, 0.05 * drops, "as often");
    LinkSpec spec = MakeSpec(CODEL);
    std::get<CodelSpec>(spec.queue).ecn = false;
    OurSubject without(spec);
    RunOurs(without, capable);
    NS_TEST_EXPECT_MSG_EQ(without.disc->Drops().all, dropping.disc->Drops().all, "without ECN");
    NS_TEST_EXPECT_MSG_EQ(without.disc->Marks().has_value(), false, "nothing to count");
}

TEST_CASE(SimulationTestCase,
          CodelStockTest,
          "CoDel drops as often as ns-3's, whose square root is approximate")
{
    for (const double load : {1.02, 1.1, 1.5})
    {
        const auto offers = MakeOffers(load, 20 * SECOND, 2);
        OurSubject subject(MakeSpec(CODEL));
        const auto ours = RunOurs(subject, offers);
        const auto stock =
            RunStock([] { return ns3::CreateObject<ns3::CoDelQueueDisc>(); }, offers);
        const auto ourDrops = static_cast<double>(CountDrops(ours));
        const auto theirDrops = static_cast<double>(CountDrops(stock));
        NS_TEST_EXPECT_MSG_GT(theirDrops, 100, "many drops at load " << load);
        NS_TEST_EXPECT_MSG_EQ_TOL(ourDrops, theirDrops, 0.02 * theirDrops, "load " << load);
    }
}

} // namespace
