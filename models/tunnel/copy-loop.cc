/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "copy-loop.h"

namespace tunnelcc
{

CopyLoop::CopyLoop(RelaySide& from, RelaySide& to, uint32_t copyBuffer, Cpu& cpu)
    : m_from(from),
      m_to(to),
      m_copyBuffer(copyBuffer),
      m_cpu(cpu),
      m_timer(this)
{
}

void
CopyLoop::Start(int64_t now)
{
    m_state = State::READING;
    ReadNext(now);
}

void
CopyLoop::OnReadable(int64_t now)
{
    if (m_state == State::READING)
    {
        ReadNext(now);
    }
}

void
CopyLoop::OnWritable(int64_t now)
{
    if (m_state == State::WRITING)
    {
        WriteOn(now);
    }
}

void
CopyLoop::ReadNext(int64_t now)
{
    const RelaySide::Chunk chunk = m_from.Take(now, m_copyBuffer);
    if (chunk.bytes == 0)
    {
        if (m_from.IsFinished())
        {
            m_state = State::CLOSED;
            m_to.Close(now);
        }
        return;
    }
    m_hasRead = true;
    m_state = State::COMPUTING;
    double cost = chunk.cost + m_to.Prepare(chunk.bytes);
    // Between streams of shared carriers, their sessions' threads do the work.
    m_timer.Set(cost > 0 ? m_cpu.Run(now, cost, this) : now);
}

void
CopyLoop::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    WriteOn(now);
}

void
CopyLoop::WriteOn(int64_t now)
{
    if (m_to.Write(now))
    {
        m_state = State::READING;
        ReadNext(now);
    }
}

} // namespace tunnelcc
