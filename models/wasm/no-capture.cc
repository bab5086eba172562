/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wire/capture.h"

/**
 * \file
 * What experiments call of a capture, in place of the room `wire/`: a browser has no files, so no
 * run has a capture, and none of these is called.
 */

namespace tunnelcc
{

Capture::Tcp
Capture::AddTcp(const TcpSpec&, const WireEnds&, std::string_view, const PerEnd<Channel>&)
{
    __builtin_trap();
}

PerEnd<StreamContents*>
Capture::AddMptcp(const MultipathSpec&,
                  const std::vector<PerEnd<TcpFormat*>>&,
                  std::deque<PerEnd<MappingLog>>&)
{
    __builtin_trap();
}

CarrierContents&
Capture::AddContents(StreamContents&,
                     uint32_t,
                     const std::vector<HandshakeTurn>&,
                     End,
                     const std::vector<LayerSpec>&)
{
    __builtin_trap();
}

PerEnd<Channel>
Capture::AddUdp(const WireEnds&, uint32_t, const PerEnd<Channel>&)
{
    __builtin_trap();
}

Capture::Quic
Capture::AddQuic(const QuicSpec&, const WireEnds&, std::string_view, const PerEnd<Channel>&)
{
    __builtin_trap();
}

Channel
Capture::AddTunnel(const DatagramTunnelSpec&, uint32_t, const WireEnds&, End, const Channel&)
{
    __builtin_trap();
}

Channel
Capture::AddNested(const NestedPackets&, const Channel&)
{
    __builtin_trap();
}

Channel
Capture::AddMessages(const MtuMessages&, uint32_t, uint32_t, const Channel&)
{
    __builtin_trap();
}

Channel
Capture::AddPassing(uint32_t, CaptureInterface, CaptureDirection, const Channel&)
{
    __builtin_trap();
}

Channel
Capture::AddPassingBehind(const RouteStepSpec&, CaptureDirection, const Channel&)
{
    __builtin_trap();
}

Channel
Capture::AddLink(uint32_t, bool, PathDirection&, const Channel&)
{
    __builtin_trap();
}

void
Capture::Finish()
{
    __builtin_trap();
}

} // namespace tunnelcc
