/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qlog.h"

#include "packet-image.h"

#include <charconv>

namespace tunnelcc
{

namespace
{

constexpr uint8_t RECORD_SEPARATOR = 0x1e;

bool
IsOfHandshake(const PacketHistory& history, const QuicPacket& packet)
{
    return packet.frames > 0 && history.FrameOf(packet, 0).kind == QuicFrameKind::CRYPTO;
}

} // namespace

Qlog::Qlog(const std::string& name, uint64_t limit, std::string_view title, bool isClient)
    : m_file(name, limit)
{
    m_file.Buffer().push_back(RECORD_SEPARATOR);
    Add(R"({"qlog_format":"JSON-SEQ","qlog_version":"0.3","title":")");
    Add(title);
    Add(R"(","trace":{"common_fields":{"time_format":"relative","reference_time":0,)"
        R"("protocol_type":["QUIC"]},"vantage_point":{"type":")");
    Add(isClient ? "client" : "server");
    Add("\"}}}\n");
    m_file.EndRecord();
}

void
Qlog::OnSent(int64_t now, const QuicSender& sender, uint64_t number)
{
    AddPacket(now, "transport:packet_sent", sender, number);
    if (sender.History().At(number).fate == QuicPacketFate::OUTSTANDING)
    {
        m_outstanding.push_back(number);
    }
}

void
Qlog::OnReceived(int64_t now, const QuicSender& peer, uint64_t number)
{
    AddPacket(now, "transport:packet_received", peer, number);
}

void
Qlog::AddPacket(int64_t now, std::string_view event, const QuicSender& sender, uint64_t number)
{
    if (!m_file.IsWriting())
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
Qlog::AddFrames(const PacketHistory& history, const QuicPacket& packet)
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
            Add(R"({"frame_type":"crypto"})");
            break;
        case QuicFrameKind::PING:
            Add(R"({"frame_type":"ping"})");
            break;
        }
    }
}

void
Qlog::OnChange(int64_t now, const QuicSender& sender)
{
    if (!m_file.IsWriting())
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
            Begin(now, "recovery:packet_lost");
            Add(R"({"header":{"packet_type":"1RTT","packet_number":)");
            Add(number);
            Add("}}");
            End();
        }
    }
    m_outstanding.erase(kept, next);
    const RoundTrip& rtt = sender.Detection().Rtt();
    const bool isMeasured = rtt.Smoothed() > 0;
    const Metrics metrics{sender.Congestion().Window(),
                          sender.BytesInFlight(),
                          isMeasured ? rtt.Smoothed() : 0,
                          isMeasured ? rtt.Latest() : 0,
                          isMeasured ? rtt.Least() : 0};
    if (metrics == m_metrics)
    {
        return;
    }
    m_metrics = metrics;
    Begin(now, "recovery:metrics_updated");
    Add(R"({"congestion_window":)");
    Add(metrics.window);
    Add(R"(,"bytes_in_flight":)");
    Add(metrics.inFlight);
    if (isMeasured)
    {
        Add(R"(,"smoothed_rtt":)");
        AddMs(metrics.smoothed);
        Add(R"(,"latest_rtt":)");
        AddMs(metrics.latest);
        Add(R"(,"min_rtt":)");
        AddMs(metrics.least);
    }
    Add("}");
    End();
}

void
Qlog::Begin(int64_t now, std::string_view event)
{
    m_file.Buffer().push_back(RECORD_SEPARATOR);
    Add(R"({"time":)");
    AddMs(now);
    Add(R"(,"name":")");
    Add(event);
    Add(R"(","data":)");
}

void
Qlog::End()
{
    Add("}\n");
    m_file.EndRecord();
}

void
Qlog::Add(std::string_view text)
{
    ByteWriter(m_file.Buffer()).Text(text);
}

void
Qlog::Add(uint64_t number)
{
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    Add(std::string_view(digits, end.ptr));
}

void
Qlog::AddMs(int64_t time)
{
    // Milliseconds with the whole nanoseconds behind the point.
    constexpr int64_t MS = 1'000'000;
    Add(static_cast<uint64_t>(time / MS));
    char fraction[8] = ".000000";
    int64_t left = time % MS;
    for (int i = 6; i > 0; --i, left /= 10)
    {
        fraction[i] = static_cast<char>('0' + left % 10);
    }
    Add(std::string_view(fraction, 7));
}

} // namespace tunnelcc
