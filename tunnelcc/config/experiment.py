# SPDX-License-Identifier: GPL-2.0-only
"""One simulation: its keys, which must agree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pydantic import model_validator

from tunnelcc.config import derived
from tunnelcc.config.derived import buffer_bytes
from tunnelcc.config.flow import LEAST_WRITE_COST, MAX_FLOWS
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import Path
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.hosts import costs
from tunnelcc.schema.units import Buffer, format_time


class Experiment(ExperimentKeys):
    """One path, its flows, the tunnel they go through: one simulation."""

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        problems = list(self._problems())
        if problems:
            raise ConfigError(*problems)
        return self

    def _problems(self) -> Iterator[Problem]:
        count = sum(flow.count for flow in self.flows)
        if count > MAX_FLOWS:
            yield Problem("flows", count, f"at most {MAX_FLOWS} flows in all")
        if self.warmup >= self.duration:
            expected = f"a time before the end (duration = {format_time(self.duration)!r})"
            yield Problem("warmup", format_time(self.warmup), expected)
        if self.probe_interval > self.duration:
            yield Problem(
                "probe_interval", format_time(self.probe_interval), "at most the duration"
            )
        for index, flow in enumerate(self.flows):
            for key in ("start", "data_start"):
                moment = getattr(flow, key)
                if moment is not None and moment >= self.duration:
                    expected = "a time before the end of the run"
                    yield Problem(f"flows.{index}.{key}", format_time(moment), expected)
            if flow.payload != self.flows[0].payload:
                expected = "the payload of flows.0, as a tunnel compresses alike for all flows"
                yield Problem(f"flows.{index}.payload", flow.payload, expected)
            if flow.preamble == 0 and self.direction == "down":
                expected = "at least 1 byte where direction is down: the server waits for a request"
                yield Problem(f"flows.{index}.preamble", 0, expected)
        yield from self._problems_in_stream()
        yield from self._problems_of_parts()
        for index, source in enumerate(self.cross_traffic):
            if source.start >= self.duration:
                expected = "a time before the end of the run"
                yield Problem(f"cross_traffic.{index}.start", format_time(source.start), expected)
        missing = list(self._segment_problems()) or list(self._missing_costs())
        yield from missing
        for side in ("client", "server") if not missing else ():
            per_byte = derived.app_cost(self, side) / self.hosts.of(side).speed
            for index, flow in enumerate(self.flows):
                cost = flow.write_size * per_byte
                if 0 < cost < LEAST_WRITE_COST:
                    expected = (
                        "writes that occupy the CPU for 1us or more (hosts.app_cost, hosts.speed), "
                        "as a system call does"
                    )
                    yield Problem(f"flows.{index}.write_size", flow.write_size, expected)
        if not missing:
            yield from self._buffer_problems()

    def _segment_problems(self) -> Iterator[Problem]:
        """Tell of a path too narrow for the tunnel."""
        try:
            derived.mss(self)
        except ConfigError as error:
            yield from error.below("tunnel").problems

    def _missing_costs(self) -> Iterator[Problem]:
        """Tell of an operation whose cost hosts.profile does not know."""
        try:
            for side in ("client", "server"):
                derived.app_cost(self, side)
                derived.switch_cost(self, side)
            if self.tunnel is not None:
                profile = costs.load(self.hosts.profile or costs.REFERENCE)
                costs.of(profile, self.tunnel.entry.all_operations(self.tunnel.mode))
        except ConfigError as error:
            yield from error.below("hosts.profile").problems

    def _problems_in_stream(self) -> Iterator[Problem]:
        """A tunnel's one connection crosses the path for all flows."""
        if self.tunnel is None or not self.tunnel.entry.HAS_ONE_PATH:
            return
        for index, flow in enumerate(self.flows):
            if flow.rtt is not None:
                expected = f"no value with {self.tunnel.name}: all flows cross path.rtt in it"
                yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)

    def _problems_of_parts(self) -> Iterator[Problem]:
        """What cannot be divided among the parts of a path."""
        if self.tunnel is None or not self.tunnel.relays:
            return
        expected = "no value with tunnel.relays, which divide RTT and random loss; or tunnel.chain"
        for key in ("gilbert_elliott", "policer", "reorder", "jitter"):
            if getattr(self.path, key):
                yield Problem(f"path.{key}", str(self.path.model_dump()[key]), expected)
        for index, flow in enumerate(self.flows):
            if flow.rtt is not None:
                yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)

    def _buffer_problems(self) -> Iterator[Problem]:
        packets = derived.outer_packets(self)
        seen: list[Path] = []
        for index, path in enumerate(derived.paths(self)):
            if path in seen:
                continue  # tells nothing new
            seen.append(path)
            yield from self.model_copy(update={"path": path})._queue_problems(max(packets))
            where = f"tunnel.chain.{index - 1}" if index else "path"
            yield from self._room_problems(path, where, packets)

    def _room_problems(self, path: Path, where: str, packets: Sequence[int]) -> Iterator[Problem]:
        """``packets``: IP bytes of those of a full segment, which come at once."""
        for key, bottleneck, sizes in (
            ("buffer", path.rate, packets),
            ("reverse_buffer", path.reverse_rate, [self.tcp.syn_bytes]),
        ):
            if bottleneck:
                buffer: Buffer = getattr(path, key)
                framed = [size + path.framing_bytes for size in sizes]
                yield from _too_small(buffer, bottleneck, path.rtt, framed, f"{where}.{key}")

    def _queue_problems(self, packet: int) -> Iterator[Problem]:
        """``packet``: bytes of a full segment."""
        path = self.path
        if path.policer is not None and path.policer.burst < packet:
            expected = f"room for one packet, {packet} bytes"
            yield Problem("path.policer.burst", path.policer.burst, expected)
        for problem in path.queue.problems(partial(derived.queue_bytes, self)):
            yield problem.below("path.queue")


def _too_small(
    buffer: Buffer, rate: float, rtt: float, packets: Sequence[int], key: str
) -> Iterator[Problem]:
    """Tell of a queue that ``packets`` (bytes), which come at once, never pass: one is served."""
    waiting = packets[1:]
    if buffer.packets is not None:
        if buffer.packets < len(waiting):
            expected = f"room for all but one of a packet's {len(packets)} fragments"
            yield Problem(key, str(buffer), expected)
        return
    room, needed = buffer_bytes(buffer, rate, rtt), max([*packets, sum(waiting)])
    what = "one packet" if needed == max(packets) else "all fragments of a packet but one"
    if room < needed:
        expected = f"room for {what}, {needed} bytes"
        yield Problem(key, str(buffer), expected, f"it is {room} bytes")
