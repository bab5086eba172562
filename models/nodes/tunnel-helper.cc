/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-helper.h"

#include "spec/refuse.h"
#include "spec/spec-text.h"
#include "tunnel-catalogue.h"

#include <fstream>
#include <iterator>

namespace tunnelcc
{

namespace
{

std::string
TextOf(const std::string& tunnel)
{
    if (tunnel.starts_with('{'))
    {
        return tunnel;
    }
    if (tunnel.ends_with(".json") || tunnel.find('/') != std::string::npos)
    {
        std::ifstream file(tunnel);
        if (!file)
        {
            Refuse("tunnelcc::TunnelHelper: the file " + tunnel + " cannot be read");
        }
        return std::string(std::istreambuf_iterator<char>(file), {});
    }
    const auto& tunnels = TunnelCatalogue();
    if (const auto found = tunnels.find(tunnel); found != tunnels.end())
    {
        return found->second;
    }
    std::string names;
    for (const auto& [name, text] : tunnels)
    {
        names += (names.empty() ? "" : ", ") + name;
    }
    Refuse("tunnelcc::TunnelHelper: expected one of " + names +
           ", or a file of `tunnelcc run --tunnel NAME --write-tunnel FILE.json`, got " + tunnel);
}

} // namespace

TunnelHelper::TunnelHelper(const std::string& tunnel)
    : m_spec(std::make_shared<const NodeTunnelSpec>(ParseNodeTunnel(TextOf(tunnel)))),
      m_tunnels("tunnelcc::NodeTunnel")
{
}

void
TunnelHelper::SetAttribute(const std::string& name, const ns3::AttributeValue& value)
{
    if (!ns3::CreateObject<NodeTunnel>()->SetAttributeFailSafe(name, value))
    {
        Refuse("tunnelcc::NodeTunnel has no attribute " + name + ", or not with this value");
    }
    m_tunnels.Set(name, value);
}

ns3::Ptr<NodeTunnel>
TunnelHelper::Install(ns3::Ptr<ns3::Node> client,
                      ns3::Ptr<ns3::Node> server,
                      const ns3::Address& address) const
{
    auto tunnel = m_tunnels.Create<NodeTunnel>();
    tunnel->Set(*m_spec, client, std::move(server), address);
    client->AddApplication(tunnel);
    return tunnel;
}

} // namespace tunnelcc
