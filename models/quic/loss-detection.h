/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LOSS_DETECTION_H
#define TUNNELCC_LOSS_DETECTION_H

#include "event/time-units.h"
#include "packet-history.h"
#include "round-trip.h"
#include "spec/quic-spec.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Loss detection (RFC 9002, section 6 and appendix A). A packet is lost when a later one is
 * acknowledged that was sent kPacketThreshold packets later, or longer ago than kTimeThreshold
 * allows. If no ACK comes for a probe time-out (PTO), probes are sent; that alone marks nothing
 * lost.
 */
class LossDetection
{
  public:
    /// Packets that an ACK, or the loss timer, shows to be acknowledged or lost, lowest number
    /// first.
    struct Outcome
    {
        std::vector<uint64_t> acked;
        std::vector<uint64_t> lost;
        bool hasSample{false};    //!< there is a new RTT sample
        bool isPersistent{false}; //!< the losses establish persistent congestion
    };

    /**
     * \param spec thresholds
     * \param maxAckDelay the peer's max_ack_delay, ns
     * \param history packets sent from here
     */
    LossDetection(const QuicLossSpec& spec, int64_t maxAckDelay, PacketHistory& history);

    /// A packet that asks for an ACK was sent.
    void OnSent(int64_t now)
    {
        m_lastSent = now;
    }

    /// An ACK arrived. \param ack the peer's packet that contains it  \param peer the peer's
    /// history
    /// \returns what the ACK shows; valid until the next call
    const Outcome& OnAck(int64_t now, const QuicPacket& ack, const PacketHistory& peer);

    /// When the timer fires, ns; NEVER: it is not set.
    int64_t Deadline() const;

    /// The timer has fired. \returns packets that are lost, valid until the next call; if there are
    ///          none, probes are due
    const Outcome& OnTimer(int64_t now);

    /// The handshake is over: the peer may delay ACKs, so PTO includes max_ack_delay from now on.
    void OnHandshakeDone()
    {
        m_isHandshakeDone = true;
    }

    /// PTO without its doublings (RFC 9002, section 6.2.1), ns.
    int64_t ProbeTimeout() const;

    const RoundTrip& Rtt() const
    {
        return m_rtt;
    }

    /// Whether no ACK came since the latest PTO.
    bool IsProbing() const
    {
        return m_doublings > 0;
    }

    /// Number of probes to be sent.
    uint32_t ProbesDue() const
    {
        return m_probesDue;
    }

    /// A probe was sent.
    void OnProbe()
    {
        --m_probesDue;
    }

    /// Packets lost by kPacketThreshold, whole run.
    uint64_t LostByNumber() const
    {
        return m_lostByNumber;
    }

    /// Packets lost by kTimeThreshold, whole run.
    uint64_t LostByTime() const
    {
        return m_lostByTime;
    }

    /// Probe time-outs, whole run.
    uint64_t ProbeTimeouts() const
    {
        return m_probeTimeouts;
    }

  private:
    void Begin();
    void DetectLost(int64_t now);
    bool IsPersistent() const;

    const QuicLossSpec m_spec;
    const int64_t m_maxAckDelay;
    PacketHistory& m_history;
    RoundTrip m_rtt;
    Outcome m_outcome;
    bool m_isHandshakeDone{false};
    bool m_hasAcked{false};
    uint64_t m_largestAcked{0};
    int64_t m_firstSample{0};  //!< time of the first RTT sample
    int64_t m_lossTime{NEVER}; //!< when the oldest packet will be lost by time
    int64_t m_lastSent{0};
    uint32_t m_doublings{0}; //!< pto_count
    uint32_t m_probesDue{0};
    uint64_t m_lostByNumber{0};
    uint64_t m_lostByTime{0};
    uint64_t m_probeTimeouts{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_LOSS_DETECTION_H
