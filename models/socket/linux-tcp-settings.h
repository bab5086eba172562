/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_TCP_SETTINGS_H
#define TUNNELCC_LINUX_TCP_SETTINGS_H

#include "spec/tcp-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * What may be set of a host's TCP; the defaults are those of Linux 6.18. Times in ns, sizes in
 * bytes.
 */
struct LinuxTcpSettings
{
    uint32_t sndBufSize{4 << 20};      //!< tcp_wmem[2]
    uint32_t rcvBufSize{32 << 20};     //!< tcp_rmem[2] on hosts with 4 GiB of memory or more
    uint32_t initialCwnd{10};          //!< segments (RFC 6928)
    int64_t minRto{200'000'000};       //!< TCP_RTO_MIN
    int64_t delAckTimeout{40'000'000}; //!< TCP_DELACK_MIN
    uint32_t delAckCount{2};           //!< segments per ACK
    bool noDelay{false};               //!< TCP_NODELAY
};

/**
 * The settings of a connection.
 * \param mss payload of a full segment, bytes
 * \param ipHeader header of IP, bytes
 * \param isClient this end opens the connection
 */
TcpSpec MakeLinuxTcpSpec(const LinuxTcpSettings& settings,
                         uint32_t mss,
                         uint32_t ipHeader,
                         bool isClient);

/// Timestamps of a segment (RFC 7323), bytes.
constexpr uint32_t TCP_TIMESTAMPS = 12;

/// Bytes that TCP adds to the payload of a segment: header and timestamps.
constexpr uint32_t LINUX_TCP_HEADER = 20 + TCP_TIMESTAMPS;

/// Largest window of a header, bytes; windows of SYNs are never scaled (RFC 7323).
constexpr uint32_t UNSCALED_WINDOW = 65'535;

} // namespace tunnelcc

#endif // TUNNELCC_LINUX_TCP_SETTINGS_H
