/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_FULL_PIPE_H
#define TUNNELCC_BBR3_FULL_PIPE_H

#include <cstdint>

/**
 * \file
 * BBRv3's estimate of whether sending faster still delivers more (draft-ietf-ccwg-bbr, section
 * 5.3.1.2).
 */

namespace tunnelcc
{

/// Looks for a plateau of the delivery rate while the sender accelerates.
class Bbr3FullPipe
{
  public:
    /// Start looking, from a delivery rate in segments/s; 0: whatever comes first (ResetFullBW()).
    void Reset(double baseline = 0)
    {
        m_baseline = baseline;
        m_rounds = 0;
        m_isFull = false;
    }

    /**
     * A round ended that the application did not limit.
     *
     * \param bandwidth delivery rate, segments/s
     * \param growth factor by which it must grow for the pipe not to be full
     * \param rounds as many without such growth in a row fill the pipe
     */
    void EndRound(double bandwidth, double growth, uint32_t rounds)
    {
        if (m_isFull)
        {
            return;
        }
        if (bandwidth >= m_baseline * growth)
        {
            Reset(bandwidth);
            return;
        }
        m_isFull = ++m_rounds >= rounds;
    }

    /// The delivery rate no longer grows (BBR.full_bw_now).
    bool IsFull() const
    {
        return m_isFull;
    }

  private:
    double m_baseline{0}; //!< BBR.full_bw, segments/s
    uint32_t m_rounds{0}; //!< BBR.full_bw_count
    bool m_isFull{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_FULL_PIPE_H
