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
#include <deque>
#include <memory>
#include <tuple>
#include <utility>
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
    void LeaveBehind(size_t packets)
    {
        while (m_waiting.size() > packets)
        {
            Leave(0);
        }
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
/// `probability`. Many packets wait. From 0 the first step is one of 2048 (RFC 8033, section 4.2).
std::unique_ptr<PieByHand>
WithProbability(double probability, int64_t delay)
{
    const double rest = 1e-9 * static_cast<double>(delay - PieByHand::TARGET);
    double alpha = probability / (1 + rest) * (1 - 16e-16);
    for (int i = 0; i < 64; ++i, alpha = std::nextafter(alpha, 1.))
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
    /// many seconds above the target; `part` falls a little short.
    static double Divisor(double probability, double part)
    {
        for (int seconds = 1; seconds < 16; ++seconds)
        {
            double alpha = probability * 2048 * part / seconds * (1 - 4e-16);
            for (int i = 0; i < 8; ++i, alpha = std::nextafter(alpha, 1e9))
            {
                PieByHand pie(alpha);
                pie.Arrive(10);
                pie.Update(PieByHand::TARGET + seconds * SECOND);
                const double before = pie.Probability();
                if (before == probability || part < 1)
                {
                    pie.Update(PieByHand::TARGET + 10 * US);
                    return alpha * 1e-5 / (pie.Probability() - before);
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

        // Section 5.5: from 10 % on, no step up is above 2 %. From 0.2 by 0.2 for each second.
        for (const auto& [delay, step] : {std::pair{PieByHand::TARGET + 50 * MS, 0.01},
                                          std::pair{PieByHand::TARGET + SECOND, 0.02},
                                          std::pair{0 * MS, -0.004}})
        {
            auto pie = WithProbability(0.2, PieByHand::TARGET);
            pie->Update(delay);
            NS_TEST_EXPECT_MSG_EQ_TOL(pie->Probability() - 0.2, step, 1e-6, "after " << delay);
        }

        // It is a probability: at most 1, at least 0.
        auto full = WithProbability(0.9, PieByHand::TARGET);
        for (int i = 0; i < 10; ++i)
        {
            full->Arrive(100);
            full->Update(SECOND);
        }
        NS_TEST_EXPECT_MSG_EQ(full->Probability(), 1, "all");
        PieByHand empty(1e3);
        empty.Arrive(10);
        empty.Update(PieByHand::TARGET + SECOND);
        empty.Update(0);
        NS_TEST_EXPECT_MSG_EQ(empty.Probability(), 0, "none");
    }
};

ADD_CASE(PieStepTest, "PIE's probability changes by steps as RFC 8033, 4.2 and 5.5, scales them");

TEST_CASE(SimulationTestCase,
          PieDecayTest,
          "PIE's probability falls by 2 % at an update when nothing waited, nor at the one before")
{
    // RFC 8033, section 4.2. With a target of 0 a waiting time of 0 is no reason for a step.
    PieByHand pie(2.048, 0, 0);
    pie.Arrive(10);
    pie.Update(SECOND);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 1e-3, 1e-12, "a step of 1/2048");
    pie.Update(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 1e-3, 1e-12, "something waited before");
    pie.Update(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 0.98e-3, 1e-12, "nothing");
    pie.Update(1);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 0.98e-3, 1e-9, "something waits again");
    pie.Update(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(pie.Probability(), 0.98e-3, 1e-9, "and waited before");

    // The waiting time is that of the packet that left last, unless it leaves an empty queue.
    for (const int packets : {1, 2})
    {
        PieByHand few(2.048, 0, 0);
        few.Arrive(packets);
        few.Update(SECOND);
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
        int64_t delay; //!< at the latest update
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
        auto pie = WithProbability(row.probability, row.delay);
        pie->LeaveBehind(row.waiting);
        int spared = 0;
        for (int i = 0; i < 100; ++i)
        {
            spared += pie->Arrive();
            pie->LeaveBehind(row.waiting);
        }
        NS_TEST_EXPECT_MSG_EQ((spared == 100),
                              row.isSpared,
                              row.probability << ", " << row.delay << " ns, " << row.waiting);
    }

    // Section 5.1: from 10 % on, packets that can be marked are dropped all the same.
    for (const double probability : {0.0999, 0.1})
    {
        auto pie = WithProbability(probability, PieByHand::TARGET);
        const int waiting = pie->Arrive(200, true);
        NS_TEST_EXPECT_MSG_EQ((waiting == 200), (probability < 0.1), "none is dropped");
        NS_TEST_EXPECT_MSG_EQ((pie->Marks() > 0), (probability < 0.1), "some are marked");
    }
}

class PieCalmTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Updates with a waiting time of 1 s until the probability rises.
    static int Patience(PieByHand& pie)
    {
        int updates = 0;
        while (pie.Probability() == 0 && updates < 40)
        {
            pie.Update(SECOND);
            ++updates;
        }
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
            PieByHand pie(1, 2 * INTERVAL);
            pie.Arrive(50);
            for (int i = 0; i < 5; ++i)
            {
                pie.Leave(first);
                pie.now += INTERVAL;
                pie.Leave(second); // the update is before it
                pie.Arrive(2);
            }
            NS_TEST_EXPECT_MSG_EQ(Patience(pie), updates, first << " ns, then " << second);
        }

        // Ten updates in a pause, while two packets wait that nothing takes, use it up at once.
        for (const auto& [burst, updates] : {std::pair{10 * INTERVAL - 1, 1},
                                             std::pair{10 * INTERVAL, 1},
                                             std::pair{10 * INTERVAL + 1, 2},
                                             std::pair{11 * INTERVAL + 1, 3}})
        {
            PieByHand pie(1, burst);
            pie.Arrive(20);
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
        changing.Update(SECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(changing.Probability(), (0.98 + 1) / 2048, 1e-9, "1 s and 1 s");
    }
};

ADD_CASE(PieCalmTest, "PIE's allowance is whole after calm, and updates use it up");

} // namespace
