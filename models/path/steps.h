/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STEPS_H
#define TUNNELCC_STEPS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Steps of what a link does over time, in order of time.
 * \tparam Step has a member `time`, ns
 */
template <class Step>
class Steps
{
  public:
    explicit Steps(const std::vector<Step>& steps)
        : m_steps(steps)
    {
    }

    /// Go on to `now` ns, not before that of the last call. \returns the latest step that was
    /// reached since that call; null if there is none
    const Step* Reach(int64_t now)
    {
        const Step* reached = nullptr;
        while (m_next < m_steps.size() && m_steps[m_next].time <= now)
        {
            reached = &m_steps[m_next++];
        }
        return reached;
    }

    /// The first step that is not reached; null if there is none.
    const Step* Next() const
    {
        return m_next < m_steps.size() ? &m_steps[m_next] : nullptr;
    }

  private:
    std::vector<Step> m_steps;
    size_t m_next{0}; //!< first step that is not reached
};

} // namespace tunnelcc

#endif // TUNNELCC_STEPS_H
