/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_TUNNEL_H
#define TUNNELCC_QUIC_TUNNEL_H

#include "datagram-tunnel.h"
#include "event/fifo.h"
#include "packet-server.h"
#include "packet-tunnel.h"
#include "path/packet-device.h"
#include "quic/quic-connection.h"
#include "reordering-meter.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// The packets of one end that are in DATAGRAM frames, by number.
class FramedPackets
{
  public:
    struct Framed
    {
        Packet packet;
        uint32_t ipBytes;
        uint32_t pieces; //!< frames that carry it
        uint64_t extras; //!< place of its extras, if it has some
    };

    /// Add a packet. \returns its number
    uint64_t Push(const Packet& packet,
                  uint32_t ipBytes,
                  uint32_t pieces,
                  const PacketExtras* extras);

    /// A packet by its number; null: another arrived that was sent long after it.
    const Framed* Find(uint64_t number) const
    {
        return number < m_first ? nullptr : &m_packets[number - m_first];
    }

    /// The extras of a packet that has some.
    const PacketExtras* ExtrasOf(const Framed& framed) const
    {
        return framed.packet.HasExtras() ? &m_extras[framed.extras - m_firstExtras] : nullptr;
    }

    /// A packet has arrived: forget those that were sent long before it.
    void OnArrival(uint64_t number);

  private:
    static constexpr uint64_t KEPT = 4096; // as PacketHistory

    Fifo<Framed> m_packets;
    Fifo<PacketExtras> m_extras; //!< of those that have extras, in the same order
    uint64_t m_first{0};
    uint64_t m_firstExtras{0};
};

/**
 * One end of a tunnel that carries packets in DATAGRAM frames of a QUIC connection (RFC 9221).
 *
 * The program reads one packet at a time from its device, and gives it to the connection, which has
 * a queue of frames: they leave as congestion control and pacing let them. Is that queue full, the
 * program waits, so that the device's queue fills; or it drops what it has read. A packet that does
 * not fit into a QUIC packet is dropped, or goes in several frames. What arrives waits in a queue
 * for the far program. It puts together one packet at a time (hysteria 2, core/internal/frag).
 */
class QuicTunnelEnd final : public PacketDevice, private QuicDatagrams, private PacketHandler
{
  public:
    /**
     * \param spec the tunnel; outlives its ends
     * \param carrier this end of the connection
     * \param cpu the CPU of the host
     * \param sent,received packets in frames of this end, and of its peer
     */
    QuicTunnelEnd(const QuicTunnelSpec& spec,
                  QuicConnection& carrier,
                  Cpu& cpu,
                  FramedPackets& sent,
                  FramedPackets& received);

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

    /// Counts of the packets that came from the host.
    const InnerCounters& Inner() const
    {
        return m_inner;
    }

    const CarrierDrops& Drops() const
    {
        return m_drops;
    }

    /// Packets that went in more than one frame.
    uint64_t Split() const
    {
        return m_split;
    }

    /// The queue in front of the program.
    const PacketServer& Device() const
    {
        return m_device;
    }

    /// Packets that arrived, and wait for the program.
    const PacketServer& Arrived() const
    {
        return m_arrived;
    }

    std::optional<ReorderingMeter> order; //!< of packets that arrive over several paths

  private:
    struct Frame
    {
        uint64_t number;
        uint32_t bytes;
    };

    // QuicDatagrams
    void OnOpen(int64_t now) override;

    bool HasNext() const override
    {
        return !m_queue.IsEmpty();
    }

    uint32_t NextBytes() const override
    {
        return m_queue.Front().bytes;
    }

    bool AreAlone() const override
    {
        return m_spec.datagrams.areAlone;
    }

    uint64_t Take() override;
    void DropNext() override;
    void OnSent(int64_t now) override;
    void OnReceived(int64_t now, uint64_t number) override;

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t ipBytes,
                   const PacketExtras* extras) override;
    bool HasRoom() const;

    const QuicTunnelSpec& m_spec;
    QuicConnection& m_carrier;
    FramedPackets& m_sent;
    FramedPackets& m_received;
    CpuThread m_writing; //!< thread of writing, and of reading if they share it
    CpuThread m_reading;
    PacketServer m_device;
    PacketServer m_arrived;
    HostDelivery m_host;
    Fifo<Frame> m_queue;
    uint64_t m_putTogether{UINT64_MAX}; //!< the packet of which pieces have arrived
    uint32_t m_pieces{0};               //!< how many
    uint64_t m_split{0};
    InnerCounters m_inner;
    CarrierDrops m_drops;
};

/// A tunnel that carries the packets of two hosts in DATAGRAM frames between them.
class QuicTunnel final : public PacketTunnel
{
  public:
    /// As of StreamTunnel.
    QuicTunnel(const QuicTunnelSpec& spec,
               QuicConnection& clientCarrier,
               QuicConnection& serverCarrier,
               Cpu& client,
               Cpu& server);

    /// The entry of one end's packets.
    PacketDevice& Device(End sender)
    {
        return m_ends[sender];
    }

    void CatchUp(int64_t /* now */) override
    {
    }

    const ProgramQueue& DeviceQueue(End sender) const override
    {
        return m_ends[sender].Device();
    }

    uint64_t SocketDrops(End sender) const override
    {
        return m_ends[Other(sender)].Arrived().Counters().drops;
    }

    void StartMeasuring() override;
    std::optional<UplinksReport> Uplinks(End sender) const override;
    std::optional<CarrierDrops> DropsAtCarrier(End sender) const override;
    TunnelCounters Counters(End sender) const override;

  private:
    PerEnd<QuicConnection&> m_carriers;
    PerEnd<FramedPackets> m_packets;
    PerEnd<QuicTunnelEnd> m_ends;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_TUNNEL_H
