/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RATE_SAMPLER_H
#define TUNNELCC_RATE_SAMPLER_H

#include "congestion/congestion-control.h"
#include "scoreboard.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02, section 3.3).
 *
 * Counts segments, as Linux does. What the draft stores as times per segment is stored as
 * differences to its transmission time in 16 ns ticks, exact up to 68 s.
 */
class RateSampler
{
  public:
    explicit RateSampler(SenderState& state)
        : m_state(state)
    {
    }

    /// A segment is sent, for the first time or again. Stores in `segment` what a sample needs.
    /// \param isIdle nothing was in flight before
    void OnSent(int64_t now, Segment& segment, bool isIdle)
    {
        segment.sentTime = now;
        if (isIdle)
        {
            m_firstSentTime = now;
            m_state.deliveredTime = now;
        }
        segment.firstSentDelta = Ticks(now - m_firstSentTime);
        segment.deliveredDelta = Ticks(now - m_state.deliveredTime);
        segment.delivered = static_cast<uint32_t>(m_state.delivered);
        segment.flags &= ~Segment::APP_LIMITED;
        segment.flags |= m_state.appLimitedUntil ? Segment::APP_LIMITED : 0;
    }

    /// An ACK arrives: begin a new sample.
    void OnAckBegin()
    {
        m_hasSample = false;
    }

    /// Segments were delivered, for the first time that we know of.
    void OnDelivered(const SegmentRun& run)
    {
        const Segment& segment = run.segment;
        const uint64_t number = run.last;
        m_state.delivered += run.Count();
        if (m_hasSample && !(segment.sentTime > m_firstSentTime ||
                             (segment.sentTime == m_firstSentTime && number > m_latest)))
        {
            return;
        }
        m_hasSample = true;
        m_latest = number;
        m_firstSentTime = segment.sentTime;
        m_sendElapsed = int64_t{segment.firstSentDelta} * TICK;
        m_priorTime = segment.sentTime - int64_t{segment.deliveredDelta} * TICK;
        auto behind = static_cast<uint32_t>(m_state.delivered) - segment.delivered;
        m_priorDelivered = m_state.delivered - behind;
        m_isAppLimited = segment.Has(Segment::APP_LIMITED);
    }

    /// The ACK has been processed. \param hasDelivered it delivered something
    RateSample OnAckEnd(int64_t now, bool hasDelivered)
    {
        if (m_state.appLimitedUntil && m_state.delivered > m_state.appLimitedUntil)
        {
            m_state.appLimitedUntil = 0;
        }
        if (hasDelivered)
        {
            m_state.deliveredTime = now;
        }
        RateSample sample;
        if (!m_hasSample)
        {
            return sample;
        }
        sample.priorDelivered = m_priorDelivered;
        sample.delivered = static_cast<uint32_t>(m_state.delivered - m_priorDelivered);
        sample.isAppLimited = m_isAppLimited;
        int64_t interval = std::max(m_sendElapsed, now - m_priorTime);
        sample.interval = interval >= m_state.minRtt ? interval : 0;
        return sample;
    }

    /// Number of the segment that the sample is of, if the ACK delivered any.
    std::optional<uint64_t> SampledSegment() const
    {
        return m_hasSample ? std::optional(m_latest) : std::nullopt;
    }

    /// The application has nothing more to send now: samples of what is in flight measure the
    /// application's rate, not the path's.
    void MarkAppLimited(uint32_t inFlight)
    {
        m_state.MarkAppLimited(inFlight);
    }

  private:
    static constexpr int64_t TICK = 16; //!< ns

    static uint32_t Ticks(int64_t duration)
    {
        return static_cast<uint32_t>(std::min<int64_t>(duration / TICK, UINT32_MAX));
    }

    SenderState& m_state;
    int64_t m_firstSentTime{0}; //!< start of the current send window
    bool m_hasSample{false};
    bool m_isAppLimited{false};
    uint64_t m_latest{0}; //!< number of the sampled segment
    uint64_t m_priorDelivered{0};
    int64_t m_priorTime{0};
    int64_t m_sendElapsed{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RATE_SAMPLER_H
