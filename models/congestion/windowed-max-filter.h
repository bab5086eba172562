/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WINDOWED_MAX_FILTER_H
#define TUNNELCC_WINDOWED_MAX_FILTER_H

#include <array>
#include <cstdint>

/**
 * \file
 * Kathleen Nichols' windowed maximum in constant space, as Linux keeps it (lib/win_minmax.c).
 *
 * Three samples stand for the window: the best, the best after it, and the best after that. The
 * second and third are taken afresh from later quarters of the window while they coincide with
 * the one before, so that a good successor is at hand when the best one expires. The result is
 * always a sample of the window; it can lie below the true maximum for a part of the window.
 */

namespace tunnelcc
{

/// Approximate maximum of the samples of the last `window` ticks.
template <typename T>
class WindowedMaxFilter
{
  public:
    /// Forget everything but this sample.
    void Reset(T value, uint32_t time)
    {
        m_best.fill(Sample{value, time});
    }

    T Get() const
    {
        return m_best[0].value;
    }

    /// Add a sample. `time` never decreases; any unit will do.
    void Update(T value, uint32_t time, uint32_t window)
    {
        const Sample sample{value, time};
        if (value >= m_best[0].value || time - m_best[2].time > window)
        {
            m_best.fill(sample);
            return;
        }
        if (value >= m_best[1].value)
        {
            m_best[1] = sample;
            m_best[2] = sample;
        }
        else if (value >= m_best[2].value)
        {
            m_best[2] = sample;
        }
        Age(sample, window);
    }

  private:
    struct Sample
    {
        T value{};
        uint32_t time{0};
    };

    void Age(const Sample& sample, uint32_t window)
    {
        const uint32_t age = sample.time - m_best[0].time;
        if (age > window)
        {
            Promote(sample);
            if (sample.time - m_best[0].time > window)
            {
                Promote(sample);
            }
        }
        else if (m_best[1].time == m_best[0].time && age > window / 4)
        {
            m_best[1] = sample;
            m_best[2] = sample;
        }
        else if (m_best[2].time == m_best[1].time && age > window / 2)
        {
            m_best[2] = sample;
        }
    }

    void Promote(const Sample& sample)
    {
        m_best[0] = m_best[1];
        m_best[1] = m_best[2];
        m_best[2] = sample;
    }

    std::array<Sample, 3> m_best;
};

} // namespace tunnelcc

#endif // TUNNELCC_WINDOWED_MAX_FILTER_H
