/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_HOPS_H
#define TUNNELCC_RELAY_HOPS_H

#include "experiment/relay-builder.h"
#include "experiment/world.h"

#include <deque>

namespace tunnelcc
{

/// What crosses the hops of a world's first tunnel. \pre it is a relay tunnel
inline std::deque<RelayBuilder::Hop>&
HopsOf(World& world)
{
    return dynamic_cast<RelayBuilder&>(*world.Tunnels().front()).Hops();
}

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_HOPS_H
