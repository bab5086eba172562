/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_LOG_H
#define TUNNELCC_RUDP_LOG_H

#include "event/fifo.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tunnelcc
{

/// Kind of a datagram of RUDP, in Packet::datagramMessage. The comments tell its number.
enum class RudpMessage : uint16_t
{
    DATA,  //!< data; number of the packet (Packet::segment)
    ACKS,  //!< a list of ACKs; its index in the sender's log
    CLOSE, //!< end of the stream; number of packets before it
    PING,  //!< a ping; its number
    REPLY  //!< an answer; number of the ping that it answers
};

/**
 * Lists of ACKs that one end of a connection has sent. They are stored here: a packet on the path
 * has the list's number only. Old lists are removed; if one arrives after all, it counts as lost.
 */
class RudpLog
{
  public:
    /// A list of ACKs.
    struct List
    {
        uint64_t first{0}; //!< place of its first packet number in the log
        uint32_t acks{0};
        uint32_t read{0}; //!< packets that the reader has taken
    };

    /// Append a list. \returns its number
    uint32_t Add(std::span<const uint32_t> acks, uint32_t read)
    {
        m_lists.Push({m_firstAck + m_acks.Size(), static_cast<uint32_t>(acks.size()), read});
        for (uint32_t number : acks)
        {
            m_acks.Push(number);
        }
        return m_firstList + static_cast<uint32_t>(m_lists.Size()) - 1;
    }

    /// A list by its number; null: it was removed.
    const List* Find(uint32_t number) const
    {
        uint32_t index = number - m_firstList;
        return index < m_lists.Size() ? &m_lists[index] : nullptr;
    }

    /// A packet number of a list. \param index from 0
    uint32_t AckOf(const List& list, uint32_t index) const
    {
        return m_acks[static_cast<size_t>(list.first - m_firstAck) + index];
    }

    /// The list of that number has arrived: remove those that were sent long before it.
    void OnArrival(uint32_t number)
    {
        while (static_cast<int32_t>(number - m_firstList) > KEPT)
        {
            m_firstAck += m_lists.Front().acks;
            m_acks.Drop(m_lists.Front().acks);
            m_lists.Pop();
            ++m_firstList;
        }
    }

  private:
    /// A list is kept until one arrives that was sent so many later.
    static constexpr int32_t KEPT = 4096;

    Fifo<List> m_lists;
    Fifo<uint32_t> m_acks;
    uint32_t m_firstList{0}; //!< number of the first in m_lists
    uint64_t m_firstAck{0};  //!< place of the first in m_acks
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_LOG_H
