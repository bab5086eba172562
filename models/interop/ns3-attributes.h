/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NS3_ATTRIBUTES_H
#define TUNNELCC_NS3_ATTRIBUTES_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"

#include "ns3/tcp-congestion-ops.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * The congestion controls of ns-3 (3.44) by TypeId, and their attributes as parameters: those whose
 * value is a number, a boolean, a time or one of an enumeration. Strings are left out.
 */

namespace tunnelcc
{

/// Whether the name is a TypeId that derives from ns3::TcpCongestionOps and can be made.
bool HasNs3CongestionOps(std::string_view name);

/// TypeIds of all congestion controls of ns-3 that can be made, in alphabetical order.
std::vector<std::string> ListNs3CongestionOps();

/// Whether the TypeId is ns-3's DCTCP or derives from it. No other of ns-3's asks for ECN marks.
bool Ns3NeedsEcn(std::string_view typeId);

/// Attributes of a congestion control of ns-3 that are parameters here; none for other names.
std::vector<CongestionParameterInfo> DescribeNs3Attributes(std::string_view typeId);

/**
 * Make the operations.
 *
 * \param typeId name of the TypeId
 * \param parameters attributes by name; times in seconds
 * \param stream given to the `Stream` attribute of operations that have one
 * \throws std::invalid_argument on an unknown TypeId or attribute, or a value it refuses
 */
ns3::Ptr<ns3::TcpCongestionOps> MakeNs3CongestionOps(std::string_view typeId,
                                                     const CongestionParameters& parameters,
                                                     int64_t stream);

} // namespace tunnelcc

#endif // TUNNELCC_NS3_ATTRIBUTES_H
