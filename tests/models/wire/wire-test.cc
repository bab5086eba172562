/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the bytes of packets against examples of their specifications, and their sizes against
 * those that the models compute.
 */
#include "support/test-case.h"
#include "tunnel/layer.h"
#include "wire/carrier-contents.h"
#include "wire/ip.h"
#include "wire/record-file.h"
#include "wire/segment-offsets.h"
#include "wire/tcp-format.h"
#include "wire/written.h"

#include <cstdio>
#include <fstream>
#include <numeric>
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

} // namespace
