/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NESTED_PACKETS_H
#define TUNNELCC_NESTED_PACKETS_H

#include "event/fifo.h"
#include "path/packet-device.h"
#include "path/path.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * The packets that one end of a tunnel sends through another tunnel. To that one they are
 * datagrams, whatever they are here: each takes a number with it, under which the packet itself
 * waits.
 */
class NestedPackets final : public PacketDevice, public PacketSink
{
  public:
    NestedPackets()
        : m_peer(this)
    {
    }

    /// Set what takes the datagrams. Call it once, before anything is sent.
    /// \param peer whom they are for, if something stands in front of this; null: nothing does
    void SetOnward(const Channel& onward, PacketSink* peer = nullptr)
    {
        m_onward.emplace(onward);
        m_peer = peer ? peer : this;
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        m_waiting.Push({packet, packet.HasExtras() ? *extras : PacketExtras{}});
        if (m_waiting.Size() > MOST)
        {
            m_waiting.Pop();
            ++m_first;
        }
        Packet datagram{};
        datagram.kind = PacketKind::DATAGRAM;
        datagram.sink = m_peer;
        datagram.segment = m_first + static_cast<uint32_t>(m_waiting.Size()) - 1;
        datagram.datagramBytes = ipBytes;
        datagram.isEct = packet.isEct;
        datagram.isL4s = packet.isL4s;
        datagram.isCe = packet.isCe;
        m_onward->Send(now, datagram, ipBytes);
    }

    /// A datagram leaves the other tunnel.
    void Receive(int64_t now, const Packet& datagram, const PacketExtras* /* extras */) override
    {
        const uint32_t place = datagram.segment - m_first;
        if (place >= m_waiting.Size())
        {
            return; // a copy, or later than any tunnel delivers
        }
        Waiting arrived = m_waiting[place];
        arrived.packet.isCe |= datagram.isCe;
        // What is far behind was lost.
        while (m_waiting.Size() > 0 && m_first + REORDERED < datagram.segment)
        {
            m_waiting.Pop();
            ++m_first;
        }
        arrived.packet.sink->Receive(now, arrived.packet, &arrived.extras);
    }

    /// Tell of a packet that waits under a datagram's number, if it does.
    template <class Told>
    void Visit(const Packet& datagram, Told&& told) const
    {
        const uint32_t place = datagram.segment - m_first;
        if (place < m_waiting.Size())
        {
            told(m_waiting[place].packet, m_waiting[place].extras);
        }
    }

  private:
    static constexpr uint32_t MOST = 1 << 18;      //!< in flight
    static constexpr uint32_t REORDERED = 1 << 12; //!< how far a datagram may be behind others

    struct Waiting
    {
        Packet packet;
        PacketExtras extras;
    };

    std::optional<Channel> m_onward;
    PacketSink* m_peer;
    Fifo<Waiting> m_waiting;
    uint32_t m_first{0}; //!< number of the first of them, modulo 2^32
};

} // namespace tunnelcc

#endif // TUNNELCC_NESTED_PACKETS_H
