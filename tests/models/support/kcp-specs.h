/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_SPECS_H
#define TUNNELCC_KCP_SPECS_H

#include "arq/kcp-datagram.h"
#include "event/time-units.h"
#include "spec/kcp-spec.h"

#include <cstddef>
#include <cstdint>
#include <string>

/**
 * \file
 * KCP for the tests: kcptun's mode "fast", with the sizes of its datagrams, and kcp-go's
 * generations.
 */
namespace tunnelcc
{

inline constexpr uint32_t KCP_MSS = 1298;
inline constexpr uint32_t KCP_ROOM = KCP_MSS + KcpSegment::HEADER_BYTES;
inline constexpr uint32_t KCP_HEADER = 56; // IP 20, UDP 8, cipher 20, FEC 8
inline constexpr uint32_t KCP_WINDOW = 128;

inline constexpr KcpGeneration KCP_GENERATIONS[]{KcpGeneration::OF_2017,
                                                 KcpGeneration::OF_2020,
                                                 KcpGeneration::OF_2025};

inline std::string
NameOf(KcpGeneration generation)
{
    return std::string(NamesOf(generation)[static_cast<size_t>(generation)]);
}

/// kcptun's mode "fast".
inline KcpSpec
MakeKcp(KcpGeneration generation = KcpGeneration::OF_2025)
{
    KcpSpec spec;
    spec.generation = generation;
    spec.room = KCP_ROOM;
    spec.header = KCP_HEADER;
    spec.interval = 30 * MS;
    spec.resend = 2;
    spec.sendWindow = spec.receiveWindow = {KCP_WINDOW, KCP_WINDOW};
    return spec;
}

} // namespace tunnelcc

#endif // TUNNELCC_KCP_SPECS_H
