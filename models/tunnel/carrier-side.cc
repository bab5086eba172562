/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carrier-side.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

CarrierSide::CarrierSide(const RelaySpec& spec, End end, ByteStream& carrier, Logs& logs)
    : m_stream(carrier, end, {spec.handshake, spec.sent[end].layers, spec.confirms}, logs),
      m_sending(spec.sent[end].send),
      m_receiving(spec.sent[Other(end)].receive),
      m_prefix(spec.sent[end].prefix),
      m_most(spec.rudp ? spec.rudp->packets.data : 0)
{
}

void
CarrierSide::Open(int64_t now)
{
    m_stream.Connect(now);
}

void
CarrierSide::Accept(int64_t now)
{
    m_stream.Confirm(now);
}

RelaySide::Chunk
CarrierSide::Read(int64_t now, uint32_t /* limit */)
{
    const Message<RelayMessage>* message = m_stream.Read(now);
    if (!message)
    {
        return {};
    }
    Chunk chunk{message->content.payload, m_receiving.Of(message->wire, message->writes)};
    m_stream.Pop();
    return chunk;
}

bool
CarrierSide::IsFinished() const
{
    return m_stream.IsAtEof();
}

double
CarrierSide::Prepare(uint32_t bytes)
{
    double cost = 0;
    do
    {
        uint32_t prefix = std::exchange(m_prefix, 0);
        uint32_t payload = m_most > 0 ? std::min(bytes, m_most) : bytes;
        const auto& message = m_stream.Append({.payload = payload}, prefix + payload);
        cost += m_sending.Of(message.wire, message.writes);
        bytes -= payload;
    } while (bytes > 0);
    return cost;
}

bool
CarrierSide::Write(int64_t now)
{
    return m_stream.Flush(now);
}

void
CarrierSide::Close(int64_t now)
{
    m_stream.Close(now);
}

} // namespace tunnelcc
