/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_IMAGE_H
#define TUNNELCC_PACKET_IMAGE_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tunnelcc
{

/// Writes numbers, most significant byte first, one after the other.
class ByteWriter
{
  public:
    /// \param bytes where to append
    explicit ByteWriter(std::vector<uint8_t>& bytes)
        : m_bytes(bytes)
    {
    }

    ByteWriter& U8(uint64_t value)
    {
        return Put(value, 1);
    }

    ByteWriter& U16(uint64_t value)
    {
        return Put(value, 2);
    }

    ByteWriter& U24(uint64_t value)
    {
        return Put(value, 3);
    }

    ByteWriter& U32(uint64_t value)
    {
        return Put(value, 4);
    }

    ByteWriter& U64(uint64_t value)
    {
        return Put(value, 8);
    }

    /// The low `count` bytes of a number, least significant first.
    ByteWriter& Little(uint64_t value, uint32_t count)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            m_bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
        }
        return *this;
    }

    ByteWriter& Text(std::string_view text)
    {
        // Not insert(): GCC 12 warns of an overflow there, which is none.
        const size_t begin = m_bytes.size();
        m_bytes.resize(begin + text.size());
        std::copy(text.begin(), text.end(), m_bytes.begin() + static_cast<ptrdiff_t>(begin));
        return *this;
    }

    ByteWriter& Bytes(std::span<const uint8_t> bytes)
    {
        m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
        return *this;
    }

    ByteWriter& Fill(size_t count, uint8_t value = 0)
    {
        m_bytes.insert(m_bytes.end(), count, value);
        return *this;
    }

  private:
    ByteWriter& Put(uint64_t value, int count)
    {
        for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
        {
            m_bytes.push_back(static_cast<uint8_t>(value >> shift));
        }
        return *this;
    }

    std::vector<uint8_t>& m_bytes;
};

/// The bytes of a packet: those from its begin to the last that is not 0, and how many there are.
struct PacketImage
{
    std::vector<uint8_t> bytes; //!< what follows them up to `length` is 0
    uint32_t length{0};         //!< of the packet
    uint32_t headers{0};        //!< of it, headers

    void Begin(uint32_t packetLength)
    {
        bytes.clear();
        length = packetLength;
        headers = 0;
    }

    /// Write into the packet, as far as it reaches.
    void Put(size_t offset, std::span<const uint8_t> part)
    {
        if (offset >= length)
        {
            return;
        }
        const size_t count = std::min(part.size(), length - offset);
        bytes.resize(std::max(bytes.size(), offset + count));
        std::memcpy(bytes.data() + offset, part.data(), count);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_IMAGE_H
