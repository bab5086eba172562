/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REASSEMBLER_H
#define TUNNELCC_REASSEMBLER_H

#include "path/packet.h"

#include <array>
#include <cstdint>

namespace tunnelcc
{

/**
 * Puts fragments together to packets. They may come in any order (RFC 791, section 3.2).
 *
 * All fragments of a packet but the last are of kind FRAGMENT. They have the number and timestamps
 * of the packet (or the members that an ACK or a shard has in their place), which stand for the IP
 * identification. A packet with a lost fragment is dropped when a later packet takes its place,
 * which stands for the reassembly timer.
 */
class Reassembler
{
  public:
    /// A packet and its extras.
    struct Whole
    {
        Packet packet;
        PacketExtras extras;
    };

    /**
     * A fragment arrived.
     * \param fragment a FRAGMENT, or the packet itself as the last one
     * \param extras its extras, if Packet::HasExtras()
     * \param fragments number of FRAGMENTs of the packet
     * \returns the packet if it is complete now, otherwise null; valid until the next call
     */
    const Whole* Add(const Packet& fragment, const PacketExtras* extras, uint32_t fragments)
    {
        Partial& partial = Find(fragment);
        if (fragment.kind == PacketKind::FRAGMENT)
        {
            ++partial.fragments;
        }
        else
        {
            partial.hasLast = true;
            partial.needed = fragments;
            partial.whole.packet = fragment;
            if (fragment.HasExtras())
            {
                partial.whole.extras = *extras;
            }
        }
        if (!partial.hasLast || partial.fragments < partial.needed)
        {
            return nullptr;
        }
        partial.isUsed = false;
        return &partial.whole;
    }

  private:
    static constexpr uint32_t CAPACITY = 64; //!< number of packets; a power of two

    struct Partial
    {
        Whole whole{};
        Packet key{};
        uint32_t fragments{0}; //!< FRAGMENTs that arrived
        uint32_t needed{0};    //!< FRAGMENTs that the packet has
        bool hasLast{false};
        bool isUsed{false};
    };

    static bool IsSame(const Packet& a, const Packet& b)
    {
        return a.segment == b.segment && a.tsVal == b.tsVal && a.tsEcr == b.tsEcr;
    }

    /// The packet that a fragment belongs to.
    Partial& Find(const Packet& fragment)
    {
        Partial& partial = m_partials[fragment.segment % CAPACITY];
        if (!partial.isUsed || !IsSame(partial.key, fragment))
        {
            partial.key = fragment;
            partial.fragments = 0;
            partial.hasLast = false;
            partial.isUsed = true;
        }
        return partial;
    }

    std::array<Partial, CAPACITY> m_partials{};
};

} // namespace tunnelcc

#endif // TUNNELCC_REASSEMBLER_H
