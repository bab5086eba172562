/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_PORT_H
#define TUNNELCC_TCP_PORT_H

#include "ns3/address.h"
#include "ns3/callback.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/socket.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"

#include <cstdint>

namespace ns3
{
class Ipv4EndPoint;
class Ipv6EndPoint;
} // namespace ns3

namespace tunnelcc
{

/// Bytes of the largest packet of IP.
constexpr uint32_t LARGEST_IP_PACKET = 65'535;

/// A port of ns-3's TCP on a node, over IPv4 or IPv6, and the one that it talks to.
class TcpPort
{
  public:
    /// What takes the segments that arrive: packet with its header of TCP, source, destination,
    /// ECN.
    using Receiver = ns3::
        Callback<void, ns3::Ptr<ns3::Packet>, const ns3::Address&, const ns3::Address&, uint8_t>;

    /**
     * Take a port.
     * \param tcp of the node  \param device that packets must come from; null: any
     * \param local address and port; port 0: any
     * \returns ERROR_NOTERROR, or why it fails
     */
    ns3::Socket::SocketErrno Open(ns3::TcpL4Protocol& tcp,
                                  const ns3::Ptr<ns3::NetDevice>& device,
                                  const ns3::Address& local);

    /// Take a port for packets of one peer only. \returns whether there is no such one yet
    bool OpenTo(ns3::TcpL4Protocol& tcp,
                const ns3::Ptr<ns3::NetDevice>& device,
                const ns3::Address& local,
                const ns3::Address& peer);

    /// Give the port back. \param tcp of the node
    void Close(ns3::TcpL4Protocol& tcp);

    bool IsOpen() const
    {
        return m_endPoint || m_endPoint6;
    }

    bool IsIpv6() const
    {
        return m_endPoint6;
    }

    /// Say what happens to segments, and when the node's TCP ends. ns-3 holds both until then.
    void SetCallbacks(const Receiver& receiver, const ns3::Callback<void>& destroyed);

    /// \returns whether the address has the port's version of IP
    bool SetPeer(const ns3::Address& peer);

    void SetDevice(const ns3::Ptr<ns3::NetDevice>& device);

    /// The port has to be open.
    ns3::Address Local() const;
    ns3::Address Peer() const;

    /**
     * Find the route to the peer.
     * \param setsLocal our address becomes the route's  \param why it fails
     * \returns IP bytes of a packet; 0: there is no route
     */
    uint32_t FindRoute(const ns3::Ptr<ns3::Node>& node,
                       const ns3::Ptr<ns3::NetDevice>& device,
                       bool setsLocal,
                       ns3::Socket::SocketErrno& why);

    /// Write the ports into the header of a segment.
    void WritePorts(ns3::TcpHeader& header) const;

    /// Send a segment.
    void Send(ns3::TcpL4Protocol& tcp,
              const ns3::Ptr<ns3::Packet>& payload,
              const ns3::TcpHeader& header,
              const ns3::Ptr<ns3::NetDevice>& device) const;

  private:
    ns3::Ipv4EndPoint* m_endPoint{nullptr};
    ns3::Ipv6EndPoint* m_endPoint6{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_PORT_H
