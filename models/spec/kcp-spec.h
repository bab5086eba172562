/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_SPEC_H
#define TUNNELCC_KCP_SPEC_H

#include "end.h"
#include "fec-spec.h"
#include "fields.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/**
 * \file
 * KCP. Times in ns, sizes in bytes, windows in segments.
 */
namespace tunnelcc
{

/// The generation of kcp-go, named by the year in which it began to behave so: see KcpBehaviour.
enum class KcpGeneration : uint8_t
{
    OF_2017,
    OF_2020,
    OF_2025
};

template <>
inline constexpr auto ENUM_NAMES<KcpGeneration> =
    std::to_array<std::string_view>({"2017", "2020", "2025"});

/// A KCP session, as kcp-go has it.
struct KcpSpec
{
    KcpGeneration generation{};
    uint32_t room{0};    //!< most bytes of the segments in a datagram, with their headers
    uint32_t header{0};  //!< IP bytes of a datagram around its segments
    bool nodelay{false}; //!< time-outs are at least 30 ms, and grow by half instead of doubling
    int64_t interval{0}; //!< time between flushes by the clock
    uint32_t resend{0}; //!< a segment counts as lost after so many ACKs of higher numbers; 0: never
    bool congestion{false}; //!< a congestion window on top of the others (nc = 0)
    PerEnd<uint32_t> sendWindow{0, 0};
    PerEnd<uint32_t> receiveWindow{0, 0};
    std::optional<FecSpec> fec; //!< FEC over datagrams, each of which is a shard

    TUNNELCC_FIELDS(generation,
                    room,
                    header,
                    nodelay,
                    interval,
                    resend,
                    congestion,
                    sendWindow,
                    receiveWindow,
                    fec)
    TUNNELCC_RANGES({"room", 32, 65535},
                    {"header", 0, 1024},
                    {"interval", 1e6, 6e10},
                    {"resend", 0, 255},
                    {"sendWindow", 1, 65535},
                    {"receiveWindow", 1, 65535});
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_SPEC_H
