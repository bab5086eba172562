/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks DualPI2 against RFC 9332: both waiting times, the coupling of marks, and the classic
 * queue's share of the link.
 */
#include "path/dual-pi2.h"
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-dual-pi2");

/// Packets of both kinds that arrive at random, each at its part of the link's rate.
std::vector<Offer>
MakeMix(double classicLoad, double l4sLoad, int64_t duration, bool isClassicEct = true)
{
    std::vector<Offer> offers;
    if (classicLoad > 0)
    {
        offers = MakeOffers(classicLoad, duration, 1, isClassicEct);
    }
    if (l4sLoad > 0)
    {
        for (Offer offer : MakeOffers(l4sLoad, duration, 2, true))
        {
            offer.isL4s = true;
            offers.push_back(offer);
        }
    }
    std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
        return a.time < b.time;
    });
    return offers;
}

/// What became of the packets of one kind from number `first` on.
struct Part
{
    double offered{0};
    double served{0};
    double marked{0};
    double waited{0}; //!< ns, of those served

    Part(const std::vector<Offer>& offers, const std::vector<Fate>& fates, bool isL4s, size_t first)
    {
        for (size_t i = first; i < offers.size(); ++i)
        {
            if (offers[i].isL4s == isL4s)
            {
                ++offered;
                served += fates[i].served >= 0;
                marked += fates[i].isMarked;
                waited += fates[i].served >= 0
                              ? static_cast<double>(fates[i].served - offers[i].time)
                              : 0;
            }
        }
    }
};

/// What became of the packets of both kinds from number `first` on.
struct Outcome
{
    Part classic;
    Part l4s;

    Outcome(const std::vector<Offer>& offers, const std::vector<Fate>& fates, size_t first)
        : classic(offers, fates, false, first),
          l4s(offers, fates, true, first)
    {
    }
};

Outcome
Serve(const LinkSpec& link, const std::vector<Offer>& offers, size_t first)
{
    OurSubject subject(link);
    return {offers, RunOurs(subject, offers), first};
}

TEST_CASE(SimulationTestCase,
          ClassicTargetTest,
          "Classic packets alone -> a waiting time of 15 ms, drops for the load")
{
    const double load = 1.1;
    const auto offers = MakeMix(load, 0, 240 * SECOND, false);
    OurSubject subject(MakeSpec(DUAL_PI2));
    const Part classic(offers, RunOurs(subject, offers), false, offers.size() / 4);
    NS_TEST_EXPECT_MSG_EQ_TOL(classic.waited / classic.served, 15.0 * MS, 2.0 * MS, "target");
    // The controller swings so far that the link is idle for 1 % of the time.
    NS_TEST_EXPECT_MSG_EQ_TOL(1 - classic.served / classic.offered, 1 - 1 / load, 0.015, "");
    const auto& disc = dynamic_cast<const DualPi2QueueDisc&>(*subject.disc);
    NS_TEST_EXPECT_MSG_EQ_TOL(disc.Probability(), std::sqrt(1 - 1 / load), 0.05, "p");
}

TEST_CASE(SimulationTestCase,
          StepTest,
          "L4S packets alone -> marks of those that waited longer than the step")
{
    const auto offers = MakeMix(0, 0.8, 60 * SECOND);
    DualPi2Spec spec = DUAL_PI2;
    spec.step = 3 * MS;
    spec.target = SECOND; // the controller does nothing
    OurSubject subject(MakeSpec(spec));
    const auto fates = RunOurs(subject, offers);
    size_t wrong = 0;
    size_t marked = 0;
    for (size_t i = 0; i < offers.size(); ++i)
    {
        const bool isLong = fates[i].served - offers[i].time > spec.step;
        wrong += fates[i].isMarked != isLong;
        marked += fates[i].isMarked;
    }
    NS_TEST_EXPECT_MSG_EQ(wrong, 0, "no other marks");
    NS_TEST_EXPECT_MSG_GT(marked, 1'000, "marks");
    NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 0, "no drops");
}

TEST_CASE(SimulationTestCase,
          CouplingTest,
          "Both kinds -> L4S marks are twice the root of classic marks")
{
    for (const double coupling : {1.0, 2.0})
    {
        // Drops must hold a load above 1 down: packets that cannot be marked are their part.
        DualPi2Spec spec = DUAL_PI2;
        spec.coupling = coupling;
        spec.step = SECOND; // marks of the controller only
        const auto offers = MakeMix(0.75, 0.3, 240 * SECOND, false);
        const auto [classic, l4s] = Serve(MakeSpec(spec), offers, offers.size() / 4);
        const double dropped = 1 - classic.served / classic.offered;
        NS_TEST_EXPECT_MSG_GT(dropped, 0.03, "drops");
        NS_TEST_EXPECT_MSG_EQ_TOL(l4s.marked / l4s.served,
                                  coupling * std::sqrt(dropped),
                                  0.04 * coupling,
                                  "coupling " << coupling);
        // L4S packets are dropped only in the rare moments in which p is above 1 / coupling.
        NS_TEST_EXPECT_MSG_GT(l4s.served / l4s.offered, 0.999, "no L4S packet is dropped");
        NS_TEST_EXPECT_MSG_LT(l4s.waited / l4s.served, 2.0 * MS, "L4S hardly waits");
        NS_TEST_EXPECT_MSG_EQ_TOL(classic.waited / classic.served, 15.0 * MS, 3.0 * MS, "");
    }
}

TEST_CASE(SimulationTestCase,
          ClassicShareTest,
          "L4S packets fill the link -> the classic queue keeps its share")
{
    for (const double share : {0.1, 0.3})
    {
        DualPi2Spec spec = DUAL_PI2;
        spec.classicShare = share;
        spec.target = 10 * SECOND; // the controller does nothing
        LinkSpec link = MakeSpec(spec);
        link.bufferPackets = 100'000;
        const auto offers = MakeMix(0.5, 1.5, 10 * SECOND);
        const auto [classic, l4s] = Serve(link, offers, 0);
        NS_TEST_EXPECT_MSG_EQ_TOL(classic.served / (classic.served + l4s.served),
                                  share,
                                  0.02,
                                  "share " << share);
    }
}

TEST_CASE(SimulationTestCase,
          OverloadTest,
          "Overload -> drops of packets of both kinds that could be marked")
{
    const auto offers = MakeMix(0.8, 0.8, 120 * SECOND);
    const auto [classic, l4s] = Serve(MakeSpec(DUAL_PI2), offers, offers.size() / 4);
    // Both lose p² = 1 − 1 / 1.6.
    NS_TEST_EXPECT_MSG_EQ_TOL(1 - classic.served / classic.offered, 0.375, 0.03, "classic");
    NS_TEST_EXPECT_MSG_EQ_TOL(1 - l4s.served / l4s.offered, 0.375, 0.03, "L4S");
    NS_TEST_EXPECT_MSG_GT(l4s.marked / l4s.served, 0.95, "almost all others are marked");
}

} // namespace
