/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SCOREBOARD_H
#define TUNNELCC_SCOREBOARD_H

#include "event/fifo.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// A data segment that was sent and is not yet acknowledged cumulatively.
struct Segment
{
    enum Flag : uint8_t
    {
        SACKED = 1,        //!< selectively acknowledged
        LOST = 2,          //!< marked lost, and not delivered since
        RETRANSMITTED = 4, //!< a retransmission is in flight
        EVER_RETRANSMITTED = 8,
        APP_LIMITED = 16, //!< sent while the application limited the connection
        FIN = 32,
        PUSHED = 64,      //!< bears PSH
        BUFFER_END = 128, //!< the last of one of the kernel's buffers (sk_buff)
    };

    int64_t sentTime{0};        //!< latest transmission, ns
    uint32_t firstSentDelta{0}; //!< sentTime − start of the send window, see RateSampler
    uint32_t deliveredDelta{0}; //!< sentTime − time of the latest delivery then, see RateSampler
    uint32_t delivered{0};      //!< connection's delivered count then, modulo 2^32

    /// In flight: neighbours in order of transmission. Sacked: in the last (first) segment of a
    /// run of sacked ones, where the run begins (ends); in the others, up to where it reached from
    /// here when they joined it. Segment numbers modulo 2^32.
    uint32_t previousOrRunBegin{0};
    uint32_t nextOrRunEnd{0};

    uint16_t length{0}; //!< payload bytes
    uint8_t flags{0};

    bool Has(int mask) const
    {
        return flags & mask;
    }
};

static_assert(sizeof(Segment) == 32, "two segments a cache line");

/// Segments with consecutive numbers that were sent together and have the same state, so that one
/// of them stands for all.
struct SegmentRun
{
    uint64_t first;
    uint64_t last;
    const Segment& segment; //!< the last of them
    uint32_t bufferEnds{0}; //!< of them, those that end one of the kernel's buffers

    uint32_t Count() const
    {
        return static_cast<uint32_t>(last - first + 1);
    }
};

/// What the connection had in flight and had lost when a segment was sent. It is no part of Segment
/// because only some congestion controls need it.
struct Flight
{
    uint32_t inFlight; //!< segments, the one sent included
    uint32_t lost;     //!< segments ever marked lost, modulo 2^32

    /// The 64-bit value of `lost`. \param lostByNow segments ever marked lost by now
    uint64_t LostThen(uint64_t lostByNow) const
    {
        return lostByNow - (static_cast<uint32_t>(lostByNow) - lost);
    }
};

/**
 * SACK scoreboard: every segment from SND.UNA to SND.NXT, in a ring.
 *
 * Segments have numbers that count up from 0. Acknowledging costs O(1) a segment however large the
 * window is: sacked segments form runs whose ends know each other, segments in flight form a list
 * in order of transmission for RACK (RFC 8985), and lost segments wait in queues.
 */
class Scoreboard
{
  public:
    Scoreboard();

    uint64_t Una() const
    {
        return m_una;
    }

    uint64_t Nxt() const
    {
        return m_nxt;
    }

    Segment& At(uint64_t number)
    {
        return m_ring[number & m_mask];
    }

    const Segment& At(uint64_t number) const
    {
        return m_ring[number & m_mask];
    }

    /// Keep a Flight for each segment from now on. \pre nothing was sent
    void KeepFlights()
    {
        m_flights.resize(m_ring.size());
    }

    /// The Flight of a segment; stays until the slot is needed again. \pre KeepFlights()
    Flight& FlightAt(uint64_t number)
    {
        return m_flights[number & m_mask];
    }

    uint32_t PacketsOut() const
    {
        return static_cast<uint32_t>(m_nxt - m_una);
    }

    uint32_t SackedOut() const
    {
        return m_sackedOut;
    }

    uint32_t LostOut() const
    {
        return m_lostOut;
    }

    /// Whether a lost segment has not been sent again.
    bool HasLostToSend() const
    {
        return LostOut() > RetransmittedOut();
    }

    uint32_t RetransmittedOut() const
    {
        return m_retransmittedOut;
    }

    /// Segments in flight (RFC 6675's pipe, as Linux counts it): those outstanding that were
    /// neither sacked nor lost, and the lost ones that were sent again.
    uint32_t InFlight() const
    {
        return m_inFlight;
    }

    /// Payload bytes from SND.UNA to SND.NXT.
    uint64_t BytesOut() const
    {
        return m_bytesOut;
    }

    /// One past the highest segment ever sacked or acknowledged (RFC 8985's RACK.fack).
    uint64_t Fack() const
    {
        return m_fack;
    }

    /// Add a run of `count` segments from Nxt() on, and put them in flight. \param segment what
    /// each of them is
    void Append(const Segment& segment, uint32_t count = 1);

    /// A segment was sent again, that NextLost() named or that is not lost: it now is the latest in
    /// flight.
    void Retransmit(uint64_t number);

    /// Mark a segment lost that is in flight; its retransmission too, if that was.
    void MarkLost(uint64_t number);

    /// Take back every loss mark: the segments are in flight again, as if never sent again.
    void UnmarkLost();

    /// The next segment to retransmit: lost retransmissions first, then in order of marking. The
    /// same until Retransmit() or MarkLost().
    std::optional<uint64_t> NextLost();

    /// Oldest transmission in flight. \pre InFlight() > 0
    uint64_t Oldest() const
    {
        return Expand(m_oldest);
    }

    /// The transmission after that of `number`, if any.
    std::optional<uint64_t> NextSent(uint64_t number)
    {
        if (static_cast<uint32_t>(number) == m_newest)
        {
            return std::nullopt;
        }
        return Expand(At(number).nextOrRunEnd);
    }

    /// Whether the segment is in the list of transmissions.
    static bool IsInFlight(const Segment& segment)
    {
        return !segment.Has(Segment::SACKED) &&
               (!segment.Has(Segment::LOST) || segment.Has(Segment::RETRANSMITTED));
    }

    /// 64-bit number of a segment from its low half, for numbers from Una() on.
    uint64_t Expand(uint32_t low) const
    {
        return m_una + static_cast<int32_t>(low - static_cast<uint32_t>(m_una));
    }

    /// What left the scoreboard because of an ACK.
    struct Removed
    {
        uint64_t bytes{0};            //!< of payload
        uint32_t bufferEnds{0};       //!< segments that end one of the kernel's buffers
        bool wasRetransmitted{false}; //!< any of its segments was ever retransmitted
    };

    /**
     * Acknowledge everything before `ack`.
     * \param onDelivered called with each SegmentRun not sacked before; flags are as they were
     */
    template <class OnDelivered>
    Removed AcknowledgeTo(uint64_t ack, OnDelivered&& onDelivered)
    {
        Removed removed;
        while (m_una < ack)
        {
            const Segment& segment = At(m_una);
            const SegmentRun run = RunFrom(m_una, ack);
            if (segment.Has(Segment::SACKED))
            {
                --m_sackedOut;
            }
            else
            {
                LeaveFlight(run);
                onDelivered(run);
            }
            removed.bytes += uint64_t{run.Count()} * segment.length;
            removed.bufferEnds += run.bufferEnds;
            removed.wasRetransmitted |= segment.Has(Segment::EVER_RETRANSMITTED);
            m_una = run.last + 1;
        }
        Prefetch(m_una);
        m_bytesOut -= removed.bytes;
        m_fack = std::max(m_fack, m_una);
        return removed;
    }

    /**
     * Selectively acknowledge segments [begin, end).
     * \param onDelivered as for AcknowledgeTo()
     */
    template <class OnDelivered>
    void Sack(uint64_t begin, uint64_t end, OnDelivered&& onDelivered)
    {
        begin = std::max(begin, m_una);
        end = std::min(end, m_nxt);
        while (begin < end)
        {
            const Segment& segment = At(begin);
            if (segment.Has(Segment::SACKED))
            {
                begin = Expand(segment.nextOrRunEnd);
                continue;
            }
            const SegmentRun run = RunFrom(begin, end);
            LeaveFlight(run);
            onDelivered(run);
            m_sackedOut += run.Count();
            begin = JoinRuns(run.first, run.last);
        }
    }

  private:
    static constexpr size_t INITIAL_CAPACITY = 64; //!< a power of two; the ring doubles

    /// Have the processor fetch what the flow's next ACK, or its next burst, will need: where flows
    /// are many, no near cache has it by then. The line of the first segment was just in use.
    /// \param number of that segment
    void Prefetch(uint64_t number)
    {
        __builtin_prefetch(&At(number + 2), 1);
        __builtin_prefetch(&At(number + 4), 1);
    }

    void Grow();
    void AppendToFlight(uint64_t first, uint64_t last);
    void Unlink(uint64_t first, uint64_t last);

    /// The run that begins with a segment. \param end where it ends at the latest
    SegmentRun RunFrom(uint64_t first, uint64_t end) const
    {
        // What was lost, sent again or sacked goes by itself. The others must be neighbours in the
        // list of transmissions, too: another may have been sent again between two of them.
        constexpr int SPECIAL =
            Segment::SACKED | Segment::LOST | Segment::RETRANSMITTED | Segment::EVER_RETRANSMITTED;
        const Segment* segment = &At(first);
        uint64_t last = first;
        uint32_t bufferEnds = segment->Has(Segment::BUFFER_END);
        if (!segment->Has(SPECIAL))
        {
            const int64_t sentTime = segment->sentTime;
            const uint16_t length = segment->length;
            while (last + 1 < end)
            {
                const Segment& next = At(last + 1);
                if (segment->nextOrRunEnd != static_cast<uint32_t>(last + 1) ||
                    next.sentTime != sentTime || next.length != length || next.Has(SPECIAL))
                {
                    break;
                }
                segment = &next;
                bufferEnds += segment->Has(Segment::BUFFER_END);
                ++last;
            }
        }
        return {first, last, *segment, bufferEnds};
    }

    /// Take segments out of the list of transmissions, that are neighbours there.
    void RemoveFromFlight(uint64_t first, uint64_t last)
    {
        m_inFlight -= static_cast<uint32_t>(last - first + 1);
        if (static_cast<uint32_t>(first) == m_oldest)
        {
            m_oldest = At(last).nextOrRunEnd;
        }
        else
        {
            Unlink(first, last);
        }
    }

    /// Take what was delivered out of the counts and the list.
    void LeaveFlight(const SegmentRun& run)
    {
        if (IsInFlight(run.segment))
        {
            RemoveFromFlight(run.first, run.last);
        }
        if (run.segment.Has(Segment::LOST))
        {
            --m_lostOut;
            m_retransmittedOut -= run.segment.Has(Segment::RETRANSMITTED);
        }
    }

    /// Merge newly sacked segments with their neighbours' runs of sacked ones. \returns where the
    /// run ends
    uint64_t JoinRuns(uint64_t first, uint64_t last);

    /// First segment of the queue that is still lost; what stands before it leaves the queue.
    std::optional<uint64_t> FirstLost(Fifo<uint64_t>& queue);

    std::vector<Segment> m_ring;
    uint64_t m_mask;
    uint64_t m_una{0};
    uint64_t m_nxt{0};
    uint64_t m_fack{0};
    uint64_t m_bytesOut{0};
    uint32_t m_sackedOut{0};
    uint32_t m_lostOut{0};
    uint32_t m_retransmittedOut{0};
    uint32_t m_inFlight{0}; //!< length of the list of transmissions
    uint32_t m_oldest{0};   //!< its ends, modulo 2^32; valid while it is not empty
    uint32_t m_newest{0};
    Fifo<uint64_t> m_lostOnce;
    Fifo<uint64_t> m_lostAgain;
    std::vector<Flight> m_flights; //!< empty, or as long as m_ring
};

} // namespace tunnelcc

#endif // TUNNELCC_SCOREBOARD_H
