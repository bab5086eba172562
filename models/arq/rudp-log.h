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

/// What a datagram of RUDP is: Packet::datagramMessage says so.
enum class RudpMessage : uint16_t
{
    DATA,  //!< Packet::segment: its number
    ACKS,  //!< index of the list in the sender's log
    CLOSE, //!< number of packets before it
    PING,  //!< number of the ping
    REPLY  //!< number of the ping that it answers
};

/**
 * Lists of what arrived, as one end of a connection has sent them: they stay here, packets under
 * way only bear their numbers. Old ones are forgotten as if they were lost.
 */
class RudpLog
{
  public:
    /// What a list says.
    struct List
    {
        uint64_t first{0}; //!< its first number's place in the log
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

    /// A list; null: it was forgotten.
    const List* Find(uint32_t number) const
    {
        uint32_t index = number - m_firstList;
        return index < m_lists.Size() ? &m_lists[index] : nullptr;
    }

    /// A number of a list. \param index from 0
    uint32_t AckOf(const List& list, uint32_t index) const
    {
        return m_acks[static_cast<size_t>(list.first - m_firstAck) + index];
    }

    /// The list of that number has arrived: forget those that left long before it.
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
    /// Lists that may be overtaken by one and still arrive.
    static constexpr int32_t KEPT = 4096;

    Fifo<List> m_lists;
    Fifo<uint32_t> m_acks;
    uint32_t m_firstList{0}; //!< number of the first in m_lists
    uint64_t m_firstAck{0};  //!< place of the first in m_acks
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_LOG_H
