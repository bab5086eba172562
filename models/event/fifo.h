/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FIFO_H
#define TUNNELCC_FIFO_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// First-in first-out queue in a ring that doubles when full and never shrinks.
template <class T>
class Fifo
{
  public:
    bool IsEmpty() const
    {
        return m_size == 0;
    }

    size_t Size() const
    {
        return m_size;
    }

    T& Front()
    {
        return m_ring[m_head];
    }

    const T& Front() const
    {
        return m_ring[m_head];
    }

    /// \param index 0 for the first
    const T& operator[](size_t index) const
    {
        return m_ring[(m_head + index) & m_mask];
    }

    T& operator[](size_t index)
    {
        return m_ring[(m_head + index) & m_mask];
    }

    /// Append an element. \returns a reference that holds until the next is appended
    T& Push(const T& value)
    {
        T& slot = Append();
        slot = value;
        return slot;
    }

    /// Append an element that the caller fills in. \returns as Push()
    T& Append()
    {
        if (m_size == m_mask + 1)
        {
            Grow();
        }
        T& slot = m_ring[(m_head + m_size) & m_mask];
        ++m_size;
        return slot;
    }

    /// Ask the processor to load an element that will soon be at the front.
    void Prefetch() const
    {
        __builtin_prefetch(&m_ring[(m_head + PREFETCHED) & m_mask]);
    }

    void Pop()
    {
        m_head = (m_head + 1) & m_mask;
        --m_size;
    }

    /// Pop `count` elements.
    void Drop(size_t count)
    {
        m_head = (m_head + count) & m_mask;
        m_size -= count;
    }

    void Clear()
    {
        m_head = m_size = 0;
    }

  private:
    /// Not inline: it is rare, and would cost Append() registers.
    [[gnu::noinline]] void Grow()
    {
        std::vector<T> larger(m_ring.empty() ? INITIAL_CAPACITY : 2 * m_ring.size());
        for (size_t i = 0; i < m_size; ++i)
        {
            larger[i] = m_ring[(m_head + i) & m_mask];
        }
        m_ring.swap(larger);
        m_mask = m_ring.size() - 1;
        m_head = 0;
    }

    static constexpr size_t INITIAL_CAPACITY = 16;
    static constexpr size_t PREFETCHED = 8; //!< how many elements behind the front

    std::vector<T> m_ring;
    size_t m_mask{SIZE_MAX}; //!< size of the ring (a power of two) less one; SIZE_MAX: no ring yet
    size_t m_head{0};
    size_t m_size{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_FIFO_H
