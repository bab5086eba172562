/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MPTCP_CONNECTION_H
#define TUNNELCC_MPTCP_CONNECTION_H

#include "leg.h"
#include "multipath/mptcp-endpoint.h"
#include "spec/end.h"

#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// A connection over several paths. Its subflows are legs.
struct MptcpConnection
{
    std::vector<Leg*> subflows;
    PerEnd<std::unique_ptr<MptcpEndpoint>> ends;
    std::deque<PerEnd<MappingLog>> mappings; //!< of each subflow, by the end that sends
};

/// Make a connection of TCP connections. \param tcp,multipath of all of them; outlive it
MptcpConnection JoinSubflows(EventLoop& loop,
                             const TcpSpec& tcp,
                             const MultipathSpec& multipath,
                             const std::vector<Leg*>& subflows);

} // namespace tunnelcc

#endif // TUNNELCC_MPTCP_CONNECTION_H
