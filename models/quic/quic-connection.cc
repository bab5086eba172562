/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-connection.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tunnelcc
{

namespace
{

/// A write returns once no more than this of it is left (quic-go v0.60.0, send_stream.go,
/// canBufferStreamFrame(): a packet's worth).
constexpr uint64_t MOST_UNSENT = 1452;

/// Room that a frame with a limit may need: type, stream, limit (quic-go v0.60.0,
/// maxStreamControlFrameSize).
constexpr uint32_t LIMIT_ROOM = 25;

/// The connection's window is at least so many times a stream's that was doubled (quic-go v0.60.0,
/// ConnectionFlowControlMultiplier).
constexpr double CONNECTION_PER_STREAM = 1.5;

} // namespace

QuicConnection::QuicConnection(EventLoop& loop,
                               const QuicSpec& spec,
                               End end,
                               const Channel& channel,
                               std::unique_ptr<CongestionControl> algorithm,
                               const RandomStream& draws)
    : m_loop(loop),
      m_spec(spec),
      m_end(end),
      m_first(loop, spec, end, channel, std::move(algorithm), *this, *this, 0),
      m_window(spec.connection),
      m_draws(draws),
      m_wakeTimer(loop, this),
      m_paths{&m_first},
      m_limit(m_window.Limit())
{
}

void
QuicConnection::Join(QuicConnection& a, QuicConnection& b)
{
    for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)})
    {
        end->m_peer = peer;
        for (QuicPath* path : end->m_paths)
        {
            path->sender.SetPeer(*peer->m_paths[path->Number()]);
        }
    }
}

QuicStream&
QuicConnection::AddStream()
{
    if (HasPaths())
    {
        m_orders.emplace_back();
    }
    return m_streams.emplace_back(*this, static_cast<uint32_t>(m_streams.size()), m_spec.stream);
}

void
QuicConnection::Connect(int64_t now)
{
    if (!m_hasStarted)
    {
        Start();
        Send(now);
    }
}

void
QuicConnection::Start()
{
    m_hasStarted = true;
    m_first.handshake.Begin();
}

void
QuicConnection::Send(int64_t now)
{
    if (m_isReceiving || !m_hasStarted)
    {
        return;
    }
    if (HasPaths())
    {
        SendOverPaths(now);
    }
    else
    {
        m_first.sender.SendAll(now);
    }
}

// Receiving -------------------------------------------------------------------------------------

void
QuicPath::Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */)
{
    m_connection.Receive(now, *this, packet.segment);
}

int64_t
QuicPath::FinishedTime() const
{
    return m_connection.FinishedTime();
}

void
QuicConnection::Receive(int64_t now, QuicPath& path, uint32_t segment)
{
    if (m_spec.threads.wakeDelay == 0)
    {
        if (Read(now, path, segment))
        {
            Send(now);
        }
        return;
    }
    m_arrived.Push({segment, path.Number()});
    if (!m_wakeTimer.IsPending())
    {
        const auto spread =
            static_cast<double>(m_spec.threads.wakeDelay - m_spec.threads.wakeLeast);
        const double more = -std::log(m_draws.RandU01()) * spread;
        m_wakeTimer.Set(now + m_spec.threads.wakeLeast + static_cast<int64_t>(more));
    }
}

void
QuicConnection::OnWake(int64_t now)
{
    bool isNew = false;
    while (!m_arrived.IsEmpty())
    {
        const Arrival arrival = m_arrived.Front();
        m_arrived.Pop();
        isNew |= Read(now, PathOf(arrival.path), arrival.segment);
    }
    if (isNew)
    {
        Send(now);
    }
}

/// \returns whether there was something to read
bool
QuicConnection::Read(int64_t now, QuicPath& path, uint32_t segment)
{
    PacketHistory& sent = m_peer->PathOf(path.Number()).sender.History();
    const uint64_t number = sent.Find(segment);
    if (number == QuicPacket::NONE || path.acks.IsKnown(number))
    {
        return false; // forgotten, as if it were lost; or a copy
    }
    if (!m_hasStarted)
    {
        Start();
    }
    m_isReceiving = true;
    const QuicPacket& arrived = sent.At(number);
    if (arrived.ranges > 0)
    {
        path.sender.OnAck(now, arrived, sent);
        if (m_endsAcked > 0 && m_endsAcked == m_streams.size() && m_unacked == 0 && !IsOver())
        {
            m_finishedTime = now;
        }
    }
    bool isUrgent = false;
    for (uint32_t i = 0; i < arrived.frames; ++i)
    {
        const QuicFrame& frame = sent.FrameOf(arrived, i);
        isUrgent |= frame.kind == QuicFrameKind::CRYPTO ||
                    frame.kind == QuicFrameKind::PATH_CHALLENGE ||
                    frame.kind == QuicFrameKind::PATH_RESPONSE;
        OnFrame(now, path, frame);
    }
    path.acks.OnPacket(now, number, arrived.frames > 0, isUrgent);
    sent.OnArrival(number);
    OpenIfDone(now);
    TellUsers(now);
    m_isReceiving = false;
    return true;
}

void
QuicConnection::OnFrame(int64_t now, QuicPath& path, const QuicFrame& frame)
{
    switch (frame.kind)
    {
    case QuicFrameKind::STREAM:
        OnStreamFrame(now, path, frame);
        break;
    case QuicFrameKind::MAX_STREAM_DATA:
        m_streams[frame.stream].m_sending.SetLimit(frame.offset);
        Activate(m_streams[frame.stream]);
        break;
    case QuicFrameKind::MAX_DATA:
        m_limit = std::max(m_limit, frame.offset);
        break;
    case QuicFrameKind::CRYPTO:
        m_first.handshake.OnPacket(frame.offset);
        break;
    case QuicFrameKind::DATAGRAM:
        path.received += frame.length;
        if (m_datagrams)
        {
            m_datagrams->OnReceived(now, frame.offset);
        }
        break;
    case QuicFrameKind::PATH_NEW_CONNECTION_ID:
        if (QuicPath& other = *m_paths[frame.stream]; m_end == End::CLIENT && !other.IsOpen())
        {
            other.challenges = true; // only clients open paths (section 3)
        }
        break;
    case QuicFrameKind::PATH_CHALLENGE:
        path.owesResponse = true;
        path.challenges = m_end == End::SERVER && !path.IsOpen();
        break;
    case QuicFrameKind::PATH_RESPONSE:
        if (!path.IsOpen())
        {
            OpenPath(now, path);
        }
        break;
    case QuicFrameKind::PING:
        break;
    }
}

void
QuicConnection::OnStreamFrame(int64_t now, QuicPath& path, const QuicFrame& frame)
{
    if (HasPaths())
    {
        path.received += frame.length;
        m_orders[frame.stream].OnData(now, frame.offset, frame.offset + frame.length);
    }
    QuicStream& stream = m_streams[frame.stream];
    if (stream.m_receiving.OnFrame(frame) && !stream.m_isTouched)
    {
        stream.m_isTouched = true;
        m_touched.push_back(&stream);
    }
}

void
QuicConnection::OpenIfDone(int64_t now)
{
    if (IsOpen() || !m_first.handshake.IsDone())
    {
        return;
    }
    m_establishedTime = now;
    OpenPath(now, m_first);
    for (QuicPath& path : m_others)
    {
        path.tellsId = true;
    }
    for (QuicStream& stream : m_streams)
    {
        if (stream.m_connects)
        {
            stream.Open(now);
        }
    }
    if (m_datagrams)
    {
        m_datagrams->OnOpen(now);
    }
}

void
QuicConnection::TellUsers(int64_t now)
{
    // What overtakes the end of the handshake waits for it.
    for (size_t i = 0; IsOpen() && i < m_touched.size(); ++i)
    {
        QuicStream& stream = *m_touched[i];
        stream.m_isTouched = false;
        stream.Open(now);
        if (stream.m_user)
        {
            stream.m_user->OnReadable(now);
        }
    }
    if (IsOpen())
    {
        m_touched.clear();
    }
    // The room goes round: who is blocked again waits behind the others.
    for (size_t turns = m_blocked.Size(); turns > 0 && RoomFor(0) > 0; --turns)
    {
        QuicStream& stream = *m_blocked.Front();
        m_blocked.Pop();
        stream.m_waits = false;
        stream.WakeWriter(now);
    }
}

void
QuicConnection::OnRead(int64_t now, QuicStream& stream, uint64_t bytes)
{
    m_window.Read(now, bytes);
    m_tellsLimit |= m_window.IsUpdateDue();
    if (stream.m_receiving.IsUpdateDue())
    {
        TellLimit(stream);
    }
    if (m_tellsLimit || stream.m_tellsLimit)
    {
        Send(now);
    }
}

void
QuicConnection::TellLimit(QuicStream& stream)
{
    if (!stream.m_tellsLimit)
    {
        stream.m_tellsLimit = true;
        m_telling.Push(&stream);
    }
}

// Sending ---------------------------------------------------------------------------------------

/// What limits follow: data may come over the slowest path.
int64_t
QuicConnection::SlowestRtt() const
{
    int64_t slowest = 0;
    for (const QuicPath* path : m_paths)
    {
        slowest = std::max(slowest, path->Srtt());
    }
    return slowest;
}

uint32_t
QuicConnection::PacketBytes() const
{
    uint32_t least = m_first.PacketBytes();
    for (const QuicPath& path : m_others)
    {
        least = path.IsOpen() ? std::min(least, path.PacketBytes()) : least;
    }
    return least;
}

QuicCounters
QuicConnection::Counters() const
{
    QuicCounters sum = m_first.sender.Counters();
    for (const QuicPath& path : m_others)
    {
        const QuicCounters more = path.sender.Counters();
        sum.packets += more.packets;
        sum.retransmits += more.retransmits;
        sum.lostByNumber += more.lostByNumber;
        sum.lostByTime += more.lostByTime;
        sum.probeTimeouts += more.probeTimeouts;
        sum.bytes += more.bytes;
        sum.all += more.all;
    }
    return sum;
}

void
QuicConnection::NoteIdle(int64_t now, SendLimit why)
{
    for (QuicPath* path : m_paths)
    {
        path->sender.NoteIdle(now, why);
    }
}

uint64_t
QuicConnection::RoomFor(uint64_t unsent) const
{
    if (m_spec.sendBuffer > 0)
    {
        return m_spec.sendBuffer - std::min(m_spec.sendBuffer, m_unacked);
    }
    return unsent > MOST_UNSENT ? 0 : FlowWindow::UNLIMITED;
}

bool
QuicConnection::IsApart(uint64_t unsent, uint64_t bytes) const
{
    return m_spec.isOneFrame && unsent > 0 && unsent + bytes > MOST_UNSENT;
}

void
QuicConnection::OnBlocked(QuicStream& stream)
{
    if (m_spec.sendBuffer > 0 && !std::exchange(stream.m_waits, true))
    {
        m_blocked.Push(&stream);
    }
}

void
QuicConnection::OnWritten(int64_t now, QuicStream& stream, uint64_t bytes)
{
    m_unsent += bytes;
    m_unacked += bytes;
    Activate(stream);
    Send(now);
}

void
QuicConnection::Activate(QuicStream& stream)
{
    if (!stream.m_isActive && WantsTurn(stream))
    {
        stream.m_isActive = true;
        m_active.Push(&stream);
    }
}

bool
QuicConnection::WantsTurn(const QuicStream& stream) const
{
    return stream.m_sending.CanSend(FlowWindow::UNLIMITED) ||
           (m_spec.isOneFrame && stream.m_sending.HasLost());
}

uint64_t
QuicConnection::Credit() const
{
    return m_limit - m_sent;
}

bool
QuicConnection::TakesAckAlong() const
{
    // quic-go v0.65.0, packet_packer.go, composeNextPacket(): datagrams are not asked for.
    return !m_datagrams || m_tellsLimit || !m_telling.IsEmpty() || !m_lossy.IsEmpty() ||
           !m_active.IsEmpty();
}

uint32_t
QuicConnection::AddFrames(int64_t now, uint32_t number, uint32_t room, bool hasAck)
{
    QuicPath& path = PathOf(number);
    if (HasPaths())
    {
        const uint32_t validating = AddPathFrames(path, room);
        if (validating > 0 || !path.isOffered)
        {
            return validating;
        }
    }
    const bool hasAny =
        m_tellsLimit || !m_telling.IsEmpty() || !m_lossy.IsEmpty() || m_datagrams || HasPaths();
    if (!IsOpen() || (!hasAny && m_active.IsEmpty()))
    {
        return 0;
    }
    uint32_t left = room - AddLimits(now, path, room);
    if (HasPaths())
    {
        left -= AddIds(path, left);
        left -= m_isRedundant ? AddCopies(path, left) : 0;
    }
    uint32_t lengthBytes = 0; // of the last frame, which needs none: it ends with its packet
    auto addFrame = [&](uint32_t header, const QuicFrame& frame) {
        const uint32_t frameBytes = header + frame.length;
        path.sender.History().AddFrame(frame);
        lengthBytes = VariableLength(frame.length);
        left -= frameBytes;
        left = left > lengthBytes ? left - lengthBytes : 0;
        return frameBytes + lengthBytes;
    };
    auto add = [&](const QuicSendStream& stream, const QuicFrame& frame) {
        return addFrame(stream.HeaderBytes(frame.offset), frame);
    };
    uint32_t bytes = room - left;
    while (left >= LEAST_ROOM && !m_lossy.IsEmpty())
    {
        QuicStream& stream = *m_lossy.Front();
        bytes += add(stream.m_sending, *stream.m_sending.TakeLost(left));
        if (!stream.m_sending.HasLost())
        {
            stream.m_isLossy = false;
            m_lossy.Pop();
        }
    }
    while (m_datagrams && m_datagrams->HasNext())
    {
        constexpr uint32_t TYPE = 1; // RFC 9221, section 4
        const uint32_t length = m_datagrams->NextBytes();
        const bool isAlone = m_datagrams->AreAlone();
        if (TYPE + length + (isAlone ? VariableLength(length) : 0) <= left)
        {
            bytes += addFrame(
                TYPE,
                {m_datagrams->Take(), 0, static_cast<uint16_t>(length), QuicFrameKind::DATAGRAM});
            if (isAlone)
            {
                lengthBytes = 0;
                break;
            }
        }
        else if (left == room && !hasAck && !(HasPaths() && FitsElsewhere(path)))
        {
            m_datagrams->DropNext(); // it fits into no packet (quic-go v0.65.0, packet_packer.go)
        }
        else
        {
            break;
        }
    }
    for (size_t turns = m_active.Size(); left >= LEAST_ROOM && turns > 0; --turns)
    {
        QuicStream& stream = *m_active.Front();
        m_active.Pop();
        if (m_spec.isOneFrame && stream.m_sending.HasLost())
        {
            bytes += add(stream.m_sending, *stream.m_sending.TakeLost(left));
        }
        else if (auto frame = stream.m_sending.TakeNew(left, Credit()))
        {
            m_sent += frame->length;
            m_unsent -= frame->length;
            m_wakeable.push_back(&stream);
            bytes += add(stream.m_sending, *frame);
        }
        stream.m_isActive = WantsTurn(stream);
        if (stream.m_isActive)
        {
            m_active.Push(&stream);
        }
    }
    if (m_isRedundant)
    {
        CopyToOthers(path);
    }
    return bytes - lengthBytes;
}

uint32_t
QuicConnection::AddLimits(int64_t now, QuicPath& path, uint32_t room)
{
    PacketHistory& history = path.sender.History();
    const int64_t rtt = HasPaths() ? SlowestRtt() : path.Srtt();
    uint32_t bytes = 0;
    while (!m_telling.IsEmpty() && room - bytes >= LIMIT_ROOM)
    {
        QuicStream& stream = *m_telling.Front();
        m_telling.Pop();
        stream.m_tellsLimit = false;
        FlowWindow& window = stream.m_receiving.Window();
        if (stream.m_receiving.IsUpdateDue() && window.Update(now, rtt))
        {
            const auto least = CONNECTION_PER_STREAM * static_cast<double>(window.Window());
            m_window.Widen(now, static_cast<uint64_t>(least));
        }
        const uint32_t number = stream.m_sending.Number();
        history.AddFrame({window.Limit(), number, 0, QuicFrameKind::MAX_STREAM_DATA, false});
        bytes += 1 + VariableLength(4ULL * number) + VariableLength(window.Limit());
    }
    if (m_tellsLimit && room - bytes >= LIMIT_ROOM)
    {
        m_tellsLimit = false;
        if (m_window.IsUpdateDue())
        {
            m_window.Update(now, rtt);
        }
        history.AddFrame({m_window.Limit(), 0, 0, QuicFrameKind::MAX_DATA, false});
        bytes += 1 + VariableLength(m_window.Limit());
    }
    return bytes;
}

void
QuicConnection::OnPacketSent(int64_t now)
{
    for (QuicStream* stream : m_wakeable)
    {
        stream->WakeWriter(now);
    }
    m_wakeable.clear();
    if (m_datagrams)
    {
        m_datagrams->OnSent(now);
    }
}

void
QuicConnection::OnFrameAcked(const QuicFrame& frame)
{
    if (frame.kind == QuicFrameKind::STREAM && !frame.isCopy)
    {
        m_unacked -= frame.length;
        m_endsAcked += m_streams[frame.stream].m_sending.OnAcked(frame);
    }
}

void
QuicConnection::OnFrameLost(uint32_t number, const QuicFrame& frame)
{
    switch (frame.kind)
    {
    case QuicFrameKind::STREAM: {
        if (frame.isCopy)
        {
            break;
        }
        QuicStream& stream = m_streams[frame.stream];
        stream.m_sending.OnLost(frame);
        if (m_spec.isOneFrame)
        {
            Activate(stream);
        }
        else if (!std::exchange(stream.m_isLossy, true))
        {
            m_lossy.Push(&stream);
        }
        break;
    }
    case QuicFrameKind::MAX_STREAM_DATA:
        TellLimit(m_streams[frame.stream]);
        break;
    case QuicFrameKind::MAX_DATA:
        m_tellsLimit = true;
        break;
    case QuicFrameKind::CRYPTO:
        m_first.handshake.OnLost(frame.offset);
        break;
    case QuicFrameKind::PATH_NEW_CONNECTION_ID:
        m_paths[frame.stream]->tellsId = true;
        break;
    case QuicFrameKind::PATH_CHALLENGE:
        m_paths[number]->challenges = !m_paths[number]->IsOpen();
        break;
    case QuicFrameKind::PATH_RESPONSE:
        // In RFC 9000, section 13.3, it is sent once, and the peer asks again.
        m_paths[number]->owesResponse = true;
        break;
    case QuicFrameKind::DATAGRAM: // it is not sent again (RFC 9221, section 5.2)
    case QuicFrameKind::PING:
        break;
    }
}

SendLimit
QuicConnection::LimitOfData(uint32_t number) const
{
    return HasPaths() && IsOpen() ? LimitOfPath(*m_paths[number]) : LimitOfAll();
}

SendLimit
QuicConnection::LimitOfAll() const
{
    const bool isFull = m_spec.sendBuffer > 0 && m_unacked >= m_spec.sendBuffer;
    const SendLimit window =
        Credit() == 0 ? SendLimit::CONNECTION_WINDOW : SendLimit::STREAM_WINDOW;
    return !IsOpen()      ? SendLimit::HANDSHAKE
           : IsOver()     ? SendLimit::NONE
           : m_unsent > 0 ? window
           : isFull       ? SendLimit::SEND_BUFFER
                          : SendLimit::APPLICATION;
}

} // namespace tunnelcc
