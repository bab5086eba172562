/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_DELIVERY_SIGNALS_H
#define TUNNELCC_BBR3_DELIVERY_SIGNALS_H

#include <algorithm>
#include <cstdint>

/**
 * \file
 * What the path delivered in the latest round trip, and whether it lost anything
 * (draft-ietf-ccwg-bbr, section 5.5.10.3). These rounds start anew
 * with the first loss, so that each loss is judged by a whole round trip.
 */

namespace tunnelcc
{

/// Delivery and loss over the latest round trip.
class Bbr3DeliverySignals
{
  public:
    /// Forget all but when the round ends (ResetCongestionSignals()).
    void Reset()
    {
        m_hasLoss = false;
        m_bandwidth = 0;
        m_inflight = 0;
    }

    /**
     * A valid rate sample arrived (UpdateLatestDeliverySignals()).
     *
     * \param bandwidth segments/s
     * \param volume delivered while the sampled segment was in flight, segments
     * \param priorDelivered SenderState::delivered when it was sent
     * \param delivered SenderState::delivered now
     */
    void Update(double bandwidth, uint32_t volume, uint64_t priorDelivered, uint64_t delivered)
    {
        m_bandwidth = std::max(m_bandwidth, bandwidth);
        m_inflight = std::max(m_inflight, volume);
        m_isRoundStart = priorDelivered >= m_roundEnd;
        if (m_isRoundStart)
        {
            m_roundEnd = delivered;
        }
    }

    /// An ACK without a valid sample.
    void Skip()
    {
        m_isRoundStart = false;
    }

    /// The ACK is processed: a new round begins with its sample (AdvanceLatestDeliverySignals()).
    void Advance(double bandwidth, uint32_t volume)
    {
        if (m_isRoundStart)
        {
            m_bandwidth = bandwidth;
            m_inflight = volume;
        }
    }

    /// A segment was lost: the first loss begins a round.
    void NoteLoss(uint64_t delivered)
    {
        m_roundEnd = m_hasLoss ? m_roundEnd : delivered;
        m_hasLoss = true;
    }

    void ForgetLoss()
    {
        m_hasLoss = false;
    }

    bool HasLoss() const
    {
        return m_hasLoss;
    }

    /// Whether the present ACK ended a round.
    bool IsRoundStart() const
    {
        return m_isRoundStart;
    }

    /// BBR.bw_latest, segments/s.
    double GetBandwidth() const
    {
        return m_bandwidth;
    }

    /// BBR.inflight_latest, segments.
    uint32_t GetInflight() const
    {
        return m_inflight;
    }

  private:
    double m_bandwidth{0};
    uint32_t m_inflight{0};
    uint64_t m_roundEnd{0}; //!< BBR.loss_round_delivered
    bool m_isRoundStart{false};
    bool m_hasLoss{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_DELIVERY_SIGNALS_H
