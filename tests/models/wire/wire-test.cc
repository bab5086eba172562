/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the bytes of packets against examples of their specifications, and their sizes against
 * those that the models compute.
 */
#include "path/path.h"
#include "support/simulation-test-case.h"
#include "support/test-case.h"
#include "tunnel/layer.h"
#include "wire/capture.h"
#include "wire/carrier-contents.h"
#include "wire/datagram-format.h"
#include "wire/ip.h"
#include "wire/mptcp-format.h"
#include "wire/record-file.h"
#include "wire/segment-offsets.h"
#include "wire/tcp-format.h"
#include "wire/written.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-wire");

SocketAddress
AddressOf(uint8_t host, uint8_t version)
{
    IpAddress address{{}, version};
    address.bytes[version == 4 ? 3 : 15] = host;
    return {address, static_cast<uint16_t>(1000 + host)};
}

TEST_CASE(ns3::TestCase, ChecksumTest, "the Internet checksum is that of RFC 1071")
{
    // Section 3: the sum of these words is ddf2, whose complement is 220d.
    const std::vector<uint8_t> bytes{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    NS_TEST_EXPECT_MSG_EQ(FoldChecksum(ChecksumOf(bytes)), 0x220d, "as there");
    const std::vector<uint8_t> odd{0x12};
    NS_TEST_EXPECT_MSG_EQ(ChecksumOf(odd), 0x1200, "a byte is the high one of its word");
}

class TcpHeaderTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        for (bool hasScale : {true, false})
        {
            Check(4, true, hasScale);
            Check(4, false, hasScale);
            Check(6, true, hasScale);
        }
    }

    void Check(uint8_t version, bool hasTimestamps, bool hasScale)
    {
        const uint32_t ip = version == 4 ? 20 : 40;
        TcpSpec spec{};
        spec.mss = 1400;
        spec.headerBytes = ip + 20 + (hasTimestamps ? 12 : 0);
        spec.synBytes = ip + 20 + (hasTimestamps ? 16 : 8) + (hasScale ? 4 : 0);
        spec.windowScale = hasScale ? 7 : 0;
        TcpFormat client(spec, AddressOf(1, version), AddressOf(2, version), 1);
        TcpFormat server(spec, AddressOf(2, version), AddressOf(1, version), 2);
        TcpFormat::Join(client, server);

        Packet syn{};
        syn.kind = PacketKind::SYN;
        syn.synWindow = 65535;
        ExpectSize(client, syn, nullptr, spec.synBytes, spec.synBytes);

        Packet data{};
        data.kind = PacketKind::DATA;
        data.length = 100;
        ExpectSize(client, data, nullptr, spec.headerBytes + 100, spec.headerBytes);

        PacketExtras extras{};
        Packet ack{};
        ack.kind = PacketKind::ACK;
        ack.ackNumber = 1;
        ack.sackBlocks = 2;
        extras.blocks = {{3, 5}, {4, 6}};
        const uint32_t size = spec.headerBytes + SackOptionBytes(2);
        ExpectSize(server, ack, &extras, size, size);
    }

    void ExpectSize(TcpFormat& format,
                    const Packet& packet,
                    const PacketExtras* extras,
                    uint32_t ipBytes,
                    uint32_t headers)
    {
        NS_TEST_EXPECT_MSG_EQ(format.SizeOf(packet), ipBytes, "as the models have it");
        PacketImage image;
        const SeenPacket seen{0, packet, ipBytes, extras};
        format.OnSent(seen);
        format.Write(seen, 0, image);
        NS_TEST_EXPECT_MSG_EQ(image.headers, headers, "options fill the header");
        NS_TEST_EXPECT_MSG_EQ(image.length, ipBytes, "the length");
    }
};

ADD_CASE(TcpHeaderTest, "headers of TCP fill what the models count, for both versions of IP");

TEST_CASE(ns3::TestCase,
          KeysTest,
          "tokens and first sequence numbers are of the key's SHA-256 (RFC 8684, section 3.2)")
{
    // SHA-256 of these eight bytes begins with 55c53f5d and ends with 570762cd38be9818, by Python's
    // hashlib.
    const MptcpFormat end(0x0123456789abcdef);
    NS_TEST_EXPECT_MSG_EQ(end.Token(), 0x55c53f5d, "the first 32 bits");
    NS_TEST_EXPECT_MSG_EQ(end.SequenceOf(0), 0x570762cd38be9818 + 1, "the last 64, and one");
}

/// A subflow's client and server, and what they write.
class SubflowHeaderTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        // RFC 8684, sections 3.1 and 3.2: 4, 12 and 20 bytes, and on others 12, 16 and 24. A
        // capture of Linux 7.3 has 4, 12, 20, then 22 with data, 12 in ACKs, and 26 once data came
        // back.
        Check(0, {4, 12, 20});
        Check(1, {12, 16, 24});
        CheckLongDataAck();
    }

    void Check(uint8_t path, const std::array<uint32_t, 3>& sizes)
    {
        spec.mss = 1424;
        spec.headerBytes = 76;
        spec.synBytes = 60;
        spec.mappingBytes = 12;
        spec.windowScale = 7;
        TcpFormat client(spec, AddressOf(1, 4), AddressOf(2, 4), 1);
        TcpFormat server(spec, AddressOf(2, 4), AddressOf(1, 4), 2);
        TcpFormat::Join(client, server);
        MptcpFormat ends[] = {MptcpFormat(1), MptcpFormat(2)};
        SubflowFormat up(ends[0], ends[1], {0, true}, path, true);
        SubflowFormat down(ends[1], ends[0], {0, true}, path, false);
        client.SetSubflow(up);
        server.SetSubflow(down);

        Packet packet{};
        packet.kind = PacketKind::SYN;
        Expect(client, packet, nullptr, 40 + 20 + sizes[0], 20, sizes[0]);
        packet.kind = PacketKind::SYN_ACK;
        Expect(server, packet, nullptr, 40 + 20 + sizes[1], 20, sizes[1]);
        PacketExtras extras{};
        packet.kind = PacketKind::ACK;
        packet.hasAck = true;
        Expect(client, packet, &extras, 40 + 12 + sizes[2], 12, sizes[2]);
        Expect(server, packet, &extras, 40 + 12 + 12, 12, 12);

        up.OnWriting({7'000, 9'000});
        up.OnTaken(1'500);
        up.OnWriting({8'500, 9'000});
        up.OnTaken(500);
        up.OnWriting({20'000, 2'000});
        Packet data{};
        data.kind = PacketKind::DATA;
        data.length = 1'424;
        Expect(client, data, nullptr, 1'500, 12, 22);
        data.segment = 1;
        data.length = 576;
        extras.dataAck = 5;
        data.hasAck = true;
        const std::vector<uint8_t> option = Expect(client, data, &extras, 652, 12, 22);
        ExpectMapping(option, ends[1].SequenceOf(5), ends[0].SequenceOf(7'000 + 1'424), 1'425, 576);
        data.segment = 2;
        data.length = 1'424;
        const std::vector<uint8_t> next = Expect(client, data, &extras, 1'500, 12, 22);
        ExpectMapping(next, ends[1].SequenceOf(5), ends[0].SequenceOf(20'000), 2'001, 1'424);
    }

    /// Once data came from the other end, whose mappings have 64 bits, data ACKs have, too.
    void CheckLongDataAck()
    {
        spec.mss = 1'420;
        spec.headerBytes = 80;
        spec.mappingBytes = 16;
        TcpFormat client(spec, AddressOf(1, 4), AddressOf(2, 4), 1);
        TcpFormat server(spec, AddressOf(2, 4), AddressOf(1, 4), 2);
        TcpFormat::Join(client, server);
        MptcpFormat ends[] = {MptcpFormat(1), MptcpFormat(2)};
        SubflowFormat up(ends[0], ends[1], {0, false}, 0, true);
        SubflowFormat down(ends[1], ends[0], {0, false}, 0, false);
        client.SetSubflow(up);
        server.SetSubflow(down);
        up.OnWriting({0, 3'000});
        up.OnTaken(3'000);
        Packet data{};
        data.kind = PacketKind::DATA;
        data.length = 1'420;
        Expect(client, data, nullptr, 1'500, 12, 22); // MP_CAPABLE, filled up
        PacketExtras extras{};
        extras.dataAck = 5;
        data.hasAck = true;
        data.segment = 1;
        const std::vector<uint8_t> option = Expect(client, data, &extras, 1'500, 12, 26);
        std::vector<uint8_t> expected{30, 26, 0x20, 0x0f};
        ByteWriter(expected)
            .U64(ends[1].SequenceOf(5))
            .U64(ends[0].SequenceOf(1'420))
            .U32(1'421)
            .U16(1'420)
            .U16(0x0101);
        NS_TEST_EXPECT_MSG_EQ((option == expected), true, "RFC 8684, section 3.3");
    }

    void ExpectMapping(const std::vector<uint8_t>& option,
                       uint64_t dataAck,
                       uint64_t sequence,
                       uint32_t subflowSequence,
                       uint16_t length)
    {
        std::vector<uint8_t> expected{30, 22, 0x20, 0x0d};
        ByteWriter(expected)
            .U32(dataAck)
            .U64(sequence)
            .U32(subflowSequence)
            .U16(length)
            .U16(0x0101);
        NS_TEST_EXPECT_MSG_EQ((option == expected), true, "RFC 8684, section 3.3");
    }

    /// \param at,bytes where MPTCP's option is, behind others, and how long  \returns the options
    /// from there on
    std::vector<uint8_t> Expect(TcpFormat& format,
                                const Packet& packet,
                                const PacketExtras* extras,
                                uint32_t ipBytes,
                                uint32_t at,
                                uint32_t bytes)
    {
        NS_TEST_EXPECT_MSG_EQ(format.SizeOf(packet), ipBytes, "as the models have it");
        PacketImage image;
        const SeenPacket seen{0, packet, ipBytes, extras};
        format.OnSent(seen);
        format.Write(seen, 0, image);
        NS_TEST_EXPECT_MSG_EQ(image.headers,
                              ipBytes - packet.length * IsData(packet),
                              "it is full");
        NS_TEST_EXPECT_MSG_EQ(image.bytes[40 + at], 30, "the kind of MPTCP");
        NS_TEST_EXPECT_MSG_EQ(image.bytes[40 + at + 1], bytes, "its length");
        return {image.bytes.begin() + 40 + at, image.bytes.begin() + image.headers};
    }

    static uint32_t IsData(const Packet& packet)
    {
        return packet.kind == PacketKind::DATA;
    }

    TcpSpec spec{};
};

ADD_CASE(SubflowHeaderTest, "options of MPTCP have the sizes that Linux gives them");

TEST_CASE(ns3::TestCase,
          SegmentOffsetsTest,
          "segments have the offsets of what was sent before them")
{
    SegmentOffsets offsets;
    for (uint32_t number = 0; number < 200'000; ++number)
    {
        offsets.OnSent(number, 10);
        offsets.OnSent(number / 2, 7); // again, and of no account
        offsets.OnAcked(number / 2);
    }
    NS_TEST_EXPECT_MSG_EQ(offsets.Of(150'000), 1'500'000, "a segment");
    NS_TEST_EXPECT_MSG_EQ(offsets.Of(200'000), 2'000'000, "the next");
    NS_TEST_EXPECT_MSG_EQ(offsets.Of(200'001), 2'000'000, "one that was not sent");
    NS_TEST_EXPECT_MSG_EQ(offsets.Of(100'000), 1'000'000, "one that may still be repeated");
}

TEST_CASE(ns3::TestCase,
          LayerContentsTest,
          "layers write as many bytes as they count, in the same writes")
{
    WebSocketLayerSpec masked{4096, true, 0};
    WebSocketLayerSpec cut{0, false, 4086};
    TlsLayerSpec tls{16384, 22, 1186, 131072, 1};
    const std::vector<LayerSpec> layers{masked, cut, tls};
    for (const LayerSpec& spec : layers)
    {
        auto sizes = MakeLayer(spec);
        auto contents = MakeLayerContents(spec);
        for (uint32_t bytes : {0, 1, 125, 126, 4096, 4097, 32768, 70'000, 1'000'000})
        {
            std::vector<uint32_t> counted;
            std::vector<Written> written;
            sizes->Wrap(bytes, counted);
            contents->Wrap({bytes, {}}, written);
            NS_TEST_ASSERT_MSG_EQ(written.size(), counted.size(), "writes of " << bytes);
            for (size_t i = 0; i < counted.size(); ++i)
            {
                NS_TEST_EXPECT_MSG_EQ(written[i].size, counted[i], "write " << i);
            }
        }
    }
    const Written whole{10, {{2, {1, 2, 3, 4}}}};
    const Written part = PartOf(whole, 3, 2);
    NS_TEST_ASSERT_MSG_EQ(part.known.size(), 1, "one piece");
    NS_TEST_EXPECT_MSG_EQ(part.known[0].offset, 0, "begins the part");
    NS_TEST_EXPECT_MSG_EQ(part.known[0].bytes.size(), 2, "and ends with it");
}

TEST_CASE(ns3::TestCase, HandshakeWritesTest, "handshakes fill the writes that the models have")
{
    const std::vector<HandshakeTurn> turns{{{1483}, {1887}}, {{64, 208}, {151}}};
    const auto client = HandshakeWrites(turns, End::CLIENT, {TlsLayerSpec{}});
    const auto server = HandshakeWrites(turns, End::SERVER, {TlsLayerSpec{}});
    NS_TEST_ASSERT_MSG_EQ(client.size(), 3, "writes of the client");
    NS_TEST_EXPECT_MSG_EQ(client[0].known[0].bytes.size(), 1483, "all of the ClientHello");
    // Go's ServerHello, as captured: 1215 bytes with X25519MLKEM768.
    const std::vector<uint8_t>& flight = server[0].known[0].bytes;
    NS_TEST_EXPECT_MSG_EQ(5 + flight[3] * 256 + flight[4], 1215, "the ServerHello's record");
    const auto get = HandshakeWrites({{{186}, {129}}}, End::CLIENT, {WebSocketLayerSpec{}});
    NS_TEST_EXPECT_MSG_EQ(get[0].known[0].bytes.size(), 186, "all of the request");
}

TEST_CASE(ns3::TestCase, RecordFileTest, "a file of records ends with a whole one at its limit")
{
    const std::string name = CreateTempDirFilename("records");
    {
        RecordFile file(name, 25);
        for (int i = 0; i < 5; ++i)
        {
            file.Buffer().insert(file.Buffer().end(), 10, 'x');
            NS_TEST_EXPECT_MSG_EQ(file.EndRecord(), (i < 2), "record " << i);
        }
        NS_TEST_EXPECT_MSG_EQ(file.IsFull(), true, "it is full");
        NS_TEST_EXPECT_MSG_EQ(file.Bytes(), 20, "two records");
    }
    std::ifstream read(name, std::ios::ate);
    NS_TEST_EXPECT_MSG_EQ(read.tellg(), 20, "on the disk, too");
}

class IpHeaderTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        IpHeader header{AddressOf(1, 4).address, AddressOf(2, 4).address, IpProtocol::UDP, 3, {}};
        std::vector<uint8_t> bytes;
        WriteIp(header, 1'500, bytes);
        NS_TEST_ASSERT_MSG_EQ(bytes.size(), 20, "without options");
        NS_TEST_EXPECT_MSG_EQ(FoldChecksum(ChecksumOf(bytes)), 0, "RFC 791: a right checksum");
        NS_TEST_EXPECT_MSG_EQ(bytes[2] * 256 + bytes[3], 1'500, "total length");
        NS_TEST_EXPECT_MSG_EQ(bytes[1], 3, "CE");
        NS_TEST_EXPECT_MSG_EQ(bytes[6], 0x40, "not to be fragmented");
        header.fragment = IpFragment{77, 1'480, false};
        bytes.clear();
        WriteIp(header, 1'500, bytes);
        NS_TEST_EXPECT_MSG_EQ(bytes[4] * 256 + bytes[5], 77, "identification");
        NS_TEST_EXPECT_MSG_EQ(bytes[6] * 256 + bytes[7], 0x2000 + 1'480 / 8, "more fragments");
        IpHeader six{AddressOf(1, 6).address, AddressOf(2, 6).address, IpProtocol::UDP, 2, {}};
        six.fragment = IpFragment{77, 1'448, true};
        bytes.clear();
        WriteIp(six, 1'500, bytes);
        NS_TEST_ASSERT_MSG_EQ(bytes.size(), six.Size(), "with a fragment header");
        NS_TEST_EXPECT_MSG_EQ(bytes[4] * 256 + bytes[5], 1'460, "payload length");
        NS_TEST_EXPECT_MSG_EQ(bytes[6], 44, "what follows is that header");
        NS_TEST_EXPECT_MSG_EQ(bytes[40], 17, "and then UDP");
        NS_TEST_EXPECT_MSG_EQ(bytes[42] * 256 + bytes[43], 1'448, "offset, the last one");
        NS_TEST_EXPECT_MSG_EQ((bytes[1] >> 4), 2, "ECT(0)");
    }
};

ADD_CASE(IpHeaderTest,
         "headers of IP have lengths, checksums, ECN and fragments where they belong");

class UdpFormatTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        for (const uint8_t version : {4, 6})
        {
            UdpFormat format(AddressOf(1, version), AddressOf(2, version));
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.datagramBytes = 500;
            NS_TEST_EXPECT_MSG_EQ(format.SizeOf(packet), 500, "its size");
            PacketImage image;
            format.Write({0, packet, 500, nullptr}, 0, image);
            const uint32_t ip = version == 4 ? 20 : 40;
            NS_TEST_EXPECT_MSG_EQ(image.length, 500, "IP bytes");
            NS_TEST_EXPECT_MSG_EQ(image.headers, ip + 8, "its headers");
            const auto udp = std::span(image.bytes).subspan(ip);
            NS_TEST_EXPECT_MSG_EQ(udp[0] * 256 + udp[1], 1001, "port of the sender");
            NS_TEST_EXPECT_MSG_EQ(udp[4] * 256u + udp[5], 500 - ip, "length");
            const IpHeader header{AddressOf(1, version).address,
                                  AddressOf(2, version).address,
                                  IpProtocol::UDP,
                                  0,
                                  {}};
            NS_TEST_EXPECT_MSG_EQ(TransportChecksum(header, udp, 500 - ip), 0, "checksum");
        }
    }
};

ADD_CASE(UdpFormatTest, "datagrams have headers of UDP with a right checksum");

class TunnelHeadersTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        CaptureTunnelSpec vxlan;
        vxlan.ip = 4;
        vxlan.layers = {{"ethernet", 18, true}, {"vxlan", 8, true}};
        std::vector<uint8_t> bytes;
        NS_TEST_EXPECT_MSG_EQ(WriteTunnelHeaders(vxlan, 3, 100, {1, 2}, bytes), true, "plain");
        const std::vector<uint8_t> expected{0x08, 0, 0, 0, 0,    0, 1,    0, // VXLAN
                                            0x02, 0, 0, 0, 0,    2, 0x02, 0,
                                            0,    0, 0, 1,           // addresses
                                            0x81, 0, 0, 1, 0x08, 0}; // a tag
        NS_TEST_EXPECT_MSG_EQ((bytes == expected), true, "RFC 7348, IEEE 802.1Q");
        CaptureTunnelSpec wireGuard;
        wireGuard.layers = {{"wireguard", 16, false}};
        bytes.clear();
        NS_TEST_EXPECT_MSG_EQ(WriteTunnelHeaders(wireGuard, 0x0102, 100, {1, 2}, bytes),
                              false,
                              "encrypted");
        const std::vector<uint8_t> message{4, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0};
        NS_TEST_EXPECT_MSG_EQ((bytes == message), true, "type, receiver, counter");
    }
};

ADD_CASE(TunnelHeadersTest, "layers of tunnels have their headers, up to the first that encrypts");

/// A receiver that the test sends to.
class Receiver final : public PacketSink
{
  public:
    void Receive(int64_t /* now */, const Packet& /* packet */, const PacketExtras*) override
    {
        ++received;
    }

    int received{0};
};

class CaptureTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    struct Block
    {
        uint32_t type;
        std::vector<uint8_t> body;
    };

    static uint32_t Number(const std::vector<uint8_t>& bytes, size_t at)
    {
        return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 |
               static_cast<uint32_t>(bytes[at + 3]) << 24;
    }

    /// Read a file of pcapng.
    std::vector<Block> Read(const std::string& name)
    {
        std::ifstream file(name, std::ios::binary);
        const std::vector<uint8_t> all{std::istreambuf_iterator<char>(file), {}};
        std::vector<Block> blocks;
        for (size_t at = 0; at + 12 <= all.size(); at += Number(all, at + 4))
        {
            const uint32_t length = Number(all, at + 4);
            NS_TEST_EXPECT_MSG_EQ(Number(all, at + length - 4), length, "both lengths");
            blocks.push_back({Number(all, at),
                              {all.begin() + static_cast<std::ptrdiff_t>(at) + 8,
                               all.begin() + static_cast<std::ptrdiff_t>(at + length) - 4}});
        }
        return blocks;
    }

    void DoRun() override
    {
        CaptureSpec spec;
        spec.file = CreateTempDirFilename("capture.pcapng");
        spec.ip = 4;
        CapturePlaceSpec gate;
        gate.name = "gate";
        gate.host = 1;
        gate.arrivals = {{0, false}, {1, true}};
        CapturePlaceSpec far;
        far.name = "far";
        far.host = 2;
        spec.places = {gate, far};
        Receiver receiver;
        {
            Capture capture(spec);
            capture.SetClock(TestLoop());
            PathDirection path(TestLoop());
            Channel channel(path, 5 * MS);
            channel = capture.AddPassing(1, CaptureInterface::LINK, CaptureDirection::OUT, channel);
            channel =
                capture.AddPassing(1, CaptureInterface::DEVICE, CaptureDirection::IN, channel);
            channel = capture.AddPassingBehind({0, false}, CaptureDirection::IN, channel);
            channel =
                capture.AddPassingBehind({0, true}, CaptureDirection::IN, channel); // not here
            const WireEnds ends{{0, 2}};
            const PerEnd<Channel> channels = capture.AddUdp(ends, 0, {channel, channel});
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.datagramBytes = 500;
            packet.sink = &receiver;
            Channel client = channels.client;
            client.Send(0, packet, 500);
            RunUntil(10 * MS);
            capture.Finish();
            NS_TEST_EXPECT_MSG_EQ(capture.File().Packets(), 4, "three times at the gate, one far");
        }
        NS_TEST_EXPECT_MSG_EQ(receiver.received, 1, "it arrives all the same");
        std::vector<uint32_t> times;
        std::vector<uint32_t> captured;
        size_t interfaces = 0;
        for (const Block& block : Read(spec.file))
        {
            interfaces += block.type == 1;
            if (block.type == 6)
            {
                times.push_back(Number(block.body, 8));
                captured.push_back(Number(block.body, 12));
                NS_TEST_EXPECT_MSG_EQ(Number(block.body, 16), 500, "its length");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(interfaces, 3, "links and device of the gate, and the far host");
        NS_TEST_EXPECT_MSG_EQ((times == std::vector<uint32_t>{0, 0, 0, 5 * MS}), true, "times, ns");
        NS_TEST_EXPECT_MSG_EQ((captured == std::vector<uint32_t>(4, 28)), true, "headers");
    }
};

ADD_CASE(CaptureTest, "a capture sees packets where they leave, pass and arrive, in order");

} // namespace
