/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MULTIPATH_SCHEDULER_H
#define TUNNELCC_MULTIPATH_SCHEDULER_H

#include "path-chooser.h"
#include "subflow.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Chooses the subflow that sends the next bytes. The default scheduler is that of Linux 7.3
/// (net/mptcp/protocol.c, mptcp_subflow_get_send()).
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
        : m_chooser(scheduler)
    {
    }

    MultipathScheduler Kind() const
    {
        return m_chooser.Kind();
    }

    /// \param subflows all of the connection
    Choice Choose(const std::vector<Subflow*>& subflows, const DataView& data);

    /// Bytes that a subflow takes at most at a time (Linux MPTCP_SEND_BURST_SIZE: 64 KiB less the
    /// headers).
    static constexpr uint64_t BURST = (1 << 16) - 20 - 40 - 40 - 8;

  private:
    static Choice ChooseByQueue(const std::vector<Subflow*>& subflows, const DataView& data);

    PathChooser<Subflow> m_chooser;
};

} // namespace tunnelcc

#endif // TUNNELCC_MULTIPATH_SCHEDULER_H
