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

/// The round-trip time that an ACK shows, ns: for the estimator, and for the congestion control.
struct RttSample
{
    int64_t smoothed; //!< for SRTT: of the oldest segment that it acknowledges
    int64_t latest;   //!< for the algorithm: of the latest one, in whole µs
};

/// What an ACK acknowledges, collected while it is processed. Times of transmission are in ns, and
/// of segments that were never retransmitted; −1: there is none.
struct AckSummary
{
    uint32_t delivered{0};          //!< segments newly delivered
    uint32_t cumulative{0};         //!< segments by which SND.UNA advanced
    uint32_t sacked{0};             //!< segments newly sacked
    bool deliveredOriginal{false};  //!< a segment from before the recovery, never retransmitted
    bool ackedRetransmitted{false}; //!< a retransmitted segment was acknowledged cumulatively
    int64_t oldestSent{-1};         //!< when the oldest one acknowledged cumulatively was sent
    int64_t latestSent{-1};
    int64_t oldestSacked{-1}; //!< when the oldest one newly sacked was sent
    int64_t latestSacked{-1};

    /// The RTT that the ACK shows (Linux tcp_clean_rtx_queue(), tcp_ack_update_rtt()).
    /// \param now ns
    /// \param echo our timestamp that the ACK echoes, ms; none: without timestamps
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
     * Whether the retransmission time-out starts again now (Linux tcp_clean_rtx_queue()): SND.UNA
     * advanced, or a SACK reports data sent after the first outstanding segment was last sent.
     * Other SACKs could put off the time-out for ever.
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
