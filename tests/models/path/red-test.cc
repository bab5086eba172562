/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks RED against what its source says and, fed with the same packets, against stock ns-3's.
 */
#include "path/red.h"
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include "ns3/red-queue-disc.h"
#include "ns3/string.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-red");

class RedTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Packets between drops while the average stands at `waiting` packets.
    std::vector<int> Gaps(double waiting, double maxProbability, bool gentle = true)
    {
        LinkSpec spec = MakeSpec(RED);
        std::get<RedSpec>(spec.queue).maxProbability = maxProbability;
        std::get<RedSpec>(spec.queue).weight = 1;
        std::get<RedSpec>(spec.queue).gentle = gentle;
        spec.bufferPackets = 0;
        OurSubject subject(spec);
        // With a weight of 1 the average is the queue, which is kept at its length.
        bool isMarked;
        const Offer offer{0};
        uint32_t number = 0;
        while (static_cast<double>(subject.disc->WaitingPackets()) < waiting && number < 1'000)
        {
            subject.Enqueue(0, ++number, {0, PACKET, 0, true}); // is marked, not dropped
        }
        std::vector<int> gaps;
        int gap = 0;
        uint64_t drops = subject.disc->Drops().all;
        for (int i = 0; i < 200'000; ++i)
        {
            subject.Enqueue(0, ++number, offer);
            ++gap;
            if (subject.disc->Drops().all > drops)
            {
                drops = subject.disc->Drops().all;
                gaps.push_back(gap);
                gap = 0;
            }
            else
            {
                subject.Dequeue(0, isMarked);
            }
        }
        return gaps;
    }

    void DoRun() override
    {
        // Halfway between the thresholds, half the maximum probability: gaps are uniform (Floyd and
        // Jacobson 1993, section VII), on 1 to 1/p - 1 as the paper's pseudocode counts.
        const std::vector<int> gaps = Gaps(10, 0.1);
        for (int length = 1; length <= 20; ++length)
        {
            const auto share =
                static_cast<double>(std::count(gaps.begin(), gaps.end(), length)) / gaps.size();
            const double expected = length < 20 ? 1.0 / 19 : 0;
            NS_TEST_EXPECT_MSG_EQ_TOL(share, expected, 0.01, "share of gaps of " << length);
        }
        NS_TEST_EXPECT_MSG_EQ(Gaps(5, 0.1).size(), 0, "none at the minimum threshold");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Gaps(30, 0.1).size()), 200'000, 1, "all");
        // Gentle: the slope from 0.1 at 15 packets to 1 at 30 passes 0.28 at 18, gaps of 1 or 2
        // with the probabilities 0.28 / 0.72 and, as that leaves 0.44, 0.28 / 0.44, else 3.
        const auto gentle = static_cast<double>(Gaps(18, 0.1).size());
        const double one = 0.28 / 0.72;
        const double two = (1 - one) * 0.28 / 0.44;
        const double mean = one + 2 * two + 3 * (1 - one - two);
        NS_TEST_EXPECT_MSG_EQ_TOL(200'000 / gentle, mean, 0.02 * mean, "gentle slope");
        NS_TEST_EXPECT_MSG_EQ(Gaps(15, 0.1, false).size(), 200'000, "all from 15 on if not gentle");
        CheckIdle();
        CheckMarks();
    }

    /// The average decays while the link is idle as if small packets had found no queue.
    void CheckIdle()
    {
        LinkSpec spec = MakeSpec(RED);
        std::get<RedSpec>(spec.queue).weight = 0.5;
        PacketStore store;
        RedQueueDisc disc(spec, std::get<RedSpec>(spec.queue), store, QueueStream());
        for (int i = 0; i < 4; ++i)
        {
            QueuedPacket* packet = store.Take();
            *packet = QueuedPacket{};
            packet->bytes = PACKET;
            disc.Enqueue(0, packet);
        }
        // Queues of 0 (idle link), 1, 2 and 3 packets: (((1/2) + 2) / 2 + 3) / 2.
        NS_TEST_EXPECT_MSG_EQ_TOL(disc.Average(), 2'125, 1e-9, "average");
        while (disc.Dequeue(10 * MS))
        {
        }
        QueuedPacket* packet = store.Take();
        *packet = QueuedPacket{};
        packet->bytes = PACKET;
        disc.Enqueue(13 * MS, packet);
        NS_TEST_EXPECT_MSG_EQ_TOL(disc.Average(), 2'125.0 / 8, 1e-9, "three packet times idle");
    }

    void CheckMarks()
    {
        OurSubject subject(MakeSpec(RED));
        const auto fates = RunOurs(subject, MakeOffers(1.02, 20 * SECOND, 5, true));
        const auto marks =
            std::count_if(fates.begin(), fates.end(), [](auto& fate) { return fate.isMarked; });
        NS_TEST_EXPECT_MSG_GT(marks, 100, "marks");
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Marks().value().all, marks, "are counted");
    }
};

ADD_CASE(RedTest, "RED spaces drops evenly, by the average between its thresholds");

class RedCountTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// A queue whose average is its length, of which the test keeps both.
    class Queue
    {
      public:
        explicit Queue(double maxProbability)
            : m_subject(MakeSpec(maxProbability))
        {
        }

        /// Packets that may be marked fill it, or packets leave, until so many wait.
        void Make(uint32_t waiting)
        {
            bool isMarked;
            while (m_subject.disc->WaitingBytes() > waiting * PACKET)
            {
                m_subject.Dequeue(0, isMarked);
            }
            for (uint32_t i = 0; i < waiting && m_subject.disc->WaitingBytes() < waiting * PACKET;
                 ++i)
            {
                m_subject.Enqueue(0, m_next++, {0, PACKET, 0, true});
            }
        }

        /// One large packet fills it, so that no other sees what is between.
        void Jump(uint32_t waiting)
        {
            const auto bytes = waiting * PACKET - m_subject.disc->WaitingBytes();
            m_subject.Enqueue(0, m_next++, {0, static_cast<uint32_t>(bytes), 0, true});
        }

        /// Packets that come one by one, and find as many each, up to the first that is dropped.
        int Gap(uint32_t waiting)
        {
            Make(waiting);
            const uint64_t before = m_subject.disc->Drops().all;
            for (int gap = 1; gap < 1'000; ++gap)
            {
                m_subject.Enqueue(0, m_next++, {0, PACKET});
                if (m_subject.disc->Drops().all > before)
                {
                    return gap;
                }
                Make(waiting);
            }
            return 0;
        }

        /// So many come one by one, and find as many each.
        void Pass(uint32_t waiting, int packets)
        {
            Make(waiting);
            for (int i = 0; i < packets; ++i)
            {
                m_subject.Enqueue(0, m_next++, {0, PACKET});
                Make(waiting);
            }
        }

      private:
        static LinkSpec MakeSpec(double maxProbability)
        {
            LinkSpec spec = tunnelcc::MakeSpec(RED);
            std::get<RedSpec>(spec.queue).maxProbability = maxProbability;
            std::get<RedSpec>(spec.queue).weight = 1;
            spec.bufferPackets = 0;
            return spec;
        }

        OurSubject m_subject;
        uint32_t m_next{0};
    };

    void DoRun() override
    {
        // Floyd and Jacobson 1993, figure 2: the count is -1 below the minimum threshold, and at it
        // counts. At a probability of 1/2 a calm queue lets one packet pass, or none.
        Queue calm(1);
        int longest = 0;
        for (int i = 0; i < 200; ++i)
        {
            calm.Make(0);
            calm.Make(4);
            calm.Jump(10);
            longest = std::max(longest, calm.Gap(10));
        }
        NS_TEST_EXPECT_MSG_EQ(longest, 2, "gap after calm");

        // At 6 packets the probability is 1/100: after 200 at the threshold it is high time.
        Queue edge(0.1);
        edge.Pass(5, 200);
        NS_TEST_EXPECT_MSG_EQ(edge.Gap(6), 1, "those at the threshold count");

        // A drop that the average forces is a drop: gaps are 1 to 1/p - 1 after it.
        Queue forced(0.5);
        std::vector<int> gaps(1'000);
        for (int i = 0; i < 900; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(forced.Gap(30), 1, "forced");
            ++gaps.at(forced.Gap(10));
        }
        for (int length = 1; length <= 3; ++length)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(gaps[length], 300, 60, "gaps of " << length);
        }
    }
};

ADD_CASE(RedCountTest, "RED counts the packets between drops from where its source does");

class RedStockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static ns3::Ptr<ns3::QueueDisc> MakeStock()
    {
        auto disc = ns3::CreateObject<ns3::RedQueueDisc>();
        disc->SetAttribute("MinTh", ns3::DoubleValue(5));
        disc->SetAttribute("MaxTh", ns3::DoubleValue(15));
        disc->SetAttribute("QW", ns3::DoubleValue(0.05));
        disc->SetAttribute("LInterm", ns3::DoubleValue(10)); // maximum probability 0.1
        disc->SetAttribute("Gentle", ns3::BooleanValue(true));
        disc->SetAttribute("Wait", ns3::BooleanValue(false));
        disc->SetAttribute("MeanPktSize", ns3::UintegerValue(PACKET));
        disc->SetAttribute("LinkBandwidth", ns3::StringValue("8Mbps"));
        disc->SetAttribute("LinkDelay", ns3::StringValue("10ms"));
        disc->AssignStreams(QUEUE_STREAM);
        return disc;
    }

    static double MeanWait(const std::vector<Offer>& offers, const std::vector<Fate>& fates)
    {
        double sum = 0;
        double served = 0;
        for (size_t i = 0; i < offers.size(); ++i)
        {
            if (fates[i].served >= 0)
            {
                sum += static_cast<double>(fates[i].served - offers[i].time);
                ++served;
            }
        }
        return sum / served;
    }

    void DoRun() override
    {
        // The queue never empties, as the load is high and the average quick to follow: ns-3's
        // discipline spares packets that find one or none.
        LinkSpec spec = MakeSpec(RED);
        std::get<RedSpec>(spec.queue).weight = 0.05;
        for (const double load : {1.3, 1.6, 2.0})
        {
            const auto offers = MakeOffers(load, 100 * SECOND, 6);
            OurSubject subject(spec);
            const auto ours = RunOurs(subject, offers);
            const auto stock = RunStock(MakeStock, offers);
            const auto drops = static_cast<double>(CountDrops(stock));
            NS_TEST_EXPECT_MSG_GT(drops, 10'000, "many drops");
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(CountDrops(ours)),
                                      drops,
                                      0.01 * drops,
                                      "drops at load " << load);
            const double wait = MeanWait(offers, stock);
            NS_TEST_EXPECT_MSG_EQ_TOL(MeanWait(offers, ours), wait, 0.01 * wait, "waiting time");
        }
    }
};

ADD_CASE(RedStockTest, "RED drops as often and keeps queues as long as ns-3's");

} // namespace
