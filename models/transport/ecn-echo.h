/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ECN_ECHO_H
#define TUNNELCC_ECN_ECHO_H

#include <cstdint>

namespace tunnelcc
{

/// What the IP and TCP headers of a data packet say of congestion (RFC 3168).
struct EcnMarks
{
    bool isEct; //!< it may be marked
    bool isCe;  //!< it was
    bool isCwr; //!< the sender has reduced its window
};

/**
 * Which ACKs echo marks: from a mark on until the sender has reacted (RFC 3168, section 6.1.3), or,
 * for congestion controls such as DCTCP, those whose latest segment was marked (RFC 8257, section
 * 3.2).
 */
class EcnEcho
{
  public:
    /// ACKs sent at once after a mark (Linux __tcp_ecn_check_ce()).
    static constexpr uint32_t QUICK_ACKS = 2;

    /// What a segment's marks ask for.
    struct Request
    {
        bool isAckDue;      //!< acknowledge it at once
        bool isQuickAckDue; //!< and QUICK_ACKS segments from it on
    };

    /// Tell of the latest segment alone from now on.
    void MirrorMarks()
    {
        m_isMirroring = m_isOn = true;
    }

    /// Whether ACKs tell of the latest segment alone.
    bool IsMirroring() const
    {
        return m_isMirroring;
    }

    /// Whether segments without marks may ask for something, too: some had marks, or all are told
    /// of.
    bool IsOn() const
    {
        return m_isOn;
    }

    /// Whether a segment would change what ACKs tell, so that those before it need an ACK of their
    /// own (RFC 8257, section 3.2; Linux dctcp_ece_ack_update()).
    bool NeedsAckBefore(const EcnMarks& marks) const
    {
        return m_isMirroring && m_isEchoing != marks.isCe;
    }

    /// Take in the marks of a data packet.
    Request OnSegment(const EcnMarks& marks)
    {
        m_isOn = true;
        if (m_isMirroring)
        {
            const bool hasChanged = NeedsAckBefore(marks);
            m_isEchoing = marks.isCe;
            return {hasChanged || marks.isCwr, false};
        }
        // Linux tcp_ecn_accept_cwr(), __tcp_ecn_check_ce(): the sender's window may be so small
        // that it waits for each ACK; what cannot be marked after what could is a retransmission.
        m_isEchoing &= !marks.isCwr;
        const bool isRepeated = m_hasSeenEct && !marks.isEct;
        const bool isNew = marks.isCe && !m_isEchoing;
        m_isEchoing |= marks.isCe;
        m_hasSeenEct |= marks.isEct;
        return {marks.isCwr, isNew || isRepeated};
    }

    /// Whether an ACK sent now echoes a mark.
    bool IsEchoing() const
    {
        return m_isEchoing;
    }

  private:
    bool m_isOn{false}; //!< some segment had marks, or ACKs tell of each
    bool m_isMirroring{false};
    bool m_isEchoing{false};
    bool m_hasSeenEct{false}; //!< data arrived that may be marked
};

} // namespace tunnelcc

#endif // TUNNELCC_ECN_ECHO_H
