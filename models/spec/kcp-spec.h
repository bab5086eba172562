/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_SPEC_H
#define TUNNELCC_KCP_SPEC_H

#include "end.h"
#include "fec-spec.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/**
 * \file
 * KCP. Times in ns, sizes in bytes, windows in segments.
 */
namespace tunnelcc
{

/// The generation of kcp-go, named by the year in which it began to behave so: see KcpBehaviour.
enum class KcpGeneration : uint8_t
{
    OF_2017,
    OF_2020,
    OF_2025
};

std::span<const std::string_view> NamesOf(KcpGeneration value);

/// A KCP session, as kcp-go has it.
struct KcpSpec
{
    KcpGeneration generation{};
    uint32_t room{0};
    uint32_t header{0};
    bool nodelay{false};
    int64_t interval{0};
    uint32_t resend{0};
    bool congestion{false};
    PerEnd<uint32_t> sendWindow{0, 0};
    PerEnd<uint32_t> receiveWindow{0, 0};
    std::optional<FecSpec> fec;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_SPEC_H
