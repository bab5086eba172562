/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_SENDER_H
#define TUNNELCC_QUIC_SENDER_H

#include "ack-tracker.h"
#include "event/timer.h"
#include "loss-detection.h"
#include "packet-history.h"
#include "path-mtu-search.h"
#include "path/path.h"
#include "quic-congestion.h"
#include "quic-handshake.h"
#include "transport/send-limits.h"

#include <cstdint>
#include <memory>

namespace tunnelcc
{

/// What one end of a connection has sent, whole run.
struct QuicCounters
{
    uint64_t packets{0};       //!< packets with data of streams, or datagrams
    uint64_t retransmits{0};   //!< those of them that carry data for the second time
    uint64_t lostByNumber{0};  //!< packets lost by kPacketThreshold
    uint64_t lostByTime{0};    //!< packets lost by kTimeThreshold
    uint64_t probeTimeouts{0}; //!< PTOs
    uint64_t bytes{0};         //!< IP bytes
    uint64_t all{0};           //!< packets of any kind
};

/// Fills packets for a QuicSender: the connection implements it.
class QuicContents
{
  public:
    virtual ~QuicContents() = default;

    /// Append frames that fit in `room` to the history. \param path the sender's
    /// \param hasAck whether an ACK took some of the packet \returns their bytes
    virtual uint32_t AddFrames(int64_t now, uint32_t path, uint32_t room, bool hasAck) = 0;

    /// Whether what waits takes an ACK along before that is due.
    virtual bool TakesAckAlong() const = 0;

    /// A packet was sent: writers may go on.
    virtual void OnPacketSent(int64_t now) = 0;

    virtual void OnFrameAcked(const QuicFrame& frame) = 0;
    /// \param path that it was sent on
    virtual void OnFrameLost(uint32_t path, const QuicFrame& frame) = 0;

    /// Why data waits that the congestion window and pacing of a path allow.
    virtual SendLimit LimitOfData(uint32_t path) const = 0;

    /// No ACK came for packets of a path: probes are due there.
    virtual void OnProbeTimeout(uint32_t path) = 0;

    /// A timer of a path says that more may leave.
    virtual void SendMore(int64_t now) = 0;
};

/**
 * Decides when packets leave on a path, and follows them: loss detection, probes, congestion
 * control, pacing, and the search for larger packets.
 */
class QuicSender
{
  public:
    QuicSender(EventLoop& loop,
               const QuicSpec& spec,
               End end,
               const Channel& channel,
               std::unique_ptr<CongestionControl> algorithm,
               QuicContents& contents,
               QuicHandshake& handshake,
               AckTracker& acks,
               uint32_t path);

    /// Set the receiver of the packets.
    void SetPeer(PacketSink& peer)
    {
        m_peer = &peer;
    }

    /// Send what may leave now. \returns whether something did
    bool SendAll(int64_t now);

    /// Send one packet, if one may leave now. \returns whether it did
    bool SendOne(int64_t now);

    /// Whether a packet with data may leave now.
    bool CanSend(int64_t now) const
    {
        return m_congestion.HasRoom() && m_congestion.NextSend(now) <= now;
    }

    /// Let all that is in flight be sent again, although it may still arrive. \returns bytes of
    /// streams in it
    uint64_t RepeatAll();

    /// As CongestionControl::Couple().
    void Couple(CoupledGroup& group)
    {
        m_congestion.Couple(group);
    }

    /// An ACK arrived. \param ack the peer's packet that contains it  \param peer the peer's
    /// history
    void OnAck(int64_t now, const QuicPacket& ack, const PacketHistory& peer);

    /// The handshake is over.
    void OnHandshakeDone(int64_t now);

    /// As ByteStream::NoteIdle().
    void NoteIdle(int64_t now, SendLimit why);

    PacketHistory& History()
    {
        return m_history;
    }

    const PacketHistory& History() const
    {
        return m_history;
    }

    const LossDetection& Detection() const
    {
        return m_detection;
    }

    const QuicCongestion& Congestion() const
    {
        return m_congestion;
    }

    /// UDP payload of a full packet, bytes.
    uint32_t PacketBytes() const
    {
        return m_search.Size();
    }

    /// UDP payload of the outstanding packets, bytes.
    uint64_t BytesInFlight() const
    {
        return m_history.BytesInFlight();
    }

    QuicCounters Counters() const
    {
        QuicCounters counters = m_counters;
        counters.lostByNumber = m_detection.LostByNumber();
        counters.lostByTime = m_detection.LostByTime();
        counters.probeTimeouts = m_detection.ProbeTimeouts();
        return counters;
    }

    /// Why this end waited, and for how long.
    const SendLimits& Limits() const
    {
        return m_limits;
    }

  private:
    bool SendHandshakePacket(int64_t now);
    void SendProbe(int64_t now);
    void SendMtuProbe(int64_t now);
    bool SendPacket(int64_t now, bool isAckOnly);
    void Transmit(int64_t now, uint32_t bytes, bool hasAck);
    void Settle(int64_t now, const LossDetection::Outcome& outcome, uint64_t priorBytes);
    void Repeat(QuicPacket& packet);
    void CountData(const QuicPacket& packet);
    void NoteLimit(int64_t now, SendLimit limit);
    void SetTimers(int64_t now);
    void OnLossTime(int64_t now);
    void OnSendTime(int64_t now);
    void OnAckTime(int64_t now);

    const QuicSpec m_spec;
    const uint32_t m_overhead;
    Channel m_channel;
    QuicContents& m_contents;
    QuicHandshake& m_handshake;
    AckTracker& m_acks;
    const uint32_t m_path;
    PacketSink* m_peer{nullptr};
    PacketHistory m_history;
    LossDetection m_detection;
    QuicCongestion m_congestion;
    PathMtuSearch m_search;
    bool m_isSending{false};
    bool m_isHandshakeDone{false};
    uint32_t m_acksAlone{0}; //!< packets with only an ACK since one that asked for an ACK
    QuicCounters m_counters;
    SendLimits m_limits;
    SendLimit m_idle{SendLimit::APPLICATION}; //!< the limit while nothing is written
    Timer<QuicSender, &QuicSender::OnLossTime> m_lossTimer;
    Timer<QuicSender, &QuicSender::OnSendTime> m_sendTimer;
    Timer<QuicSender, &QuicSender::OnAckTime> m_ackTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_SENDER_H
