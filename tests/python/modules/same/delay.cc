/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnelcc.h"

/// A segment more or less each window, by whether the RTT is below 5/4 of the least one.
class Delay : public tc::CongestionControl
{
  public:
    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        if (ack.rtt > 0)
        {
            m_rtt = std::round(ack.rtt * 1e6);
        }
        m_count += ack.acked;
        if (m_count < state.cwnd)
        {
            return;
        }
        m_count = 0;
        if (4 * m_rtt < 5 * std::round(state.minRtt * 1e6))
        {
            ++state.cwnd;
        }
        else
        {
            state.cwnd = std::fmax(state.cwnd - 1, 2);
        }
    }

    void OnLoss(tc::State& state) override
    {
        state.cwnd = std::floor(state.cwnd / 2);
    }

  private:
    double m_rtt{0}; //!< us
    double m_count{0};
};

TUNNELCC_CONGESTION_CONTROL(Delay);
