/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_H
#define TUNNELCC_LEG_H

#include "arq/kcp-endpoint.h"
#include "arq/rudp-endpoint.h"
#include "spec/end.h"
#include "transport/endpoint.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tunnelcc
{

/// What a connection is to the flows that use it.
enum class LegRole : uint8_t
{
    APP,     //!< from the client's application to the server's, or to the first relay
    CARRIER, //!< of a tunnel
    TARGET   //!< from the last relay to the server's application
};

/// One connection: TCP's, but for carriers that have a protocol of their own.
struct Leg
{
    LegRole role;
    std::optional<uint32_t> hop; //!< that its segments cross, each as a packet or a datagram; none:
                                 //!< they cross a loopback, or go into a carrier's stream
    std::string cc;              //!< name of its congestion control
    PerEnd<std::unique_ptr<TcpEndpoint>> ends;  //!< of TCP, or none
    PerEnd<std::unique_ptr<KcpEndpoint>> kcp;   //!< of KCP, or none
    PerEnd<std::unique_ptr<RudpEndpoint>> rudp; //!< of RUDP, or none

    /// What a program at one end reads and writes.
    ByteStream& Stream(End end) const
    {
        if (rudp[end])
        {
            return *rudp[end];
        }
        return kcp[end] ? static_cast<ByteStream&>(*kcp[end]) : *ends[end];
    }

    /// "app", "target", or "carrier", "carrier2", … by hop.
    std::string Name() const
    {
        switch (role)
        {
        case LegRole::APP:
            return "app";
        case LegRole::TARGET:
            return "target";
        case LegRole::CARRIER:
            break;
        }
        return *hop == 0 ? "carrier" : "carrier" + std::to_string(*hop + 1);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_LEG_H
