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

#include <memory>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// By how much the near host's program may lag behind without the far one's noticing, ns: the delay
/// of a clocked path between them, where each has a core to itself. None: neither.
using Lookahead = std::optional<int64_t>;

/// Hands packets that the program at the far end is done with to the host.
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
    /// Who receives them on the far host.
    virtual const PacketSink* Receiver() const = 0;
};

/// One end of a tunnel that carries packets: its device, its socket, and the program between them.
class TunnelEnd
{
  public:
    /**
     * \param spec costs and queues
     * \param cpu the host's
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

    /// Set where these packets go.
    PacketHandler& Host()
    {
        return m_host;
    }

  private:
    CpuThread m_sending; //!< of both directions, if they share one
    CpuThread m_receiving;
    std::unique_ptr<ProgramQueue> m_device;
    std::unique_ptr<ProgramQueue> m_socket;
    HostDelivery m_host;
};

/**
 * What one end of a connection sends into where a datagram tunnel is: host → device → program →
 * outer datagrams on the path → program → host.
 *
 * Each inner packet becomes one datagram, which leaves in several IP packets if it does not fit;
 * the inner packet arrives if all of them do.
 */
class DatagramChannel final : public PacketDevice
{
  public:
    /**
     * \param sizes of the outer packets
     * \param tcp settings of the sending end
     * \param copiesEcn whether marks pass between inner and outer headers (RFC 6040)
     * \param near where packets enter
     * \param far where they come out
     * \param path between the two
     * \param counters of the direction
     * \param fec of the direction, or null
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
    /// Encapsulates what the near end's program has read from the device.
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

    /// Takes what arrives from the path to the far end's program.
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
    /// Send all fragments of a packet but the last.
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
    PacketSink* m_receiver{nullptr}; //!< on the far host
    Ingress m_ingress{*this};
    Egress m_egress{*this};
    Reassembler m_reassembler; // the largest by far, and little used: last
};

/// A tunnel in which each packet of the hosts becomes a datagram, between two hosts.
class DatagramTunnel final : public PacketTunnel
{
  public:
    /**
     * \param spec the tunnel
     * \param client CPU of the one host
     * \param server CPU of the other
     * \param lookaheads of what each end sends
     */
    DatagramTunnel(const DatagramTunnelSpec& spec,
                   Cpu& client,
                   Cpu& server,
                   const PerEnd<Lookahead>& lookaheads);

    /**
     * Add what one end of a connection sends into.
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

    std::optional<FecReport> Fec(int64_t now, End sender) const override
    {
        return m_fec[sender] ? std::optional(m_fec[sender]->Report(now)) : std::nullopt;
    }

  private:
    const DatagramTunnelSpec m_spec;
    PerEnd<TunnelEnd> m_ends;
    PerEnd<TunnelCounters> m_counters; //!< of what each end sent
    PerEnd<std::unique_ptr<FecDirection>> m_fec;
    std::vector<std::unique_ptr<DatagramChannel>> m_channels;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_TUNNEL_H
