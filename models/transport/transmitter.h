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

/// Sends packets for a Sender: its endpoint implements it.
class SegmentOutput
{
  public:
    virtual ~SegmentOutput() = default;

    /// Transmit `count` segments from number `first` on. \param last the last of them; the others
    /// have the same fields, but no PSH
    virtual void SendSegments(int64_t now, uint64_t first, uint32_t count, const Segment& last) = 0;

    /// Transmit a packet that asks for an ACK and carries nothing (RFC 9293, section 3.8.6.1).
    virtual void SendWindowProbe(int64_t now) = 0;

    /// A timer of the sender has run: give back the memory that the socket keeps in reserve.
    virtual void ReturnReserve() = 0;
};

/**
 * Sends segments, lost ones first, in the bursts that Linux builds for segmentation offload. A
 * burst has the length of tcp_tso_autosize() and PSH at its end; new data waits until enough of it
 * may be sent (tcp_tso_should_defer()).
 */
class Transmitter
{
  public:
    /// The other parts of the sender that this one uses; they outlive it.
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
        bool isWhole{false};   //!< it is as long as a burst may be; pacing lets the next one follow
        bool isLimited{false}; //!< cwnd has less room than the new data that waits needs
    };

    /// Send what the windows allow. \param isOne no more than one burst of SegmentsPerBurst()
    Burst SendBurst(int64_t now, uint32_t perBurst, bool isOne);

    /// Segments that pacing and the algorithm make one super-segment of.
    uint32_t SegmentsPerBurst() const;

    /// Send one new segment, or FIN. \param fillsWindow as of SendWindow::NextLength()
    /// \returns whether there was one to send
    bool SendNew(int64_t now, bool fillsWindow = false)
    {
        return SendNext(now, fillsWindow, false);
    }

    /// Send a segment again. \param isProbe as a tail loss probe
    void Retransmit(int64_t now, uint64_t number, bool isProbe = false);

    /// Whether anything waits to be sent, even if no window has room for it. Less than a segment
    /// does not count while Nagle's rule holds it back.
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

    /// Whether it is the peer's window, and not the congestion window, that must grow before new
    /// data fills a burst.
    bool WaitsForPeerRoom() const
    {
        // Linux tcp_tso_should_defer(): is_rwnd_limited
        return PeerRoom() <= m_window.Room() && PeerRoom() <= m_buffer.Unsent();
    }

    /// Segments have another payload from now on, bytes; those that were sent are split.
    void SetMss(uint32_t mss)
    {
        m_mss = mss;
        m_peerWindow.SetMss(mss);
    }

    /// Send a new segment of `length` bytes of payload, which are waiting.
    void SendProbe(int64_t now, uint16_t length);

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

    /// Whether the first segment outstanding was sent since the last call.
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
    /// Send the next segments of a super-segment, all full ones at once. \param filled segments
    /// that it has  \param most segments that it may have  \returns how many were sent
    uint32_t SendRun(int64_t now, uint32_t filled, uint32_t most);
    bool SendNext(int64_t now, bool fillsWindow, bool endsSuperSegment);
    /// Send new segments. \param length of each  \param flags of the last  \param goesOn whether
    /// they are of the same super-segment as those before, which is one of the kernel's buffers
    void SendNew(int64_t now, uint16_t length, uint8_t flags, uint32_t count, bool goesOn);
    void Transmit(int64_t now, uint64_t first, uint32_t count);

    uint64_t PeerRoom() const
    {
        return m_peerWindow.Room(m_buffer.SentOffset());
    }

    uint16_t NextLength(bool fillsWindow) const
    {
        return m_peerWindow.NextLength(m_buffer, m_board, m_isClosing, fillsWindow);
    }

    uint32_t m_mss;
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
