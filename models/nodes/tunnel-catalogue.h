/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_CATALOGUE_H
#define TUNNELCC_TUNNEL_CATALOGUE_H

#include <map>
#include <string>

namespace tunnelcc
{

/**
 * The tunnels of the catalogue by name, as text that ParseNodeTunnel() reads, on a path with an
 * MTU of 1500 bytes. Those that need a key, such as a rate, are not there.
 *
 * The Python package knows them. A program has the file that waf-config/tunnel-catalogue.py writes;
 * with ns-3's Python bindings, tunnelcc.ns3 adds them.
 */
[[gnu::visibility("default")]] std::map<std::string, std::string>& TunnelCatalogue();

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_CATALOGUE_H
