/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_RESULT_H
#define TUNNELCC_EXPERIMENT_RESULT_H

#include "measurement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/**
 * \file
 * What an experiment measured, as plain numbers in SI units (seconds, bit/s, bytes).
 *
 * The table of a struct has a row for each member: its name in results, its unit, what it is.
 * Arrays in Python, xarray's Dataset, JSON, CSV, stored runs and the reference page follow from
 * these rows. A name begins with what the struct is of; those of connections (LegResult) have no
 * such beginning.
 */
namespace tunnelcc
{

/// A time in ns as s.
inline double
Seconds(int64_t time)
{
    return static_cast<double>(time) * 1e-9;
}

/// A time in ns as s; none if it is negative, for never.
inline std::optional<double>
Moment(int64_t time)
{
    return time < 0 ? std::nullopt : std::optional(Seconds(time));
}

/// Time that a sender waited for each reason (SendLimit).
struct LimitTimes
{
    double handshake{0};
    double application{0};
    double cpu{0};
    double sendBuffer{0};
    double streamWindow{0};     //!< of a stream among several
    double connectionWindow{0}; //!< of all streams together
    double sendWindow{0};       //!< the sender's own, of a session that repairs loss itself
    double receiveWindow{0};
    double congestionWindow{0};
    double pacing{0};

    static constexpr auto Table()
    {
        using T = LimitTimes;
        return std::tuple{
            Measure("limit_handshake", &T::handshake, "s", "time limited by the handshake"),
            Measure("limit_application",
                    &T::application,
                    "s",
                    "time limited by the application: it had written nothing"),
            Measure("limit_cpu",
                    &T::cpu,
                    "s",
                    "time limited by the CPU of the application or relay, before its next write"),
            Measure("limit_send_buffer", &T::sendBuffer, "s", "time limited by the send buffer"),
            Measure("limit_stream_window",
                    &T::streamWindow,
                    "s",
                    "time limited by the window of a stream among several"),
            Measure("limit_connection_window",
                    &T::connectionWindow,
                    "s",
                    "time limited by the window of all streams together"),
            Measure("limit_send_window",
                    &T::sendWindow,
                    "s",
                    "time limited by the send window of a session that repairs loss itself"),
            Measure("limit_receive_window",
                    &T::receiveWindow,
                    "s",
                    "time limited by the receive window"),
            Measure("limit_congestion_window",
                    &T::congestionWindow,
                    "s",
                    "time limited by the congestion window"),
            Measure("limit_pacing", &T::pacing, "s", "time limited by pacing")};
    }
};

/// How a session that repairs loss itself (KCP, RUDP, QUIC) did so, in the direction of its data.
struct ArqResult
{
    uint64_t fastRetransmits{0};
    uint64_t earlyRetransmits{0};
    uint64_t timeouts{0};
    uint64_t parityDatagrams{0};
    uint64_t parityBytes{0};
    uint64_t recovered{0};
    uint64_t unrecovered{0};
    uint64_t givenUp{0};
    std::optional<double> closedAt;

    static constexpr auto Table()
    {
        using T = ArqResult;
        return std::tuple{
            Measure("arq_fast_retransmits",
                    &T::fastRetransmits,
                    "1",
                    "segments resent because of ACKs of later ones; QUIC: packets lost by "
                    "kPacketThreshold"),
            Measure("arq_early_retransmits",
                    &T::earlyRetransmits,
                    "1",
                    "segments resent after fewer such ACKs, because there was nothing new to send; "
                    "QUIC: packets lost by kTimeThreshold"),
            Measure("arq_timeouts",
                    &T::timeouts,
                    "1",
                    "segments resent because time ran out; QUIC: probe time-outs"),
            Measure("arq_parity_datagrams",
                    &T::parityDatagrams,
                    "1",
                    "datagrams of parity sent",
                    Span::WHOLE_RUN),
            Measure("arq_parity_bytes",
                    &T::parityBytes,
                    "byte",
                    "IP bytes of parity sent",
                    Span::WHOLE_RUN),
            Measure("arq_recovered",
                    &T::recovered,
                    "1",
                    "datagrams recovered from parity",
                    Span::WHOLE_RUN),
            Measure("arq_unrecovered",
                    &T::unrecovered,
                    "1",
                    "datagrams lost in spite of parity",
                    Span::WHOLE_RUN),
            Measure("arq_given_up",
                    &T::givenUp,
                    "1",
                    "packets that will not be sent again and that the receiver does not have: what "
                    "follows them is never read",
                    Span::WHOLE_RUN),
            Measure("arq_closed_at",
                    &T::closedAt,
                    "s",
                    "time when an end closed the session, because its pings got no answer",
                    Span::MOMENT)};
    }
};

/// State of a congestion control, one value per probe time.
struct CongestionSeries
{
    std::vector<double> ssthresh;
    std::vector<std::string> phase;
    std::vector<double> bandwidthEstimate;
    std::vector<double> minRttEstimate;

    static constexpr auto Table()
    {
        using T = CongestionSeries;
        return std::tuple{
            Measure("ssthresh",
                    &T::ssthresh,
                    "segments",
                    "slow start threshold (NaN before the first reduction)"),
            Measure("phase",
                    &T::phase,
                    "",
                    "phase of the congestion control: the algorithm's name of it, else RFC 5681's "
                    "(empty: not TCP)"),
            Measure("bandwidth_estimate",
                    &T::bandwidthEstimate,
                    "bit/s",
                    "payload bandwidth that the algorithm estimates (NaN: none)"),
            Measure("min_rtt_estimate",
                    &T::minRttEstimate,
                    "s",
                    "minimum RTT that the algorithm estimates; otherwise the connection's")};
    }
};

/// What one end of a connection sent.
struct LegResult
{
    std::string name;
    std::string cc;
    uint64_t payloadBytes{0};
    uint64_t wireBytes{0};
    uint64_t ackWireBytes{0};
    uint64_t segments{0};
    uint64_t totalSegments{0};
    uint64_t retransmits{0};
    uint64_t rtos{0};
    uint64_t tailLossProbes{0};
    std::optional<uint64_t> congestionEvents; //!< of TCP
    std::optional<double> establishedAt;
    std::optional<double> connectFailedAt;
    std::optional<double> finishedAt;
    std::optional<uint64_t> mss;
    LimitTimes limits;
    std::optional<uint64_t> socketDrops;        //!< where reading its UDP socket costs time
    std::optional<ArqResult> arq;               //!< where the connection is not TCP
    std::optional<CongestionSeries> congestion; //!< of TCP, if ExperimentSpec::probeCongestion

    std::vector<double> goodputSeries;
    std::vector<double> throughput;
    std::vector<double> cwnd;
    std::vector<double> inFlight;
    std::vector<double> pacingRate;
    std::vector<double> srtt;
    std::vector<double> retransmitsSeries;
    std::vector<double> rtosSeries;

    static constexpr auto Table()
    {
        using T = LegResult;
        return std::tuple{
            Measure("leg_name",
                    &T::name,
                    "",
                    "connection: app, carrier (carrier2 and so on beyond relays) or target"),
            Measure("leg_cc",
                    &T::cc,
                    "",
                    "congestion control of the connection, or the name of its protocol"),
            Measure("payload_bytes", &T::payloadBytes, "byte", "payload that the receiver read"),
            Measure("wire_bytes",
                    &T::wireBytes,
                    "byte",
                    "IP bytes sent in the direction of the data; of RUDP without pings",
                    Span::WHOLE_RUN),
            Measure("ack_wire_bytes",
                    &T::ackWireBytes,
                    "byte",
                    "IP bytes sent in the other direction",
                    Span::WHOLE_RUN),
            Measure("segments", &T::segments, "1", "data segments sent"),
            Measure("total_segments",
                    &T::totalSegments,
                    "1",
                    "data segments sent",
                    Span::WHOLE_RUN),
            Measure("retransmits", &T::retransmits, "1", "retransmitted segments"),
            Measure("udp_socket_drops",
                    &T::socketDrops,
                    "1",
                    "datagrams that the receiver's full UDP socket dropped (UdpRcvbufErrors of "
                    "Linux; NaN: TCP, or reading costs no CPU time)"),
            Measure("rtos", &T::rtos, "1", "retransmission time-outs"),
            Measure("tail_loss_probes", &T::tailLossProbes, "1", "tail loss probes"),
            Measure("congestion_events",
                    &T::congestionEvents,
                    "1",
                    "reductions of TCP's window for loss or marks, those taken back included"),
            Measure("established_at",
                    &T::establishedAt,
                    "s",
                    "time when the connection was established",
                    Span::MOMENT),
            Measure("connect_failed_at",
                    &T::connectFailedAt,
                    "s",
                    "time when connecting failed: the last SYN got no answer",
                    Span::MOMENT),
            Measure("finished_at",
                    &T::finishedAt,
                    "s",
                    "time when the FIN was acknowledged; in QUIC that of all streams",
                    Span::MOMENT),
            Measure("mss",
                    &T::mss,
                    "byte",
                    "payload of a full TCP segment at the end of the run (NaN: it never changes)",
                    Span::MOMENT),
            Measure("goodput_series", &T::goodputSeries, "bit/s", "payload that the receiver read"),
            Measure("throughput", &T::throughput, "bit/s", "IP bytes sent"),
            Measure("cwnd",
                    &T::cwnd,
                    "segments",
                    "congestion window; of KCP the segments that may be under way"),
            Measure("in_flight", &T::inFlight, "byte", "data in flight"),
            Measure("pacing_rate",
                    &T::pacingRate,
                    "bit/s",
                    "pacing rate of payload, in QUIC of whole packets (0: not paced)"),
            Measure("srtt",
                    &T::srtt,
                    "s",
                    "smoothed round-trip time (NaN before the first sample and after the end)"),
            Measure("retransmits_series",
                    &T::retransmitsSeries,
                    "1",
                    "retransmitted segments since the start"),
            Measure("rtos_series",
                    &T::rtosSeries,
                    "1",
                    "retransmission time-outs since the start")};
    }
};

/// Messages of an application that writes at a rate of its own: its writes that were due in the
/// measured part of the run.
struct MessageResult
{
    uint64_t due{0};
    uint64_t delivered{0};
    std::optional<double> latencyMean; //!< none, like the quantiles, if no message arrived
    std::optional<double> latencyP50;
    std::optional<double> latencyP95;
    std::optional<double> latencyP99;

    static constexpr auto Table()
    {
        using T = MessageResult;
        return std::tuple{
            Measure("flow_messages_due", &T::due, "1", "messages that were due"),
            Measure("flow_messages_delivered",
                    &T::delivered,
                    "1",
                    "of the messages that were due, those that arrived whole"),
            Measure("flow_message_latency_mean",
                    &T::latencyMean,
                    "s",
                    "mean latency of messages that arrived (NaN: none)"),
            Measure("flow_message_latency_p50",
                    &T::latencyP50,
                    "s",
                    "median of the latency of messages that arrived (NaN: none)"),
            Measure("flow_message_latency_p95",
                    &T::latencyP95,
                    "s",
                    "95th percentile of the latency of messages that arrived (NaN: none)"),
            Measure("flow_message_latency_p99",
                    &T::latencyP99,
                    "s",
                    "99th percentile of the latency of messages that arrived (NaN: none)")};
    }
};

/// Messages over time.
struct MessageSeries
{
    std::vector<double> latency;

    static constexpr auto Table()
    {
        return std::tuple{
            Measure("flow_message_latency_series",
                    &MessageSeries::latency,
                    "s",
                    "mean latency of messages that arrived since the last sample (NaN: none "
                    "arrived, or before measuring begins)")};
    }
};

/**
 * A flow of datagrams: those sent in the measured part of the run, and of them those that arrived.
 * Of requests, what arrives is the answer, and the delay is the time until then.
 *
 * \tparam OF what the names of its measurements begin with
 */
template <Name OF>
struct DatagramResult
{
    uint64_t sent{0};
    uint64_t received{0};
    uint64_t expected{0};
    uint64_t resent{0};
    std::optional<uint64_t> relayDrops; //!< where a relay carries them
    std::optional<double> delayMean;    //!< none, like what follows, if no datagram arrived
    std::optional<double> delayP50;
    std::optional<double> delayP95;
    std::optional<double> delayP99;
    std::optional<double> delayTrimmed;
    std::optional<double> jitter;
    uint64_t reordered{0};
    uint64_t late{0};
    std::optional<double> playDelay;
    std::vector<double> delaySeries;

    static constexpr auto Table()
    {
        using T = DatagramResult;
        return std::tuple{
            Measure(NAME<OF, "_sent">, &T::sent, "1", "datagrams sent"),
            Measure(NAME<OF, "_received">, &T::received, "1", "of these, datagrams received"),
            Measure(NAME<OF, "_expected">,
                    &T::expected,
                    "1",
                    "datagrams sent until the latest one that arrived; none arrived: all"),
            Measure(NAME<OF, "_resent">, &T::resent, "1", "requests that were sent again"),
            Measure(NAME<OF, "_relay_drops">,
                    &T::relayDrops,
                    "1",
                    "datagrams that a relay dropped, because its queue was full or the client had "
                    "sent none yet (NaN: no relay)"),
            Measure(NAME<OF, "_delay_mean">,
                    &T::delayMean,
                    "s",
                    "mean time until arrival, of a request until its answer (NaN: none)"),
            Measure(NAME<OF, "_delay_p50">,
                    &T::delayP50,
                    "s",
                    "median of the time until arrival (NaN: none)"),
            Measure(NAME<OF, "_delay_p95">,
                    &T::delayP95,
                    "s",
                    "95th percentile of the time until arrival (NaN: none)"),
            Measure(NAME<OF, "_delay_p99">,
                    &T::delayP99,
                    "s",
                    "99th percentile of the time until arrival (NaN: none)"),
            Measure(NAME<OF, "_delay_trimmed">,
                    &T::delayTrimmed,
                    "s",
                    "mean of the least 95 % of the times until arrival (NaN: none)"),
            Measure(NAME<OF, "_jitter">,
                    &T::jitter,
                    "s",
                    "mean of RTP's interarrival jitter, RFC 3550 (NaN: no datagram arrived)"),
            Measure(NAME<OF, "_reordered">,
                    &T::reordered,
                    "1",
                    "datagrams that arrived after one that was sent later"),
            Measure(NAME<OF, "_late">,
                    &T::late,
                    "1",
                    "datagrams that arrived too late for the playout buffer"),
            Measure(NAME<OF, "_play_delay">,
                    &T::playDelay,
                    "s",
                    "mean time from sending until playing (NaN: no playout buffer)"),
            Measure(NAME<OF, "_delay_series">,
                    &T::delaySeries,
                    "s",
                    "mean time until arrival since the last sample (NaN: none arrived)")};
    }
};

using FlowDatagramResult = DatagramResult<"flow">;
using CrossTrafficResult = DatagramResult<"cross_traffic">;
using PingResult = DatagramResult<"ping">;

/// What several paths did to a flow's bytes.
struct MultipathResult
{
    double reordered{0};
    double holDelayMean{0};
    double holDelayMax{0};
    uint64_t duplicates{0};
    uint64_t reinjected{0};

    static constexpr auto Table()
    {
        using T = MultipathResult;
        return std::tuple{
            Measure("flow_paths_reordered",
                    &T::reordered,
                    "1",
                    "share of the bytes that came before earlier ones, over another path (NaN: the "
                    "flow has one path)"),
            Measure("flow_paths_hol_delay_mean",
                    &T::holDelayMean,
                    "s",
                    "mean time that a byte waited at the receiver for earlier ones of other paths "
                    "(head-of-line delay)"),
            Measure("flow_paths_hol_delay_max", &T::holDelayMax, "s", "longest of these times"),
            Measure("flow_paths_duplicates",
                    &T::duplicates,
                    "byte",
                    "bytes that came a second time, over another path"),
            Measure("flow_paths_reinjected",
                    &T::reinjected,
                    "byte",
                    "bytes that the sender gave to a second path",
                    Span::WHOLE_RUN)};
    }
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
    std::optional<MessageSeries> messageSeries;  //!< if it writes messages
    std::optional<FlowDatagramResult> datagrams; //!< if it is a flow of datagrams
    std::optional<MultipathResult> multipath;    //!< if it has several paths
    uint64_t deliveredBytes{0};
    uint64_t totalBytes{0};
    std::optional<double> firstByteAt;
    std::optional<double> completedAt;
    std::vector<double> goodputSeries;

    static constexpr auto Table()
    {
        using T = FlowResult;
        return std::tuple{Measure("flow_delivered_bytes",
                                  &T::deliveredBytes,
                                  "byte",
                                  "application bytes that the receiver read"),
                          Measure("flow_total_bytes",
                                  &T::totalBytes,
                                  "byte",
                                  "application bytes that the receiver read",
                                  Span::WHOLE_RUN),
                          Measure("flow_first_byte_at",
                                  &T::firstByteAt,
                                  "s",
                                  "time when the receiver read the first byte",
                                  Span::MOMENT),
                          Measure("flow_completed_at",
                                  &T::completedAt,
                                  "s",
                                  "time when the receiver read the last byte of a flow that ends",
                                  Span::MOMENT),
                          Measure("flow_goodput_series",
                                  &T::goodputSeries,
                                  "bit/s",
                                  "application bytes that the receiver read")};
    }
};

/// One direction of a link. Counts are of packets that were offered in the measured part of the
/// run: a packet that is lost or delivered in it, but was offered before, does not count.
struct LinkResult
{
    uint64_t packets{0};
    uint64_t bytesSent{0};
    uint64_t queueDrops{0};
    uint64_t randomLosses{0};
    std::optional<uint64_t> marks;
    std::optional<uint64_t> policerDrops;
    std::optional<uint64_t> mtuDrops;
    std::optional<uint64_t> fragmented;
    std::optional<uint64_t> fragmentDrops;
    double utilisation{0};
    double queueDelayMean{0};
    double queueDelayP50{0};
    double queueDelayP95{0};
    double queueDelayP99{0};
    double queueBytesMax{0};
    std::vector<double> queueBytes;
    std::vector<double> queueDropsSeries;
    std::vector<double> utilisationSeries;

    static constexpr auto Table()
    {
        using T = LinkResult;
        return std::tuple{
            Measure("link_packets", &T::packets, "1", "packets offered"),
            Measure("link_bytes_sent", &T::bytesSent, "byte", "bytes sent, framing included"),
            Measure("link_queue_drops", &T::queueDrops, "1", "packets that the queue dropped"),
            Measure("link_random_losses",
                    &T::randomLosses,
                    "1",
                    "packets lost at random, in an outage, or in flight at a hand-over"),
            Measure("link_marks",
                    &T::marks,
                    "1",
                    "packets that the queue marked, ECN (NaN: it never marks)"),
            Measure("link_policer_drops",
                    &T::policerDrops,
                    "1",
                    "packets that the policer dropped (NaN: there is none)"),
            Measure("link_mtu_drops",
                    &T::mtuDrops,
                    "1",
                    "packets dropped in front of the link because they exceed its MTU (NaN: all "
                    "senders know it)"),
            Measure("link_fragmented",
                    &T::fragmented,
                    "1",
                    "packets fragmented in front of the link (NaN: as link_mtu_drops)"),
            Measure("link_fragment_drops",
                    &T::fragmentDrops,
                    "1",
                    "fragments that a firewall dropped, and packets whose fragments it would drop "
                    "(NaN: as link_mtu_drops)"),
            Measure("link_utilisation",
                    &T::utilisation,
                    "1",
                    "bytes sent / bytes that the link could send, 0: not limited"),
            Measure("link_queue_delay_mean",
                    &T::queueDelayMean,
                    "s",
                    "mean waiting time in the queue of packets that were not dropped"),
            Measure("link_queue_delay_p50",
                    &T::queueDelayP50,
                    "s",
                    "median of the waiting time in the queue"),
            Measure("link_queue_delay_p95",
                    &T::queueDelayP95,
                    "s",
                    "95th percentile of the waiting time in the queue"),
            Measure("link_queue_delay_p99",
                    &T::queueDelayP99,
                    "s",
                    "99th percentile of the waiting time in the queue"),
            Measure("link_queue_bytes_max",
                    &T::queueBytesMax,
                    "byte",
                    "most bytes that waited in the queue",
                    Span::WHOLE_RUN),
            Measure("link_queue_bytes", &T::queueBytes, "byte", "bytes waiting in the queue"),
            Measure("link_queue_drops_series",
                    &T::queueDropsSeries,
                    "1",
                    "packets that the queue dropped since the start"),
            Measure("link_utilisation_series",
                    &T::utilisationSeries,
                    "1",
                    "bytes sent / bytes that the link could send, 0: not limited")};
    }
};

/// What FEC did in one direction of a tunnel. Packets are those of the hosts, of groups whose
/// shards had time to arrive.
struct FecResult
{
    uint64_t packets{0};
    uint64_t recovered{0};
    uint64_t lost{0};
    uint64_t parityPackets{0};
    uint64_t parityBytes{0};
    double recoveryDelayMean{
        0}; //!< from when a packet left until the shard did that brought it back
    double recoveryDelayP95{0};

    static constexpr auto Table()
    {
        using T = FecResult;
        return std::tuple{
            Measure("tunnel_fec_packets",
                    &T::packets,
                    "1",
                    "packets that entered a tunnel with FEC"),
            Measure("tunnel_fec_recovered",
                    &T::recovered,
                    "1",
                    "packets recovered from parity; of joined packets all of a group with a lost "
                    "shard"),
            Measure("tunnel_fec_lost", &T::lost, "1", "packets that never arrived"),
            Measure("tunnel_fec_parity_packets",
                    &T::parityPackets,
                    "1",
                    "IP packets of parity that a tunnel with FEC sent",
                    Span::WHOLE_RUN),
            Measure("tunnel_fec_parity_bytes",
                    &T::parityBytes,
                    "byte",
                    "IP bytes of parity",
                    Span::WHOLE_RUN),
            Measure("tunnel_fec_recovery_delay_mean",
                    &T::recoveryDelayMean,
                    "s",
                    "mean time until recovery",
                    Span::WHOLE_RUN),
            Measure("tunnel_fec_recovery_delay_p95",
                    &T::recoveryDelayP95,
                    "s",
                    "95th percentile of the time until recovery",
                    Span::WHOLE_RUN)};
    }
};

/// What several routes did to the packets of one direction of a tunnel.
struct UplinksResult
{
    double reordered{0};
    double extentMean{0};
    uint64_t extentMax{0};
    double leftReordered{0};
    double holDelayMean{0};
    double holDelayP95{0};
    uint64_t late{0};
    uint64_t givenUp{0};

    static constexpr auto Table()
    {
        using T = UplinksResult;
        return std::tuple{
            Measure("tunnel_uplinks_reordered",
                    &T::reordered,
                    "1",
                    "share of a tunnel's packets that came after one that was sent later, over "
                    "another route (RFC 4737; NaN: they have one route)"),
            Measure("tunnel_uplinks_extent_mean",
                    &T::extentMean,
                    "1",
                    "mean of how many arrivals ago the first such one came (reordering extent)"),
            Measure("tunnel_uplinks_extent_max", &T::extentMax, "1", "greatest of these"),
            Measure("tunnel_uplinks_left_reordered",
                    &T::leftReordered,
                    "1",
                    "share of the packets that left the tunnel after one that was sent later"),
            Measure("tunnel_uplinks_hol_delay_mean",
                    &T::holDelayMean,
                    "s",
                    "mean time that a packet waited in the reorder buffer for earlier ones "
                    "(head-of-line delay)"),
            Measure("tunnel_uplinks_hol_delay_p95",
                    &T::holDelayP95,
                    "s",
                    "95th percentile of these times"),
            Measure("tunnel_uplinks_late",
                    &T::late,
                    "1",
                    "packets that came when the reorder buffer had given them up"),
            Measure("tunnel_uplinks_given_up",
                    &T::givenUp,
                    "1",
                    "packets for which the reorder buffer let others wait no longer")};
    }
};

/// One direction of a tunnel that carries packets.
struct PacketTunnelResult
{
    uint64_t packets{0};
    uint64_t deviceDrops{0};
    uint64_t socketDrops{0};
    std::optional<uint64_t> relayDrops; //!< where it goes through a relay
    std::optional<uint64_t> queueDrops; //!< where it goes in frames of QUIC
    std::optional<uint64_t> tooLarge;   //!< likewise
    uint64_t innerPackets{0};
    uint64_t innerBytes{0};
    uint64_t outerPackets{0};
    uint64_t outerBytes{0};
    uint64_t fragmented{0};
    uint64_t devicePacketsMax{0};
    std::optional<FecResult> fec;         //!< where there is FEC
    std::optional<UplinksResult> uplinks; //!< where packets take turns over several routes
    std::vector<double> devicePackets;
    std::vector<double> deviceDropsSeries;

    static constexpr auto Table()
    {
        using T = PacketTunnelResult;
        return std::tuple{
            Measure("tunnel_packets", &T::packets, "1", "packets offered to the tunnel's device"),
            Measure("tunnel_device_drops",
                    &T::deviceDrops,
                    "1",
                    "packets that the device's full queue dropped"),
            Measure("tunnel_socket_drops",
                    &T::socketDrops,
                    "1",
                    "packets that the far end's full socket dropped"),
            Measure("tunnel_relay_drops",
                    &T::relayDrops,
                    "1",
                    "packets that the relay dropped through which the tunnel goes, because its "
                    "queue was full or its client had sent none yet (NaN: through none)"),
            Measure("tunnel_queue_drops",
                    &T::queueDrops,
                    "1",
                    "packets that the program dropped because the QUIC connection's queue of "
                    "datagrams was full (NaN: no QUIC)"),
            Measure("tunnel_too_large",
                    &T::tooLarge,
                    "1",
                    "packets that were dropped because they fit into no QUIC packet (NaN: no "
                    "QUIC)"),
            Measure("tunnel_inner_packets",
                    &T::innerPackets,
                    "1",
                    "packets that the program took from the device",
                    Span::WHOLE_RUN),
            Measure("tunnel_inner_bytes",
                    &T::innerBytes,
                    "byte",
                    "IP bytes that the program took from the device",
                    Span::WHOLE_RUN),
            Measure("tunnel_outer_packets",
                    &T::outerPackets,
                    "1",
                    "IP packets sent on the path, fragments included",
                    Span::WHOLE_RUN),
            Measure("tunnel_outer_bytes",
                    &T::outerBytes,
                    "byte",
                    "IP bytes sent on the path",
                    Span::WHOLE_RUN),
            Measure("tunnel_fragmented",
                    &T::fragmented,
                    "1",
                    "packets that left the tunnel in more than one"),
            Measure("tunnel_device_packets_max",
                    &T::devicePacketsMax,
                    "1",
                    "most packets that waited at the device",
                    Span::WHOLE_RUN),
            Measure("tunnel_device_packets",
                    &T::devicePackets,
                    "1",
                    "packets that wait at the tunnel's device"),
            Measure("tunnel_device_drops_series",
                    &T::deviceDropsSeries,
                    "1",
                    "packets that the device's full queue dropped since the start")};
    }
};

struct HostResult
{
    double cpuTime{0};
    double cpu{0};
    std::vector<double> cpuSeries;

    static constexpr auto Table()
    {
        using T = HostResult;
        return std::tuple{Measure("host_cpu_time", &T::cpuTime, "s", "CPU time used"),
                          Measure("host_cpu", &T::cpu, "1", "CPU use, of all cores"),
                          Measure("host_cpu_series", &T::cpuSeries, "1", "CPU use, of all cores")};
    }
};

/// A link, both directions.
struct DuplexLinkResult
{
    LinkResult forward;
    LinkResult reverse;
};

/// A tunnel.
struct TunnelResult
{
    std::optional<PacketTunnelResult> forward; //!< what the end sent that sends the data of its
                                               //!< first flow, if it carries packets
    std::optional<PacketTunnelResult> reverse;
};

/// A run.
struct ExperimentResult
{
    std::vector<double> time;
    std::vector<FlowResult> flows;
    std::vector<LegResult> legs;
    std::vector<CrossTrafficResult> crossTraffic;
    std::vector<PingResult> pings;
    std::vector<DuplexLinkResult> links;
    std::vector<TunnelResult> tunnels;
    std::vector<HostResult> hosts;
    uint64_t events{0};
    uint64_t pathSegments{0};

    static constexpr auto Table()
    {
        using T = ExperimentResult;
        return std::tuple{
            Measure("time", &T::time, "s", "time since the start"),
            Measure("events", &T::events, "1", "events that the simulator ran", Span::WHOLE_RUN),
            Measure("path_segments",
                    &T::pathSegments,
                    "1",
                    "data segments sent across the path, in a chain of relays across its first "
                    "hop")};
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_RESULT_H
