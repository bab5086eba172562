/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ACK_SUMMARY_H
#define TUNNELCC_ACK_SUMMARY_H

#include "acknowledgement.h"
#include "event/time-units.h"
#include "scoreboard.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// What an ACK says of the RTT: to the estimator, and to the congestion control; ns.
struct RttSample
{
    int64_t smoothed; //!< of the oldest segment that it acknowledges
    int64_t latest;   //!< of the latest one, in whole µs
};

/// What an ACK brought, gathered while it is processed. Times of transmission are those of segments
/// that were never retransmitted, ns; −1: there is none.
struct AckSummary
{
    uint32_t delivered{0};          //!< segments newly delivered
    uint32_t cumulative{0};         //!< by which SND.UNA advanced
    uint32_t sacked{0};             //!< segments newly sacked
    bool deliveredOriginal{false};  //!< one of before the recovery, never retransmitted
    bool ackedRetransmitted{false}; //!< cumulatively, a segment that was ever retransmitted
    int64_t oldestSent{-1};         //!< of those acked cumulatively
    int64_t latestSent{-1};
    int64_t oldestSacked{-1}; //!< of those newly sacked
    int64_t latestSacked{-1};

    /// The RTT that the ACK tells (Linux tcp_clean_rtx_queue(), tcp_ack_update_rtt()). \param now
    /// ns
    /// \param echo of our clock, ms; none: without timestamps
    std::optional<RttSample> GetRtt(int64_t now, std::optional<uint32_t> echo) const
    {
        // SRTT takes the oldest segment of the ACK, the congestion control the latest. Karn's rule;
        // where it leaves nothing, the timestamp echo.
        int64_t smoothed = -1;
        int64_t latest = -1;
        if (oldestSent >= 0 && !ackedRetransmitted)
        {
            smoothed = now - oldestSent;
            latest = now - latestSent;
        }
        if (oldestSacked >= 0)
        {
            smoothed = smoothed < 0 ? now - oldestSacked : smoothed;
            latest = now - latestSacked;
        }
        if (smoothed < 0 && cumulative > 0 && echo)
        {
            const uint32_t elapsed = TimestampClock(now) - *echo;
            smoothed = latest = std::max<int64_t>(elapsed, 1) * MS;
        }
        if (smoothed < 0)
        {
            return std::nullopt;
        }
        // tcp_stamp_us_delta() counts microseconds. In nanoseconds a queue's last bytes would pass
        // for a new minimum again and again, and put BBR's PROBE_RTT off.
        return RttSample{smoothed, latest - latest % US};
    }

    /**
     * Whether the retransmission time-out counts from now (Linux tcp_clean_rtx_queue()): SND.UNA
     * progressed, or a SACK came of data sent after the head of the queue was last transmitted;
     * else SACKs could put off the time-out for ever.
     */
    bool RestartsTimeout(const Scoreboard& board) const
    {
        if (cumulative > 0 || board.PacketsOut() == 0)
        {
            return cumulative > 0;
        }
        return oldestSacked >= 0 && oldestSacked < board.At(board.Una()).sentTime;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_ACK_SUMMARY_H
