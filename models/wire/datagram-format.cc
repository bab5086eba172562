/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-format.h"

namespace tunnelcc
{

namespace
{

constexpr uint32_t UDP_HEADER_BYTES = 8;
constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;
constexpr uint16_t ETHERTYPE_IPV6 = 0x86dd;
constexpr uint16_t ETHERTYPE_VLAN = 0x8100; // IEEE 802.1Q, as the tag
constexpr uint32_t ETHERNET_BYTES = 14;
constexpr uint32_t TAG_BYTES = 4;

/// What is encrypted has so many bytes at least (RFC 8439, section 2.8). Wireshark takes a packet
/// of WireGuard with fewer for a wrong one.
constexpr uint32_t LEAST_ENCRYPTED_BYTES = 16;

/// \param ip version inside  \param number,payload,devices,bytes as of WriteTunnelHeaders()
void
WriteLayer(const CaptureLayerSpec& layer,
           uint32_t ip,
           uint32_t number,
           uint32_t payload,
           const std::pair<uint32_t, uint32_t>& devices,
           std::vector<uint8_t>& bytes)
{
    ByteWriter writer(bytes);
    const size_t end = bytes.size() + layer.header;
    if (layer.layer == "ethernet")
    {
        // Locally administered addresses (IEEE 802, 8.4).
        const uint16_t type = ip == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;
        writer.U16(0x0200).U32(devices.second).U16(0x0200).U32(devices.first);
        for (uint32_t written = ETHERNET_BYTES; written < layer.header; written += TAG_BYTES)
        {
            writer.U16(ETHERTYPE_VLAN).U16(1); // priority 0, VLAN 1
        }
        writer.U16(type);
    }
    else if (layer.layer == "vxlan")
    {
        // RFC 7348, section 5: the network identifier is valid, and 1.
        writer.U8(0x08).U24(0).U24(1).U8(0);
    }
    else if (layer.layer == "wireguard")
    {
        // Donenfeld, NDSS 2017, section 5.4.6: type 4, receiver, counter.
        writer.U8(4).U24(0).Little(1, 4).Little(number, 8);
    }
    else if (layer.layer == "openvpn")
    {
        // P_DATA_V2 is opcode 9, of key 0; peer 0.
        writer.U8(9 << 3).U24(0);
    }
    else if (layer.layer == "esp")
    {
        // RFC 4303, section 2: security parameters index, sequence number; RFC 4106: IV.
        writer.U32(0x1000).U32(number + 1).U64(number + 1);
    }
    else if (layer.layer == "vtun")
    {
        writer.U16(payload - 2);
    }
    else if (layer.layer == "tinc")
    {
        writer.U32(number + 1);
    }
    bytes.resize(end); // what is left of the header is filler
}

} // namespace

void
UdpFormat::Write(const SeenPacket& seen, uint32_t /* view */, PacketImage& image)
{
    image.Begin(seen.ipBytes);
    WriteIp(m_ip, seen.ipBytes, image.bytes);
    const auto at = static_cast<uint32_t>(image.bytes.size());
    WriteUdp(m_source, m_destination, image.length - at, image.bytes);
    image.headers = at + UDP_HEADER_BYTES;
    WritePayload(seen, image);
    FinishUdp(m_ip, image, at);
}

uint32_t
TunnelFormat::SizeOf(const Packet& packet) const
{
    const auto& packets = PacketsOf(packet, packet.sink);
    return packet.kind == PacketKind::FRAGMENT ? packets.front() : packets.back();
}

const std::vector<uint32_t>&
TunnelFormat::PacketsOf(const Packet& packet, const PacketSink* receiver) const
{
    const TunnelExit* exit = m_table.Of(receiver).exit;
    const uint32_t inner =
        exit ? m_table.FormatOf(packet, exit->Receiver()).SizeOf(packet) : packet.shardBytes;
    return m_spec.outer.at(inner);
}

void
TunnelFormat::Write(const SeenPacket& seen, uint32_t viewNumber, PacketImage& image)
{
    if (viewNumber >= m_views.size())
    {
        m_views.resize(viewNumber + 1);
    }
    View& view = m_views[viewNumber];
    const std::vector<uint32_t>& packets = PacketsOf(seen.packet, seen.Receiver());
    IpHeader ip{m_self.address,
                m_other.address,
                m_capture.hasUdp ? IpProtocol::UDP : IpProtocol::ESP,
                0,
                {}};
    const bool isLast = seen.packet.kind != PacketKind::FRAGMENT;
    uint32_t offset = 0;
    if (packets.size() > 1 && !m_capture.splits)
    {
        // All fragments but the last are equally long. One may have been lost before this place.
        ip.fragment = IpFragment{static_cast<uint16_t>(view.datagrams), 0, isLast};
        const auto lead = packets.front() - ip.Size();
        const auto leads = static_cast<uint32_t>(packets.size()) - 1;
        offset = lead * (isLast ? leads : std::min(view.fragment, leads - 1));
        ip.fragment->offset = offset;
    }
    if (seen.packet.isEct && m_spec.ecn.copied)
    {
        ip.ecn = seen.packet.isL4s ? 1 : 2;
    }
    ip.ecn = seen.packet.isCe ? 3 : ip.ecn;
    WriteWhole(seen,
               m_capture.splits ? std::vector{seen.ipBytes} : packets,
               ip,
               viewNumber,
               view.datagrams);
    image.Begin(seen.ipBytes);
    WriteIp(ip, seen.ipBytes, image.bytes);
    const auto begin = static_cast<uint32_t>(image.bytes.size());
    if (offset < m_whole.bytes.size())
    {
        image.Put(begin, std::span(m_whole.bytes).subspan(offset));
    }
    image.headers = std::min(image.length, begin + (offset == 0 ? m_whole.headers : 0));
    view.fragment = isLast ? 0 : view.fragment + 1;
    view.datagrams += isLast;
}

void
TunnelFormat::WriteWhole(const SeenPacket& seen,
                         const std::vector<uint32_t>& packets,
                         const IpHeader& ip,
                         uint32_t view,
                         uint32_t number)
{
    uint32_t length = 0;
    for (uint32_t bytes : packets)
    {
        length += bytes - ip.Size();
    }
    m_whole.Begin(length);
    if (m_capture.hasUdp)
    {
        WriteUdp(m_self.port, m_other.port, length, m_whole.bytes);
    }
    const uint32_t udp = m_capture.hasUdp ? UDP_HEADER_BYTES : 0;
    const bool isPlain = WriteTunnelHeaders(m_capture,
                                            number,
                                            length - udp,
                                            {m_self.port, m_other.port},
                                            m_whole.bytes);
    m_whole.headers = static_cast<uint32_t>(m_whole.bytes.size());
    if (!isPlain)
    {
        m_whole.headers = std::min(length, m_whole.headers + LEAST_ENCRYPTED_BYTES);
    }
    const TunnelExit* exit = m_table.Of(seen.Receiver()).exit;
    if (isPlain && exit)
    {
        PacketFormat& format = m_table.FormatOf(seen.packet, exit->Receiver());
        format.Write({seen.now, seen.packet, format.SizeOf(seen.packet), seen.extras},
                     view,
                     m_inner);
        m_whole.Put(m_whole.headers, m_inner.bytes);
        m_whole.headers += m_inner.headers;
    }
    if (m_capture.hasUdp)
    {
        FinishUdp(ip, m_whole, 0);
    }
}

void
NestedFormat::Write(const SeenPacket& seen, uint32_t view, PacketImage& image)
{
    image.Begin(seen.ipBytes);
    m_packets.Visit(seen.packet, [&](const Packet& packet, const PacketExtras& extras) {
        const SeenPacket whole{seen.now, packet, seen.ipBytes, &extras};
        m_table.FormatOf(packet, whole.Receiver()).Write(whole, view, image);
    });
}

bool
WriteTunnelHeaders(const CaptureTunnelSpec& capture,
                   uint32_t number,
                   uint32_t payload,
                   const std::pair<uint32_t, uint32_t>& devices,
                   std::vector<uint8_t>& bytes)
{
    bool isPlain = true;
    for (size_t left = capture.layers.size(); isPlain && left > 0; --left)
    {
        const CaptureLayerSpec& layer = capture.layers[left - 1];
        WriteLayer(layer, capture.ip, number, payload, devices, bytes);
        isPlain = layer.isPlain;
    }
    return isPlain;
}

} // namespace tunnelcc
