/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(Handover, "overtake", "in-order", "lost");

NAMES_OF(CakeIsolation,
         "flowblind",
         "srchost",
         "dsthost",
         "hosts",
         "flows",
         "dual-srchost",
         "dual-dsthost",
         "triple-isolate");

NAMES_OF(AckFilter, "none", "normal", "aggressive");

NAMES_OF(CellFraming, "none", "atm", "ptm");

NAMES_OF(LossPattern, "random", "periodic");

NAMES_OF(LinkPosition, "before", "after");

NAMES_OF(JitterDistribution, "uniform", "exponential", "half-normal", "normal", "lognormal");

NAMES_OF(TooBig, "tell", "silent", "fragment");

NAMES_OF(DontFragment, "clear", "wanted", "set", "copied");

FIELDS_OF(RateStep,
          FIELD(time, "ns", "when"),
          FIELD(rate, "bit/s", OrZero(1, 1e12), "of the link from then on"));

FIELDS_OF(DelayStep,
          FIELD(time, "ns", "when"),
          FIELD(delay, "ns", "of packets that leave the link from then on"));

FIELDS_OF(LossStep,
          FIELD(time, "ns", "when"),
          FIELD(loss, "1", 0, 1, "as LinkSpec::loss, from then on"));

FIELDS_OF(BufferStep,
          FIELD(time, "ns", "when"),
          FIELD(bytes, "bytes", "as LinkSpec::bufferBytes, from then on"),
          FIELD(packets, "packets", "as LinkSpec::bufferPackets, from then on"));

FIELDS_OF(OutageSpec,
          FIELD(begin, "ns", "when the link is cut"),
          FIELD(end, "ns", "the first moment at which it works again"));

FIELDS_OF(DropTailSpec,
          FIELD(ecnThreshold,
                "bytes",
                "waiting bytes above which ECN-capable packets are marked; 0: never"));

FIELDS_OF(CodelSpec,
          FIELD(target, "ns", 1e3, 6e10, "waiting time to aim at"),
          FIELD(interval, "ns", 1e5, 6e10, "for how long it may be exceeded"),
          FIELD(ecn, "marks ECN-capable packets where it would drop others"));

FIELDS_OF(FqCodelSpec,
          FIELD(target, "ns", 1e3, 6e10, "as in CodelSpec"),
          FIELD(interval, "ns", 1e5, 6e10, "as in CodelSpec"),
          FIELD(quantum, "bytes", 1, 1 << 20, "bytes that a queue sends in its turn"),
          FIELD(queues, "1", 1, 65536, "how many there are"),
          FIELD(ecn, "as in CodelSpec"));

FIELDS_OF(PieSpec,
          FIELD(target, "ns", 1e3, 6e10, "waiting time to aim at"),
          FIELD(interval,
                "ns",
                1e5,
                6e10,
                "time between updates of the probability (RFC 8033: T_UPDATE)"),
          FIELD(alpha, "1/s", 0, 1e6, "weight of the distance from the target, 1/s"),
          FIELD(beta, "1/s", 0, 1e6, "weight of the change, 1/s"),
          FIELD(burst, "ns", "how long a burst may last without drops"),
          FIELD(ecn, "as in CodelSpec"));

FIELDS_OF(
    DualPi2Spec,
    FIELD(target, "ns", 1e3, 6e10, "waiting time of the classic queue to aim at"),
    FIELD(interval, "ns", 1e5, 6e10, "time between updates of the probability (RFC 9332: Tupdate)"),
    FIELD(alpha, "1/s", 0, 1e6, "weight of the distance from the target, 1/s"),
    FIELD(beta, "1/s", 0, 1e6, "weight of the change, 1/s"),
    FIELD(step, "ns", "waiting time of the low-latency queue above which all is marked"),
    FIELD(coupling, "1", 0, 1e3, "marks of the low-latency queue per unit of probability"),
    FIELD(classicShare, "1", 0, 1, "least part of the link for the classic queue"));

FIELDS_OF(
    RedSpec,
    FIELD(minThreshold, "bytes", "average bytes waiting from which it drops"),
    FIELD(maxThreshold, "bytes", "average bytes waiting where maxProbability is reached"),
    FIELD(maxProbability, "1", 0, 1, "of a drop, where the average is maxThreshold"),
    FIELD(weight, "1", 0, 1, "weight of one packet in the average"),
    FIELD(gentle, "drops rise to certainty between one and two maxThreshold"),
    FIELD(meanPacketTime, "ns", 1, 6e10, "transmission time of a typical packet, for idle times"),
    FIELD(ecn, "as in CodelSpec"));

FIELDS_OF(CakeSpec,
          FIELD(bandwidth, "bit/s", OrZero(1, 1e12), "of the shaper, bit/s; 0: there is none"),
          FIELD(target, "ns", 1, 6e10, "waiting time to aim at, at least"),
          FIELD(interval, "ns", 1e3, 6e10, "for how long it may be exceeded, at least"),
          FIELD(isolation, "between whom it divides the link"),
          FIELD(ackFilter, "which ACKs it drops"),
          FIELD(ingress, "dropped packets count in the shaper, too"),
          FIELD(overhead, "bytes", -64, 256, "bytes that the shaper adds to an IP packet"),
          FIELD(leastSize, "bytes", 0, 65535, "bytes, at least, that a packet then counts"),
          FIELD(cells, "how the link divides packets"),
          FIELD(mtu, "bytes", 1, 65535, "IP bytes of the largest packet"));

FIELDS_OF(GilbertElliottSpec,
          FIELD(p, "1", 0, 1, "probability that a packet in the good state is the last there"),
          FIELD(r, "1", 0, 1, "probability that a packet in the bad state is the last there"),
          FIELD(h, "1", 0, 1, "probability that a packet in the bad state arrives"),
          FIELD(k, "1", 0, 1, "probability that a packet in the good state arrives"));

FIELDS_OF(PolicerSpec,
          FIELD(rate, "bit/s", 1, 1e12, "at which the bucket fills"),
          FIELD(burst, "bytes", "bytes that the bucket holds"),
          FIELD(position, "where it is"));

FIELDS_OF(LinkMtuSpec,
          FIELD(mtu,
                "bytes",
                OrZero(576, 65535),
                "IP bytes of the largest packet; 0: all senders know it"),
          FIELD(ipHeader,
                "bytes",
                OrZero(20, 40),
                "bytes of a plain one: 20 of IPv4, 40 of IPv6, whose routers never fragment (RFC "
                "8200, section 5)"),
          FIELD(tooBig, "what a router does with a packet that is too large"),
          FIELD(dropsFragments, "a firewall does"),
          FIELD(reassemblyDelay, "ns", "that a packet fragmented here takes longer"));

FIELDS_OF(
    LinkSpec,
    FIELD(delay, "ns", "propagation delay"),
    FIELD(delaySteps, "in order of time"),
    FIELD(handover, "what becomes of packets in flight when a step changes the delay"),
    FIELD(rate, "bit/s", OrZero(1, 1e12), "0 without steps: unlimited, no queue"),
    FIELD(rateSteps, "in order of time; none if unlimited"),
    FIELD(
        ratePeriod,
        "ns",
        OrZero(1e6, 1e15),
        "the steps repeat after this time, which is that of the last step; 0: they do not repeat"),
    FIELD(reorder, "1", 0, 1, "probability that a packet is late, independent of others"),
    FIELD(reorderDelay, "ns", "delay of such a packet"),
    FIELD(bufferBytes, "bytes", "most bytes waiting; 0: not limited in bytes"),
    FIELD(bufferPackets, "packets", "most packets waiting; 0: not limited in packets"),
    FIELD(bufferSteps, "in order of time"),
    FIELD(loss, "1", 0, 1, "probability that a packet is lost, independent of others"),
    FIELD(lossSteps, "in order of time"),
    FIELD(lossPattern, "how loss chooses packets"),
    FIELD(lossPosition, "where loss is"),
    FIELD(outages, "in order of time, each after the end of the one before"),
    FIELD(gilbertElliott, "in place of independent loss"),
    FIELD(framing, "bytes", 0, 65535, "bytes added to each IP packet on this link"),
    FIELD(queue, "in front of the link"),
    FIELD(policer, "none: there is none"),
    FIELD(jitter, "ns", "mean of a delay that varies from packet to packet, on top of `delay`"),
    FIELD(jitterDistribution, "of that delay"),
    FIELD(jitterDeviation, "ns", "standard deviation of that delay, if NORMAL or LOGNORMAL"),
    FIELD(jitterReorders, "packets may overtake each other"),
    FIELD(mtu, "the largest packet"));

FIELDS_OF(DuplexLinkSpec, FIELD(forward, "from the one host to the other"), FIELD(reverse, "back"));

FIELDS_OF(RouteStepSpec,
          FIELD(link, "1", "its number"),
          FIELD(isReverse, "it is crossed in reverse"));

FIELDS_OF(RouteSpec,
          FIELD(hosts, "1", "numbers of the hosts at both ends"),
          FIELD(sent, "links that what each end sends crosses, in order; one at least"));

FIELDS_OF(AccessSpec,
          FIELD(routes,
                "1",
                "numbers of the routes between each end's host and the tunnel's end on its side. "
                "Their client is the one nearer to the client of what goes through the tunnel. "
                "Empty: the tunnel ends on that host."),
          FIELD(isTurned, "the client is behind the tunnel's server"));

} // namespace tunnelcc
