/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-log.h"

namespace tunnelcc
{

namespace
{

bool
IsOfHandshake(const PacketHistory& history, const QuicPacket& packet)
{
    return packet.frames > 0 && history.FrameOf(packet, 0).kind == QuicFrameKind::CRYPTO;
}

} // namespace

void
QuicLog::OnSent(int64_t now, const QuicSender& sender, uint64_t number)
{
    AddPacket(now, "transport:packet_sent", sender, number);
    if (sender.History().At(number).fate == QuicPacketFate::OUTSTANDING)
    {
        m_outstanding.push_back(number);
    }
}

void
QuicLog::OnReceived(int64_t now, const QuicSender& peer, uint64_t number)
{
    AddPacket(now, "transport:packet_received", peer, number);
}

void
QuicLog::AddPacket(int64_t now, std::string_view event, const QuicSender& sender, uint64_t number)
{
    if (!IsWriting())
    {
        return;
    }
    const QuicPacket& packet = sender.History().At(number);
    Begin(now, event);
    Add(R"({"header":{"packet_type":")");
    Add(IsOfHandshake(sender.History(), packet) ? "handshake" : "1RTT");
    Add(R"(","packet_number":)");
    Add(number);
    Add(R"(},"raw":{"length":)");
    Add(packet.bytes);
    Add(R"(},"frames":[)");
    AddFrames(sender.History(), packet);
    Add("]}");
    End();
}

void
QuicLog::AddFrames(const PacketHistory& history, const QuicPacket& packet)
{
    std::string_view comma;
    if (packet.ranges > 0)
    {
        Add(R"({"frame_type":"ack","ack_delay":)");
        AddMs(packet.ackDelay);
        Add(R"(,"acked_ranges":[)");
        for (uint32_t i = packet.ranges; i-- > 0;)
        {
            const NumberRange& range = history.RangeOf(packet, i);
            Add(comma);
            Add("[");
            Add(range.begin);
            Add(",");
            Add(range.end - 1);
            Add("]");
            comma = ",";
        }
        Add("]}");
    }
    for (uint32_t i = 0; i < packet.frames; ++i)
    {
        const QuicFrame& frame = history.FrameOf(packet, i);
        Add(comma);
        comma = ",";
        switch (frame.kind)
        {
        case QuicFrameKind::STREAM:
            Add(R"({"frame_type":"stream","stream_id":)");
            Add(uint64_t{4} * frame.stream); // opened by the client, both ways
            Add(R"(,"offset":)");
            Add(frame.offset);
            Add(R"(,"length":)");
            Add(frame.length);
            Add(frame.isFin ? R"(,"fin":true})" : "}");
            break;
        case QuicFrameKind::MAX_STREAM_DATA:
            Add(R"({"frame_type":"max_stream_data","stream_id":)");
            Add(uint64_t{4} * frame.stream);
            Add(R"(,"maximum":)");
            Add(frame.offset);
            Add("}");
            break;
        case QuicFrameKind::MAX_DATA:
            Add(R"({"frame_type":"max_data","maximum":)");
            Add(frame.offset);
            Add("}");
            break;
        case QuicFrameKind::CRYPTO:
            // The models do not know what of a packet of the handshake is in its frame CRYPTO (6),
            // and qlog wants an offset and a length of one that is known.
            Add(R"({"frame_type":"unknown","raw_frame_type":6})");
            break;
        case QuicFrameKind::DATAGRAM:
            Add(R"({"frame_type":"datagram","length":)");
            Add(frame.length);
            Add("}");
            break;
        case QuicFrameKind::PATH_NEW_CONNECTION_ID:
            // 0x3e78 (draft-ietf-quic-multipath-21, section 4), which qlog does not know.
            Add(R"({"frame_type":"unknown","raw_frame_type":15992})");
            break;
        case QuicFrameKind::PATH_CHALLENGE:
            Add(R"({"frame_type":"path_challenge"})");
            break;
        case QuicFrameKind::PATH_RESPONSE:
            Add(R"({"frame_type":"path_response"})");
            break;
        case QuicFrameKind::PING:
            Add(R"({"frame_type":"ping"})");
            break;
        }
    }
}

void
QuicLog::OnChange(int64_t now, const QuicSender& sender)
{
    if (!IsWriting())
    {
        return;
    }
    // Fates are decided about in order, but for the few packets that others overtook.
    constexpr int OVERTAKEN = 64;
    int open = 0;
    auto kept = m_outstanding.begin();
    auto next = kept;
    for (; next != m_outstanding.end() && open < OVERTAKEN; ++next)
    {
        const uint64_t number = sender.History().Find(static_cast<uint32_t>(*next));
        const QuicPacketFate fate =
            number == QuicPacket::NONE ? QuicPacketFate::ACKED : sender.History().At(number).fate;
        if (fate == QuicPacketFate::OUTSTANDING)
        {
            *kept++ = *next;
            ++open;
        }
        else if (fate == QuicPacketFate::LOST)
        {
            AddLoss(now, number);
        }
    }
    m_outstanding.erase(kept, next);
    const RoundTrip& rtt = sender.Detection().Rtt();
    const bool isMeasured = rtt.Smoothed() > 0;
    AddMetrics(now,
               {sender.Congestion().Window(),
                sender.BytesInFlight(),
                isMeasured ? rtt.Smoothed() : 0,
                isMeasured ? rtt.Latest() : 0,
                isMeasured ? rtt.Least() : 0,
                {},
                {}});
}

} // namespace tunnelcc
