/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-receiver.h"

#include <algorithm>

namespace tunnelcc
{

MuxReceiver::MuxReceiver(MuxReceiverUser& user,
                         TcpEndpoint& carrier,
                         uint64_t buffer,
                         const RelayWorkSpec& work,
                         Cpu& cpu,
                         MuxFrameLog& log)
    : m_user(user),
      m_carrier(carrier),
      m_buffer(buffer > 0 ? buffer : UINT64_MAX),
      m_work(work),
      m_cpu(cpu),
      m_log(log),
      m_timer(this)
{
}

void
MuxReceiver::OnReadable(int64_t now)
{
    if (!m_isComputing)
    {
        ReadOn(now);
    }
}

void
MuxReceiver::OnTaken(int64_t now, uint32_t bytes)
{
    bool wasFull = m_unread >= m_buffer;
    m_unread -= bytes;
    if (wasFull && !m_isComputing)
    {
        ReadOn(now);
    }
}

void
MuxReceiver::ReadOn(int64_t now)
{
    if (m_log.IsEmpty() || m_unread >= m_buffer)
    {
        return;
    }
    const MuxFrame& frame = m_log.Front();
    uint64_t missing = frame.end - m_carrier.GetReceiver().TotalRead();
    uint64_t bytes = std::min(missing, m_carrier.Readable());
    if (bytes > 0)
    {
        m_carrier.Read(now, bytes);
    }
    if (bytes == missing)
    {
        m_isComputing = true;
        m_timer.Set(m_cpu.Run(now, frame.Cost(m_work), this));
    }
}

void
MuxReceiver::OnComputed(int64_t now)
{
    const MuxFrame frame = m_log.Front();
    m_log.Pop();
    m_isComputing = false;
    if (frame.kind == MuxFrameKind::DATA)
    {
        m_unread += frame.bytes;
    }
    m_user.OnFrame(now, frame);
    if (!m_isComputing)
    {
        ReadOn(now);
    }
}

} // namespace tunnelcc
