/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ACK_TRACKER_H
#define TUNNELCC_ACK_TRACKER_H

#include "event/time-units.h"
#include "number-ranges.h"
#include "spec/quic-spec.h"
#include "variable-length.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Keeps the numbers of packets that arrived, and decides when to acknowledge them (RFC 9000,
 * section 13.2; quic-go v0.60.0, internal/ackhandler/received_packet_tracker.go). An ACK is due at
 * once after some number of packets that ask for one, when a packet leaves a new gap, and when one
 * fills a gap that an ACK has reported; otherwise after a delay.
 */
class AckTracker
{
  public:
    explicit AckTracker(const QuicAcksSpec& spec)
        : m_spec(spec)
    {
    }

    /// ACKs name the path from now on: they are PATH_ACK frames (draft-ietf-quic-multipath-21,
    /// section 4.1), whose path identifiers below 64 have a byte.
    void NamePath()
    {
        m_typeBytes = 2;
    }

    /// Whether a packet arrived before, or its number is no longer acknowledged.
    bool IsKnown(uint64_t number) const
    {
        return number < m_floor || m_received.Contains(number);
    }

    /**
     * A packet arrived for the first time.
     * \param now ns
     * \param number packet number
     * \param isEliciting it asks for an ACK
     * \param isUrgent it asks for one at once, as in the handshake (RFC 9000, section 13.2.1)
     */
    void OnPacket(int64_t now, uint64_t number, bool isEliciting, bool isUrgent)
    {
        m_received.Add(number, number + 1);
        if (m_received.All().size() > m_spec.ranges)
        {
            m_received.RemoveFirst(1);
        }
        if (number >= m_largest)
        {
            m_largest = number;
            m_largestTime = now;
        }
        if (!isEliciting)
        {
            return;
        }
        ++m_eliciting;
        const bool fillsGap = m_hasReported && number < m_reported;
        const bool leavesGap = m_hasReported && m_received.All().back().begin > m_reported + 1;
        m_isDue |= isUrgent || m_eliciting >= m_spec.every || fillsGap || leavesGap;
        m_deadline = m_isDue ? NEVER : std::min(m_deadline, now + m_spec.delay);
    }

    /// Whether an ACK is due now, in a packet of its own if need be.
    bool IsDue(int64_t now) const
    {
        return HasNew() && (m_isDue || m_deadline <= now);
    }

    /// Whether there is something new to acknowledge: a packet with data then has an ACK, too.
    bool HasNew() const
    {
        return m_eliciting > 0 && !m_received.All().empty();
    }

    /// When the delayed ACK is due, ns; NEVER: none is delayed.
    int64_t Deadline() const
    {
        return m_deadline;
    }

    /// Ranges of numbers that an ACK reports, lowest first.
    const NumberRanges& Ranges() const
    {
        return m_received;
    }

    /// The ACK delay: time since the packet with the largest number arrived, ns.
    int64_t Delay(int64_t now) const
    {
        return now - m_largestTime;
    }

    /// Size of an ACK frame (RFC 9000, section 19.3).
    uint32_t FrameBytes(int64_t now)
    {
        constexpr int64_t DELAY_UNIT = 8 * US; // ack_delay_exponent 3
        const auto& ranges = m_received.All();
        const auto delay = static_cast<uint64_t>(Delay(now) / DELAY_UNIT);
        if (m_received.Version() != m_countedVersion)
        {
            CountOlder();
        }
        return m_typeBytes + VariableLength(m_largest) + VariableLength(delay) +
               VariableLength(ranges.size() - 1) +
               VariableLength(ranges.back().end - ranges.back().begin - 1) + m_olderBytes;
    }

    /// An ACK is sent.
    void OnSent()
    {
        m_reported = m_largest;
        m_hasReported = true;
        m_eliciting = 0;
        m_isDue = false;
        m_deadline = NEVER;
    }

    /// The peer has received an ACK of numbers up to `largest`: later ACKs leave them out.
    void OnAckOfAck(uint64_t largest)
    {
        if (largest >= m_floor)
        {
            m_floor = largest + 1;
            m_received.RemoveBelow(m_floor);
        }
    }

  private:
    /// Count what all ranges but the last one, and the gaps, take in an ACK frame.
    void CountOlder()
    {
        const auto& ranges = m_received.All();
        m_countedVersion = m_received.Version();
        m_olderBytes = 0;
        for (size_t i = 1; i < ranges.size(); ++i)
        {
            m_olderBytes += VariableLength(ranges[i].begin - ranges[i - 1].end - 1) +
                            VariableLength(ranges[i - 1].end - ranges[i - 1].begin - 1);
        }
    }

    const QuicAcksSpec m_spec;
    NumberRanges m_received;
    uint64_t m_countedVersion{0}; //!< NumberRanges::Version() that m_olderBytes is of
    uint32_t m_olderBytes{0};
    uint32_t m_typeBytes{1};   //!< of the frame's type, and of its path
    uint64_t m_floor{0};       //!< numbers below are no longer acknowledged
    uint64_t m_largest{0};     //!< largest number that arrived
    int64_t m_largestTime{0};  //!< when it arrived, ns
    uint64_t m_reported{0};    //!< largest number of the latest ACK
    bool m_hasReported{false}; //!< an ACK was sent
    uint32_t m_eliciting{0};   //!< packets since the latest ACK that ask for one
    bool m_isDue{false};
    int64_t m_deadline{NEVER};
};

} // namespace tunnelcc

#endif // TUNNELCC_ACK_TRACKER_H
