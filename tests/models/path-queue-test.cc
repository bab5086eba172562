/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks queue disciplines: each against what its source says, and, fed with the same packets,
 * against stock ns-3's.
 */
#include "event/random-stream.h"
#include "path/codel.h"
#include "path/fq-codel.h"
#include "path/pie.h"
#include "path/red.h"
#include "simulation-test-case.h"

#include "ns3/codel-queue-disc.h"
#include "ns3/fq-codel-queue-disc.h"
#include "ns3/packet.h"
#include "ns3/pie-queue-disc.h"
#include "ns3/red-queue-disc.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

constexpr uint32_t PACKET = 1'000;       // bytes
constexpr int64_t PACKET_TIME = 1 * MS;  // on the link of these tests, 8 Mbit/s
constexpr int64_t QUEUE_STREAM = 0x1234; // of random numbers, of ns-3's disciplines and ours

ns3::RngStream
QueueStream()
{
    // As ns3::RandomVariableStream::SetStream() numbers its streams.
    return ns3::RngStream(1, (uint64_t{1} << 63) + QUEUE_STREAM, 1);
}

LinkSpec
MakeSpec(const std::string& discipline)
{
    LinkSpec spec;
    spec.rate = 8e6;
    spec.bufferPackets = 1'000;
    QueueSpec& queue = spec.queue;
    queue.discipline = discipline;
    queue.target = discipline == "pie" ? 15 * MS : 5 * MS;
    queue.interval = discipline == "pie" ? 15 * MS : 100 * MS;
    queue.quantum = PACKET;
    queue.queues = 1'024;
    queue.alpha = 0.125;
    queue.beta = 1.25;
    queue.minThreshold = 5 * PACKET;
    queue.maxThreshold = 15 * PACKET;
    queue.maxProbability = 0.1;
    queue.weight = 0.002;
    queue.meanPacketTime = PACKET_TIME;
    return spec;
}

/// A packet offered to a queue.
struct Offer
{
    int64_t time; //!< ns
    uint32_t bytes{PACKET};
    uint32_t flow{0};
    bool isEct{false};
};

/// What became of it.
struct Fate
{
    int64_t served{-1}; //!< when its service began, ns; −1: it was dropped
    bool isMarked{false};

    bool operator==(const Fate&) const = default;
};

/// A discipline of ours, or one of ns-3's.
class Subject
{
  public:
    virtual ~Subject() = default;
    virtual void Enqueue(int64_t now, uint32_t number, const Offer& offer) = 0;

    /// \returns number of the packet to serve; −1: none
    virtual int64_t Dequeue(int64_t now, bool& isMarked) = 0;
};

class OurSubject final : public Subject
{
  public:
    explicit OurSubject(const LinkSpec& spec)
        : disc(MakeQueueDisc(spec, m_store, QueueStream()))
    {
    }

    void Enqueue(int64_t now, uint32_t number, const Offer& offer) override
    {
        QueuedPacket* packet = m_store.Take();
        *packet = QueuedPacket{};
        packet->packet.segment = number;
        packet->packet.isEct = offer.isEct;
        packet->arrival = now;
        packet->bytes = offer.bytes;
        packet->flow = offer.flow;
        disc->Enqueue(now, packet);
    }

    int64_t Dequeue(int64_t now, bool& isMarked) override
    {
        QueuedPacket* packet = disc->Dequeue(now);
        if (!packet)
        {
            return -1;
        }
        const int64_t number = packet->packet.segment;
        isMarked = packet->packet.isCe;
        m_store.Return(packet);
        return number;
    }

  private:
    PacketStore m_store;

  public:
    std::unique_ptr<QueueDisc> disc;
};

class StockItem final : public ns3::QueueDiscItem
{
  public:
    StockItem(uint32_t number, const Offer& offer)
        : ns3::QueueDiscItem(ns3::Create<ns3::Packet>(offer.bytes), ns3::Address(), 0),
          number(number),
          m_flow(offer.flow),
          m_isEct(offer.isEct)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        isMarked = m_isEct;
        return m_isEct;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    uint32_t number;
    bool isMarked{false};

  private:
    uint32_t m_flow;
    bool m_isEct;
};

class StockSubject final : public Subject
{
  public:
    explicit StockSubject(const ns3::Ptr<ns3::QueueDisc>& disc)
        : m_disc(disc)
    {
        disc->SetMaxSize(ns3::QueueSize("1000p"));
        disc->Initialize();
    }

    ~StockSubject() override
    {
        m_disc->Dispose();
    }

    void Enqueue(int64_t, uint32_t number, const Offer& offer) override
    {
        auto item = ns3::Create<StockItem>(number, offer);
        item->SetTimeStamp(ns3::Simulator::Now());
        m_disc->Enqueue(item);
    }

    int64_t Dequeue(int64_t, bool& isMarked) override
    {
        auto item = ns3::StaticCast<StockItem>(m_disc->Dequeue());
        if (!item)
        {
            return -1;
        }
        isMarked = item->isMarked;
        return item->number;
    }

  private:
    ns3::Ptr<ns3::QueueDisc> m_disc;
};

/// A link that serves a subject, event by event.
class Server
{
  public:
    Server(Subject& subject, const std::vector<Offer>& offers, int64_t nsPerByte)
        : fates(offers.size()),
          m_subject(subject),
          m_offers(offers),
          m_nsPerByte(nsPerByte)
    {
        ScheduleArrival(0);
    }

    std::vector<Fate> fates;

  private:
    void ScheduleArrival(size_t number)
    {
        if (number == m_offers.size())
        {
            return;
        }
        ns3::Simulator::Schedule(
            ns3::NanoSeconds(m_offers[number].time) - ns3::Simulator::Now(),
            [this, number] {
                m_subject.Enqueue(m_offers[number].time, number, m_offers[number]);
                ScheduleArrival(number + 1);
                if (!m_isBusy)
                {
                    Serve(m_offers[number].time);
                }
            });
    }

    void Serve(int64_t now)
    {
        bool isMarked = false;
        const int64_t number = m_subject.Dequeue(now, isMarked);
        m_isBusy = number >= 0;
        if (m_isBusy)
        {
            fates[number] = {now, isMarked};
            const int64_t end = now + m_offers[number].bytes * m_nsPerByte;
            ns3::Simulator::Schedule(ns3::NanoSeconds(end - now), [this, end] { Serve(end); });
        }
    }

    Subject& m_subject;
    const std::vector<Offer>& m_offers;
    int64_t m_nsPerByte;
    bool m_isBusy{false};
};

constexpr int64_t NS_PER_BYTE = PACKET_TIME / PACKET;

std::vector<Fate>
RunOurs(Subject& subject, const std::vector<Offer>& offers)
{
    ns3::Simulator::Destroy(); // each run begins at 0
    EventLoop::Install();
    Server server(subject, offers, NS_PER_BYTE);
    ns3::Simulator::Stop(ns3::NanoSeconds(offers.back().time));
    ns3::Simulator::Run();
    return server.fates;
}

/// As above, with a stock discipline, which may schedule events of its own from the beginning.
std::vector<Fate>
RunStock(const std::function<ns3::Ptr<ns3::QueueDisc>()>& make, const std::vector<Offer>& offers)
{
    ns3::Simulator::Destroy();
    EventLoop::Install();
    StockSubject subject(make());
    Server server(subject, offers, NS_PER_BYTE);
    ns3::Simulator::Stop(ns3::NanoSeconds(offers.back().time));
    ns3::Simulator::Run();
    return server.fates;
}

/// Packets that arrive at random at `load` times the rate of the link.
std::vector<Offer>
MakeOffers(double load, int64_t duration, uint32_t seed, bool isEct = false)
{
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> gap(load / PACKET_TIME);
    std::vector<Offer> offers;
    for (double time = gap(random); time < static_cast<double>(duration); time += gap(random))
    {
        offers.push_back({static_cast<int64_t>(time), PACKET, 0, isEct});
    }
    return offers;
}

size_t
CountDrops(const std::vector<Fate>& fates)
{
    return std::count_if(fates.begin(), fates.end(), [](auto& fate) { return fate.served < 0; });
}

/// When packets were dropped at the head, told from when the packet behind was served.
std::vector<int64_t>
HeadDropTimes(const std::vector<Fate>& fates)
{
    std::vector<int64_t> times;
    int pending = 0;
    for (const Fate& fate : fates)
    {
        if (fate.served < 0)
        {
            ++pending;
            continue;
        }
        times.insert(times.end(), pending, fate.served);
        pending = 0;
    }
    return times;
}

class CodelSpacingTest : public SimulationTestCase
{
  public:
    CodelSpacingTest()
        : SimulationTestCase(
              "CoDel drops ever faster, by the root of the count, while a queue stands")
    {
    }

  private:
    void DoRun() override
    {
        // A packet every 0.9 ms, one served every 1 ms: waiting times pass 5 ms after some 50 ms
        // and go on rising for longer than this test.
        std::vector<Offer> offers;
        for (int i = 0; i < 2'000; ++i)
        {
            offers.push_back({i * 900 * US});
        }
        OurSubject subject(MakeSpec("codel"));
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
};

class CodelCalmTest : public SimulationTestCase
{
  public:
    CodelCalmTest()
        : SimulationTestCase("CoDel drops nothing while waiting times dip below the target")
    {
    }

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
        OurSubject subject(MakeSpec("codel"));
        RunOurs(subject, offers);
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops(), 0, "drops");
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
        LinkSpec spec = MakeSpec("codel");
        spec.queue.target = 500 * US;
        OurSubject subject(spec);
        RunOurs(subject, offers);
        return subject.disc->Drops();
    }
};

class CodelMarkTest : public SimulationTestCase
{
  public:
    CodelMarkTest()
        : SimulationTestCase("CoDel marks what can be marked at the pace at which it drops")
    {
    }

  private:
    void DoRun() override
    {
        const auto offers = MakeOffers(1.2, 3 * SECOND, 1);
        auto capable = offers;
        for (Offer& offer : capable)
        {
            offer.isEct = true;
        }
        OurSubject dropping(MakeSpec("codel"));
        RunOurs(dropping, offers);
        OurSubject marking(MakeSpec("codel"));
        RunOurs(marking, capable);
        NS_TEST_EXPECT_MSG_EQ(marking.disc->Drops(), 0, "nothing is dropped");
        NS_TEST_EXPECT_MSG_EQ(dropping.disc->Marks().value(), 0, "nothing is marked");
        const auto drops = static_cast<double>(dropping.disc->Drops());
        const auto marks = static_cast<double>(marking.disc->Marks().value());
        NS_TEST_EXPECT_MSG_EQ_TOL(marks, drops, 0.05 * drops, "as often");
        LinkSpec spec = MakeSpec("codel");
        spec.queue.ecn = false;
        OurSubject without(spec);
        RunOurs(without, capable);
        NS_TEST_EXPECT_MSG_EQ(without.disc->Drops(), dropping.disc->Drops(), "without ECN");
        NS_TEST_EXPECT_MSG_EQ(without.disc->Marks().has_value(), false, "nothing to count");
    }
};

class CodelStockTest : public SimulationTestCase
{
  public:
    CodelStockTest()
        : SimulationTestCase("CoDel drops as often as ns-3's, whose square root is approximate")
    {
    }

  private:
    void DoRun() override
    {
        for (const double load : {1.02, 1.1, 1.5})
        {
            const auto offers = MakeOffers(load, 20 * SECOND, 2);
            OurSubject subject(MakeSpec("codel"));
            const auto ours = RunOurs(subject, offers);
            const auto stock =
                RunStock([] { return ns3::CreateObject<ns3::CoDelQueueDisc>(); }, offers);
            const auto ourDrops = static_cast<double>(CountDrops(ours));
            const auto theirDrops = static_cast<double>(CountDrops(stock));
            NS_TEST_EXPECT_MSG_GT(theirDrops, 100, "many drops at load " << load);
            NS_TEST_EXPECT_MSG_EQ_TOL(ourDrops, theirDrops, 0.02 * theirDrops, "load " << load);
        }
    }
};

class PieStockTest : public SimulationTestCase
{
  public:
    PieStockTest()
        : SimulationTestCase("PIE drops and marks the very packets that ns-3's does")
    {
    }

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
                OurSubject subject(MakeSpec("pie"));
                const auto ours = RunOurs(subject, offers);
                const auto stock = RunStock(MakeStock, offers);
                const size_t drops = CountDrops(stock);
                NS_TEST_EXPECT_MSG_EQ((ours == stock), true, "load " << load << " ECT " << isEct);
                NS_TEST_EXPECT_MSG_EQ((drops > 100), (load > 1), "drops at load " << load);
            }
        }
    }
};

class PieTargetTest : public SimulationTestCase
{
  public:
    PieTargetTest()
        : SimulationTestCase("PIE holds a waiting time of 15 ms, and lets bursts pass")
    {
    }

  private:
    void DoRun() override
    {
        const double load = 1.1;
        const auto offers = MakeOffers(load, 120 * SECOND, 4);
        LinkSpec spec = MakeSpec("pie");
        spec.queue.burst = 150 * MS;
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
        const auto drops = static_cast<double>(subject.disc->Drops());
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
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops(), 0, "a burst shorter than 150 ms");
    }
};

class RedTest : public SimulationTestCase
{
  public:
    RedTest()
        : SimulationTestCase("RED spaces drops evenly, by the average between its thresholds")
    {
    }

  private:
    /// Packets between drops while the average stands at `waiting` packets.
    std::vector<int> Gaps(double waiting, double maxProbability)
    {
        LinkSpec spec = MakeSpec("red");
        spec.queue.maxProbability = maxProbability;
        spec.queue.weight = 1;
        spec.bufferPackets = 0;
        OurSubject subject(spec);
        // With a weight of 1 the average is the queue, which is kept at its length.
        bool isMarked;
        const Offer offer{0};
        uint32_t number = 0;
        while (static_cast<double>(subject.disc->WaitingPackets()) < waiting)
        {
            subject.Enqueue(0, ++number, {0, PACKET, 0, true}); // is marked, not dropped
        }
        std::vector<int> gaps;
        int gap = 0;
        uint64_t drops = subject.disc->Drops();
        for (int i = 0; i < 200'000; ++i)
        {
            subject.Enqueue(0, ++number, offer);
            ++gap;
            if (subject.disc->Drops() > drops)
            {
                drops = subject.disc->Drops();
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
        CheckIdle();
        CheckMarks();
    }

    /// The average decays while the link is idle as if small packets had found no queue.
    void CheckIdle()
    {
        LinkSpec spec = MakeSpec("red");
        spec.queue.weight = 0.5;
        PacketStore store;
        RedQueueDisc disc(spec, store, QueueStream());
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
        OurSubject subject(MakeSpec("red"));
        const auto fates = RunOurs(subject, MakeOffers(1.02, 20 * SECOND, 5, true));
        const auto marks =
            std::count_if(fates.begin(), fates.end(), [](auto& fate) { return fate.isMarked; });
        NS_TEST_EXPECT_MSG_GT(marks, 100, "marks");
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Marks().value(), marks, "are counted");
    }
};

class RedStockTest : public SimulationTestCase
{
  public:
    RedStockTest()
        : SimulationTestCase("RED drops as often and keeps queues as long as ns-3's")
    {
    }

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
        LinkSpec spec = MakeSpec("red");
        spec.queue.weight = 0.05;
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

class FqCodelStockTest : public SimulationTestCase
{
  public:
    FqCodelStockTest()
        : SimulationTestCase("FQ-CoDel serves packets in the very order that ns-3's does")
    {
    }

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
        LinkSpec spec = MakeSpec("fq-codel");
        spec.queue.target = 10 * SECOND;
        PacketStore store;
        FqCodelQueueDisc hashing(spec, store, QueueStream());
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

class FqCodelShareTest : public SimulationTestCase
{
  public:
    FqCodelShareTest()
        : SimulationTestCase("FQ-CoDel shares among flows; a sparse one does not wait")
    {
    }

  private:
    void DoRun() override
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
        OurSubject subject(MakeSpec("fq-codel"));
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
};

class FqCodelOverloadTest : public SimulationTestCase
{
  public:
    FqCodelOverloadTest()
        : SimulationTestCase("FQ-CoDel beyond its limit drops half of the longest queue's head")
    {
    }

  private:
    void DoRun() override
    {
        LinkSpec spec = MakeSpec("fq-codel");
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
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops(), 0, "at the limit");
        subject.Enqueue(0, number++, {0, PACKET, 1});
        NS_TEST_EXPECT_MSG_EQ(subject.disc->Drops(), 40, "half of 80");
        NS_TEST_EXPECT_MSG_EQ(subject.disc->WaitingPackets(), 61, "the rest waits");
        bool isMarked;
        std::vector<int64_t> order;
        for (int i = 0; i < 4; ++i)
        {
            order.push_back(subject.Dequeue(0, isMarked));
        }
        NS_TEST_EXPECT_MSG_EQ((order == std::vector<int64_t>{0, 60, 1, 61}), true, "heads");
    }
};

class PathQueueTestSuite : public ns3::TestSuite
{
  public:
    PathQueueTestSuite()
        : ns3::TestSuite("tunnelcc-path-queue", Type::UNIT)
    {
        AddTestCase(new CodelSpacingTest, Duration::QUICK);
        AddTestCase(new CodelCalmTest, Duration::QUICK);
        AddTestCase(new CodelMarkTest, Duration::QUICK);
        AddTestCase(new CodelStockTest, Duration::QUICK);
        AddTestCase(new PieStockTest, Duration::QUICK);
        AddTestCase(new PieTargetTest, Duration::QUICK);
        AddTestCase(new RedTest, Duration::QUICK);
        AddTestCase(new RedStockTest, Duration::QUICK);
        AddTestCase(new FqCodelStockTest, Duration::QUICK);
        AddTestCase(new FqCodelShareTest, Duration::QUICK);
        AddTestCase(new FqCodelOverloadTest, Duration::QUICK);
    }
};

PathQueueTestSuite g_pathQueueTestSuite;

} // namespace
