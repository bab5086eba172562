/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CLOCKED_PATH_H
#define TUNNELCC_CLOCKED_PATH_H

#include "link.h"
#include "packet-device.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A link and a constant delay, for receivers that can take packets ahead of simulated time. They
 * get each packet when it is sent, with the time at which it will arrive.
 */
class ClockedPath final : public PacketDevice
{
  public:
    /// \param link which nothing else uses, because packets are sent late
    /// \param delay behind the link, ns
    ClockedPath(Link& link, int64_t delay)
        : m_link(link),
          m_delay(delay)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        int64_t departure = m_link.Enqueue(now, ipBytes);
        if (departure == Link::DROPPED)
        {
            return;
        }
        Packet arriving = packet;
        if (packet.isEct && m_link.MarkLatest())
        {
            arriving.isCe = true;
        }
        packet.sink->Receive(departure + m_delay, arriving, extras);
    }

  private:
    Link& m_link;
    const int64_t m_delay;
};

} // namespace tunnelcc

#endif // TUNNELCC_CLOCKED_PATH_H
