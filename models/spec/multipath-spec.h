/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MULTIPATH_SPEC_H
#define TUNNELCC_MULTIPATH_SPEC_H

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tunnelcc
{

/// Which path of a connection sends the next bytes.
enum class MultipathScheduler : uint8_t
{
    DEFAULT,     //!< of MPTCP as Linux: the one that will have sent what waits in it first; of QUIC
                 //!< LOWEST_RTT
    LOWEST_RTT,  //!< the one with the lowest RTT that has room in its window
    ROUND_ROBIN, //!< in turn, a segment each, of those with room
    REDUNDANT,   //!< all
    BLEST        //!< as lowest RTT, but a slower one only where it will not block the others
};

std::span<const std::string_view> NamesOf(MultipathScheduler value);

/// A path of a connection.
struct SubflowSpec
{
    uint32_t route{0};
    bool backup{false};

    static const class Fields& GetFields();
};

/// A connection of MPTCP (RFC 8684) or QUIC (draft-ietf-quic-multipath-21) over several paths.
struct MultipathSpec
{
    MultipathScheduler scheduler{};
    std::vector<SubflowSpec> paths;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_MULTIPATH_SPEC_H
