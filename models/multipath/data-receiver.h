/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATA_RECEIVER_H
#define TUNNELCC_DATA_RECEIVER_H

#include "reassembly.h"
#include "spec/tcp-spec.h"
#include "transport/receive-window.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

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
    }

    /// The bytes [begin, end) of the connection's stream came over a subflow.
    void OnData(int64_t now, uint64_t begin, uint64_t end);

    /// Next byte expected.
    uint64_t Next() const
    {
        return m_order.Next();
    }

    /// Bytes in order that wait for the reader.
    uint64_t Readable() const
    {
        return Next() - m_read;
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
        return m_window.Advertise(Next(), Buffered());
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
        m_order.StartMeasuring(now);
    }

    /// Counts until now.
    const ReorderingCounters& Counters(int64_t now)
    {
        return m_order.Counters(now);
    }

    /// Bytes that wait for earlier ones.
    uint64_t OutOfOrder() const
    {
        return m_order.OutOfOrder();
    }

  private:
    uint64_t Buffered() const
    {
        return Readable() + OutOfOrder();
    }

    ReceiveWindow m_window;
    Reassembly m_order;
    const uint32_t m_mss; //!< payload of a full segment, bytes
    uint64_t m_read{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_DATA_RECEIVER_H
