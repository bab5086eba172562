/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_CPU_H
#define TUNNELCC_NODE_CPU_H

#include "host/cpu.h"

#include "ns3/node.h"
#include "ns3/object.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// The cores of a node, on which its tunnels run. Aggregate one to a node before its tunnels, to
/// have others than the default.
class NodeCpu final : public ns3::Object
{
  public:
    /// Attributes Cores, Speed.
    static ns3::TypeId GetTypeId();

    /// Those of a node, which are made if it has none.
    static Cpu& Of(const ns3::Ptr<ns3::Node>& node);

  private:
    uint32_t m_count{0};
    double m_speed{0};
    std::optional<Cores> m_cores;
    std::optional<Cpu> m_cpu;
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_CPU_H
