/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SPEC_TEXT_H
#define TUNNELCC_SPEC_TEXT_H

#include "capture-spec.h"
#include "descriptor.h"
#include "experiment-spec.h"
#include "node-tunnel-spec.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * Specifications as text (JSON): the Python package passes them, and C++ programs read them from
 * files.
 */
namespace tunnelcc
{

/**
 * Read a specification. Members that are not given are 0, false or empty.
 * \throws std::invalid_argument if the text is no JSON or does not fit; it names the member
 */
ExperimentSpec ParseSpec(std::string_view text);

/// Write a specification with all its members, as ParseSpec() reads it.
std::string FormatSpec(const ExperimentSpec& spec);

/// Read what to capture. \throws std::invalid_argument as ParseSpec() does
CaptureSpec ParseCapture(std::string_view text);

/// Read a tunnel between nodes of ns-3. \throws std::invalid_argument as ParseSpec() does
NodeTunnelSpec ParseNodeTunnel(std::string_view text);

/// Read a list of layers, innermost first. \throws std::invalid_argument as ParseSpec() does
std::vector<LayerSpec> ParseLayers(std::string_view text);

/// What the members of each struct in a specification are, by the struct's name in C++.
std::map<std::string, std::vector<Descriptor>> ListSpecMembers();

} // namespace tunnelcc

#endif // TUNNELCC_SPEC_TEXT_H
