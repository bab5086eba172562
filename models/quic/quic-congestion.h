/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_CONGESTION_H
#define TUNNELCC_QUIC_CONGESTION_H

#include "congestion/congestion-control.h"
#include "loss-detection.h"
#include "packet-control.h"
#include "packet-history.h"
#include "spec/quic-spec.h"
#include "token-bucket.h"
#include "transport/rate-sampler.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/**
 * Congestion control of a QUIC connection (RFC 9002, section 7 and appendix B): an algorithm, the
 * state that it sees, the periods of recovery, and pacing. SenderState counts bytes of packets,
 * with headers and tags, in full packets: the window, and what was sent, delivered and lost.
 *
 * A loss begins a recovery period, unless its packet was sent before one began. The period ends
 * with the first ACK of a packet sent in it; until then, nothing makes the window grow. With an
 * algorithm that sets window and rate itself, such as BBR, each further loss makes the period
 * longer. A PacketControl counts its own packets and knows its own recovery.
 */
class QuicCongestion
{
  public:
    /**
     * \param spec settings of the connection
     * \param end the end that sends
     * \param algorithm sets window and rate
     * \param history packets sent from here
     */
    QuicCongestion(const QuicSpec& spec,
                   End end,
                   std::unique_ptr<CongestionControl> algorithm,
                   const PacketHistory& history);

    /// As CongestionControl::Couple().
    void Couple(CoupledGroup& group)
    {
        m_algorithm->Couple(group, m_state);
    }

    /// The handshake is over.
    void Init(int64_t now, const RoundTrip& rtt);

    /// Full packets have another size from now on.
    void SetPacketBytes(uint32_t bytes)
    {
        m_state.mss = bytes;
        if (m_control)
        {
            m_control->OnPacketBytes(bytes);
        }
        UpdateRate();
    }

    /// The newest packet, which asks for an ACK, is sent. \param isIdle nothing was in flight
    void OnSent(int64_t now, QuicPacket& packet, bool isIdle);

    /// A packet with nothing but an ACK is sent.
    void OnAckSent(int64_t now, const QuicPacket& packet)
    {
        if (m_spec.pacing.countsAcks)
        {
            Pace(now, packet);
        }
        if (m_control && m_isReady)
        {
            m_control->OnSent(now, m_history, false);
        }
    }

    /// An ACK or the loss timer was processed. \param priorBytes bytes in flight before that
    void OnOutcome(int64_t now,
                   const LossDetection::Outcome& outcome,
                   const RoundTrip& rtt,
                   uint64_t priorBytes)
    {
        TakeOutcome(now, outcome, rtt, priorBytes);
        UpdateRate();
    }

    /// Nothing is left to send, although the window has room.
    void MarkAppLimited()
    {
        m_sampler.MarkAppLimited(InFlight());
    }

    /// The window, bytes.
    uint64_t Window() const
    {
        return m_control ? m_control->Window() : uint64_t{m_state.cwnd} * m_state.mss;
    }

    /// Whether the window has room for more.
    bool HasRoom() const
    {
        return m_history.BytesInFlight() < Window();
    }

    /// When pacing lets a full packet leave, ns.
    int64_t NextSend(int64_t now) const
    {
        return m_bucket.NextSend(now);
    }

    /// Rate of packets, bytes/s; 0: they are not paced.
    double PacingRate() const;

    const SenderState& State() const
    {
        return m_state;
    }

  private:
    void Sync(const RoundTrip& rtt);
    void TakeOutcome(int64_t now,
                     const LossDetection::Outcome& outcome,
                     const RoundTrip& rtt,
                     uint64_t priorBytes);

    /// The algorithm may have set another rate, or what it follows from has changed.
    void UpdateRate()
    {
        m_bucket.SetRate(PacingRate(), m_state.mss);
    }

    void Pace(int64_t now, const QuicPacket& packet);
    void OnLost(int64_t now, uint64_t number);
    void CountDelivered(uint64_t number);
    uint32_t FullPackets(uint64_t bytes) const;

    uint32_t InFlight() const
    {
        return FullPackets(m_history.BytesInFlight());
    }

    bool Completes(uint64_t& bytes, const QuicPacket& packet) const;
    bool IsLimited(uint64_t bytesInFlight) const;
    void SetCaState(int64_t now, CaState state);

    const QuicSpec m_spec;
    std::unique_ptr<CongestionControl> m_algorithm;
    PacketControl* const m_control; //!< the algorithm, if it is a PacketControl; else null
    const PacketHistory& m_history;
    const bool m_hasCongControl;
    const bool m_wantsLosses;
    const bool m_wantsDeliveries;
    SenderState m_state;
    RateSampler m_sampler;
    TokenBucket m_bucket;
    bool m_isReady{false};        //!< Init() was called
    uint64_t m_recoveryEnd{0};    //!< packets with lower numbers were sent before the latest cut
    uint64_t m_sentBytes{0};      //!< remainder that is less than a full packet
    uint64_t m_deliveredBytes{0}; //!< likewise
    uint64_t m_lostBytes{0};      //!< likewise
    uint32_t m_newlyLost{0};      //!< lost full packets that the algorithm was not told of yet
    int64_t m_lastSent{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_CONGESTION_H
