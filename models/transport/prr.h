/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PRR_H
#define TUNNELCC_PRR_H

#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * Proportional Rate Reduction (RFC 9937, successor of RFC 6937), as in Linux's
 * tcp_cwnd_reduction(): sends ssthresh/prior_cwnd segments per segment delivered, and fills up to
 * ssthresh by slow start (PRR-SSRB) or by what was delivered (PRR-CRB) when in flight falls below.
 * In segments.
 *
 * Linux before 5.11 slow-starts on an ACK of retransmissions that shows none of them lost; since
 * then, as in RFC 9937, on any progress without a new loss. Before 5.19, PRR-CRB sends no more than
 * the ACK delivered, whatever was left unsent before.
 */
class Prr
{
  public:
    explicit Prr(PrrSlowStart slowStart)
        : m_slowStart(slowStart)
    {
    }

    /// What an ACK shows, which decides whether PRR slow-starts.
    struct Progress
    {
        bool isLossless{false}; //!< the ACK advanced SND.UNA and marked nothing lost
        bool isRepaired{false}; //!< it acknowledged retransmissions and showed none of them lost
    };

    void Begin(uint32_t priorCwnd)
    {
        m_priorCwnd = priorCwnd;
        m_delivered = 0;
        m_out = 0;
    }

    void OnSent(uint32_t count = 1)
    {
        m_out += count;
    }

    bool HasSent() const
    {
        return m_out > 0;
    }

    /**
     * Window after an ACK or a loss mark.
     * \param inFlight segments in flight now
     * \param acked segments newly delivered
     * \param progress of the ACK
     */
    uint32_t Cwnd(uint32_t ssthresh, uint32_t inFlight, uint32_t acked, Progress progress)
    {
        m_delivered += acked;
        int64_t room = int64_t{ssthresh} - inFlight;
        int64_t send;
        if (room < 0)
        {
            uint64_t share = uint64_t{ssthresh} * m_delivered;
            send = static_cast<int64_t>((share + m_priorCwnd - 1) / m_priorCwnd) - m_out;
        }
        else
        {
            bool needsRepair = m_slowStart == PrrSlowStart::REPAIR;
            bool isSafe = needsRepair ? progress.isRepaired : progress.isLossless;
            bool catchesUp = isSafe || !needsRepair;
            send = std::max<int64_t>(catchesUp ? m_delivered - m_out : 0, acked) + isSafe;
            send = std::min(send, room);
        }
        send = std::max<int64_t>(send, HasSent() ? 0 : 1);
        return std::max<uint32_t>(1, inFlight + static_cast<uint32_t>(send));
    }

  private:
    const PrrSlowStart m_slowStart;
    uint32_t m_priorCwnd{1};
    int64_t m_delivered{0};
    int64_t m_out{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PRR_H
