/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * What only connections over several paths do.
 */
#include "quic-connection.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Least UDP payload of packets with PATH_CHALLENGE or PATH_RESPONSE (RFC 9000, sections 8.2.1 and
/// 8.2.2).
constexpr uint32_t LEAST_VALIDATION = 1200;

/// Bytes of either frame: type, data (RFC 9000, sections 19.17 and 19.18).
constexpr uint32_t VALIDATION_BYTES = 9;

/// Bytes of PATH_NEW_CONNECTION_ID without the ID: type (2), path, sequence number, Retire Prior
/// To, length, and a token of 16 (draft-ietf-quic-multipath-21, section 4.4).
constexpr uint32_t NEW_ID_BYTES = 22;

} // namespace

void
QuicConnection::UsePaths(MultipathScheduler scheduler, bool isFirstBackup)
{
    m_chooser = PathChooser<QuicPath>(scheduler);
    m_isRedundant = scheduler == MultipathScheduler::REDUNDANT;
    m_first.isBackup = isFirstBackup;
}

void
QuicConnection::AddPath(const Channel& channel,
                        std::unique_ptr<CongestionControl> algorithm,
                        bool isBackup)
{
    if (!HasPaths())
    {
        m_first.acks.NamePath();
        m_first.sender.Couple(m_group);
    }
    QuicSpec spec = m_spec;
    spec.handshake.clear(); // it is on the first one
    QuicPath& path = m_others.emplace_back(m_loop,
                                           spec,
                                           m_end,
                                           channel,
                                           std::move(algorithm),
                                           *this,
                                           static_cast<QuicContents&>(*this),
                                           static_cast<uint32_t>(m_paths.size()));
    path.isBackup = isBackup;
    path.acks.NamePath();
    path.sender.Couple(m_group);
    m_paths.push_back(&path);
    m_hasPaths = true;
}

/// Data may take the path from now on.
void
QuicConnection::OpenPath(int64_t now, QuicPath& path)
{
    path.openTime = now;
    path.challenges = false;
    path.sender.OnHandshakeDone(now);
}

/// Note which paths may carry data.
void
QuicConnection::SeePaths(int64_t now)
{
    const bool anyWorks = std::ranges::any_of(m_paths, [](auto* it) { return it->Works(); });
    for (QuicPath* path : m_paths)
    {
        path->roundTime = now;
        path->wasOffered = false;
        path->isUsable = anyWorks ? path->Works() : path->IsOpen();
    }
}

void
QuicConnection::SendOverPaths(int64_t now)
{
    if (m_isSending)
    {
        return;
    }
    m_isSending = true;
    for (bool goesOn = true; goesOn;)
    {
        SeePaths(now);
        while (HasData())
        {
            QuicPath* path = m_chooser.Choose(m_paths, {m_unsent, Credit(), m_unacked - m_unsent});
            if (!path)
            {
                break;
            }
            path->isOffered = true;
            const bool hasSent = path->sender.SendOne(now);
            path->isOffered = false;
            path->wasOffered = !hasSent;
            if (hasSent)
            {
                OnPacketSent(now);
            }
        }
        goesOn = false;
        for (QuicPath* path : m_paths)
        {
            // ACKs, and what validates a path or probes it. Probes need no room, and have data if
            // no other path works.
            path->isOffered = path->isUsable && path->sender.Detection().ProbesDue() > 0;
            goesOn |= path->sender.SendAll(now);
            path->isOffered = false;
        }
    }
    m_isSending = false;
}

/// Whether frames of other paths are to be sent on this one, too, which the peer has not got yet.
bool
QuicConnection::HasCopies(QuicPath& path) const
{
    while (!path.copies.IsEmpty())
    {
        const QuicPath::Copy& copy = path.copies.Front();
        const PacketHistory& history = m_paths[copy.path]->sender.History();
        const uint64_t number = history.Find(static_cast<uint32_t>(copy.number));
        if (number != QuicPacket::NONE && history.At(number).fate == QuicPacketFate::OUTSTANDING)
        {
            return true;
        }
        path.copies.Pop();
    }
    return false;
}

/// The others are to send what is in the path's next packet, too.
void
QuicConnection::CopyToOthers(QuicPath& path)
{
    const PacketHistory& history = path.sender.History();
    for (uint32_t i = 0; i < history.NewFrames(); ++i)
    {
        QuicFrame frame = history.NewFrame(i);
        if (frame.kind != QuicFrameKind::STREAM || frame.isCopy)
        {
            continue;
        }
        frame.isCopy = true;
        for (QuicPath* it : m_paths)
        {
            if (it != &path && it->isUsable)
            {
                it->copies.Push({frame, path.Number(), history.Next()});
            }
        }
    }
}

bool
QuicConnection::HasData() const
{
    for (QuicPath* path : m_paths)
    {
        if (HasCopies(*path))
        {
            return true;
        }
    }
    return m_tellsLimit || !m_telling.IsEmpty() || !m_lossy.IsEmpty() || !m_active.IsEmpty() ||
           (m_datagrams && m_datagrams->HasNext()) || TellsIds();
}

/// Whether packets of another path that may carry data are larger than those of this one.
bool
QuicConnection::FitsElsewhere(const QuicPath& path) const
{
    return std::ranges::any_of(m_paths, [&](const QuicPath* it) {
        return it->isUsable && it->PacketBytes() > path.PacketBytes();
    });
}

void
QuicConnection::StartMeasuring(int64_t now)
{
    for (Reassembly& order : m_orders)
    {
        order.StartMeasuring(now);
    }
}

ReorderingCounters
QuicConnection::Reordering(int64_t now)
{
    ReorderingCounters sum;
    for (Reassembly& order : m_orders)
    {
        const ReorderingCounters& more = order.Counters(now);
        sum.arrived += more.arrived;
        sum.reordered += more.reordered;
        sum.duplicates += more.duplicates;
        sum.waited += more.waited;
        sum.longest = std::max(sum.longest, more.longest);
    }
    return sum;
}

void
QuicConnection::OnProbeTimeout(uint32_t number)
{
    const QuicPath* path = m_paths[number];
    const bool hasOther = std::ranges::any_of(m_paths, [&](auto* it) { return it->Works(); });
    if (path->IsOpen() && hasOther)
    {
        m_reinjected += m_paths[number]->sender.RepeatAll();
    }
}

uint32_t
QuicConnection::AddPathFrames(QuicPath& path, uint32_t room)
{
    PacketHistory& history = path.sender.History();
    const uint32_t padding = path.PacketBytes() - room; // what else the packet has
    uint32_t bytes = 0;
    for (auto [isDue, kind] : {std::pair(&path.challenges, QuicFrameKind::PATH_CHALLENGE),
                               std::pair(&path.owesResponse, QuicFrameKind::PATH_RESPONSE)})
    {
        if (std::exchange(*isDue, false))
        {
            history.AddFrame({0, 0, 0, kind});
            bytes += VALIDATION_BYTES;
        }
    }
    return bytes > 0 ? std::max(bytes, LEAST_VALIDATION - padding) : 0;
}

/// Send what other paths have, too. \returns bytes of the frames
uint32_t
QuicConnection::AddCopies(QuicPath& path, uint32_t room)
{
    uint32_t left = room;
    while (left >= LEAST_ROOM && HasCopies(path))
    {
        QuicFrame& waiting = path.copies.Front().frame;
        QuicFrame part = waiting; // packets of this path may be smaller
        const uint32_t header = m_streams[waiting.stream].m_sending.HeaderBytes(part.offset) +
                                VariableLength(waiting.length);
        part.length = static_cast<uint16_t>(std::min<uint32_t>(part.length, left - header));
        part.isFin &= part.length == waiting.length;
        waiting.offset += part.length;
        waiting.length = static_cast<uint16_t>(waiting.length - part.length);
        if (waiting.length == 0)
        {
            path.copies.Pop();
        }
        path.sender.History().AddFrame(part);
        m_reinjected += part.length;
        left -= header + part.length;
    }
    return room - left;
}

/// Tell the peer connection IDs. \returns bytes of their frames
uint32_t
QuicConnection::AddIds(QuicPath& path, uint32_t room)
{
    const uint32_t each = NEW_ID_BYTES + m_spec.packets.pathId;
    uint32_t bytes = 0;
    for (QuicPath& other : m_others)
    {
        if (room - bytes >= each && std::exchange(other.tellsId, false))
        {
            path.sender.History().AddFrame(
                {0, other.Number(), 0, QuicFrameKind::PATH_NEW_CONNECTION_ID});
            bytes += each;
        }
    }
    return bytes;
}

SendLimit
QuicConnection::LimitOfPath(const QuicPath& path) const
{
    // Data that wait may go over another path.
    return !path.IsOpen()                                     ? SendLimit::HANDSHAKE
           : !path.isOffered && !path.wasOffered && HasData() ? SendLimit::APPLICATION
                                                              : LimitOfAll();
}

} // namespace tunnelcc
