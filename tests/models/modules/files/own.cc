/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * A class as a user writes it, compiled as the Python package does: `loader-test.cc` runs it.
 */
#include "tunnelcc.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace
{

int g_objects = 0;

} // namespace

class Own : public tc::CongestionControl
{
  public:
    void Describe(tc::Parameters& parameters) override
    {
        parameters.Add("step", m_step, "segments more each round trip", 0.1, 100);
        parameters.Add("fails", m_fails, "how", 0, 9);
    }

    void Configure(uint64_t /* seed */) override
    {
        ++g_objects;
    }

    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        switch (m_fails)
        {
        case 1:
            throw std::runtime_error("of mine");
        case 2:
            state.cwnd = NAN;
            return;
        case 3:
            *reinterpret_cast<volatile int*>(8) = 1;
            break;
        case 4:
            m_fails /= static_cast<int>(ack.lost);
            break;
        case 5:
            std::exit(EXIT_SUCCESS);
        case 6:
            while (state.cwnd > 0)
            {
                *static_cast<volatile double*>(&m_step) = m_step;
            }
            break;
        case 7:
            std::abort();
        default:
            break;
        }
        state.cwnd += m_step * ack.acked / state.cwnd + g_objects;
    }

  private:
    double m_step{1};
    int64_t m_fails{0};
};

TUNNELCC_CONGESTION_CONTROL(Own);
