/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-bytes.h"

#include <algorithm>

namespace tunnelcc
{

WrittenBytes::Bytes
WrittenBytes::Copy(uint64_t offset, uint32_t length) const
{
    auto isBefore = [](const Part& part, uint64_t value) { return part.End() <= value; };
    auto part = std::lower_bound(m_parts.begin(), m_parts.end(), offset, isBefore);
    Bytes copy;
    for (; length > 0; ++part)
    {
        const auto skipped = static_cast<uint32_t>(offset - part->begin);
        const uint32_t taken = std::min(length, part->bytes->GetSize() - skipped);
        Bytes piece = part->bytes->CreateFragment(skipped, taken);
        if (copy)
        {
            copy->AddAtEnd(piece);
        }
        else
        {
            copy = piece;
        }
        offset += taken;
        length -= taken;
    }
    return copy;
}

ArrivedBytes::Bytes
ArrivedBytes::Read(uint32_t length)
{
    Bytes read;
    while (length > 0)
    {
        const auto first = m_parts.begin();
        const uint32_t size = first->second->GetSize();
        Bytes piece = first->second;
        m_parts.erase(first);
        if (size > length)
        {
            m_parts.emplace(m_read + length, piece->CreateFragment(length, size - length));
            piece = piece->CreateFragment(0, length);
        }
        const uint32_t taken = std::min(size, length);
        m_read += taken;
        length -= taken;
        if (read)
        {
            read->AddAtEnd(piece);
        }
        else
        {
            read = piece;
        }
    }
    return read;
}

} // namespace tunnelcc
