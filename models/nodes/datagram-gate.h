/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_GATE_H
#define TUNNELCC_DATAGRAM_GATE_H

#include "path/packet-device.h"
#include "spec/end.h"

#include "ns3/address.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/socket.h"

#include <cstdint>
#include <functional>
#include <unordered_set>

namespace tunnelcc
{

class DatagramWay;

/// A socket of a node for the datagrams of tunnels: of UDP, or of ESP without UDP.
class DatagramGate
{
  public:
    /// \param node that it is on  \param hasUdp else it is of ESP  \param local address and port;
    /// a port of 0 stands for any  \throws std::invalid_argument if the port is taken
    DatagramGate(const ns3::Ptr<ns3::Node>& node, bool hasUdp, const ns3::Address& local);
    ~DatagramGate();
    DatagramGate(const DatagramGate&) = delete;
    DatagramGate& operator=(const DatagramGate&) = delete;

    /// An address with the port that it has. \param address of the node; not valid: nor is that
    ns3::Address At(const ns3::Address& address) const;

  private:
    friend class DatagramWay;

    void OnReadable(ns3::Ptr<ns3::Socket> socket);
    void OnDatagram(const ns3::Ptr<ns3::Packet>& datagram, const ns3::Address& from);

    const bool m_hasUdp;
    bool m_is4;
    ns3::Ptr<ns3::Socket> m_socket;
    std::unordered_set<const DatagramWay*> m_expected; //!< that end here
};

/**
 * The way of a model's datagrams from one node to another: each becomes a packet of ns-3 with the
 * size that the model says, and what the model knows of it goes with it as a tag.
 *
 * What is dropped on the way is lost to the model, too. A mark of ECN on the way is seen.
 */
class DatagramWay final : public PacketDevice
{
  public:
    /// A datagram that the model sends.
    struct Sent
    {
        int64_t now; //!< ns
        const Packet& packet;
        uint32_t ipBytes;           //!< as the model counts it
        const PacketExtras* extras; //!< if Packet::HasExtras()
        uint32_t payload;           //!< bytes behind the headers of IP and UDP
    };

    /// Makes the payload of a datagram.
    using Writer = std::function<ns3::Ptr<ns3::Packet>(const Sent& sent)>;

    /**
     * \param near,far where it begins and ends; outlive it
     * \param to address of the far end; not valid: as soon as something has come from there
     * \param header bytes of IP and UDP in the sizes of the model
     */
    DatagramWay(DatagramGate& near, DatagramGate& far, const ns3::Address& to, uint32_t header);
    ~DatagramWay() override;

    /// Set what writes payloads; they are zeros otherwise.
    void SetWriter(Writer writer)
    {
        m_writer = std::move(writer);
    }

    /// Let two ways be those of the two directions: an end learns from what arrives where the
    /// other end is.
    static void Join(DatagramWay& a, DatagramWay& b)
    {
        a.m_back = &b;
        b.m_back = &a;
    }

    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras) override;

  private:
    friend class DatagramGate;

    DatagramGate& m_near;
    DatagramGate& m_far;
    ns3::Address m_to;
    const uint32_t m_header;
    Writer m_writer;
    DatagramWay* m_back{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_GATE_H
