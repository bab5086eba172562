/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CARRIER_DOOR_H
#define TUNNELCC_CARRIER_DOOR_H

#include "node-socket.h"
#include "node-tunnel-parts.h"

#include <vector>

namespace tunnelcc
{

/// Where a server accepts carriers over TCP, and gives each accepted socket to the stream of the
/// carrier whose client has dialled it.
class CarrierDoor
{
  public:
    /// \param place of the tunnel; outlives it
    explicit CarrierDoor(const TunnelPlace& place)
        : m_place(place)
    {
    }

    ~CarrierDoor();
    CarrierDoor(const CarrierDoor&) = delete;
    CarrierDoor& operator=(const CarrierDoor&) = delete;

    /// Listen. \throws std::invalid_argument if the server cannot
    void Open();

    /// Accept no more.
    void Close();

    /// Make a client's socket, and expect it at the server. \param client,server streams of the
    /// carrier's ends, which outlive this
    void Expect(NodeSocket& client, NodeSocket& server);

  private:
    void OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);

    const TunnelPlace& m_place;
    ns3::Ptr<ns3::Socket> m_listener;
    std::vector<PerEnd<NodeSocket*>> m_expected;
};

} // namespace tunnelcc

#endif // TUNNELCC_CARRIER_DOOR_H
