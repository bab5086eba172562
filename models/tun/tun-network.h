/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUN_NETWORK_H
#define TUNNELCC_TUN_NETWORK_H

#include "spec/experiment-spec.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/**
 * \file
 * The links of an experiment between real hosts: IP packets that a kernel sends into TUN devices
 * cross the very links of a simulation, with its random numbers, and come out of the others.
 *
 * Time is CLOCK_MONOTONIC: that of a kernel whose clock is virtual, or of this machine.
 */
namespace tunnelcc
{

/// Between which addresses of hosts packets take a route, and what that adds to its delay.
struct TunWay
{
    uint32_t source{0}; //!< IPv4 address, as a number
    uint32_t destination{0};
    uint32_t route{0}; //!< of the experiment
    End sender{};      //!< the end of the route that has the source
    int64_t extraDelay{0};
    uint32_t host{0}; //!< number of the host with the destination
};

/// A host's device.
struct TunDevice
{
    int file{-1};
    std::string capture; //!< name of a pcap file of its packets; empty: none
};

/// When what happens, ns of CLOCK_MONOTONIC.
struct TunTimes
{
    int64_t begin{0};  //!< time 0 of the experiment; before it, packets meet delays only
    int64_t steady{0}; //!< from when on counts are "measured"
    int64_t end{0};
};

/// What one direction of a link had between `steady` and `end`.
struct TunLinkCounts
{
    uint64_t packets{0};
    uint64_t drops{0};
    uint64_t losses{0};
    uint64_t marks{0};
    uint64_t allDrops{0};  //!< since the begin
    uint64_t allLosses{0}; //!< since the begin
    double queueMean{0};   //!< ns, without service
    double queueP95{0};
};

/// What was sent from one address and port to another.
struct TunFlowCounts
{
    uint32_t source{0};
    uint32_t destination{0};
    uint8_t protocol{0};
    uint16_t sourcePort{0};
    uint16_t destinationPort{0};
    uint64_t packets{0};   //!< sent
    uint64_t arrived{0};   //!< packets
    uint64_t bytes{0};     //!< IP bytes that arrived since `steady`
    int64_t firstData{-1}; //!< when the first packet with a payload was sent, ns since the begin
    int64_t lastData{-1};  //!< when the last one arrived
};

/// What the links did.
struct TunReport
{
    std::vector<TunLinkCounts> forward; //!< of each link
    std::vector<TunLinkCounts> reverse;
    std::vector<TunFlowCounts> flows;
    uint64_t packets{0}; //!< that were read
    uint64_t unknown{0}; //!< between addresses that no way has
    uint64_t refused{0}; //!< that a device did not take
    double lateP99{0};   //!< how late packets left, ns
    int64_t lateMost{0};
};

/**
 * Carry packets until TunTimes::end.
 *
 * \param spec whose hosts, links and routes are used
 * \param devices of the hosts, in their order
 * \param onInterrupt is asked whether to go on when a signal arrives
 * \throws std::system_error if a device or a file fails
 */
TunReport CarryPackets(const ExperimentSpec& spec,
                       const std::vector<TunDevice>& devices,
                       const std::vector<TunWay>& ways,
                       const TunTimes& times,
                       const std::function<bool()>& onInterrupt);

} // namespace tunnelcc

#endif // TUNNELCC_TUN_NETWORK_H
