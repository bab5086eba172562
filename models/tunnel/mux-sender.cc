/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-sender.h"

namespace tunnelcc
{

MuxSender::MuxSender(MuxFrameUser& user, MuxCarrier& carrier, const RelayWorkSpec& work, Cpu& cpu)
    : m_user(user),
      m_carrier(carrier),
      m_work(work),
      m_cpu(cpu),
      m_timer(cpu.Loop(), this)
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
        ContinueWriting(now);
    }
}

void
MuxSender::Next(int64_t now)
{
    Fifo<MuxFrame>& queue = m_control.IsEmpty() ? m_data : m_control;
    if (queue.IsEmpty())
    {
        m_state = State::IDLE;
        m_user.OnIdle(now);
        return;
    }
    m_frame = queue.Front();
    queue.Pop();
    m_state = State::COMPUTING;
    m_carrier.NoteIdle(now, SendLimit::CPU);
    double cost = CostOf(m_carrier.Append(m_frame, m_frame.size), m_work);
    m_timer.Set(m_cpu.Run(now, cost, this));
}

void
MuxSender::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    ContinueWriting(now);
}

void
MuxSender::ContinueWriting(int64_t now)
{
    if (!m_carrier.Flush(now))
    {
        return; // OnWritable() goes on
    }
    const MuxFrame written = m_frame;
    Next(now);
    if (written.kind == MuxFrameKind::DATA)
    {
        m_user.OnFrameWritten(now, written);
    }
}

} // namespace tunnelcc
