/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_TUNNEL_PROBE_H
#define TUNNELCC_PACKET_TUNNEL_PROBE_H

#include "experiment/experiment-result.h"
#include "tunnel/packet-server.h"

namespace tunnelcc
{

/// Samples one direction of a tunnel that carries packets.
class PacketTunnelProbe
{
  public:
    /**
     * \param device queue in front of the near end's program
     * \param socket queue in front of the far end's program
     * \param outer what goes over the path
     * \param result where series and counts go; must outlive the probe
     */
    PacketTunnelProbe(const PacketServer& device,
                      const PacketServer& socket,
                      const OuterCounters& outer,
                      PacketTunnelResult& result)
        : m_device(device),
          m_socket(socket),
          m_outer(outer),
          m_result(result)
    {
    }

    /// The warm-up is over.
    void StartMeasuring()
    {
        m_deviceAtStart = m_device.Counters();
        m_socketAtStart = m_socket.Counters();
    }

    /// Append one value to each series.
    void Sample()
    {
        m_result.queuePackets.push_back(m_device.Waiting());
        m_result.dropsSeries.push_back(static_cast<double>(m_device.Counters().drops));
    }

    /// The run is over: fill in the counts.
    void Finish()
    {
        m_result.packetsIn = m_device.Counters().packets - m_deviceAtStart.packets;
        m_result.drops = m_device.Counters().drops - m_deviceAtStart.drops;
        m_result.socketDrops = m_socket.Counters().drops - m_socketAtStart.drops;
        m_result.outerPackets = m_outer.packets;
        m_result.outerBytes = m_outer.bytes;
        m_result.fragmented = m_outer.fragmented;
        m_result.queuePacketsMax = m_device.Counters().maxWaiting;
    }

  private:
    const PacketServer& m_device;
    const PacketServer& m_socket;
    const OuterCounters& m_outer;
    PacketTunnelResult& m_result;
    PacketServerCounters m_deviceAtStart;
    PacketServerCounters m_socketAtStart;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_TUNNEL_PROBE_H
