/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_BYTES_H
#define TUNNELCC_STREAM_BYTES_H

#include "ns3/packet.h"

#include <cstdint>
#include <deque>
#include <map>

namespace tunnelcc
{

/// The contents of a stream that were written and not acknowledged yet.
class WrittenBytes
{
  public:
    using Bytes = ns3::Ptr<ns3::Packet>;

    /// Append what was written.
    void Append(Bytes bytes)
    {
        const uint32_t size = bytes->GetSize();
        if (size > 0)
        {
            m_parts.push_back({m_end, std::move(bytes)});
            m_end += size;
        }
    }

    /// Offset behind all that was written.
    uint64_t End() const
    {
        return m_end;
    }

    /// Take back the packet that was appended last, which began at `offset`.
    void TakeBack(uint64_t offset)
    {
        m_parts.pop_back();
        m_end = offset;
    }

    /// A copy of some of them. \param offset,length of bytes that were written and are still held
    Bytes Copy(uint64_t offset, uint32_t length) const;

    /// Forget what lies before an offset.
    void Forget(uint64_t offset)
    {
        while (!m_parts.empty() && m_parts.front().End() <= offset)
        {
            m_parts.pop_front();
        }
    }

  private:
    struct Part
    {
        uint64_t begin; //!< stream offset
        Bytes bytes;

        uint64_t End() const
        {
            return begin + bytes->GetSize();
        }
    };

    std::deque<Part> m_parts;
    uint64_t m_end{0};
};

/// The contents of a stream that have arrived and were not read yet.
class ArrivedBytes
{
  public:
    using Bytes = ns3::Ptr<ns3::Packet>;

    /// A segment arrived. Of two with the same offset the first is kept. \param offset of it
    void Add(uint64_t offset, Bytes bytes)
    {
        if (offset >= m_read)
        {
            m_parts.try_emplace(offset, std::move(bytes));
        }
    }

    /// Read the next `length` bytes. \pre they have arrived; at least one
    Bytes Read(uint32_t length);

  private:
    std::map<uint64_t, Bytes> m_parts; //!< by offset
    uint64_t m_read{0};                //!< bytes read so far
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_BYTES_H
