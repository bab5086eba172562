/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TRANSMITTER_H
#define TUNNELCC_TRANSMITTER_H

#include "congestion-window.h"
#include "loss-recovery.h"
#include "pacer.h"
#include "rate-sampler.h"
#include "scoreboard.h"
#include "send-buffer.h"
#include "send-window.h"
#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tunnelcc
{

/// What a sender needs of its endpoint.
class SegmentOutput
{
  public:
    virtual ~SegmentOutput() = default;

    /// Transmit `count` segments from number `first` on. \param last of them; the others are like
    /// it, but without PSH
    virtual void SendSegments(int64_t now, uint64_t first, uint32_t count, const Segment& last) = 0;

    /// Transmit a packet that asks for an ACK and carries nothing (RFC 9293, section 3.8.6.1).
    virtual void SendWindowProbe(int64_t now) = 0;

    /// A timer of the sender has run: return the memory that was released, but kept in reserve.
    virtual void ReturnReserve() = 0;
};

/**
 * Sends segments, lost ones first, in the bursts that Linux builds for segmentation offload: as
 * long as tcp_tso_autosize() says, with PSH at the end, and new data only once enough of it may go
 * (tcp_tso_should_defer()).
 */
class Transmitter
{
  public:
    /// What the segments are taken from and sent by.
    struct Parts
    {
        Scoreboard& board;
        SendBuffer& buffer;
        RateSampler& rate;
        CongestionWindow& window;
        LossRecovery& recovery;
        const Pacer& pacer;
        SegmentOutput& output;
    };

    Transmitter(const TcpSpec& spec, const Parts& parts);

    /// What was sent at once.
    struct Burst
    {
        uint32_t segments{0};
        uint64_t bytes{0};     //!< payload
        bool isWhole{false};   //!< as long as may go at once: pacing lets more follow later
        bool isLimited{false}; //!< cwnd leaves less room than new data waits for
    };

    /// Send what the windows allow. \param isOne no more than one burst of SegmentsPerBurst()
    Burst SendBurst(int64_t now, uint32_t perBurst, bool isOne);

    /// Segments that pacing and the algorithm make one super-segment of.
    uint32_t SegmentsPerBurst() const;

    /// Send one new segment, or FIN. \param fillsWindow however little room the peer's window
    /// leaves
    /// \returns whether there was one to send
    bool SendNew(int64_t now, bool fillsWindow = false)
    {
        return SendNext(now, fillsWindow, false);
    }

    /// Send a segment again. \param isProbe as a tail loss probe
    void Retransmit(int64_t now, uint64_t number, bool isProbe = false);

    /// Whether anything waits to be sent, whatever the windows say. Less than a segment does not
    /// while Nagle's rule holds it back.
    bool HasMore() const
    {
        return m_buffer.Unsent() >= m_mss || m_board.HasLostToSend() ||
               (m_isClosing && !m_isFinSent) || (m_buffer.Unsent() > 0 && CanSendNew());
    }

    /// Whether new data may be sent.
    bool CanSendNew() const
    {
        return NextLength(false) > 0;
    }

    /// Whether the peer's window has no room for the next new segment.
    bool IsPeerWindowClosed() const
    {
        return PeerRoom() < std::min<uint64_t>(m_mss, m_buffer.Unsent());
    }

    /// Whether new data that wait for a longer burst wait for the peer's window to make room, not
    /// for ours.
    bool WaitsForPeerRoom() const
    {
        // Linux tcp_tso_should_defer(): is_rwnd_limited
        return PeerRoom() <= m_window.Room() && PeerRoom() <= m_buffer.Unsent();
    }

    /// Send FIN after everything written.
    void Close()
    {
        m_isClosing = true;
    }

    bool IsFinSent() const
    {
        return m_isFinSent;
    }

    SendWindow& PeerWindow()
    {
        return m_peerWindow;
    }

    const SendWindow& PeerWindow() const
    {
        return m_peerWindow;
    }

    /// Forget that the first segment outstanding was sent. \returns whether it was, since the last
    /// call
    bool TakeHeadSent()
    {
        return std::exchange(m_isHeadSent, false);
    }

    /// When the latest segment was sent, ns.
    int64_t LastSendTime() const
    {
        return m_lastSendTime;
    }

    /// Let idle time count from `now`.
    void RestartIdle(int64_t now)
    {
        m_lastSendTime = now;
    }

    /// Segments sent, retransmissions included.
    uint64_t Segments() const
    {
        return m_window.State().segmentsSent;
    }

    uint64_t Retransmits() const
    {
        return m_retransmits;
    }

  private:
    /// Send lost segments as paced. \param first the next of them
    Burst RepairBurst(int64_t now, uint32_t perBurst, uint64_t first);
    /// Whether new data waits until a whole burst of it may go.
    bool DefersNew(int64_t now, uint32_t perBurst) const;
    /// Number of new full segments that may be sent now.
    uint32_t FullSegments(uint32_t most) const;
    /// Send the next segments of a super-segment, all that are full at once. \param filled segments
    /// that it has  \param most that it may have  \returns how many were sent
    uint32_t SendRun(int64_t now, uint32_t filled, uint32_t most);
    bool SendNext(int64_t now, bool fillsWindow, bool isPushed);
    /// Send new segments. \param length of each  \param flags of the last
    void SendNew(int64_t now, uint16_t length, uint8_t flags, uint32_t count);
    void Transmit(int64_t now, uint64_t first, uint32_t count);

    uint64_t PeerRoom() const
    {
        return m_peerWindow.Room(m_buffer.SentOffset());
    }

    uint16_t NextLength(bool fillsWindow) const
    {
        return m_peerWindow.NextLength(m_buffer, m_board, m_isClosing, fillsWindow);
    }

    const uint32_t m_mss;
    const int64_t m_deferralLimit; //!< ns
    Scoreboard& m_board;
    SendBuffer& m_buffer;
    RateSampler& m_rate;
    CongestionWindow& m_window;
    LossRecovery& m_recovery;
    const Pacer& m_pacer;
    SegmentOutput& m_output;
    SendWindow m_peerWindow;
    bool m_isClosing{false};
    bool m_isFinSent{false};
    bool m_isHeadSent{false};
    int64_t m_lastSendTime{0};
    uint64_t m_retransmits{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_TRANSMITTER_H
