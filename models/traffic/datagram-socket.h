/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_SOCKET_H
#define TUNNELCC_DATAGRAM_SOCKET_H

#include "path/packet.h"
#include "path/path.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// An application that gets datagrams from its socket.
class DatagramUser
{
  public:
    virtual ~DatagramUser() = default;

    /// \param now simulated time, ns
    virtual void OnDatagram(int64_t now, const Packet& packet) = 0;
};

/// When its application sent a datagram first, ns. A datagram carries 48 bits of that: 78 hours.
inline int64_t
SentAt(const Packet& datagram)
{
    return static_cast<int64_t>(static_cast<uint64_t>(datagram.datagramMessage) << 32 |
                                datagram.tsVal);
}

/// The UDP socket of an application, which has one peer.
class DatagramSocket final : public PacketSink
{
  public:
    /// \param header IP bytes of a datagram that are no payload
    explicit DatagramSocket(uint32_t header)
        : m_header(header)
    {
    }

    /// Let two sockets send to each other, unless a relay is between them.
    static void Join(DatagramSocket& one, DatagramSocket& other)
    {
        one.Connect(other);
        other.Connect(one);
    }

    /// \param peer receives what is sent
    void Connect(PacketSink& peer)
    {
        m_peer = &peer;
    }

    /// \param channel where its datagrams go
    void SetChannel(const Channel& channel)
    {
        m_channel.emplace(channel);
    }

    void SetReceiver(DatagramUser& user)
    {
        m_user = &user;
    }

    /**
     * Send a datagram.
     * \param now simulated time, ns
     * \param number of it in its flow; an answer has that of its request
     * \param sentAt when the flow's sender sent it, or its request, first, ns
     * \param ipBytes its size
     */
    void Send(int64_t now, uint32_t number, int64_t sentAt, uint32_t ipBytes)
    {
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.sink = m_peer;
        packet.segment = number;
        packet.datagramBytes = ipBytes;
        packet.tsVal = static_cast<uint32_t>(sentAt);
        packet.datagramMessage = static_cast<uint16_t>(static_cast<uint64_t>(sentAt) >> 32);
        ++m_datagrams;
        m_wireBytes += ipBytes;
        m_channel->Send(now, packet, ipBytes);
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
    {
        m_payloadBytes += packet.datagramBytes - m_header;
        m_user->OnDatagram(now, packet);
    }

    /// Datagrams sent.
    uint64_t Datagrams() const
    {
        return m_datagrams;
    }

    /// IP bytes sent.
    uint64_t WireBytes() const
    {
        return m_wireBytes;
    }

    /// Payload bytes received.
    uint64_t PayloadBytes() const
    {
        return m_payloadBytes;
    }

  private:
    const uint32_t m_header;
    std::optional<Channel> m_channel;
    PacketSink* m_peer{nullptr};
    DatagramUser* m_user{nullptr};
    uint64_t m_datagrams{0};
    uint64_t m_wireBytes{0};
    uint64_t m_payloadBytes{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_SOCKET_H
