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
 * Puts packets together that came in fragments, in any order (RFC 791, section 3.2).
 *
 * Of a packet's fragments all but the last are of kind FRAGMENT; they bear its number and
 * timestamps (or what an ACK or a shard has in their place), which stand for the IP identification.
 * A packet of which a fragment was lost is forgotten once a later one takes its place, which stands
 * for the reassembly timer.
 */
class Reassembler
{
  public:
    /// A packet and what goes with it.
    struct Whole
    {
        Packet packet;
        PacketExtras extras;
    };

    /**
     * A fragment arrived.
     * \param fragment FRAGMENT, or the packet itself as the last
     * \param extras what goes with it, if Packet::HasExtras()
     * \param fragments how many FRAGMENTs the packet has
     * \returns the packet if it is complete now, else null; valid until the next call
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
    static constexpr uint32_t CAPACITY = 64; //!< packets; a power of two

    struct Partial
    {
        Whole whole{};
        Packet key{};
        uint32_t fragments{0}; //!< FRAGMENTs that came
        uint32_t needed{0};    //!< and how many there are
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
