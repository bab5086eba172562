/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_TUNNEL_H
#define TUNNELCC_DATAGRAM_TUNNEL_H

#include "clocked-server.h"
#include "fec-direction.h"
#include "packet-server.h"
#include "packet-tunnel.h"
#include "path/packet-device.h"
#include "path/path.h"
#include "reassembler.h"
#include "reorder-buffer.h"

#include <memory>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// How late the near host's program may hand over packets, ns. It is the delay of a clocked path
/// between the two programs, if each has a core to itself; otherwise empty.
using Lookahead = std::optional<int64_t>;

/// Hands packets from the program at the far end to the host.
class HostDelivery final : public PacketHandler
{
  public:
    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t /* ipBytes */,
                   const PacketExtras* extras) override
    {
        packet.sink->Receive(now, packet, extras);
    }
};

/// Takes the packets of one sender out of a tunnel.
class TunnelExit : public PacketSink
{
  public:
    /// The receiver on the far host.
    virtual const PacketSink* Receiver() const = 0;
};

/// One end of a tunnel that carries packets: its device, its socket, and the program between them.
class TunnelEnd
{
  public:
    /**
     * \param spec costs and queues
     * \param cpu the CPU of the host
     * \param sends,receives how to simulate the two directions
     */
    TunnelEnd(const TunnelEndSpec& spec,
              Cpu& cpu,
              const Lookahead& sends,
              const Lookahead& receives);

    /// Packets of the host, to be encapsulated.
    ProgramQueue& Device()
    {
        return *m_device;
    }

    const ProgramQueue& Device() const
    {
        return *m_device;
    }

    /// Packets from the path, to be decapsulated.
    ProgramQueue& Socket()
    {
        return *m_socket;
    }

    const ProgramQueue& Socket() const
    {
        return *m_socket;
    }

    /// Hands packets to the host, by way of the buffer that puts them into order.
    PacketHandler& Host()
    {
        return m_order ? static_cast<PacketHandler&>(*m_order) : m_host;
    }

    /// Where packets of several routes meet; null: they come over one.
    std::unique_ptr<ReorderBuffer>& Order()
    {
        return m_order;
    }

    const ReorderBuffer* Order() const
    {
        return m_order.get();
    }

  private:
    CpuThread m_sending; //!< thread of sending, and of receiving if they share it
    CpuThread m_receiving;
    std::unique_ptr<ProgramQueue> m_device;
    std::unique_ptr<ProgramQueue> m_socket;
    HostDelivery m_host;
    std::unique_ptr<ReorderBuffer> m_order;
};

/**
 * The way of packets of one end of a connection through a datagram tunnel: host → device → program
 * → outer datagrams on the path → program → host.
 *
 * Each inner packet becomes one datagram. A datagram that is larger than the MTU leaves in several
 * IP packets, and arrives if all of them arrive.
 */
class DatagramChannel final : public PacketDevice
{
  public:
    /**
     * \param sizes of the outer packets
     * \param tcp settings of the sending end
     * \param copiesEcn whether marks pass between inner and outer headers (RFC 6040)
     * \param near the end at which packets enter
     * \param far the end at which they leave
     * \param path the path between the two
     * \param counters the counters of the direction
     * \param fec the FEC of the direction, or null
     */
    DatagramChannel(const OuterSizes& sizes,
                    const TcpSpec& tcp,
                    bool copiesEcn,
                    TunnelEnd& near,
                    TunnelEnd& far,
                    const Channel& path,
                    TunnelCounters& counters,
                    FecDirection* fec);

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

  private:
    /// Encapsulates the packets that the near end's program has read from the device.
    class Ingress final : public PacketHandler
    {
      public:
        explicit Ingress(DatagramChannel& channel)
            : m_channel(channel)
        {
        }

        void OnHandled(int64_t now,
                       Packet& packet,
                       uint32_t ipBytes,
                       const PacketExtras* extras) override;

      private:
        DatagramChannel& m_channel;
    };

    /// Takes the packets that arrive from the path at the far end's program.
    class Egress final : public TunnelExit
    {
      public:
        explicit Egress(DatagramChannel& channel)
            : m_channel(channel)
        {
        }

        void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

        const PacketSink* Receiver() const override
        {
            return m_channel.m_receiver;
        }

      private:
        DatagramChannel& m_channel;
    };

    void Transmit(int64_t now, Packet& packet, uint32_t ipBytes, const PacketExtras* extras);
    /// Send all fragments of a packet except the last.
    void SendFragments(int64_t now, const Packet& packet, const std::vector<uint32_t>& outer);
    /// A whole packet has arrived.
    void Accept(int64_t now, Packet packet, uint32_t ipBytes, const PacketExtras* extras);

    const OuterSizes& m_sizes;
    const TcpSpec& m_tcp;
    const bool m_copiesEcn;
    TunnelEnd& m_near;
    TunnelEnd& m_far;
    Channel m_path;
    TunnelCounters& m_counters;
    FecDirection* const m_fec;
    PacketSink* m_receiver{nullptr}; //!< receiver on the far host
    Ingress m_ingress{*this};
    Egress m_egress{*this};
    Reassembler m_reassembler; // the largest by far, and little used: last
};

/// A tunnel between two hosts in which each of their packets becomes a datagram.
class DatagramTunnel final : public PacketTunnel
{
  public:
    /**
     * \param spec the tunnel
     * \param client CPU of the client
     * \param server CPU of the server
     * \param lookaheads the lookahead of each sending end
     */
    DatagramTunnel(const DatagramTunnelSpec& spec,
                   Cpu& client,
                   Cpu& server,
                   const PerEnd<Lookahead>& lookaheads);

    /**
     * Add the channel of one end of a connection.
     * \param sender the end that sends
     * \param path from the sending host to the receiving one
     * \param tcp settings of the sending end; outlive the tunnel
     */
    DatagramChannel& AddChannel(End sender, const Channel& path, const TcpSpec& tcp);

    void CatchUp(int64_t now) override;

    const ProgramQueue& DeviceQueue(End sender) const override
    {
        return m_ends[sender].Device();
    }

    uint64_t SocketDrops(End sender) const override
    {
        return m_ends[Other(sender)].Socket().Counters().drops;
    }

    TunnelCounters Counters(End sender) const override
    {
        return m_counters[sender];
    }

    void StartMeasuring() override;

    /// Where the packets meet that come to an end over several routes; null: they do not.
    ReorderBuffer* OrderAt(End receiver)
    {
        return m_ends[receiver].Order().get();
    }

    /// What an end's program reads, if it may wait for the program.
    PacketServer* HeldDevice(End sender)
    {
        return dynamic_cast<PacketServer*>(&m_ends[sender].Device());
    }

    std::optional<UplinksReport> Uplinks(End sender) const override
    {
        const ReorderBuffer* order = m_ends[Other(sender)].Order();
        return order ? std::optional(order->Report()) : std::nullopt;
    }

    std::optional<FecReport> Fec(int64_t now, End sender) const override
    {
        return m_fec[sender] ? std::optional(m_fec[sender]->Report(now)) : std::nullopt;
    }

  private:
    const DatagramTunnelSpec m_spec;
    PerEnd<TunnelEnd> m_ends;
    PerEnd<TunnelCounters> m_counters; //!< counters of each sending end
    PerEnd<std::unique_ptr<FecDirection>> m_fec;
    std::vector<std::unique_ptr<DatagramChannel>> m_channels;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_TUNNEL_H
