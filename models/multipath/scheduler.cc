/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scheduler.h"

#include <algorithm>
#include <limits>

/**
 * \file
 * Schedulers of MPTCP. The default one is that of Linux 7.3 (net/mptcp/protocol.c,
 * mptcp_subflow_get_send()). The others fill windows, as those of multipath-tcp.org's Linux 0.95
 * did: a subflow takes no more than it can send at once, and the rest waits in the connection.
 * Lowest RTT is its default scheduler (mptcp_sched.c), round robin its mptcp_rr.c with a segment at
 * a time, BLEST from Ferlin, Alay, Mehani and Boreli, "BLEST: Blocking estimation-based MPTCP
 * scheduler", IFIP Networking 2016. The paper's lambda, a factor that it learns from blocking, is 1
 * here.
 */

namespace tunnelcc
{

bool
MultipathChooser::HasOther(const std::deque<Subflow>& subflows)
{
    return std::ranges::any_of(subflows,
                               [](const auto& it) { return it.IsUsable() && !it.IsBackup(); });
}

MultipathChooser::Choice
MultipathChooser::Choose(std::deque<Subflow>& subflows, const DataView& data)
{
    switch (m_scheduler)
    {
    case MultipathScheduler::LOWEST_RTT:
    case MultipathScheduler::BLEST:
        return ChooseByRtt(subflows, data);
    case MultipathScheduler::ROUND_ROBIN:
        return ChooseInTurn(subflows);
    default:
        return ChooseByQueue(subflows, data);
    }
}

/// The subflow that will have sent what waits in it first. Without room there, none.
MultipathChooser::Choice
MultipathChooser::ChooseByQueue(std::deque<Subflow>& subflows, const DataView& data)
{
    const bool hasOther = HasOther(subflows);
    Subflow* best = nullptr;
    double shortest = std::numeric_limits<double>::infinity();
    for (Subflow& it : subflows)
    {
        if (!it.IsUsable() || (it.IsBackup() && hasOther))
        {
            continue;
        }
        it.meanRate = it.meanRate > 0 ? it.meanRate : it.Rate();
        if (it.meanRate <= 0)
        {
            continue;
        }
        const double linger = static_cast<double>(it.Queued()) / it.meanRate;
        if (linger < shortest)
        {
            best = &it;
            shortest = linger;
        }
    }
    if (!best || !best->HasBufferRoom())
    {
        return {};
    }
    const uint64_t burst = std::min(BURST, data.window);
    if (burst > 0)
    {
        const auto queued = static_cast<double>(best->Queued());
        const auto added = static_cast<double>(burst);
        best->meanRate = (best->meanRate * queued + best->Rate() * added) / (queued + added);
    }
    return {best, burst};
}

MultipathChooser::Choice
MultipathChooser::ChooseByRtt(std::deque<Subflow>& subflows, const DataView& data)
{
    const bool hasOther = HasOther(subflows);
    Subflow* fastest = nullptr; // of all
    Subflow* best = nullptr;    // of those with room
    for (Subflow& it : subflows)
    {
        if (!it.IsUsable() || (it.IsBackup() && hasOther))
        {
            continue;
        }
        if (!fastest || it.Srtt() < fastest->Srtt())
        {
            fastest = &it;
        }
        if (it.WindowRoom() >= it.Tcp().GetSender().Mss() && (!best || it.Srtt() < best->Srtt()))
        {
            best = &it;
        }
    }
    if (!best)
    {
        return {};
    }
    if (m_scheduler == MultipathScheduler::BLEST && best != fastest && fastest->Srtt() > 0)
    {
        // What the faster one could send in the slower one's round trip, against what the
        // receiver's window has left for it.
        const SenderState& fast = fastest->Tcp().GetSender().State();
        const double rounds = static_cast<double>(best->Srtt()) / static_cast<double>(fast.srtt);
        const double could = fast.mss * (fast.cwnd + (rounds - 1) / 2) * rounds;
        const SenderState& slow = best->Tcp().GetSender().State();
        const double taken = slow.mss * (best->Tcp().GetSender().Board().InFlight() + 1.0);
        const double room = static_cast<double>(data.unacked + data.window) - taken;
        if (could > room)
        {
            return {};
        }
    }
    return {best, std::min(best->WindowRoom(), BURST)};
}

MultipathChooser::Choice
MultipathChooser::ChooseInTurn(std::deque<Subflow>& subflows)
{
    const bool hasOther = HasOther(subflows);
    for (size_t tried = 0; tried < subflows.size(); ++tried)
    {
        Subflow& it = subflows[m_turn];
        m_turn = (m_turn + 1) % subflows.size();
        const uint32_t segment = it.Tcp().GetSender().Mss();
        if (it.IsUsable() && !(it.IsBackup() && hasOther) && it.WindowRoom() >= segment)
        {
            return {&it, segment};
        }
    }
    return {};
}

} // namespace tunnelcc
