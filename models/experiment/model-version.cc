/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "model-version.h"

#include "model-digest.h" // written by the build

namespace tunnelcc
{

std::string
ModelVersion()
{
    const std::string digest = MODEL_DIGEST;
    return std::to_string(MODEL_VERSION) + (digest.empty() ? "" : "+" + digest);
}

} // namespace tunnelcc
