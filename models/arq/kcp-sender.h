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
    uint64_t segments{0}; //!< segments with data, those sent again included
    uint64_t fast{0};     //!< segments sent again because of ACKs of higher numbers
    uint64_t early{0};    //!< the same after fewer ACKs, as there was nothing new to send
    uint64_t timeouts{0}; //!< segments sent again after a time-out

    uint64_t Retransmits() const
    {
        return fast + early + timeouts;
    }
};

/**
 * The sending half of a KCP session: cuts what is written into segments, keeps the window, and
 * lists the segments that a flush sends. Times are those of its end's clock, whole ms.
 *
 * kcp-go walks through the window for every ACK and every flush. Here lists hold the segments that
 * an ACK or a flush can change, so that the work does not grow with the window: segments sent once
 * (in order of numbers, and so of time), segments sent again (in order of time), segments with
 * enough ACKs counted to be sent again, and segments by the millisecond of their time-out.
 */
class KcpSender
{
  public:
    /// A segment that a flush sends.
    struct Transmission
    {
        uint32_t number;
        uint16_t length;
    };

    /// \param spec settings of the session  \param window send window, segments  \param mss largest
    /// payload of a segment, bytes
    KcpSender(const KcpSpec& spec, uint32_t window, uint32_t mss);

    // Writing

    /// Whether a write is taken now, whatever its size.
    bool HasRoom() const;

    /// Cut `bytes` into segments, which wait for the window.
    void Write(uint64_t bytes);

    // ACKs

    /// The peer told its window.
    void SetPeerWindow(uint32_t segments)
    {
        m_peerWindow = segments;
    }

    /// The peer has all segments below \p una. \returns whether that moves the window
    bool OnUna(uint32_t una);

    /// A segment is acknowledged. CountFor() follows if the ACK counts for resends.
    void OnAck(uint32_t number);

    /**
     * Count an ACK for the segments below it.
     * \param number the segment that is acknowledged
     * \param time its timestamp, ms: the ACK does not count for what was sent later (since 2018)
     * \returns whether one of them counts as lost now
     */
    bool CountFor(uint32_t number, uint32_t time);

    /// A round-trip time was measured, ms.
    void OnSample(uint32_t rtt)
    {
        m_rto.Sample(rtt);
    }

    /// A datagram's ACKs moved the window: the congestion window may grow (KcpSpec::congestion).
    void GrowWindow();

    // Flushes

    /**
     * List what is to be sent now, in order of numbers.
     * \param now clock, ms
     * \returns segments; valid until the next call
     */
    const std::vector<Transmission>& Flush(uint32_t now);

    /// Move segments into the window without sending them. \returns how many
    uint32_t MoveIntoWindow();

    /// Time until the first segment times out, ms, but at most \p limit.
    uint32_t TimeToTimeout(uint32_t now, uint32_t limit) const;

    // State

    /// The first number that the peer has not acknowledged.
    uint32_t Una() const
    {
        return m_una;
    }

    /// Segments that were written and are still in the queue or in the window.
    uint32_t Waiting() const
    {
        uint32_t inWindow = m_behaviour.keepsAcked ? m_next - m_una : m_unacked;
        return inWindow + static_cast<uint32_t>(m_queue.Size());
    }

    /// The window that limits the sender: segments that may be in flight.
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
    /// The list that holds a segment, in which ACKs are counted for it.
    enum class Place : uint8_t
    {
        NONE,  //!< it is acknowledged, or no ACKs count for it until it times out
        FIRST, //!< it was sent once
        AGAIN, //!< it was sent again
        DUE    //!< enough ACKs are counted to send it again
    };

    struct Slot
    {
        uint32_t number{0};
        uint32_t sent{0};    //!< when it was last sent
        uint32_t timeout{0}; //!< when it times out
        uint32_t rto{0};
        uint32_t count{0}; //!< ACKs counted for it
        uint16_t length{0};
        Place place{Place::NONE};
        bool isAcked{false};
        SegmentLinks list;  //!< links in m_first, m_again or m_due
        SegmentLinks wheel; //!< links among those with the same place in m_wheel
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
    const uint32_t m_enough; //!< number of ACKs after which counting stops
    const bool m_nodelay;
    const bool m_hasCongestionWindow;

    Fifo<uint16_t> m_queue; //!< lengths of segments that wait for the window
    std::vector<Slot> m_ring;
    uint32_t m_una{0};
    uint32_t m_next{0};   //!< number of the next segment to enter the window
    uint32_t m_unsent{0}; //!< number of the first segment in the window that was not sent
    uint32_t m_unacked{0};
    uint64_t m_bytesInFlight{0};
    uint32_t m_peerWindow;

    List m_first;
    List m_again;
    List m_due;
    std::vector<Times> m_wheel;         //!< segments by their time-out, ms, modulo its size
    uint32_t m_wheelTime{0};            //!< time-outs were processed up to this time, ms
    std::vector<uint32_t> m_candidates; //!< slots of segments that a flush may send
    std::vector<Transmission> m_transmissions;

    KcpRto m_rto;
    KcpCounters m_counters;
    uint32_t m_cwnd{0}; //!< congestion window, segments
    uint32_t m_threshold;
    uint32_t m_increase{0}; //!< congestion window in bytes, for growth by less than a segment
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_SENDER_H
