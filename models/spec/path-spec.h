/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_SPEC_H
#define TUNNELCC_PATH_SPEC_H

#include "end.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

/**
 * \file
 * A path: in each direction a queue in front of a link, and what happens to packets around it.
 * Times in ns, rates in bit/s, sizes in bytes, probabilities in [0, 1].
 */
namespace tunnelcc
{

/// A step of a link's rate.
struct RateStep
{
    int64_t time{0};
    double rate{0};

    static const class Fields& GetFields();
};

/// A step of a link's propagation delay.
struct DelayStep
{
    int64_t time{0};
    int64_t delay{0};

    static const class Fields& GetFields();
};

/// A step of a link's loss.
struct LossStep
{
    int64_t time{0};
    double loss{0};

    static const class Fields& GetFields();
};

/// A step of the most that waits in front of a link.
struct BufferStep
{
    int64_t time{0};
    uint64_t bytes{0};
    uint64_t packets{0};

    static const class Fields& GetFields();
};

/// A time in which a link is cut: packets that would leave it are lost.
struct OutageSpec
{
    int64_t begin{0};
    int64_t end{0};

    static const class Fields& GetFields();
};

/// What becomes of packets in flight when a step changes the delay.
enum class Handover
{
    OVERTAKE, //!< they keep their delay; later ones with a shorter delay overtake them
    IN_ORDER, //!< they keep their delay; later ones wait for them
    LOST
};

std::span<const std::string_view> NamesOf(Handover value);

/// First in, first out; drops what finds the queue full.
struct DropTailSpec
{
    static constexpr const char* KIND = "drop-tail";
    uint64_t ecnThreshold{0};

    static const class Fields& GetFields();
};

/// CoDel (RFC 8289).
struct CodelSpec
{
    static constexpr const char* KIND = "codel";
    int64_t target{0};
    int64_t interval{0};
    bool ecn{false};

    static const class Fields& GetFields();
};

/// FQ-CoDel (RFC 8290).
struct FqCodelSpec
{
    static constexpr const char* KIND = "fq-codel";
    int64_t target{0};
    int64_t interval{0};
    uint32_t quantum{0};
    uint32_t queues{0};
    bool ecn{false};

    static const class Fields& GetFields();
};

/// PIE (RFC 8033).
struct PieSpec
{
    static constexpr const char* KIND = "pie";
    int64_t target{0};
    int64_t interval{0};
    double alpha{0};
    double beta{0};
    int64_t burst{0};
    bool ecn{false};

    static const class Fields& GetFields();
};

/// DualPI2 (RFC 9332, appendix A).
struct DualPi2Spec
{
    static constexpr const char* KIND = "dualpi2";
    int64_t target{0};
    int64_t interval{0};
    double alpha{0};
    double beta{0};
    int64_t step{0};
    double coupling{0};
    double classicShare{0};

    static const class Fields& GetFields();
};

/// RED (Floyd and Jacobson 1993).
struct RedSpec
{
    static constexpr const char* KIND = "red";
    uint64_t minThreshold{0};
    uint64_t maxThreshold{0};
    double maxProbability{0};
    double weight{0};
    bool gentle{false};
    int64_t meanPacketTime{0};
    bool ecn{false};

    static const class Fields& GetFields();
};

/// Between whom CAKE divides the link.
enum class CakeIsolation
{
    FLOWBLIND,     //!< nobody: one queue
    SRCHOST,       //!< hosts that send
    DSTHOST,       //!< hosts that receive
    HOSTS,         //!< pairs of hosts
    FLOWS,         //!< flows
    DUAL_SRCHOST,  //!< hosts that send, then their flows
    DUAL_DSTHOST,  //!< hosts that receive, then their flows
    TRIPLE_ISOLATE //!< hosts that send and hosts that receive, then their flows
};

std::span<const std::string_view> NamesOf(CakeIsolation value);

/// Which ACKs CAKE drops where a later one says the same.
enum class AckFilter
{
    NONE,
    NORMAL,    //!< all but one
    AGGRESSIVE //!< all
};

std::span<const std::string_view> NamesOf(AckFilter value);

/// How a link divides packets, whose bytes CAKE's shaper counts.
enum class CellFraming
{
    NONE,
    ATM, //!< cells of 53 bytes with 48 of a packet
    PTM  //!< a byte more for each 64
};

std::span<const std::string_view> NamesOf(CellFraming value);

/// CAKE (Høiland-Jørgensen, Täht and Morton 2018; Linux sch_cake).
struct CakeSpec
{
    static constexpr const char* KIND = "cake";
    double bandwidth{0};
    int64_t target{0};
    int64_t interval{0};
    CakeIsolation isolation{};
    AckFilter ackFilter{};
    bool ingress{false};
    int32_t overhead{0};
    uint32_t leastSize{0};
    CellFraming cells{};
    uint32_t mtu{0};

    static const class Fields& GetFields();
};

using QueueSpec =
    std::variant<DropTailSpec, CodelSpec, FqCodelSpec, PieSpec, DualPi2Spec, RedSpec, CakeSpec>;

/// How independent loss chooses packets.
enum class LossPattern
{
    RANDOM,
    PERIODIC //!< one in every 1/loss
};

std::span<const std::string_view> NamesOf(LossPattern value);

/// Where something happens to packets.
enum class LinkPosition
{
    BEFORE, //!< in front of the queue
    AFTER   //!< behind the link
};

std::span<const std::string_view> NamesOf(LinkPosition value);

/// Bursty loss as a chain of two states.
struct GilbertElliottSpec
{
    double p{0};
    double r{0};
    double h{0};
    double k{0};

    static const class Fields& GetFields();
};

/// Token-bucket policer.
struct PolicerSpec
{
    double rate{0};
    uint64_t burst{0};
    LinkPosition position{};

    static const class Fields& GetFields();
};

/// Shape of a random delay.
enum class JitterDistribution
{
    UNIFORM,
    EXPONENTIAL,
    HALF_NORMAL,
    NORMAL, //!< its draws below 0 count as 0
    LOGNORMAL
};

std::span<const std::string_view> NamesOf(JitterDistribution value);

/// What a router does with a packet that is larger than the link's MTU and may not be fragmented.
enum class TooBig
{
    TELL,    //!< drops it and tells its sender (RFC 1191, RFC 8201)
    SILENT,  //!< drops it; its message is lost, or a firewall drops that: a black hole (RFC 2923)
    FRAGMENT //!< fragments it, although it may not be
};

std::span<const std::string_view> NamesOf(TooBig value);

/// Whether routers may fragment what somebody sends: the bit DF of IPv4 (RFC 791).
enum class DontFragment
{
    CLEAR,  //!< they may
    WANTED, //!< not, until the sender learns of a smaller MTU; then its host fragments (Linux
            //!< IP_PMTUDISC_WANT)
    SET,    //!< never; the sender chooses smaller packets itself, if it can
    COPIED  //!< what the packet inside says; its sender is told, too
};

std::span<const std::string_view> NamesOf(DontFragment value);

/// The MTU of a link whose senders do not know it from the start, and fragments there.
struct LinkMtuSpec
{
    uint32_t mtu{0};
    uint32_t ipHeader{0};
    TooBig tooBig{};
    bool dropsFragments{false};
    int64_t reassemblyDelay{0};

    /// Whether it does anything.
    bool IsOn() const
    {
        return mtu > 0 || dropsFragments;
    }

    static const class Fields& GetFields();
};

/// One direction of a link.
struct LinkSpec
{
    int64_t delay{0};
    std::vector<DelayStep> delaySteps;
    Handover handover{};
    double rate{0};
    std::vector<RateStep> rateSteps;
    int64_t ratePeriod{0};
    double reorder{0};
    int64_t reorderDelay{0};
    uint64_t bufferBytes{0};
    uint64_t bufferPackets{0};
    std::vector<BufferStep> bufferSteps;
    double loss{0};
    std::vector<LossStep> lossSteps;
    LossPattern lossPattern{};
    LinkPosition lossPosition{};
    std::vector<OutageSpec> outages;
    std::optional<GilbertElliottSpec> gilbertElliott;
    uint32_t framing{0};
    QueueSpec queue;
    std::optional<PolicerSpec> policer;
    int64_t jitter{0};
    JitterDistribution jitterDistribution{};
    int64_t jitterDeviation{0};
    bool jitterReorders{false};
    LinkMtuSpec mtu;

    static const class Fields& GetFields();
};

/// A link between two hosts, from the one to the other and back.
struct DuplexLinkSpec
{
    LinkSpec forward;
    LinkSpec reverse;

    static const class Fields& GetFields();
};

/// A link on a route, and the direction in which it is crossed.
struct RouteStepSpec
{
    uint32_t link{0};
    bool isReverse{false};

    static const class Fields& GetFields();
};

/// The ways between two hosts: the links that what each of them sends crosses, in order.
struct RouteSpec
{
    PerEnd<uint32_t> hosts;
    PerEnd<std::vector<RouteStepSpec>> sent;

    static const class Fields& GetFields();
};

/// How packets come from their hosts to a tunnel between gateways, and how they go on behind it.
struct AccessSpec
{
    PerEnd<std::optional<uint32_t>> routes;
    bool isTurned{false};

    /// Whether the tunnel ends on the hosts at both ends.
    bool IsNone() const
    {
        return !routes.client && !routes.server;
    }

    /// The tunnel's end that takes what one end sends.
    End Near(End sender) const
    {
        return isTurned ? Other(sender) : sender;
    }

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_SPEC_H
