/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_WATCHER_H
#define TUNNELCC_LINK_WATCHER_H

#include <cstdint>

namespace tunnelcc
{

/// What becomes of a packet that is offered to a link.
enum class PacketFate : uint8_t
{
    PASSED,  //!< it is on its way behind the link
    MARKED,  //!< by the queue
    DROPPED, //!< by the queue
    POLICED,
    LOST //!< at random
};

/**
 * Told what becomes of the packets that were offered to a queued link. A packet is known by its
 * Packet::time, which says nothing else as long as the packet waits.
 */
class LinkWatcher
{
  public:
    virtual ~LinkWatcher() = default;

    /// \param fate of the packet: the last, but for MARKED
    virtual void OnFate(int64_t packet, PacketFate fate) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_WATCHER_H
