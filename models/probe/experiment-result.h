/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_RESULT_H
#define TUNNELCC_EXPERIMENT_RESULT_H

#include "spec/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/**
 * \file
 * What an experiment measured, as plain numbers in SI units (seconds, bit/s, bytes).
 */
namespace tunnelcc
{

/// Seconds of a time in ns; −1, for never, stays −1.
inline double
Seconds(int64_t time)
{
    return time < 0 ? -1 : static_cast<double>(time) * 1e-9;
}

/// Time that a sender waited for each reason (SendLimit), s, in the measured part of the run.
struct LimitTimes
{
    double handshake{0};
    double application{0}; //!< nothing was written
    double cpu{0};         //!< of the application or relay, before its next write
    double sendBuffer{0};
    double streamWindow{0};     //!< of a stream among several
    double connectionWindow{0}; //!< of all streams together
    double sendWindow{0};       //!< the sender's own, of a session that repairs loss itself
    double receiveWindow{0};
    double congestionWindow{0};
    double pacing{0};

    TUNNELCC_FIELDS(handshake,
                    application,
                    cpu,
                    sendBuffer,
                    streamWindow,
                    connectionWindow,
                    sendWindow,
                    receiveWindow,
                    congestionWindow,
                    pacing)
};

/// How a session that repairs loss itself (KCP, RUDP, QUIC) did so, in the direction of its data,
/// measured part of the run unless said otherwise.
struct ArqResult
{
    uint64_t fastRetransmits{0};  //!< segments resent because of ACKs of higher numbers; QUIC:
                                  //!< packets lost by kPacketThreshold
    uint64_t earlyRetransmits{0}; //!< after fewer of those, as there was nothing new to send; QUIC:
                                  //!< packets lost by kTimeThreshold
    uint64_t timeouts{0};         //!< resent because time ran out; QUIC: probe time-outs
    uint64_t parityDatagrams{0};  //!< of FEC sent, whole run
    uint64_t parityBytes{0};      //!< their IP bytes
    uint64_t recovered{0};        //!< datagrams that FEC brought back, whole run
    uint64_t unrecovered{0};      //!< datagrams lost in spite of FEC, whole run
    uint64_t givenUp{0}; //!< packets that will not be sent again and that the receiver does
                         //!< not have, whole run: what follows them is never read
    std::optional<double> closedTime; //!< s, an end closed the session, for its pings were not
                                      //!< answered; none: not so

    TUNNELCC_FIELDS(fastRetransmits,
                    earlyRetransmits,
                    timeouts,
                    parityDatagrams,
                    parityBytes,
                    recovered,
                    unrecovered,
                    givenUp,
                    closedTime)
};

/// State of a congestion control, one value per probe time.
struct CongestionSeries
{
    std::vector<double> ssthresh;   //!< segments; NaN before the first reduction
    std::vector<std::string> phase; //!< the algorithm's name of it, else RFC 5681's
    std::vector<double> bandwidth;  //!< bit/s of payload; NaN: the algorithm estimates none
    std::vector<double> minRtt;     //!< s, by the algorithm, else by TCP; NaN before a sample

    TUNNELCC_FIELDS(ssthresh, phase, bandwidth, minRtt)
};

/// What one end of a connection sent. Series have one value per probe time.
struct LegResult
{
    std::string name; //!< "app", "carrier" ("carrier2" and so on beyond relays) or "target"
    std::string cc;
    uint64_t deliveredBytes{0}; //!< payload read by the receiver, measured part of the run
    uint64_t wireBytes{0};      //!< IP bytes sent in the data direction, whole run; RUDP: no pings
    uint64_t ackWireBytes{0};   //!< IP bytes sent in the other direction, whole run
    uint64_t segments{0};       //!< data segments sent, measured part of the run
    uint64_t totalSegments{0};  //!< the same, whole run
    uint64_t retransmits{0};    //!< measured part of the run
    uint64_t rtos{0};           //!< measured part of the run
    uint64_t tailLossProbes{0}; //!< measured part of the run
    double establishedTime{-1}; //!< s; −1: never
    std::optional<double> connectFailedTime; //!< s, no answer to the last SYN; none: not so
    double finishedTime{-1}; //!< s, FIN acknowledged, in QUIC of all streams; −1: never
    LimitTimes limits;
    std::optional<ArqResult> arq;               //!< where the connection is not TCP
    std::optional<CongestionSeries> congestion; //!< of TCP, if ExperimentSpec::probeCongestion

    std::vector<double> goodput;           //!< bit/s of payload read, since the previous probe
    std::vector<double> throughput;        //!< bit/s of IP bytes sent, since the previous probe
    std::vector<double> cwnd;              //!< segments; KCP: that may be under way
    std::vector<double> inFlight;          //!< bytes
    std::vector<double> pacingRate;        //!< bit/s of payload (QUIC: of packets); 0: not paced
    std::vector<double> srtt;              //!< s
    std::vector<double> retransmitsSeries; //!< count so far
    std::vector<double> rtosSeries;        //!< count so far

    TUNNELCC_FIELDS(name,
                    cc,
                    deliveredBytes,
                    wireBytes,
                    ackWireBytes,
                    segments,
                    totalSegments,
                    retransmits,
                    rtos,
                    tailLossProbes,
                    establishedTime,
                    connectFailedTime,
                    finishedTime,
                    limits,
                    arq,
                    congestion,
                    goodput,
                    throughput,
                    cwnd,
                    inFlight,
                    pacingRate,
                    srtt,
                    retransmitsSeries,
                    rtosSeries)
};

/// Messages of an application that writes at a rate of its own: its writes that were due in the
/// measured part of the run.
struct MessageResult
{
    uint64_t due{0};
    uint64_t count{0};     //!< of them, arrived whole
    double latencyMean{0}; //!< of these, from when one was due until its last byte was read, s
    double latencyP50{0};
    double latencyP95{0};
    double latencyP99{0};

    TUNNELCC_FIELDS(due, count, latencyMean, latencyP50, latencyP95, latencyP99)
};

/// One flow, end to end.
struct FlowResult
{
    std::vector<uint32_t> legs; //!< its connections in ExperimentResult::legs, from the client on;
                                //!< flows may share some
    std::vector<LimitTimes> channels; //!< of each hop across which flows share a carrier, how long
                                      //!< the flow's stream on it waited and why; sendBuffer: for
                                      //!< its turn on the carrier
    MessageResult messages;
    uint64_t deliveredBytes{0};  //!< application bytes read by the receiver, measured part
    uint64_t totalBytes{0};      //!< application bytes read by the receiver, whole run
    double firstByteTime{-1};    //!< s, first application byte read by the receiver
    double completionTime{-1};   //!< s, last byte of a finite flow read by the receiver
    std::vector<double> goodput; //!< bit/s, since the previous probe

    TUNNELCC_FIELDS(legs,
                    channels,
                    messages,
                    deliveredBytes,
                    totalBytes,
                    firstByteTime,
                    completionTime,
                    goodput)
};

/// One direction of a link, measured part of the run unless said otherwise. Counts of packets are
/// of those offered in it, so that none was lost that was not offered.
struct LinkResult
{
    uint64_t packetsIn{0};
    uint64_t bytesOut{0}; //!< link bytes served (framing included)
    uint64_t drops{0};    //!< by the queue
    uint64_t randomLosses{0};
    std::optional<uint64_t> marks;        //!< ECN, where the queue marks
    std::optional<uint64_t> policerDrops; //!< where there is a policer
    double utilisation{0};                //!< bytes served / bytes the link could serve
    double queueDelayMean{0};             //!< s, waiting time of packets that were not dropped
    double queueDelayP50{0};
    double queueDelayP95{0};
    double queueDelayP99{0};
    double queueBytesMax{0};               //!< whole run
    std::vector<double> queueBytes;        //!< waiting, at each probe
    std::vector<double> dropsSeries;       //!< count so far
    std::vector<double> utilisationSeries; //!< since the previous probe

    TUNNELCC_FIELDS(packetsIn,
                    bytesOut,
                    drops,
                    randomLosses,
                    marks,
                    policerDrops,
                    utilisation,
                    queueDelayMean,
                    queueDelayP50,
                    queueDelayP95,
                    queueDelayP99,
                    queueBytesMax,
                    queueBytes,
                    dropsSeries,
                    utilisationSeries)
};

/// One source of cross traffic: what was sent in the measured part of the run, and what of that
/// arrived.
struct DatagramResult
{
    uint64_t sent{0};     //!< datagrams
    uint64_t received{0}; //!< datagrams

    TUNNELCC_FIELDS(sent, received)
};

/// What FEC did in one direction of a tunnel, measured part of the run unless said otherwise.
struct FecResult
{
    uint64_t packets{0};         //!< of the hosts, of groups whose shards had time to arrive
    uint64_t recovered{0};       //!< of them, arrived because of parity
    uint64_t lost{0};            //!< of them, never arrived
    uint64_t parityPackets{0};   //!< IP packets of parity sent on the path, whole run
    uint64_t parityBytes{0};     //!< their IP bytes
    double recoveryDelayMean{0}; //!< s, how much later than a packet the shard left that brought it
                                 //!< back, whole run
    double recoveryDelayP95{0};

    TUNNELCC_FIELDS(packets,
                    recovered,
                    lost,
                    parityPackets,
                    parityBytes,
                    recoveryDelayMean,
                    recoveryDelayP95)
};

/// One direction of a tunnel that carries packets, measured part of the run unless said otherwise.
struct PacketTunnelResult
{
    uint64_t packetsIn{0};        //!< offered to the device
    uint64_t drops{0};            //!< of them, by the device's full queue
    uint64_t socketDrops{0};      //!< packets dropped by the far end's full socket
    uint64_t innerPackets{0};     //!< that the program took from the device, whole run
    uint64_t innerBytes{0};       //!< their IP bytes
    uint64_t outerPackets{0};     //!< IP packets sent on the path, fragments included, whole run
    uint64_t outerBytes{0};       //!< their IP bytes
    uint64_t fragmented{0};       //!< inner packets that left in more than one, whole run
    uint32_t queuePacketsMax{0};  //!< that waited at the device, whole run
    std::optional<FecResult> fec; //!< where there is FEC
    std::vector<double> queuePackets; //!< waiting, at each probe
    std::vector<double> dropsSeries;  //!< by the device's queue, count so far

    TUNNELCC_FIELDS(packetsIn,
                    drops,
                    socketDrops,
                    innerPackets,
                    innerBytes,
                    outerPackets,
                    outerBytes,
                    fragmented,
                    queuePacketsMax,
                    fec,
                    queuePackets,
                    dropsSeries)
};

struct HostResult
{
    double cpuSeconds{0};    //!< measured part
    double utilisation{0};   //!< of all cores, measured part
    std::vector<double> cpu; //!< of all cores, since the previous probe

    TUNNELCC_FIELDS(cpuSeconds, utilisation, cpu)
};

/// A link, both directions.
struct DuplexLinkResult
{
    LinkResult forward;
    LinkResult reverse;

    TUNNELCC_FIELDS(forward, reverse)
};

/// A tunnel.
struct TunnelResult
{
    std::optional<PacketTunnelResult> forward; //!< what the end sent that sends the data of its
                                               //!< first flow, if it carries packets
    std::optional<PacketTunnelResult> reverse;

    TUNNELCC_FIELDS(forward, reverse)
};

struct ExperimentResult
{
    std::vector<double> time; //!< s, of each probe
    std::vector<FlowResult> flows;
    std::vector<LegResult> legs;
    std::vector<DatagramResult> crossTraffic;
    std::vector<DuplexLinkResult> links;
    std::vector<TunnelResult> tunnels;
    std::vector<HostResult> hosts;
    uint64_t events{0};       //!< events run by the simulator
    uint64_t pathSegments{0}; //!< data segments sent across the network (in a chain of relays:
                              //!< across its first hop), measured part of the run

    TUNNELCC_FIELDS(time, flows, legs, crossTraffic, links, tunnels, hosts, events, pathSegments)
};

/// Write a result with all its members as JSON.
std::string FormatResult(const ExperimentResult& result);

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_RESULT_H
