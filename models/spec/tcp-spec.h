/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_SPEC_H
#define TUNNELCC_TCP_SPEC_H

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace tunnelcc
{

/// A congestion control and the values of its parameters.
struct CongestionSpec
{
    std::string name;
    std::map<std::string, std::variant<bool, int64_t, double, std::string>> parameters;
    std::string code;

    static const class Fields& GetFields();
};

/// How the receive buffer of a Linux kernel grows.
enum class ReceiveGrowth
{
    CUSHION,     //!< before 6.16: 16 segments beyond twice of what was read
    OUT_OF_ORDER //!< since 6.16: the span of the data out of order instead
};

std::span<const std::string_view> NamesOf(ReceiveGrowth value);

/// The ACKs that let PRR slow-start in a Linux kernel.
enum class PrrSlowStart
{
    REPAIR,  //!< before 5.11: ACKs of retransmissions that show none of them lost
    PROGRESS //!< since 5.11: ACKs of new data that bring no new loss (RFC 9937)
};

std::span<const std::string_view> NamesOf(PrrSlowStart value);

/// How a program writes to its socket, which decides when a write that found no room goes on.
enum class WriteMode
{
    NONBLOCKING, //!< until the buffer is full, then again once a third of it is free
    POLLED,      //!< after poll(2), which agrees while a third is free
    BLOCKING     //!< until the buffer is full; arriving data wakes it, too. It polls to read
};

std::span<const std::string_view> NamesOf(WriteMode value);

/**
 * TCP settings of one kind of connection (over the path, or on a host's loopback). Times in ns,
 * sizes in bytes. Members that differ between kernels have the names of `tunnelcc show kernels`.
 */
struct TcpSpec
{
    uint32_t mss{0};
    uint32_t headerBytes{0};
    uint32_t synBytes{0};
    uint32_t mappingBytes{0};
    uint64_t receiveWindow{0};
    uint64_t initialReceiveWindow{0};
    uint64_t initialReceiveRoom{0};
    ReceiveGrowth receiveGrowth{};
    uint32_t windowScale{0};
    uint64_t sendBuffer{0};
    double sendBufferPerSegment{0};
    uint32_t bufferOverhead{0};
    uint32_t initialWindow{0};
    uint32_t synLinearTimeouts{0};
    int64_t minRto{0};
    int64_t delayedAck{0};
    int64_t jiffy{0};
    uint32_t ackEvery{0};
    int64_t gro{0};
    uint32_t pingPongAnswers{0};
    bool pushedAcks{false};
    int64_t pacingQuantum{0};
    int64_t tsoRttStep{0};
    int64_t tsoDeferralLimit{0};
    PrrSlowStart prrSlowStart{};
    bool nodelay{false};
    bool serverNodelay{false};
    WriteMode writes{};
    bool ecn{false};
    uint32_t mtuProbing{0};
    uint32_t baseMss{0};

    static const class Fields& GetFields();

    /// Most SACK blocks of an ACK (RFC 2018): four, three beside timestamps, and one beside the
    /// data ACK of a subflow (RFC 8684), which takes 12 bytes.
    uint32_t MaxSackBlocks() const
    {
        return mappingBytes > 0 ? 1 : HasTimestamps() ? 3 : 4;
    }

    /// Whether segments carry timestamps (RFC 7323), which shows in their headers.
    bool HasTimestamps() const
    {
        constexpr uint32_t PLAIN_OVER_IPV4 = 40; // IP and TCP without options
        constexpr uint32_t PLAIN_OVER_IPV6 = 60;
        return headerBytes != PLAIN_OVER_IPV4 && headerBytes != PLAIN_OVER_IPV6;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_SPEC_H
