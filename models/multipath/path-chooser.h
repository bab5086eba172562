/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_CHOOSER_H
#define TUNNELCC_PATH_CHOOSER_H

#include "spec/multipath-spec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// What a scheduler sees of the connection's own stream, in bytes of it.
struct DataView
{
    uint64_t pending; //!< that wait for a path
    uint64_t window;  //!< of these and those before them, that the receiver has room for
    uint64_t unacked; //!< that paths have, and the receiver has not acknowledged
};

/**
 * Schedulers that fill windows: a path takes no more than it can send at once, and the rest waits
 * in the connection. So had multipath-tcp.org's Linux 0.95 them. Lowest RTT is its default
 * scheduler (mptcp_sched.c), round robin its mptcp_rr.c with a segment at a time, BLEST from
 * Ferlin, Alay, Mehani and Boreli, "BLEST: Blocking estimation-based MPTCP scheduler", IFIP
 * Networking 2016. The paper's lambda, a factor that it learns from blocking, is 1 here.
 *
 * \tparam Path with IsUsable(), IsBackup(), HasRoom(), Srtt() in ns, CongestionWindow() and
 * InFlight() in packets, and PacketBytes()
 */
template <class Path>
class PathChooser
{
  public:
    explicit PathChooser(MultipathScheduler scheduler)
        : m_scheduler(scheduler)
    {
    }

    MultipathScheduler Kind() const
    {
        return m_scheduler;
    }

    /// Of usable paths, those come into question that are no backups, or all if no other works.
    static bool HasOther(const std::vector<Path*>& paths)
    {
        return std::ranges::any_of(paths,
                                   [](Path* it) { return it->IsUsable() && !it->IsBackup(); });
    }

    /// The path that sends the next packet; null: none for now. \param paths all
    Path* Choose(const std::vector<Path*>& paths, const DataView& data)
    {
        return m_scheduler == MultipathScheduler::ROUND_ROBIN ? ChooseInTurn(paths)
                                                              : ChooseByRtt(paths, data);
    }

  private:
    Path* ChooseInTurn(const std::vector<Path*>& paths)
    {
        const bool hasOther = HasOther(paths);
        for (size_t tried = 0; tried < paths.size(); ++tried)
        {
            Path* it = paths[m_turn];
            m_turn = (m_turn + 1) % paths.size();
            if (it->IsUsable() && !(it->IsBackup() && hasOther) && it->HasRoom())
            {
                return it;
            }
        }
        return nullptr;
    }

    Path* ChooseByRtt(const std::vector<Path*>& paths, const DataView& data) const
    {
        const bool hasOther = HasOther(paths);
        Path* fastest = nullptr; // of all
        Path* best = nullptr;    // of those with room
        for (Path* it : paths)
        {
            if (!it->IsUsable() || (it->IsBackup() && hasOther))
            {
                continue;
            }
            if (!fastest || it->Srtt() < fastest->Srtt())
            {
                fastest = it;
            }
            if (it->HasRoom() && (!best || it->Srtt() < best->Srtt()))
            {
                best = it;
            }
        }
        const bool isSlower = best && best != fastest && fastest->Srtt() > 0;
        const bool waits =
            m_scheduler == MultipathScheduler::BLEST && isSlower && Blocks(*best, *fastest, data);
        return waits ? nullptr : best;
    }

    /// Whether what the faster one could send in the slower one's round trip is more than what the
    /// receiver's window has left for it.
    static bool Blocks(const Path& slow, const Path& fast, const DataView& data)
    {
        const double rounds = static_cast<double>(slow.Srtt()) / static_cast<double>(fast.Srtt());
        const double could =
            fast.PacketBytes() * (fast.CongestionWindow() + (rounds - 1) / 2) * rounds;
        const double taken = slow.PacketBytes() * (slow.InFlight() + 1.0);
        return could > static_cast<double>(data.unacked + data.window) - taken;
    }

    MultipathScheduler m_scheduler;
    size_t m_turn{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_CHOOSER_H
