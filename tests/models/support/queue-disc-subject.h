/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUEUE_DISC_SUBJECT_H
#define TUNNELCC_QUEUE_DISC_SUBJECT_H

#include "event/random-stream.h"
#include "path/queue-disc.h"
#include "support/simulation-test-case.h"

#include "ns3/packet.h"
#include "ns3/queue-disc.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

/**
 * \file
 * Feeds queue disciplines, ours and ns-3's, with the same packets.
 */
namespace tunnelcc
{

inline constexpr uint32_t PACKET = 1'000;       // bytes
inline constexpr int64_t PACKET_TIME = 1 * MS;  // on the link of these tests, 8 Mbit/s
inline constexpr int64_t QUEUE_STREAM = 0x1234; // of random numbers, of ns-3's disciplines and ours

inline RandomStream
QueueStream()
{
    // As ns3::RandomVariableStream::SetStream() numbers its streams.
    return RandomStream(1, (uint64_t{1} << 63) + QUEUE_STREAM, 1);
}

inline const CodelSpec CODEL{.target = 5 * MS, .interval = 100 * MS, .ecn = true};
inline const FqCodelSpec FQ_CODEL{.target = 5 * MS,
                                  .interval = 100 * MS,
                                  .quantum = PACKET,
                                  .queues = 1'024,
                                  .ecn = true};
inline const PieSpec PIE{.target = 15 * MS,
                         .interval = 15 * MS,
                         .alpha = 0.125,
                         .beta = 1.25,
                         .ecn = true};
inline const DualPi2Spec DUAL_PI2{.target = 15 * MS,
                                  .interval = 16 * MS,
                                  .alpha = 0.16,
                                  .beta = 3.2,
                                  .step = 1 * MS,
                                  .coupling = 2,
                                  .classicShare = 0.1};
inline const RedSpec RED{.minThreshold = 5 * PACKET,
                         .maxThreshold = 15 * PACKET,
                         .maxProbability = 0.1,
                         .weight = 0.002,
                         .gentle = true,
                         .meanPacketTime = PACKET_TIME,
                         .ecn = true};

inline LinkSpec
MakeSpec(const QueueSpec& queue)
{
    LinkSpec spec;
    spec.rate = 8e6;
    spec.bufferPackets = 1'000;
    spec.queue = queue;
    return spec;
}

/// A packet offered to a queue.
struct Offer
{
    int64_t time; //!< ns
    uint32_t bytes{PACKET};
    uint32_t flow{0};
    bool isEct{false};
    bool isL4s{false};
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
        packet->packet.isL4s = offer.isL4s;
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

inline constexpr int64_t NS_PER_BYTE = PACKET_TIME / PACKET;

inline std::vector<Fate>
RunOurs(Subject& subject, const std::vector<Offer>& offers)
{
    Ns3Simulator::Install();
    Server server(subject, offers, NS_PER_BYTE);
    ns3::Simulator::Stop(ns3::NanoSeconds(offers.back().time));
    ns3::Simulator::Run();
    return server.fates;
}

/// As above, with a stock discipline, which may schedule events of its own from the beginning.
inline std::vector<Fate>
RunStock(const std::function<ns3::Ptr<ns3::QueueDisc>()>& make, const std::vector<Offer>& offers)
{
    Ns3Simulator::Install();
    StockSubject subject(make());
    Server server(subject, offers, NS_PER_BYTE);
    ns3::Simulator::Stop(ns3::NanoSeconds(offers.back().time));
    ns3::Simulator::Run();
    return server.fates;
}

/// Packets that arrive at random at `load` times the rate of the link.
inline std::vector<Offer>
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

inline size_t
CountDrops(const std::vector<Fate>& fates)
{
    return std::count_if(fates.begin(), fates.end(), [](auto& fate) { return fate.served < 0; });
}

/// When packets were dropped at the head, told from when the packet behind was served.
inline std::vector<int64_t>
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

} // namespace tunnelcc

#endif // TUNNELCC_QUEUE_DISC_SUBJECT_H
