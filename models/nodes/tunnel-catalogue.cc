/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-catalogue.h"

namespace tunnelcc
{

std::map<std::string, std::string>&
TunnelCatalogue()
{
    static std::map<std::string, std::string> tunnels;
    return tunnels;
}

} // namespace tunnelcc
