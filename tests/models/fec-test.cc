/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks FEC: what a code leaves of losses against the exact probability, when groups are closed,
 * and that every packet is delivered once at most.
 */
#include "event/random-stream.h"
#include "fec/fec-decoder.h"
#include "fec/fec-encoder.h"
#include "path/gilbert-elliott.h"
#include "simulation-test-case.h"
#include "tunnel/fec-direction.h"
#include "tunnel/packet-server.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace
{

using namespace tunnelcc;

constexpr uint32_t IP_BYTES = 1000;

/// What a packet is to FEC, by its IP bytes: itself.
std::vector<uint32_t>
Identity(uint32_t largest)
{
    std::vector<uint32_t> sizes(largest + 1);
    for (uint32_t i = 0; i <= largest; ++i)
    {
        sizes[i] = i;
    }
    return sizes;
}

/// \param parity of groups of every size
FecSpec
MakeCode(FecPacking packing, uint32_t data, uint32_t parity)
{
    FecSpec spec;
    spec.packing = packing;
    spec.data = data;
    spec.parity.assign(data, parity);
    spec.memory = 3;
    spec.maxPackets = UINT32_MAX;
    spec.maxShard = IP_BYTES;
    spec.inner = Identity(2 * IP_BYTES);
    return spec;
}

Packet
MakePacket(uint32_t segment, PacketSink& sink)
{
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.segment = segment;
    packet.sink = &sink;
    return packet;
}

/// Encoder and decoder, with shards that take no time in between.
class Coder final : private ShardSender, private PacketSink
{
  public:
    struct Shard
    {
        PacketKind kind;
        uint32_t bytes;
        bool operator==(const Shard&) const = default;
    };

    /// \param isLost asked for each shard
    explicit Coder(
        const FecSpec& spec,
        std::function<bool()> isLost = [] { return false; })
        : m_spec(spec),
          m_isLost(std::move(isLost))
    {
    }

    void Send(int64_t now, uint32_t ipBytes = IP_BYTES)
    {
        m_encoder.Send(now, MakePacket(m_sent++, *this), ipBytes, nullptr);
    }

    /// What a group was sent as.
    struct Group
    {
        uint32_t packets;
        uint32_t data; //!< shards
        uint32_t parity;
        uint32_t dataBytes; //!< of the longest
        uint32_t parityBytes;
    };

    /// The groups so far, in order.
    std::vector<Group> Groups()
    {
        std::vector<Group> groups;
        for (auto& [low, group] : m_groups)
        {
            uint64_t number = 0;
            group.packets = m_log.Find(low, number)->packets;
            groups.push_back(group);
        }
        return groups;
    }

    /// Take a shard that was held back.
    void Release(int64_t now, size_t index)
    {
        decoder.Receive(now, held[index]);
    }

    std::vector<Shard> shards;       //!< as they left, if isNoting
    std::vector<uint32_t> delivered; //!< numbers of packets, if isNoting
    std::vector<Packet> held;        //!< shards, if isHolding
    bool isNoting{true};
    bool isHolding{false};

  private:
    void SendShard(int64_t now, Packet& shard, uint32_t bytes) override
    {
        if (isNoting)
        {
            shards.push_back({shard.kind, bytes});
            bool isParity = shard.kind == PacketKind::FEC_PARITY;
            Group& group = m_groups[shard.tsVal];
            (isParity ? group.parity : group.data) += 1;
            uint32_t& most = isParity ? group.parityBytes : group.dataBytes;
            most = std::max(most, bytes);
        }
        if (isHolding)
        {
            held.push_back(shard);
        }
        else if (!m_isLost())
        {
            decoder.Receive(now, shard);
        }
    }

    void Receive(int64_t /* now */, const Packet& packet, const PacketExtras* /* extras */) override
    {
        if (isNoting)
        {
            delivered.push_back(packet.segment);
        }
    }

    const FecSpec m_spec;
    std::function<bool()> m_isLost;
    FecLog m_log;
    FecEncoder m_encoder{m_spec, m_log, *this};
    uint32_t m_sent{0};
    std::map<uint32_t, Group> m_groups;

  public:
    FecDecoder decoder{m_spec, m_log};
};

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
                bool isWhole = spec.packing == FecPacking::BLOB;
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
        GilbertElliott losses(chain, MakeRandomStream(1, RandomComponent::FORWARD_LOSS, 0));
        int64_t gap = losses.NextGap();
        Coder coder(m_spec, [&] {
            if (gap-- > 0)
            {
                return false;
            }
            gap = losses.NextGap();
            return true;
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
            FecCounters now = coder.decoder.Counters();
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

class PublishedResidualTest : public SimulationTestCase
{
  public:
    PublishedResidualTest()
        : SimulationTestCase("Exact residual losses agree with their formulas")
    {
    }

  private:
    void DoRun() override
    {
        const FecSpec fourOne = MakeCode(FecPacking::PACKETS, 4, 1);
        for (double p : {0.01, 0.05, 0.1, 0.3})
        {
            // A packet is lost with another one of the four or the parity.
            double formula = p * (1 - std::pow(1 - p, 4));
            NS_TEST_EXPECT_MSG_EQ_TOL(ExpectedResidual(fourOne, {p, 0}), formula, 1e-12, p);
        }
        const FecSpec blob = MakeCode(FecPacking::BLOB, 2, 1);
        double p = 0.2;
        double formula = 3 * p * p * (1 - p) + p * p * p; // two or three of three
        NS_TEST_EXPECT_MSG_EQ_TOL(ExpectedResidual(blob, {p, 0}), formula, 1e-12, "blob");
    }
};

class GroupTest : public SimulationTestCase
{
  public:
    GroupTest()
        : SimulationTestCase("A group is closed when it is full or old, and its parity is as long "
                             "as its longest packet")
    {
    }

  private:
    void DoRun() override
    {
        FecSpec spec = MakeCode(FecPacking::PACKETS, 4, 1);
        spec.parity = {1, 1, 2, 2};
        spec.timeout = 8 * MS;
        Coder coder(spec);
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
        using enum PacketKind;
        const std::vector<Coder::Shard> expected{{FEC_DATA, 100},
                                                 {FEC_DATA, 700},
                                                 {FEC_DATA, 300},
                                                 {FEC_DATA, 200},
                                                 {FEC_PARITY, 700},
                                                 {FEC_PARITY, 700},
                                                 {FEC_DATA, 50},
                                                 {FEC_DATA, 60},
                                                 {FEC_PARITY, 60}};
        NS_TEST_EXPECT_MSG_EQ((coder.shards == expected), true, "two groups");
    }
};

class GapTest : public SimulationTestCase
{
  public:
    GapTest()
        : SimulationTestCase("A group whose last packet comes late has no parity, but its numbers")
    {
    }

  private:
    void DoRun() override
    {
        FecSpec spec = MakeCode(FecPacking::PACKETS, 10, 3);
        spec.gap = 500 * MS;
        spec.inner.clear(); // packets are what they are
        for (int64_t wait : {500 * MS - 1, 500 * MS})
        {
            Coder coder(spec);
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
};

class BlobTest : public SimulationTestCase
{
  public:
    BlobTest()
        : SimulationTestCase("A blob is cut into the shards that take the least bytes in all")
    {
    }

  private:
    void DoRun() override
    {
        FecSpec spec = MakeCode(FecPacking::BLOB, 3, 1);
        spec.blobHeader = 4;
        spec.packetHeader = 2;
        spec.shardCost = 40;
        Coder coder(spec);
        // 4 + 3·(2 + 900) bytes fit into three shards of 1000 at most, a fourth packet does not.
        for (uint32_t i = 0; i < 4; ++i)
        {
            coder.Send(0, 900);
        }
        using enum PacketKind;
        const std::vector<Coder::Shard> expected{{FEC_DATA, 904},
                                                 {FEC_DATA, 904},
                                                 {FEC_DATA, 904},
                                                 {FEC_PARITY, 904}};
        NS_TEST_EXPECT_MSG_EQ((coder.shards == expected), true, "⌈2710 / 3⌉ bytes each");
        const std::vector<uint32_t> delivered{0, 1, 2};
        NS_TEST_EXPECT_MSG_EQ((coder.delivered == delivered), true, "in order");
        // 100 bytes, 2 more counted: (102 + 40)·2, (51 + 40)·3 or (34 + 40)·4.
        NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 100), 2, "273 is less than 284 and 296");
        NS_TEST_EXPECT_MSG_EQ(FecEncoder::DataShards(spec, 2001), 3, "no shard above 1000 bytes");
    }
};

class DeliveryTest : public SimulationTestCase
{
  public:
    DeliveryTest()
        : SimulationTestCase("A packet is delivered once, also when its shard comes after all")
    {
    }

  private:
    void DoRun() override
    {
        Coder coder(MakeCode(FecPacking::PACKETS, 4, 1));
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
        coder.Release(SECOND, 2);
        NS_TEST_EXPECT_MSG_EQ((coder.delivered == recovered), true, "not twice");
        NS_TEST_EXPECT_MSG_EQ(coder.decoder.RecoveryDelay().Count(), 1, "one recovered");
        // It left at 2 ms, the parity at 3 ms.
        NS_TEST_EXPECT_MSG_EQ_TOL(coder.decoder.RecoveryDelay().Mean(), 1.0 * MS, 1, "ns");
    }
};

class MemoryTest : public SimulationTestCase
{
  public:
    MemoryTest()
        : SimulationTestCase("A group too old is not decoded, but its data shards still count")
    {
    }

  private:
    void DoRun() override
    {
        Coder coder(MakeCode(FecPacking::PACKETS, 2, 1)); // memory of three groups
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
};

/// Groups of one shape in a burst of packets.
struct Shape
{
    uint32_t packets;
    uint32_t data;
    uint32_t parity;
    uint32_t dataBytes; //!< IP bytes of a datagram; 0: it left in fragments
    uint32_t parityBytes;
    auto operator<=>(const Shape&) const = default;
};

/// A burst, and what UDPspeeder made of it.
struct Burst
{
    uint32_t mode;
    uint32_t data; //!< -f data:parity
    uint32_t parity;
    std::vector<uint32_t> sizes; //!< UDP payload of its packets
    std::map<Shape, uint32_t> shapes;
};

/// The captured bursts, but for those of which something was dropped or whose parity is a list.
std::map<std::string, Burst>
ReadBursts()
{
    std::ifstream file(std::string(TUNNELCC_TEST_DATA) + "/udpspeeder-wire.csv");
    std::map<std::string, Burst> bursts;
    std::string line;
    std::getline(file, line); // the names of the columns
    while (std::getline(file, line))
    {
        if (line.find('"') != std::string::npos)
        {
            continue;
        }
        std::replace(line.begin(), line.end(), ',', ' ');
        std::replace(line.begin(), line.end(), ':', ' ');
        std::istringstream fields(line);
        uint32_t mode, data, parity, obscure, key, size, secondSize, burst, repeated, received,
            groups, packets, dataShards, parityShards, dataBytes, parityBytes, ipPackets;
        fields >> mode >> data >> parity >> obscure >> key >> size >> secondSize >> burst >>
            repeated >> received >> groups >> packets >> dataShards >> parityShards >> dataBytes >>
            parityBytes >> ipPackets;
        if (groups == 0 || parity > 200)
        {
            continue;
        }
        std::ostringstream name;
        name << "mode " << mode << ", " << data << ":" << parity << ", obscured " << obscure
             << ", key " << key << ", " << burst << " of " << size << " and " << secondSize
             << " bytes, " << repeated << " times";
        Burst& known = bursts[name.str()];
        known.mode = mode;
        known.data = data;
        known.parity = parity;
        known.sizes.resize(burst);
        for (uint32_t i = 0; i < burst; ++i)
        {
            known.sizes[i] = i % 2 == 0 ? size : secondSize;
        }
        bool isWhole = ipPackets == 1;
        known.shapes[{packets,
                      dataShards,
                      parityShards,
                      isWhole ? dataBytes : 0,
                      isWhole ? parityBytes : 0}] += groups / repeated;
    }
    return bursts;
}

class UdpSpeederTest : public SimulationTestCase
{
  public:
    UdpSpeederTest()
        : SimulationTestCase(
              "bursts of packets as captured -> the groups that it makes of them, to "
              "the byte (UDPspeeder 17694ec)")
    {
    }

  private:
    void DoRun() override
    {
        std::map<std::string, Burst> bursts = ReadBursts();
        NS_TEST_ASSERT_MSG_GT(bursts.size(), 50, "there are captures");
        int64_t now = 0;
        for (const auto& [name, burst] : bursts)
        {
            now += SECOND;
            std::map<Shape, uint32_t> shapes = ShapesOf(burst, now);
            NS_TEST_EXPECT_MSG_EQ((shapes == burst.shapes), true, name << Text(shapes, burst));
        }
    }

    static std::string Text(const std::map<Shape, uint32_t>& shapes, const Burst& burst)
    {
        std::ostringstream text;
        for (const auto* them : {&shapes, &burst.shapes})
        {
            text << (them == &shapes ? "; simulated" : "; captured");
            for (const auto& [shape, count] : *them)
            {
                text << ' ' << count << " × " << shape.packets << " packets in " << shape.data
                     << '+' << shape.parity << " of " << shape.dataBytes << ", "
                     << shape.parityBytes;
            }
        }
        return text.str();
    }

    std::map<Shape, uint32_t> ShapesOf(const Burst& burst, int64_t now)
    {
        constexpr uint32_t CONVERSATION = 4;
        constexpr uint32_t AROUND = 28 + 8 + 4; // IP and UDP, FEC's header, CRC
        bool isBlob = burst.mode == 0;
        FecSpec spec =
            MakeCode(isBlob ? FecPacking::BLOB : FecPacking::PACKETS, burst.data, burst.parity);
        spec.timeout = 8 * MS;
        spec.maxPackets = 200;
        spec.maxShard = 1250;
        spec.blobHeader = 4;
        spec.packetHeader = 2;
        spec.shardCost = 40;
        spec.inner = Identity(4000);
        Coder coder(spec);
        At(now, [&] {
            for (uint32_t size : burst.sizes)
            {
                coder.Send(now, size + CONVERSATION + (isBlob ? 0 : 2));
            }
        });
        RunUntil(now + SECOND / 2);
        bool isWhole = burst.shapes.begin()->first.dataBytes > 0;
        std::map<Shape, uint32_t> shapes;
        for (const Coder::Group& group : coder.Groups())
        {
            ++shapes[{group.packets,
                      group.data,
                      group.parity,
                      isWhole ? group.dataBytes + AROUND : 0,
                      isWhole ? group.parityBytes + AROUND : 0}];
        }
        return shapes;
    }
};

/// What packets at a constant rate met, measured or simulated.
struct Stream
{
    double datagrams{0}; //!< a packet
    double ipBytes{0};   //!< a packet
    double lost{0};      //!< share of the packets
    double late{0};      //!< share of those received that came behind one with a higher number
    double delay{0};     //!< mean, one way, beyond that without a program, ms; NaN: not known
};

/// Packets at a constant rate through FEC across a link, as UDPspeeder was measured.
class StreamThroughLink final : private PacketSink
{
  public:
    static constexpr uint32_t SIZE = 1000;    //!< UDP payload, bytes
    static constexpr int64_t DELAY = 20 * MS; //!< one way
    static constexpr double RATE = 100e6;     //!< bit/s

    StreamThroughLink(const FecSpec& spec, uint32_t header, double loss)
        : m_spec(spec),
          m_sizes(Sizes(header)),
          m_direction(MakeLink(loss), PathStreams::Forward(1)),
          m_channel(m_direction, DELAY),
          m_fec(m_spec, m_sizes, m_socket, m_outer)
    {
    }

    void Send(int64_t now)
    {
        constexpr uint32_t CONVERSATION = 4;
        m_sentAt.push_back(now);
        auto number = static_cast<uint32_t>(m_sentAt.size() - 1);
        m_fec.Send(now, MakePacket(number, *this), SIZE + CONVERSATION, nullptr, m_channel);
    }

    Stream Found() const
    {
        auto sent = static_cast<double>(m_sentAt.size());
        auto received = static_cast<double>(m_received);
        constexpr double ALONE = DELAY + (SIZE + 28) * 8 / RATE * SECOND;
        return {static_cast<double>(m_outer.packets) / sent,
                static_cast<double>(m_outer.bytes) / sent,
                1 - received / sent,
                m_late / received,
                (m_delays / received - ALONE) / MS};
    }

  private:
    void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
    {
        ++m_received;
        m_delays += static_cast<double>(now - m_sentAt[packet.segment]);
        m_late += packet.segment < m_newest;
        m_newest = std::max(m_newest, packet.segment);
    }

    static OuterSizes Sizes(uint32_t header)
    {
        constexpr uint32_t AROUND = 28 + 4 + 19; // IP and UDP, CRC, random bytes in the mean
        OuterSizes sizes;
        for (uint32_t bytes = 0; bytes <= 1250; ++bytes)
        {
            sizes.push_back({bytes + header + AROUND});
        }
        return sizes;
    }

    static LinkSpec MakeLink(double loss)
    {
        LinkSpec spec;
        spec.rate = RATE;
        spec.bufferPackets = 1000;
        spec.loss = loss;
        return spec;
    }

    const FecSpec m_spec;
    const OuterSizes m_sizes;
    PathDirection m_direction;
    Channel m_channel;
    Cores m_cores{1, 0};
    Cpu m_cpu{m_cores, 1};
    CpuThread m_thread{m_cpu};
    PacketServer m_socket{m_thread, {}, 0};
    OuterCounters m_outer;
    FecDirection m_fec;
    std::vector<int64_t> m_sentAt;
    uint64_t m_received{0};
    uint32_t m_newest{0};
    double m_delays{0}; //!< sum, ns
    double m_late{0};
};

class UdpSpeederStreamTest : public SimulationTestCase
{
  public:
    UdpSpeederStreamTest()
        : SimulationTestCase(
              "packets at a constant rate, 0 to 30 % loss -> packets lost and out of "
              "order within 4 sigma, bytes within 3 %, delay within 0.6 ms "
              "(UDPspeeder 17694ec)")
    {
    }

  private:
    /// Settings of a run: mode, -f, packets a second, loss.
    using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, double>;

    void DoRun() override
    {
        std::map<Key, Stream> measured = ReadRuns();
        NS_TEST_ASSERT_MSG_GT(measured.size(), 30, "there are measurements");
        int64_t begin = 0;
        for (const auto& [key, expected] : measured)
        {
            const auto& [mode, data, parity, perSecond, loss] = key;
            std::ostringstream name;
            name << "mode " << mode << ", " << data << ":" << parity << ", " << perSecond
                 << " packets/s, loss " << loss;
            double groups = 12 * perSecond / std::min(data * 1.25, perSecond * 0.008 + 1);
            Check(Simulate(key, begin), expected, groups, name.str());
            begin += 20 * SECOND;
        }
    }

    /// \param groups in a run
    void Check(const Stream& found, const Stream& expected, double groups, const std::string& name)
    {
        auto check = [&](double value, double like, double tolerance, const char* what) {
            NS_TEST_EXPECT_MSG_EQ_TOL(value, like, tolerance, name << ": " << what);
        };
        constexpr double TIMING = 0.03; // a packet more or less in a group that the timer closes
        // Spread of the difference between three runs and one, of shares that differ by group.
        auto spread = [=](double share) { return 4 * std::sqrt(share * (1 - share) / groups); };
        check(found.datagrams,
              expected.datagrams,
              TIMING * expected.datagrams,
              "datagrams a packet");
        check(found.ipBytes, expected.ipBytes, TIMING * expected.ipBytes, "IP bytes a packet");
        check(found.lost, expected.lost, spread(expected.lost) + 1 / groups, "share lost");
        check(found.late, expected.late, spread(expected.late) + 1 / groups, "share out of order");
        if (!std::isnan(expected.delay))
        {
            check(found.delay, expected.delay, 0.6, "mean delay added, ms"); // it computes, too
        }
    }

    Stream Simulate(const Key& key, int64_t begin)
    {
        const auto& [mode, data, parity, perSecond, loss] = key;
        bool isBlob = mode == 0;
        FecSpec spec = MakeCode(isBlob ? FecPacking::BLOB : FecPacking::PACKETS, data, parity);
        spec.timeout = 8300 * US; // as captured: its loop waits whole milliseconds
        spec.memory = 100;
        spec.maxPackets = 200;
        spec.maxShard = 1250;
        spec.blobHeader = 4;
        spec.packetHeader = 2;
        spec.shardCost = 40;
        StreamThroughLink stream(spec, isBlob ? 8 : 10, loss);
        int64_t interval = SECOND / perSecond;
        for (int64_t time = begin; time < begin + 12 * SECOND; time += interval)
        {
            At(time, [&stream, time] { stream.Send(time); });
        }
        RunUntil(begin + 13 * SECOND);
        return stream.Found();
    }

    /// Means over the runs of each setting.
    static std::map<Key, Stream> ReadRuns()
    {
        std::ifstream file(std::string(TUNNELCC_TEST_DATA) + "/udpspeeder-loss.csv");

        struct Sum
        {
            Stream of;
            double runs{0};
            double punctual{0}; //!< of them, those whose delay counts
        };

        std::map<Key, Sum> sums;
        std::map<uint32_t, double> alone; // packets a second → mean delay without a program, ms
        std::string line;
        std::getline(file, line); // the names of the columns
        while (std::getline(file, line))
        {
            bool isAlone = line[0] == ',';
            if (isAlone)
            {
                line = "0,0:0" + line.substr(1);
            }
            std::replace(line.begin(), line.end(), ',', ' ');
            std::replace(line.begin(), line.end(), ':', ' ');
            std::istringstream fields(line);
            uint32_t mode, data, parity, size, perSecond, seed;
            double loss, sent, received, duplicates, late, datagrams, bytes, lost, dropped, delay;
            double skipped, linkLate;
            fields >> mode >> data >> parity >> size >> perSecond >> loss >> seed >> sent >>
                received >> duplicates >> late >> datagrams >> bytes >> lost >> dropped >> delay;
            for (uint32_t i = 0; i < 8; ++i)
            {
                fields >> skipped;
            }
            fields >> linkLate; // 99th percentile, ms
            if (isAlone)
            {
                alone[perSecond] = delay;
                continue;
            }
            Sum& sum = sums[{mode, data, parity, perSecond, loss}];
            bool isPunctual = linkLate < 0.2;
            sum.of.datagrams += datagrams / sent;
            sum.of.ipBytes += bytes / sent;
            sum.of.lost += 1 - received / sent;
            sum.of.late += late / received;
            sum.of.delay += isPunctual ? delay - alone.at(perSecond) : 0;
            sum.punctual += isPunctual;
            ++sum.runs;
        }
        std::map<Key, Stream> means;
        for (const auto& [key, sum] : sums)
        {
            means[key] = {sum.of.datagrams / sum.runs,
                          sum.of.ipBytes / sum.runs,
                          sum.of.lost / sum.runs,
                          sum.of.late / sum.runs,
                          sum.of.delay / sum.punctual};
        }
        return means;
    }
};

class FecTestSuite : public ns3::TestSuite
{
  public:
    FecTestSuite()
        : TestSuite("tunnelcc-fec", Type::UNIT)
    {
        struct Code
        {
            const char* name;
            FecSpec spec;
        };

        const std::vector<Code> codes{
            {"XOR 4 + 1", MakeCode(FecPacking::PACKETS, 4, 1)},
            {"Reed-Solomon 10 + 3", MakeCode(FecPacking::PACKETS, 10, 3)},
            {"Reed-Solomon 20 + 10", MakeCode(FecPacking::PACKETS, 20, 10)},
            {"blob 10 + 3", MakeCode(FecPacking::BLOB, 10, 3)},
            {"blob 20 + 10", MakeCode(FecPacking::BLOB, 20, 10)},
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
                AddTestCase(new ResidualLossTest(code.name, code.spec, loss), Duration::QUICK);
            }
        }
        AddTestCase(new PublishedResidualTest, Duration::QUICK);
        AddTestCase(new GroupTest, Duration::QUICK);
        AddTestCase(new GapTest, Duration::QUICK);
        AddTestCase(new BlobTest, Duration::QUICK);
        AddTestCase(new DeliveryTest, Duration::QUICK);
        AddTestCase(new MemoryTest, Duration::QUICK);
    }
};

/// What real programs were measured to do, which `make validate` reports, too.
class FecProgramsTestSuite : public ns3::TestSuite
{
  public:
    FecProgramsTestSuite()
        : TestSuite("tunnelcc-programs-fec", Type::SYSTEM)
    {
        AddTestCase(new UdpSpeederTest, Duration::QUICK);
        AddTestCase(new UdpSpeederStreamTest, Duration::QUICK);
    }
};

const FecTestSuite g_fecTestSuite;
const FecProgramsTestSuite g_fecProgramsTestSuite;

} // namespace
