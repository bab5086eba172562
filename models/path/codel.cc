/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "codel.h"

#include <cmath>

namespace tunnelcc
{

QueuedPacket*
CodelControl::Head(int64_t now, PacketQueue& queue, CodelState& state, bool& isOkToDrop)
{
    QueuedPacket* packet = Pop(queue);
    isOkToDrop = false;
    if (!packet || now - packet->arrival < m_target || queue.Bytes() <= Largest())
    {
        state.firstAbove = 0;
    }
    else if (state.firstAbove == 0)
    {
        state.firstAbove = now + m_interval;
    }
    else
    {
        isOkToDrop = now >= state.firstAbove;
    }
    return packet;
}

int64_t
CodelControl::ControlLaw(int64_t time, uint32_t count) const
{
    return time + static_cast<int64_t>(static_cast<double>(m_interval) / std::sqrt(count));
}

QueuedPacket*
CodelControl::Next(int64_t now, PacketQueue& queue, CodelState& state)
{
    bool isOkToDrop;
    QueuedPacket* packet = Head(now, queue, state, isOkToDrop);
    if (!isOkToDrop)
    {
        state.isDropping = false;
        return packet;
    }
    if (state.isDropping)
    {
        return KeepDropping(now, queue, state, packet);
    }
    if (!Mark(*packet))
    {
        Drop(packet);
        packet = Head(now, queue, state, isOkToDrop);
    }
    BeginDropping(now, state);
    return packet;
}

QueuedPacket*
CodelControl::KeepDropping(int64_t now, PacketQueue& queue, CodelState& state, QueuedPacket* packet)
{
    while (state.isDropping && now >= state.dropNext)
    {
        ++state.count;
        if (Mark(*packet))
        {
            state.dropNext = ControlLaw(state.dropNext, state.count);
            return packet;
        }
        Drop(packet);
        packet = Head(now, queue, state, state.isDropping);
        if (state.isDropping)
        {
            state.dropNext = ControlLaw(state.dropNext, state.count);
        }
    }
    return packet;
}

void
CodelControl::BeginDropping(int64_t now, CodelState& state) const
{
    // Where dropping ended not long ago, it goes on at about the rate that then was right.
    constexpr int64_t MEMORY = 16; // intervals
    uint32_t drops = state.count - state.lastCount;
    bool isRecent = now - state.dropNext < MEMORY * m_interval;
    state.count = drops > 1 && isRecent ? drops : 1;
    state.lastCount = state.count;
    state.dropNext = ControlLaw(now, state.count);
    state.isDropping = true;
}

bool
CodelQueueDisc::Enqueue(int64_t, QueuedPacket* packet)
{
    return Admit(m_queue, packet, !IsFullFor(*packet));
}

} // namespace tunnelcc
