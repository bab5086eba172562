/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnelcc.h"

/// Adds `step` segments a round trip, and keeps kept/1024 of its window after a loss.
class Aimd : public tc::CongestionControl
{
  public:
    void Describe(tc::Parameters& parameters) override
    {
        parameters.Add("step", m_step, "segments more each round trip", 1, 1000);
        parameters.Add("kept", m_kept, "part of 1024 that is left after a loss", 1, 1024);
    }

    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        if (!state.isCwndLimited)
        {
            return;
        }
        const double left = state.InSlowStart() ? state.SlowStart(ack.acked) : ack.acked;
        if (left > 0)
        {
            Grow(state, std::fmax(std::floor(state.cwnd / static_cast<double>(m_step)), 1), left);
        }
    }

    void OnLoss(tc::State& state) override
    {
        m_count = 0;
        state.cwnd = std::floor(state.cwnd * static_cast<double>(m_kept) / 1024);
    }

  private:
    /// Linux tcp_cong_avoid_ai()
    void Grow(tc::State& state, double perSegment, double acked)
    {
        if (m_count >= perSegment)
        {
            m_count = 0;
            ++state.cwnd;
        }
        m_count += acked;
        if (m_count >= perSegment)
        {
            const double steps = std::floor(m_count / perSegment);
            m_count -= steps * perSegment;
            state.cwnd += steps;
        }
    }

    int64_t m_step{2};
    int64_t m_kept{768};
    double m_count{0};
};

TUNNELCC_CONGESTION_CONTROL(Aimd);
