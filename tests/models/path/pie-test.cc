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

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-pie");

/// What a discipline does to packets that come at random.
struct Behaviour
{
    double wait;    //!< mean waiting time of those that are served, ns
    double dropped; //!< share that is dropped
};

/// But for the first quarter, in which it finds its probability.
Behaviour
Sum(const std::vector<Offer>& offers, const std::vector<Fate>& fates)
{
    const size_t first = offers.size() / 4;
    const auto all = static_cast<double>(offers.size() - first);
    double wait = 0;
    double served = 0;
    for (size_t i = first; i < offers.size(); ++i)
    {
        const bool isServed = fates[i].served >= 0;
        wait += isServed ? static_cast<double>(fates[i].served - offers[i].time) : 0;
        served += isServed;
    }
    return {wait / served, 1 - served / all};
}

class PieStockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static ns3::Ptr<ns3::QueueDisc> MakeStock()
    {
        auto disc = ns3::CreateObject<ns3::PieQueueDisc>();
        disc->SetAttribute("UseDerandomization", ns3::BooleanValue(true));
        disc->AssignStreams(QUEUE_STREAM);
        return disc;
    }

    void DoRun() override
    {
        // It follows the RFC, ours Linux. Once the probability is found, both do the same.
        for (const double load : {1.05, 1.3, 2.0})
        {
            const auto offers = MakeOffers(load, 120 * SECOND, 3);
            OurSubject subject(MakeSpec(PIE));
            const Behaviour ours = Sum(offers, RunOurs(subject, offers));
            const Behaviour stock = Sum(offers, RunStock(MakeStock, offers));
            NS_TEST_EXPECT_MSG_EQ_TOL(ours.wait, stock.wait, 0.1 * stock.wait, load);
            NS_TEST_EXPECT_MSG_EQ_TOL(ours.dropped, stock.dropped, 0.01, load);
        }
    }
};

ADD_CASE(PieStockTest, "PIE drops as often as ns-3's, and holds the same waiting time");

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
        const Behaviour found = Sum(offers, fates);
        NS_TEST_EXPECT_MSG_EQ_TOL(found.wait, 15.0 * MS, 2.0 * MS, "mean waiting time");
        NS_TEST_EXPECT_MSG_EQ_TOL(found.dropped, 1 - 1 / load, 0.01, "drops make up for the load");
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
    }
};

ADD_CASE(PieTargetTest, "PIE holds a waiting time of 15 ms, and lets bursts pass");

class PieBurstTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// \returns share dropped of the packets that come from `begin` to `end`
    static double Dropped(int64_t burst,
                          const std::vector<Offer>& offers,
                          int64_t begin,
                          int64_t end = NEVER)
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
            const bool counts = offers[i].time >= begin && offers[i].time < end;
            offered += counts;
            dropped += counts && fates[i].served < 0;
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
        // that. Linux (pie_calculate_probability()) has a probability for it by then.
        std::vector<Offer> again;
        Add(again, 0, 10 * SECOND, 100 * MS);
        const int64_t second = 10 * SECOND;
        Add(again, second, second + 200 * MS, PACKET_TIME / 4);
        const int64_t usedUp = second + 150 * MS;
        NS_TEST_EXPECT_MSG_EQ(Dropped(150 * MS, again, second, usedUp), 0, "for each burst");
        NS_TEST_EXPECT_MSG_GT(Dropped(150 * MS, again, usedUp), 0, "a longer one");
        NS_TEST_EXPECT_MSG_GT(Dropped(0, again, second, usedUp), 0, "without allowance");

        // Twice what the link carries holds the probability at 1/2. When the queue has drained it
        // falls by 1/64 in 15 ms (Linux): that is no calm yet, and there is no allowance.
        std::vector<Offer> soon;
        Add(soon, 0, 5 * SECOND, PACKET_TIME / 2);
        const int64_t next = 5 * SECOND + 200 * MS;
        Add(soon, next, next + 100 * MS, PACKET_TIME / 2);
        const double expected = 0.5 * std::pow(63. / 64, 12);
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(150 * MS, soon, next), expected, 0.1, "soon after");

        // An overload that goes on is no burst, however long the delay has been above the target.
        std::vector<Offer> lasting;
        Add(lasting, 0, 5 * SECOND, PACKET_TIME / 2);
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(150 * MS, lasting, 2 * SECOND), 0.5, 0.05, "overload");
    }
};

ADD_CASE(PieBurstTest, "PIE lets a burst pass again once it is calm, and not before");

/// A PIE that the test fills, empties and updates by hand.
class PieByHand
{
  public:
    static constexpr int64_t INTERVAL = 16 * MS;
    static constexpr int64_t TARGET = 20 * MS;

    explicit PieByHand(double alpha, int64_t burst = 0, int64_t target = TARGET, double beta = 0)
        : m_spec{.target = target,
                 .interval = INTERVAL,
                 .alpha = alpha,
                 .beta = beta,
                 .burst = burst,
                 .ecn = true},
          m_pie(MakeSpec(m_spec), m_spec, m_store, QueueStream())
    {
    }

    /// So many packets arrive. \returns how many of them wait
    int Arrive(int packets = 1, bool isEct = false)
    {
        int waiting = 0;
        for (int i = 0; i < packets; ++i)
        {
            QueuedPacket* packet = m_store.Take();
            *packet = QueuedPacket{};
            packet->packet.isEct = isEct;
            packet->arrival = now;
            packet->bytes = PACKET;
            if (m_pie.Enqueue(now, packet))
            {
                m_waiting.push_back(packet);
                ++waiting;
            }
        }
        return waiting;
    }

    /// The first packet leaves, as if it had come `delay` ago.
    void Leave(int64_t delay)
    {
        m_waiting.front()->arrival = now - delay;
        m_waiting.pop_front();
        m_store.Return(m_pie.Dequeue(now));
    }

    /// Packets leave until so many wait.
    void LeaveBehind(size_t packets, int64_t delay = 0)
    {
        while (m_waiting.size() > packets)
        {
            Leave(delay);
        }
    }

    /// All leave before the next update, at which a packet arrives.
    void Idle()
    {
        LeaveBehind(0);
        now += INTERVAL - now % INTERVAL;
        Arrive();
    }

    /// The next update, with a waiting time. A packet leaves before it, and one arrives at it.
    void Update(int64_t delay)
    {
        Leave(delay);
        now += INTERVAL - now % INTERVAL;
        Arrive();
    }

    double Probability() const
    {
        return m_pie.DropProbability();
    }

    uint64_t Marks() const
    {
        return m_pie.Marks()->all;
    }

    int64_t now{0};

  private:
    PieSpec m_spec;
    PacketStore m_store;
    PieQueueDisc m_pie;
    std::deque<QueuedPacket*> m_waiting;
};

/// A PIE after two updates, the second with waiting time `delay`, whose probability is exactly
/// `probability`. Many packets wait. From 0 the first step is one of 2048 (RFC 8033, section 4.2),
/// and 2 % for the long delay (Linux).
std::unique_ptr<PieByHand>
WithProbability(double probability, int64_t delay)
{
    const double rest = 1e-9 * static_cast<double>(delay - PieByHand::TARGET);
    double alpha = (probability - 0.02) / (1 + rest) * (1 - 32e-16);
    for (int i = 0; i < 128; ++i, alpha = std::nextafter(alpha, 1.))
    {
        auto pie = std::make_unique<PieByHand>(alpha);
        pie->Arrive(50);
        pie->Update(PieByHand::TARGET + 2048 * SECOND);
        pie->Update(delay);
        if (pie->Probability() == probability)
        {
            return pie;
        }
    }
    NS_ABORT_MSG("no alpha gives " << probability);
}

class PieStepTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// What a step is divided by at a probability. From 0 one step goes there, of alpha times so
    /// many centiseconds above the target; `part` falls a little short.
    static double Divisor(double probability, double part)
    {
        for (int centis = 1; centis < 16; ++centis)
        {
            double alpha = probability * 2048 * part / (0.01 * centis) * (1 - 4e-16);
            for (int i = 0; i < 8; ++i, alpha = std::nextafter(alpha, 1e9))
            {
                PieByHand pie(alpha);
                pie.Arrive(10);
                pie.Update(PieByHand::TARGET + centis * 10 * MS);
                const double before = pie.Probability();
                if (before == probability || part < 1)
                {
                    pie.Update(PieByHand::TARGET + 100);
                    return alpha * 1e-7 / (pie.Probability() - before);
                }
            }
        }
        return 0;
    }

    void DoRun() override
    {
        // RFC 8033, section 4.2: below these probabilities a step is divided so.
        struct Row
        {
            double probability;
            double below;
            double from;
        };

        for (const Row& row : {Row{1e-6, 2048, 512},
                               Row{1e-5, 512, 128},
                               Row{1e-4, 128, 32},
                               Row{1e-3, 32, 8},
                               Row{0.01, 8, 2},
                               Row{0.1, 2, 1}})
        {
            const double below = Divisor(row.probability, 1 - 1e-9);
            NS_TEST_EXPECT_MSG_EQ_TOL(below, row.below, 1e-3, "below " << row.probability);
            const double from = Divisor(row.probability, 1);
            NS_TEST_EXPECT_MSG_EQ_TOL(from, row.from, 1e-3, "from " << row.probability);
        }

        // Section 5.5: from 10 % on, no step up is above 2 %, but by 2 % more above 250 ms (Linux
        // pie_calculate_probability()). From 0.2 by 0.18 for each second.
        for (const auto& [delay, step] : {std::pair{PieByHand::TARGET + 50 * MS, 0.009},
                                          std::pair{250 * MS, 0.02},
                                          std::pair{250 * MS + 1, 0.04},
                                          std::pair{PieByHand::TARGET + SECOND, 0.04},
                                          std::pair{0 * MS, -0.0036}})
        {
            auto pie = WithProbability(0.2, PieByHand::TARGET);
            pie->Update(delay);
            NS_TEST_EXPECT_MSG_EQ_TOL(pie->Probability() - 0.2, step, 1e-6, "after " << delay);
        }

        // At least 0, and up to what Linux's 64 bits hold: 56 of them are a probability of 1.
        auto full = WithProbability(0.9, PieByHand::TARGET);
        full->Leave(SECOND);
        full->now += 10 * PieByHand::INTERVAL;
        full->Arrive();
        NS_TEST_EXPECT_MSG_EQ_TOL(full->Probability(), 0.9 + 10 * 0.04, 1e-6, "more than all");
        full->now += 10'000 * PieByHand::INTERVAL;
        full->Arrive();
        NS_TEST_EXPECT_MSG_EQ(full->Probability(), 256, "the most");
        PieByHand empty(1e3);
        empty.Arrive(10);
        empty.Update(PieByHand::TARGET + 100 * MS);
        empty.Update(0);
        NS_TEST_EXPECT_MSG_EQ(empty.Probability(), 0, "none");
    }
};

ADD_CASE(PieStepTest, "PIE's probability changes by steps as RFC 8033, 4.2 and 5.5, scales them");

TEST_CASE(
    SimulationTestCase,
    PieDecayTest,
    "PIE's probability falls by a 64th at an update when nothing waits, nor at the one before")
{
    // Linux pie_calculate_probability(). With a target of 0 a waiting time of 0 is no reason for a
    // step.
    PieByHand pie(8.192, 0, 0);
    pie.Arrive(10);
    pie.Update(250 * MS);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 1e-3, 1e-12, "a step of 1/2048");
    pie.Idle();
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 1e-3, 1e-12, "something waited before");
    pie.Idle();
    constexpr double DECAYED = 1e-3 * 63 / 64;
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), DECAYED, 1e-12, "nothing");
    pie.now += PieByHand::INTERVAL;
    pie.Arrive();
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), DECAYED, 1e-12, "one waits");
    pie.Idle();
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), DECAYED * 63 / 64, 1e-12, "nothing again");

    // The waiting time is that of the packet that left last, unless it leaves an empty queue.
    for (const int packets : {1, 2})
    {
        PieByHand few(8.192, 0, 0);
        few.Arrive(packets);
        few.Update(250 * MS);
        NS_TEST_EXPECT_MSG_EQ_TOL(few.Probability(), 1e-3 * (packets - 1), 1e-12, packets);
    }
}

TEST_CASE(SimulationTestCase,
          PieEarlyDropTest,
          "PIE spares short queues, and marks up to a probability of 10 %")
{
    struct Row
    {
        double probability;
        int64_t delay; //!< of the packet that left last
        size_t waiting;
        bool isSpared;
    };

    // RFC 8033, section 4.1: below half of the target with a probability below 20 %, or with two
    // packets that wait.
    constexpr int64_t HALF = PieByHand::TARGET / 2;
    for (const Row& row : {Row{0.19, HALF - 1, 30, true},
                           Row{0.19, HALF, 30, false},
                           Row{0.2, HALF - 1, 30, false},
                           Row{0.3, HALF, 2, true},
                           Row{0.3, HALF, 3, false}})
    {
        auto pie = WithProbability(row.probability, PieByHand::TARGET);
        pie->LeaveBehind(row.waiting, row.delay);
        int spared = 0;
        for (int i = 0; i < 100; ++i)
        {
            spared += pie->Arrive();
            pie->LeaveBehind(row.waiting, row.delay);
        }
        NS_TEST_EXPECT_MSG_EQ((spared == 100),
                              row.isSpared,
                              row.probability << ", " << row.delay << " ns, " << row.waiting);
    }

    // Section 5.1: above 10 %, packets that can be marked are dropped all the same.
    for (const double probability : {0.1, 0.1001})
    {
        auto pie = WithProbability(probability, PieByHand::TARGET);
        const int waiting = pie->Arrive(200, true);
        NS_TEST_EXPECT_MSG_EQ((waiting == 200), (probability == 0.1), "none is dropped");
        NS_TEST_EXPECT_MSG_EQ((pie->Marks() > 0), (probability == 0.1), "some are marked");
    }
}

TEST_CASE(SimulationTestCase, PieSpreadTest, "PIE spreads its drops")
{
    // RFC 8033, section 5.4: since a drop, the sum of the probabilities of packets must reach 0.85
    // for another one, which is the fifth packet here, and at 8.5, the 43rd, one is due.
    auto pie = WithProbability(0.2, PieByHand::TARGET);
    int least = 1'000;
    int most = 0;
    int gap = 0;
    int drops = 0;
    for (int i = 0; i < 1'000'000; ++i)
    {
        ++gap;
        if (pie->Arrive())
        {
            pie->Leave(PieByHand::TARGET);
            continue;
        }
        least = drops == 0 ? least : std::min(least, gap);
        most = std::max(most, gap);
        gap = 0;
        ++drops;
    }
    NS_TEST_EXPECT_MSG_EQ(least, 5, "the closest");
    NS_TEST_EXPECT_MSG_EQ(most, 43, "the farthest");
    // From the fifth packet on each one with a probability of 0.2: the mean gap is 4 + 1 / 0.2.
    NS_TEST_EXPECT_MSG_EQ_TOL(drops, 1e6 / 9, 1'000, "in all");
}

class PieCalmTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr double AT_ONCE = 1e4; //!< with which one step makes the probability 1

    /// Updates with a waiting time of 1 s until a packet is dropped.
    static int Patience(PieByHand& pie)
    {
        int updates = 0;
        do
        {
            pie.Update(SECOND);
            ++updates;
        } while (pie.Arrive() && updates < 40);
        return updates;
    }

    void DoRun() override
    {
        // RFC 8033, section 4.4: the allowance, here of two updates, is whole after calm: no
        // probability, and both waiting times below half of the target.
        constexpr int64_t INTERVAL = PieByHand::INTERVAL;
        constexpr int64_t HALF = PieByHand::TARGET / 2;
        for (const auto& [first, second, updates] : {std::tuple{HALF - 1, HALF - 1, 3},
                                                     std::tuple{HALF, HALF, 1},
                                                     std::tuple{HALF - 1, HALF, 1},
                                                     std::tuple{HALF, HALF - 1, 1}})
        {
            PieByHand pie(AT_ONCE, 2 * INTERVAL);
            pie.Arrive(50);
            for (int i = 0; i < 5; ++i)
            {
                pie.Update(first);
                pie.Update(second);
            }
            NS_TEST_EXPECT_MSG_EQ(Patience(pie), updates, first << " ns, then " << second);
        }

        // Linux pie_process_dequeue(): the time between two packets that leave uses it up.
        for (const auto& [burst, updates] : {std::pair{10 * INTERVAL - 1, 1},
                                             std::pair{10 * INTERVAL, 1},
                                             std::pair{10 * INTERVAL + 1, 2},
                                             std::pair{11 * INTERVAL + 1, 3}})
        {
            PieByHand pie(AT_ONCE, burst);
            pie.Arrive(20);
            pie.Leave(HALF);
            pie.now = 10 * INTERVAL;
            pie.Leave(SECOND);
            NS_TEST_EXPECT_MSG_EQ(Patience(pie), updates, "an allowance of " << burst << " ns");
        }

        // In a pause updates keep their times: the next one is at the next whole interval.
        PieByHand pie(1);
        pie.Arrive(20);
        pie.now = 10 * INTERVAL;
        pie.Leave(SECOND);
        pie.now = 11 * INTERVAL - 1;
        pie.Arrive();
        NS_TEST_EXPECT_MSG_EQ(pie.Probability(), 0, "before it");
        pie.now = 11 * INTERVAL;
        pie.Arrive();
        NS_TEST_EXPECT_MSG_GT(pie.Probability(), 0, "at it");

        // And the waiting time of before a pause is forgotten: beta's part of the step is of 1 s.
        PieByHand changing(1, 0, PieByHand::TARGET, 1);
        changing.Arrive(20);
        changing.Update(5 * MS);
        changing.Leave(0);
        changing.now = 10 * INTERVAL;
        changing.Arrive();
        changing.Update(250 * MS);
        const double expected = (0.23 + 0.25) / 2048;
        NS_TEST_EXPECT_MSG_EQ_TOL(changing.Probability(), expected, 1e-9, "since 0");
    }
};

ADD_CASE(PieCalmTest, "PIE's allowance is whole after calm, and updates use it up");

} // namespace
