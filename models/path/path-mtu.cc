/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-mtu.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

constexpr uint32_t IPV6_HEADER = 40;
constexpr uint32_t FRAGMENT_HEADER = 8;

/// The segments that a segment of TCP is split into.
Division
Split(uint32_t ipBytes, uint32_t limit, uint32_t headers)
{
    Division division{{}, headers, PacketKind::DATAGRAM};
    for (uint32_t left = ipBytes - headers; left > 0;)
    {
        const uint32_t payload = std::min(left, limit - headers);
        division.sizes.push_back(headers + payload);
        left -= payload;
    }
    return division;
}

} // namespace

Division
Fragment(uint32_t ipBytes, uint32_t mtu, uint32_t ipHeader)
{
    constexpr uint32_t UNIT = 8;
    const uint32_t headers = ipHeader + (ipHeader == IPV6_HEADER ? FRAGMENT_HEADER : 0);
    const uint32_t room = mtu - headers;
    const uint32_t full = room - room % UNIT;
    Division division{{}, headers, PacketKind::FRAGMENT};
    uint32_t left = ipBytes - ipHeader;
    for (; left > room; left -= full)
    {
        division.sizes.push_back(headers + full);
    }
    division.sizes.push_back(headers + left);
    return division;
}

// Pieces ---------------------------------------------------------------------------------------

void
Pieces::Send(int64_t now,
             const Packet& packet,
             const PacketExtras* extras,
             const Division& division,
             Channel& out,
             PacketSink* exit)
{
    while (!m_wholes.IsEmpty() &&
           (m_wholes.Front().missing == 0 || m_wholes.Front().sentTime + PATIENCE < now))
    {
        m_wholes.Pop();
        ++m_first;
    }
    Packet piece{};
    piece.kind = division.kind;
    piece.segment = m_first + static_cast<uint32_t>(m_wholes.Size());
    piece.isEct = packet.isEct;
    piece.isL4s = packet.isL4s;
    piece.isCe = packet.isCe;
    piece.isInTransit = packet.isInTransit;
    PacketExtras routing{};
    routing.sink = exit ? exit : this;
    piece.sink = packet.isInTransit ? packet.sink : routing.sink;
    const auto count = static_cast<uint32_t>(division.sizes.size());
    DividedPacket& whole = m_wholes.Append();
    whole = {packet,
             packet.HasExtras() ? *extras : PacketExtras{},
             division.headers,
             division.sizes.front(),
             count,
             count,
             now};
    whole.packet.sink = packet.isInTransit ? extras->sink : packet.sink;
    whole.packet.isInTransit = false;
    for (uint32_t size : division.sizes)
    {
        piece.datagramBytes = size;
        routing.ipBytes = size;
        out.Send(now, piece, size, piece.isInTransit ? &routing : nullptr);
        ++piece.tsVal;
    }
}

void
Pieces::Receive(int64_t now, const Packet& piece, const PacketExtras* /* extras */)
{
    const uint32_t index = piece.segment - m_first;
    if (index >= m_wholes.Size() || m_wholes[index].missing == 0)
    {
        return;
    }
    DividedPacket& whole = m_wholes[index];
    whole.packet.isCe |= piece.isCe; // RFC 3168, section 5.3
    if (--whole.missing > 0)
    {
        return;
    }
    if (m_line.Delay() > 0)
    {
        m_line.Push(now, whole.packet, &whole.extras);
        return;
    }
    const DividedPacket complete = whole; // what follows may send more
    complete.packet.sink->Receive(now, complete.packet, &complete.extras);
}

// The sender's host ----------------------------------------------------------------------------

void
MtuSource::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    const bool passes = m_passes;
    m_passes = false;
    const bool fits = ipBytes <= m_limit || passes;
    if (!m_sender)
    {
        if (fits)
        {
            m_onward->Send(now, packet, ipBytes, extras);
            return;
        }
        m_pieces.Send(now, packet, extras, Fragment(ipBytes, m_limit, m_ipHeader), *m_onward);
        return;
    }
    m_receiver = packet.sink;
    if (fits)
    {
        Packet onward = packet;
        onward.sink = &m_exit;
        m_onward->Send(now, onward, ipBytes, extras);
        return;
    }
    m_pieces.Send(now, packet, extras, Split(ipBytes, m_limit, m_headers), *m_onward, &m_exit);
}

void
MtuSource::Exit::Receive(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    if (packet.kind == PacketKind::DATAGRAM)
    {
        m_source.m_pieces.Receive(now, packet, extras);
        return;
    }
    Packet arrived = packet;
    arrived.sink = m_source.m_receiver;
    m_source.m_receiver->Receive(now, arrived, extras);
}

void
RouteMtu::OnMessage(int64_t now, uint32_t mtu, MtuSource& source)
{
    if (mtu >= m_mtu)
    {
        source.OnPathMtu(now, mtu); // what it sent before it learned of that
        return;
    }
    m_mtu = mtu;
    for (MtuSource* each : m_sources)
    {
        each->OnPathMtu(now, mtu);
    }
}

void
MtuSource::OnPathMtu(int64_t now, uint32_t mtu)
{
    m_known = std::min(m_known, mtu);
    if (m_sender)
    {
        m_sender->OnPathMtu(now, mtu);
    }
    else if (m_flag == DontFragment::CLEAR || m_flag == DontFragment::WANTED)
    {
        m_limit = std::min(m_limit, mtu);
    }
    if (m_flag != DontFragment::COPIED)
    {
        return;
    }
    for (Inside& inside : m_inside)
    {
        // The largest inner packet that crosses the path whole.
        const auto& outer = inside.outer;
        size_t size = outer.size() - 1;
        while (size > 0 && (outer[size].size() > 1 || outer[size].front() > mtu))
        {
            --size;
        }
        inside.source.OnPathMtu(now, static_cast<uint32_t>(size));
    }
}

// The router -----------------------------------------------------------------------------------

void
MtuMessages::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    // Linux __icmp_send(): headers of IP and ICMP, and of the packet as much as makes 576 bytes;
    // icmp6_send(): as much as makes 1280.
    constexpr uint32_t ICMP_HEADER = 8;
    const uint32_t most = m_spec.ipHeader == IPV6_HEADER ? 1280 : 576;
    m_quoted[m_sent % m_quoted.size()] = {packet,
                                          packet.HasExtras() ? *extras : PacketExtras{},
                                          ipBytes};
    Packet message{};
    message.kind = PacketKind::DATAGRAM;
    message.sink = this;
    message.segment = m_sent++;
    message.datagramBytes = std::min(m_spec.ipHeader + ICMP_HEADER + ipBytes, most);
    m_back->Send(now, message, message.datagramBytes);
}

MtuGate::MtuGate(const LinkMtuSpec& spec,
                 const Channel& onward,
                 Bottleneck& link,
                 MtuSource& source,
                 MtuMessages* messages)
    : m_spec(spec),
      m_mtu(spec.mtu ? spec.mtu : UINT32_MAX),
      m_onward(onward),
      m_counts(link.KeepMtu()),
      m_source(source),
      m_messages(messages),
      m_pieces(source.Loop(), spec.reassemblyDelay)
{
}

bool
MtuGate::MayFragment(const Packet& packet) const
{
    // What a host has fragmented, it sends without DF.
    const bool isAllowed =
        m_source.Flag() == DontFragment::CLEAR || packet.kind == PacketKind::FRAGMENT;
    return m_spec.tooBig == TooBig::FRAGMENT || (isAllowed && m_spec.ipHeader != IPV6_HEADER);
}

void
MtuGate::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    const bool isFragment = packet.kind == PacketKind::FRAGMENT;
    if (ipBytes <= m_mtu && !(isFragment && m_spec.dropsFragments))
    {
        m_onward.Send(now, packet, ipBytes, extras);
    }
    else if (isFragment && m_spec.dropsFragments)
    {
        ++m_counts.fragmentDrops;
    }
    else if (!MayFragment(packet))
    {
        ++m_counts.tooBig;
        if (m_messages)
        {
            m_messages->Send(now, packet, ipBytes, extras);
        }
    }
    else if (m_spec.dropsFragments)
    {
        ++m_counts.fragmentDrops;
    }
    else
    {
        ++m_counts.fragmented;
        m_pieces.Send(now, packet, extras, Fragment(ipBytes, m_mtu, m_spec.ipHeader), m_onward);
    }
}

} // namespace tunnelcc
