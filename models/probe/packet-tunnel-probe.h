/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_TUNNEL_PROBE_H
#define TUNNELCC_PACKET_TUNNEL_PROBE_H

#include "experiment-result.h"
#include "tunnel/datagram-side.h"
#include "tunnel/packet-tunnel.h"

namespace tunnelcc
{

/// Samples one direction of a tunnel that carries packets.
class PacketTunnelProbe
{
  public:
    /**
     * \param tunnel what to watch
     * \param sender the end whose packets to watch
     * \param relay the relay that takes what this end sends; null: there is none
     * \param result where series and counts go; must outlive the probe
     */
    PacketTunnelProbe(PacketTunnel& tunnel,
                      End sender,
                      DatagramSide* relay,
                      PacketTunnelResult& result)
        : m_tunnel(tunnel),
          m_sender(sender),
          m_relay(relay),
          m_device(tunnel.DeviceQueue(sender)),
          m_result(result)
    {
    }

    /// The warm-up is over: totals count from now on.
    void StartMeasuring()
    {
        m_deviceAtStart = m_device.Counters();
        m_socketDropsAtStart = m_tunnel.SocketDrops(m_sender);
        m_fragmentedAtStart = m_tunnel.Counters(m_sender).outer.fragmented;
        m_carrierDropsAtStart = m_tunnel.DropsAtCarrier(m_sender).value_or(CarrierDrops{});
        m_tunnel.StartMeasuring();
        if (m_relay)
        {
            m_relay->StartMeasuring();
        }
    }

    /// Append one value to each series.
    void Sample()
    {
        m_result.devicePackets.push_back(m_device.Waiting());
        m_result.deviceDropsSeries.push_back(static_cast<double>(m_device.Counters().drops));
    }

    /// The run is over: fill in the counts.
    void Finish(int64_t now)
    {
        auto [inner, outer] = m_tunnel.Counters(m_sender);
        m_result.packets = m_device.Counters().packets - m_deviceAtStart.packets;
        m_result.deviceDrops = m_device.Counters().drops - m_deviceAtStart.drops;
        m_result.socketDrops = m_tunnel.SocketDrops(m_sender) - m_socketDropsAtStart;
        if (m_relay)
        {
            m_result.relayDrops = m_relay->Drops();
        }
        if (const std::optional<CarrierDrops> drops = m_tunnel.DropsAtCarrier(m_sender))
        {
            m_result.queueDrops = drops->full - m_carrierDropsAtStart.full;
            m_result.tooLarge = drops->tooLarge - m_carrierDropsAtStart.tooLarge;
        }
        m_result.innerPackets = inner.packets;
        m_result.innerBytes = inner.bytes;
        m_result.outerPackets = outer.packets;
        m_result.outerBytes = outer.bytes;
        m_result.fragmented = outer.fragmented - m_fragmentedAtStart;
        m_result.devicePacketsMax = m_device.Counters().maxWaiting;
        if (std::optional<FecReport> fec = m_tunnel.Fec(now, m_sender))
        {
            FinishFec(*fec, m_result.fec.emplace());
        }
        if (std::optional<UplinksReport> uplinks = m_tunnel.Uplinks(m_sender))
        {
            FinishUplinks(*uplinks, m_result.uplinks.emplace());
        }
    }

  private:
    static void FinishFec(const FecReport& fec, FecResult& result)
    {
        result.packets = fec.packets.packets;
        result.recovered = fec.packets.recovered;
        result.lost = fec.packets.lost;
        result.parityPackets = fec.parity.packets;
        result.parityBytes = fec.parity.bytes;
        result.recoveryDelayMean = fec.recoveryDelay.Mean() * 1e-9;
        result.recoveryDelayP95 = fec.recoveryDelay.Quantile(0.95) * 1e-9;
    }

    static void FinishUplinks(const UplinksReport& uplinks, UplinksResult& result)
    {
        result.reordered = uplinks.arrived.Share();
        result.extentMean = uplinks.arrived.MeanExtent();
        result.extentMax = uplinks.arrived.LongestExtent();
        result.leftReordered = uplinks.left.Share();
        result.holDelayMean = uplinks.waited.Mean() * 1e-9;
        result.holDelayP95 = uplinks.waited.Quantile(0.95) * 1e-9;
        result.late = uplinks.late;
        result.givenUp = uplinks.givenUp;
    }

    PacketTunnel& m_tunnel;
    const End m_sender;
    DatagramSide* const m_relay;
    const ProgramQueue& m_device;
    PacketTunnelResult& m_result;
    ProgramQueueCounters m_deviceAtStart;
    uint64_t m_socketDropsAtStart{0};
    uint64_t m_fragmentedAtStart{0};
    CarrierDrops m_carrierDropsAtStart;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_TUNNEL_PROBE_H
