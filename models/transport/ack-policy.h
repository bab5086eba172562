/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ACK_POLICY_H
#define TUNNELCC_ACK_POLICY_H

#include "congestion/congestion-control.h"
#include "event/timer.h"
#include "receiver.h"
#include "rtt-estimator.h"
#include "spec/tcp-spec.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/// Sends an ACK when a timer of an AckPolicy asks for one.
class AckOutput
{
  public:
    virtual ~AckOutput() = default;

    /// Send an ACK by itself, and tell the policy.
    virtual void SendAck(int64_t now) = 0;
};

/**
 * Decides when a receiver sends an ACK.
 *
 * An ACK waits for a second segment (RFC 5681, section 4.2; RFC 9293, section 3.8.6.3) or for a
 * delay, which follows the usual time between segments, as in Linux. So do Linux's exceptions:
 * quick ACKs for the first segments and where the sender may be waiting for each ACK, compressed
 * duplicate ACKs, and the ping-pong mode, in which an ACK waits for an answer that carries it.
 *
 * With generic receive offload (Linux net/core/gro.c), segments that come in order within some time
 * of the first count as one segment of up to 64 KiB: the policy decides when that is complete, and
 * PSH completes it. The application gets each segment at once all the same.
 */
class AckPolicy
{
  public:
    /// ACKs sent at once when data begins to arrive (Linux TCP_MAX_QUICKACKS).
    static constexpr uint32_t QUICK_ACKS = 16;

    /**
     * \param spec settings of this end
     * \param rtt of the data sent from here
     * \param output who sends what the timers ask for
     */
    AckPolicy(EventLoop& loop, const TcpSpec& spec, const RttEstimator& rtt, AckOutput& output);
    ~AckPolicy();

    /// What the receiver knows after it has taken in a segment and told its user.
    struct Arrival
    {
        AckUrgency urgency;
        bool isAckDue;        //!< the sender wants to know at once
        bool isAllRead;       //!< nothing waits for the reader, nor for data before it
        bool isWindowOpened;  //!< reading has reopened the window far enough to tell the sender
        uint64_t next;        //!< segment expected next
        int64_t rtt;          //!< the receiver's own estimate, ns; 0: none
        bool isPushed{false}; //!< it bears PSH: no other is merged with it
    };

    /// A data packet came. \param length of its payload, bytes \param isPushed it bears PSH
    void OnSegment(uint32_t length, bool isPushed)
    {
        ++m_unacked;
        m_pushes += length < m_mss || (isPushed && m_acksPushed);
    }

    /// Data came in order.
    void OnInOrder(int64_t now);

    /// A segment let the window grow: an ACK tells the sender.
    void OnWindowGrown()
    {
        m_quickAcks |= 1; // Linux tcp_grow_window()
    }

    /// Data waits in the buffer, so the window is small: ACKs are delayed again.
    void EndQuickAcks()
    {
        m_quickAcks = 0; // Linux __tcp_select_window()
    }

    /// Acknowledge the next `acks` segments at once.
    void AckQuickly(uint32_t acks = QUICK_ACKS);

    /// Whether an ACK is due now because of the number of segments that wait for one.
    /// \param urgency of the latest segment
    bool AcksAnyway(AckUrgency urgency) const
    {
        return m_unacked >= m_ackEvery && urgency == AckUrgency::DELAYED && !m_merge;
    }

    /// Decide on the segment that was taken in. \returns whether to send an ACK now; if not, a
    ///          timer will send it
    // Inline, because it is so for every second segment.
    [[gnu::always_inline]] bool Decide(int64_t now, const Arrival& arrival)
    {
        if (m_merge && TryMerge(now, arrival))
        {
            return false;
        }
        if (arrival.isAckDue || arrival.urgency == AckUrgency::NOW ||
            (m_quickAcks > 0 && !IsInPingPong()) ||
            AcksRead(arrival.isAllRead, arrival.isWindowOpened))
        {
            return true;
        }
        if (arrival.urgency == AckUrgency::COMPRESSED)
        {
            return !TryCompress(now, arrival.next, arrival.rtt);
        }
        return m_unacked >= m_ackEvery || !TryDelay(now);
    }

    /// Whether to send an ACK after the application has read. \param isAllRead,isWindowOpened as in
    /// Arrival
    bool AcksRead(bool isAllRead, bool isWindowOpened) const
    {
        // Linux tcp_cleanup_rbuf(): the window has reopened, or all was read after a segment behind
        // which the sender may be waiting, and nothing out of order is left either.
        const uint32_t enough = IsInPingPong() ? 2 : 1;
        return isWindowOpened || (m_unacked > 0 && m_pushes >= enough && isAllRead);
    }

    /// An ACK is being sent, by itself or with data.
    void OnAckSent();

    /// Data is being sent, which may answer what came.
    void OnDataSent(int64_t now);

    /// Whether segments came since the last ACK.
    bool HasUnacked() const
    {
        return m_unacked > 0;
    }

    /// Whether duplicate ACKs wait to become one.
    bool IsCompressing() const
    {
        return m_compressed > 0;
    }

    /// Whether data that arrives is likely to be answered: ACKs wait for that.
    bool IsInPingPong() const
    {
        return m_answers >= m_pingPongAnswers;
    }

    /// As TcpEndpoint::Withdraw().
    void Withdraw();

  private:
    struct Merge;

    /// Merge the segment that arrived with those before it. \returns false: it completes them
    bool TryMerge(int64_t now, const Arrival& arrival);
    void OnMergeTimer(int64_t now);
    /// Let an ACK wait. \returns false: it is to be sent now
    bool TryDelay(int64_t now);
    /// Let a duplicate ACK wait for others. \returns false: it is to be sent now
    bool TryCompress(int64_t now, uint64_t next, int64_t rtt);
    int64_t Delay() const;
    void OnDelayTimer(int64_t now);
    void OnCompressionTimer(int64_t now);

    // What each segment needs stands together; see TcpEndpoint.
    Timer<AckPolicy, &AckPolicy::OnDelayTimer> m_delayTimer;
    const uint32_t m_mss;
    const uint32_t m_ackEvery;        //!< segments per ACK
    const uint32_t m_pingPongAnswers; //!< as many begin the ping-pong mode
    const bool m_acksPushed;          //!< PSH asks for an ACK
    uint32_t m_unacked{0};            //!< data segments received since the last ACK
    uint32_t m_quickAcks{0};          //!< quick ACKs that are left
    uint32_t m_pushes{0};             //!< since the last ACK, segments behind which the sender may
                                      //!< be waiting
    uint32_t m_answers{0};            //!< data sent in answer to data (Linux's pingpong)
    int64_t m_segmentTime{0};         //!< usual time between segments, ns; 0: none came yet
    int64_t m_lastInOrder{-NEVER};    //!< when data last arrived in order, ns; −NEVER: not yet
    int64_t m_lastSent{-NEVER};       //!< when data was last sent, ns; −NEVER: not yet
    const int64_t m_leastDelay;       //!< ns
    uint32_t m_compressed{0};         //!< ACKs that wait for m_compressionTimer
    uint32_t m_duplicateAcks{0};      //!< sent at once for m_duplicatesOf
    std::unique_ptr<Merge> m_merge;   //!< null: the host does not merge
    const RttEstimator& m_rtt;

    uint64_t m_duplicatesOf{0}; //!< segment that the latest duplicate ACKs ask for
    int64_t m_delayBegin{0};    //!< when m_delayTimer was set, ns
    int64_t m_delayEnd{0};      //!< and for when
    const int64_t m_jiffy;      //!< ns
    AckOutput& m_output;
    Timer<AckPolicy, &AckPolicy::OnCompressionTimer> m_compressionTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_ACK_POLICY_H
