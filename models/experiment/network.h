/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NETWORK_H
#define TUNNELCC_NETWORK_H

#include "host/cpu.h"
#include "host/tcp-memory.h"
#include "path/path-mtu.h"
#include "path/path.h"
#include "path/route.h"
#include "spec/experiment-spec.h"
#include "wire/capture.h"

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace tunnelcc
{

/// A link between two hosts, both directions.
struct DuplexLink
{
    DuplexLink(EventLoop& loop, const DuplexLinkSpec& spec, uint64_t seed, uint32_t number)
        : forward(loop, spec.forward, PathStreams::Forward(seed, number)),
          reverse(loop, spec.reverse, PathStreams::Reverse(seed, number))
    {
    }

    PathDirection forward;
    PathDirection reverse;
};

/// Cores, and a kernel with memory for TCP.
struct Machine
{
    Machine(EventLoop& loop, const HostSpec& spec)
        : memory(spec.tcpMemory, spec.tcpReserve),
          cores(loop, spec.cores, spec.switchCost)
    {
    }

    TcpMemory memory;
    Cores cores;
};

/// A host: the programs that run on a machine, which may have other hosts, too.
struct Host
{
    Host(Machine& machine, const HostSpec& spec)
        : memory(machine.memory),
          cpu(machine.cores, spec.speed),
          application(cpu),
          loopback{PathDirection(cpu.Loop()), PathDirection(cpu.Loop())}
    {
    }

    TcpMemory& memory;
    Cpu cpu;
    CpuThread application;          //!< of all flows
    PerEnd<PathDirection> loopback; //!< what both ends of its connections send into, without limits
};

/// Hosts, the links between them, and the routes across these.
class Network
{
  public:
    /// \param capture of packets; null: there is none
    Network(EventLoop& loop, const ExperimentSpec& spec, Capture* capture = nullptr);

    std::deque<Host>& Hosts()
    {
        return m_hosts;
    }

    std::deque<DuplexLink>& Links()
    {
        return m_links;
    }

    /// The number of a host.
    uint32_t NumberOf(const Host& host) const;

    /// The hosts at both ends of a route.
    PerEnd<Host&> HostsOf(uint32_t route);

    /**
     * Make what one end of a route sends into.
     * \param route its number
     * \param sender the end that sends
     * \param extraDelay behind the last link, ns
     * \param onward where a router behind that link sends them; null: the receiver is there
     */
    Channel ChannelFrom(uint32_t route,
                        End sender,
                        int64_t extraDelay,
                        const Channel* onward = nullptr);

    /// The first link with an MTU or a firewall of its own that one end of a route sends across;
    /// null: there is none.
    const LinkMtuSpec* MtuOn(uint32_t route, End sender) const;

    /// What a host inside a tunnel knows of the MTU. \param inside into the tunnel  \param outer
    /// what the tunnel sends into \param spec of the tunnel
    Channel InsideOf(const Channel& inside, Channel outer, const DatagramTunnelSpec& spec);

    /// What is captured of what a channel sends into a link: the channel that is to be used.
    Channel Captured(const RouteStepSpec& step, const Channel& channel);

    /// The direction of the only link that a route crosses; null: it crosses several.
    PathDirection* OnlyLink(uint32_t route, End sender);

    /// Delay of the last link that a route crosses, ns.
    int64_t LastDelay(uint32_t route, End sender) const;

  private:
    /// The way from the router before a step of a route to the route's sender.
    Channel BackFrom(const std::vector<RouteStepSpec>& steps, size_t step);
    /// Put the router in front of a link that has an MTU of its own. \param host that sends
    Channel Gated(const std::vector<RouteStepSpec>& steps,
                  size_t step,
                  const Channel& channel,
                  MtuSource* source,
                  uint32_t host);
    /// What is captured at the router in front of a step of a route: the channel that it sends
    /// into.
    Channel Passing(const std::vector<RouteStepSpec>& steps,
                    size_t place,
                    CaptureDirection direction,
                    const Channel& channel);
    const LinkSpec& SpecOf(const RouteStepSpec& step) const;
    PathDirection& DirectionOf(const RouteStepSpec& step);

    const ExperimentSpec& m_spec;
    Capture* const m_capture;
    std::deque<DuplexLink> m_links;
    std::deque<Machine> m_machines;
    std::deque<Host> m_hosts;
    std::deque<RouteHop> m_hops;
    std::deque<RouteEntry> m_entries;
    std::map<std::pair<uint32_t, End>, RouteMtu> m_routeMtus; //!< by route and sender
    std::deque<MtuSource> m_mtuSources;
    std::deque<MtuMessages> m_mtuMessages;
    std::deque<MtuGate> m_mtuGates;
    PathDirection m_hostItself; //!< of messages from a router beside their receiver
};

} // namespace tunnelcc

#endif // TUNNELCC_NETWORK_H
