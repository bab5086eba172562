/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UDP_SOCKET_H
#define TUNNELCC_UDP_SOCKET_H

#include "host/cpu.h"
#include "packet-backlog.h"
#include "path/packet-device.h"
#include "path/path.h"
#include "spec/tunnel-spec.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace tunnelcc
{

/**
 * The UDP socket in front of a program that spends CPU time on each datagram. What it has not read
 * yet is in the socket's receive buffer, and counts there as Linux counts it: a datagram is dropped
 * if those before it have used up the buffer (__udp_enqueue_schedule_skb()). The room of one that
 * was read is given back once a quarter of the buffer was, or once all are read that waited when
 * the program last found none (udp_rmem_release()).
 */
class UdpSocket final : public PacketSink, private PacketHandler, private CpuUser
{
  public:
    /**
     * \param spec its buffer, and what reading costs
     * \param cpu the CPU of the host
     * \param header IP bytes around a shard, if there is FEC
     */
    UdpSocket(const UdpSocketSpec& spec, Cpu& cpu, uint32_t header)
        : m_spec(spec),
          m_header(header),
          m_thread(cpu)
    {
    }

    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;

    /// What a datagram of so many IP bytes takes of the buffer (SKB_TRUESIZE() of Linux 6.18):
    /// skb_small_head_cache has 704 bytes, kmalloc() 1024, 2048, …, and struct sk_buff 256. In it
    /// are Ethernet's header, room before it (NET_SKB_PAD) and struct skb_shared_info.
    static constexpr uint32_t TrueSize(uint32_t ipBytes)
    {
        constexpr uint32_t SKB = 256;
        constexpr uint32_t SMALL_HEAD = 704;
        constexpr uint32_t AROUND = 14 + 64 + 320;
        const uint32_t head = ipBytes + AROUND;
        return SKB + (head <= SMALL_HEAD ? SMALL_HEAD : std::bit_ceil(head));
    }

    /// Who reads. There is one: the sessions of RUDP, whose datagrams have several, have no socket.
    void SetReader(PacketSink& reader)
    {
        m_reader = &reader;
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        const uint32_t ipBytes =
            packet.kind == PacketKind::FEC ? packet.shardBytes + m_header : packet.datagramBytes;
        if (m_used > m_spec.buffer)
        {
            ++m_drops;
            return;
        }
        m_used += TrueSize(ipBytes);
        ++m_fresh;
        m_maxUsed = std::max(m_maxUsed, m_used);
        m_waiting.Push(packet, ipBytes, extras, *this);
        if (!m_isReading)
        {
            ReadNext(now);
        }
    }

    const PacketSink* StandsFor() const override
    {
        return m_reader;
    }

    /// Datagrams that found the buffer full (UdpRcvbufErrors), since the simulation began.
    uint64_t Drops() const
    {
        return m_drops;
    }

    /// Most bytes of the buffer in use.
    uint64_t MaxUsed() const
    {
        return m_maxUsed;
    }

  private:
    /// The program takes the first datagram out of the buffer, and computes.
    void ReadNext(int64_t now)
    {
        m_isReading = !m_waiting.IsEmpty();
        if (m_isReading)
        {
            const uint32_t ipBytes = m_waiting.Front().ipBytes;
            if (m_readable == 0)
            {
                m_readable = std::exchange(m_fresh, 0);
            }
            --m_readable;
            m_unreleased += TrueSize(ipBytes);
            if (m_unreleased >= m_spec.buffer / 4 || m_readable == 0)
            {
                m_used -= std::exchange(m_unreleased, 0);
            }
            m_thread.Submit(now, m_spec.read.perPacket + m_spec.read.perByte * ipBytes, *this);
        }
    }

    void OnComputed(int64_t now) override
    {
        m_waiting.HandOver(now);
        ReadNext(now);
    }

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t /* ipBytes */,
                   const PacketExtras* extras) override
    {
        m_reader->Receive(now, packet, extras);
    }

    const UdpSocketSpec m_spec;
    const uint32_t m_header;
    CpuThread m_thread;
    PacketSink* m_reader{nullptr};
    PacketBacklog m_waiting;  //!< the first is the one in work
    uint64_t m_used{0};       //!< bytes of the buffer
    uint64_t m_unreleased{0}; //!< of these, of datagrams that were read
    uint32_t m_readable{0};   //!< that wait in the program's own list (reader_queue)
    uint32_t m_fresh{0};      //!< that wait behind it (sk_receive_queue)
    uint64_t m_maxUsed{0};
    uint64_t m_drops{0};
    bool m_isReading{false};
};

/// Sends datagrams into the socket in front of their receiver.
class ToUdpSocket final : public PacketDevice
{
  public:
    /// \param onward to the host with the socket \param socket outlives this
    ToUdpSocket(const Channel& onward, UdpSocket& socket)
        : m_onward(onward),
          m_socket(socket)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        Packet sent = packet;
        m_socket.SetReader(*packet.sink);
        sent.sink = &m_socket;
        m_onward.Send(now, sent, ipBytes, extras);
    }

    MtuSource* GetMtuSource() override
    {
        return m_onward.GetMtuSource();
    }

  private:
    Channel m_onward;
    UdpSocket& m_socket;
};

} // namespace tunnelcc

#endif // TUNNELCC_UDP_SOCKET_H
