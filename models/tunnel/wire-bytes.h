/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WIRE_BYTES_H
#define TUNNELCC_WIRE_BYTES_H

#include "tunnel/layer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Sizes of the writes to the carrier for one message, in bytes.
 *
 * \param layers innermost first
 * \param messageBytes size of the message
 * \param alreadySent bytes that the connection has sent before, which some layers' records depend
 * on
 */
inline std::vector<uint32_t>
LayerWireBytes(const std::vector<LayerSpec>& layers, uint32_t messageBytes, uint64_t alreadySent)
{
    LayerStack stack(layers);
    constexpr uint64_t STEP = 32768;
    for (uint64_t sent = 0; sent < alreadySent; sent += STEP)
    {
        stack.Wrap(static_cast<uint32_t>(std::min(STEP, alreadySent - sent)));
    }
    return stack.Wrap(messageBytes);
}

} // namespace tunnelcc

#endif // TUNNELCC_WIRE_BYTES_H
