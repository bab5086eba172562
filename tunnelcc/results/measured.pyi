# SPDX-License-Identifier: GPL-2.0-only
# Written by waf-config/write-stub.py from the table of the models.
"""The measurements of one part of a run, with their units."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]

class Part:
    place: int | tuple[int, ...]
    def __init__(self, arrays: Callable[[str], Any], place: int | tuple[int, ...]) -> None: ...

class FlowPart(Part):
    """A flow, of one application to another."""

    delivered_bytes: int | None
    """Application bytes that the receiver read, byte."""
    total_bytes: int | None
    """Application bytes that the receiver read, byte."""
    first_byte_at: float | None
    """Time when the receiver read the first byte, s."""
    completed_at: float | None
    """Time when the receiver read the last byte of a flow that ends, s."""
    goodput_series: Series
    """Application bytes that the receiver read, bit/s."""
    messages_due: int | None
    """Messages that were due."""
    messages_delivered: int | None
    """Of the messages that were due, those that arrived whole."""
    message_latency_mean: float | None
    """Mean latency of messages that arrived (NaN: none), s."""
    message_latency_p50: float | None
    """Median of the latency of messages that arrived (NaN: none), s."""
    message_latency_p95: float | None
    """95th percentile of the latency of messages that arrived (NaN: none), s."""
    message_latency_p99: float | None
    """99th percentile of the latency of messages that arrived (NaN: none), s."""
    message_latency_series: Series
    """Mean latency of messages that arrived since the last sample (NaN: none arrived, or before
    measuring begins), s."""
    sent: int | None
    """Datagrams sent."""
    received: int | None
    """Of these, datagrams received."""
    expected: int | None
    """Datagrams sent until the latest one that arrived; none arrived: all."""
    resent: int | None
    """Requests that were sent again."""
    relay_drops: int | None
    """Datagrams that a relay dropped, because its queue was full or the client had sent none yet
    (NaN: no relay)."""
    delay_mean: float | None
    """Mean time until arrival, of a request until its answer (NaN: none), s."""
    delay_p50: float | None
    """Median of the time until arrival (NaN: none), s."""
    delay_p95: float | None
    """95th percentile of the time until arrival (NaN: none), s."""
    delay_p99: float | None
    """99th percentile of the time until arrival (NaN: none), s."""
    delay_trimmed: float | None
    """Mean of the least 95 % of the times until arrival (NaN: none), s."""
    jitter: float | None
    """Mean of RTP's interarrival jitter, RFC 3550 (NaN: no datagram arrived), s."""
    reordered: int | None
    """Datagrams that arrived after one that was sent later."""
    late: int | None
    """Datagrams that arrived too late for the playout buffer."""
    play_delay: float | None
    """Mean time from sending until playing (NaN: no playout buffer), s."""
    delay_series: Series
    """Mean time until arrival since the last sample (NaN: none arrived), s."""
    paths_reordered: float | None
    """Share of the bytes that came before earlier ones, over another path (NaN: the flow has one
    path)."""
    paths_hol_delay_mean: float | None
    """Mean time that a byte waited at the receiver for earlier ones of other paths (head-of-line
    delay), s."""
    paths_hol_delay_max: float | None
    """Longest of these times, s."""
    paths_duplicates: int | None
    """Bytes that came a second time, over another path, byte."""
    paths_reinjected: int | None
    """Bytes that the sender gave to a second path, byte."""

class ConnectionPart(Part):
    """A connection of TCP, QUIC, KCP or RUDP: a flow's own, or a tunnel's."""

    name: str
    """Connection: app, carrier (carrier2 and so on beyond relays) or target."""
    cc: str
    """Congestion control of the connection, or the name of its protocol."""
    payload_bytes: int | None
    """Payload that the receiver read, byte."""
    wire_bytes: int | None
    """IP bytes sent in the direction of the data; of RUDP without pings, byte."""
    ack_wire_bytes: int | None
    """IP bytes sent in the other direction, byte."""
    segments: int | None
    """Data segments sent."""
    total_segments: int | None
    """Data segments sent."""
    retransmits: int | None
    """Retransmitted segments."""
    udp_socket_drops: int | None
    """Datagrams that the receiver's full UDP socket dropped (UdpRcvbufErrors of Linux; NaN: TCP, or
    reading costs no CPU time)."""
    rtos: int | None
    """Retransmission time-outs."""
    tail_loss_probes: int | None
    """Tail loss probes."""
    congestion_events: int | None
    """Reductions of TCP's window for loss or marks, those taken back included."""
    established_at: float | None
    """Time when the connection was established, s."""
    connect_failed_at: float | None
    """Time when connecting failed: the last SYN got no answer, s."""
    finished_at: float | None
    """Time when the FIN was acknowledged; in QUIC that of all streams, s."""
    mss: int | None
    """Payload of a full TCP segment at the end of the run (NaN: it never changes), byte."""
    goodput_series: Series
    """Payload that the receiver read, bit/s."""
    throughput: Series
    """IP bytes sent, bit/s."""
    cwnd: Series
    """Congestion window; of KCP the segments that may be under way, segments."""
    in_flight: Series
    """Data in flight, byte."""
    pacing_rate: Series
    """Pacing rate of payload, in QUIC of whole packets (0: not paced), bit/s."""
    srtt: Series
    """Smoothed round-trip time (NaN before the first sample and after the end), s."""
    retransmits_series: Series
    """Retransmitted segments since the start."""
    rtos_series: Series
    """Retransmission time-outs since the start."""
    limit_handshake: float | None
    """Time limited by the handshake, s."""
    limit_application: float | None
    """Time limited by the application: it had written nothing, s."""
    limit_cpu: float | None
    """Time limited by the CPU of the application or relay, before its next write, s."""
    limit_send_buffer: float | None
    """Time limited by the send buffer, s."""
    limit_stream_window: float | None
    """Time limited by the window of a stream among several, s."""
    limit_connection_window: float | None
    """Time limited by the window of all streams together, s."""
    limit_send_window: float | None
    """Time limited by the send window of a session that repairs loss itself, s."""
    limit_receive_window: float | None
    """Time limited by the receive window, s."""
    limit_congestion_window: float | None
    """Time limited by the congestion window, s."""
    limit_pacing: float | None
    """Time limited by pacing, s."""
    arq_fast_retransmits: int | None
    """Segments resent because of ACKs of later ones; QUIC: packets lost by kPacketThreshold."""
    arq_early_retransmits: int | None
    """Segments resent after fewer such ACKs, because there was nothing new to send; QUIC: packets
    lost by kTimeThreshold."""
    arq_timeouts: int | None
    """Segments resent because time ran out; QUIC: probe time-outs."""
    arq_parity_datagrams: int | None
    """Datagrams of parity sent."""
    arq_parity_bytes: int | None
    """IP bytes of parity sent, byte."""
    arq_recovered: int | None
    """Datagrams recovered from parity."""
    arq_unrecovered: int | None
    """Datagrams lost in spite of parity."""
    arq_given_up: int | None
    """Packets that will not be sent again and that the receiver does not have: what follows them is
    never read."""
    arq_closed_at: float | None
    """Time when an end closed the session, because its pings got no answer, s."""
    ssthresh: Series
    """Slow start threshold (NaN before the first reduction), segments."""
    phase: NDArray[np.str_]
    """Phase of the congestion control: the algorithm's name of it, else RFC 5681's (empty: not
    TCP)."""
    bandwidth_estimate: Series
    """Payload bandwidth that the algorithm estimates (NaN: none), bit/s."""
    min_rtt_estimate: Series
    """Minimum RTT that the algorithm estimates; otherwise the connection's, s."""

class LinkPart(Part):
    """A direction of a link."""

    packets: int | None
    """Packets offered."""
    bytes_sent: int | None
    """Bytes sent, framing included, byte."""
    queue_drops: int | None
    """Packets that the queue dropped."""
    random_losses: int | None
    """Packets lost at random, in an outage, or in flight at a hand-over."""
    marks: int | None
    """Packets that the queue marked, ECN (NaN: it never marks)."""
    policer_drops: int | None
    """Packets that the policer dropped (NaN: there is none)."""
    mtu_drops: int | None
    """Packets dropped in front of the link because they exceed its MTU (NaN: all senders know
    it)."""
    fragmented: int | None
    """Packets fragmented in front of the link (NaN: as link_mtu_drops)."""
    fragment_drops: int | None
    """Fragments that a firewall dropped, and packets whose fragments it would drop (NaN: as
    link_mtu_drops)."""
    utilisation: float | None
    """Bytes sent / bytes that the link could send, 0: not limited."""
    queue_delay_mean: float | None
    """Mean waiting time in the queue of packets that were not dropped, s."""
    queue_delay_p50: float | None
    """Median of the waiting time in the queue, s."""
    queue_delay_p95: float | None
    """95th percentile of the waiting time in the queue, s."""
    queue_delay_p99: float | None
    """99th percentile of the waiting time in the queue, s."""
    queue_bytes_max: float | None
    """Most bytes that waited in the queue, byte."""
    queue_bytes: Series
    """Bytes waiting in the queue, byte."""
    queue_drops_series: Series
    """Packets that the queue dropped since the start."""
    utilisation_series: Series
    """Bytes sent / bytes that the link could send, 0: not limited."""

class TunnelPart(Part):
    """A direction of a tunnel that carries packets."""

    packets: int | None
    """Packets offered to the tunnel's device."""
    device_drops: int | None
    """Packets that the device's full queue dropped."""
    socket_drops: int | None
    """Packets that the far end's full socket dropped."""
    relay_drops: int | None
    """Packets that the relay dropped through which the tunnel goes, because its queue was full or
    its client had sent none yet (NaN: through none)."""
    queue_drops: int | None
    """Packets that the program dropped because the QUIC connection's queue of datagrams was full
    (NaN: no QUIC)."""
    too_large: int | None
    """Packets that were dropped because they fit into no QUIC packet (NaN: no QUIC)."""
    inner_packets: int | None
    """Packets that the program took from the device."""
    inner_bytes: int | None
    """IP bytes that the program took from the device, byte."""
    outer_packets: int | None
    """IP packets sent on the path, fragments included."""
    outer_bytes: int | None
    """IP bytes sent on the path, byte."""
    fragmented: int | None
    """Packets that left the tunnel in more than one."""
    device_packets_max: int | None
    """Most packets that waited at the device."""
    device_packets: Series
    """Packets that wait at the tunnel's device."""
    device_drops_series: Series
    """Packets that the device's full queue dropped since the start."""
    fec_packets: int | None
    """Packets that entered a tunnel with FEC."""
    fec_recovered: int | None
    """Packets recovered from parity; of joined packets all of a group with a lost shard."""
    fec_lost: int | None
    """Packets that never arrived."""
    fec_parity_packets: int | None
    """IP packets of parity that a tunnel with FEC sent."""
    fec_parity_bytes: int | None
    """IP bytes of parity, byte."""
    fec_recovery_delay_mean: float | None
    """Mean time until recovery, s."""
    fec_recovery_delay_p95: float | None
    """95th percentile of the time until recovery, s."""
    uplinks_reordered: float | None
    """Share of a tunnel's packets that came after one that was sent later, over another route (RFC
    4737; NaN: they have one route)."""
    uplinks_extent_mean: float | None
    """Mean of how many arrivals ago the first such one came (reordering extent)."""
    uplinks_extent_max: int | None
    """Greatest of these."""
    uplinks_left_reordered: float | None
    """Share of the packets that left the tunnel after one that was sent later."""
    uplinks_hol_delay_mean: float | None
    """Mean time that a packet waited in the reorder buffer for earlier ones (head-of-line delay),
    s."""
    uplinks_hol_delay_p95: float | None
    """95th percentile of these times, s."""
    uplinks_late: int | None
    """Packets that came when the reorder buffer had given them up."""
    uplinks_given_up: int | None
    """Packets for which the reorder buffer let others wait no longer."""

class HostPart(Part):
    """A host."""

    cpu_time: float | None
    """CPU time used, s."""
    cpu: float | None
    """CPU use, of all cores."""
    cpu_series: Series
    """CPU use, of all cores."""

class CrossTrafficPart(Part):
    """A source of cross traffic."""

    sent: int | None
    """Datagrams sent."""
    received: int | None
    """Of these, datagrams received."""
    expected: int | None
    """Datagrams sent until the latest one that arrived; none arrived: all."""
    resent: int | None
    """Requests that were sent again."""
    relay_drops: int | None
    """Datagrams that a relay dropped, because its queue was full or the client had sent none yet
    (NaN: no relay)."""
    delay_mean: float | None
    """Mean time until arrival, of a request until its answer (NaN: none), s."""
    delay_p50: float | None
    """Median of the time until arrival (NaN: none), s."""
    delay_p95: float | None
    """95th percentile of the time until arrival (NaN: none), s."""
    delay_p99: float | None
    """99th percentile of the time until arrival (NaN: none), s."""
    delay_trimmed: float | None
    """Mean of the least 95 % of the times until arrival (NaN: none), s."""
    jitter: float | None
    """Mean of RTP's interarrival jitter, RFC 3550 (NaN: no datagram arrived), s."""
    reordered: int | None
    """Datagrams that arrived after one that was sent later."""
    late: int | None
    """Datagrams that arrived too late for the playout buffer."""
    play_delay: float | None
    """Mean time from sending until playing (NaN: no playout buffer), s."""
    delay_series: Series
    """Mean time until arrival since the last sample (NaN: none arrived), s."""

class PingPart(Part):
    """An entry of ``pings``."""

    sent: int | None
    """Datagrams sent."""
    received: int | None
    """Of these, datagrams received."""
    expected: int | None
    """Datagrams sent until the latest one that arrived; none arrived: all."""
    resent: int | None
    """Requests that were sent again."""
    relay_drops: int | None
    """Datagrams that a relay dropped, because its queue was full or the client had sent none yet
    (NaN: no relay)."""
    delay_mean: float | None
    """Mean time until arrival, of a request until its answer (NaN: none), s."""
    delay_p50: float | None
    """Median of the time until arrival (NaN: none), s."""
    delay_p95: float | None
    """95th percentile of the time until arrival (NaN: none), s."""
    delay_p99: float | None
    """99th percentile of the time until arrival (NaN: none), s."""
    delay_trimmed: float | None
    """Mean of the least 95 % of the times until arrival (NaN: none), s."""
    jitter: float | None
    """Mean of RTP's interarrival jitter, RFC 3550 (NaN: no datagram arrived), s."""
    reordered: int | None
    """Datagrams that arrived after one that was sent later."""
    late: int | None
    """Datagrams that arrived too late for the playout buffer."""
    play_delay: float | None
    """Mean time from sending until playing (NaN: no playout buffer), s."""
    delay_series: Series
    """Mean time until arrival since the last sample (NaN: none arrived), s."""

KINDS: tuple[type[Part], ...]

def names(kind: str) -> tuple[str, ...]: ...
def plain(value: Any, *, is_count: bool = False) -> Any: ...
