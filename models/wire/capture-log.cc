/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capture-log.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

namespace
{

constexpr std::string_view FILE_COMMENT =
    "Written by a simulation. Times count from its beginning. Headers are those that the simulated "
    "packets would have; payloads, keys, nonces and tags are filler.";

std::string_view
CommentOf(PacketFate fate)
{
    switch (fate)
    {
    case PacketFate::MARKED:
        return "marked by this queue: it leaves with CE";
    case PacketFate::DROPPED:
        return "dropped by this queue";
    case PacketFate::POLICED:
        return "dropped by the policer of this link";
    case PacketFate::LOST:
        return "lost on this link, at random";
    case PacketFate::PASSED:
        break;
    }
    return {};
}

} // namespace

CaptureLog::CaptureLog(const CaptureSpec& spec)
    : m_spec(spec),
      m_file(spec.file, spec.program, FILE_COMMENT, spec.limit)
{
}

CaptureLog::Record&
CaptureLog::Add(int64_t time,
                uint32_t place,
                CaptureInterface interface,
                CaptureDirection direction,
                const PacketImage& image)
{
    if (m_free.empty())
    {
        m_free.push_back(&m_store.emplace_back());
    }
    Record& record = *m_free.back();
    m_free.pop_back();
    CapturedPacket& packet = record.packet;
    packet.time = time;
    packet.direction = direction;
    packet.length = image.length;
    packet.captured = std::min(image.length, m_spec.snap > 0 ? m_spec.snap : image.headers);
    const size_t kept = std::min<size_t>(image.bytes.size(), packet.captured);
    packet.bytes.assign(image.bytes.begin(),
                        image.bytes.begin() + static_cast<std::ptrdiff_t>(kept));
    record.number = m_seen++;
    record.place = place;
    record.interface = interface;
    record.fate = PacketFate::PASSED;
    record.isSettled = false;
    m_heap.push_back(&record);
    std::push_heap(m_heap.begin(), m_heap.end(), IsLater);
    return record;
}

void
CaptureLog::Finish()
{
    for (Record* record : m_heap)
    {
        record->isSettled = true;
    }
    WriteUntil(std::numeric_limits<int64_t>::max());
    m_file.Flush();
}

void
CaptureLog::WriteUntil(int64_t time)
{
    while (!m_heap.empty() && m_heap.front()->isSettled && m_heap.front()->packet.time <= time)
    {
        WriteFirst();
    }
}

void
CaptureLog::WriteFirst()
{
    Record& record = *m_heap.front();
    std::pop_heap(m_heap.begin(), m_heap.end(), IsLater);
    m_heap.pop_back();
    auto [interface, isNew] = m_interfaces.try_emplace({record.place, record.interface}, 0);
    if (isNew)
    {
        constexpr std::string_view SUFFIXES[] = {"", " lo", " tun"};
        constexpr std::string_view DESCRIPTIONS[] = {"its links", "its loopback", "its tunnels"};
        const auto kind = static_cast<size_t>(record.interface);
        const CapturePlaceSpec& place = m_spec.places[record.place];
        const std::string name = place.name + std::string(SUFFIXES[kind]);
        const std::string description =
            place.link ? "packets as they come to link " + place.name + ", out: from its first host"
                       : "host " + place.name + ": " + std::string(DESCRIPTIONS[kind]);
        interface->second = m_file.AddInterface(name, description, m_spec.snap);
    }
    record.packet.interface = interface->second;
    record.packet.comment = CommentOf(record.fate);
    m_file.Write(record.packet);
    m_free.push_back(&record);
}

bool
CaptureLog::IsLater(const Record* a, const Record* b)
{
    return a->packet.time > b->packet.time ||
           (a->packet.time == b->packet.time && a->number > b->number);
}

} // namespace tunnelcc
