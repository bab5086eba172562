/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "bulk-sender.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

BulkSender::BulkSender(TcpEndpoint& endpoint,
                       const FlowSpec& flow,
                       bool isClient,
                       CpuThread& thread,
                       double costPerByte)
    : m_endpoint(endpoint),
      m_flow(flow),
      m_isClient(isClient),
      m_thread(thread),
      m_costPerByte(costPerByte),
      m_left(flow.bytes ? flow.bytes : std::numeric_limits<uint64_t>::max() / 2),
      m_timer(this)
{
    endpoint.SetUser(this);
}

void
BulkSender::OnConnected(int64_t now)
{
    if (!m_isClient)
    {
        return;
    }
    if (m_flow.preamble)
    {
        m_endpoint.Write(now, m_flow.preamble);
    }
    m_timer.Set(std::max(now, m_flow.dataStart));
}

void
BulkSender::OnReadable(int64_t now)
{
    m_endpoint.Read(now, m_endpoint.Readable());
    if (!m_isClient && !m_hasBegun && !m_timer.IsPending())
    {
        m_timer.Set(std::max(now, m_flow.dataStart));
    }
}

void
BulkSender::OnWritable(int64_t now)
{
    if (m_costPerByte > 0)
    {
        WriteNext(now);
    }
    else if (m_hasBegun)
    {
        WriteAll(now);
    }
}

void
BulkSender::OnComputed(int64_t now)
{
    m_isWriting = false;
    m_prepared = std::min<uint64_t>(m_flow.writeSize, m_left);
    WriteNext(now);
}

void
BulkSender::Begin(int64_t now)
{
    m_hasBegun = true;
    if (m_costPerByte > 0)
    {
        WriteNext(now);
    }
    else
    {
        WriteAll(now);
    }
}

void
BulkSender::WriteAll(int64_t now)
{
    m_left -= m_endpoint.Write(now, m_left);
    if (m_left == 0)
    {
        m_endpoint.Close(now);
    }
}

void
BulkSender::WriteNext(int64_t now)
{
    if (m_isWriting || !m_hasBegun)
    {
        return;
    }
    uint64_t accepted = m_endpoint.Write(now, m_prepared);
    m_prepared -= accepted;
    m_left -= accepted;
    if (m_left == 0)
    {
        m_endpoint.Close(now);
    }
    else if (m_prepared == 0)
    {
        m_isWriting = true;
        double cost =
            m_costPerByte * static_cast<double>(std::min<uint64_t>(m_flow.writeSize, m_left));
        m_thread.Submit(now, cost, *this);
    }
}

} // namespace tunnelcc
