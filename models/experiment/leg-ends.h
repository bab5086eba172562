/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_ENDS_H
#define TUNNELCC_LEG_ENDS_H

#include "arq/kcp-endpoint.h"
#include "arq/rudp-endpoint.h"
#include "event/random-stream.h"
#include "quic/quic-connection.h"
#include "spec/end.h"

#include <functional>
#include <memory>

namespace tunnelcc
{

/// Both ends of a connection of one protocol.
template <class Endpoint>
using LegEnds = PerEnd<std::unique_ptr<Endpoint>>;

/// What makes something for an end.
template <class T>
using MakerForEnd = std::function<T(End end)>;

/// A time below \p limit, ns.
int64_t DrawTime(RandomStream& draws, int64_t limit);

/// The ends of a connection of KCP. \param channels that they send into
/// \param clocks draws of where an end's clocks are: two ends in step would see less delay than
/// real ones do
LegEnds<KcpEndpoint> MakeKcpEnds(EventLoop& loop,
                                 const KcpSpec& spec,
                                 const PerEnd<Channel>& channels,
                                 const MakerForEnd<RandomStream>& clocks);

/// The ends of a connection of RUDP. \param sessions that connections share; the first makes them
LegEnds<RudpEndpoint> MakeRudpEnds(EventLoop& loop,
                                   const RudpSpec& spec,
                                   LegEnds<RudpSession>& sessions,
                                   const PerEnd<Channel>& channels,
                                   const MakerForEnd<RandomStream>& clocks);

/// The channel, which no longer fragments what is sent into it (RFC 9000, section 14).
Channel UnfragmentedChannel(Channel channel);

/// The ends of a connection of QUIC. \param threads draws of when an end's threads run
LegEnds<QuicConnection> MakeQuicEnds(
    EventLoop& loop,
    const QuicSpec& spec,
    const PerEnd<Channel>& channels,
    const MakerForEnd<std::unique_ptr<CongestionControl>>& makeAlgorithm,
    const MakerForEnd<RandomStream>& threads);

} // namespace tunnelcc

#endif // TUNNELCC_LEG_ENDS_H
