/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_CATALOGUE_H
#define TUNNELCC_TUNNEL_CATALOGUE_H

#include <map>
#include <string_view>

namespace tunnelcc
{

/// The tunnels of the catalogue by name, as text that ParseNodeTunnel() reads, on a path with an
/// MTU of 1500 bytes. Those that need a key, such as a rate, are not there.
/// waf-config/tunnel-catalogue.py writes them from the Python package.
const std::map<std::string_view, std::string_view>& TunnelCatalogue();

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_CATALOGUE_H
