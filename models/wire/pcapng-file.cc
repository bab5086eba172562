/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pcapng-file.h"

namespace tunnelcc
{

namespace
{

// draft-ietf-opsawg-pcapng, section 4; numbers are in the byte order that the first one tells.
constexpr uint32_t SECTION_HEADER = 0x0a0d0d0a;
constexpr uint32_t BYTE_ORDER_MAGIC = 0x1a2b3c4d;
constexpr uint32_t INTERFACE_DESCRIPTION = 1;
constexpr uint32_t ENHANCED_PACKET = 6;
constexpr uint16_t OPTION_END = 0;
constexpr uint16_t OPTION_COMMENT = 1;
constexpr uint16_t SHB_USERAPPL = 4;
constexpr uint16_t IF_NAME = 2;
constexpr uint16_t IF_DESCRIPTION = 3;
constexpr uint16_t IF_TSRESOL = 9;
constexpr uint16_t EPB_FLAGS = 2;
constexpr uint16_t LINKTYPE_RAW = 101; // begins with the header of IPv4 or IPv6
constexpr char NANOSECONDS = 9;

} // namespace

PcapngFile::PcapngFile(const std::string& name,
                       std::string_view program,
                       std::string_view comment,
                       uint64_t limit)
    : m_file(name, limit)
{
    BeginBlock(SECTION_HEADER);
    ByteWriter(m_file.Buffer())
        .Little(BYTE_ORDER_MAGIC, 4)
        .Little(1, 2) // version 1.0
        .Little(0, 2)
        .Little(UINT64_MAX, 8); // length of the section: not told
    AddOption(SHB_USERAPPL, program);
    AddOption(OPTION_COMMENT, comment);
    EndBlock();
}

uint32_t
PcapngFile::AddInterface(std::string_view name, std::string_view description, uint32_t snap)
{
    BeginBlock(INTERFACE_DESCRIPTION);
    ByteWriter(m_file.Buffer()).Little(LINKTYPE_RAW, 2).Little(0, 2).Little(snap, 4);
    AddOption(IF_NAME, name);
    AddOption(IF_DESCRIPTION, description);
    AddOption(IF_TSRESOL, std::string_view(&NANOSECONDS, 1));
    EndBlock();
    return m_interfaces++;
}

void
PcapngFile::Write(const CapturedPacket& packet)
{
    if (!m_file.IsWriting())
    {
        return;
    }
    BeginBlock(ENHANCED_PACKET);
    const auto time = static_cast<uint64_t>(packet.time);
    ByteWriter(m_file.Buffer())
        .Little(packet.interface, 4)
        .Little(time >> 32, 4)
        .Little(time, 4)
        .Little(packet.captured, 4)
        .Little(packet.length, 4)
        .Bytes(packet.bytes)
        .Fill(packet.captured - packet.bytes.size() + (4 - packet.captured % 4) % 4);
    const char flags[4] = {static_cast<char>(packet.direction), 0, 0, 0};
    AddOption(EPB_FLAGS, {flags, sizeof flags});
    if (!packet.comment.empty())
    {
        AddOption(OPTION_COMMENT, packet.comment);
    }
    m_packets += EndBlock();
}

void
PcapngFile::BeginBlock(uint32_t type)
{
    m_begin = m_file.Buffer().size();
    ByteWriter(m_file.Buffer()).Little(type, 4).Little(0, 4); // see EndBlock()
}

void
PcapngFile::AddOption(uint16_t code, std::string_view value)
{
    ByteWriter(m_file.Buffer())
        .Little(code, 2)
        .Little(value.size(), 2)
        .Text(value)
        .Fill((4 - value.size() % 4) % 4);
}

bool
PcapngFile::EndBlock()
{
    AddOption(OPTION_END, {});
    std::vector<uint8_t>& buffer = m_file.Buffer();
    const auto length = static_cast<uint32_t>(buffer.size() - m_begin + 4);
    ByteWriter(buffer).Little(length, 4);
    for (int i = 0; i < 4; ++i)
    {
        buffer[m_begin + 4 + i] = static_cast<uint8_t>(length >> (8 * i));
    }
    return m_file.EndRecord();
}

} // namespace tunnelcc
