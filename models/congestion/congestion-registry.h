/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_REGISTRY_H
#define TUNNELCC_CONGESTION_REGISTRY_H

#include "congestion/congestion-control.h"
#include "spec/descriptor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * The congestion controls that exist and their parameters, for listings and validation.
 * MakeCongestionControl() (congestion-control.h) makes one.
 */

namespace tunnelcc
{

using ParameterKind = ValueKind;

/// A parameter of an algorithm.
using CongestionParameterInfo = Descriptor;

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

/// Congestion controls of another simulator, by names of their own.
class CongestionFamily
{
  public:
    virtual ~CongestionFamily() = default;

    /// All names.
    virtual std::vector<std::string> List() const = 0;

    virtual bool Has(std::string_view name) const = 0;

    /// Parameters of an algorithm. \pre Has(name)
    virtual std::vector<CongestionParameterInfo> Describe(std::string_view name) const = 0;

    /// Make an algorithm, as MakeCongestionControl() does. \pre Has(name)
    virtual std::unique_ptr<CongestionControl> Make(std::string_view name,
                                                    const CongestionParameters& parameters,
                                                    int64_t stream) const = 0;
};

/// Let MakeCongestionControl() and what follows here know a family, which is never destroyed.
/// Called before main(), by an object of the file that has the family. \returns true
bool AddCongestionFamily(const CongestionFamily& family);

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
 * Parameters of an algorithm.
 *
 * \throws std::invalid_argument on an unknown name; the message lists the names there are
 */
std::vector<CongestionParameterInfo> GetCongestionParameters(std::string_view name);

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_REGISTRY_H
