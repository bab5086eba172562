/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment-result.h"

#include "spec/fields-json.h"

namespace tunnelcc
{

std::string
FormatResult(const ExperimentResult& result)
{
    return ToJson(result).dump();
}

} // namespace tunnelcc
