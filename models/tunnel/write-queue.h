/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WRITE_QUEUE_H
#define TUNNELCC_WRITE_QUEUE_H

#include "transport/byte-stream.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Writes to a byte stream that follow one another, each once the stream has taken all of the one
/// before.
class WriteQueue
{
  public:
    /// Append writes. \param sizes in bytes
    void Append(const std::vector<uint32_t>& sizes)
    {
        for (uint32_t size : sizes) // few: cheaper than to insert a range
        {
            m_left.push_back(size);
        }
    }

    /// Write as much as the stream has room for. \returns whether that is all; if not,
    ///          StreamUser::OnWritable() follows
    bool Flush(int64_t now, ByteStream& stream)
    {
        for (; m_next < m_left.size(); ++m_next)
        {
            uint32_t& left = m_left[m_next];
            left -= static_cast<uint32_t>(stream.Write(now, left));
            if (left > 0)
            {
                return false;
            }
        }
        m_left.clear();
        m_next = 0;
        return true;
    }

  private:
    std::vector<uint32_t> m_left; //!< bytes of each write that the stream has not taken
    size_t m_next{0};             //!< the first that is not over
};

} // namespace tunnelcc

#endif // TUNNELCC_WRITE_QUEUE_H
