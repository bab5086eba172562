/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECEIVER_H
#define TUNNELCC_RECEIVER_H

#include "acknowledgement.h"
#include "event/timer.h"
#include "host/tcp-memory.h"
#include "receive-window.h"
#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// When an ACK of a data packet is due.
enum class AckUrgency
{
    DELAYED,
    COMPRESSED, //!< a hole is left: at once, or compressed with other duplicate ACKs
    NOW
};

/**
 * Receiving half of a TCP connection: reordering queue, SACK and D-SACK blocks (RFC 2018, 2883),
 * receive window.
 *
 * Runs of segments that arrived out of order know their ends, so that a packet costs O(1) however
 * large the window.
 */
class Receiver
{
  public:
    explicit Receiver(const TcpSpec& spec);

    /// Let the host's memory bound the window. \param memory outlives the receiver
    void SetMemory(const TcpMemory* memory)
    {
        m_memory = memory;
    }

    /// The handshake is done.
    void OnEstablished(int64_t now)
    {
        m_window.Begin(now);
    }

    /// Take in a data packet. \returns how soon an ACK is due; Readable() may have grown
    AckUrgency OnData(const Packet& packet);

    /// Whether the packet is out of order and lengthens neither of the two latest runs: its new run
    /// may take the place of another one among the SACK blocks of the next ACK.
    bool CrowdsBlocks(const Packet& packet) const;

    /// Whether the packet begins at or before what the last ACK said was next.
    bool IsNextToAck(const Packet& packet) const
    {
        return static_cast<int32_t>(packet.segment - static_cast<uint32_t>(m_lastAcked)) <= 0;
    }

    /// Whether all of the packet arrived before, in order.
    bool HasDelivered(const Packet& packet) const
    {
        return static_cast<int32_t>(packet.segment - static_cast<uint32_t>(m_next)) < 0;
    }

    /// The next segment expected.
    uint64_t Next() const
    {
        return m_next;
    }

    /// Payload bytes in order that wait for the reader.
    uint64_t Readable() const
    {
        return m_received - m_read;
    }

    /// Payload bytes that wait for the reader or for data before them.
    uint64_t Buffered() const
    {
        return Readable() + m_outOfOrder;
    }

    /// Payload bytes in order, read or not.
    uint64_t Received() const
    {
        return m_received;
    }

    /// Payload bytes read.
    uint64_t TotalRead() const
    {
        return m_read;
    }

    /**
     * The reader takes `bytes`, at most Readable().
     * \param now ns
     * \param bytes how many
     * \param rtt estimate of the round-trip time, ns
     */
    void Read(int64_t now, uint64_t bytes, int64_t rtt)
    {
        // Linux tcp_recvmsg() adjusts the buffer after each segment that it copies: a round ends
        // with the first of them, and what waits behind it counts as unread.
        const uint64_t first = std::min<uint64_t>(bytes, m_mss);
        m_window.OnRead(now, m_read + first, Readable() - first, Span(), rtt);
        m_read += bytes;
    }

    /// Whether the latest segment let the window grow.
    bool HasWindowGrown() const
    {
        return m_hasWindowGrown;
    }

    /// Whether reading has reopened the window far enough to tell the sender at once.
    bool NeedsWindowUpdate() const
    {
        return m_window.NeedsUpdate(m_received, Buffered());
    }

    /// As ReceiveWindow::Room().
    uint64_t Room() const
    {
        return m_window.Room();
    }

    /// As ReceiveWindow::IsCrowded().
    bool IsCrowded() const
    {
        return m_window.IsCrowded(Buffered());
    }

    /// All data up to and including the peer's FIN has arrived in order.
    bool IsFinished() const
    {
        return m_next > m_fin;
    }

    /// Packets that arrived for the second time.
    uint64_t Duplicates() const
    {
        return m_duplicates;
    }

    /// Window advertised last, bytes; before any ACK the one of the SYN.
    uint32_t Window() const
    {
        return static_cast<uint32_t>(m_window.Told());
    }

    /// Describe what has arrived, in an ACK about to be sent; its blocks hold until then.
    void Describe(Acknowledgement& ack);

  private:
    static constexpr size_t INITIAL_CAPACITY = 64; //!< a power of two; the ring doubles

    /// Per segment that arrived out of order. Runs are valid at their first and last segment.
    struct Slot
    {
        uint32_t number; //!< number of the segment in this slot, modulo 2^32
        uint32_t runBegin;
        uint32_t runEnd;
        uint32_t runBytes; //!< payload of the run; valid at its first segment
    };

    Slot& At(uint64_t number)
    {
        return m_ring[number & m_mask];
    }

    bool HasArrived(uint64_t number) const
    {
        return m_ring[number & m_mask].number == static_cast<uint32_t>(number);
    }

    /// Bytes from the next segment expected to the end of what arrived, as if all were full.
    uint64_t Span() const
    {
        return (m_end - m_next) * m_mss;
    }

    /// 64-bit number of a segment from its low half.
    uint64_t Expand(uint32_t low) const
    {
        return m_next + static_cast<int32_t>(low - static_cast<uint32_t>(m_next));
    }

    void Resize(size_t capacity);
    void OnOutOfOrder(uint64_t number, uint32_t length);
    void UpdateBlocks(uint64_t begin, uint64_t end);
    /// The window may grow by a segment. \param buffered as of ReceiveWindow::OnSegment()
    void GrowWindow(uint64_t buffered);
    AckUrgency OnDuplicate(uint64_t number);

    uint32_t m_duplicate{0}; //!< segment that arrived for the second time, latest
    SackBlocks m_ackBlocks{};
    uint64_t m_duplicates{0};

    // What each segment needs; see TcpEndpoint.
    const TcpMemory* m_memory{nullptr}; //!< of the host; null: without limit
    ReceiveWindow m_window;
    bool m_hasWindowGrown{false};
    uint32_t m_mss;       //!< payload of a full segment, bytes
    uint32_t m_maxBlocks; //!< of an ACK; one more run may be remembered, as in Linux
    std::vector<Slot> m_ring;
    uint64_t m_mask{0};
    uint64_t m_next{0};         //!< next segment expected
    uint64_t m_lastAcked{0};    //!< m_next when the last ACK left
    uint64_t m_end{0};          //!< one past the highest segment that arrived
    uint64_t m_fin{UINT64_MAX}; //!< number of the segment with FIN
    uint64_t m_received{0};
    uint64_t m_outOfOrder{0}; //!< payload bytes that arrived out of order
    uint64_t m_read{0};
    SackBlocks m_blocks{};
    uint32_t m_blockCount{0};
    bool m_reportsDuplicate{false}; //!< the next ACK begins with a D-SACK
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVER_H
