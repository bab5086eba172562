/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnelcc.h"

/// Paces: 1/16 faster after each round trip without loss, 1/8 slower after one with.
class Rate : public tc::CongestionControl
{
  public:
    Rate()
    {
        ownsWindow = true;
    }

    void OnStart(tc::State& state) override
    {
        Set(state);
    }

    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        m_losses += ack.lost;
        if (ack.isNewRound)
        {
            m_rate = m_losses > 0 ? std::fmax(m_rate - std::floor(m_rate / 8), 50)
                                  : m_rate + std::floor(m_rate / 16);
            m_losses = 0;
        }
        Set(state);
    }

  private:
    void Set(tc::State& state) const
    {
        state.cwnd = std::fmax(std::floor(m_rate * std::round(state.minRtt * 1e6) * 2 / 1e6), 4);
        state.pacingRate = m_rate * state.mss * 8;
    }

    double m_rate{500}; //!< segments/s
    double m_losses{0};
};

TUNNELCC_CONGESTION_CONTROL(Rate);
