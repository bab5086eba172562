/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks FEC: what a code leaves of losses against the exact probability, when groups are closed,
 * and that every packet is delivered once at most.
 */
#include "event/random-stream.h"
#include "path/gilbert-elliott.h"
#include "support/fec-coder.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-fec");

// Of the shards that a coder noted.
constexpr bool DATA = false;
constexpr bool PARITY = true;

/// Loss of a chain with a good state that loses nothing and a bad one that loses all.
struct Loss
{
    double share; //!< of packets
    double burst; //!< mean length; 0: independent losses

    double Recovery() const
    {
        return burst > 0 ? 1 / burst : 1 - share;
    }

    double Failure() const
    {
        return Recovery() * share / (1 - share);
    }
};

/**
 * Expected share of packets that a code does not bring back: sum over the number of lost shards and
 * of lost data shards, along the chain.
 */
double
ExpectedResidual(const FecSpec& spec, const Loss& loss)
{
    uint32_t data = spec.data;
    uint32_t all = data + spec.parity.back();
    uint32_t width = data + 1;
    // [bad state][lost shards][lost data shards]
    std::vector<double> chain(2 * (all + 1) * width);
    auto at =
        [&](std::vector<double>& of, uint32_t bad, uint32_t lost, uint32_t lostData) -> double& {
        return of[(bad * (all + 1) + lost) * width + lostData];
    };
    at(chain, 0, 0, 0) = 1 - loss.share;
    at(chain, 1, 0, 0) = loss.share;
    for (uint32_t i = 0; i < all; ++i)
    {
        std::vector<double> next(chain.size());
        for (uint32_t lost = 0; lost <= i; ++lost)
        {
            for (uint32_t lostData = 0; lostData <= std::min(lost, data); ++lostData)
            {
                double good = at(chain, 0, lost, lostData);
                at(next, 0, lost, lostData) += good * (1 - loss.Failure());
                at(next, 1, lost, lostData) += good * loss.Failure();
                double bad = at(chain, 1, lost, lostData);
                uint32_t more = lostData + (i < data);
                at(next, 0, lost + 1, more) += bad * loss.Recovery();
                at(next, 1, lost + 1, more) += bad * (1 - loss.Recovery());
            }
        }
        chain.swap(next);
    }
    double residual = 0;
    for (uint32_t bad : {0, 1})
    {
        for (uint32_t lost = all - data + 1; lost <= all; ++lost)
        {
            for (uint32_t lostData = 0; lostData <= data; ++lostData)
            {
                bool isWhole = spec.blob.has_value();
                double share = isWhole ? 1 : static_cast<double>(lostData) / data;
                residual += at(chain, bad, lost, lostData) * share;
            }
        }
    }
    return residual;
}

class ResidualLossTest : public SimulationTestCase
{
  public:
    ResidualLossTest(const std::string& code, const FecSpec& spec, const Loss& loss)
        : SimulationTestCase(code + ", loss " + std::to_string(loss.share) + ", bursts of " +
                             std::to_string(loss.burst)),
          m_spec(spec),
          m_loss(loss)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t PACKETS = 1'000'000;
        constexpr uint32_t BATCHES = 200; // long against bursts, so that they are independent
        GilbertElliottSpec chain;
        chain.p = m_loss.Failure();
        chain.r = m_loss.Recovery();
        chain.k = 1;
        GilbertElliott losses(chain, MakeRandomStream(3, RandomComponent::FORWARD_LOSS, 0));
        GilbertElliott::Gap gap = losses.NextGap();
        FecCoder coder(m_spec, [&] {
            if (gap.arriving-- > 0)
            {
                return false;
            }
            const bool isLost = gap.endsInLoss;
            gap = losses.NextGap();
            return isLost;
        });
        coder.isNoting = false;
        std::vector<double> shares;
        FecCounters before;
        for (uint32_t batch = 0; batch < BATCHES; ++batch)
        {
            for (uint32_t i = 0; i < PACKETS / BATCHES; ++i)
            {
                coder.Send(0);
            }
            FecCounters now = coder.decoder.Counters(0);
            auto lost = static_cast<double>(now.lost - before.lost);
            shares.push_back(lost / static_cast<double>(now.packets - before.packets));
            before = now;
        }
        double mean = 0;
        for (double share : shares)
        {
            mean += share / BATCHES;
        }
        double variance = 0;
        for (double share : shares)
        {
            variance += (share - mean) * (share - mean) / (BATCHES - 1);
        }
        double sigma = std::sqrt(variance / BATCHES);
        double expected = ExpectedResidual(m_spec, m_loss);
        // Where hardly anything is lost, the spread of no losses is none: one lost group is left.
        double group = 1.0 / PACKETS * m_spec.data;
        NS_TEST_EXPECT_MSG_EQ_TOL(mean, expected, 3 * sigma + group, "share of packets lost");
    }

    const FecSpec m_spec;
    const Loss m_loss;
};

TEST_CASE(SimulationTestCase,
          PublishedResidualTest,
          "Exact residual losses agree with their formulas")
{
    const FecSpec fourOne = MakeCode(4, 1);
    for (double p : {0.01, 0.05, 0.1, 0.3})
    {
        // A packet is lost with another one of the four or the parity.
        double formula = p * (1 - std::pow(1 - p, 4));
        NS_TEST_EXPECT_MSG_EQ_TOL(ExpectedResidual(fourOne, {p, 0}), formula, 1e-12, p);
    }
    const FecSpec blob = MakeBlobCode(2, 1);
    double p = 0.2;
    double formula = 3 * p * p * (1 - p) + p * p * p; // two or three of three
    NS_TEST_EXPECT_MSG_EQ_TOL(ExpectedResidual(blob, {p, 0}), formula, 1e-12, "blob");
}

TEST_CASE(SimulationTestCase,
          GroupTest,
          "A group is closed when it is full or old, and its parity is as long "
          "as its longest packet")
{
    FecSpec spec = MakeCode(4, 1);
    spec.parity = {1, 1, 2, 2};
    spec.timeout = 8 * MS;
    FecCoder coder(spec);
    At(0, [&] {
        for (uint32_t bytes : {100, 700, 300, 200})
        {
            coder.Send(0, bytes);
        }
        coder.Send(0, 50);
    });
    At(7 * MS, [&] { coder.Send(7 * MS, 60); });
    At(8 * MS - 1, [&] { NS_TEST_EXPECT_MSG_EQ(coder.shards.size(), 8, "still open"); });
    RunUntil(SECOND);
    const std::vector<FecCoder::Shard> expected{{DATA, 100},
                                                {DATA, 700},
                                                {DATA, 300},
                                                {DATA, 200},
                                                {PARITY, 700},
                                                {PARITY, 700},
                                                {DATA, 50},
                                                {DATA, 60},
                                                {PARITY, 60}};
    NS_TEST_EXPECT_MSG_EQ((coder.shards == expected), true, "two groups");
}

TEST_CASE(SimulationTestCase,
          GapTest,
          "A group whose last packet comes late has no parity, but its numbers")
{
    FecSpec spec = MakeCode(10, 3);
    spec.gap = 500 * MS;
    spec.inner.clear(); // packets are what they are
    for (int64_t wait : {500 * MS - 1, 500 * MS})
    {
        FecCoder coder(spec);
        coder.isHolding = true;
        int64_t now = 10 * SECOND;
        for (uint32_t i = 0; i < 11; ++i)
        {
            now += i == 9 ? wait : i == 5 ? SECOND : MS;
            coder.Send(now);
        }
        bool isLate = wait == 500 * MS;
        NS_TEST_ASSERT_MSG_EQ(coder.held.size(), isLate ? 11 : 14, "shards");
        NS_TEST_EXPECT_MSG_EQ(coder.held[9].segment, 9, "the tenth of a group");
        NS_TEST_EXPECT_MSG_EQ(coder.held.back().segment, 13, "the first of the next one");
        NS_TEST_EXPECT_MSG_EQ(coder.shards[9].bytes, IP_BYTES, "its size");
    }
}

TEST_CASE(SimulationTestCase,
          BlobTest,
          "A blob is cut into the shards that take the least bytes in all")
{
    FecSpec spec = MakeBlobCode(3, 1);
    spec.blob->header = 4;
    spec.blob->packetHeader = 2;
    spec.blob->cost = 40;
    FecCoder coder(spec);
    // 4 + 3·(2 + 900) bytes fit into three shards of 1000 at most, a fourth packet does not.
    for (uint32_t i = 0; i < 4; ++i)
    {
        coder.Send(0, 900);
    }
    const std::vector<FecCoder::Shard> expected{{DATA, 904},
                                                {DATA, 904},
                                                {DATA, 904},
                                                {PARITY, 904}};
    NS_TEST_EXPECT_MSG_EQ((coder.shards == expected), true, "⌈2710 / 3⌉ bytes each");
    const std::vector<uint32_t> delivered{0, 1, 2};
    NS_TEST_EXPECT_MSG_EQ((coder.delivered == delivered), true, "in order");
    // 100 bytes, 2 more counted: (102 + 40)·2, (51 + 40)·3 or (34 + 40)·4.
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 100), 2, "273 is less than 284 and 296");
    // 12 are best sent whole: (12 + 40)·2 is less than (6 + 40)·3.
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 10), 1, "104 is less than 138 and 176");
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 2001), 3, "no shard above 1000 bytes");
    // 60 bytes whole, (60 + 40)·2, is less than (30 + 40)·3 and (20 + 40)·4.
    spec.blob->mtu = 60;
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 58), 1, "a shard of the largest size");
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 59), 2, "one byte more is too large");
}

TEST_CASE(SimulationTestCase,
          DeliveryTest,
          "A packet is delivered once, also when its shard comes after all")
{
    FecCoder coder(MakeCode(4, 1));
    coder.isHolding = true;
    for (uint32_t i = 0; i < 4; ++i)
    {
        coder.Send(i * MS);
    }
    for (size_t index : {0, 1, 3, 4})
    {
        coder.Release(SECOND, index);
    }
    const std::vector<uint32_t> recovered{0, 1, 3, 2};
    NS_TEST_EXPECT_MSG_EQ((coder.delivered == recovered), true, "the third after the parity");
    NS_TEST_EXPECT_MSG_EQ(coder.Recovered(), 1, "so far, it would not have arrived");
    coder.Release(SECOND, 2);
    NS_TEST_EXPECT_MSG_EQ(coder.Recovered(), 0, "it was only late");
    NS_TEST_EXPECT_MSG_EQ((coder.delivered == recovered), true, "not twice");
    NS_TEST_EXPECT_MSG_EQ(coder.decoder.RecoveryDelay().Count(), 1, "one recovered");
    // It left at 2 ms, the parity at 3 ms.
    NS_TEST_EXPECT_MSG_EQ_TOL(coder.decoder.RecoveryDelay().Mean(), 1.0 * MS, 1, "ns");
}

TEST_CASE(SimulationTestCase,
          MemoryTest,
          "A group too old is not decoded, but its data shards still count")
{
    FecCoder coder(MakeCode(2, 1)); // memory of three groups
    coder.isHolding = true;
    for (uint32_t i = 0; i < 12; ++i)
    {
        coder.Send(0);
    }
    coder.Release(0, 0);     // of group 0, data
    coder.Release(0, 3 * 4); // of group 4: group 0 is four behind
    coder.Release(0, 2);     // parity of group 0
    coder.Release(0, 3);     // of group 1, data
    coder.Release(0, 3 + 2); // its parity: three behind
    const std::vector<uint32_t> first{0, 8, 2, 3};
    NS_TEST_EXPECT_MSG_EQ((coder.delivered == first), true, "group 1 only");
    coder.Release(0, 1);
    NS_TEST_EXPECT_MSG_EQ(coder.delivered.back(), 1, "late is better than never");
}

TEST_CASE(SimulationTestCase,
          KeptTest,
          "Data shards of a group count until 256 more groups than the memory are newer")
{
    for (const uint32_t newest : {259, 260})
    {
        FecCoder coder(MakeCode(2, 1)); // memory of three groups
        coder.isHolding = true;
        for (uint32_t i = 0; i < 2 * 261; ++i)
        {
            coder.Send(0);
        }
        coder.Release(0, 3 * newest);
        coder.Release(0, 1);
        const bool isKept = coder.delivered.back() == 1;
        NS_TEST_EXPECT_MSG_EQ(isKept, (newest == 259), "while the newest is " << newest);
    }
}

TEST_CASE(SimulationTestCase,
          CountedTest,
          "Groups count once nothing of them can be on the path: the longest time of a shard")
{
    // Packets at 10, 11 and 12 ms; the third closes the group, and its parity leaves.
    const auto make = [] {
        auto coder = std::make_unique<FecCoder>(MakeCode(3, 1));
        coder->isHolding = true;
        for (int64_t now : {10 * MS, 11 * MS, 12 * MS})
        {
            coder->Send(now);
        }
        return coder;
    };
    const auto counts = [](const FecCoder& coder, int64_t now) {
        return coder.decoder.Counters(now).packets == 3;
    };
    // The first one is 7 ms under way, the parity 9 ms.
    for (const auto& [shard, time, longest] :
         {std::tuple{0, 17 * MS, 7 * MS}, std::tuple{3, 21 * MS, 9 * MS}})
    {
        auto coder = make();
        coder->Release(time, shard);
        coder->Release(time, 2); // in a shorter time
        const int64_t end = 12 * MS + longest;
        NS_TEST_EXPECT_MSG_EQ(counts(*coder, end - 1), false, "before " << end << " ns");
        NS_TEST_EXPECT_MSG_EQ(counts(*coder, end), true, "at it");
    }

    // A packet that is recovered with a shard that left before it did not wait for that.
    auto late = make();
    for (size_t shard : {1, 3, 0})
    {
        late->Release(30 * MS, shard);
    }
    NS_TEST_EXPECT_MSG_EQ(late->decoder.RecoveryDelay().Count(), 1, "the third");
    NS_TEST_EXPECT_MSG_EQ_TOL(late->decoder.RecoveryDelay().Mean(), 0, 1, "at once");
    NS_TEST_EXPECT_MSG_EQ(late->Recovered(), 1, "by parity");

    // Without a loss nothing is recovered, also when parity comes first.
    auto whole = make();
    for (size_t shard : {3, 0, 1, 2})
    {
        whole->Release(30 * MS, shard);
    }
    NS_TEST_EXPECT_MSG_EQ(whole->Recovered(), 0, "all had come");
    NS_TEST_EXPECT_MSG_EQ(whole->decoder.Counters(SECOND).lost, 0, "none is lost");

    // A group of one packet has a copy of it as parity.
    FecCoder single(MakeCode(1, 1));
    single.isHolding = true;
    single.Send(0);
    single.Release(MS, 1);
    NS_TEST_EXPECT_MSG_EQ(single.delivered.size(), 1, "from the copy");
    NS_TEST_EXPECT_MSG_EQ(single.Recovered(), 1, "which repaired it");
}

TEST_CASE(SimulationTestCase,
          BlobLateTest,
          "Parity repaired nothing of a blob whose data shards all come after it")
{
    FecSpec spec = MakeBlobCode(2, 1);
    spec.blob->packets = 3;
    FecCoder coder(spec);
    coder.isHolding = true;
    for (uint32_t i = 0; i < 4; ++i) // the fourth stays in a blob of its own
    {
        coder.Send(0, 600);
    }
    NS_TEST_ASSERT_MSG_EQ(coder.held.size(), 3, "a blob of three packets, of 900 bytes a shard");
    for (uint32_t shard = 0; shard < 2; ++shard)
    {
        NS_TEST_EXPECT_MSG_EQ(coder.held[shard].shardPlace, shard, "place");
    }
    coder.Release(MS, 0);
    NS_TEST_EXPECT_MSG_EQ(coder.delivered.size(), 0, "half of a blob is nothing");
    coder.Release(MS, 2);
    NS_TEST_EXPECT_MSG_EQ(coder.delivered.size(), 3, "with parity it is whole");
    NS_TEST_EXPECT_MSG_EQ(coder.Recovered(), 3, "all of it");
    coder.Release(2 * MS, 1);
    NS_TEST_EXPECT_MSG_EQ(coder.Recovered(), 0, "that was only late");
    NS_TEST_EXPECT_MSG_EQ(coder.delivered.size(), 3, "nothing twice");

    FecCoder whole(spec);
    whole.isHolding = true;
    for (uint32_t i = 0; i < 3; ++i)
    {
        whole.Send(0, 600);
    }
    whole.Release(MS, 0);
    whole.Release(MS, 1);
    NS_TEST_EXPECT_MSG_EQ(whole.delivered.size(), 3, "of data alone");
    NS_TEST_EXPECT_MSG_EQ(whole.Recovered(), 0, "nothing to repair");
    NS_TEST_EXPECT_MSG_EQ(whole.decoder.RecoveryDelay().Count(), 0, "and no delay of it");
}

TEST_CASE(SimulationTestCase,
          BlobSizeTest,
          "A blob takes packets while header and packets fit into its shards")
{
    // UDPspeeder: 4 bytes of header, 2 of each packet, and two shards of 1000.
    FecSpec spec = MakeBlobCode(2, 1);
    spec.blob->header = 4;
    spec.blob->packetHeader = 2;
    for (const uint32_t bytes : {996, 997})
    {
        FecCoder coder(spec);
        coder.Send(0, bytes);
        coder.Send(0, bytes);
        NS_TEST_EXPECT_MSG_EQ(coder.shards.empty(), (bytes == 996), "two packets of " << bytes);
        coder.Send(0, 1);
        NS_TEST_EXPECT_MSG_EQ(coder.Groups()[0].packets, (bytes == 996 ? 2U : 1U), "in the first");
    }
    // (80 + 40)·2 and (40 + 40)·3 are the same: the fewer shards.
    spec = MakeBlobCode(3, 1);
    spec.blob->packetHeader = 2;
    spec.blob->cost = 40;
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 78), 1, "240 bytes");
    NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 80), 2, "243 are less than 244");
}

TEST_CASE(SimulationTestCase,
          ShardMarksTest,
          "Data shards can be marked as their packets can, and the mark reaches the packet")
{
    FecCoder coder(MakeCode(2, 1));
    coder.isHolding = true;
    coder.isEct = true;
    coder.Send(0);
    coder.isEct = false;
    coder.Send(0);
    for (size_t shard : {0, 1, 2})
    {
        NS_TEST_EXPECT_MSG_EQ(coder.held[shard].isEct, (shard == 0), "ECT of " << shard);
        NS_TEST_EXPECT_MSG_EQ(coder.held[shard].isL4s, (shard == 0), "L4S of " << shard);
    }
    coder.held[0].isCe = true;
    coder.Release(0, 0);
    coder.held[2].isCe = true; // of parity: that of no packet
    coder.Release(0, 2);
    const std::vector<uint32_t> both{0, 1};
    const std::vector<uint32_t> marked{0};
    NS_TEST_EXPECT_MSG_EQ((coder.delivered == both), true, "one of them recovered");
    NS_TEST_EXPECT_MSG_EQ((coder.marked == marked), true, "the other marked");
}

TEST_CASE(SimulationTestCase, OpenGroupTest, "Without a time limit a group waits until it is full")
{
    FecCoder coder(MakeCode(4, 1));
    At(0, [&] { coder.Send(0); });
    RunUntil(60 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(coder.shards.size(), 1, "the data, and no parity");
}

ADD_CASES
{
    struct Code
    {
        const char* name;
        FecSpec spec;
    };

    const std::vector<Code> codes{
        {"XOR 4 + 1", MakeCode(4, 1)},
        {"Reed-Solomon 10 + 3", MakeCode(10, 3)},
        {"Reed-Solomon 20 + 10", MakeCode(20, 10)},
        {"blob 10 + 3", MakeBlobCode(10, 3)},
        {"blob 20 + 10", MakeBlobCode(20, 10)},
    };
    std::vector<Loss> losses;
    for (double share : {0.01, 0.015, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5})
    {
        losses.push_back({share, 0});
    }
    for (const Loss& loss : std::vector<Loss>{{0.015, 2},
                                              {0.05, 2},
                                              {0.1, 2},
                                              {0.015, 4},
                                              {0.05, 4},
                                              {0.1, 4},
                                              {0.05, 8}})
    {
        losses.push_back(loss);
    }
    for (const Code& code : codes)
    {
        for (const Loss& loss : losses)
        {
            AddCase(new ResidualLossTest(code.name, code.spec, loss));
        }
    }
}

} // namespace
