/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "bulk-receiver.h"

#include <algorithm>

namespace tunnelcc
{

BulkReceiver::BulkReceiver(ByteStream& socket,
                           const FlowSpec& flow,
                           bool isClient,
                           CpuThread& thread,
                           double costPerByte)
    : m_socket(socket),
      m_flow(flow),
      m_isClient(isClient),
      m_thread(thread),
      m_costPerByte(costPerByte),
      m_ends(flow.bytes > 0 || flow.stop > 0)
{
    socket.SetUser(this);
}

void
BulkReceiver::OnOpen(int64_t now)
{
    m_preambleLeft = m_isClient ? m_flow.preamble : 0;
    OnWritable(now);
}

void
BulkReceiver::OnWritable(int64_t now)
{
    if (m_preambleLeft > 0)
    {
        m_preambleLeft -= m_socket.Write(now, m_preambleLeft);
    }
}

void
BulkReceiver::OnReadable(int64_t now)
{
    if (m_costPerByte > 0)
    {
        ReadNext(now);
        return;
    }
    OnRead(now, m_socket.ReadAll(now));
}

void
BulkReceiver::ReadNext(int64_t now)
{
    if (m_reading > 0)
    {
        return;
    }
    m_reading = std::min<uint64_t>(m_socket.Readable(), m_flow.writeSize);
    if (m_reading == 0)
    {
        OnRead(now, 0); // the end, if any
        return;
    }
    m_thread.Submit(now, m_costPerByte * static_cast<double>(m_reading), *this);
}

void
BulkReceiver::OnComputed(int64_t now)
{
    m_socket.Read(now, m_reading);
    OnRead(now, m_reading);
    m_reading = 0;
    ReadNext(now);
}

void
BulkReceiver::OnRead(int64_t now, uint64_t bytes)
{
    m_total += bytes;
    if (m_looks)
    {
        Look(now, bytes);
    }
}

void
BulkReceiver::Look(int64_t now, uint64_t bytes)
{
    if (m_firstByteTime < 0 && bytes > 0)
    {
        m_firstByteTime = now;
    }
    m_looks = m_firstByteTime < 0 || m_sender || m_ends;
    if (m_sender)
    {
        RecordMessages(now);
    }
    if (!m_ends)
    {
        return;
    }
    if (m_lastByteTime < 0 && m_flow.bytes > 0 && HasAll())
    {
        m_lastByteTime = now;
    }
    // A stream that a tunnel broke off ends as well, but its flow was not to end there.
    const bool mayEnd = m_flow.stop > 0 || HasAll();
    if (m_endTime < 0 && mayEnd && m_socket.IsAtEof())
    {
        m_endTime = now;
    }
}

/// Whether as many bytes were read as the sender writes; of a flow without end, always.
bool
BulkReceiver::HasAll() const
{
    return Total() >= m_flow.bytes + (m_isClient ? 0 : m_flow.preamble);
}

void
BulkReceiver::TimeMessages(int64_t now, const BulkSender& sender)
{
    if (sender.WritesMessages())
    {
        m_sender = &sender;
        m_looks = true;
        m_timedSince = now;
        m_messageLatency.emplace();
    }
}

void
BulkReceiver::RecordMessages(int64_t now)
{
    uint64_t before = m_isClient ? 0 : m_flow.preamble;
    while (Total() >= before + (m_messages + 1) * m_flow.writeSize)
    {
        int64_t due = m_sender->MessageDue(m_messages);
        if (due >= m_timedSince)
        {
            m_messageLatency->Record(now - due);
            m_sampledLatency += now - due;
            ++m_sampled;
        }
        ++m_messages;
    }
}

} // namespace tunnelcc
