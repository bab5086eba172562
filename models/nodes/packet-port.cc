/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-port.h"

#include "socket/ns3-turn.h"

#include "ns3/ipv4-header.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv6-header.h"
#include "ns3/ipv6-l3-protocol.h"
#include "ns3/mac48-address.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <utility>

namespace tunnelcc
{

namespace
{

using namespace ns3; // names of ours come first

/// How long a packet may be inside, ns. One that was lost is known by that.
constexpr int64_t LONGEST = 120'000'000'000;

// RFC 3168, section 5
constexpr uint8_t ECT_1 = 1;
constexpr uint8_t MARK = 3;

/// ECN field of a packet of IP.
uint8_t
EcnOf(const Ptr<ns3::Packet>& packet, uint16_t protocol)
{
    if (protocol == Ipv4L3Protocol::PROT_NUMBER)
    {
        Ipv4Header header;
        packet->PeekHeader(header);
        return header.GetEcn();
    }
    if (protocol == Ipv6L3Protocol::PROT_NUMBER)
    {
        Ipv6Header header;
        packet->PeekHeader(header);
        return header.GetEcn();
    }
    return 0;
}

/// Write the mark of congestion into a packet of IP.
void
Mark(const Ptr<ns3::Packet>& packet, uint16_t protocol)
{
    if (protocol == Ipv4L3Protocol::PROT_NUMBER)
    {
        Ipv4Header header;
        packet->RemoveHeader(header);
        header.SetEcn(Ipv4Header::ECN_CE);
        if (Node::ChecksumEnabled())
        {
            header.EnableChecksum();
        }
        packet->AddHeader(header);
    }
    else if (protocol == Ipv6L3Protocol::PROT_NUMBER)
    {
        Ipv6Header header;
        packet->RemoveHeader(header);
        header.SetEcn(Ipv6Header::ECN_CE);
        packet->AddHeader(header);
    }
}

void
Deliver(Ptr<VirtualNetDevice> device, Ptr<ns3::Packet> content, uint16_t protocol)
{
    device->Receive(content,
                    protocol,
                    device->GetAddress(),
                    device->GetAddress(),
                    NetDevice::PACKET_HOST);
}

const PacketsInside::Content NONE;

} // namespace

uint32_t
PacketsInside::Add(int64_t now, Content content, uint16_t protocol)
{
    while (!m_entries.empty() &&
           (!m_entries.front().content || m_entries.front().time + LONGEST < now))
    {
        m_entries.pop_front();
        ++m_first;
    }
    m_entries.push_back({std::move(content), protocol, now});
    return m_first + static_cast<uint32_t>(m_entries.size()) - 1;
}

const PacketsInside::Content&
PacketsInside::Of(uint32_t number) const
{
    const uint32_t place = number - m_first;
    return place < m_entries.size() ? m_entries[place].content : NONE;
}

PacketsInside::Entry
PacketsInside::Take(uint32_t number)
{
    const uint32_t place = number - m_first;
    return place < m_entries.size() ? std::exchange(m_entries[place], {}) : Entry{};
}

PacketPort::PacketPort(const Ptr<Node>& node, uint16_t mtu)
    : m_device(CreateObject<VirtualNetDevice>())
{
    m_device->SetNeedsArp(false);
    m_device->SetIsPointToPoint(true);
    m_device->SetMtu(mtu);
    m_device->SetAddress(Mac48Address::Allocate());
    m_device->SetSendCallback(MakeCallback(&PacketPort::OnSend, this));
    node->AddDevice(m_device);
}

PacketPort::~PacketPort()
{
    m_device->SetSendCallback({});
}

void
PacketPort::Open(PacketDevice& into, PacketPort& far, PacketsInside& sent, PacketsInside& received)
{
    m_into = &into;
    m_far = &far;
    m_sent = &sent;
    m_received = &received;
}

bool
PacketPort::OnSend(Ptr<ns3::Packet> content,
                   const Address& /* from */,
                   const Address& /* to */,
                   uint16_t protocol)
{
    const uint32_t size = content->GetSize();
    if (!m_into || size > m_device->GetMtu())
    {
        return false;
    }
    const Ns3Turn turn;
    const uint8_t ecn = EcnOf(content, protocol);
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.datagramBytes = size;
    packet.isEct = ecn != 0;
    packet.isL4s = ecn == ECT_1;
    packet.isCe = ecn == MARK;
    packet.sink = m_far;
    packet.segment = m_sent->Add(turn.Now(), std::move(content), protocol);
    m_into->Send(turn.Now(), packet, size, nullptr);
    return true;
}

void
PacketPort::Receive(int64_t /* now */, const Packet& packet, const PacketExtras* /* extras */)
{
    auto [content, protocol, time] = m_received->Take(packet.segment);
    if (!content)
    {
        return;
    }
    if (packet.isCe)
    {
        Mark(content, protocol);
    }
    // ns-3 wants its nodes to receive in a context of their own.
    Simulator::ScheduleWithContext(m_device->GetNode()->GetId(),
                                   Time(),
                                   &Deliver,
                                   m_device,
                                   content,
                                   protocol);
}

} // namespace tunnelcc
