/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks FQ-CoDel against what its source says and, fed with the same packets, against stock
 * ns-3's.
 */
#include "path/fq-codel.h"
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include "ns3/fq-codel-queue-disc.h"
#include "ns3/string.h"

#include <algorithm>
#include <random>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-fq-codel");

class FqCodelStockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static ns3::Ptr<ns3::QueueDisc> MakeStock()
    {
        auto disc = ns3::CreateObject<ns3::FqCoDelQueueDisc>();
        disc->SetQuantum(PACKET);
        disc->SetAttribute("Target", ns3::StringValue("10s")); // the order alone
        return disc;
    }

    void DoRun() override
    {
        constexpr uint32_t FLOWS = 12;
        LinkSpec spec = MakeSpec(FQ_CODEL);
        std::get<FqCodelSpec>(spec.queue).target = 10 * SECOND;
        PacketStore store;
        FqCodelQueueDisc hashing(spec, std::get<FqCodelSpec>(spec.queue), store, QueueStream());
        std::vector<uint32_t> queues;
        for (uint32_t flow = 0; flow < FLOWS; ++flow)
        {
            queues.push_back(hashing.QueueOf(flow));
        }
        std::sort(queues.begin(), queues.end());
        NS_TEST_ASSERT_MSG_EQ((std::unique(queues.begin(), queues.end()) == queues.end()),
                              true,
                              "a queue each");
        for (const double load : {0.7, 0.95, 1.1})
        {
            std::mt19937 random(7);
            auto offers = MakeOffers(load, 8 * SECOND, 8);
            for (Offer& offer : offers)
            {
                offer.flow = std::min(random() % FLOWS, random() % FLOWS); // some send more
                offer.bytes = 60 + random() % 1'900;
            }
            OurSubject subject(spec);
            const auto ours = RunOurs(subject, offers);
            const auto stock = RunStock(MakeStock, offers);
            NS_TEST_EXPECT_MSG_EQ((ours == stock), true, "load " << load);
        }
    }
};

ADD_CASE(FqCodelStockTest, "FQ-CoDel serves packets in the very order that ns-3's does");

TEST_CASE(SimulationTestCase,
          FqCodelShareTest,
          "FQ-CoDel shares among flows; a sparse one does not wait")
{
    // Flow 1 floods with full packets, flow 2 sends half a link of half packets, flow 3 one
    // packet every 100 ms.
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 40'000; ++i)
    {
        offers.push_back({i * 250 * US, PACKET, 1});
        if (i % 4 == 0)
        {
            offers.push_back({i * 250 * US + 10, PACKET / 2, 2});
        }
        if (i % 400 == 200)
        {
            offers.push_back({i * 250 * US + 20, 100, 3});
        }
    }
    OurSubject subject(MakeSpec(FQ_CODEL));
    const auto fates = RunOurs(subject, offers);
    std::vector<double> served(4);
    int64_t longestWait = 0;
    for (size_t i = 0; i < offers.size(); ++i)
    {
        if (fates[i].served < 0)
        {
            continue;
        }
        served[offers[i].flow] += offers[i].bytes;
        if (offers[i].flow == 3)
        {
            longestWait = std::max(longestWait, fates[i].served - offers[i].time);
        }
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(served[2], 5e6, 0.03 * 5e6, "half of the link in bytes");
    NS_TEST_EXPECT_MSG_EQ_TOL(served[1], 5e6, 0.03 * 5e6, "the other half");
    NS_TEST_EXPECT_MSG_EQ(served[3], 100 * 100, "nothing sparse is dropped");
    // It waits for the packet in service, and for no queue.
    NS_TEST_EXPECT_MSG_LT_OR_EQ(longestWait, PACKET_TIME, "latency of the sparse flow");
}

TEST_CASE(SimulationTestCase,
          FqCodelOverloadTest,
          "FQ-CoDel beyond its limit drops half of the longest queue's head")
{
    LinkSpec spec = MakeSpec(FQ_CODEL);
    spec.bufferPackets = 100;
    OurSubject subject(spec);
    uint32_t number = 0;
    for (int i = 0; i < 20; ++i)
    {
        subject.Enqueue(0, number++, {0, PACKET, 1}); // 0 to 19
    }
    for (int i = 0; i < 80; ++i)
    {
        subject.Enqueue(0, number++, {0, PACKET, 2}); // 20 to 99
    }
    NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 0, "at the limit");
    subject.Enqueue(0, number++, {0, PACKET, 1});
    NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 40, "half of 80");
    NS_TEST_EXPECT_MSG_EQ(subject.disc->WaitingPackets(), 61, "the rest waits");
    bool isMarked;
    std::vector<int64_t> order;
    for (int i = 0; i < 4; ++i)
    {
        order.push_back(subject.Dequeue(0, isMarked));
    }
    NS_TEST_EXPECT_MSG_EQ((order == std::vector<int64_t>{0, 60, 1, 61}), true, "heads");
}

} // namespace
