/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_REGISTRY_H
#define TUNNELCC_CONGESTION_REGISTRY_H

#include "congestion/congestion-control.h"

#include <optional>
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

/// Which values a parameter has, by its type in ParameterValue.
enum class ParameterKind
{
    SWITCH, //!< bool
    COUNT,  //!< int64_t
    NUMBER, //!< double; a whole number may be given as int64_t
    CHOICE  //!< std::string: one of CongestionParameterInfo::choices
};

/// A parameter of an algorithm: its name, default, range, and where the default comes from.
struct CongestionParameterInfo
{
    std::string name;
    ParameterKind kind{ParameterKind::NUMBER};
    std::string unit{}; //!< "s", "bytes/s", "segments", "rounds", …; empty: none, or a ratio
    double minimum{0};  //!< least value accepted, of a count or a number
    double maximum{0};  //!< greatest value accepted, of a count or a number
    std::string doc;
    std::string source;                           //!< document or kernel symbol of the default
    std::optional<ParameterValue> defaultValue{}; //!< none: the parameter must be given
    std::vector<std::string> choices{};           //!< values of a choice
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
 * Whether an algorithm has its data marked rather than dropped: CongestionControl::NeedsEcn() of
 * one with the default parameters.
 *
 * \throws std::invalid_argument on an unknown name
 */
bool NeedsEcn(std::string_view name);

/**
 * Parameters of an algorithm, ns-3 TypeIds included (their attributes).
 *
 * \throws std::invalid_argument on an unknown name; the message lists the names there are
 */
std::vector<CongestionParameterInfo> GetCongestionParameters(std::string_view name);

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_REGISTRY_H
