/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MULTIPATH_SCHEDULER_H
#define TUNNELCC_MULTIPATH_SCHEDULER_H

#include "spec/multipath-spec.h"
#include "subflow.h"

#include <cstdint>
#include <deque>

namespace tunnelcc
{

/// What a scheduler sees of the connection's own stream, in bytes of it.
struct DataView
{
    uint64_t pending; //!< that wait for a subflow
    uint64_t window;  //!< of these and those before them, that the receiver has room for
    uint64_t unacked; //!< that subflows have, and the receiver has not acknowledged
};

/// Chooses the subflow that sends the next bytes.
class MultipathChooser
{
  public:
    /// A subflow, and how many bytes it is to take at most; null: none for now.
    struct Choice
    {
        Subflow* subflow{nullptr};
        uint64_t most{0};
    };

    explicit MultipathChooser(MultipathScheduler scheduler)
        : m_scheduler(scheduler)
    {
    }

    MultipathScheduler Kind() const
    {
        return m_scheduler;
    }

    /// \param subflows all of the connection
    Choice Choose(std::deque<Subflow>& subflows, const DataView& data);

    /// Bytes that a subflow takes at most at a time (Linux MPTCP_SEND_BURST_SIZE: 64 KiB less the
    /// headers).
    static constexpr uint64_t BURST = (1 << 16) - 20 - 40 - 40 - 8;

  private:
    /// Whether a subflow is of those that come into question: all, or the backups if no other
    /// works.
    static bool HasOther(const std::deque<Subflow>& subflows);
    Choice ChooseByQueue(std::deque<Subflow>& subflows, const DataView& data);
    Choice ChooseByRtt(std::deque<Subflow>& subflows, const DataView& data);
    Choice ChooseInTurn(std::deque<Subflow>& subflows);

    const MultipathScheduler m_scheduler;
    size_t m_turn{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_MULTIPATH_SCHEDULER_H
