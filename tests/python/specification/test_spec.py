# SPDX-License-Identifier: GPL-2.0-only
"""What the compiled module is given: every key arrives, in its unit."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest

from helpers import discipline_with
from tunnelcc import catalog, core, scenario
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.config.flow_control import FlowControl
from tunnelcc.errors import ConfigError
from tunnelcc.hosts import costs
from tunnelcc.network.resolve import resolve
from tunnelcc.scenario import Experiment
from tunnelcc.schema import keys_of
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.specification.parts import layer_wire_bytes

DATAGRAM = {"tunnel": "ethudp"}
RELAY = {"tunnel": "gost-relay-ws"}
CROSS_TRAFFIC = {"cross_traffic": [{"rate": "1Mbps", "on": "1s", "off": "1s"}]}
UDP = {"flows": [{"transport": "udp", "rate": "1Mbps"}]}
CALL = {"flows": [{"transport": "udp", "traffic": "call"}]}
PINGS = {"pings": [{}]}


def _spec(settings=None, table=None):
    return _parsed(scenario.build(table or {}, {"path.phase": "0", **(settings or {})}))


def _parsed(experiment):
    """The specification as the models read it, with their defaults."""
    text = core.load().complete_spec(spec_text(experiment_spec(experiment)))
    spec = json.loads(text, object_hook=lambda members: SimpleNamespace(**members))
    for link in spec.links:
        link.rtt = link.forward.delay + link.reverse.delay
    spec.path, *beyond = spec.links
    spec.tunnel = spec.tunnels[0] if spec.tunnels else None
    for hop, link in zip(getattr(spec.tunnel, "hops", [])[1:], beyond, strict=True):
        hop.path = link
    spec.settings, spec.tcp = spec.tcp, spec.tcp[spec.flows[0].tcp]
    spec.client, spec.server = spec.hosts[:2]
    return spec


def _under(spec):
    """The datagram tunnel that the carriers go through."""
    return spec.tunnels[spec.tunnel.hops[0].under]


def _beyond(spec):
    """The hops behind the first relay."""
    return spec.tunnel.hops[1:]


def _window(flow_control):
    """The window of QUIC at first and at most, MiB."""
    return flow_control.first / 2**20, flow_control.most / 2**20


#: Key → (value, where it arrives, as what).
ARRIVALS = {
    "path.rate": ("10Mbps", lambda spec: spec.path.forward.rate, 10e6),
    "path.rate_steps": (
        [["2s", "5Mbps"]],
        lambda spec: [(step.time, step.rate) for step in spec.path.forward.rate_steps],
        [(2 * 10**9, 5e6)],
    ),
    "path.rtt_steps": (
        [["2s", "60ms"]],
        lambda spec: [(step.time, step.delay) for step in spec.path.forward.delay_steps],
        [(2 * 10**9, 30_000_000)],
    ),
    "path.phase": ("drawn", lambda spec: spec.path.rtt > 40_000_000, True),
    "path.outages": (
        [["2s", "3s"], ["4s"]],
        lambda spec: [
            [(it.begin, it.end) for it in way.outages]
            for way in (spec.path.forward, spec.path.reverse)
        ],
        2 * [[(2 * 10**9, 3 * 10**9), (4 * 10**9, 10**15)]],
    ),
    "path.handover": ("lost", lambda spec: spec.path.forward.handover, "lost"),
    "path.loss_steps": (
        [["2s", "100%"]],
        lambda spec: [(step.time, step.loss) for step in spec.path.forward.loss_steps],
        [(2 * 10**9, 1.0)],
    ),
    "path.buffer_steps": (
        [["2s", "9kB"], ["3s", "7p"]],
        lambda spec: [
            (step.time, step.bytes, step.packets) for step in spec.path.forward.buffer_steps
        ],
        [(2 * 10**9, 9000, 0), (3 * 10**9, 0, 7)],
    ),
    "path.queue.bandwidth": ("9Mbps", lambda spec: spec.path.forward.queue.bandwidth, 9e6),
    "path.queue.overhead": ("docsis", lambda spec: spec.path.forward.queue.overhead, 18),
    "path.queue.mpu": ("70B", lambda spec: spec.path.forward.queue.least_size, 70),
    "path.queue.cells": ("ptm", lambda spec: spec.path.forward.queue.cells, "ptm"),
    "path.queue.rtt": (
        "60ms",
        lambda spec: (spec.path.forward.queue.interval, spec.path.forward.queue.target),
        (60_000_000, 3_000_000),
    ),
    "path.queue.isolation": ("hosts", lambda spec: spec.path.forward.queue.isolation, "hosts"),
    "path.queue.ack_filter": (
        "aggressive",
        lambda spec: spec.path.forward.queue.ack_filter,
        "aggressive",
    ),
    "path.queue.ingress": (True, lambda spec: spec.path.forward.queue.ingress, True),
    "path.queue.name": ("codel", lambda spec: spec.path.forward.queue.kind, "codel"),
    "path.queue.target": ("7ms", lambda spec: spec.path.forward.queue.target, 7_000_000),
    "path.queue.interval": ("70ms", lambda spec: spec.path.forward.queue.interval, 70_000_000),
    "path.queue.step": ("2ms", lambda spec: spec.path.forward.queue.step, 2_000_000),
    "path.queue.classic_share": ("20%", lambda spec: spec.path.forward.queue.classic_share, 0.2),
    "path.queue.burst": ("50ms", lambda spec: spec.path.forward.queue.burst, 50_000_000),
    "path.queue.min_threshold": (
        "10p",
        lambda spec: spec.path.forward.queue.min_threshold,
        15_000,
    ),
    "path.queue.max_threshold": (
        "30kB",
        lambda spec: spec.path.forward.queue.max_threshold,
        30_000,
    ),
    "path.queue.max_probability": (
        "2%",
        lambda spec: spec.path.forward.queue.max_probability,
        0.02,
    ),
    "path.queue.weight": (0.01, lambda spec: spec.path.forward.queue.weight, 0.01),
    "path.queue.ecn": (False, lambda spec: spec.path.forward.queue.ecn, False),
    "path.gilbert_elliott.p": ("3%", lambda spec: spec.path.forward.gilbert_elliott.p, 0.03),
    "path.gilbert_elliott.r": ("30%", lambda spec: spec.path.forward.gilbert_elliott.r, 0.3),
    "path.gilbert_elliott.h": ("40%", lambda spec: spec.path.forward.gilbert_elliott.h, 0.4),
    "path.gilbert_elliott.k": ("99%", lambda spec: spec.path.forward.gilbert_elliott.k, 0.99),
    "path.policer.rate": ("7Mbps", lambda spec: spec.path.forward.policer.rate, 7e6),
    "path.policer.burst": ("9kB", lambda spec: spec.path.forward.policer.burst, 9000),
    "path.policer.position": ("after", lambda spec: spec.path.forward.policer.position, "after"),
    "path.jitter": ("2ms", lambda spec: spec.path.forward.jitter, 2_000_000),
    "path.jitter_distribution": (
        "exponential",
        lambda spec: spec.path.forward.jitter_distribution,
        "exponential",
    ),
    "path.jitter_deviation": (
        "300us",
        lambda spec: spec.path.forward.jitter_deviation,
        300_000,
    ),
    "path.jitter_reorders": (True, lambda spec: spec.path.forward.jitter_reorders, True),
    "path.rtt": ("30ms", lambda spec: spec.path.rtt, 30_000_000),
    "path.loss": ("2%", lambda spec: spec.path.forward.loss, 0.02),
    "path.buffer": ("200p", lambda spec: spec.path.forward.buffer_packets, 200),
    "path.reverse_rate": ("5Mbps", lambda spec: spec.path.reverse.rate, 5e6),
    "path.reverse_buffer": ("9kB", lambda spec: spec.path.reverse.buffer_bytes, 9000),
    "path.reverse_loss": ("3%", lambda spec: spec.path.reverse.loss, 0.03),
    "path.ecn_threshold": ("10p", lambda spec: spec.path.forward.queue.ecn_threshold, 15_000),
    "path.mtu": (1000, lambda spec: spec.tunnel.outer[1400], [996, 466]),
    "path.too_big": ("silent", lambda spec: spec.path.forward.mtu.too_big, "silent"),
    "path.fragments": ("drop", lambda spec: spec.path.reverse.mtu.drops_fragments, True),
    "path.reassembly_delay": (
        "7ms",
        lambda spec: spec.path.forward.mtu.reassembly_delay,
        7_000_000,
    ),
    "path.clamp_mss": (1360, lambda spec: spec.tcp.mss, 1348),
    "path.ip": (
        6,
        lambda spec: (spec.tcp.mss, spec.tcp.header_bytes, spec.tcp.syn_bytes),
        (1428, 72, 80),
    ),
    "path.framing": ("ethernet", lambda spec: spec.path.forward.framing, 38),
    "path.loss_pattern": ("periodic", lambda spec: spec.path.forward.loss_pattern, "periodic"),
    "path.loss_position": ("before", lambda spec: spec.path.forward.loss_position, "before"),
    "path.reorder": ("4%", lambda spec: spec.path.forward.reorder, 0.04),
    "path.reorder_delay": ("7ms", lambda spec: spec.path.forward.reorder_delay, 7_000_000),
    "flows.transport": ("quic", lambda spec: spec.flows[0].quic, 0),
    "flows.cc": ("bbr", lambda spec: spec.flows[0].cc.name, "bbr"),
    "flows.count": (3, lambda spec: len(spec.flows), 3),
    "flows.start": ("2s", lambda spec: spec.flows[0].start // 10**7, 200),
    "flows.stop": ("9s", lambda spec: spec.flows[0].stop // 10**7, 900),
    "flows.rtt": (
        "7ms",
        lambda spec: (spec.flows[0].extra_delay.client, spec.flows[0].extra_delay.server),
        (-16_500_000, -16_500_000),
    ),
    "flows.bytes": ("1MB", lambda spec: spec.flows[0].bytes, 10**6),
    "flows.rate": ("3Mbps", lambda spec: spec.flows[0].rate, 3e6),
    "flows.payload": ("text", lambda spec: spec.tunnel.outer[1500][0] < 1400, True),
    # Doubled; a buffer that grows has 0 bytes a segment less.
    "flows.window": (
        "64KiB",
        lambda spec: (spec.tcp.send_buffer, spec.tcp.send_buffer_per_segment),
        (2 * 65536, 0),
    ),
    # A window that does not grow; with its first size, one that does. The connection has 1.5 times
    # as much.
    "flows.stream_window": (
        "64MiB",
        lambda spec: (_window(spec.quic[0].stream), _window(spec.quic[0].connection)),
        ((64, 64), (96, 96)),
    ),
    "flows.first_stream_window": ("1MiB", lambda spec: _window(spec.quic[0].stream), (1, 6)),
    "flows.connection_window": (
        "512KiB",
        lambda spec: _window(spec.quic[0].connection),
        (0.5, 0.5),
    ),
    "flows.first_connection_window": (
        "2MiB",
        lambda spec: _window(spec.quic[0].connection),
        (2, 15),
    ),
    "flows.preamble": (37, lambda spec: spec.flows[0].preamble, 37),
    "flows.data_start": ("3s", lambda spec: spec.flows[0].data_start // 10**7, 300),
    "flows.write_size": ("8KiB", lambda spec: spec.flows[0].write_size, 8192),
    "flows.writes": ("nonblocking", lambda spec: spec.flows[0].writes, "nonblocking"),
    "flows.traffic": ("game", lambda spec: spec.flows[0].datagrams.last, 127 + 28),
    "flows.gaps": ("exponential", lambda spec: spec.flows[0].datagrams.draws_gaps, True),
    "flows.playout": ("70ms", lambda spec: spec.flows[0].datagrams.playout, 70_000_000),
    "cross_traffic.rate": ("5Mbps", lambda spec: spec.flows[-1].datagrams.rate, 5e6),
    "cross_traffic.packet": (500, lambda spec: spec.flows[-1].datagrams.last, 500),
    "cross_traffic.start": ("1s", lambda spec: spec.flows[-1].start, 10**9),
    "cross_traffic.stop": ("9s", lambda spec: spec.flows[-1].stop, 9 * 10**9),
    "cross_traffic.on": ("2s", lambda spec: spec.flows[-1].datagrams.on, 2 * 10**9),
    "cross_traffic.off": ("3s", lambda spec: spec.flows[-1].datagrams.off, 3 * 10**9),
    "cross_traffic.tunnel": ("vxlan", lambda spec: spec.flows[-1].tunnel, 0),
    "pings.interval": ("1s", lambda spec: spec.flows[-1].datagrams.rate, 84 * 8),
    "pings.size": (100, lambda spec: spec.flows[-1].datagrams.answer, 128),
    "pings.start": ("2s", lambda spec: spec.flows[-1].start // 10**7, 200),
    "pings.stop": ("9s", lambda spec: spec.flows[-1].stop, 9 * 10**9),
    "pings.tunnel": ("wireguard", lambda spec: spec.flows[-1].tunnel, 0),
    "tunnel.name": ("gost-relay-wss", lambda spec: len(spec.tunnel.sent.client.layers), 2),
    "tunnel.cc": ("reno", lambda spec: spec.flows[0].carrier_cc.name, "reno"),
    # RELAY has it on, so that the key turns it off at both ends.
    "tunnel.nodelay": (
        False,
        lambda spec: (spec.tcp.nodelay, spec.tcp.server_nodelay),
        (False, False),
    ),
    # Twice as much as asked for, of which Linux 6.18 counts a part as window.
    "tunnel.send_buffer": (
        "64KiB",
        lambda spec: (spec.tcp.send_buffer, spec.tcp.send_buffer_per_segment),
        (2 * 65536, 0),
    ),
    "tunnel.receive_buffer": (
        "64KiB",
        lambda spec: (spec.tcp.receive_window, spec.tcp.window_scale),
        (int(2 * 65536 * 0.625), 1),
    ),
    "tunnel.copy_buffer": ("64KiB", lambda spec: spec.tunnel.copy_buffer, 65536),
    "tunnel.mode": ("aes-128-cbc", lambda spec: spec.tunnel.outer[100], [156]),
    "tunnel.mtu": (1400, lambda spec: spec.tcp.mss, 1348),
    "tunnel.mss": (1400, lambda spec: spec.tcp.mss, 1388),
    "tunnel.ip": (6, lambda spec: (spec.tcp.mss, spec.tcp.header_bytes), (1428, 72)),
    "tunnel.datagram_queue": (7, lambda spec: spec.tunnel.datagrams.queue, 7),
    "tunnel.queue": (7, lambda spec: spec.tunnel.end.device.queue, 7),
    "tunnel.stream_window": (
        "64KiB",
        lambda spec: (
            spec.tunnel.mux.sent.client.stream_window,
            spec.tunnel.mux.sent.server.credit_step,
        ),
        (65536, 32768),
    ),
    "tunnel.connection_window": (
        "64KiB",
        lambda spec: spec.tunnel.mux.sent.client.session_window,
        65536,
    ),
    "tunnel.vlan_tags": (1, lambda spec: spec.tunnel.outer[100], [100 + 14 + 4 + 28]),
    "tunnel.session_buffer": (
        "64KiB",
        lambda spec: spec.tunnel.mux.sent.client.session_buffer,
        65536,
    ),
    "tunnel.first_stream_window": (
        "1MiB",
        lambda spec: (spec.tunnel.quic.stream.first, spec.tunnel.quic.connection.first),
        (2**20, 3 * 2**19),
    ),
    "tunnel.first_connection_window": (
        "1MiB",
        lambda spec: spec.tunnel.quic.connection.first,
        2**20,
    ),
    "tunnel.fec": ("8:1", lambda spec: spec.tunnel.fec.parity, [1] * 8),
    "tunnel.fec_timeout": ("7ms", lambda spec: spec.tunnel.fec.timeout, 7_000_000),
    # Less 20 of the cipher and 8 of FEC; UDP and IP add 28.
    "tunnel.kcp.mtu": (
        1200,
        lambda spec: (spec.tunnel.kcp.room, spec.tunnel.kcp.header),
        (1200 - 28, 28 + 28),
    ),
    "tunnel.kcp.nodelay": (True, lambda spec: spec.tunnel.kcp.nodelay, True),
    "tunnel.kcp.interval": ("15ms", lambda spec: spec.tunnel.kcp.interval, 15_000_000),
    "tunnel.kcp.resend": (5, lambda spec: spec.tunnel.kcp.resend, 5),
    "tunnel.kcp.congestion": (False, lambda spec: spec.tunnel.kcp.congestion, False),
    "tunnel.kcp.client_send_window": (7, lambda spec: spec.tunnel.kcp.send_window.client, 7),
    "tunnel.kcp.client_receive_window": (7, lambda spec: spec.tunnel.kcp.receive_window.client, 7),
    "tunnel.kcp.server_send_window": (7, lambda spec: spec.tunnel.kcp.send_window.server, 7),
    "tunnel.kcp.server_receive_window": (7, lambda spec: spec.tunnel.kcp.receive_window.server, 7),
    # Of the client; the server is told whole KiB/s.
    "tunnel.rate": (
        "100Mbps",
        lambda spec: (spec.tunnel.rudp.rate.client, spec.tunnel.rudp.rate.server),
        (12.5e6, 12207 * 1024),
    ),
    "tunnel.under.name": ("wireguard", lambda spec: _under(spec).outer[96], [156]),
    "tunnel.under.mode": ("aes-128-cbc", lambda spec: _under(spec).outer[100], [156]),
    "tunnel.under.mtu": (1400, lambda spec: spec.tcp.mss, 1348),
    "tunnel.under.mss": (1400, lambda spec: spec.tcp.mss, 1388),
    "tunnel.under.ip": (6, lambda spec: (spec.tcp.mss, spec.tcp.header_bytes), (1428, 72)),
    "tunnel.under.queue": (7, lambda spec: _under(spec).end.device.queue, 7),
    "tunnel.under.datagram_queue": (7, lambda spec: spec.tunnels[1].datagrams.queue, 7),
    "tunnel.under.fec": ("8:1", lambda spec: _under(spec).fec.data, 8),
    "tunnel.under.fec_timeout": ("7ms", lambda spec: _under(spec).fec.timeout, 7_000_000),
    "tunnel.carriers": (2, lambda spec: [flow.carrier for flow in spec.flows], [0, 1, 0]),
    "tunnel.chain.rate": (
        "7Mbps",
        lambda spec: [hop.path.forward.rate for hop in _beyond(spec)],
        [7e6],
    ),
    "tunnel.chain.rtt": (
        "8ms",
        lambda spec: [hop.path.rtt for hop in _beyond(spec)],
        [8 * 10**6],
    ),
    "tunnel.chain.loss": (
        "4%",
        lambda spec: [hop.path.forward.loss for hop in _beyond(spec)],
        [0.04],
    ),
    "tunnel.chain.buffer": (
        "9p",
        lambda spec: [hop.path.forward.buffer_packets for hop in _beyond(spec)],
        [9],
    ),
    "tunnel.chain.cc": ("reno", lambda spec: [hop.cc.name for hop in _beyond(spec)], ["reno"]),
    "tunnel.relays": (
        3,
        lambda spec: [spec.path.rtt, *(hop.path.rtt for hop in _beyond(spec))],
        [10**7] * 4,
    ),
    "direction": ("down", lambda spec: spec.flows[0].sender, "server"),
    "tcp.mss": (1000, lambda spec: spec.tcp.mss, 1000),
    "tcp.timestamps": (False, lambda spec: (spec.tcp.mss, spec.tcp.header_bytes), (1460, 40)),
    "tcp.window_scaling": (
        False,
        lambda spec: (spec.tcp.receive_window, spec.tcp.window_scale, spec.tcp.syn_bytes),
        (65_160, 0, 56),
    ),
    "tcp.initial_window": (4, lambda spec: spec.tcp.initial_window, 4),
    "tcp.min_rto": ("1s", lambda spec: spec.tcp.min_rto, 10**9),
    "tcp.delayed_ack": ("1ms", lambda spec: spec.tcp.delayed_ack, 10**6),
    "tcp.ack_every": (1, lambda spec: spec.tcp.ack_every, 1),
    "tcp.pacing_quantum": ("0s", lambda spec: spec.tcp.pacing_quantum, 0),
    "tcp.ecn": (True, lambda spec: spec.tcp.ecn, True),
    "tcp.mtu_probing": (2, lambda spec: spec.tcp.mtu_probing, 2),
    "tcp.base_mss": (512, lambda spec: spec.tcp.base_mss, 512),
    "tcp.nodelay": (True, lambda spec: spec.tcp.nodelay, True),
    "hosts.kernel": ("5.10", lambda spec: spec.tcp.receive_window, 3 * 2**20),
    "hosts.tcp_rmem": ("16MiB", lambda spec: spec.tcp.receive_window, 10 * 2**20),
    "hosts.tcp_wmem": ("1MB", lambda spec: spec.tcp.send_buffer, 1_000_000),
    "hosts.tcp_moderate_rcvbuf": (False, lambda spec: spec.tcp.initial_receive_window, 0),
    "hosts.gro": ("20us", lambda spec: spec.tcp.gro, 20_000),
    "hosts.cores": (5, lambda spec: (spec.client.cores, spec.server.cores), (5, 5)),
    "hosts.speed": (0.5, lambda spec: spec.server.speed, 0.5),
    "hosts.memory": ("4GB", lambda spec: spec.server.tcp_memory, 375_000_000),
    "hosts.tcp_memory": ("1GB", lambda spec: spec.client.tcp_memory, 10**9),
    "hosts.profile": ("reference-host", lambda spec: spec.client.switch_cost > 0, True),
    "hosts.app_cost": (2, lambda spec: spec.flows[0].app_per_byte.client, 2.0),
    "hosts.switch_cost": (1500, lambda spec: spec.server.switch_cost, 1500),
    "hosts.one_machine": (True, lambda spec: [host.machine for host in spec.hosts], [0, 0]),
    "duration": ("12s", lambda spec: spec.duration, 12 * 10**9),
    "until": ("settled", lambda spec: spec.until, 0.05),
    "warmup": ("2s", lambda spec: spec.warmup, 2 * 10**9),
    "probe_congestion": (True, lambda spec: spec.probe_congestion, True),
    "probe_interval": ("50ms", lambda spec: spec.probe_interval, 50_000_000),
    "start_jitter": ("0s", lambda spec: spec.flows[0].start, 0),
    "seed": (7, lambda spec: spec.seed, 7),
}
#: Tested below, or of no effect on the models.
ELSEWHERE = {
    "title", "flows.mptcp.paths", "flows.mptcp.backup", "flows.mptcp.scheduler",
    "tunnel.mptcp.paths", "tunnel.mptcp.backup", "tunnel.mptcp.scheduler",
    "tunnel.mpquic.paths", "tunnel.mpquic.backup", "tunnel.mpquic.scheduler",
    "flows.interarrival", "flows.bytes_shape", "flows.bytes_most", "flows.user",
    "hosts.tcp_adv_win_scale", "path.trace", "tunnel.version", "tunnel.under.version",
}  # fmt: skip


def _in_its_member(info):
    """Where a key of a queue discipline arrives, of which nothing is said above."""
    name = info.key.removeprefix("path.queue.")
    default = info.kind.parse(info.default) if info.kind else info.default
    other = not default if isinstance(default, bool) else default + 1
    value = info.kind.format(other) if info.kind else other
    return value, lambda spec: getattr(spec.path.forward.queue, name), other


#: Members of structs of models/spec/. Keys with their names pass through as they are.
_MEMBERS = {name for members in core.load().spec_members().values() for name in members}
ARRIVALS |= {
    info.key: _in_its_member(info)
    for info in keys_of(Experiment)
    if info.key.startswith("path.queue.")
    and info.key not in ARRIVALS
    and info.key.removeprefix("path.queue.") in _MEMBERS
}

#: Keys that say who is where: test_network.py.
OF_NETWORKS = (
    "path.reverse.", "tunnels.", "network.", "flows.from", "flows.to", "flows.direction",
    "flows.route", "tunnel.chain.host", "flows.ack_route", "flows.tunnel", "tunnel.between",
    "tunnel.uplinks.",
    "cross_traffic.from", "cross_traffic.to",
    "cross_traffic.direction", "cross_traffic.route",
    "pings.from", "pings.to", "pings.direction", "pings.route",
)  # fmt: skip

#: What keys of the path need around them to have an effect.
AROUND = {
    "path.reverse_buffer": {"reverse_rate": "1Mbps"},
    "path.gilbert_elliott": {"gilbert_elliott": {"p": "1%", "r": "20%"}},
    "path.policer": {"policer": {"rate": "50Mbps"}},
    "path.jitter": {"jitter": "1ms"},
    "path.jitter_distribution": {"jitter": "1ms"},
    "path.jitter_reorders": {"jitter": "1ms"},
    "path.jitter_deviation": {"jitter": "1ms", "jitter_distribution": "normal"},
    "path.handover": {"rtt_steps": [["1s", "9ms"]]},
    **{
        key: {"queue": discipline_with(key.removeprefix("path.queue."))}
        for key in ARRIVALS
        if key.startswith("path.queue.")
    },
}


def test_every_key_arrives_somewhere():
    keys = {
        info.key
        for info in keys_of(Experiment)
        if not info.key.startswith(("hosts.client.", "hosts.server.", *OF_NETWORKS))
    }
    assert keys == set(ARRIVALS) | ELSEWHERE


@pytest.mark.parametrize("key", ARRIVALS)
def test_each_key_arrives(key):
    value, arrival, expected = ARRIVALS[key]
    table = {"path": AROUND.get(key) or AROUND.get(key.rpartition(".")[0], {})}
    if key.startswith("tunnel."):
        table = DATAGRAM if key.partition(".")[2] in DatagramEntry.OVERRIDES else RELAY
    if key in ("tunnel.fec", "tunnel.fec_timeout"):
        table = {"tunnel": "sdwan-fec"}
    if key.startswith("tunnel.kcp."):
        table = {"tunnel": {"name": "kcptun", "mode": "manual"}}
    if key == "tunnel.rate":
        table = {"tunnel": {"name": "finalspeed", "rate": "20Mbps"}}
    if key == "tunnel.datagram_queue":
        table = {"tunnel": "connect-ip"}
    if key.startswith("tunnel.under."):
        under = "sdwan-fec" if "fec" in key else "ethudp"
        table = {"tunnel": {"name": "gost-relay-ws", "under": {"name": under}}}
    if key == "tunnel.under.datagram_queue":
        table = {"tunnel": {"name": "wireguard", "under": {"name": "connect-ip"}}}
    if key == "tunnel.relays":
        table = {"tunnel": "gost-relay-ws"}  # RELAY has a chain
    table = DATAGRAM if key == "path.mtu" else table
    if key == "flows.payload":
        table = {"tunnel": {"name": "ethudp", "mode": "lz4"}}
    if key in ("tunnel.carriers", "tunnel.stream_window"):
        table = {"tunnel": "gost-relay-mws", "flows": [{"count": 3}]}
    if key == "tunnel.receive_buffer":
        table = RELAY
    if key == "tunnel.session_buffer":
        table = {"tunnel": "kcptun"}
    if key.startswith("tunnel.first_"):
        table = {"tunnel": "gost-quic"}
    if key.startswith("flows.") and key.removeprefix("flows.") in FlowControl.model_fields:
        table = {"flows": {"transport": "quic"}}
    if key == "tunnel.connection_window":
        table = {"tunnel": "gost-http2"}
    table = CROSS_TRAFFIC if key.startswith("cross_traffic.") else table
    table = PINGS if key.startswith("pings.") else table
    table = {"flows.traffic": CALL, "flows.gaps": UDP, "flows.playout": CALL}.get(key, table)
    if key == "cross_traffic.tunnel":
        table = {"cross_traffic": [{"rate": "1Mbps", "packet": 1000}]}
    assert arrival(_spec({}, table)) != expected
    assert arrival(_spec({key: value}, table)) == expected


@pytest.mark.parametrize(("kernel", "packets"), [("6.18", 910), ("5.10", 184)])
def test_a_tunnels_socket_has_room_for_packets_as_large_as_linux_keeps_them(kernel, packets):
    """1 MiB is doubled, if net.core.rmem_max lets it, and a full packet takes 2304 bytes."""
    keys = {"tunnel.name": "openvpn-udp", "tunnel.receive_buffer": "1MiB", "hosts.kernel": kernel}
    assert _spec(keys).tunnel.end.socket.queue == packets


@pytest.mark.parametrize(
    ("name", "packets"),
    [
        ("udpspeeder", {"6.18": 910, "5.10": 184}),
        ("ethudp", {"6.18": 3640, "5.10": 184}),  # asks for 10 MiB, and there are twice 4 MiB
        ("tinc", {"6.18": 92, "5.10": 92}),  # asks for none
    ],
)
def test_what_a_program_asks_for_depends_on_the_kernel(name, packets):
    for kernel, expected in packets.items():
        spec = _spec({"tunnel.name": name, "hosts.kernel": kernel})
        assert spec.tunnel.end.socket.queue == expected, kernel


def test_ip_inside_and_outside_a_tunnel():
    def sizes(name, **keys):
        """MSS and headers of the flow, and of the connection on the path or the loopback."""
        keys = {key.replace("_", "."): value for key, value in keys.items()}
        spec = _spec({"tunnel.name": name, **keys})
        flow = spec.flows[0]
        other = getattr(spec.tunnel, "carrier_tcp", None) or spec.settings[flow.app_tcp]
        return spec.tcp.mss, spec.tcp.header_bytes, other.mss, other.header_bytes

    assert sizes("vtun") == (1398, 52, 1448, 52)
    assert sizes("vtun", path_ip=6) == (1378, 72, 1428, 72)
    assert sizes("vtun", path_ip=6, tunnel_ip=4) == (1398, 52, 1428, 72)
    assert sizes("vtun", tunnel_ip=6) == (1378, 72, 1448, 52)
    # A relay's carrier, and the loopback.
    assert sizes("gost-relay-ws") == (1448, 52, 65483, 52)
    assert sizes("gost-relay-ws", path_ip=6) == (1428, 72, 65464, 72)
    assert sizes("gost-relay-ws", tunnel_ip=6) == (1448, 52, 65464, 72)


def test_datagrams_of_carriers_have_the_headers_of_ip():
    def headers(name, ip):
        rate = {"tunnel.rate": "10Mbps"} if name == "finalspeed" else {}
        tunnel = _spec({"tunnel.name": name, "path.ip": ip, **rate}).tunnel
        if name == "finalspeed":
            pings = tunnel.rudp.pings
            return [tunnel.rudp.packets.header, tunnel.rudp.acks.header, pings.bytes, pings.reply]
        return [tunnel.kcp.header if tunnel.kcp else tunnel.quic.packets.header]

    for name in ("kcptun", "hysteria2", "finalspeed"):
        assert headers(name, 6) == [it + 20 for it in headers(name, 4)]
    quic = {"flows": [{"transport": "quic"}]}
    assert [_spec({"path.ip": ip}, quic).quic[0].packets.header for ip in (4, 6)] == [28, 48]


def test_adv_win_scale_arrives():
    settings = {"hosts.kernel": "5.10", "hosts.tcp_adv_win_scale": 2}
    assert _spec(settings).tcp.receive_window == 4.5 * 2**20


def test_one_bdp_of_buffer():
    link = _spec({"path.rate": "100Mbps", "path.rtt": "100ms"}).path.forward
    assert (link.buffer_bytes, link.buffer_packets) == (1_250_000, 0)


def test_a_buffer_as_the_time_to_empty_it():
    steps = {"path.rate_steps": [["1s", "1Mbps"]], "path.rtt": "7ms"}
    for rate, expected in (("100Mbps", 625_000), ("8Mbps", 50_000)):
        link = _spec({"path.rate": rate, "path.buffer": "50ms", **steps}).path.forward
        assert (link.buffer_bytes, link.buffer_packets) == (expected, 0)
    back = {"path.reverse_rate": "8Mbps", "path.reverse_buffer": "0.1s"}
    assert _spec(back).path.reverse.buffer_bytes == 100_000
    link = _spec({"path.rate": "8Mbps", "path.ecn_threshold": "20ms"}).path.forward
    assert link.queue.ecn_threshold == 20_000


def test_the_reverse_path_is_not_limited_unless_said():
    link = _spec().path.reverse
    assert (link.rate, link.buffer_bytes, link.framing) == (0, 0, 0)


def test_windows_are_those_of_the_hosts_that_use_them():
    settings = {
        "hosts.client.tcp_wmem": "1MB",
        "hosts.server.tcp_rmem": "8MiB",
        "hosts.server.tcp_wmem": "2MB",
        "hosts.client.tcp_rmem": "32MiB",
    }
    up, down = _spec(settings), _spec({**settings, "direction": "down"})
    assert (up.tcp.send_buffer, up.tcp.receive_window) == (1_000_000, 5 * 2**20)
    assert (down.tcp.send_buffer, down.tcp.receive_window) == (2_000_000, 20 * 2**20)


def test_the_carrier_uses_the_flows_algorithm_unless_said():
    flows = {"flows": [{"cc": "bbr"}, {"cc": "cubic"}]}
    spec = _spec({}, {**flows, **RELAY})
    assert [flow.carrier_cc.name for flow in spec.flows] == ["bbr", "cubic"]
    spec = _spec({"tunnel.cc": "reno"}, {**flows, **RELAY})
    assert [flow.carrier_cc.name for flow in spec.flows] == ["reno", "reno"]
    assert [flow.cc.name for flow in spec.flows] == ["bbr", "cubic"]


def test_a_client_that_wants_data_asks_for_them():
    assert _spec().flows[0].preamble == 0
    assert _spec({"direction": "down"}).flows[0].preamble == 37
    assert _spec({"direction": "down", "flows.preamble": 1}).flows[0].preamble == 1


def test_parameters_of_an_algorithm_arrive():
    flow = _spec({"flows.cc": {"name": "bbr", "cwnd_gain": 2.5}}).flows[0]
    assert vars(flow.cc.parameters) == {"cwnd_gain": 2.5}
    flow = _spec({"flows.cc": {"name": "bbr3", "probe_rtt_interval": "10s"}}).flows[0]
    assert vars(flow.cc.parameters) == {"probe_rtt_interval": 10.0}


def _loopbacks(settings):
    spec = _spec(settings, RELAY)
    flow = spec.flows[0]
    return SimpleNamespace(
        app_tcp=spec.settings[flow.app_tcp], target_tcp=spec.settings[flow.target_tcp]
    )


def test_the_sending_end_has_the_larger_loopback_window():
    up, down = _loopbacks({}), _loopbacks({"direction": "down"})
    assert (up.app_tcp.send_buffer, up.app_tcp.receive_window) == (2_626_560, 300_000)
    assert (up.target_tcp.send_buffer, up.target_tcp.receive_window) == (2_630_000, 130_000)
    assert down.target_tcp.send_buffer == up.app_tcp.send_buffer
    assert down.app_tcp.receive_window == up.target_tcp.receive_window
    assert up.app_tcp.mss == 65483


def test_relays_send_without_nagle():
    assert _spec({}, RELAY).tcp.nodelay
    assert not _loopbacks({}).app_tcp.nodelay
    # sshd's connection has Nagle's rule, whatever applications set on theirs.
    assert not _spec({"tcp.nodelay": True, "tunnel": "ssh-forward"}).tcp.server_nodelay
    assert _spec({"tcp.nodelay": True} | RELAY).tcp.server_nodelay
    assert not _spec().tcp.nodelay


@pytest.mark.parametrize(
    ("streams", "client", "server"), [(1, 0.56, 2.35), (128, 0.91, 1.77), (1000, 0.91, 1.77)]
)
def test_cpu_costs_per_number_of_streams(streams, client, server):
    cost = _spec({"flows.count": streams}, RELAY).tunnel.sent.client
    assert _per_ip_byte(cost.send, [4104] * 8) == pytest.approx(client)
    assert _per_ip_byte(cost.receive, [4104] * 8) == pytest.approx(server)


def _per_ip_byte(work, writes):
    """CPU time (ns per IP byte) of a message."""
    wire = sum(writes)
    cost = work.per_byte * wire + work.per_message + work.per_write * (len(writes) - 1)
    return cost / (wire * 1500 / 1448)


def test_cpu_costs_between_measured_numbers_of_streams():
    cost = _spec({"flows.count": 2}, RELAY).tunnel.sent.client
    assert _per_ip_byte(cost.receive, [4104] * 8) == pytest.approx((2.35 + 2.21) / 2)


def test_the_server_sends_downwards():
    cost = _spec({"direction": "down"}, RELAY).tunnel.sent.server
    assert _per_ip_byte(cost.send, [32772]) == pytest.approx(0.61)
    assert _per_ip_byte(cost.receive, [32772]) == pytest.approx(3.20)


def test_a_relays_system_calls_cost_what_the_profile_says(tmp_path):
    file = tmp_path / "mine.toml"
    slow = 'per_byte = 0\nlabel = "stated"\nsource = "here"\n'
    file.write_text(
        'summary = "mine"\nbase = "reference-host"\n'
        f"[operations.syscall]\nper_call = 2000\n{slow}"
        f"[operations.tcp-send]\nper_call = 30000\n{slow}"
    )
    then = _spec({}, RELAY).tunnel.sent.client.send
    now = _spec({"hosts.profile": str(file)}, RELAY).tunnel.sent.client.send
    reference = costs.load(costs.REFERENCE)
    read, write = (reference.operation(f"tcp-{verb}").per_call for verb in ("receive", "send"))
    assert (then.per_message, then.per_write) == (
        read + write,
        reference.operation("syscall").per_call,
    )
    assert (now.per_message, now.per_write) == (read + 30000, 2000)
    assert now.per_byte == then.per_byte > 0


def test_system_calls_cost_no_more_than_a_relay_in_all(tmp_path):
    file = tmp_path / "light.toml"
    text = (catalog.DIRECTORY / "gost-relay-ws.toml").read_text()
    file.write_text(
        text.replace("client = [0.56, 0.55, 0.60, 0.74, 0.91]", "client = [0.01, 0, 0, 0, 0]")
    )
    send = _spec({}, {"tunnel": str(file)}).tunnel.sent.client.send
    assert send.per_byte == pytest.approx(0, abs=1e-12)
    assert _per_ip_byte(send, [4104] * 8) == pytest.approx(0.01)
    none = _spec({"flows.count": 4}, {"tunnel": str(file)}).tunnel.sent.client.send
    assert (none.per_byte, none.per_message, none.per_write) == (0, 0, 0)


@pytest.mark.parametrize("tunnel", ["gost-relay-mwss", "kcptun"])
def test_copy_loops_of_a_shared_carrier_pay_for_reading(tunnel):
    sent = _spec({}, {"tunnel": tunnel}).tunnel.sent.client
    receive = costs.load(costs.REFERENCE).operation("tcp-receive").cost
    assert (sent.read.per_message, sent.read.per_byte) == receive
    entry = catalog.load(tunnel)
    frame = entry.mux.to_server.max_frame
    writes = layer_wire_bytes(entry.stream_layers(is_up=True), frame + 8, 2**20)
    write = sent.send.per_byte * sum(writes) + sent.send.per_message
    write += sent.send.per_write * (len(writes) - 1)
    read = receive(entry.copy_buffer.bytes) * frame / entry.copy_buffer.bytes
    # Together they take the measured time.
    assert read + write == pytest.approx(
        entry.cpu.to_server.client[0] * sum(writes) * 1500 / 1448, rel=1e-6
    )


def test_a_program_with_one_thread_reads_and_writes_at_once():
    for tunnel in ("ssh-forward", "gost-relay-ws"):
        sent = _spec({}, {"tunnel": tunnel}).tunnel.sent.client
        assert (sent.read.per_message, sent.read.per_byte) == (0, 0)
        assert sent.send.per_message > 0


def _carriers(sharing, tunnel="gost-relay-mws"):
    flows = [{"user": "a", "count": 2}, {"user": "b"}, {"count": 2}]
    table = {"tunnel": {"name": tunnel, **sharing}, "flows": flows}
    return [flow.carrier for flow in _spec({}, table).flows]


def test_who_shares_a_carrier():
    assert _carriers({}) == [0, 0, 0, 0, 0]
    assert _carriers({"carriers": "all"}) == [0, 0, 0, 0, 0]
    assert _carriers({"carriers": "user"}) == [0, 0, 1, 2, 3]
    assert _carriers({"carriers": "flow"}) == [0, 1, 2, 3, 4]
    assert _carriers({"carriers": 2}) == [0, 1, 0, 1, 0]
    assert _carriers({"carriers": 9}) == [0, 1, 2, 3, 4]
    assert _carriers({}, "gost-relay-ws") == [0, 1, 2, 3, 4]


def _hops(path, *chain):
    tunnel = {"name": "gost-relay-ws", "chain": list(chain)}
    return [hop.path for hop in _beyond(_spec({}, {"path": path, "tunnel": tunnel}))]


def test_a_hop_is_like_the_path_unless_said():
    path = {"rate": "20Mbps", "loss": "1%", "rate_steps": [["1s", "5Mbps"]]}
    first, second = _hops(path, {"rtt": "10ms"}, {"rate": "5Mbps"})
    assert (first.rtt, first.forward.rate, first.forward.loss) == (10**7, 20e6, 0.01)
    assert (second.rtt, second.forward.rate) == (40 * 10**6, 5e6)
    assert [(step.time, step.rate) for step in first.forward.rate_steps] == [(10**9, 5e6)]
    assert not second.forward.rate_steps, "its own rate is constant"
    tunnel = {"name": "gost-relay-ws", "chain": [{}]}
    assert _spec({}, {"tunnel": tunnel}).tunnel.hops[1].cc.name == ""


def test_a_hops_own_rate_replaces_the_paths_trace(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_Mbps\n0,30\n2,40\n")
    like, own = _hops({"trace": str(file)}, {}, {"rate": "5Mbps"})
    assert [step.rate for step in like.forward.rate_steps] == [40e6]
    assert (own.forward.rate, own.forward.rate_steps) == (5e6, [])
    assert own.forward.buffer_bytes == 5e6 * 0.04 / 8, "1bdp of its own rate"


def test_a_hops_own_loss_replaces_the_paths_bursts():
    like, own, none = _hops(
        {"gilbert_elliott": {"p": "1%", "r": "20%"}}, {}, {"loss": "3%"}, {"loss": "0%"}
    )
    assert (like.forward.gilbert_elliott.p, like.forward.loss) == (0.01, 0)
    assert (own.forward.gilbert_elliott, own.forward.loss) == (None, 0.03)
    assert (none.forward.gilbert_elliott, none.forward.loss) == (None, 0)


def test_relays_divide_rtt_and_loss():
    table = {
        "path": {"rtt": "90ms", "loss": "10%", "reverse_loss": "1%", "reverse_rate": "10Mbps"},
        "tunnel": {"name": "gost-relay-ws", "relays": 2},
    }
    spec = _spec({}, table)
    parts = [spec.path, *(hop.path for hop in _beyond(spec))]
    assert [part.rtt for part in parts] == [30 * 10**6] * 3
    assert spec.flows[0].extra_delay.client == 0
    assert parts[1].forward.buffer_bytes == 100e6 * 0.03 / 8
    for direction, loss in (("forward", 0.1), ("reverse", 0.01)):
        arrives = math.prod(1 - getattr(part, direction).loss for part in parts)
        assert arrives == pytest.approx(1 - loss)


@pytest.mark.parametrize(("tcp", "full"), [({}, 1228), ({"timestamps": False}, 1240)])
@pytest.mark.parametrize("tunnel", [None, "gost-relay-wss", "openvpn-tcp"])
def test_full_segments_fit_into_the_paths_mtu(tunnel, tcp, full):
    experiment = Experiment(path={"mtu": 1280}, tunnel=tunnel, tcp=tcp)
    spec = _parsed(experiment)
    assert resolve(experiment).first.links.mss == full
    across = spec.tunnel.carrier_tcp if tunnel == "openvpn-tcp" else spec.tcp
    assert across.mss == full


@pytest.mark.parametrize("tunnel", [None, "gost-relay-wss", "openvpn-tcp"])
def test_a_buffer_needs_room_for_what_fits_the_paths_mtu(tunnel):
    path = {"rate": "10Mbps", "rtt": "20ms", "mtu": 1280}
    Experiment(path={**path, "buffer": "1280B"}, tunnel=tunnel)
    with pytest.raises(ConfigError, match=r"room for one packet \(1280 bytes\)"):
        Experiment(path={**path, "buffer": "1279B"}, tunnel=tunnel)


def test_a_wide_path_does_not_make_segments_larger():
    assert resolve(Experiment(path={"mtu": 9000})).first.links.mss == 1448
