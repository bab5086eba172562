/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "leg-ends.h"

#include "event/time-units.h"
#include "path/path-mtu.h"

namespace tunnelcc
{

int64_t
DrawTime(RandomStream& draws, int64_t limit)
{
    return static_cast<int64_t>(draws.RandU01() * static_cast<double>(limit));
}

LegEnds<KcpEndpoint>
MakeKcpEnds(EventLoop& loop,
            const KcpSpec& spec,
            const PerEnd<Channel>& channels,
            const MakerForEnd<RandomStream>& clocks)
{
    auto make = [&](End end) {
        RandomStream draws = clocks(end);
        KcpPhase phase;
        phase.clock = DrawTime(draws, MS);
        phase.flush = DrawTime(draws, spec.interval);
        return std::make_unique<KcpEndpoint>(loop, spec, end, channels[end], phase);
    };
    LegEnds<KcpEndpoint> ends = MakePerEnd(End::CLIENT, make);
    KcpEndpoint::Join(*ends.client, *ends.server);
    return ends;
}

LegEnds<RudpEndpoint>
MakeRudpEnds(EventLoop& loop,
             const RudpSpec& spec,
             LegEnds<RudpSession>& sessions,
             const PerEnd<Channel>& channels,
             const MakerForEnd<RandomStream>& clocks)
{
    auto makeSession = [&](End end) {
        RandomStream draws = clocks(end);
        RudpPhase phase;
        phase.clock = DrawTime(draws, MS);
        phase.pings = DrawTime(draws, spec.pings.interval);
        phase.acks = DrawTime(draws, spec.acks.interval);
        return std::make_unique<RudpSession>(loop, spec, end, channels[end], phase, draws);
    };
    if (!sessions.client)
    {
        sessions = MakePerEnd(End::CLIENT, makeSession);
        RudpSession::Join(*sessions.client, *sessions.server);
    }
    auto makeEndpoint = [&](End end) {
        return std::make_unique<RudpEndpoint>(spec, *sessions[end], channels[end]);
    };
    LegEnds<RudpEndpoint> ends = MakePerEnd(End::CLIENT, makeEndpoint);
    RudpEndpoint::Join(*ends.client, *ends.server);
    return ends;
}

Channel
UnfragmentedChannel(Channel channel)
{
    if (MtuSource* source = channel.GetMtuSource())
    {
        source->SetDontFragment(DontFragment::SET);
    }
    return channel;
}

LegEnds<QuicConnection>
MakeQuicEnds(EventLoop& loop,
             const QuicSpec& spec,
             const PerEnd<Channel>& channels,
             const MakerForEnd<std::unique_ptr<CongestionControl>>& makeAlgorithm,
             const MakerForEnd<RandomStream>& threads)
{
    auto make = [&](End end) {
        return std::make_unique<QuicConnection>(loop,
                                                spec,
                                                end,
                                                UnfragmentedChannel(channels[end]),
                                                makeAlgorithm(end),
                                                threads(end));
    };
    LegEnds<QuicConnection> ends = MakePerEnd(End::CLIENT, make);
    QuicConnection::Join(*ends.client, *ends.server);
    return ends;
}

} // namespace tunnelcc
