/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ROUTE_H
#define TUNNELCC_ROUTE_H

#include "packet-device.h"
#include "path.h"

#include <cstdint>

namespace tunnelcc
{

/// A router on the way from one sender to one receiver. It takes packets from one link and sends
/// them into the next.
class RouteHop final : public PacketSink
{
  public:
    /**
     * \param out the next link
     * \param next the router behind that link; null if the receiver is there
     */
    RouteHop(const Channel& out, RouteHop* next)
        : m_out(out),
          m_next(next)
    {
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override
    {
        Packet onward = packet;
        onward.isInTransit = m_next != nullptr;
        onward.sink = m_next ? m_next : extras->sink;
        m_out.Send(now, onward, extras->ipBytes, extras);
    }

  private:
    Channel m_out;
    RouteHop* m_next;
};

/// The entry of a sender's packets into a route of several links.
class RouteEntry final : public PacketDevice
{
  public:
    /**
     * \param out the first link
     * \param next the router behind it
     */
    RouteEntry(const Channel& out, RouteHop& next)
        : m_out(out),
          m_next(next)
    {
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override
    {
        PacketExtras known = packet.HasExtras() ? *extras : PacketExtras{};
        known.ipBytes = ipBytes;
        known.sink = packet.sink;
        Packet onward = packet;
        onward.isInTransit = true;
        onward.sink = &m_next;
        m_out.Send(now, onward, ipBytes, &known);
    }

  private:
    Channel m_out;
    RouteHop& m_next;
};

} // namespace tunnelcc

#endif // TUNNELCC_ROUTE_H
