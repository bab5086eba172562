/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PCAPNG_FILE_H
#define TUNNELCC_PCAPNG_FILE_H

#include "packet-image.h"
#include "record-file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunnelcc
{

/// Which way a packet went at an interface; the values are those of pcapng's epb_flags.
enum class CaptureDirection : uint8_t
{
    IN = 1,
    OUT = 2
};

/// A packet of a capture.
struct CapturedPacket
{
    int64_t time{0}; //!< ns
    uint32_t interface{0};
    CaptureDirection direction{CaptureDirection::OUT};
    std::string_view comment;   //!< empty: none
    uint32_t length{0};         //!< of the packet
    std::vector<uint8_t> bytes; //!< captured; what is missing up to `captured` is 0
    uint32_t captured{0};
};

/// A capture file in the format pcapng (draft-ietf-opsawg-pcapng), which Wireshark reads.
class PcapngFile
{
  public:
    /**
     * \param name,limit as of RecordFile
     * \param program that writes it  \param comment of the file
     * \throws std::system_error if it cannot be opened
     */
    PcapngFile(const std::string& name,
               std::string_view program,
               std::string_view comment,
               uint64_t limit);

    /// Add an interface, before its packets. \returns its number
    uint32_t AddInterface(std::string_view name, std::string_view description, uint32_t snap);

    void Write(const CapturedPacket& packet);

    /// As RecordFile::Flush().
    void Flush()
    {
        m_file.Flush();
    }

    const RecordFile& File() const
    {
        return m_file;
    }

    uint64_t Packets() const
    {
        return m_packets;
    }

  private:
    void BeginBlock(uint32_t type);
    void AddOption(uint16_t code, std::string_view value);
    bool EndBlock();

    RecordFile m_file;
    size_t m_begin{0}; //!< of the block in the file's buffer
    uint64_t m_packets{0};
    uint32_t m_interfaces{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PCAPNG_FILE_H
