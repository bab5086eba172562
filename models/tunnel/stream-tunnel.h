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

/// What a message of a tunnel is that writes packets into a TCP connection.
struct TunnelledPacket
{
    Packet packet;
    uint32_t ipBytes;
};

/// Packets under way in both directions of a carrier.
struct PacketLogs
{
    PerEnd<MessageLog<TunnelledPacket>> packets;
    PerEnd<Fifo<PacketExtras>> extras; //!< of those packets that have any, in the same order
};

/**
 * One end of a tunnel that writes packets into a TCP connection.
 *
 * The program reads one packet at a time from its device, frames it, and writes it to the carrier;
 * while the carrier's send buffer is full it blocks, and the device's queue fills and drops. In the
 * other direction it reads frame by frame, and hands a packet to the host once its last byte has
 * come in order.
 */
class StreamTunnelEnd final : public PacketDevice,
                              private StreamUser,
                              private PacketHandler,
                              private CpuUser
{
  public:
    /**
     * \param spec the tunnel; outlives its ends
     * \param end which this is; the client opens the carrier
     * \param layers around what it sends
     * \param carrier its socket
     * \param cpu the host's
     * \param logs packets under way in both directions
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

    /// What came from the host.
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
    CpuThread m_writing; //!< of both directions, if they share one
    CpuThread m_reading;
    PacketServer m_device;
    InnerCounters m_inner;
    bool m_isDecapsulating{false}; //!< the CPU has a packet that was read
};

/// A tunnel that carries the packets of two hosts in one TCP connection between them.
class StreamTunnel final : public PacketTunnel
{
  public:
    /**
     * \param spec the tunnel; outlives it
     * \param clientSocket the carrier's end that opens it
     * \param serverSocket its other end
     * \param client CPU of the one host
     * \param server CPU of the other
     */
    StreamTunnel(const StreamTunnelSpec& spec,
                 TcpEndpoint& clientSocket,
                 TcpEndpoint& serverSocket,
                 Cpu& client,
                 Cpu& server);

    /// As MessageStream::SetWatcher(), of what one end sends.
    void SetWatcher(End sender, MessageWatcher<TunnelledPacket>* watcher)
    {
        m_ends[sender].SetWatcher(watcher);
    }

    /// Entrance of one end's packets.
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
    PerEnd<TcpEndpoint&> m_sockets;
    PacketLogs m_logs;
    PerEnd<StreamTunnelEnd> m_ends;
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_TUNNEL_H
