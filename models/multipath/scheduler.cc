/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scheduler.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

MultipathChooser::Choice
MultipathChooser::Choose(const std::vector<Subflow*>& subflows, const DataView& data)
{
    if (Kind() == MultipathScheduler::DEFAULT)
    {
        return ChooseByQueue(subflows, data);
    }
    Subflow* subflow = m_chooser.Choose(subflows, data);
    if (!subflow)
    {
        return {};
    }
    return {subflow,
            Kind() == MultipathScheduler::ROUND_ROBIN ? subflow->Tcp().GetSender().Mss()
                                                      : std::min(subflow->WindowRoom(), BURST)};
}

/// The subflow that will have sent what waits in it first. Without room there, none.
MultipathChooser::Choice
MultipathChooser::ChooseByQueue(const std::vector<Subflow*>& subflows, const DataView& data)
{
    const bool hasOther = PathChooser<Subflow>::HasOther(subflows);
    Subflow* best = nullptr;
    double shortest = std::numeric_limits<double>::infinity();
    for (Subflow* it : subflows)
    {
        if (!it->IsUsable() || (it->IsBackup() && hasOther))
        {
            continue;
        }
        it->meanRate = it->meanRate > 0 ? it->meanRate : it->Rate();
        if (it->meanRate <= 0)
        {
            continue;
        }
        const double linger = static_cast<double>(it->Queued()) / it->meanRate;
        if (linger < shortest)
        {
            best = it;
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

} // namespace tunnelcc
