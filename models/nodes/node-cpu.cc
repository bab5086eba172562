/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-cpu.h"

#include "interop/ns3-simulator.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

namespace tunnelcc
{

NS_OBJECT_ENSURE_REGISTERED(NodeCpu);

ns3::TypeId
NodeCpu::GetTypeId()
{
    static ns3::TypeId tid =
        ns3::TypeId("tunnelcc::NodeCpu")
            .SetParent<ns3::Object>()
            .SetGroupName("Tunnelcc")
            .AddConstructor<NodeCpu>()
            .AddAttribute("Cores",
                          "Number of cores.",
                          ns3::UintegerValue(2),
                          ns3::MakeUintegerAccessor(&NodeCpu::m_count),
                          ns3::MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute("Speed",
                          "Speed of a core, relative to the host on which costs were measured.",
                          ns3::DoubleValue(1),
                          ns3::MakeDoubleAccessor(&NodeCpu::m_speed),
                          ns3::MakeDoubleChecker<double>(1e-3, 1000));
    return tid;
}

Cpu&
NodeCpu::Of(const ns3::Ptr<ns3::Node>& node)
{
    auto self = node->GetObject<NodeCpu>();
    if (!self)
    {
        self = ns3::CreateObject<NodeCpu>();
        node->AggregateObject(self);
    }
    if (!self->m_cpu)
    {
        self->m_cores.emplace(Ns3Simulator::Loop(), self->m_count, 0);
        self->m_cpu.emplace(*self->m_cores, self->m_speed);
    }
    return *self->m_cpu;
}

} // namespace tunnelcc
