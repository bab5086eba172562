/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks links behind queue disciplines: against the drop-tail link where a discipline never acts,
 * and that nothing is lost count of, whatever it does.
 */
#include "path/path.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-queued-link");

constexpr uint32_t SENDERS = 5;

/// Notes which packets of one sender arrive, and when.
class Destination final : public PacketSink
{
  public:
    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        arrivals.emplace_back(now, packet.segment);
        bytes += packet.length;
        marks += packet.isCe;
        if (packet.HasExtras())
        {
            areExtrasRight &= extras->ackNumber == packet.segment;
        }
    }

    std::vector<std::pair<int64_t, uint32_t>> arrivals; //!< time, number
    uint64_t bytes{0};
    uint64_t marks{0};
    bool areExtrasRight{true};
};

/// What a direction did with random packets.
struct Outcome
{
    explicit Outcome(const LinkSpec& spec)
        : direction(TestLoop(), spec, PathStreams::Forward(spec.bufferPackets)),
          sinks(SENDERS)
    {
    }

    PathDirection direction;
    std::deque<Destination> sinks;
    uint64_t sent{0};
    uint64_t sentBytes{0};
    uint64_t mostWaiting{0};
    std::vector<uint64_t> waiting;
    std::vector<double> served;
};

const CodelSpec CODEL{.target = 500 * US, .interval = 5 * MS, .ecn = true};
const FqCodelSpec FQ_CODEL{.target = 500 * US,
                           .interval = 5 * MS,
                           .quantum = 1'514,
                           .queues = 16,
                           .ecn = true};
// Gains of a hundred times the default, as delays are a hundredth of the usual.
const PieSpec PIE{.target = 500 * US, .interval = 5 * MS, .alpha = 12.5, .beta = 125, .ecn = true};
const RedSpec RED{.minThreshold = 5'000,
                  .maxThreshold = 15'000,
                  .maxProbability = 0.1,
                  .weight = 0.02,
                  .gentle = true,
                  .meanPacketTime = 100 * US,
                  .ecn = true};

class QueuedLinkTestCase : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  protected:
    static LinkSpec MakeSpec(const QueueSpec& queue)
    {
        LinkSpec spec;
        spec.rate = 80e6; // 100 ns a byte
        spec.bufferPackets = 40;
        spec.queue = queue;
        spec.lossPosition = LinkPosition::AFTER;
        return spec;
    }

    /// Send random packets, some with an ACK, from senders with delays of their own.
    static void Send(Outcome& outcome, uint32_t packets, uint32_t seed)
    {
        std::mt19937 random(seed);
        std::vector<Channel> channels;
        for (uint32_t sender = 0; sender < SENDERS; ++sender)
        {
            channels.emplace_back(outcome.direction, (1 + sender / 2) * MS);
        }
        int64_t now = 0;
        for (uint32_t number = 1; number <= packets; ++number)
        {
            // Alternates between overload and underload, in whole 100 ns, so that arrivals often
            // coincide with departures.
            now += 100 * (random() % ((number / 500) % 2 ? 1'200 : 2'400));
            const uint32_t sender = random() % SENDERS;
            Packet packet{};
            packet.kind = PacketKind::DATA;
            packet.sink = &outcome.sinks[sender];
            packet.segment = number;
            packet.length = 40 + random() % 1'461;
            packet.isEct = random() % 2;
            packet.hasAck = random() % 4 == 0;
            At(now, [&outcome, &channels, packet, now, sender] {
                SendOne(outcome, channels[sender], packet, now);
            });
        }
        ns3::Simulator::Run();
        Bottleneck& link = *outcome.direction.GetBottleneck();
        outcome.waiting.push_back(link.WaitingBytes(now + 10 * SECOND));
        outcome.served.push_back(link.ServedBytes(now + 10 * SECOND));
    }

    static uint64_t Count(const Outcome& outcome)
    {
        uint64_t count = 0;
        for (const Destination& sink : outcome.sinks)
        {
            count += sink.arrivals.size();
        }
        return count;
    }

  private:
    static void SendOne(Outcome& outcome, Channel& channel, const Packet& packet, int64_t now)
    {
        PacketExtras extras{};
        extras.ackNumber = packet.segment;
        ++outcome.sent;
        outcome.sentBytes += packet.length;
        channel.Send(now, packet, packet.length, &extras);
        Bottleneck& link = *outcome.direction.GetBottleneck();
        outcome.waiting.push_back(link.WaitingBytes(now));
        outcome.served.push_back(link.ServedBytes(now));
        outcome.mostWaiting = std::max(outcome.mostWaiting, outcome.waiting.back());
    }
};

TEST_CASE(QueuedLinkTestCase,
          SameAsDropTailTest,
          "Behind a discipline that never acts, a link is a drop-tail link")
{
    LinkSpec spec = MakeSpec(CodelSpec{.target = 1'000 * SECOND, .interval = 5 * MS});
    spec.rateSteps = {{100 * MS, 20e6}, {300 * MS, 0}, {350 * MS, 80e6}};
    spec.ratePeriod = 350 * MS;
    spec.loss = 0.01;
    spec.framing = 38;
    Outcome queued(spec);
    queued.direction.GetBottleneck()->StartMeasuring();
    Send(queued, 20'000, 1);
    ns3::Simulator::Destroy();
    spec.queue = DropTailSpec{};
    Ns3Simulator::Install();
    Outcome plain(spec);
    plain.direction.GetBottleneck()->StartMeasuring();
    Send(plain, 20'000, 1);
    for (uint32_t sender = 0; sender < SENDERS; ++sender)
    {
        NS_TEST_EXPECT_MSG_EQ((queued.sinks[sender].arrivals == plain.sinks[sender].arrivals),
                              true,
                              "arrivals from sender " << sender);
        NS_TEST_EXPECT_MSG_GT(plain.sinks[sender].arrivals.size(), 1'000, "many");
    }
    NS_TEST_EXPECT_MSG_EQ((queued.waiting == plain.waiting), true, "bytes that wait");
    NS_TEST_EXPECT_MSG_EQ((queued.served == plain.served), true, "bytes served");
    Bottleneck& ours = *queued.direction.GetBottleneck();
    Bottleneck& theirs = *plain.direction.GetBottleneck();
    NS_TEST_EXPECT_MSG_EQ(ours.Drops().all, theirs.Drops().all, "drops");
    NS_TEST_EXPECT_MSG_GT(theirs.Drops().all, 100, "overload drops");
    NS_TEST_EXPECT_MSG_EQ(ours.RandomLosses().all, theirs.RandomLosses().all, "losses");
    NS_TEST_EXPECT_MSG_EQ(ours.QueueDelay().Mean(), theirs.QueueDelay().Mean(), "mean wait");
    NS_TEST_EXPECT_MSG_EQ(ours.QueueDelay().Count(), theirs.QueueDelay().Count(), "packets");
    NS_TEST_EXPECT_MSG_EQ(ours.OfferedBytes(SECOND), theirs.OfferedBytes(SECOND), "offered");
}

class MeasuredPacketsTest : public QueuedLinkTestCase
{
  public:
    explicit MeasuredPacketsTest(const QueueSpec& queue)
        : QueuedLinkTestCase("Packets on their way when measuring begins do not count"),
          m_queue(queue)
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t BEGIN = 75 * MS; // under overload
        LinkSpec spec = MakeSpec(m_queue);
        spec.loss = 0.5; // of those that leave
        Outcome outcome(spec);
        Bottleneck& link = *outcome.direction.GetBottleneck();
        uint64_t before = 0;
        uint64_t lostBefore = 0;
        At(BEGIN, [&] {
            NS_TEST_EXPECT_MSG_GT(link.WaitingBytes(BEGIN), 0, "some are on their way");
            link.StartMeasuring();
            before = outcome.sent;
            lostBefore = link.Drops().all + link.RandomLosses().all;
        });
        Send(outcome, 1'000, 3);
        uint64_t arrived = 0;
        for (const Destination& sink : outcome.sinks)
        {
            for (const auto& [time, number] : sink.arrivals)
            {
                arrived += number > before;
            }
        }
        const uint64_t lost = link.Drops().measured + link.RandomLosses().measured;
        NS_TEST_EXPECT_MSG_EQ(link.PacketsIn().measured, outcome.sent - before, "offered since");
        NS_TEST_EXPECT_MSG_EQ(lost, link.PacketsIn().measured - arrived, "lost of those");
        NS_TEST_EXPECT_MSG_LT(lost,
                              link.Drops().all + link.RandomLosses().all - lostBefore,
                              "of the others some were lost, too");
    }

    const QueueSpec m_queue;
};

std::string
NameOf(const QueueSpec& queue)
{
    return std::visit([](const auto& spec) { return spec.KIND; }, queue);
}

class ConservationTest : public QueuedLinkTestCase
{
  public:
    ConservationTest(const QueueSpec& queue, bool limitsBytes)
        : QueuedLinkTestCase("Nothing is lost count of: " + NameOf(queue) +
                             (limitsBytes ? ", limit in bytes" : ", limit in packets")),
          m_spec(MakeSpec(queue))
    {
        if (limitsBytes)
        {
            m_spec.bufferPackets = 0;
            m_spec.bufferBytes = 30'000;
        }
    }

  private:
    void DoRun() override
    {
        Outcome outcome(m_spec);
        Send(outcome, 20'000, 2);
        Bottleneck& link = *outcome.direction.GetBottleneck();
        const uint64_t arrived = Count(outcome);
        uint64_t arrivedBytes = 0;
        uint64_t marks = 0;
        for (const Destination& sink : outcome.sinks)
        {
            arrivedBytes += sink.bytes;
            marks += sink.marks;
            NS_TEST_EXPECT_MSG_EQ(sink.areExtrasRight, true, "extras");
            CheckOrder(sink);
        }
        NS_TEST_EXPECT_MSG_EQ(outcome.waiting.back(), 0, "nothing waits in the end");
        NS_TEST_EXPECT_MSG_EQ(outcome.sent, arrived + link.Drops().all, "packets");
        NS_TEST_EXPECT_MSG_EQ(outcome.served.back(), arrivedBytes, "bytes served have arrived");
        NS_TEST_EXPECT_MSG_LT(arrivedBytes, outcome.sentBytes, "some were dropped");
        NS_TEST_EXPECT_MSG_EQ((marks > 0 && link.Marks().value().all >= marks), true, "marks");
        if (m_spec.bufferBytes)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(outcome.mostWaiting, m_spec.bufferBytes, "limit");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(link.MaxWaitingBytes(), m_spec.bufferBytes, "limit");
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(link.MaxWaitingBytes(), outcome.mostWaiting, "most");
        CheckRepeats(outcome);
    }

    /// A sender's packets keep their order.
    void CheckOrder(const Destination& sink)
    {
        int64_t latestTime = 0;
        uint32_t latest = 0;
        for (const auto& [time, number] : sink.arrivals)
        {
            const bool fits = number > latest && time >= latestTime;
            NS_TEST_ASSERT_MSG_EQ(fits, true, "packet " << number);
            latest = number;
            latestTime = time;
        }
    }

    /// The same seed gives the same arrivals.
    void CheckRepeats(const Outcome& outcome)
    {
        Ns3Simulator::Install();
        Outcome again(m_spec);
        Send(again, 20'000, 2);
        for (uint32_t sender = 0; sender < SENDERS; ++sender)
        {
            NS_TEST_EXPECT_MSG_EQ((outcome.sinks[sender].arrivals == again.sinks[sender].arrivals),
                                  true,
                                  "the same again");
        }
    }

    LinkSpec m_spec;
};

ADD_CASES
{
    AddCase(new MeasuredPacketsTest(CODEL));
    AddCase(new MeasuredPacketsTest(FQ_CODEL));
    for (const QueueSpec& discipline :
         {QueueSpec(CODEL), QueueSpec(FQ_CODEL), QueueSpec(PIE), QueueSpec(RED)})
    {
        AddCase(new ConservationTest(discipline, true));
        AddCase(new ConservationTest(discipline, false));
    }
}

} // namespace
