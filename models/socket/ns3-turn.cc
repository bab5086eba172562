/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-turn.h"

#include "interop/ns3-simulator.h"

#include "ns3/abort.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

namespace tunnelcc
{

namespace
{

/// How the event loop of the sockets follows ns-3's simulator.
struct Following
{
    bool hasBegun{false};     //!< there was a turn in this simulation
    bool isFollowing{false};  //!< the simulator is not the loop itself
    uint32_t depth{0};        //!< turns, one inside the other
    int64_t armed{INT64_MAX}; //!< when the event of ns-3 comes, ns; INT64_MAX: there is none
};

Following g_following;

void
End()
{
    if (g_following.isFollowing)
    {
        Ns3Simulator::Loop().Reset();
    }
    g_following = {};
}

void
Begin()
{
    const auto simulator = ns3::Simulator::GetImplementation();
    g_following.hasBegun = true;
    g_following.isFollowing = !ns3::DynamicCast<Ns3Simulator>(simulator);
    ns3::Simulator::ScheduleDestroy(&End);
    if (g_following.isFollowing)
    {
        NS_ABORT_MSG_IF(ns3::Time::GetResolution() < ns3::Time::NS,
                        "tunnelcc's sockets need a resolution of ns3::Time of a nanosecond or "
                        "finer");
        Ns3Simulator::Loop().Reset();
    }
}

void
OnEvent(int64_t time)
{
    if (time != g_following.armed)
    {
        return; // an earlier event has taken its place
    }
    g_following.armed = INT64_MAX;
    Ns3Turn turn;
    Ns3Simulator::Loop().RunTo(turn.Now());
}

} // namespace

Ns3Turn::Ns3Turn()
{
    if (!g_following.hasBegun)
    {
        Begin();
    }
    m_now = ns3::Simulator::Now().GetNanoSeconds();
    if (g_following.depth++ == 0 && g_following.isFollowing)
    {
        Ns3Simulator::Loop().Follow(m_now);
    }
}

Ns3Turn::~Ns3Turn()
{
    if (--g_following.depth > 0 || !g_following.isFollowing)
    {
        return;
    }
    const int64_t next = Ns3Simulator::Loop().NextTime();
    if (next < g_following.armed)
    {
        g_following.armed = next;
        ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                            ns3::NanoSeconds(next - m_now),
                                            &OnEvent,
                                            next);
    }
}

} // namespace tunnelcc
