/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment/experiment.h"
#include "spec/spec-text.h"
#include "wasm/module.h"
#include "wire/capture.h"
#include "wire/record-file.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/**
 * \file
 * Traces of the laboratory: a capture in memory, in place of wire/record-file.cc. It begins at a
 * time that the host names, so that a long run costs no memory before that, and ends at its limit.
 */

namespace tunnelcc
{

namespace
{

// draft-ietf-opsawg-pcapng, section 4, as wire/pcapng-file.cc writes it.
constexpr uint32_t PACKET_BLOCK = 6;
constexpr size_t PACKET_AT = 28; // behind interface, time and lengths
constexpr uint16_t FLAGS = 2;
constexpr uint16_t COMMENT = 1;

std::string g_records;
uint64_t g_from = 0; // ns

/// What was seen of a connection at a place in a direction: interface, direction, protocol, ports.
using Seen = std::array<uint32_t, 5>;
/// How many packets were seen before g_from, without those that were dropped or lost there. Packets
/// have no names, but keep their order: so it is known which arrival is whose.
std::map<Seen, uint64_t> g_early;

uint32_t
Little(const uint8_t* at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
    {
        value |= static_cast<uint32_t>(at[i]) << (8 * i);
    }
    return value;
}

/// Count a packet, a whole record of pcapng.
void
CountEarly(const std::vector<uint8_t>& record)
{
    const uint8_t* packet = record.data() + PACKET_AT;
    const uint32_t captured = Little(record.data() + 20, 4);
    const uint32_t header = 4 * (packet[0] & 15);
    const bool isFirst = (packet[6] & 31) == 0 && packet[7] == 0; // of a datagram's fragments
    const bool hasPorts = (packet[9] == 6 || packet[9] == 17) && isFirst && captured >= header + 4;
    auto port = [&](uint32_t at) {
        return hasPorts ? static_cast<uint32_t>(packet[header + at] << 8 | packet[header + at + 1])
                        : 0;
    };
    uint32_t direction = 0;
    const size_t end = record.size() - 4;
    for (size_t at = PACKET_AT + (captured + 3) / 4 * 4; at + 4 <= end;)
    {
        const uint32_t code = Little(&record[at], 2);
        const uint32_t size = Little(&record[at + 2], 2);
        if (code == FLAGS)
        {
            direction = record[at + 4] & 3;
        }
        else if (code == COMMENT && record[at + 4] != 'm') // marked packets go on
        {
            return;
        }
        at += 4 + (size + 3) / 4 * 4;
    }
    ++g_early[{Little(record.data() + 8, 4), direction, packet[9], port(0), port(2)}];
}

/// Whether a record is a packet from before g_from.
bool
IsTooEarly(const std::vector<uint8_t>& record)
{
    if (record.size() <= PACKET_AT || Little(record.data(), 4) != PACKET_BLOCK)
    {
        return false;
    }
    const uint64_t time =
        static_cast<uint64_t>(Little(record.data() + 12, 4)) << 32 | Little(record.data() + 16, 4);
    return time < g_from;
}

} // namespace

RecordFile::RecordFile(const std::string&, uint64_t limit)
    : m_file(0),
      m_limit(limit)
{
}

RecordFile::~RecordFile() = default;

bool
RecordFile::EndRecord()
{
    const bool isEarly = IsTooEarly(m_buffer);
    if (isEarly)
    {
        CountEarly(m_buffer);
    }
    const bool isKept = !isEarly && !m_isFull;
    m_isFull |= isKept && m_bytes + m_buffer.size() > m_limit;
    if (isKept && !m_isFull)
    {
        g_records.append(m_buffer.begin(), m_buffer.end());
        m_bytes += m_buffer.size();
    }
    m_buffer.clear();
    return isKept && !m_isFull; // whether it counts as a packet of the file
}

void
RecordFile::Flush()
{
}

} // namespace tunnelcc

extern "C"
{
    /// What throws ends the run: WASI's library has no exceptions.
    void* __cxa_allocate_exception(size_t)
    {
        __builtin_trap();
    }

    void __cxa_throw(void*, void*, void (*)(void*))
    {
        __builtin_trap();
    }

    /// Run the specification of the first line with the capture of the second one, from a time on.
    /// \param from s  \returns the capture, a file of pcapng
    __attribute__((export_name("trace"))) const char* TunnelccTrace(double from)
    {
        const std::string_view input = tunnelcc::GetInput();
        const size_t end = input.find('\n');
        tunnelcc::g_records.clear();
        tunnelcc::g_early.clear();
        tunnelcc::g_from = static_cast<uint64_t>(from * 1e9);
        const auto spec = tunnelcc::ParseSpec(input.substr(0, end));
        tunnelcc::Capture capture(tunnelcc::ParseCapture(input.substr(end + 1)));
        tunnelcc::RunExperiment(spec, {}, &capture);
        return tunnelcc::Give(std::move(tunnelcc::g_records));
    }

    /// \returns what the latest trace saw before it began: a line for each of g_early
    __attribute__((export_name("early"))) const char* TunnelccEarly()
    {
        std::string text;
        for (const auto& [seen, count] : tunnelcc::g_early)
        {
            for (const uint32_t part : seen)
            {
                text += std::to_string(part) + ' ';
            }
            text += std::to_string(count) + '\n';
        }
        return tunnelcc::Give(std::move(text));
    }
}
