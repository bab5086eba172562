/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEGMENT_LIST_H
#define TUNNELCC_SEGMENT_LIST_H

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Neighbours of an element in a list of ring slots.
struct SegmentLinks
{
    static constexpr uint32_t NONE = UINT32_MAX;

    uint32_t before{NONE};
    uint32_t after{NONE};
};

/**
 * A linked list of slots of a ring, with its links in the slots: adding and removing take O(1).
 *
 * \tparam Slot a slot of the ring
 * \tparam Links the member of a slot that has the links of this list
 */
template <class Slot, SegmentLinks Slot::* Links>
class SegmentList
{
  public:
    static constexpr uint32_t NONE = SegmentLinks::NONE;

    /// The first slot; NONE: there is none.
    uint32_t First() const
    {
        return m_first;
    }

    /// The one after \p slot; NONE: there is none.
    static uint32_t After(const std::vector<Slot>& ring, uint32_t slot)
    {
        return (ring[slot].*Links).after;
    }

    void PushBack(std::vector<Slot>& ring, uint32_t slot)
    {
        ring[slot].*Links = {m_last, NONE};
        (m_last == NONE ? m_first : (ring[m_last].*Links).after) = slot;
        m_last = slot;
    }

    void Remove(std::vector<Slot>& ring, uint32_t slot)
    {
        const SegmentLinks links = ring[slot].*Links;
        (links.before == NONE ? m_first : (ring[links.before].*Links).after) = links.after;
        (links.after == NONE ? m_last : (ring[links.after].*Links).before) = links.before;
    }

  private:
    uint32_t m_first{NONE};
    uint32_t m_last{NONE};
};

} // namespace tunnelcc

#endif // TUNNELCC_SEGMENT_LIST_H
