/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_TEXT_H
#define TUNNELCC_CONGESTION_TEXT_H

#include "spec/tcp-spec.h"

#include <string>

namespace tunnelcc
{

/// Read a congestion control from an attribute: its name, then its parameters, such as
/// "bbr,extra_acked_gain=0". \throws std::invalid_argument
CongestionSpec ParseCongestionText(const std::string& text);

/// Write what ParseCongestionText() reads.
std::string FormatCongestionText(const CongestionSpec& spec);

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_TEXT_H
