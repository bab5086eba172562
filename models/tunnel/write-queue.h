/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WRITE_QUEUE_H
#define TUNNELCC_WRITE_QUEUE_H

#include "event/fifo.h"
#include "transport/byte-stream.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Writes to a byte stream that follow one another, each once the stream has taken all of the one
/// before.
class WriteQueue
{
  public:
    /// Append a write. \param size in bytes
    void Append(uint32_t size)
    {
        m_left.Push(size);
    }

    /// Append writes. \param sizes in bytes
    void Append(const std::vector<uint32_t>& sizes)
    {
        for (uint32_t size : sizes)
        {
            Append(size);
        }
    }

    /// Write as much as the stream has room for. \returns whether that is all; if not,
    ///          StreamUser::OnWritable() follows
    bool Flush(int64_t now, ByteStream& stream)
    {
        for (; !m_left.IsEmpty(); m_left.Pop())
        {
            uint32_t& left = m_left.Front();
            left -= static_cast<uint32_t>(stream.Write(now, left));
            if (left > 0)
            {
                return false;
            }
        }
        return true;
    }

  private:
    Fifo<uint32_t> m_left; //!< bytes of each write that the stream has not taken
};

} // namespace tunnelcc

#endif // TUNNELCC_WRITE_QUEUE_H
