/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_REGISTRY_H
#define TUNNELCC_CONGESTION_REGISTRY_H

#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * What congestion controls there are and what can be set on them, for listings and validation.
 * MakeCongestionControl() (congestion-control.h) makes one.
 */

namespace tunnelcc
{

/// A parameter of an algorithm: its name, default, range, and where the default comes from.
struct CongestionParameterInfo
{
    std::string name;
    /// "s", "bytes/s", "segments/s^3"; whole numbers: "segments", "rounds", "samples", "integer";
    /// "bool": 0 or 1; empty: a ratio.
    std::string unit;
    double minimum{0}; //!< least value accepted
    double maximum{0}; //!< greatest value accepted
    std::string doc;
    std::string source;     //!< document or kernel symbol of the default
    double defaultValue{0}; //!< not a number: there is none, the parameter must be given
    std::vector<std::string> choices{}; //!< names of the values, from 0 on; empty: it is a number
};

/// An algorithm: its name, what it is, and the documents it is written from. A note, where there is
/// one, is to stand beside the name wherever that is shown.
struct CongestionAlgorithmInfo
{
    std::string name;
    std::string summary;
    std::string source;
    std::string note;
};

/// The algorithms of this project.
std::vector<CongestionAlgorithmInfo> ListCongestionControls();

/// TypeIds derived from ns3::TcpCongestionOps that can be made, in alphabetical order.
std::vector<std::string> ListNs3CongestionControls();

/// Whether MakeCongestionControl() knows the name.
bool HasCongestionControl(std::string_view name);

/**
 * Parameters of an algorithm, ns-3 TypeIds included (their number-valued attributes).
 *
 * \throws std::invalid_argument on an unknown name; the message lists the names there are
 */
std::vector<CongestionParameterInfo> GetCongestionParameters(std::string_view name);

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_REGISTRY_H
