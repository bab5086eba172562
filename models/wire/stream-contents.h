/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_CONTENTS_H
#define TUNNELCC_STREAM_CONTENTS_H

#include "packet-image.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// Bytes of a stream that are not filler, such as the headers of records in it.
class StreamContents
{
  public:
    /// Add bytes behind those that were added before. \param offset in the stream
    void Add(uint64_t offset, std::vector<uint8_t> bytes)
    {
        if (!bytes.empty())
        {
            m_parts.push_back({offset, std::move(bytes)});
        }
    }

    /// Forget what lies so far before `offset` that it will hardly be sent again.
    void Forget(uint64_t offset)
    {
        while (!m_parts.empty() && m_parts.front().offset + KEPT < offset)
        {
            m_parts.pop_front();
        }
    }

    /**
     * Write what a segment holds.
     * \param offset,length of it in the stream
     * \param at where it begins in the packet
     */
    void Write(uint64_t offset, uint32_t length, PacketImage& image, uint32_t at) const
    {
        auto isBefore = [](const Part& part, uint64_t value) {
            return part.offset + part.bytes.size() <= value;
        };
        auto part = std::lower_bound(m_parts.begin(), m_parts.end(), offset, isBefore);
        for (; part != m_parts.end() && part->offset < offset + length; ++part)
        {
            const uint64_t from = std::max(offset, part->offset);
            const uint64_t to = std::min(offset + length, part->offset + part->bytes.size());
            image.Put(at + (from - offset),
                      std::span(part->bytes).subspan(from - part->offset, to - from));
        }
    }

  private:
    struct Part
    {
        uint64_t offset;
        std::vector<uint8_t> bytes;
    };

    static constexpr uint64_t KEPT = 1 << 26;

    std::deque<Part> m_parts;
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_CONTENTS_H
