/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "decapsulator.h"

#include <algorithm>

namespace tunnelcc
{

Decapsulator::Decapsulator(TcpEndpoint& carrier,
                           TcpEndpoint& plain,
                           Cpu& cpu,
                           double costPerByte,
                           MessageLog& log)
    : m_carrier(carrier),
      m_plain(plain),
      m_cpu(cpu),
      m_costPerByte(costPerByte),
      m_log(log),
      m_timer(this)
{
}

void
Decapsulator::Start(int64_t now)
{
    m_state = State::READING;
    ReadOn(now);
}

void
Decapsulator::OnCarrierReadable(int64_t now)
{
    if (m_state == State::READING)
    {
        ReadOn(now);
    }
}

void
Decapsulator::OnPlainWritable(int64_t now)
{
    if (m_state == State::WRITING)
    {
        WriteOn(now);
    }
}

void
Decapsulator::ReadOn(int64_t now)
{
    const Receiver& receiver = m_carrier.GetReceiver();
    if (m_log.IsEmpty())
    {
        if (receiver.IsFinished())
        {
            m_state = State::CLOSED;
            m_plain.Close(now);
        }
        return;
    }
    const Message& message = m_log.Front();
    uint64_t missing = message.end - receiver.TotalRead();
    uint64_t bytes = std::min(missing, m_carrier.Readable());
    if (bytes > 0)
    {
        m_carrier.Read(now, bytes);
    }
    if (bytes < missing)
    {
        return;
    }
    m_hasMessage = true;
    m_left = message.payload;
    m_state = State::COMPUTING;
    m_timer.Set(m_cpu.Run(now, m_costPerByte * message.wire, this));
    m_log.Pop();
}

void
Decapsulator::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    WriteOn(now);
}

void
Decapsulator::WriteOn(int64_t now)
{
    m_left -= m_plain.Write(now, m_left);
    if (m_left > 0)
    {
        return; // OnPlainWritable() goes on
    }
    m_state = State::READING;
    ReadOn(now);
}

} // namespace tunnelcc
