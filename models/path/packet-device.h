/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_DEVICE_H
#define TUNNELCC_PACKET_DEVICE_H

#include "packet.h"

namespace tunnelcc
{

class MtuSource;

/// A network interface other than that of the path, such as a tunnel's. It takes packets from a
/// host.
class PacketDevice
{
  public:
    virtual ~PacketDevice() = default;

    /// As Channel::Send().
    virtual void Send(int64_t now,
                      const Packet& packet,
                      uint32_t ipBytes,
                      const PacketExtras* extras) = 0;

    /// What the host knows of the MTU behind it; null if nothing there has one of its own.
    virtual MtuSource* GetMtuSource()
    {
        return nullptr;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_DEVICE_H
