/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "encapsulator.h"

#include <algorithm>
#include <numeric>

namespace tunnelcc
{

Encapsulator::Encapsulator(TcpEndpoint& plain,
                           TcpEndpoint& carrier,
                           const std::vector<LayerSpec>& layers,
                           uint32_t copyBuffer,
                           uint32_t prefix,
                           Cpu& cpu,
                           double costPerByte,
                           MessageLog& log)
    : m_plain(plain),
      m_carrier(carrier),
      m_layers(layers),
      m_copyBuffer(copyBuffer),
      m_prefix(prefix),
      m_cpu(cpu),
      m_costPerByte(costPerByte),
      m_log(log),
      m_timer(this)
{
}

void
Encapsulator::Start(int64_t now)
{
    m_state = State::READING;
    ReadNext(now);
}

void
Encapsulator::OnPlainReadable(int64_t now)
{
    if (m_state == State::READING)
    {
        ReadNext(now);
    }
}

void
Encapsulator::OnCarrierWritable(int64_t now)
{
    if (m_state == State::WRITING)
    {
        WriteOn(now);
    }
}

void
Encapsulator::ReadNext(int64_t now)
{
    auto payload = static_cast<uint32_t>(std::min<uint64_t>(m_plain.Readable(), m_copyBuffer));
    if (payload == 0)
    {
        if (m_plain.GetReceiver().IsFinished())
        {
            m_state = State::CLOSED;
            m_carrier.Close(now);
        }
        return;
    }
    m_plain.Read(now, payload);
    m_writes = m_layers.Wrap(m_prefix + payload);
    m_prefix = 0;
    m_write = 0;
    uint32_t wire = std::accumulate(m_writes.begin(), m_writes.end(), uint32_t{0});
    m_log.Push({m_carrier.GetSender().Buffer().Written() + wire, wire, payload});
    m_state = State::COMPUTING;
    m_timer.Set(m_cpu.Run(now, m_costPerByte * wire, this));
}

void
Encapsulator::OnComputed(int64_t now)
{
    m_state = State::WRITING;
    WriteOn(now);
}

void
Encapsulator::WriteOn(int64_t now)
{
    for (; m_write < m_writes.size(); ++m_write)
    {
        uint32_t& left = m_writes[m_write];
        left -= static_cast<uint32_t>(m_carrier.Write(now, left));
        if (left > 0)
        {
            return; // OnCarrierWritable() goes on
        }
    }
    m_state = State::READING;
    ReadNext(now);
}

} // namespace tunnelcc
