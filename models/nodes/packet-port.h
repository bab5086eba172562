/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_PORT_H
#define TUNNELCC_PACKET_PORT_H

#include "path/packet-device.h"
#include "spec/end.h"

#include "ns3/packet.h"
#include "ns3/virtual-net-device.h"

#include <cstdint>
#include <deque>

namespace tunnelcc
{

/// The contents of packets that are in a tunnel, in one direction: the models know sizes only.
class PacketsInside
{
  public:
    using Content = ns3::Ptr<ns3::Packet>;

    struct Entry
    {
        Content content; //!< null: it was taken
        uint16_t protocol{0};
        int64_t time{0}; //!< when it entered, ns
    };

    /// A packet enters. \returns its number
    uint32_t Add(int64_t now, Content content, uint16_t protocol);

    /// A packet that is inside; null: it is not.
    const Content& Of(uint32_t number) const;

    /// A packet leaves. \returns its content is null if it is not inside
    Entry Take(uint32_t number);

  private:
    std::deque<Entry> m_entries;
    uint32_t m_first{0}; //!< number of the first of them
};

/// A device of a node whose packets go through a tunnel.
class PacketPort final : public PacketSink
{
  public:
    /// \param mtu of the device, bytes
    PacketPort(const ns3::Ptr<ns3::Node>& node, uint16_t mtu);
    ~PacketPort() override;
    PacketPort(const PacketPort&) = delete;
    PacketPort& operator=(const PacketPort&) = delete;

    /// Begin to carry packets. \param into where they enter  \param far where they come out
    /// \param sent,received contents of both directions. All outlive this
    void Open(PacketDevice& into, PacketPort& far, PacketsInside& sent, PacketsInside& received);

    /// Carry no more packets.
    void Close()
    {
        m_into = nullptr;
    }

    const ns3::Ptr<ns3::VirtualNetDevice>& Device() const
    {
        return m_device;
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;

  private:
    bool OnSend(ns3::Ptr<ns3::Packet> content,
                const ns3::Address& from,
                const ns3::Address& to,
                uint16_t protocol);

    ns3::Ptr<ns3::VirtualNetDevice> m_device;
    PacketDevice* m_into{nullptr}; //!< null: the tunnel is not up yet
    PacketPort* m_far{nullptr};
    PacketsInside* m_sent{nullptr};
    PacketsInside* m_received{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_PORT_H
