# SPDX-License-Identifier: GPL-2.0-only
"""What must hold of every run, whatever its experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import tunnelcc as tc
from tunnelcc.metrics import METRICS
from tunnelcc.metrics.limits import LIMITS

_ROUNDING = 1e-9
_TIMESTAMP = 1.1e-3  # s, an RTT from timestamps may be less by as much
# What a part of the network may not have, or not yet: a moment, a policer, an RTT, a session's own.
_MAY_LACK = re.compile(
    r".*_at|arq_.*|tunnel_fec_.*|flow_message_latency_.*|link_(marks|policer_drops)|srtt|ssthresh"
    r"|.*_estimate|mss|link_(mtu_drops|fragmented|fragment_drops)"
    r"|(flow|cross_traffic|ping)_(delay_.*|jitter|play_delay)|.*_relay_drops|(tunnel_queue|udp_socket)_drops"
    r"|tunnel_(too_large|uplinks_.*)"
    r"|flow_(sent|received|expected|resent|reordered|late)|cwnd|congestion_events"
)
# Metrics that are changes, and so have a sign.
_SIGNED = ("flow_drift",)
_COUNTS_SO_FAR = re.compile(r".*(drops|retransmits|rtos)_series")
_SHARES = ("loss_rate", "retransmission_ratio", "cpu_client", "cpu_server", "cpu", "max_min_share")


def check(result: tc.Result, *, closely: bool) -> None:
    """Raise AssertionError for what is wrong in a run's results.

    ``closely``: look at what takes long to make, too.
    """
    for name, value in result.measured.items():
        if not isinstance(value, np.ndarray):
            continue
        known = value[~np.isnan(value)]
        assert known.size == value.size or _MAY_LACK.fullmatch(name), f"{name} is not a number"
        assert np.isfinite(known).all(), f"{name} is infinite"
        assert (known >= 0).all(), f"{name} is negative: {known.min()}"
        if _COUNTS_SO_FAR.fullmatch(name):
            assert (np.diff(value, axis=-1) >= 0).all(), f"{name} falls"
    _check_links(result)
    _check_hosts(result)
    _check_flows(result)
    _check_conservation(result)
    _check_metrics(result)
    _check_rtts(result)
    if closely:
        tc.metrics.of_run(result.dataset.load())


def _at_most(value: Any, most: float, what: str) -> None:
    largest = float(np.max(value, initial=0))
    assert largest <= most * (1 + _ROUNDING), f"{what}: {largest!r} > {most!r}"


def _check_links(result: tc.Result) -> None:
    for name, link in result.links.items():
        for way in (link.forward, link.reverse):
            lost = way.queue_drops + way.random_losses + (way.policer_drops or 0)
            assert lost <= way.packets, f"{name} lost {lost} of {way.packets} packets"
            _at_most(way.utilisation, 1, f"utilisation of {name}")
            _at_most(way.utilisation_series, 1, f"utilisation of {name} at some time")
            assert not (way.marks or 0) > way.packets, f"{name} marks more than it gets"
            _check_quantiles(way, "queue_delay", name)
        for way, config in _directions(result, name):
            if config.rate is not None and not config.varies("rate"):
                most = config.rate / 8 * (result.measured_time + 1e-6) + 1
                _at_most(way.bytes_sent, most, f"bytes served by {name}")


def _directions(result: tc.Result, name: str) -> Iterator[tuple[Any, Any]]:
    link, config = result.links[name], result.network.topology.links[name].path
    yield link.forward, config
    yield link.reverse, config.backward


def _check_quantiles(counts: Any, prefix: str, where: str) -> None:
    quantiles = [getattr(counts, f"{prefix}_{part}") for part in ("p50", "p95", "p99")]
    for low, high in pairwise(it for it in quantiles if it is not None):
        assert low <= high, f"quantiles of {prefix} of {where} fall: {quantiles}"


def _check_hosts(result: tc.Result) -> None:
    experiment = result.experiment
    for name, host in zip(result.host_names, result.hosts, strict=True):
        _at_most(host.cpu, 1, f"CPU use of {name}")
        _at_most(host.cpu_series, 1, f"CPU use of {name} at some time")
    if experiment.hosts.one_machine:
        shares = [
            host.cpu
            for name, host in zip(result.host_names, result.hosts, strict=True)
            if result.network.is_on_first_machine(name)
        ]
        _at_most(sum(shares), 1, "CPU use of the machine")


def _check_flows(result: tc.Result) -> None:
    experiment = result.experiment
    for index, (flow, legs) in enumerate(zip(result.flows, result.legs, strict=True)):
        placed = result.network.flows[index]
        config, start = placed.flow, placed.start
        # The client's preamble goes the same way where the client sends.
        preamble = (config.preamble or 0) if placed.direction == "up" else 0
        assert flow.delivered_bytes <= flow.total_bytes
        if placed.bytes is not None:
            most = placed.bytes + preamble
            assert flow.total_bytes <= most, f"flow {index} got {flow.total_bytes} of {most} bytes"
            if flow.completed_at is not None and config.stop is None:
                assert flow.total_bytes == most, f"flow {index} ended after {flow.total_bytes}"
        if config.rate is not None and config.gaps == "equal":  # else it is a mean
            most = (
                config.rate * max(0.0, experiment.duration - start) / 8
                + config.write_size
                + preamble
            )
            _at_most(flow.total_bytes, most, f"bytes of flow {index}, which has a rate")
        if flow.total_bytes and flow.first_byte_at is not None:
            assert flow.first_byte_at >= start, f"flow {index} gets bytes before it starts"
        _check_quantiles(flow, "message_latency", f"flow {index}")
        for leg in legs:
            measured = sum(getattr(leg, f"limit_{name}") for name in LIMITS)
            _at_most(measured, result.measured_time + 1e-6, f"time limited of flow {index}")
            assert leg.retransmits <= leg.segments
    for index, counts in enumerate(result.cross_traffic):
        assert counts.received <= counts.sent, f"cross traffic {index}: more came than was sent"


def _check_conservation(result: tc.Result) -> None:
    """What crosses a path comes out of it, waits there, or was lost."""
    experiment = result.experiment
    if experiment.network is not None or experiment.warmup > 0 or len(result.links) > 1:
        return
    path, found = experiment.path, result.network
    if path.too_big != "known" or path.fragments == "drop":
        return  # a router adds headers of fragments, and drops what is not counted in bytes
    if experiment.pings:
        return  # whose connections through a relay are not in the results
    sent = {"up": 0, "down": 0}
    legs: dict[int, tuple[Any, str]] = {}
    for index, placed in enumerate(found.flows):
        if result.legs[index] and (
            placed.tunnel is None or not _is_in_packets(result, placed.tunnel)
        ):
            leg = result.path_leg(index)
            legs[id(leg)] = (leg, placed.direction)
    other = {"up": "down", "down": "up"}
    for leg, direction in legs.values():
        sent[direction] += leg.wire_bytes
        sent[other[direction]] += leg.ack_wire_bytes
    for placed_tunnel, counts in zip(found.tunnels, result.tunnels, strict=True):
        if counts is not None:
            direction = "up" if placed_tunnel.sender == "client" else "down"
            sent[direction] += counts.forward.outer_bytes
            sent[other[direction]] += counts.reverse.outer_bytes
    for source, counts in zip(experiment.cross_traffic, result.cross_traffic, strict=True):
        sent[experiment.direction_of(source)] += counts.sent * source.packet
    if len({direction for _, direction in legs.values()}) > 1 or _shares_legs(result):
        return  # a connection of both directions counts what either sends twice
    if any(getattr(it.keys.entry, "rudp", None) for it in found.tunnels):
        return  # pings of RUDP belong to no connection
    (link,) = result.links.values()
    rates = {id(way): config.rate for way, config in _directions(result, *result.links)}
    for direction, way in _ways(result, link):
        framing = path.framing_bytes if rates[id(way)] else 0  # without a rate, none counts it
        framed = sent[direction] + way.packets * framing
        assert way.bytes_sent <= framed, f"{direction}: {way.bytes_sent} bytes out of {framed}"
        lost = way.queue_drops + way.random_losses + (way.policer_drops or 0)
        if lost == 0:
            left = framed - way.bytes_sent
            most = way.queue_bytes_max + path.mtu + path.framing_bytes + 65536
            assert left <= most, f"{direction}: {left} of {framed} bytes are nowhere"


def _ways(result: tc.Result, link: Any) -> Iterator[tuple[str, Any]]:
    first = result.network.flows[0].direction
    data, back = result.bottleneck
    assert {id(data), id(back)} == {id(link.forward), id(link.reverse)}
    yield first, data
    yield ("down" if first == "up" else "up"), back


def _carries_packets(result: tc.Result, tunnel: int) -> bool:
    return result.tunnels[tunnel] is not None


def _is_in_packets(result: tc.Result, tunnel: int) -> bool:
    below = result.network.under(result.network.tunnels[tunnel], hop=0)
    return _carries_packets(result, tunnel if below is None else below)


def _shares_legs(result: tc.Result) -> bool:
    return any(
        placed.tunnel is not None and _carries_packets(result, placed.tunnel) and len(legs) > 1
        for placed, legs in zip(result.network.flows, result.legs, strict=True)
    )


def _check_metrics(result: tc.Result) -> None:
    experiment = result.experiment
    for name, metric in METRICS.items():
        values = np.atleast_1d(np.asarray(metric(result), dtype=float))
        known = values[~np.isnan(values)]
        assert np.isfinite(known).all() or metric.is_event, f"{name} is infinite"
        assert (known >= 0).all() or name in _SIGNED, f"{name} is negative"
        if name.startswith("jain"):
            flows = len(result.flows)
            _at_most(known, 1, name)
            assert (known * flows >= 1 - _ROUNDING).all(), f"{name} = {known} of {flows} flows"
        if name in _SHARES[:-1] or name in ("flow_share", "flow_tunnel_share", "utilisation"):
            _at_most(known, 1, name)
        if name.startswith("flow_limit"):
            _at_most(known, 1 + 1e-6, name)
    if all(flow.payload == "random" for flow in experiment.flows):
        value = result.metric("efficiency")
        assert math.isnan(value) or value <= 1, f"efficiency: {value}"


def _check_rtts(result: tc.Result) -> None:
    """Where flows cross the path at once, their RTT is not below that of the path."""
    for index, (placed, legs) in enumerate(zip(result.network.flows, result.legs, strict=True)):
        tunnel = None if placed.tunnel is None else result.network.tunnels[placed.tunnel].keys
        if not legs or (tunnel is not None and (tunnel.chain or tunnel.relays)):
            continue
        srtt = result.path_leg(index).srtt
        links = [result.network.topology.links[it.link].path for it in placed.traffic.loads]
        shorter = sum(it.rtt - min(rtt for _, rtt in it.over_time("rtt")) for it in links)
        least = placed.traffic.rtt - shorter - _TIMESTAMP
        known = srtt[srtt > 0]
        if len(known):
            assert known.min() >= least, f"SRTT {known.min()} of a path of {least}"
