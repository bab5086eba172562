/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UNDO_H
#define TUNNELCC_UNDO_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * Finds out whether a reduction of the window was needless, as Linux does with `undo_marker`: a
 * D-SACK reported every retransmission as a duplicate (RFC 3708), or an ACK echoes a timestamp from
 * before the first retransmission (Eifel, RFC 3522).
 */
class Undo
{
  public:
    /**
     * A reduction begins.
     * \param una first unacknowledged segment
     * \param retransmittedOut retransmissions in flight, a tail loss probe among them
     * \param cwnd window before the reduction, segments
     * \param ssthresh threshold before the reduction, segments
     */
    void Begin(uint64_t una, uint32_t retransmittedOut, uint32_t cwnd, uint32_t ssthresh)
    {
        m_isArmed = m_restores = true;
        m_una = una;
        m_retransmits = retransmittedOut > 0 ? int64_t{retransmittedOut} : -1;
        m_cwnd = cwnd;
        m_ssthresh = ssthresh;
    }

    /// Stop looking: the reduction was undone, or can no longer be.
    void Disarm()
    {
        m_isArmed = false;
    }

    /// There is another sign of congestion: the window will stay as it is (Linux clears
    /// prior_ssthresh).
    void Withhold()
    {
        m_restores = false;
    }

    /// Whether an undo restores the window.
    bool Restores() const
    {
        return m_restores;
    }

    /// Nothing retransmitted is left: the next retransmission is the first again.
    void ForgetRetransmissions()
    {
        m_hasRetransmitted = false;
    }

    /// A segment is sent again. \param clock sender's timestamp clock, ms
    void OnRetransmit(uint32_t clock)
    {
        if (!m_hasRetransmitted)
        {
            m_hasRetransmitted = true;
            m_firstRetransmit = clock;
        }
        m_retransmits = std::max<int64_t>(m_retransmits, 0) + 1;
    }

    /// The receiver reports segment `number` as a duplicate.
    void OnDuplicate(uint64_t number)
    {
        if (m_isArmed && m_retransmits > 0 && number >= m_una)
        {
            --m_retransmits;
        }
    }

    /// Every retransmission of the episode was a duplicate.
    bool IsAllDuplicate() const
    {
        return m_isArmed && m_retransmits == 0;
    }

    /// Whether the ACK answers an original: nothing was retransmitted yet, or it echoes a timestamp
    /// from before (Linux tcp_packet_delayed()). \param echo that timestamp, ms; none: it has none
    bool IsOriginalAcked(std::optional<uint32_t> echo) const
    {
        return m_isArmed && (!m_hasRetransmitted ||
                             (echo && static_cast<int32_t>(*echo - m_firstRetransmit) < 0));
    }

    /// Window before the reduction, segments.
    uint32_t PriorCwnd() const
    {
        return m_cwnd;
    }

    /// Threshold before the reduction, segments.
    uint32_t PriorSsThresh() const
    {
        return m_ssthresh;
    }

  private:
    uint64_t m_una{0};
    uint32_t m_cwnd{0};
    uint32_t m_ssthresh{0};
    bool m_isArmed{false};
    bool m_restores{false};
    bool m_hasRetransmitted{false};
    uint32_t m_firstRetransmit{0}; //!< ms
    int64_t m_retransmits{-1};     //!< not yet reported as duplicates; −1: none sent yet
};

} // namespace tunnelcc

#endif // TUNNELCC_UNDO_H
