/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_TUNNEL_H
#define TUNNELCC_STREAM_TUNNEL_H

#include "message-stream.h"
#include "packet-server.h"
#include "packet-tunnel.h"
#include "path/packet-device.h"
#include "transport/endpoint.h"

#include <vector>

namespace tunnelcc
{

/// The content of a message in a stream tunnel: one packet.
struct TunnelledPacket
{
    Packet packet;
    uint32_t ipBytes;
};

/// The packets that are in a carrier, in both directions.
struct PacketLogs
{
    PerEnd<MessageLog<TunnelledPacket>> packets;
    PerEnd<Fifo<PacketExtras>> extras; //!< of the packets that have extras, in the same order
};

/**
 * One end of a stream tunnel, which writes packets into a TCP connection.
 *
 * The program reads one packet at a time from its device, puts it into a frame, and writes it to
 * the carrier. It blocks while the carrier's send buffer is full; then the device's queue fills and
 * drops packets. In the other direction it reads frame by frame, and hands a packet to the host
 * when its last byte has arrived in order.
 */
class StreamTunnelEnd final : public PacketDevice,
                              private StreamUser,
                              private PacketHandler,
                              private CpuUser
{
  public:
    /**
     * \param spec the tunnel; outlives its ends
     * \param end which end this is; the client opens the carrier
     * \param layers the layers around what it sends
     * \param carrier its socket
     * \param cpu the CPU of the host
     * \param logs the packets in the carrier, in both directions
     */
    StreamTunnelEnd(const StreamTunnelSpec& spec,
                    End end,
                    const std::vector<LayerSpec>& layers,
                    ByteStream& carrier,
                    Cpu& cpu,
                    PacketLogs& logs);

    /// As MessageStream::SetWatcher().
    void SetWatcher(MessageWatcher<TunnelledPacket>* watcher)
    {
        m_carrier.SetWatcher(watcher);
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

    /// Counts of the packets that came from the host.
    const InnerCounters& Inner() const
    {
        return m_inner;
    }

    /// The queue in front of the program.
    const PacketServer& Queue() const
    {
        return m_device;
    }

  private:
    void OnOpen(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t ipBytes,
                   const PacketExtras* extras) override;
    void ReadPackets(int64_t now);
    void Deliver(int64_t now, const TunnelledPacket& received);
    void OnComputed(int64_t now) override;

    const StreamTunnelSpec& m_spec;
    MessageStream<TunnelledPacket> m_carrier;
    Fifo<PacketExtras>& m_sent;
    Fifo<PacketExtras>& m_received;
    CpuThread m_writing; //!< thread of writing, and of reading if they share it
    CpuThread m_reading;
    PacketServer m_device;
    InnerCounters m_inner;
    bool m_isDecapsulating{false}; //!< the CPU works on a packet that was read
};

/// A tunnel that carries the packets of two hosts in one connection of TCP or MPTCP between them.
class StreamTunnel final : public PacketTunnel
{
  public:
    /**
     * \param spec the tunnel; outlives it
     * \param carrier its ends; the client opens it
     * \param sockets whose packets the carrier consists of, by end
     * \param cpus of the ends' hosts
     */
    StreamTunnel(const StreamTunnelSpec& spec,
                 const PerEnd<ByteStream&>& carrier,
                 PerEnd<std::vector<const TcpEndpoint*>> sockets,
                 const PerEnd<Cpu&>& cpus);

    /// As MessageStream::SetWatcher(), of what one end sends.
    void SetWatcher(End sender, MessageWatcher<TunnelledPacket>* watcher)
    {
        m_ends[sender].SetWatcher(watcher);
    }

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
        return m_ends[sender].Queue();
    }

    uint64_t SocketDrops(End /* sender */) const override
    {
        return 0; // TCP's window holds back what the program does not read
    }

    TunnelCounters Counters(End sender) const override;

  private:
    PerEnd<std::vector<const TcpEndpoint*>> m_sockets;
    PacketLogs m_logs;
    PerEnd<StreamTunnelEnd> m_ends;
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_TUNNEL_H
