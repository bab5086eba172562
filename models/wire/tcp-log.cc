/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-log.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Segments and ACKs that are remembered, because they may arrive late.
constexpr uint32_t REMEMBERED = 1 << 16;

std::string_view
NameOfState(CaState state)
{
    // Linux's enum tcp_ca_state.
    switch (state)
    {
    case CaState::OPEN:
        return "open";
    case CaState::DISORDER:
        return "disorder";
    case CaState::CWR:
        return "cwr";
    case CaState::RECOVERY:
        return "recovery";
    case CaState::LOSS:
        return "loss";
    }
    return "";
}

bool
Precedes(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

} // namespace

void
TcpLog::OnSent(const Packet& packet, const Sender& sender, TcpLog& peer)
{
    const uint64_t number = m_packets++;
    Segment* before = packet.hasSegment ? Find(packet.segment) : nullptr;
    if (before && IsWriting())
    {
        // Probes of the tail repeat what does not count as lost.
        const Scoreboard& board = sender.Board();
        const uint64_t segment =
            board.Una() + (packet.segment - static_cast<uint32_t>(board.Una()));
        if (board.At(segment).Has(tunnelcc::Segment::LOST))
        {
            AddLoss(packet.now, before->latest);
        }
    }
    Remember(packet, number);
    AddPacket("transport:packet_sent", packet, number, peer, m_sentAcks);
    OnChange(packet.now, sender);
}

void
TcpLog::OnReceived(const Packet& packet, TcpLog& peer)
{
    if (const std::optional<uint64_t> number = peer.NumberOf(packet))
    {
        AddPacket("transport:packet_received", packet, *number, *this, m_receivedAcks);
    }
    for (; Precedes(m_first + REMEMBERED, m_receivedAcks.number) && !m_segments.empty(); ++m_first)
    {
        m_segments.pop_front();
    }
}

void
TcpLog::OnChange(int64_t now, const Sender& sender)
{
    if (!IsWriting())
    {
        return;
    }
    const SenderState& state = sender.State();
    if (state.caState != m_state)
    {
        Begin(now, "recovery:congestion_state_updated");
        Add(R"({"old":")");
        Add(NameOfState(m_state));
        Add(R"(","new":")");
        Add(NameOfState(state.caState));
        Add("\"}");
        End();
        m_state = state.caState;
    }
    const bool isMeasured = state.srtt > 0;
    Metrics metrics{uint64_t{state.cwnd} * state.mss,
                    sender.BytesInFlight(),
                    isMeasured ? state.srtt : 0,
                    isMeasured ? state.lastRtt : 0,
                    isMeasured ? state.minRtt : 0,
                    {},
                    {}};
    if (state.ssthresh < INFINITE_SSTHRESH)
    {
        metrics.threshold = uint64_t{state.ssthresh} * state.mss;
    }
    if (state.pacingRate > 0)
    {
        metrics.pacingRate = static_cast<uint64_t>(state.pacingRate);
    }
    AddMetrics(now, metrics);
}

TcpLog::Segment*
TcpLog::Find(uint32_t segment)
{
    const uint32_t place = segment - m_first;
    return place < m_segments.size() ? &m_segments[place] : nullptr;
}

void
TcpLog::Remember(const Packet& packet, uint64_t number)
{
    if (!packet.hasSegment)
    {
        if (packet.ack && !packet.isSyn)
        {
            m_acks.push_back({number,
                              packet.ack->number,
                              static_cast<uint16_t>(packet.tsVal),
                              packet.ack->sackBlocks});
        }
        if (m_acks.size() > REMEMBERED)
        {
            m_acks.pop_front();
        }
        return;
    }
    if (Segment* segment = Find(packet.segment))
    {
        segment->earlier = std::exchange(segment->latest, number);
        segment->latestTsVal = packet.tsVal;
    }
    else if (packet.segment - m_first == m_segments.size())
    {
        m_segments.push_back({number, number, {}, packet.tsVal});
    }
}

std::optional<uint64_t>
TcpLog::NumberOf(const Packet& packet)
{
    if (packet.hasSegment)
    {
        Segment* segment = Find(packet.segment);
        if (!segment)
        {
            return {};
        }
        const uint64_t number =
            packet.tsVal == segment->latestTsVal ? segment->latest : segment->earlier;
        segment->arrived = segment->arrived.value_or(number);
        return number;
    }
    if (packet.isSyn)
    {
        return 0; // a repeated one is like the first
    }
    if (!packet.ack)
    {
        return {}; // a window probe
    }
    auto isIt = [&](const SentAck& ack) {
        return ack.number == packet.ack->number && ack.blocks == packet.ack->sackBlocks &&
               ack.tsVal == static_cast<uint16_t>(packet.tsVal);
    };
    const auto found = std::find_if(m_acks.begin(), m_acks.end(), isIt);
    if (found == m_acks.end())
    {
        return {};
    }
    const uint64_t number = found->packet;
    // Those before it are lost, or come a little later.
    constexpr std::ptrdiff_t OVERTAKEN = 64;
    const auto passed = found - m_acks.begin();
    m_acks.erase(found);
    m_acks.erase(m_acks.begin(), m_acks.begin() + std::max<std::ptrdiff_t>(passed - OVERTAKEN, 0));
    return number;
}

void
TcpLog::AddPacket(std::string_view event,
                  const Packet& packet,
                  uint64_t number,
                  TcpLog& acknowledged,
                  Told& told)
{
    if (!IsWriting())
    {
        return;
    }
    Begin(packet.now, event);
    Add(R"({"header":{"packet_type":")");
    Add(packet.isSyn ? "initial" : "1RTT");
    Add(R"(","packet_number":)");
    Add(number);
    Add(R"(},"raw":{"length":)");
    Add(packet.headerBytes + packet.payloadBytes);
    Add(R"(,"payload_length":)");
    Add(packet.payloadBytes);
    Add(R"(},"frames":[)");
    if (packet.hasSegment)
    {
        Add(R"({"frame_type":"stream","stream_id":0,"offset":)");
        Add(packet.offset);
        Add(R"(,"length":)");
        Add(packet.payloadBytes);
        Add(packet.isFin ? R"(,"fin":true})" : "}");
    }
    if (packet.ack)
    {
        Add(packet.hasSegment ? R"(,{"frame_type":"max_data","maximum":)"
                              : R"({"frame_type":"max_data","maximum":)");
        Add(packet.maximum);
        Add("}");
        AddRanges(*packet.ack, acknowledged, told);
    }
    Add("]}");
    End();
}

void
TcpLog::AddRanges(const Acknowledgement& ack, TcpLog& acknowledged, Told& told)
{
    std::string_view comma = R"(,{"frame_type":"ack","acked_ranges":[)";
    std::optional<std::pair<uint64_t, uint64_t>> range;
    auto end = [&] {
        if (range)
        {
            Add(comma);
            Add("[");
            Add(range->first);
            Add(",");
            Add(range->second);
            Add("]");
            comma = ",";
            range.reset();
        }
    };
    auto addSegments = [&](uint32_t begin, uint32_t last) {
        for (uint32_t number = begin; Precedes(number, last); ++number)
        {
            const Segment* segment = acknowledged.Find(number);
            if (!segment)
            {
                continue;
            }
            const uint64_t packet = segment->arrived.value_or(segment->latest);
            if (range && range->second + 1 == packet)
            {
                range->second = packet;
                continue;
            }
            end();
            range = {packet, packet};
        }
        end();
    };
    if (Precedes(told.number, ack.number))
    {
        addSegments(told.number, ack.number);
        told.number = ack.number;
    }
    for (uint32_t i = ack.isDuplicate; i < ack.sackBlocks; ++i)
    {
        const uint32_t begin = ack.blocks->begin[i];
        uint32_t& known = told.blocks.try_emplace(begin, begin).first->second;
        addSegments(known, ack.blocks->end[i]);
        known = Precedes(known, ack.blocks->end[i]) ? ack.blocks->end[i] : known;
    }
    std::erase_if(told.blocks,
                  [&](const auto& block) { return !Precedes(told.number, block.second); });
    if (comma == ",")
    {
        Add("]}");
    }
}

} // namespace tunnelcc
