/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_SPEC_H
#define TUNNELCC_PATH_SPEC_H

#include "end.h"
#include "fields.h"

#include <array>
#include <cstdint>
#include <optional>
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
    double rate{0}; //!< bit/s from then on

    TUNNELCC_FIELDS(time, rate)
    TUNNELCC_RANGES({"rate", 1, 1e12, true});
};

/// A step of a link's propagation delay.
struct DelayStep
{
    int64_t time{0};
    int64_t delay{0}; //!< of packets that leave the link from then on

    TUNNELCC_FIELDS(time, delay)
};

/// A step of a link's loss.
struct LossStep
{
    int64_t time{0};
    double loss{0}; //!< as LinkSpec::loss, from then on

    TUNNELCC_FIELDS(time, loss)
    TUNNELCC_RANGES({"loss", 0, 1});
};

/// A step of the most that waits in front of a link.
struct BufferStep
{
    int64_t time{0};
    uint64_t bytes{0};   //!< as LinkSpec::bufferBytes, from then on
    uint64_t packets{0}; //!< as LinkSpec::bufferPackets, from then on

    TUNNELCC_FIELDS(time, bytes, packets)
};

/// A time in which a link is cut: packets that would leave it are lost.
struct OutageSpec
{
    int64_t begin{0};
    int64_t end{0}; //!< the first moment at which it works again

    TUNNELCC_FIELDS(begin, end)
};

/// What becomes of packets in flight when a step changes the delay.
enum class Handover
{
    OVERTAKE, //!< they keep their delay; later ones with a shorter delay overtake them
    IN_ORDER, //!< they keep their delay; later ones wait for them
    LOST
};

template <>
inline constexpr auto ENUM_NAMES<Handover> =
    std::to_array<std::string_view>({"overtake", "in-order", "lost"});

/// First in, first out; drops what finds the queue full.
struct DropTailSpec
{
    static constexpr const char* KIND = "drop-tail";
    uint64_t ecnThreshold{
        0}; //!< waiting bytes above which ECN-capable packets are marked; 0: never

    TUNNELCC_FIELDS(ecnThreshold)
};

/// CoDel (RFC 8289).
struct CodelSpec
{
    static constexpr const char* KIND = "codel";
    int64_t target{0};   //!< waiting time to aim at
    int64_t interval{0}; //!< for how long it may be exceeded
    bool ecn{false};     //!< marks ECN-capable packets where it would drop others

    TUNNELCC_FIELDS(target, interval, ecn)
    TUNNELCC_RANGES({"target", 1e3, 6e10}, {"interval", 1e5, 6e10});
};

/// FQ-CoDel (RFC 8290).
struct FqCodelSpec
{
    static constexpr const char* KIND = "fq-codel";
    int64_t target{0};   //!< as in CodelSpec
    int64_t interval{0}; //!< as in CodelSpec
    uint32_t quantum{0}; //!< bytes that a queue sends in its turn
    uint32_t queues{0};  //!< how many there are
    bool ecn{false};     //!< as in CodelSpec

    TUNNELCC_FIELDS(target, interval, quantum, queues, ecn)
    TUNNELCC_RANGES({"target", 1e3, 6e10},
                    {"interval", 1e5, 6e10},
                    {"quantum", 1, 1 << 20},
                    {"queues", 1, 65536});
};

/// PIE (RFC 8033).
struct PieSpec
{
    static constexpr const char* KIND = "pie";
    int64_t target{0};   //!< waiting time to aim at
    int64_t interval{0}; //!< time between updates of the probability (RFC 8033: T_UPDATE)
    double alpha{0};     //!< weight of the distance from the target, 1/s
    double beta{0};      //!< weight of the change, 1/s
    int64_t burst{0};    //!< how long a burst may last without drops
    bool ecn{false};     //!< as in CodelSpec

    TUNNELCC_FIELDS(target, interval, alpha, beta, burst, ecn)
    TUNNELCC_RANGES({"target", 1e3, 6e10},
                    {"interval", 1e5, 6e10},
                    {"alpha", 0, 1e6},
                    {"beta", 0, 1e6});
};

/// DualPI2 (RFC 9332, appendix A).
struct DualPi2Spec
{
    static constexpr const char* KIND = "dualpi2";
    int64_t target{0};      //!< waiting time of the classic queue to aim at
    int64_t interval{0};    //!< time between updates of the probability (RFC 9332: Tupdate)
    double alpha{0};        //!< weight of the distance from the target, 1/s
    double beta{0};         //!< weight of the change, 1/s
    int64_t step{0};        //!< waiting time of the low-latency queue above which all is marked
    double coupling{0};     //!< marks of the low-latency queue per unit of probability
    double classicShare{0}; //!< least part of the link for the classic queue

    TUNNELCC_FIELDS(target, interval, alpha, beta, step, coupling, classicShare)
    TUNNELCC_RANGES({"target", 1e3, 6e10},
                    {"interval", 1e5, 6e10},
                    {"alpha", 0, 1e6},
                    {"beta", 0, 1e6},
                    {"coupling", 0, 1e3},
                    {"classicShare", 0, 1});
};

/// RED (Floyd and Jacobson 1993).
struct RedSpec
{
    static constexpr const char* KIND = "red";
    uint64_t minThreshold{0}; //!< average bytes waiting from which it drops
    uint64_t maxThreshold{0}; //!< average bytes waiting where maxProbability is reached
    double maxProbability{0};
    double weight{0};          //!< weight of one packet in the average
    bool gentle{false};        //!< drops rise to certainty between one and two maxThreshold
    int64_t meanPacketTime{0}; //!< transmission time of a typical packet, for idle times
    bool ecn{false};           //!< as in CodelSpec

    TUNNELCC_FIELDS(minThreshold, maxThreshold, maxProbability, weight, gentle, meanPacketTime, ecn)
    TUNNELCC_RANGES({"maxProbability", 0, 1}, {"weight", 0, 1}, {"meanPacketTime", 1, 6e10});
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

template <>
inline constexpr auto ENUM_NAMES<CakeIsolation> =
    std::to_array<std::string_view>({"flowblind",
                                     "srchost",
                                     "dsthost",
                                     "hosts",
                                     "flows",
                                     "dual-srchost",
                                     "dual-dsthost",
                                     "triple-isolate"});

/// Which ACKs CAKE drops where a later one says the same.
enum class AckFilter
{
    NONE,
    NORMAL,    //!< all but one
    AGGRESSIVE //!< all
};

template <>
inline constexpr auto ENUM_NAMES<AckFilter> =
    std::to_array<std::string_view>({"none", "normal", "aggressive"});

/// How a link divides packets, whose bytes CAKE's shaper counts.
enum class CellFraming
{
    NONE,
    ATM, //!< cells of 53 bytes with 48 of a packet
    PTM  //!< a byte more for each 64
};

template <>
inline constexpr auto ENUM_NAMES<CellFraming> =
    std::to_array<std::string_view>({"none", "atm", "ptm"});

/// CAKE (Høiland-Jørgensen, Täht and Morton 2018; Linux sch_cake).
struct CakeSpec
{
    static constexpr const char* KIND = "cake";
    double bandwidth{0}; //!< of the shaper, bit/s; 0: there is none
    int64_t target{0};   //!< waiting time to aim at, at least
    int64_t interval{0}; //!< for how long it may be exceeded, at least
    CakeIsolation isolation{};
    AckFilter ackFilter{};
    bool ingress{false};   //!< dropped packets count in the shaper, too
    int32_t overhead{0};   //!< bytes that the shaper adds to an IP packet
    uint32_t leastSize{0}; //!< bytes, at least, that a packet then counts
    CellFraming cells{};
    uint32_t mtu{0}; //!< IP bytes of the largest packet

    TUNNELCC_FIELDS(bandwidth,
                    target,
                    interval,
                    isolation,
                    ackFilter,
                    ingress,
                    overhead,
                    leastSize,
                    cells,
                    mtu)
    TUNNELCC_RANGES({"bandwidth", 1, 1e12, true},
                    {"target", 1, 6e10},
                    {"interval", 1e3, 6e10},
                    {"overhead", -64, 256},
                    {"leastSize", 0, 65535},
                    {"mtu", 1, 65535});
};

using QueueSpec =
    std::variant<DropTailSpec, CodelSpec, FqCodelSpec, PieSpec, DualPi2Spec, RedSpec, CakeSpec>;

/// How independent loss chooses packets.
enum class LossPattern
{
    RANDOM,
    PERIODIC //!< one in every 1/loss
};

template <>
inline constexpr auto ENUM_NAMES<LossPattern> =
    std::to_array<std::string_view>({"random", "periodic"});

/// Where something happens to packets.
enum class LinkPosition
{
    BEFORE, //!< in front of the queue
    AFTER   //!< behind the link
};

template <>
inline constexpr auto ENUM_NAMES<LinkPosition> =
    std::to_array<std::string_view>({"before", "after"});

/// Bursty loss as a chain of two states.
struct GilbertElliottSpec
{
    double p{0}; //!< probability that a packet in the good state is the last there
    double r{0}; //!< probability that a packet in the bad state is the last there
    double h{0}; //!< probability that a packet in the bad state arrives
    double k{0}; //!< probability that a packet in the good state arrives

    TUNNELCC_FIELDS(p, r, h, k)
    TUNNELCC_RANGES({"p", 0, 1}, {"r", 0, 1}, {"h", 0, 1}, {"k", 0, 1});
};

/// Token-bucket policer.
struct PolicerSpec
{
    double rate{0};    //!< bit/s
    uint64_t burst{0}; //!< bytes that the bucket holds
    LinkPosition position{};

    TUNNELCC_FIELDS(rate, burst, position)
    TUNNELCC_RANGES({"rate", 1, 1e12});
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

template <>
inline constexpr auto ENUM_NAMES<JitterDistribution> = std::to_array<std::string_view>(
    {"uniform", "exponential", "half-normal", "normal", "lognormal"});

/// What a router does with a packet that is larger than the link's MTU and may not be fragmented.
enum class TooBig
{
    TELL,    //!< drops it and tells its sender (RFC 1191, RFC 8201)
    SILENT,  //!< drops it; its message is lost, or a firewall drops that: a black hole (RFC 2923)
    FRAGMENT //!< fragments it, although it may not be
};

template <>
inline constexpr auto ENUM_NAMES<TooBig> =
    std::to_array<std::string_view>({"tell", "silent", "fragment"});

/// Whether routers may fragment what somebody sends: the bit DF of IPv4 (RFC 791).
enum class DontFragment
{
    CLEAR,  //!< they may
    WANTED, //!< not, until the sender learns of a smaller MTU; then its host fragments (Linux
            //!< IP_PMTUDISC_WANT)
    SET,    //!< never; the sender chooses smaller packets itself, if it can
    COPIED  //!< what the packet inside says; its sender is told, too
};

template <>
inline constexpr auto ENUM_NAMES<DontFragment> =
    std::to_array<std::string_view>({"clear", "wanted", "set", "copied"});

/// The MTU of a link whose senders do not know it from the start, and fragments there.
struct LinkMtuSpec
{
    uint32_t mtu{0};      //!< IP bytes of the largest packet; 0: all senders know it
    uint32_t ipHeader{0}; //!< bytes of a plain one: 20 of IPv4, 40 of IPv6, whose routers never
                          //!< fragment (RFC 8200, section 5)
    TooBig tooBig{};
    bool dropsFragments{false}; //!< a firewall does
    int64_t reassemblyDelay{0}; //!< that a packet fragmented here takes longer

    /// Whether it does anything.
    bool IsOn() const
    {
        return mtu > 0 || dropsFragments;
    }

    TUNNELCC_FIELDS(mtu, ipHeader, tooBig, dropsFragments, reassemblyDelay)
    TUNNELCC_RANGES({"mtu", 576, 65535, true}, {"ipHeader", 20, 40, true});
};

/// One direction of a link.
struct LinkSpec
{
    int64_t delay{0};                  //!< propagation delay
    std::vector<DelayStep> delaySteps; //!< in order of time
    Handover handover{};
    double rate{0};                  //!< bit/s; 0 without steps: unlimited, no queue
    std::vector<RateStep> rateSteps; //!< in order of time; none if unlimited
    int64_t ratePeriod{0}; //!< the steps repeat after this time, which is that of the last step; 0:
                           //!< they do not repeat
    double reorder{0};     //!< probability that a packet is late, independent of others
    int64_t reorderDelay{0};             //!< delay of such a packet
    uint64_t bufferBytes{0};             //!< most bytes waiting; 0: not limited in bytes
    uint64_t bufferPackets{0};           //!< most packets waiting; 0: not limited in packets
    std::vector<BufferStep> bufferSteps; //!< in order of time
    double loss{0};                  //!< probability that a packet is lost, independent of others
    std::vector<LossStep> lossSteps; //!< in order of time
    LossPattern lossPattern{};
    LinkPosition lossPosition{};
    std::vector<OutageSpec> outages; //!< in order of time, each after the end of the one before
    std::optional<GilbertElliottSpec> gilbertElliott; //!< in place of independent loss
    uint32_t framing{0}; //!< bytes added to each IP packet on this link
    QueueSpec queue;
    std::optional<PolicerSpec> policer;
    int64_t jitter{0}; //!< mean of a delay that varies from packet to packet, on top of `delay`
    JitterDistribution jitterDistribution{};
    int64_t jitterDeviation{0}; //!< standard deviation of that delay, if NORMAL or LOGNORMAL
    bool jitterReorders{false}; //!< packets may overtake each other
    LinkMtuSpec mtu;

    TUNNELCC_FIELDS(delay,
                    delaySteps,
                    handover,
                    rate,
                    rateSteps,
                    ratePeriod,
                    reorder,
                    reorderDelay,
                    bufferBytes,
                    bufferPackets,
                    bufferSteps,
                    loss,
                    lossSteps,
                    lossPattern,
                    lossPosition,
                    outages,
                    gilbertElliott,
                    framing,
                    queue,
                    policer,
                    jitter,
                    jitterDistribution,
                    jitterDeviation,
                    jitterReorders,
                    mtu)
    TUNNELCC_RANGES({"rate", 1, 1e12, true},
                    {"ratePeriod", 1e6, 1e15, true},
                    {"reorder", 0, 1},
                    {"loss", 0, 1},
                    {"framing", 0, 65535});
};

/// A link between two hosts, from the one to the other and back.
struct DuplexLinkSpec
{
    LinkSpec forward;
    LinkSpec reverse;

    TUNNELCC_FIELDS(forward, reverse)
};

/// A link on a route, and the direction in which it is crossed.
struct RouteStepSpec
{
    uint32_t link{0};
    bool isReverse{false};

    TUNNELCC_FIELDS(link, isReverse)
};

/// The ways between two hosts: the links that what each of them sends crosses, in order.
struct RouteSpec
{
    PerEnd<uint32_t> hosts;
    PerEnd<std::vector<RouteStepSpec>> sent; //!< one link at least

    TUNNELCC_FIELDS(hosts, sent)
};

/// How packets come from their hosts to a tunnel between gateways, and how they go on behind it.
struct AccessSpec
{
    /// Numbers of the routes between each end's host and the tunnel's end on its side. Their client
    /// is the one nearer to the client of what goes through the tunnel. Empty: the tunnel ends on
    /// that host.
    PerEnd<std::optional<uint32_t>> routes;
    bool isTurned{false}; //!< the client is behind the tunnel's server

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

    TUNNELCC_FIELDS(routes, isTurned)
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_SPEC_H
