/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_BACKLOG_H
#define TUNNELCC_PACKET_BACKLOG_H

#include "event/fifo.h"
#include "path/packet.h"
#include "program-queue.h"

#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/// The packets of a program that it has not passed on yet: the one that it handles, and those that
/// wait behind it.
class PacketBacklog
{
  public:
    struct Work
    {
        Packet packet;
        PacketHandler* handler; //!< receives the packet when the program is done with it
        uint32_t ipBytes;
    };

    bool IsEmpty() const
    {
        return m_work.IsEmpty();
    }

    size_t Size() const
    {
        return m_work.Size();
    }

    const Work& Front() const
    {
        return m_work.Front();
    }

    /// \param index 0 for the first packet
    const Work& operator[](size_t index) const
    {
        return m_work[index];
    }

    /**
     * Add a packet.
     * \param packet,ipBytes,extras,handler as of ProgramQueue::Enqueue()
     * \returns the packet; valid until the next one is added
     */
    Work& Push(const Packet& packet,
               uint32_t ipBytes,
               const PacketExtras* extras,
               PacketHandler& handler)
    {
        Work& work = m_work.Append();
        work.packet = packet;
        work.handler = &handler;
        work.ipBytes = ipBytes;
        if (packet.HasExtras())
        {
            m_extras.Push(*extras);
        }
        return work;
    }

    /// Hand over the first packet. \param done time at which the CPU was done with it, ns
    void HandOver(int64_t done)
    {
        Work& work = m_work.Front(); // stays: what follows from a packet comes back in later events
        const bool hasExtras = work.packet.HasExtras();
        work.handler->OnHandled(done,
                                work.packet,
                                work.ipBytes,
                                hasExtras ? &m_extras.Front() : nullptr);
        if (hasExtras)
        {
            m_extras.Pop();
        }
        m_work.Pop();
    }

  private:
    Fifo<Work> m_work;
    Fifo<PacketExtras> m_extras; //!< of the packets that have extras, in the same order
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_BACKLOG_H
