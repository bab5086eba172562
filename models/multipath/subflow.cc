/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "subflow.h"

#include "congestion/slow-start.h"
#include "mptcp-endpoint.h"

#include <algorithm>

namespace tunnelcc
{

double
Subflow::Rate() const
{
    const SenderState& state = m_tcp.GetSender().State();
    // tcp_update_pacing_rate() sets one for algorithms that have none, whether it is used or not.
    return state.pacingRate > 0 ? state.pacingRate : WindowPacing{}.GetRate(state);
}

uint64_t
Subflow::Write(int64_t now, uint64_t begin, uint64_t bytes)
{
    // It may be sent at once: the other end never reads ahead of its mapping, as it is there later.
    m_sent.Announce({begin, bytes});
    if (begin != m_end)
    {
        m_tcp.EndPart(); // a segment tells one mapping
    }
    const uint64_t taken = m_tcp.Write(now, bytes);
    m_sent.Push({begin, taken});
    if (taken > 0)
    {
        m_end = begin + taken;
    }
    return taken;
}

void
Subflow::CheckProgress()
{
    if (!m_isOpen || Queued() == 0)
    {
        return;
    }
    if (m_stalePeriods == 0)
    {
        m_stamp = m_lastHeard;
        ++m_stalePeriods;
    }
    else if (m_stamp == m_lastHeard)
    {
        ++m_stalePeriods;
    }
    else
    {
        m_stalePeriods = 0;
        m_isStale = false;
    }
}

void
Subflow::OnOpen(int64_t now)
{
    m_connection.OnSubflowOpen(now, *this);
}

void
Subflow::OnReadable(int64_t now)
{
    uint64_t bytes = m_tcp.ReadAll(now);
    while (bytes > 0)
    {
        Mapping& first = m_received.Front();
        const uint64_t part = std::min(bytes, first.length);
        m_connection.OnData(now, first.begin, first.begin + part);
        first.begin += part;
        first.length -= part;
        bytes -= part;
        if (first.length == 0)
        {
            m_received.Pop();
        }
    }
    m_connection.OnSubflowReadable(now);
}

void
Subflow::OnWritable(int64_t now)
{
    m_connection.OnSubflowWritable(now);
}

uint32_t
Subflow::DataAck() const
{
    return static_cast<uint32_t>(m_connection.Data().Next());
}

uint32_t
Subflow::Window()
{
    const uint32_t window = m_connection.Advertise();
    m_told = window;
    m_receivedThen = m_tcp.GetReceiver().Received();
    return window;
}

uint32_t
Subflow::HandshakeBytes(const Packet& packet) const
{
    return HandshakeOptionBytes(packet, m_connection.IsClient(), !m_connection.IsFirst(*this));
}

void
Subflow::OnDataAck(int64_t now, uint32_t dataAck, uint32_t window)
{
    m_lastHeard = now;
    m_connection.OnDataAck(now, *this, dataAck, window);
}

} // namespace tunnelcc
