/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks CAKE against arithmetic: its shaper, COBALT, its shares, and its filter of ACKs.
 */
#include "path/cake.h"
#include "path/path.h"
#include "support/queue-disc-subject.h"
#include "support/test-case.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-cake");

const CakeSpec CAKE{.target = 5 * MS,
                    .interval = 100 * MS,
                    .isolation = CakeIsolation::TRIPLE_ISOLATE,
                    .mtu = 1'500};

class CakeShaperTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static uint32_t Counted(uint32_t bytes, int32_t overhead, uint32_t least, CellFraming cells)
    {
        CakeSpec cake = CAKE;
        cake.overhead = overhead;
        cake.leastSize = least;
        cake.cells = cells;
        PacketStore store;
        return CakeQueueDisc(MakeSpec(cake), cake, store, QueueStream()).Counted(bytes);
    }

    class Destination final : public PacketSink
    {
      public:
        void Receive(int64_t now, const Packet& /* packet */, const PacketExtras*) override
        {
            arrivals.push_back(now);
        }

        std::vector<int64_t> arrivals;
    };

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Counted(1'000, 0, 0, CellFraming::NONE), 1'000, "raw");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'000, 38, 84, CellFraming::NONE), 1'038, "Ethernet");
        NS_TEST_EXPECT_MSG_EQ(Counted(40, 38, 84, CellFraming::NONE), 84, "at least");
        // 1032 bytes in 22 cells of 48, each of 53 with its header; 1030 and 17 more.
        NS_TEST_EXPECT_MSG_EQ(Counted(1'000, 32, 0, CellFraming::ATM), 22 * 53, "ATM");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'024, 32, 0, CellFraming::ATM), 22 * 53, "whole cells");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'025, 32, 0, CellFraming::ATM), 23 * 53, "and a byte");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'000, 30, 0, CellFraming::PTM), 1'047, "PTM");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'024, 0, 0, CellFraming::PTM), 1'040, "16 blocks of 64");
        NS_TEST_EXPECT_MSG_EQ(Counted(1'025, 0, 0, CellFraming::PTM), 1'042, "one begun more");

        CakeSpec cake = CAKE;
        cake.bandwidth = 8e6; // 1000 bytes a millisecond
        cake.overhead = 38;
        LinkSpec spec = MakeSpec(cake);
        spec.rate = 80e6;
        PathDirection direction(TestLoop(), spec, PathStreams::Forward(1));
        Destination destination;
        Channel channel(direction, 10 * MS);
        auto send = [&](int64_t now, int packets) {
            At(now, [&channel, &destination, now, packets] {
                for (int i = 0; i < packets; ++i)
                {
                    Packet packet{};
                    packet.sink = &destination;
                    channel.Send(now, packet, 962);
                }
            });
        };
        send(0, 3);
        send(100 * MS, 2);            // idle time gives no credit
        send(100 * MS + 500 * US, 1); // waits for its turn
        ns3::Simulator::Run();
        // 962 bytes take 96.2 us on the link itself.
        std::vector<int64_t> expected;
        for (const int64_t start : {0, 1, 2, 100, 101, 102})
        {
            expected.push_back(start * MS + 96'200 + 10 * MS);
        }
        NS_TEST_EXPECT_MSG_EQ((destination.arrivals == expected), true, "1000 bytes each");
    }
};

ADD_CASE(CakeShaperTest, "CAKE's shaper spaces packets by the bytes that its link will count");

TEST_CASE(SimulationTestCase,
          CobaltTest,
          "COBALT drops the second late packet, then ever more often by the root of its count")
{
    // 1.25 packets arrive per packet sent. The wait at t is t / 5: above 5 ms after 25 ms.
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 1'200; ++i)
    {
        offers.push_back({i * 800 * US, PACKET, 0});
    }
    OurSubject subject(MakeSpec(CAKE));
    subject.disc->AddFlow(0, {});
    const auto fates = RunOurs(subject, offers);
    const auto drops = HeadDropTimes(fates);
    NS_TEST_ASSERT_MSG_GT(drops.size(), 6, "it drops");
    NS_TEST_EXPECT_MSG_EQ(drops[0], 27 * MS, "the second late packet");
    // That took 0.8 ms from the wait, which is above 5 ms again at 30 ms.
    double expected = 30e6;
    for (size_t count = 2; count < 6; ++count)
    {
        expected += 100e6 / std::sqrt(count);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(drops[count - 1]),
                                  expected,
                                  2e6,
                                  "drop " << count);
    }
}

TEST_CASE(SimulationTestCase, CobaltMarkTest, "COBALT marks packets of ECN where it would drop")
{
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 1'200; ++i)
    {
        offers.push_back({i * 800 * US, PACKET, 0, true});
    }
    OurSubject subject(MakeSpec(CAKE));
    subject.disc->AddFlow(0, {});
    const auto fates = RunOurs(subject, offers);
    NS_TEST_EXPECT_MSG_GT(subject.disc->Marks().value().all, 6, "it marks");
    NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 0, "and drops nothing");
}

class BlueTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr Cobalt::Times TIMES{.target = 5 * MS, .interval = 100 * MS, .packet = 0};

    /// Share that is dropped of packets that can be marked and did not wait.
    static double Dropped(Cobalt cobalt, int64_t now, RandomStream& stream)
    {
        constexpr int PACKETS = 20'000;
        int dropped = 0;
        for (int i = 0; i < PACKETS; ++i)
        {
            dropped += cobalt.Judge(now, 0, 0, true, TIMES, stream).isDropped;
        }
        return 1.0 * dropped / PACKETS;
    }

    void DoRun() override
    {
        RandomStream stream = QueueStream();
        Cobalt cobalt;
        int64_t now = SECOND;
        NS_TEST_EXPECT_MSG_EQ(Dropped(cobalt, now, stream), 0, "at first");
        for (int i = 0; i < 64; ++i)
        {
            cobalt.OnFull(now, TIMES);
            cobalt.OnFull(now + MS, TIMES); // too early to count
            now += 6 * MS;
        }
        // 4 sigma of 20,000 packets are 0.012.
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(cobalt, now, stream), 64.0 / 256, 0.013, "overflows");
        for (int i = 0; i < 512; ++i)
        {
            cobalt.OnEmpty(now, TIMES);
            now += 6 * MS;
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(Dropped(cobalt, now, stream), 1.0 / 8, 0.01, "half the way back");
        for (int i = 0; i < 512; ++i)
        {
            cobalt.OnEmpty(now, TIMES);
            now += 6 * MS;
        }
        NS_TEST_EXPECT_MSG_EQ(Dropped(cobalt, now, stream), 0, "all the way");
        for (int i = 0; i < 300; ++i)
        {
            cobalt.OnFull(now, TIMES);
            now += 6 * MS;
        }
        NS_TEST_EXPECT_MSG_EQ(Dropped(cobalt, now, stream), 1, "everything");
    }
};

ADD_CASE(BlueTest, "BLUE drops more with each overflow, and less with each idle turn");

class CakeShareTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Share that the one flow of a host has beside the eight flows of another.
    static double ShareOfOne(CakeIsolation isolation, bool isOneDestination)
    {
        CakeSpec cake = CAKE;
        cake.isolation = isolation;
        cake.target = 10 * SECOND; // the order alone
        OurSubject subject(MakeSpec(cake));
        for (uint32_t flow = 0; flow < 9; ++flow)
        {
            subject.disc->AddFlow(flow, {flow == 8, isOneDestination ? 2 : 10 + flow});
        }
        std::vector<Offer> offers;
        for (int64_t i = 0; i < 2'000; ++i)
        {
            for (uint32_t flow = 0; flow < 9; ++flow)
            {
                offers.push_back({i * MS, PACKET, flow});
            }
        }
        const auto fates = RunOurs(subject, offers);
        double one = 0;
        double all = 0;
        for (size_t i = 0; i < offers.size(); ++i)
        {
            const bool counts = fates[i].served >= 500 * MS;
            all += counts;
            one += counts && offers[i].flow == 8;
        }
        return one / all;
    }

    void DoRun() override
    {
        const double tolerance = 0.02;
        auto check = [&](CakeIsolation isolation, bool isOneDestination, double expected) {
            NS_TEST_EXPECT_MSG_EQ_TOL(ShareOfOne(isolation, isOneDestination),
                                      expected,
                                      tolerance,
                                      NamesOf(isolation)[static_cast<size_t>(isolation)]);
        };
        check(CakeIsolation::FLOWS, false, 1.0 / 9);
        check(CakeIsolation::DUAL_SRCHOST, false, 1.0 / 2);
        check(CakeIsolation::DUAL_SRCHOST, true, 1.0 / 2);
        check(CakeIsolation::DUAL_DSTHOST, false, 1.0 / 9);
        check(CakeIsolation::TRIPLE_ISOLATE, false, 1.0 / 2);
        check(CakeIsolation::TRIPLE_ISOLATE, true, 1.0 / 9); // the destination is as busy
        check(CakeIsolation::SRCHOST, true, 1.0 / 2);
        check(CakeIsolation::DSTHOST, false, 1.0 / 9);
        check(CakeIsolation::HOSTS, true, 1.0 / 2);
    }
};

ADD_CASE(CakeShareTest, "CAKE shares among hosts, then among their flows");

TEST_CASE(SimulationTestCase,
          CakeSparseTest,
          "A sparse flow does not wait in CAKE, beside one that floods")
{
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 40'000; ++i)
    {
        offers.push_back({i * 250 * US, PACKET, 0});
        if (i % 400 == 200)
        {
            offers.push_back({i * 250 * US + 20, 100, 1});
        }
    }
    OurSubject subject(MakeSpec(CAKE));
    subject.disc->AddFlow(0, {0, 1});
    subject.disc->AddFlow(1, {0, 1});
    const auto fates = RunOurs(subject, offers);
    for (size_t i = 0; i < offers.size(); ++i)
    {
        if (offers[i].flow == 1)
        {
            NS_TEST_ASSERT_MSG_EQ((fates[i].served >= 0), true, "no drop");
            NS_TEST_ASSERT_MSG_LT_OR_EQ(fates[i].served - offers[i].time, PACKET_TIME, "wait");
        }
    }
}

class CakeAckFilterTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    struct Ack
    {
        uint32_t number;
        bool isEce{false};
        std::vector<uint32_t> blocks{}; //!< begin, end, begin, end, …
        bool isData{false};
        uint32_t flow{0};
        uint32_t tsEcr{0};
        bool isDuplicate{false}; //!< its first block is a D-SACK
        bool hasAck{true};
    };

    /// The ACKs that are left of `acks`, by their places.
    static std::vector<uint32_t> Left(AckFilter filter, const std::vector<Ack>& acks)
    {
        CakeSpec cake = CAKE;
        cake.ackFilter = filter;
        cake.isolation = CakeIsolation::FLOWBLIND;
        const LinkSpec spec = MakeSpec(cake);
        PacketStore store;
        CakeQueueDisc disc(spec, cake, store, QueueStream());
        disc.AddFlow(0, {});
        disc.AddFlow(1, {});
        for (uint32_t place = 0; place < acks.size(); ++place)
        {
            const Ack& ack = acks[place];
            QueuedPacket* packet = store.Take();
            *packet = QueuedPacket{};
            packet->bytes = 52 + place; // to know it again
            packet->flow = ack.flow;
            Packet& fields = packet->packet;
            fields.kind = ack.isData ? PacketKind::DATA : PacketKind::ACK;
            fields.hasAck = ack.isData && ack.hasAck;
            fields.isEce = ack.isEce;
            fields.isDuplicate = ack.isDuplicate;
            fields.sackBlocks = ack.blocks.size() / 2;
            (ack.isData ? packet->extras.ackNumber : fields.ackNumber) = ack.number;
            (ack.isData ? packet->extras.ackTsEcr : fields.tsEcr) = ack.tsEcr;
            for (size_t block = 0; block < SackBlocks::MAX; ++block)
            {
                // What is behind the blocks that it has says nothing.
                const bool isThere = block < ack.blocks.size() / 2;
                packet->extras.blocks.begin[block] = isThere ? ack.blocks[2 * block] : 0;
                packet->extras.blocks.end[block] = isThere ? ack.blocks[2 * block + 1] : 1'000;
            }
            disc.Enqueue(0, packet);
        }
        std::vector<uint32_t> left;
        while (QueuedPacket* packet = disc.Dequeue(0))
        {
            left.push_back(packet->bytes - 52);
        }
        NS_ABORT_UNLESS(left.size() + disc.Drops().all == acks.size());
        return left;
    }

    void Check(AckFilter filter,
               const std::vector<Ack>& acks,
               const std::vector<uint32_t>& expected,
               const char* what)
    {
        NS_TEST_EXPECT_MSG_EQ((Left(filter, acks) == expected), true, what);
    }

    void DoRun() override
    {
        const std::vector<Ack> four{{1}, {3}, {5}, {7}};
        Check(AckFilter::NONE, four, {0, 1, 2, 3}, "no filter");
        Check(AckFilter::NORMAL, four, {2, 3}, "one more than needed stays");
        Check(AckFilter::AGGRESSIVE, four, {3}, "the last one");
        const auto filter = AckFilter::AGGRESSIVE;
        Check(filter, {{1}, {1}, {1}}, {0, 1, 2}, "duplicate ACKs tell of arrivals");
        Check(filter, {{1, false, {5, 6}}, {3}}, {0, 1}, "a block that the later one lacks");
        Check(filter, {{1, false, {5, 6}}, {1, false, {5, 8}}}, {1}, "it sacks more");
        Check(filter, {{1, false, {5, 6}}, {3, false, {5, 6}}}, {1}, "the same, and more");
        Check(filter, {{1, true}, {3}}, {0, 1}, "the echo of a mark ends");
        Check(filter, {{1}, {3, false, {}, true}, {5}}, {1, 2}, "data stay, and tell as much");
        Check(filter, {{1}, {3, false, {}, false, 1}}, {0, 1}, "another flow");
        Check(filter, {{3}, {1}}, {0, 1}, "an older one");
        CheckFields();
        CheckEchoes();
    }

    /// sch_cake cake_ack_filter(), cake_tcph_may_drop(), cake_tcph_sack_compare()
    void CheckFields()
    {
        const auto filter = AckFilter::AGGRESSIVE;
        Check(filter, {{0xffffffff}, {1}}, {1}, "numbers go round");
        Check(filter, {{1}, {0xffffffff}}, {0, 1}, "also backwards");
        Check(filter, {{1, false, {}, false, 0, 5}, {3}}, {0, 1}, "a later time is echoed");
        Check(filter, {{1}, {3, false, {}, false, 0, 5}}, {1}, "an earlier one");
        Check(filter, {{1, false, {}, false, 0, 5}, {3, false, {}, true}}, {0, 1}, "by data");
        Check(filter, {{1}, {3, false, {}, true, 0, 5}}, {1}, "by data, an earlier one");
        Check(filter, {{1, false, {}, false, 0, 0, true}, {3}}, {0, 1}, "a D-SACK is news");
        Check(filter, {{1}, {3, false, {}, true, 0, 0, false, false}}, {0, 1}, "data without ACK");
        const auto covers = [&](std::vector<uint32_t> blocks, const char* what, bool isLess) {
            const std::vector<uint32_t> left =
                isLess ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{1};
            Check(filter, {{1, false, {15, 18}}, {3, false, blocks}}, left, what);
        };
        covers({15, 18}, "the same block", false);
        covers({14, 19}, "a larger one", false);
        covers({15, 17}, "it ends before", true);
        covers({16, 18}, "it begins behind", true);
        covers({25, 28, 15, 18}, "the second one", false);
        covers({25, 28, 35, 38}, "others", true);
        Check(filter,
              {{1, false, {15, 18, 25, 28}}, {3, false, {15, 18}}},
              {0, 1},
              "one of two is missing");
        // A duplicate ACK that sacks as many segments is no more than the one before: 1, then 11.
        Check(filter, {{1, false, {5, 6}}, {1, false, {5, 6}}}, {0, 1}, "as many");
        Check(filter, {{1, false, {90, 91}}, {1, false, {80, 91}}}, {1}, "more, from before");
    }

    /// The echo of a mark, and what is between: the first of two that say the same goes, or with
    /// the aggressive filter the one right before.
    void CheckEchoes()
    {
        const Ack data{3, true, {}, true};
        Check(AckFilter::NORMAL, {{1}, {3, true}, {5}, {7}}, {0, 1, 2, 3}, "each is news");
        Check(AckFilter::AGGRESSIVE, {{1}, {3, true}, {5}, {7}}, {0, 1, 3}, "but the last");
        Check(AckFilter::NORMAL, {{1}, {3, true}, {5, true}, {7, true}}, {0, 2, 3}, "of three");
        Check(AckFilter::AGGRESSIVE, {{1}, {3, true}, {5, true}, {7, true}}, {0, 3}, "the last");
        Check(AckFilter::AGGRESSIVE, {{1}, {9, false, {}, false, 1}, {5}}, {0, 1, 2}, "between");
        Check(AckFilter::AGGRESSIVE, {{1}, data, {5}}, {0, 1, 2}, "data with an echo between");
        Check(AckFilter::NORMAL, {{1}, data, {5}, {7}}, {1, 2, 3}, "which do not count");
    }
};

ADD_CASE(CakeAckFilterTest, "CAKE drops ACKs where a later one says as much");

TEST_CASE(SimulationTestCase,
          CakeOverflowTest,
          "CAKE beyond its limit drops the head of the longest queue")
{
    LinkSpec spec = MakeSpec(CAKE);
    spec.bufferPackets = 10;
    OurSubject subject(spec);
    subject.disc->AddFlow(0, {0, 1});
    subject.disc->AddFlow(1, {0, 1});
    uint32_t number = 0;
    for (; number < 8; ++number)
    {
        subject.Enqueue(0, number, {0, PACKET, 0});
    }
    for (; number < 12; ++number)
    {
        subject.Enqueue(0, number, {0, PACKET, 1});
    }
    NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops().all, 2, "0 and 1");
    NS_TEST_EXPECT_MSG_EQ(subject.disc->WaitingPackets(), 10, "the others wait");
    bool isMarked;
    NS_TEST_EXPECT_MSG_EQ(subject.Dequeue(0, isMarked), 2, "the head is gone");
}

/// A CAKE that the test fills and empties by hand.
class CakeByHand
{
  public:
    explicit CakeByHand(const CakeSpec& cake)
        : m_subject(MakeSpec(cake))
    {
        m_subject.disc->AddFlow(0, {0, 1});
        m_subject.disc->AddFlow(1, {1, 1});
    }

    /// So many packets of a flow arrive at 0.
    void Fill(uint32_t flow, uint32_t packets, uint32_t bytes)
    {
        for (uint32_t i = 0; i < packets; ++i)
        {
            m_flows.push_back(flow);
            m_subject.Enqueue(0, m_flows.size() - 1, {0, bytes, flow});
        }
    }

    /// The flow of the next packet.
    uint32_t Serve(int64_t now)
    {
        bool isMarked;
        return m_flows[m_subject.Dequeue(now, isMarked)];
    }

    uint64_t Drops() const
    {
        return m_subject.disc->Drops().all;
    }

  private:
    OurSubject m_subject;
    std::vector<uint32_t> m_flows; //!< of the packets, by number
};

TEST_CASE(SimulationTestCase,
          CakeQuantumTest,
          "A flow of CAKE sends 1514 bytes in a turn, and then the next one does")
{
    // sch_cake, flow_quantum without a rate, and the deficit round robin of Shreedhar and Varghese:
    // a packet leaves while some deficit is left. After 15 packets of 100 bytes it is 13 or 14.
    CakeByHand cake(CAKE);
    cake.Fill(0, 40, 100);
    cake.Fill(1, 40, 100);
    for (int turn = 0; turn < 2; ++turn)
    {
        for (int i = 0; i < 16; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(cake.Serve(0), turn, "packet " << i << " of turn " << turn);
        }
    }
    NS_TEST_EXPECT_MSG_EQ(cake.Serve(0), 0, "the first again");

    // Of 756 bytes, two leave a byte or two, and a third may follow; of 757, two leave none.
    for (const uint32_t bytes : {756, 757})
    {
        CakeByHand whole(CAKE);
        whole.Fill(0, 40, bytes);
        whole.Fill(1, 40, bytes);
        for (uint32_t turn = 0; turn < 2; ++turn)
        {
            for (uint32_t i = 0; i < (bytes == 756 ? 3 : 2); ++i)
            {
                NS_TEST_EXPECT_MSG_EQ(whole.Serve(0), turn, "packet " << i << " of " << bytes);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(whole.Serve(0), 0, "the first flow again");
    }
}

TEST_CASE(SimulationTestCase,
          CakeFailsafeTest,
          "At ingress what is dropped takes time of the shaper, but half as much more at most")
{
    // sch_cake cake_advance_shaper(): failsafe_next_packet, of packets that are sent.
    for (const bool isIngress : {false, true})
    {
        CakeSpec cake = CAKE;
        cake.bandwidth = 8e6; // a packet of 1000 bytes takes 1 ms
        cake.ingress = isIngress;
        LinkSpec spec = MakeSpec(cake);
        spec.bufferPackets = 20;
        OurSubject full(spec);
        full.disc->AddFlow(0, {0, 1});
        bool isMarked;
        for (uint32_t number = 0; number < 20; ++number)
        {
            full.Enqueue(0, number, {0});
        }
        full.Dequeue(0, isMarked);
        NS_TEST_EXPECT_MSG_EQ(full.disc->NotBefore(), MS, "a packet");
        for (uint32_t number = 20; number < 30; ++number)
        {
            full.Enqueue(0, number, {0}); // nine are too many
        }
        full.Dequeue(0, isMarked);
        NS_TEST_EXPECT_MSG_EQ(full.disc->NotBefore(),
                              (isIngress ? 3 * MS : 2 * MS),
                              "two and nine dropped: 11 ms, or 3");

        // COBALT drops the second late packet, and more 71 ms later.
        OurSubject late(spec);
        late.disc->AddFlow(0, {0, 1});
        for (uint32_t number = 0; number < 20; ++number)
        {
            late.Enqueue(0, number, {0});
        }
        for (const int64_t now : {1'000 * MS, 1'001 * MS, 1'200 * MS})
        {
            late.Dequeue(now, isMarked);
        }
        NS_TEST_EXPECT_MSG_GT(late.disc->Drops().all, 1, "and dropped some");
        NS_TEST_EXPECT_MSG_EQ(late.disc->NotBefore(),
                              (isIngress ? 4'500 * US : 3 * MS),
                              "three, and as many as were dropped, or 4.5 ms");
    }
}

TEST_CASE(SimulationTestCase,
          CakeHostTurnsTest,
          "What a flow has waiting does not make its host busier to CAKE")
{
    // sch_cake cake_get_flow_quantum(): a host's load is the number of its bulk flows, one each.
    CakeSpec spec = CAKE;
    spec.isolation = CakeIsolation::DUAL_SRCHOST;
    CakeByHand cake(spec);
    cake.Fill(0, 100, 1'500);
    cake.Fill(1, 10, 1'500);
    int ofFirst = 0;
    for (int i = 0; i < 16; ++i)
    {
        ofFirst += cake.Serve(0) == 0;
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(ofFirst, 8, 1, "of 16 packets, whoever has more of them");
}

TEST_CASE(SimulationTestCase,
          CakeSlowLinkTest,
          "On a slow link COBALT has the time of three packets in the place of its interval")
{
    // sch_cake cake_set_rate(): the target is at least 1.5 times that of a packet of 1514 bytes,
    // the interval twice the target. At 100 kbit/s: 121.12 and 363.36 ms. Nothing is late that
    // waited for less than four packets: 484 ms.
    constexpr int64_t TIME = 80 * MS; // of 1000 bytes
    constexpr double INTERVAL = 3 * 121.12 * MS;
    CakeSpec spec = CAKE;
    spec.bandwidth = 1e5;
    CakeByHand cake(spec);
    cake.Fill(0, 100, PACKET);
    std::vector<int64_t> drops;
    for (int64_t now = TIME; now < 2 * SECOND; now += TIME)
    {
        cake.Serve(now);
        drops.resize(cake.Drops(), now);
    }
    NS_TEST_ASSERT_MSG_GT(drops.size(), 5, "it drops");
    NS_TEST_EXPECT_MSG_EQ(drops[0], 640 * MS, "the second late packet; the first was at 560 ms");
    double expected = 560. * MS;
    for (size_t count = 2; count <= 5; ++count)
    {
        expected += INTERVAL / std::sqrt(count);
        // The packet that is served next.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(drops[count - 1], expected, "drop " << count);
        NS_TEST_EXPECT_MSG_LT(drops[count - 1], expected + TIME, "drop " << count);
    }
}

TEST_CASE(SimulationTestCase,
          CakeEndedFlowsTest,
          "At ingress, CAKE is as strict after flows that have ended as before them")
{
    // sch_cake cobalt_should_drop(): waits count from twice the time of a packet of each bulk flow.
    const auto count = [](int bursts) {
        CakeSpec spec = CAKE;
        spec.ingress = true;
        spec.bandwidth = 8e6; // a packet of 1500 bytes takes 1.5 ms
        OurSubject subject(MakeSpec(spec));
        for (const uint32_t flow : {0, 1, 2})
        {
            subject.disc->AddFlow(flow, {flow, 3});
        }
        int64_t now = 0;
        uint32_t number = 0;
        bool isMarked;
        for (int burst = 0; burst < bursts; ++burst)
        {
            for (int i = 0; i < 10; ++i)
            {
                subject.Enqueue(now, number++, {now, 1'500, 1U + burst % 2});
            }
            while (subject.disc->WaitingPackets() > 2)
            {
                now += 2 * MS;
                subject.Dequeue(now, isMarked);
            }
        }
        const uint64_t before = subject.disc->Drops().all;
        for (const int64_t end = now + SECOND; now < end; now += 2 * MS)
        {
            subject.Enqueue(now, number++, {now, 1'500, 0});
            subject.Enqueue(now, number++, {now, 1'500, 0});
            subject.Dequeue(now, isMarked);
        }
        return static_cast<double>(subject.disc->Drops().all - before);
    };
    const double fresh = count(0);
    NS_TEST_EXPECT_MSG_GT(fresh, 20, "drops of a queue that grows by 0.5 s in one");
    NS_TEST_EXPECT_MSG_EQ_TOL(count(200), fresh, 0.1 * fresh, "after 200 bursts");
}

/// COBALT in the order of Linux sch_cake.c, with its roots by division.
class PlainCobalt
{
  public:
    explicit PlainCobalt(const Cobalt::Times& times)
        : m_is(times)
    {
    }

    /// cobalt_queue_full()
    void Full(int64_t now)
    {
        if (now - m_blueTimer > m_is.target)
        {
            m_dropShare = std::min(m_dropShare + (1ULL << 24), 0xffffffffULL);
            m_blueTimer = now;
        }
        m_isDropping = true;
        m_dropNext = now;
        m_count = m_count == 0 ? 1 : m_count;
    }

    /// cobalt_queue_empty()
    void Empty(int64_t now)
    {
        if (m_dropShare > 0 && now - m_blueTimer > m_is.target)
        {
            m_dropShare -= std::min<uint64_t>(m_dropShare, 1ULL << 20);
            m_blueTimer = now;
        }
        m_isDropping = false;
        if (m_count > 0 && now >= m_dropNext)
        {
            Step(-1);
        }
    }

    /// cobalt_should_drop()
    Cobalt::Fate Judge(int64_t now,
                       int64_t sojourn,
                       int64_t bulk,
                       bool canMark,
                       RandomStream& stream)
    {
        const bool isOver =
            sojourn > m_is.target && sojourn > m_is.packet * bulk * 2 && sojourn > m_is.packet * 4;
        bool isDue = m_count > 0 && now >= m_dropNext;
        bool isPast = now > m_dropNext;
        if (isOver && !m_isDropping)
        {
            m_dropNext = now + Gap();
        }
        m_isDropping = isOver;
        m_count = isOver && m_count == 0 ? 1 : m_count;
        Cobalt::Fate fate{};
        if (isDue && m_isDropping)
        {
            fate = {canMark, !canMark};
            Step(1);
            isPast = now > m_dropNext;
            isDue = false;
        }
        while (isDue)
        {
            Step(-1);
            isPast = now > m_dropNext;
            isDue = m_count > 0 && now >= m_dropNext;
        }
        if (m_dropShare > 0)
        {
            fate.isDropped |= stream.RandU01() * 4294967296. < static_cast<double>(m_dropShare);
        }
        if (m_count == 0)
        {
            m_dropNext = now + m_is.interval;
        }
        else if (isPast && !fate.isDropped)
        {
            m_dropNext = now;
        }
        return fate;
    }

    bool IsActive(int64_t now) const
    {
        return m_dropShare > 0 || m_count > 0 || now < m_dropNext;
    }

    uint32_t Count() const
    {
        return m_count;
    }

  private:
    int64_t Gap() const
    {
        return static_cast<int64_t>(static_cast<uint64_t>(m_is.interval) * m_root >> 32);
    }

    void Step(int change)
    {
        m_count += change;
        if (m_count < 16)
        {
            const double root = std::round(4294967296. / std::sqrt(std::max(m_count, 1U)));
            m_root = static_cast<uint64_t>(std::min(root, 4294967295.));
        }
        else // cobalt_newton_step()
        {
            const uint64_t square = m_root * m_root >> 32;
            m_root = ((3ULL << 32) - m_count * square) / 4 * m_root >> 31;
        }
        m_dropNext += Gap();
    }

    const Cobalt::Times m_is;
    uint32_t m_count{0};
    uint64_t m_root{0}; //!< 1 / sqrt(count), in units of 2^-32
    uint64_t m_dropShare{0};
    int64_t m_dropNext{0};
    int64_t m_blueTimer{0};
    bool m_isDropping{false};
};

class CobaltPlainTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    int64_t Pick(std::initializer_list<int64_t> values)
    {
        return *(values.begin() + m_random() % values.size());
    }

    /// \param full, empty, late  so many of 64 steps are these
    void Run(const Cobalt::Times& times, uint32_t full, uint32_t empty, uint32_t late)
    {
        Cobalt cobalt;
        PlainCobalt plain(times);
        RandomStream stream = QueueStream();
        RandomStream same = QueueStream();
        int64_t now = 0;
        for (int i = 0; i < 4'000 && !IsStatusFailure(); ++i)
        {
            now += Pick({0, 1, MS, 5 * MS, 5 * MS, 5 * MS + 1, 10 * MS});
            now += m_random() % 200 == 0 ? SECOND : 0;
            const uint32_t what = m_random() % 64;
            if (what < full)
            {
                cobalt.OnFull(now, times);
                plain.Full(now);
            }
            else if (what < full + empty)
            {
                cobalt.OnEmpty(now, times);
                plain.Empty(now);
            }
            else
            {
                const bool isLate = m_random() % 64 < late;
                const auto bulk = static_cast<uint32_t>(Pick({0, 1, 2, 3}));
                const int64_t edge =
                    Pick({times.target, times.packet * 4, times.packet * bulk * 2});
                const int64_t waited = isLate ? SECOND : edge + Pick({0, 1});
                const bool canMark = m_random() % 2 == 0;
                const auto ours = cobalt.Judge(now, waited, bulk, canMark, times, stream);
                const auto theirs = plain.Judge(now, waited, bulk, canMark, same);
                NS_TEST_ASSERT_MSG_EQ(ours.isMarked, theirs.isMarked, "mark at " << i);
                NS_TEST_ASSERT_MSG_EQ(ours.isDropped, theirs.isDropped, "drop at " << i);
            }
            NS_TEST_ASSERT_MSG_EQ(cobalt.IsActive(now), plain.IsActive(now), "after " << i);
            m_most = std::max(m_most, plain.Count());
        }
    }

    void DoRun() override
    {
        const Cobalt::Times fast{.target = 5 * MS, .interval = 100 * MS, .packet = 0};
        const Cobalt::Times slow{.target = 5 * MS, .interval = 20 * MS, .packet = 3 * MS};
        for (int i = 0; i < 20 && !IsStatusFailure(); ++i)
        {
            for (const auto& times : {fast, slow})
            {
                Run(times, 0, 4, 16);  // now and then late
                Run(times, 0, 0, 62);  // nearly always late
                Run(times, 1, 16, 8);  // overflows, and turns without packets
                Run(times, 40, 2, 32); // overload
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_most, 100, "counts for which the root is stepped");
    }

    std::mt19937 m_random{11};
    uint32_t m_most{0};
};

ADD_CASE(CobaltPlainTest, "COBALT equals one in the order of Linux sch_cake.c, at random times");

TEST_CASE(SimulationTestCase,
          CakeSetsTest,
          "CAKE's queues are sets of eight, so that hundreds of flows hardly share any")
{
    // sch_cake cake_hash(). Of 300 flows in 128 sets, none has more than eight; by the hash alone
    // a quarter would share one of the 1024 queues. A packet of 1600 bytes uses up a turn.
    constexpr uint32_t FLOWS = 300;
    CakeSpec spec = CAKE;
    spec.isolation = CakeIsolation::FLOWS;
    OurSubject subject(MakeSpec(spec));
    for (uint32_t flow = 0; flow < FLOWS; ++flow)
    {
        subject.disc->AddFlow(flow, {0, 1});
    }
    for (uint32_t number = 0; number < 3 * FLOWS; ++number)
    {
        subject.Enqueue(0, number, {0, 1'600, number / 3});
    }
    std::set<int64_t> served;
    bool isMarked;
    for (uint32_t i = 0; i < FLOWS; ++i)
    {
        served.insert(subject.Dequeue(0, isMarked) / 3);
    }
    NS_TEST_EXPECT_MSG_EQ(served.size(), FLOWS, "one packet of each, before the second of any");
}

class CakeRatesTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Packets of 10 bytes that a flow sends in its second turn.
    static int Turn(double bandwidth)
    {
        CakeSpec spec = CAKE;
        spec.bandwidth = bandwidth;
        CakeByHand cake(spec);
        cake.Fill(0, 450, 10);
        cake.Fill(1, 450, 10);
        while (cake.Serve(0) == 0)
        {
        }
        while (cake.Serve(0) == 1)
        {
        }
        int packets = 1;
        while (cake.Serve(0) == 0)
        {
            ++packets;
        }
        return packets;
    }

    void DoRun() override
    {
        // sch_cake cake_set_rate(): what 1/4096 s brings, but at least 300 and at most 1514 bytes.
        NS_TEST_EXPECT_MSG_EQ_TOL(Turn(8e6), 30, 1, "244 bytes");
        NS_TEST_EXPECT_MSG_EQ_TOL(Turn(1.6e7), 49, 1, "488 bytes");
        NS_TEST_EXPECT_MSG_EQ_TOL(Turn(4e7), 122, 1, "1220 bytes");
        NS_TEST_EXPECT_MSG_EQ_TOL(Turn(1e9), 151, 1, "30518 bytes");
    }
};

ADD_CASE(CakeRatesTest, "A turn of CAKE is as long as its rate brings in 244 us");

/// Packets that crossed sch_cake of Linux, and when (tests/reference/virtual.py).
struct LinuxTrace
{
    std::vector<Offer> offers;
    std::vector<Fate> fates;

    explicit LinuxTrace(const std::string& name)
    {
        std::ifstream file(std::string(TUNNELCC_TEST_DATA) + "/queues/" + name + ".csv");
        std::string line;
        std::getline(file, line); // the names of the columns
        while (std::getline(file, line))
        {
            std::replace(line.begin(), line.end(), ',', ' ');
            std::istringstream fields(line);
            int64_t arrival;
            int64_t left;
            uint32_t flow;
            uint32_t bytes;
            int ect;
            int marked;
            fields >> arrival >> flow >> bytes >> ect >> left >> marked;
            offers.push_back({arrival * US, bytes, flow, ect > 0});
            fates.push_back({left == 0 ? -1 : left, marked > 0});
        }
    }

    /// What becomes of the packets here.
    std::vector<Fate> Replay() const
    {
        CakeSpec cake = CAKE;
        cake.bandwidth = 8e6;
        cake.overhead = 14; // Ethernet's header, which Linux counts
        cake.isolation = CakeIsolation::FLOWS;
        OurSubject subject(MakeSpec(cake));
        for (uint32_t flow = 0; flow < 4; ++flow)
        {
            subject.disc->AddFlow(flow, {0, 1});
        }
        std::vector<Fate> ours(offers.size());
        int64_t now = 0;
        auto serve = [&](int64_t until) {
            while (subject.disc->WaitingPackets() > 0 &&
                   std::max(now, subject.disc->NotBefore()) < until)
            {
                now = std::max(now, subject.disc->NotBefore());
                bool isMarked = false;
                const int64_t number = subject.Dequeue(now, isMarked);
                ours[number] = {now, isMarked};
            }
        };
        for (uint32_t number = 0; number < offers.size(); ++number)
        {
            serve(offers[number].time);
            now = offers[number].time;
            subject.Enqueue(now, number, offers[number]);
        }
        serve(now + SECOND);
        return ours;
    }
};

class CakeBesideLinuxTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int64_t LATE = 2 * US; // the virtual clock moves a little each time it is read

    void DoRun() override
    {
        for (const std::string name : {"cobalt", "cobalt-ecn", "cake"})
        {
            const LinuxTrace trace(name);
            NS_TEST_ASSERT_MSG_GT(trace.offers.size(), 3'000, "the file");
            const std::vector<Fate> fates = trace.Replay();
            size_t same = 0; // the first so many
            for (; same < fates.size(); ++same)
            {
                const Fate& ours = fates[same];
                const Fate& theirs = trace.fates[same];
                if (ours.isMarked != theirs.isMarked || (ours.served < 0) != (theirs.served < 0) ||
                    std::abs(ours.served - theirs.served) > LATE)
                {
                    break;
                }
            }
            NS_TEST_EXPECT_MSG_EQ(same, fates.size(), name << ": alike up to " << same);
        }
    }
};

ADD_CASE(CakeBesideLinuxTest, "Packets cross CAKE as they crossed sch_cake of Linux");

} // namespace
