/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_WATCHER_H
#define TUNNELCC_LINK_WATCHER_H

#include <cstdint>

namespace tunnelcc
{

/**
 * Told what becomes of the packets that were offered to a queued link. A packet is known by its
 * Packet::time, which says nothing else as long as the packet waits.
 */
class LinkWatcher
{
  public:
    virtual ~LinkWatcher() = default;

    /// The queue or the policer dropped a packet, or it was lost at random.
    virtual void OnLost(int64_t packet) = 0;

    /// The queue marked a packet.
    virtual void OnMarked(int64_t packet) = 0;

    /// A packet is on its way behind the link.
    virtual void OnServed(int64_t packet) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_WATCHER_H
