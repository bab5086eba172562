/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Compares FEC with what a real program, UDPspeeder, was captured and measured to do. `make
 * validate` reports these cases, too.
 */
#include "support/fec-coder.h"
#include "support/simulation-test-case.h"
#include "tunnel/fec-direction.h"
#include "tunnel/packet-server.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-programs-fec");

/// UDPspeeder's mode 0.
const FecBlobSpec UDPSPEEDER_BLOB{.mtu = 1250,
                                  .packets = 200,
                                  .header = 4,
                                  .packetHeader = 2,
                                  .cost = 40};

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
    using SimulationTestCase::SimulationTestCase;

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
        FecSpec spec = MakeCode(burst.data, burst.parity);
        spec.timeout = 8 * MS;
        if (isBlob)
        {
            spec.blob = UDPSPEEDER_BLOB;
        }
        spec.inner = Identity(4000);
        FecCoder coder(spec);
        At(now, [&] {
            for (uint32_t size : burst.sizes)
            {
                coder.Send(now, size + CONVERSATION + (isBlob ? 0 : 2));
            }
        });
        RunUntil(now + SECOND / 2);
        bool isWhole = burst.shapes.begin()->first.dataBytes > 0;
        std::map<Shape, uint32_t> shapes;
        for (const FecCoder::Group& group : coder.Groups())
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

ADD_CASE(UdpSpeederTest,
         "bursts of packets as captured -> the groups that it makes of them, to "
         "the byte (UDPspeeder 17694ec)");

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
          m_direction(TestLoop(), MakeLink(loss), PathStreams::Forward(1)),
          m_channel(m_direction, DELAY),
          m_fec(TestLoop(), m_spec, m_sizes, m_socket, m_outer)
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
        spec.lossPosition = LinkPosition::AFTER;
        return spec;
    }

    const FecSpec m_spec;
    const OuterSizes m_sizes;
    PathDirection m_direction;
    Channel m_channel;
    Cores m_cores{TestLoop(), 1, 0};
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
    using SimulationTestCase::SimulationTestCase;

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
        FecSpec spec = MakeCode(data, parity);
        spec.timeout = 8300 * US; // as captured: its loop waits whole milliseconds
        spec.memory = 100;
        if (isBlob)
        {
            spec.blob = UDPSPEEDER_BLOB;
        }
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

ADD_CASE(UdpSpeederStreamTest,
         "packets at a constant rate, 0 to 30 % loss -> packets lost and out of "
         "order within 4 sigma, bytes within 3 %, delay within 0.6 ms "
         "(UDPspeeder 17694ec)");

} // namespace
