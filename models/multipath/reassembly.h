/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REASSEMBLY_H
#define TUNNELCC_REASSEMBLY_H

#include <cstdint>
#include <map>

namespace tunnelcc
{

/// What the order of arrival over several paths has cost, since measuring began.
struct ReorderingCounters
{
    uint64_t arrived{0};    //!< bytes, each when it first came
    uint64_t reordered{0};  //!< of these, that came before earlier ones
    uint64_t duplicates{0}; //!< bytes that had come before
    double waited{0};       //!< sum over all bytes of how long they waited for earlier ones, ns
    int64_t longest{0};     //!< longest of these times, ns
};

/// Puts the bytes of a stream in order that come over several paths, and counts what waits.
class Reassembly
{
  public:
    /// The bytes [begin, end) of the stream came.
    void OnData(int64_t now, uint64_t begin, uint64_t end);

    /// Next byte expected.
    uint64_t Next() const
    {
        return m_next;
    }

    /// Bytes that wait for earlier ones.
    uint64_t OutOfOrder() const
    {
        return m_outOfOrder;
    }

    /// Count from now on.
    void StartMeasuring(int64_t now)
    {
        Account(now);
        m_counters = {};
    }

    /// Counts until now.
    const ReorderingCounters& Counters(int64_t now)
    {
        Account(now);
        return m_counters;
    }

  private:
    /// A run of bytes that came early.
    struct Run
    {
        uint64_t end;
        int64_t since; //!< when its first part came, ns
    };

    /// Add the time that bytes have waited.
    void Account(int64_t now)
    {
        m_counters.waited += static_cast<double>(m_outOfOrder) * static_cast<double>(now - m_since);
        m_since = now;
    }

    void Keep(int64_t now, uint64_t begin, uint64_t end);
    void TakeRuns(int64_t now);

    std::map<uint64_t, Run> m_runs; //!< by their beginnings; none touches another
    uint64_t m_next{0};
    uint64_t m_outOfOrder{0}; //!< bytes of all runs
    int64_t m_since{0};       //!< until when the time of waiting is counted, ns
    ReorderingCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_REASSEMBLY_H
