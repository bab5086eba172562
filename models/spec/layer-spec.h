/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LAYER_SPEC_H
#define TUNNELCC_LAYER_SPEC_H

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
    uint32_t maxPayload{0};
    uint32_t header{0};
    uint32_t padding{0};
    uint32_t block{0};
    uint32_t trailer{0};

    static const class Fields& GetFields();
};

/// WebSocket (RFC 6455).
struct WebSocketLayerSpec
{
    static constexpr const char* KIND = "websocket";
    uint32_t maxPayload{0};
    bool masked{false};
    uint32_t firstWrite{0};

    static const class Fields& GetFields();
};

/// TLS 1.3's records (RFC 8446).
struct TlsLayerSpec
{
    static constexpr const char* KIND = "tls";
    uint32_t maxPayload{0};
    uint32_t overhead{0};
    uint32_t rampBytes{0};
    uint32_t rampUntil{0};
    uint32_t recordsBefore{0};

    static const class Fields& GetFields();
};

/// SSH's packets (RFC 4253).
struct SshLayerSpec
{
    static constexpr const char* KIND = "ssh";
    uint32_t block{0};
    uint32_t overhead{0};

    static const class Fields& GetFields();
};

/// Chunks of the snappy framing format, as golang/snappy writes them after every write from above.
struct SnappyLayerSpec
{
    static constexpr const char* KIND = "snappy";
    uint32_t maxPayload{0};
    uint32_t header{0};
    uint32_t streamHeader{0};
    double ratio{0};

    static const class Fields& GetFields();
};

using LayerSpec =
    std::variant<FrameLayerSpec, WebSocketLayerSpec, TlsLayerSpec, SshLayerSpec, SnappyLayerSpec>;

} // namespace tunnelcc

#endif // TUNNELCC_LAYER_SPEC_H
