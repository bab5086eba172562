/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mptcp-endpoint.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tunnelcc
{

namespace
{

/// What the send buffer holds beyond its subflows' (Linux tcp_wmem[0]), bytes.
constexpr uint64_t LEAST_BUFFER = 4096;

/// A buffer of the connection's queue (a page fragment of 32 KiB less its head, struct
/// mptcp_data_frag), bytes.
constexpr uint64_t FRAGMENT = 32 * 1024 - 40;

/// Bytes of such a buffer from a place in the stream on.
uint64_t
RestOfFragment(uint64_t place)
{
    return FRAGMENT - place % FRAGMENT;
}

/// Periods without a sign of life after which a subflow is stale (sysctl stale_loss_cnt).
constexpr uint32_t STALE_PERIODS = 4;

} // namespace

MptcpEndpoint::MptcpEndpoint(EventLoop& loop,
                             const TcpSpec& spec,
                             const MultipathSpec& multipath,
                             bool isClient)
    : m_isClient(isClient),
      m_minRto(spec.minRto),
      m_chooser(multipath.scheduler),
      m_data(spec),
      m_timer(loop, this)
{
}

void
MptcpEndpoint::AddSubflow(TcpEndpoint& tcp, MappingLog& sent, MappingLog& received, bool isBackup)
{
    m_paths.push_back(&m_subflows.emplace_back(*this, tcp, sent, received, isBackup));
    tcp.Couple(m_group);
}

// The application ------------------------------------------------------------------------------

uint64_t
MptcpEndpoint::Capacity() const
{
    uint64_t bytes = LEAST_BUFFER;
    for (const Subflow& it : m_subflows)
    {
        bytes += it.IsOpen() ? it.Tcp().GetSender().Buffer().Capacity() : 0;
    }
    return bytes;
}

bool
MptcpEndpoint::IsWriteable() const
{
    // As SendBuffer::IsWriteable().
    const uint64_t queued = m_written - m_acked;
    const uint64_t capacity = Capacity();
    return queued < capacity && capacity - queued >= queued / 2;
}

uint64_t
MptcpEndpoint::Write(int64_t now, uint64_t bytes)
{
    // Linux mptcp_sendmsg(): the last buffer is filled up while it waits to be sent, whatever the
    // limit; only a new one needs room below it.
    m_idle = SendLimit::APPLICATION;
    const uint64_t end = m_written + bytes;
    const uint64_t limit = m_acked + Capacity();
    const uint64_t before = m_written;
    while (m_written < end)
    {
        const uint64_t rest = RestOfFragment(m_written);
        const bool isNew = rest == FRAGMENT || m_written == m_next;
        if (isNew && m_written >= limit)
        {
            break;
        }
        m_written += std::min(rest, end - m_written);
    }
    m_isWriterBlocked = m_written < end;
    Push(now);
    return m_written - before;
}

void
MptcpEndpoint::NoteIdle(int64_t now, SendLimit why)
{
    m_idle = why;
    NoteLimits(now);
}

void
MptcpEndpoint::Read(int64_t now, uint64_t bytes)
{
    int64_t rtt = 0;
    for (const Subflow& it : m_subflows)
    {
        const int64_t own = it.Tcp().ReceiveRttEstimate();
        rtt = own > 0 && (rtt == 0 || own < rtt) ? own : rtt;
    }
    m_data.Read(now, bytes, rtt);
    if (!m_data.NeedsWindowUpdate())
    {
        return;
    }
    for (Subflow& it : m_subflows)
    {
        // Linux __tcp_cleanup_rbuf(), of each subflow: an idle one has told enough.
        if (2 * it.WindowLeft() <= m_data.Room())
        {
            it.Tcp().TellWindow(now);
        }
    }
}

bool
MptcpEndpoint::IsAtEof() const
{
    return m_data.Readable() == 0 &&
           std::ranges::any_of(m_subflows, [](const auto& it) { return it.Tcp().IsAtEof(); });
}

void
MptcpEndpoint::Close(int64_t now)
{
    m_isClosing = true;
    if (m_acked == m_written)
    {
        CloseSubflows(now);
    }
}

void
MptcpEndpoint::CloseSubflows(int64_t now)
{
    if (m_hasClosed)
    {
        return;
    }
    m_hasClosed = true;
    for (Subflow& it : m_subflows)
    {
        if (it.IsOpen())
        {
            it.Tcp().Close(now);
        }
    }
}

// Subflows -------------------------------------------------------------------------------------

void
MptcpEndpoint::OnSubflowOpen(int64_t now, Subflow& subflow)
{
    if (IsFirst(subflow))
    {
        m_isOpen = true;
        m_windowEnd = subflow.Tcp().HandshakeWindow();
        subflow.Open();
        m_data.OnEstablished(now);
        if (m_user)
        {
            m_user->OnOpen(now);
        }
        Push(now); // what was written before
        WakeWriter(now);
        return;
    }
    if (!m_isClient)
    {
        subflow.Open();
        subflow.Tcp().TellWindow(now); // of the ACK with MP_JOIN (RFC 8684, section 3.2)
        Push(now);
    }
}

void
MptcpEndpoint::Join(int64_t now)
{
    if (!m_isClient || m_hasJoined)
    {
        return;
    }
    m_hasJoined = true;
    for (size_t number = 1; number < m_subflows.size(); ++number)
    {
        m_subflows[number].Tcp().Connect(now);
    }
}

void
MptcpEndpoint::OnData(int64_t now, uint64_t begin, uint64_t end)
{
    m_data.OnData(now, begin, end);
}

void
MptcpEndpoint::OnSubflowReadable(int64_t now)
{
    Join(now);
    if (m_user && (m_data.Readable() > 0 || IsAtEof()))
    {
        m_user->OnReadable(now);
    }
}

void
MptcpEndpoint::OnSubflowWritable(int64_t now)
{
    Push(now);
}

void
MptcpEndpoint::OnDataAck(int64_t now, Subflow& subflow, uint32_t dataAck, uint32_t window)
{
    if (!subflow.IsOpen() && m_isOpen)
    {
        subflow.Open(); // MP_JOIN is acknowledged
    }
    const uint64_t acked =
        m_acked + std::max(static_cast<int32_t>(dataAck - static_cast<uint32_t>(m_acked)), 0);
    m_windowEnd = std::max(m_windowEnd, acked + window);
    if (acked > m_acked)
    {
        Join(now);
        m_acked = acked;
        m_next = std::max(m_next, m_acked);
        if (m_acked < m_written)
        {
            RestartTimer(now);
        }
        else
        {
            m_timer.Cancel();
            if (m_isClosing)
            {
                CloseSubflows(now);
            }
        }
    }
    Push(now);
    WakeWriter(now);
}

void
MptcpEndpoint::WakeWriter(int64_t now)
{
    if (m_isWriterBlocked && IsWriteable())
    {
        m_isWriterBlocked = false;
        if (m_user)
        {
            m_user->OnWritable(now);
        }
    }
}

// Sending --------------------------------------------------------------------------------------

void
MptcpEndpoint::Push(int64_t now)
{
    if (!m_isOpen)
    {
        return;
    }
    if (m_chooser.Kind() == MultipathScheduler::REDUNDANT)
    {
        PushRedundantly(now);
        NoteLimits(now);
        return;
    }
    bool hasPushed = false;
    while (m_next < m_written)
    {
        const DataView data{m_written - m_next,
                            m_windowEnd - std::min(m_windowEnd, m_next),
                            m_next - m_acked};
        const auto [subflow, most] = m_chooser.Choose(m_paths, data);
        uint64_t bytes = std::min({most, data.pending, data.window});
        if (bytes > 0 && m_chooser.Kind() == MultipathScheduler::DEFAULT)
        {
            bytes = std::min({WholeFragments(*subflow, most), data.pending, data.window});
        }
        const uint64_t taken = bytes > 0 ? subflow->Write(now, m_next, bytes) : 0;
        if (taken == 0)
        {
            break;
        }
        hasPushed = true;
        m_reinjected += std::min(m_sent - std::min(m_sent, m_next), taken);
        m_next += taken;
        m_sent = std::max(m_sent, m_next);
    }
    if (hasPushed && !m_timer.IsPending())
    {
        RestartTimer(now);
    }
    NoteLimits(now);
}

/// What a subflow gets that the scheduler has chosen, at most: whole buffers until they are `burst`
/// bytes, or its own buffer is full (Linux __subflow_push_pending()).
uint64_t
MptcpEndpoint::WholeFragments(const Subflow& subflow, uint64_t burst) const
{
    const uint64_t room = subflow.Tcp().GetSender().Buffer().Room();
    uint64_t bytes = RestOfFragment(m_next);
    while (bytes < burst && bytes < room)
    {
        bytes += FRAGMENT;
    }
    return bytes;
}

void
MptcpEndpoint::PushRedundantly(int64_t now)
{
    for (bool hasPushed = true; std::exchange(hasPushed, false);)
    {
        for (Subflow& it : m_subflows)
        {
            it.cursor = std::max(it.cursor, m_acked);
            const uint64_t end = std::min(m_written, m_windowEnd);
            const uint64_t segment = it.Tcp().GetSender().Mss();
            if (!it.IsUsable() || it.cursor >= end || it.WindowRoom() < segment)
            {
                continue;
            }
            const uint64_t taken = it.Write(now, it.cursor, std::min(segment, end - it.cursor));
            m_reinjected += std::min(m_sent - std::min(m_sent, it.cursor), taken);
            it.cursor += taken;
            m_next = m_sent = std::max(m_sent, it.cursor);
            hasPushed |= taken > 0;
        }
    }
    if (m_sent > m_acked && !m_timer.IsPending())
    {
        RestartTimer(now);
    }
}

void
MptcpEndpoint::NoteLimits(int64_t now)
{
    SendLimit why = m_idle;
    if (m_next < m_written && m_next >= m_windowEnd)
    {
        why = SendLimit::CONNECTION_WINDOW;
    }
    for (Subflow& it : m_subflows)
    {
        if (!it.IsOpen())
        {
            continue;
        }
        if (m_isWriterBlocked)
        {
            it.Tcp().WaitForRoom(); // so that the buffers of all may grow
        }
        it.Tcp().NoteIdle(now, why);
    }
}

// Time-outs ------------------------------------------------------------------------------------

void
MptcpEndpoint::RestartTimer(int64_t now)
{
    // Linux mptcp_timeout_from_subflow(), mptcp_reset_rtx_timer()
    int64_t longest = 0;
    for (const Subflow& it : m_subflows)
    {
        const int64_t deadline = it.Tcp().GetSender().TimerDeadline();
        if (it.IsUsable() && it.StalePeriods() == 0 && deadline != NEVER)
        {
            longest = std::max(longest, deadline - now);
        }
    }
    m_timer.Set(now + (longest > 0 ? longest : m_minRto));
}

void
MptcpEndpoint::OnTimer(int64_t now)
{
    for (Subflow& it : m_subflows)
    {
        it.CheckProgress();
    }
    CheckStale(now);
    Reinject(now);
    if (!m_timer.IsPending() && m_acked < m_written)
    {
        RestartTimer(now);
    }
}

void
MptcpEndpoint::CheckStale(int64_t now)
{
    for (Subflow& it : m_subflows)
    {
        if (!it.IsOpen() || it.IsStale() || it.StalePeriods() <= STALE_PERIODS)
        {
            continue;
        }
        const bool hasOther = std::ranges::any_of(m_subflows, [&](const auto& other) {
            return &other != &it && other.IsUsable() && other.StalePeriods() < STALE_PERIODS - 1;
        });
        if (!hasOther)
        {
            continue;
        }
        if (it.Queued() > 0)
        {
            it.SetStale();
            m_next = m_acked; // all once more
        }
        Push(now);
        return;
    }
}

Subflow*
MptcpEndpoint::IdleSubflow()
{
    // Linux mptcp_subflow_get_retrans()
    Subflow* backup = nullptr;
    uint32_t leastPeriods = std::numeric_limits<uint32_t>::max();
    for (Subflow& it : m_subflows)
    {
        if (!it.IsOpen())
        {
            continue;
        }
        if (it.Queued() > 0)
        {
            leastPeriods = std::min(leastPeriods, it.StalePeriods());
        }
        else if (!it.IsBackup())
        {
            return &it;
        }
        else if (!backup)
        {
            backup = &it;
        }
    }
    return leastPeriods > 1 ? backup : nullptr;
}

void
MptcpEndpoint::Reinject(int64_t now)
{
    uint64_t begin = m_acked;
    while (begin < m_sent)
    {
        Subflow* idle = IdleSubflow();
        if (!idle)
        {
            return;
        }
        const uint64_t taken = idle->Write(now, begin, std::min(FRAGMENT, m_sent - begin));
        if (taken == 0)
        {
            return;
        }
        m_reinjected += taken;
        begin += taken;
    }
}

} // namespace tunnelcc
