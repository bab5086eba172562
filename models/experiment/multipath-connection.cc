/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "multipath-connection.h"

namespace tunnelcc
{

MultipathConnection
JoinSubflows(EventLoop& loop,
             const TcpSpec& tcp,
             const MultipathSpec& multipath,
             const std::vector<Leg*>& subflows)
{
    MultipathConnection connection{.legs = subflows, .ends = {}, .mappings = {}, .quic = {}};
    connection.ends = MakePerEnd(End::CLIENT, [&](End end) {
        return std::make_unique<MptcpEndpoint>(loop, tcp, multipath, end == End::CLIENT);
    });
    for (size_t path = 0; path < subflows.size(); ++path)
    {
        PerEnd<MappingLog>& mappings = connection.mappings.emplace_back();
        for (End end : ENDS)
        {
            connection.ends[end]->AddSubflow(*subflows[path]->Tcp()[end],
                                             mappings[end],
                                             mappings[Other(end)],
                                             multipath.paths[path].backup);
        }
    }
    return connection;
}

} // namespace tunnelcc
