/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-gate.h"

#include "socket/ns3-turn.h"
#include "spec/refuse.h"
#include "wire/ip.h"

#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-raw-socket-factory.h"
#include "ns3/ipv6-raw-socket-factory.h"
#include "ns3/tag.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tunnelcc
{

namespace
{

using namespace ns3; // names of ours come first

constexpr uint8_t CE = 3; // RFC 3168, section 5

/// What a model knows of a datagram. It is of bytes, because layers below may put several packets
/// into one and lose what is of packets.
class DatagramTag final : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("tunnelcc::DatagramTag")
                                .SetParent<Tag>()
                                .SetGroupName("Tunnelcc")
                                .AddConstructor<DatagramTag>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return sizeof(way) + sizeof(packet) + sizeof(hasExtras) + (hasExtras ? sizeof(extras) : 0);
    }

    void Serialize(TagBuffer buffer) const override
    {
        Put(buffer, way);
        Put(buffer, packet);
        buffer.WriteU8(hasExtras);
        if (hasExtras)
        {
            Put(buffer, extras);
        }
    }

    void Deserialize(TagBuffer buffer) override
    {
        Get(buffer, way);
        Get(buffer, packet);
        hasExtras = buffer.ReadU8() != 0;
        if (hasExtras)
        {
            Get(buffer, extras);
        }
    }

    void Print(std::ostream& os) const override
    {
        os << "a datagram of tunnelcc";
    }

    DatagramWay* way{nullptr};
    tunnelcc::Packet packet{};
    bool hasExtras{false};
    PacketExtras extras{};

  private:
    template <class T>
    static void Put(TagBuffer& buffer, const T& value)
    {
        uint8_t bytes[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        buffer.Write(bytes, sizeof(T));
    }

    template <class T>
    static void Get(TagBuffer& buffer, T& value)
    {
        uint8_t bytes[sizeof(T)];
        buffer.Read(bytes, sizeof(T));
        std::memcpy(&value, bytes, sizeof(T));
    }
};

NS_OBJECT_ENSURE_REGISTERED(DatagramTag);

/// ECN field of a datagram (RFC 3168). \param hasUdp else its header of IPv4 is there
uint8_t
EcnOf(const Ptr<ns3::Packet>& datagram, bool hasUdp, bool is4)
{
    if (!hasUdp)
    {
        Ipv4Header header;
        return is4 && datagram->PeekHeader(header) > 0 ? static_cast<uint8_t>(header.GetEcn())
                                                       : uint8_t{0};
    }
    SocketIpTosTag tos;
    SocketIpv6TclassTag tclass;
    return (datagram->PeekPacketTag(tos)      ? tos.GetTos()
            : datagram->PeekPacketTag(tclass) ? tclass.GetTclass()
                                              : 0) &
           CE;
}

} // namespace

DatagramGate::DatagramGate(const Ptr<Node>& node, bool hasUdp, const Address& local)
    : m_hasUdp(hasUdp),
      m_is4(InetSocketAddress::IsMatchingType(local))
{
    const auto type = hasUdp  ? UdpSocketFactory::GetTypeId()
                      : m_is4 ? Ipv4RawSocketFactory::GetTypeId()
                              : Ipv6RawSocketFactory::GetTypeId();
    const std::string where = "node " + std::to_string(node->GetId());
    if (!node->GetObject<SocketFactory>(type))
    {
        Refuse("a tunnel at " + where + ": expected a node with an Internet stack");
    }
    m_socket = Socket::CreateSocket(node, type);
    if (!hasUdp)
    {
        m_socket->SetAttribute("Protocol", UintegerValue(static_cast<uint8_t>(IpProtocol::ESP)));
    }
    if (m_socket->Bind(local) < 0)
    {
        const auto port = m_is4 ? InetSocketAddress::ConvertFrom(local).GetPort()
                                : Inet6SocketAddress::ConvertFrom(local).GetPort();
        Refuse("a tunnel at " + where + ": expected a free port, got " + std::to_string(port) +
               " (errno " + std::to_string(m_socket->GetErrno()) + ")");
    }
    m_socket->SetIpRecvTos(true);
    m_socket->SetIpv6RecvTclass(true);
    m_socket->SetRecvCallback(MakeCallback(&DatagramGate::OnReadable, this));
}

DatagramGate::~DatagramGate()
{
    m_socket->SetRecvCallback(Callback<void, Ptr<Socket>>());
    m_socket->Close();
}

Address
DatagramGate::At(const Address& address) const
{
    Address own;
    m_socket->GetSockName(own);
    if (InetSocketAddress::IsMatchingType(address) && InetSocketAddress::IsMatchingType(own))
    {
        return InetSocketAddress(InetSocketAddress::ConvertFrom(address).GetIpv4(),
                                 InetSocketAddress::ConvertFrom(own).GetPort());
    }
    if (Inet6SocketAddress::IsMatchingType(address) && Inet6SocketAddress::IsMatchingType(own))
    {
        return Inet6SocketAddress(Inet6SocketAddress::ConvertFrom(address).GetIpv6(),
                                  Inet6SocketAddress::ConvertFrom(own).GetPort());
    }
    return {};
}

void
DatagramGate::OnReadable(Ptr<Socket> socket)
{
    Address from;
    while (const auto datagram = socket->RecvFrom(from))
    {
        OnDatagram(datagram, from);
    }
}

void
DatagramGate::OnDatagram(const Ptr<ns3::Packet>& datagram, const Address& from)
{
    // There may be tags of what is inside.
    for (auto tags = datagram->GetByteTagIterator(); tags.HasNext();)
    {
        const auto item = tags.Next();
        if (item.GetTypeId() != DatagramTag::GetTypeId())
        {
            continue;
        }
        DatagramTag tag;
        item.GetTag(tag);
        if (!m_expected.contains(tag.way))
        {
            continue;
        }
        if (tag.way->m_back)
        {
            tag.way->m_back->m_to = from;
        }
        if (tag.packet.isEct && EcnOf(datagram, m_hasUdp, m_is4) == CE)
        {
            tag.packet.isCe = true;
        }
        const Ns3Turn turn;
        tag.packet.sink->Receive(turn.Now(), tag.packet, tag.hasExtras ? &tag.extras : nullptr);
        return;
    }
}

DatagramWay::DatagramWay(DatagramGate& near, DatagramGate& far, const Address& to, uint32_t header)
    : m_near(near),
      m_far(far),
      m_to(to),
      m_header(header)
{
    m_far.m_expected.insert(this);
}

DatagramWay::~DatagramWay()
{
    m_far.m_expected.erase(this);
}

void
DatagramWay::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    if (m_to.IsInvalid())
    {
        return;
    }
    const uint32_t payload = std::max(ipBytes, m_header) - m_header;
    auto datagram =
        m_writer ? m_writer({now, packet, ipBytes, extras, payload}) : Create<ns3::Packet>(payload);
    DatagramTag tag;
    tag.way = this;
    tag.packet = packet;
    tag.hasExtras = packet.HasExtras();
    if (tag.hasExtras)
    {
        tag.extras = *extras;
    }
    datagram->AddByteTag(tag);
    if (packet.isEct)
    {
        const uint8_t ecn = packet.isCe ? CE : packet.isL4s ? 1 : 2;
        SocketIpTosTag tos;
        tos.SetTos(ecn);
        SocketIpv6TclassTag tclass;
        tclass.SetTclass(ecn);
        m_near.m_is4 ? datagram->AddPacketTag(tos) : datagram->AddPacketTag(tclass);
    }
    m_near.m_socket->SendTo(datagram, 0, m_to);
}

} // namespace tunnelcc
