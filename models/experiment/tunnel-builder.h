/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_BUILDER_H
#define TUNNELCC_TUNNEL_BUILDER_H

#include "flow.h"
#include "leg-builder.h"
#include "network.h"
#include "tunnel/gateway.h"
#include "tunnel/packet-tunnel.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

class TunnelBuilder;

/// What builders of tunnels build on.
struct Site
{
    EventLoop& loop;
    const ExperimentSpec& spec;
    Network& network;
    Capture* capture; //!< null: there is none
    LegBuilder& legs;
    const std::vector<std::unique_ptr<TunnelBuilder>>& tunnels; //!< by number

    /// What both ends of a flow's connection across a route send into.
    PerEnd<Channel> ChannelsOf(uint32_t route, const FlowSpec& flow) const;
    /// The same of each path, for the subflows of a connection.
    std::vector<PerEnd<Channel>> ChannelsOf(const MultipathSpec& multipath,
                                            const FlowSpec& flow) const;
    /// What both ends of a connection through a tunnel of packets send into.
    PerEnd<Channel> ChannelsThrough(uint32_t tunnel, const FlowSpec& flow) const;
    /// Where the packets of a flow, or of a tunnel that is one, are seen at its ends.
    PerEnd<CaptureInterface> InterfacesOf(const FlowSpec& flow) const;
};

/// Opens a connection at its time. \tparam Socket with Connect(now)
template <class Socket>
class DialStart final : public EventSource
{
  public:
    DialStart(EventLoop& loop, Socket& socket, int64_t start)
        : EventSource(loop),
          m_socket(socket)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_socket.Connect(now);
    }

  private:
    Socket& m_socket;
};

using EventSources = std::vector<std::unique_ptr<EventSource>>;

/// Makes a tunnel between two hosts, which it keeps, and what flows through it need.
class TunnelBuilder
{
  public:
    virtual ~TunnelBuilder() = default;

    /// Add what does not wait for a flow, once all builders are there.
    virtual void Begin()
    {
    }

    /// Add what a flow through it needs. \param index the flow's  \returns its sockets
    virtual Sockets AddFlow(uint32_t index, Flow& flow) = 0;

    /// Add the same for a flow of datagrams, or the packets of a tunnel. \returns what its sockets
    /// send into
    virtual PerEnd<Channel> AddDatagrams(const FlowSpec& spec, UdpParts& parts) = 0;

    /// Dial what does not wait for a flow. \returns what does that at its time
    virtual EventSources Dial()
    {
        return {};
    }

    /// What carries its packets; null: it carries none.
    virtual PacketTunnel* Packets() const
    {
        return nullptr;
    }

    /// The relays that take what each end sends through them, or null.
    virtual PerEnd<DatagramSide*> RelaysBelow() const
    {
        return {};
    }
};

/// Makes a tunnel that carries packets: connections from end to end, whose packets enter and leave
/// through the tunnel's devices.
class PacketTunnelBuilder : public TunnelBuilder
{
  public:
    explicit PacketTunnelBuilder(const Site& site)
        : m_site(site)
    {
    }

    /// What both ends of a connection through it send into.
    virtual PerEnd<Channel> ChannelsFor(const FlowSpec& flow) = 0;

  protected:
    /// What one end of a flow sends into. \param tunnel what the gateway on its side sends into
    Channel BetweenGateways(const FlowSpec& flow, End sender, const Channel& tunnel);

    const Site& m_site;

  private:
    std::deque<Gateway> m_gateways;
};

/// Makes a tunnel whose packets go through one connection, its carrier.
class CarriedTunnelBuilder : public PacketTunnelBuilder
{
  public:
    /// \param number of the tunnel in the experiment's list
    /// \param firstCarrier as of RelayBuilder
    CarriedTunnelBuilder(const Site& site, uint32_t number, uint32_t firstCarrier)
        : PacketTunnelBuilder(site),
          m_number(number),
          m_firstCarrier(firstCarrier)
    {
    }

    Sockets AddFlow(uint32_t index, Flow& flow) override;
    PerEnd<Channel> AddDatagrams(const FlowSpec& spec, UdpParts& parts) override;
    PerEnd<Channel> ChannelsFor(const FlowSpec& flow) override;

  protected:
    /// What the carrier is made of. \param route,under of the tunnel
    LegParts CarrierParts(const TcpSpec& tcp,
                          const CongestionSpec& cc,
                          uint32_t route,
                          const std::optional<FlowSpec>& under);
    /// The first flow through it, as which the carrier crosses links.
    FlowSpec Crossing() const;
    /// The device into which a host sends. \pre Begin() was called
    virtual PacketDevice& Device(End sender) = 0;

    const uint32_t m_number;
    Leg* m_carrier{nullptr};               //!< from Begin() on; of several paths the first one
    MultipathConnection* m_paths{nullptr}; //!< null: it has one path

  private:
    const uint32_t m_firstCarrier;
};

/// The first flow through a tunnel, or the tunnel whose packets are one.
const FlowSpec& FirstThrough(const ExperimentSpec& spec, uint32_t number);

/// The flow's extra delays inside its tunnel, by the tunnel's end that sends, ns. They are behind
/// the last link: behind a gateway, if there is one.
PerEnd<int64_t> DelaysInTunnel(const FlowSpec& flow);

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_BUILDER_H
