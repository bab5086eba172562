/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LAYER_SPEC_H
#define TUNNELCC_LAYER_SPEC_H

#include "fields.h"

#include <cstdint>
#include <variant>

/**
 * \file
 * Encapsulations of a byte stream. Sizes in bytes.
 */
namespace tunnelcc
{

/// Frames of a fixed form: header, payload, padding, trailer.
struct FrameLayerSpec
{
    static constexpr const char* KIND = "frame";
    uint32_t maxPayload{0}; //!< of a frame; 0: one frame for each write
    uint32_t header{0};
    uint32_t padding{0}; //!< least bytes that a payload is padded by …
    uint32_t block{0};   //!< … up to a multiple of this
    uint32_t trailer{0};

    TUNNELCC_FIELDS(maxPayload, header, padding, block, trailer)
    TUNNELCC_RANGES({"header", 0, 65535},
                    {"padding", 0, 65535},
                    {"block", 0, 65535},
                    {"trailer", 0, 65535});
};

/// WebSocket (RFC 6455).
struct WebSocketLayerSpec
{
    static constexpr const char* KIND = "websocket";
    uint32_t maxPayload{0}; //!< of a frame; 0: one frame for each write
    bool masked{false};     //!< the client's 4-byte mask
    uint32_t firstWrite{0}; //!< bytes of a frame that are written in a write of their own; 0: none

    TUNNELCC_FIELDS(maxPayload, masked, firstWrite)
};

/// TLS 1.3's records (RFC 8446).
struct TlsLayerSpec
{
    static constexpr const char* KIND = "tls";
    uint32_t maxPayload{0};    //!< of a record
    uint32_t overhead{0};      //!< added to each record
    uint32_t rampBytes{0};     //!< the k-th record carries at most rampBytes·k …
    uint32_t rampUntil{0};     //!< … until this many bytes were sent; 0: no ramp
    uint32_t recordsBefore{0}; //!< records that the handshake has sent

    TUNNELCC_FIELDS(maxPayload, overhead, rampBytes, rampUntil, recordsBefore)
    TUNNELCC_RANGES({"maxPayload", 1, 1 << 30}, {"overhead", 0, 65535});
};

/// SSH's packets (RFC 4253).
struct SshLayerSpec
{
    static constexpr const char* KIND = "ssh";
    uint32_t block{0};    //!< padded to a multiple of this
    uint32_t overhead{0}; //!< the tag of a packet

    TUNNELCC_FIELDS(block, overhead)
    TUNNELCC_RANGES({"block", 1, 65535}, {"overhead", 0, 65535});
};

/// Chunks of the snappy framing format, as golang/snappy writes them after every write from above.
struct SnappyLayerSpec
{
    static constexpr const char* KIND = "snappy";
    uint32_t maxPayload{0};   //!< of a chunk
    uint32_t header{0};       //!< of a chunk
    uint32_t streamHeader{0}; //!< bytes before the first chunk, in its first write
    double ratio{0};          //!< compressed size of a payload, as a part of its size

    TUNNELCC_FIELDS(maxPayload, header, streamHeader, ratio)
    TUNNELCC_RANGES({"maxPayload", 1, 1 << 30},
                    {"header", 0, 65535},
                    {"streamHeader", 0, 65535},
                    {"ratio", 0, 2});
};

using LayerSpec =
    std::variant<FrameLayerSpec, WebSocketLayerSpec, TlsLayerSpec, SshLayerSpec, SnappyLayerSpec>;

} // namespace tunnelcc

#endif // TUNNELCC_LAYER_SPEC_H
