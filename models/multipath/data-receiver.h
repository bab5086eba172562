/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATA_RECEIVER_H
#define TUNNELCC_DATA_RECEIVER_H

#include "spec/tcp-spec.h"
#include "transport/receive-window.h"

#include <algorithm>
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

/**
 * Receiving half of a connection over several paths: puts the bytes that its subflows deliver in
 * order, and has the connection's receive buffer.
 *
 * After Linux 7.3, net/mptcp/protocol.c: __mptcp_move_skb(), mptcp_data_queue_ofo(),
 * mptcp_rcv_space_adjust(). All subflows tell the one window, whose right edge never moves back
 * (mptcp_set_rwin()); bytes that wait for earlier ones take room in the buffer (__mptcp_space()).
 * The buffer grows as TCP's does, by what is read in a round trip; what is out of order does not
 * count in that (mptcp_rcvbuf_grow()).
 */
class DataReceiver
{
  public:
    explicit DataReceiver(const TcpSpec& spec)
        : m_window(spec),
          m_mss(spec.mss)
    {
    }

    /// The connection is open.
    void OnEstablished(int64_t now)
    {
        m_window.Begin(now);
        m_since = now;
    }

    /// The bytes [begin, end) of the connection's stream came over a subflow.
    void OnData(int64_t now, uint64_t begin, uint64_t end);

    /// Next byte expected.
    uint64_t Next() const
    {
        return m_next;
    }

    /// Bytes in order that wait for the reader.
    uint64_t Readable() const
    {
        return m_next - m_read;
    }

    /// The reader takes `bytes`, at most Readable(). \param rtt least estimate of the subflows, ns;
    /// 0: none
    void Read(int64_t now, uint64_t bytes, int64_t rtt)
    {
        m_read += bytes;
        m_window.OnRead(now, m_read, Readable(), 0, rtt);
    }

    /// The window of an ACK that is about to be sent, bytes from Next() on.
    uint32_t Advertise()
    {
        return m_window.Advertise(m_next, Buffered());
    }

    /// The window that there is room for, bytes.
    uint64_t Room() const
    {
        return m_window.Limit() - std::min(m_window.Limit(), Buffered());
    }

    /// Whether reading has made twice as much room as was told last, so that the sender is told at
    /// once (mptcp_cleanup_rbuf()).
    bool NeedsWindowUpdate() const
    {
        return Room() >= 2 * m_window.Told();
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

    /// Bytes that wait for earlier ones.
    uint64_t OutOfOrder() const
    {
        return m_outOfOrder;
    }

  private:
    /// A run of bytes that came early.
    struct Run
    {
        uint64_t end;
        int64_t since; //!< when its first part came, ns
    };

    uint64_t Buffered() const
    {
        return Readable() + m_outOfOrder;
    }

    /// Add the time that bytes have waited.
    void Account(int64_t now)
    {
        m_counters.waited += static_cast<double>(m_outOfOrder) * static_cast<double>(now - m_since);
        m_since = now;
    }

    void Keep(int64_t now, uint64_t begin, uint64_t end);
    void TakeRuns(int64_t now);

    ReceiveWindow m_window;
    const uint32_t m_mss;           //!< payload of a full segment, bytes
    std::map<uint64_t, Run> m_runs; //!< by their beginnings; none touches another
    uint64_t m_next{0};
    uint64_t m_read{0};
    uint64_t m_outOfOrder{0}; //!< bytes of all runs
    int64_t m_since{0};       //!< until when the time of waiting is counted, ns
    ReorderingCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATA_RECEIVER_H
