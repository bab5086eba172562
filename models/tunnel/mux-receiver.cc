/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-receiver.h"

namespace tunnelcc
{

MuxReceiver::MuxReceiver(MuxFrameUser& user,
                         MuxCarrier& carrier,
                         uint64_t buffer,
                         const RelayWorkSpec& work,
                         Cpu& cpu)
    : m_user(user),
      m_carrier(carrier),
      m_buffer(buffer > 0 ? buffer : UINT64_MAX),
      m_work(work),
      m_cpu(cpu),
      m_timer(cpu.Loop(), this)
{
}

void
MuxReceiver::OnReadable(int64_t now)
{
    if (!m_isComputing)
    {
        ContinueReading(now);
    }
}

void
MuxReceiver::OnStreamRead(int64_t now, uint32_t bytes)
{
    bool wasFull = m_unread >= m_buffer;
    m_unread -= bytes;
    if (wasFull && !m_isComputing)
    {
        ContinueReading(now);
    }
}

void
MuxReceiver::ContinueReading(int64_t now)
{
    if (m_unread >= m_buffer)
    {
        return;
    }
    if (const Message<MuxFrame>* frame = m_carrier.Read(now))
    {
        m_isComputing = true;
        m_timer.Set(m_cpu.Run(now, CostOf(*frame, m_work), this));
    }
}

void
MuxReceiver::OnComputed(int64_t now)
{
    const MuxFrame frame = m_carrier.Front().content;
    m_carrier.Pop();
    m_isComputing = false;
    if (frame.kind == MuxFrameKind::DATA)
    {
        m_unread += frame.bytes;
    }
    m_user.OnFrame(now, frame);
    if (!m_isComputing)
    {
        ContinueReading(now);
    }
}

} // namespace tunnelcc
