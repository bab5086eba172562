/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "leg-builder.h"
#include "network.h"
#include "spec/experiment-spec.h"
#include "tunnel-builder.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// A network of hosts, with the flows and the tunnels that run on them.
class World
{
  public:
    /// \param loop that it runs on  \param spec the experiment
    /// \param capture of packets, which outlives the world; null: there is none
    /// \param wrap may put something in place of each congestion control; may be empty
    World(EventLoop& loop,
          const ExperimentSpec& spec,
          Capture* capture = nullptr,
          AlgorithmWrapper wrap = {});
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Schedule the start of every flow.
    void Start();

    Network& GetNetwork()
    {
        return m_network;
    }

    const std::vector<std::unique_ptr<TunnelBuilder>>& Tunnels()
    {
        return m_tunnels;
    }

    std::deque<Flow>& Flows()
    {
        return m_flows;
    }

    /// Every connection there is, in the order in which flows first use them.
    const std::deque<Leg>& Legs() const
    {
        return m_legs.Legs();
    }

  private:
    void AddTunnels();
    void AddStream(uint32_t index, Flow& flow);
    void AddDatagrams(uint32_t index, Flow& flow);
    void StartDatagrams(uint32_t index);

    const ExperimentSpec m_spec;
    Network m_network;
    LegBuilder m_legs;
    std::vector<std::unique_ptr<TunnelBuilder>> m_tunnels;
    const Site m_site;
    std::deque<Flow> m_flows;
    EventSources m_starts;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
