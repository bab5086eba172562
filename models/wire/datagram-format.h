/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_FORMAT_H
#define TUNNELCC_DATAGRAM_FORMAT_H

#include "ip.h"
#include "packet-format.h"
#include "spec/capture-spec.h"
#include "spec/tunnel-spec.h"
#include "tcp-format.h"
#include "tunnel/nested-packets.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// Datagrams of UDP (RFC 768). What is not known of their payload is filler.
class UdpFormat : public PacketFormat
{
  public:
    /// \param self,peer addresses of this end and the other
    /// \param header IP bytes around a shard, if there is FEC
    UdpFormat(const SocketAddress& self, const SocketAddress& peer, uint32_t header = 0)
        : m_ip{self.address, peer.address, IpProtocol::UDP, 0, {}},
          m_source(self.port),
          m_destination(peer.port),
          m_header(header)
    {
    }

    uint32_t SizeOf(const Packet& packet) const override
    {
        return packet.kind == PacketKind::FEC ? m_header + packet.shardBytes : packet.datagramBytes;
    }

    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) final;

  private:
    /// Write what is known of the payload behind the image's headers.
    virtual void WritePayload(const SeenPacket& /* seen */, PacketImage& /* image */)
    {
    }

    IpHeader m_ip;
    uint16_t m_source;
    uint16_t m_destination;
    uint32_t m_header;
};

/**
 * Datagrams of a tunnel, and their fragments: headers of IP and UDP, those of the tunnel's layers
 * up to the first that encrypts or compresses, and the packet inside if there is no such layer.
 * Nothing is readable with FEC.
 */
class TunnelFormat final : public PacketFormat
{
  public:
    /**
     * \param spec of the tunnel; outlives this
     * \param capture what its layers look like; likewise
     * \param self,peer addresses of this end and the other
     * \param table of all senders, for the packets inside
     */
    TunnelFormat(const DatagramTunnelSpec& spec,
                 const CaptureTunnelSpec& capture,
                 const SocketAddress& self,
                 const SocketAddress& peer,
                 const FormatTable& table)
        : m_spec(spec),
          m_capture(capture),
          m_self(self),
          m_other(peer),
          m_table(table)
    {
    }

    uint32_t SizeOf(const Packet& packet) const override;
    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) override;

  private:
    /// What was last seen at some place.
    struct View
    {
        uint32_t datagrams{0}; //!< which tunnels number
        uint32_t fragment{0};  //!< of the next packet in its datagram
    };

    /// IP bytes of the packets in which what is inside a packet leaves.
    const std::vector<uint32_t>& PacketsOf(const Packet& packet, const PacketSink* receiver) const;
    void WriteWhole(const SeenPacket& seen,
                    const std::vector<uint32_t>& packets,
                    const IpHeader& ip,
                    uint32_t view,
                    uint32_t number);

    const DatagramTunnelSpec& m_spec;
    const CaptureTunnelSpec& m_capture;
    const SocketAddress m_self;
    const SocketAddress m_other;
    const FormatTable& m_table;
    std::vector<View> m_views;
    PacketImage m_whole; //!< a datagram, without the header of IP
    PacketImage m_inner;
};

/// Packets of a tunnel that are datagrams in another one.
class NestedFormat final : public PacketFormat
{
  public:
    /// \param packets outlive this  \param table of all senders
    NestedFormat(const NestedPackets& packets, const FormatTable& table)
        : m_packets(packets),
          m_table(table)
    {
    }

    uint32_t SizeOf(const Packet& packet) const override
    {
        return packet.datagramBytes;
    }

    void Write(const SeenPacket& seen, uint32_t view, PacketImage& image) override;

  private:
    const NestedPackets& m_packets;
    const FormatTable& m_table;
};

/**
 * Write the headers of a tunnel's layers up to the first that encrypts or compresses.
 * \param capture what the layers look like  \param number of the datagram
 * \param payload bytes of UDP or IP, which the headers begin
 * \param devices numbers of the sending device and of the other, for addresses of Ethernet
 * \param bytes where to append
 * \returns whether what follows is the packet inside
 */
bool WriteTunnelHeaders(const CaptureTunnelSpec& capture,
                        uint32_t number,
                        uint32_t payload,
                        const std::pair<uint32_t, uint32_t>& devices,
                        std::vector<uint8_t>& bytes);

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_FORMAT_H
