/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SENT_LOG_H
#define TUNNELCC_SENT_LOG_H

#include "fifo.h"

#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/// What each group in a SentLog has.
struct SentGroup
{
    uint64_t firstItem{0}; //!< place of its first item in the log
    uint32_t items{0};
};

/**
 * Groups of items that one end has sent, such as the segments of a datagram. Their contents stay
 * here: a packet on the path has its group's number only. Old groups are removed; what arrives of
 * them after all counts as lost.
 *
 * \tparam Group derives from SentGroup
 */
template <class Group, class Item>
class SentLog
{
  public:
    /// Begin a group. \returns it; valid until the next one begins
    Group& Open(const Group& group)
    {
        Group& opened = m_groups.Push(group);
        opened.firstItem = m_firstItem + m_items.Size();
        return opened;
    }

    /// Append an item, which the caller fills in, to the newest group.
    Item& Append(Group& newest)
    {
        ++newest.items;
        return m_items.Append();
    }

    /// Number of the newest group. \pre there is a group
    uint64_t Newest() const
    {
        return m_firstGroup + m_groups.Size() - 1;
    }

    /// A group by the low 32 bits of its number; null: it was removed.
    const Group* Find(uint32_t low) const
    {
        const uint32_t index = low - static_cast<uint32_t>(m_firstGroup);
        return index < m_groups.Size() ? &m_groups[index] : nullptr;
    }

    Group* Find(uint32_t low)
    {
        const uint32_t index = low - static_cast<uint32_t>(m_firstGroup);
        return index < m_groups.Size() ? &m_groups[index] : nullptr;
    }

    /// All bits of the number of a group in the log. \param low 32 bits of it
    uint64_t NumberOf(uint32_t low) const
    {
        return m_firstGroup + (low - static_cast<uint32_t>(m_firstGroup));
    }

    /// An item of a group. \param index from 0
    const Item& ItemOf(const Group& group, uint32_t index) const
    {
        return m_items[static_cast<size_t>(group.firstItem - m_firstItem) + index];
    }

    Item& ItemOf(const Group& group, uint32_t index)
    {
        return m_items[static_cast<size_t>(group.firstItem - m_firstItem) + index];
    }

    /// Something of a group has arrived: remove those that were sent long before it. \param low 32
    /// bits of its number
    void OnArrival(uint32_t low)
    {
        while (static_cast<int32_t>(low - static_cast<uint32_t>(m_firstGroup)) > KEPT)
        {
            RemoveOldest();
        }
    }

  protected:
    const Fifo<Group>& Groups() const
    {
        return m_groups;
    }

    /// Number of the oldest group in the log.
    uint64_t Oldest() const
    {
        return m_firstGroup;
    }

    void RemoveOldest()
    {
        const uint32_t items = m_groups.Front().items;
        m_firstItem += items;
        m_items.Drop(items);
        m_groups.Pop();
        ++m_firstGroup;
    }

  private:
    /// A group is kept until one arrives that was sent so many later: more than FEC may rebuild.
    static constexpr int32_t KEPT = 4096;

    Fifo<Group> m_groups;
    Fifo<Item> m_items;
    uint64_t m_firstGroup{0}; //!< number of the first in m_groups
    uint64_t m_firstItem{0};  //!< number of the first in m_items
};

} // namespace tunnelcc

#endif // TUNNELCC_SENT_LOG_H
