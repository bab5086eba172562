/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TAIL_LOSS_PROBE_H
#define TUNNELCC_TAIL_LOSS_PROBE_H

#include <cstdint>

namespace tunnelcc
{

/// The state of a tail loss probe, from its transmission to the ACK that shows whether it repaired
/// a loss (RFC 8985, section 7.4; Linux tcp_process_tlp_ack()).
class TailLossProbe
{
  public:
    /// A probe was sent. \param nxt SND.NXT after it  \param isRetransmission it is a segment sent
    /// again, as no new data could be sent
    void OnSent(uint64_t nxt, bool isRetransmission)
    {
        m_end = nxt;
        m_isRetransmission = isRetransmission;
    }

    /// Whether the ACK that answers it is yet to come.
    bool IsOut() const
    {
        return m_end != 0;
    }

    /// Whether it is out, and a segment sent again.
    bool IsRetransmissionOut() const
    {
        return IsOut() && m_isRetransmission;
    }

    /// Whether segment `number` is the probe (Linux FLAG_DSACK_TLP).
    bool Is(uint64_t number) const
    {
        return m_end == number + 1;
    }

    /// Forget it: recovery has begun.
    void Cancel()
    {
        m_end = 0;
    }

    /// An ACK came of all before `una`. \param isDuplicate it reports the probe as a duplicate
    /// \returns whether the probe is known by now to have repaired a loss
    bool OnAck(uint64_t una, bool isDuplicate)
    {
        if (!IsOut() || una < m_end)
        {
            return false;
        }
        const bool hasLoss = m_isRetransmission && !isDuplicate;
        if (hasLoss && una == m_end)
        {
            return false; // of the original or of the probe: a D-SACK or the next ACK will tell
        }
        m_end = 0;
        return hasLoss;
    }

  private:
    uint64_t m_end{0}; //!< SND.UNA that answers it; 0: none is out
    bool m_isRetransmission{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_TAIL_LOSS_PROBE_H
