/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_H
#define TUNNELCC_LEG_H

#include "leg-ends.h"
#include "traffic/datagram-socket.h"
#include "transport/endpoint.h"
#include "tunnel/udp-socket.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace tunnelcc
{

/// The role of a connection for the flows that use it.
enum class LegRole : uint8_t
{
    APP,     //!< from the client's application to the server's, or to the first relay
    CARRIER, //!< a tunnel's own connection
    TARGET   //!< from the last relay to the server's application
};

/// One connection, of TCP or of a carrier's own protocol, or two UDP sockets.
struct Leg
{
    LegRole role;
    std::optional<uint32_t> hop; //!< that its segments cross, each as a packet or a datagram; none:
                                 //!< they cross a loopback, or go into a carrier's stream
    std::string cc;              //!< name of its congestion control
    std::variant<LegEnds<TcpEndpoint>,
                 LegEnds<KcpEndpoint>,
                 LegEnds<RudpEndpoint>,
                 LegEnds<QuicConnection>,
                 PerEnd<QuicPath*>,
                 LegEnds<DatagramSocket>>
        ends;
    uint32_t path{0};                   //!< number of its path among those of its connection
    PerEnd<const UdpSocket*> sockets{}; //!< before its ends; null: there is none that costs time

    /// The ends of a TCP connection. \pre it is one
    const LegEnds<TcpEndpoint>& Tcp() const
    {
        return std::get<LegEnds<TcpEndpoint>>(ends);
    }

    /// The ends of a QUIC connection. \pre it is one
    const LegEnds<QuicConnection>& Quic() const
    {
        return std::get<LegEnds<QuicConnection>>(ends);
    }

    /// The UDP sockets. \pre it is a flow of datagrams
    const LegEnds<DatagramSocket>& Udp() const
    {
        return std::get<LegEnds<DatagramSocket>>(ends);
    }

    /// What a program at one end reads and writes: of QUIC one more stream each time, otherwise the
    /// connection itself. \pre it carries bytes
    ByteStream& Stream(End end) const
    {
        auto streamOf = [=](const auto& it) -> ByteStream& {
            if constexpr (requires { it[end]->AddStream(); })
            {
                return it[end]->AddStream();
            }
            else if constexpr (requires { it[end]->SetUser(nullptr); })
            {
                return *it[end];
            }
            else
            {
                std::abort(); // datagrams: against the precondition
            }
        };
        return std::visit(streamOf, ends);
    }

    /// "app", "target", or "carrier", "carrier2", … by hop; of subflows "app", "app-path2", ….
    std::string Name() const
    {
        std::string name = role == LegRole::APP ? "app" : "target";
        if (role == LegRole::CARRIER)
        {
            name = *hop == 0 ? "carrier" : "carrier" + std::to_string(*hop + 1);
        }
        return path == 0 ? name : name + "-path" + std::to_string(path + 1);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_LEG_H
