/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_SENDER_H
#define TUNNELCC_KCP_SENDER_H

#include "event/fifo.h"
#include "kcp-behaviour.h"
#include "kcp-rto.h"
#include "segment-list.h"
#include "transport/send-limits.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// What a KCP sender has done, since the simulation began.
struct KcpCounters
{
    uint64_t segments{0}; //!< with data sent, those below included
    uint64_t fast{0};     //!< sent again because of ACKs of higher numbers
    uint64_t early{0};    //!< sent again after fewer of those, as there was nothing new to send
    uint64_t timeouts{0}; //!< sent again because time ran out

    uint64_t Retransmits() const
    {
        return fast + early + timeouts;
    }
};

/**
 * The sending half of a KCP session: cuts what is written into segments, keeps the window, and says
 * which segments are to be sent at a flush. Times are of its end's clock, whole ms.
 *
 * kcp-go walks through the window for every ACK and every flush. Here the segments that one of
 * these can concern are in lists, so that the work for each segment does not grow with the window:
 * sent once and not acknowledged (in order of numbers, and so of time); sent again (in order of
 * time); counted often enough to be sent again; and by the ms at which each times out.
 */
class KcpSender
{
  public:
    /// What is sent at a flush.
    struct Transmission
    {
        uint32_t number;
        uint16_t length;
    };

    /// \param spec of the session  \param window send window  \param mss most bytes of a segment
    KcpSender(const KcpSpec& spec, uint32_t window, uint32_t mss);

    // Writing

    /// Whether a write is taken now, whatever its size.
    bool HasRoom() const;

    /// Append what was written to the segments that wait.
    void Write(uint64_t bytes);

    // ACKs

    /// The peer told its window.
    void SetPeerWindow(uint32_t segments)
    {
        m_peerWindow = segments;
    }

    /// The peer has everything below \p una. \returns whether that moves the window
    bool OnUna(uint32_t una);

    /// A segment is acknowledged. To be followed by CountFor(), where that counts.
    void OnAck(uint32_t number);

    /**
     * Count an ACK for the segments below it.
     * \param number acknowledged
     * \param time its timestamp: what left later is not counted for (from 2018 on)
     * \returns whether one of them counts as lost now
     */
    bool CountFor(uint32_t number, uint32_t time);

    /// A round-trip time was measured.
    void OnSample(uint32_t rtt)
    {
        m_rto.Sample(rtt);
    }

    /// A datagram moved the window (KcpSpec::congestion).
    void GrowWindow();

    // Flushes

    /**
     * What is to be sent now, in order of numbers.
     * \param now clock, ms
     * \returns until the next call
     */
    const std::vector<Transmission>& Flush(uint32_t now);

    /// Move segments into the window without sending them. \returns how many
    uint32_t MoveIntoWindow();

    /// Time until the first segment times out, ms, but at most \p limit.
    uint32_t TimeToTimeout(uint32_t now, uint32_t limit) const;

    // State

    /// The next number that the peer is known to miss.
    uint32_t Una() const
    {
        return m_una;
    }

    /// Segments written and not done with.
    uint32_t Waiting() const
    {
        uint32_t inWindow = m_behaviour.keepsAcked ? m_next - m_una : m_unacked;
        return inWindow + static_cast<uint32_t>(m_queue.Size());
    }

    /// Numbers that may be under way.
    uint32_t Window() const;

    /// Which window Window() is: the peer's, our own, or that of congestion control.
    SendLimit LeastWindow() const;

    /// Whether the window keeps segments from being sent, or their writer from writing.
    bool IsWindowFull() const
    {
        return m_next - m_una >= Window();
    }

    /// Bytes of segments sent and not acknowledged.
    uint64_t BytesInFlight() const
    {
        return m_bytesInFlight;
    }

    /// The window that the peer told, segments.
    uint32_t PeerWindow() const
    {
        return m_peerWindow;
    }

    const KcpRto& Rto() const
    {
        return m_rto;
    }

    const KcpCounters& Counters() const
    {
        return m_counters;
    }

  private:
    /// In which list a segment is to be counted for.
    enum class Place : uint8_t
    {
        NONE,  //!< acknowledged, or counted for no more until it times out
        FIRST, //!< sent once
        AGAIN, //!< sent again
        DUE    //!< counted often enough
    };

    struct Slot
    {
        uint32_t number{0};
        uint32_t sent{0};    //!< when it was last sent
        uint32_t timeout{0}; //!< when it times out
        uint32_t rto{0};
        uint32_t count{0}; //!< of ACKs
        uint16_t length{0};
        Place place{Place::NONE};
        bool isAcked{false};
        SegmentLinks list;  //!< of m_first, m_again or m_due
        SegmentLinks wheel; //!< of those that time out at the same time, or a turn of it apart
    };

    using List = SegmentList<Slot, &Slot::list>;
    using Times = SegmentList<Slot, &Slot::wheel>;

    /// Why a segment is sent.
    enum class Reason
    {
        NOTHING,
        FAST,
        EARLY,
        TIMEOUT
    };

    uint32_t SlotOf(uint32_t number) const
    {
        return number & static_cast<uint32_t>(m_ring.size() - 1);
    }

    Times& TimesOf(uint32_t time)
    {
        return m_wheel[time & (m_wheel.size() - 1)];
    }

    List& ListOf(Place place);
    void PlaceIn(Place place, uint32_t slot);
    void Unlink(uint32_t slot);
    void Acknowledge(uint32_t slot);
    bool Count(uint32_t slot);
    void CollectDue(uint32_t now, bool hasNew);
    void CollectCounted(const List& list);
    Reason ReasonFor(const Slot& segment, uint32_t now, bool hasNew) const;
    void Resend(uint32_t slot, uint32_t now, Reason reason);
    void SetTimeout(uint32_t slot, uint32_t time);
    void SendNew(uint32_t now);
    void ReduceWindow(uint32_t window, uint64_t resent, uint64_t timedOut);

    const KcpBehaviour m_behaviour;
    const uint32_t m_mss;
    const uint32_t m_sendWindow;
    const uint32_t m_resend; //!< as KcpSpec::resend
    const uint32_t m_enough; //!< count from which no more counting is needed
    const bool m_nodelay;
    const bool m_hasCongestionWindow;

    Fifo<uint16_t> m_queue; //!< lengths of segments that wait for the window
    std::vector<Slot> m_ring;
    uint32_t m_una{0};
    uint32_t m_next{0};   //!< number of the next segment to enter the window
    uint32_t m_unsent{0}; //!< the first in the window that was not sent
    uint32_t m_unacked{0};
    uint64_t m_bytesInFlight{0};
    uint32_t m_peerWindow;

    List m_first;
    List m_again;
    List m_due;
    std::vector<Times> m_wheel;         //!< by time-out, modulo its size
    uint32_t m_wheelTime{0};            //!< up to which time-outs were looked at
    std::vector<uint32_t> m_candidates; //!< slots, at a flush
    std::vector<Transmission> m_transmissions;

    KcpRto m_rto;
    KcpCounters m_counters;
    uint32_t m_cwnd{0}; //!< segments
    uint32_t m_threshold;
    uint32_t m_increase{0}; //!< of the congestion window, bytes
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_SENDER_H
