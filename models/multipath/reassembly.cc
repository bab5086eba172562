/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reassembly.h"

#include <algorithm>
#include <iterator>

namespace tunnelcc
{

void
Reassembly::OnData(int64_t now, uint64_t begin, uint64_t end)
{
    Account(now);
    if (begin < m_next)
    {
        m_counters.duplicates += std::min(end, m_next) - begin;
        begin = m_next;
    }
    if (begin >= end)
    {
        return;
    }
    if (begin > m_next)
    {
        Keep(now, begin, end);
        return;
    }
    // What it has of a run is counted there.
    m_counters.arrived += end - begin;
    m_next = end;
    TakeRuns(now);
}

/// Keep bytes that came early, but for those that are there.
void
Reassembly::Keep(int64_t now, uint64_t begin, uint64_t end)
{
    uint64_t known = 0;
    auto run = m_runs.upper_bound(begin);
    if (run != m_runs.begin() && std::prev(run)->second.end >= begin)
    {
        --run;
        known = std::min(run->second.end, end) - begin;
        run->second.end = std::max(run->second.end, end);
    }
    else
    {
        run = m_runs.emplace_hint(run, begin, Run{end, now});
    }
    for (auto next = std::next(run); next != m_runs.end() && next->first <= run->second.end;)
    {
        known += std::min(next->second.end, run->second.end) - next->first;
        run->second.since = std::min(run->second.since, next->second.since);
        run->second.end = std::max(run->second.end, next->second.end);
        next = m_runs.erase(next);
    }
    const uint64_t fresh = end - begin - known;
    m_outOfOrder += fresh;
    m_counters.arrived += fresh;
    m_counters.reordered += fresh;
    m_counters.duplicates += known;
}

/// Let the runs follow for which nothing is missing any more.
void
Reassembly::TakeRuns(int64_t now)
{
    while (!m_runs.empty() && m_runs.begin()->first <= m_next)
    {
        const auto first = m_runs.begin();
        const uint64_t length = first->second.end - first->first;
        const uint64_t twice = std::min(m_next, first->second.end) - first->first;
        m_counters.duplicates += twice;
        m_counters.arrived -= twice;
        m_counters.longest = std::max(m_counters.longest, now - first->second.since);
        m_outOfOrder -= length;
        m_next = std::max(m_next, first->second.end);
        m_runs.erase(first);
    }
}

} // namespace tunnelcc
