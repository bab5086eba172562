/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_TUNNEL_H
#define TUNNELCC_STREAM_TUNNEL_H

#include "event/fifo.h"
#include "handshake.h"
#include "layer.h"
#include "packet-server.h"
#include "packet-tunnel.h"
#include "path/packet-device.h"
#include "transport/endpoint.h"

#include <vector>

namespace tunnelcc
{

/// The packets in one direction of a carrier's stream: one end appends, the other takes. Stands for
/// what that one would read out of the bytes, which have no contents.
class PacketLog
{
  public:
    /// A packet in the stream.
    struct Entry
    {
        Packet packet;
        uint64_t end; //!< stream offset just past it
        uint32_t ipBytes;
    };

    /// Append a packet. \param extras what goes with it, if Packet::HasExtras()
    void Push(const Entry& entry, const PacketExtras* extras);

    bool IsEmpty() const
    {
        return m_entries.IsEmpty();
    }

    /// The first packet, to look at.
    const Entry& Front()
    {
        return m_entries.Front();
    }

    /// Take the first packet. \returns what goes with it, or null; valid until the next Pop()
    const PacketExtras* Pop();

  private:
    Fifo<Entry> m_entries;
    Fifo<PacketExtras> m_extras; //!< of those packets that have any, in the same order
    PacketExtras m_latest{};
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
                              private SocketUser,
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
                    TcpEndpoint& carrier,
                    Cpu& cpu,
                    PerEnd<PacketLog>& logs);

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

    /// The queue in front of the program.
    const PacketServer& Queue() const
    {
        return m_device;
    }

  private:
    void OnConnected(int64_t now) override;
    void OnReadable(int64_t now) override;
    void OnWritable(int64_t now) override;
    bool ShakeHands(int64_t now);

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t ipBytes,
                   const PacketExtras* extras) override;
    void Frame(uint32_t ipBytes);
    bool WriteOn(int64_t now);

    void ReadOn(int64_t now);
    bool ReadFrame(int64_t now);
    void Deliver(int64_t now);
    void OnComputed(int64_t now) override;

    const StreamTunnelSpec& m_spec;
    TcpEndpoint& m_carrier;
    Handshake m_handshake;
    LayerStack m_layers;
    PacketLog& m_out;
    PacketLog& m_in;
    CpuThread m_writing; //!< of both directions, if they share one
    CpuThread m_reading;
    PacketServer m_device;
    std::vector<uint32_t> m_writes; //!< of the packet being written: bytes left of each write
    size_t m_write{0};              //!< which of them is next
    uint64_t m_framed{0};           //!< stream offset after the latest packet framed
    bool m_isOpen{false};           //!< the handshake is over
    bool m_isDecapsulating{false};  //!< the CPU has a packet that was read
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

    /// Where one end's packets enter.
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

    OuterCounters Outer(End sender) const override;

  private:
    PerEnd<TcpEndpoint&> m_sockets;
    PerEnd<PacketLog> m_logs; //!< of what each end sends
    PerEnd<StreamTunnelEnd> m_ends;
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_TUNNEL_H
