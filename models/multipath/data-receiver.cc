/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "data-receiver.h"

#include <algorithm>

namespace tunnelcc
{

void
DataReceiver::OnData(int64_t now, uint64_t begin, uint64_t end)
{
    const uint64_t first = std::max(begin, Next()); // of those that may be new
    for (uint64_t left = end - std::min(first, end); left > 0;
         left -= std::min<uint64_t>(left, m_mss))
    {
        m_window.OnSegment(Buffered() + (first == Next() ? end - first : 0));
    }
    m_order.OnData(now, begin, end);
}

} // namespace tunnelcc
