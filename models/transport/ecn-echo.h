/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ECN_ECHO_H
#define TUNNELCC_ECN_ECHO_H

#include <cstdint>

namespace tunnelcc
{

/// The ECN bits in the IP and TCP headers of a data packet (RFC 3168).
struct EcnMarks
{
    bool isEct; //!< ECT: it may be marked
    bool isCe;  //!< CE: it was marked
    bool isCwr; //!< CWR: the sender has reduced its window
};

/**
 * Decides which ACKs echo a mark: all from a mark on until the sender has reacted (RFC 3168,
 * section 6.1.3), or, for congestion controls such as DCTCP, those whose latest segment was marked
 * (RFC 8257, section 3.2).
 */
class EcnEcho
{
  public:
    /// ACKs sent at once after a mark (Linux __tcp_ecn_check_ce()).
    static constexpr uint32_t QUICK_ACKS = 2;

    /// The ACKs that a segment's marks require.
    struct Request
    {
        bool isAckDue;      //!< acknowledge it at once
        bool isQuickAckDue; //!< acknowledge QUICK_ACKS segments at once, from this one on
    };

    /// From now on an ACK echoes the mark of the latest segment alone, as DCTCP needs it.
    void MirrorMarks()
    {
        m_isMirroring = m_isOn = true;
    }

    /// Whether an ACK echoes the mark of the latest segment alone.
    bool IsMirroring() const
    {
        return m_isMirroring;
    }

    /// Whether OnSegment() is needed for segments without marks, too: some segment had marks, or
    /// ACKs echo each.
    bool IsOn() const
    {
        return m_isOn;
    }

    /// Whether a segment changes the mark that ACKs echo: the segments before it then need an ACK
    /// of their own (RFC 8257, section 3.2; Linux dctcp_ece_ack_update()).
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
    bool m_isOn{false}; //!< some segment had marks, or ACKs echo each
    bool m_isMirroring{false};
    bool m_isEchoing{false};
    bool m_hasSeenEct{false}; //!< data arrived that may be marked
};

} // namespace tunnelcc

#endif // TUNNELCC_ECN_ECHO_H
