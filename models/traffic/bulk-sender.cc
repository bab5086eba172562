/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "bulk-sender.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

BulkSender::BulkSender(ByteStream& socket,
                       const FlowSpec& flow,
                       bool isClient,
                       CpuThread& thread,
                       double costPerByte)
    : m_socket(socket),
      m_flow(flow),
      m_isClient(isClient),
      m_thread(thread),
      m_costPerByte(costPerByte),
      m_interval(flow.rate > 0 ? static_cast<int64_t>(flow.writeSize * 8e9 / flow.rate) : 0),
      m_left(flow.bytes ? flow.bytes : std::numeric_limits<uint64_t>::max() / 2),
      m_timer(thread.Loop(), this),
      m_stopTimer(thread.Loop(), this)
{
    socket.SetUser(this);
    if (flow.stop > 0)
    {
        m_stopTimer.Set(flow.stop);
    }
}

void
BulkSender::OnOpen(int64_t now)
{
    if (!m_isClient)
    {
        return;
    }
    m_preambleLeft = m_flow.preamble;
    WritePreamble(now);
}

void
BulkSender::WritePreamble(int64_t now)
{
    if (m_preambleLeft > 0)
    {
        m_preambleLeft -= m_socket.Write(now, m_preambleLeft);
    }
    if (m_preambleLeft == 0)
    {
        m_timer.Set(std::max(now, m_flow.dataStart));
    }
}

void
BulkSender::OnReadable(int64_t now)
{
    m_socket.ReadAll(now);
    if (!m_isClient && !m_hasBegun && !m_timer.IsPending())
    {
        m_timer.Set(std::max(now, m_flow.dataStart));
    }
}

void
BulkSender::OnWritable(int64_t now)
{
    if (m_preambleLeft > 0)
    {
        WritePreamble(now);
    }
    else if (m_hasBegun)
    {
        ContinueWriting(now);
    }
}

void
BulkSender::OnComputed(int64_t now)
{
    m_isWriting = false;
    m_prepared = std::min<uint64_t>(m_flow.writeSize, m_left);
    ContinueWriting(now);
}

uint64_t
BulkSender::MessagesDue(int64_t since, int64_t until) const
{
    if (!m_hasBegun)
    {
        return 0;
    }
    int64_t end = m_flow.stop > 0 ? std::min(until, m_flow.stop - 1) : until;
    /// Messages before a time.
    auto before = [&](int64_t time) {
        int64_t passed = std::max<int64_t>(time - m_begin, 0);
        auto due = static_cast<uint64_t>((passed + m_interval - 1) / m_interval);
        return m_flow.bytes > 0 ? std::min(due, m_flow.bytes / m_flow.writeSize) : due;
    };
    uint64_t first = before(since);
    return std::max(before(end + 1), first) - first;
}

void
BulkSender::OnTimer(int64_t now)
{
    if (!m_hasBegun)
    {
        m_hasBegun = true;
        m_begin = m_nextWrite = now;
    }
    ContinueWriting(now);
}

void
BulkSender::OnStop(int64_t now)
{
    m_left = m_prepared = 0;
    if (m_hasBegun)
    {
        ContinueWriting(now);
    }
}

void
BulkSender::ContinueWriting(int64_t now)
{
    if (m_isWriting)
    {
        return;
    }
    while (m_left > 0)
    {
        if (m_prepared > 0)
        {
            const bool goesOn = m_isBlocked && m_flow.writes == WriteMode::BLOCKING;
            const uint64_t accepted =
                goesOn ? m_socket.Resume(now, m_prepared) : m_socket.Write(now, m_prepared);
            m_prepared -= accepted;
            m_left -= accepted;
            m_isBlocked = m_prepared > 0;
            if (m_isBlocked)
            {
                m_writesLeft = WritesPerPoll() - 1; // its rest is the first once poll() agrees
            }
        }
        if (m_prepared > 0)
        {
            return; // OnWritable() goes on
        }
        if (m_left > 0 && !PrepareNext(now))
        {
            return;
        }
    }
    m_socket.Close(now);
}

bool
BulkSender::MayWrite(int64_t now)
{
    if (m_flow.writes != WriteMode::POLLED)
    {
        return true;
    }
    if (m_writesLeft == 0 && m_socket.Poll(now))
    {
        m_writesLeft = WritesPerPoll();
    }
    const bool mayWrite = m_writesLeft > 0;
    m_writesLeft -= mayWrite;
    return mayWrite;
}

bool
BulkSender::PrepareNext(int64_t now)
{
    if (now < m_nextWrite)
    {
        m_timer.Set(m_nextWrite);
        return false;
    }
    if (!MayWrite(now))
    {
        return false; // OnWritable() goes on
    }
    m_nextWrite += m_interval;
    uint64_t bytes = std::min<uint64_t>(m_flow.writeSize, m_left);
    if (m_costPerByte > 0)
    {
        m_isWriting = true;
        m_socket.NoteIdle(now, SendLimit::CPU);
        m_thread.Submit(now, m_costPerByte * static_cast<double>(bytes), *this);
        return false;
    }
    m_prepared = bytes;
    return true;
}

} // namespace tunnelcc
