/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_MAX_BANDWIDTH_H
#define TUNNELCC_BBR3_MAX_BANDWIDTH_H

#include <algorithm>

/**
 * \file
 * BBRv3's maximum bandwidth: the largest delivery rate of this bandwidth-probing cycle and the one
 * before it (draft-ietf-ccwg-bbr, sections 5.5.3 to 5.5.6; BBR.MaxBwFilterLen is 2).
 */

namespace tunnelcc
{

/// Maximum over two cycles, segments/s.
class Bbr3MaxBandwidth
{
  public:
    double Get() const
    {
        return std::max(m_previous, m_current);
    }

    void Take(double bandwidth)
    {
        m_current = std::max(m_current, bandwidth);
    }

    /// A cycle ended. One without samples counts for nothing, as in Linux, so that a flow whose
    /// application was silent does not forget its path.
    void EndCycle()
    {
        if (m_current > 0)
        {
            m_previous = m_current;
            m_current = 0;
        }
    }

  private:
    double m_previous{0};
    double m_current{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_MAX_BANDWIDTH_H
