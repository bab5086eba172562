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
      m_timer(cpu.Loop(), this)
{
}

void
CopyLoop::Start(int64_t now)
{
    m_state = State::READING;
    Run(now);
}

void
CopyLoop::OnReadable(int64_t now)
{
    if (m_state == State::READING)
    {
        Run(now);
    }
}

void
CopyLoop::OnWritable(int64_t now)
{
    if (m_state == State::WRITING && WriteChunk(now))
    {
        Run(now);
    }
}

void
CopyLoop::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    if (WriteChunk(now))
    {
        Run(now);
    }
}

void
CopyLoop::Run(int64_t now)
{
    while (ReadChunk(now) && WriteChunk(now))
    {
    }
}

bool
CopyLoop::ReadChunk(int64_t now)
{
    const RelaySide::Chunk chunk = m_from.Read(now, m_copyBuffer);
    if (chunk.bytes == 0)
    {
        if (m_from.IsFinished())
        {
            m_state = State::CLOSED;
            m_to.Close(now);
        }
        return false;
    }
    m_hasRead = true;
    double cost = chunk.cost + m_to.Prepare(chunk.bytes);
    if (cost > 0)
    {
        m_state = State::COMPUTING;
        m_to.OnComputing(now);
        m_timer.Set(m_cpu.Run(now, cost, this, m_to.HasWriter()));
        return false;
    }
    m_state = State::WRITING; // the threads of shared carriers' sessions do the work
    return true;
}

bool
CopyLoop::WriteChunk(int64_t now)
{
    if (!m_to.Write(now))
    {
        return false;
    }
    m_state = State::READING;
    return true;
}

} // namespace tunnelcc
