/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_DIRECTION_H
#define TUNNELCC_RELAY_DIRECTION_H

#include "spec/end.h"
#include "spec/tunnel-spec.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// One direction of a relay tunnel's carriers.
struct RelayDirectionSpec
{
    const std::vector<LayerSpec>& layers; //!< innermost first
    uint32_t prefix;                      //!< bytes before a flow's first payload: relay request
                                          //!< or response
    const RelayWorkSpec& send;
    const RelayWorkSpec& receive;
    const MuxDirectionSpec* mux; //!< null: flows share no carrier
};

/// What a relay tunnel does with what one end of a carrier sends.
inline RelayDirectionSpec
SentBy(End end, const RelaySpec& spec)
{
    if (end == End::CLIENT)
    {
        return {spec.toServer,
                spec.requestBytes,
                spec.costToServer.send,
                spec.costToServer.receive,
                spec.mux ? &spec.mux->toServer : nullptr};
    }
    return {spec.toClient,
            spec.responseBytes,
            spec.costToClient.send,
            spec.costToClient.receive,
            spec.mux ? &spec.mux->toClient : nullptr};
}

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_DIRECTION_H
