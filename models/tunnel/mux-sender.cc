/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-sender.h"

#include <algorithm>
#include <numeric>

namespace tunnelcc
{

MuxSender::MuxSender(MuxSenderUser& user,
                     TcpEndpoint& carrier,
                     const std::vector<LayerSpec>& layers,
                     const RelayWorkSpec& work,
                     Cpu& cpu,
                     MuxFrameLog& log)
    : m_user(user),
      m_carrier(carrier),
      m_layers(layers),
      m_work(work),
      m_cpu(cpu),
      m_log(log),
      m_timer(this)
{
}

void
MuxSender::Submit(int64_t now, const MuxFrame& frame)
{
    // The end of a stream stays behind its data.
    bool isInOrder = frame.kind == MuxFrameKind::DATA || frame.kind == MuxFrameKind::CLOSE;
    (isInOrder ? m_data : m_control).Push(frame);
    if (m_state == State::IDLE)
    {
        Next(now);
    }
}

void
MuxSender::OnWritable(int64_t now)
{
    if (m_state == State::WRITING)
    {
        WriteOn(now);
    }
}

void
MuxSender::Next(int64_t now)
{
    Fifo<MuxFrame>& queue = m_control.IsEmpty() ? m_data : m_control;
    if (queue.IsEmpty())
    {
        m_state = State::IDLE;
        return;
    }
    m_frame = queue.Front();
    queue.Pop();
    m_writes = m_layers.Wrap(m_frame.size);
    m_write = 0;
    m_frame.writes = static_cast<uint16_t>(std::min<size_t>(m_writes.size(), UINT16_MAX));
    m_frame.wire = std::accumulate(m_writes.begin(), m_writes.end(), uint32_t{0});
    m_frame.end = m_carrier.GetSender().Buffer().Written() + m_frame.wire;
    m_log.Push(m_frame);
    m_state = State::COMPUTING;
    m_timer.Set(m_cpu.Run(now, m_frame.Cost(m_work), this));
}

void
MuxSender::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    WriteOn(now);
}

void
MuxSender::WriteOn(int64_t now)
{
    for (; m_write < m_writes.size(); ++m_write)
    {
        uint32_t& left = m_writes[m_write];
        left -= static_cast<uint32_t>(m_carrier.Write(now, left));
        if (left > 0)
        {
            return; // OnWritable() goes on
        }
    }
    const MuxFrame written = m_frame;
    Next(now);
    if (written.kind == MuxFrameKind::DATA)
    {
        m_user.OnFrameWritten(now, written);
    }
}

} // namespace tunnelcc
