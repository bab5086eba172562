# SPDX-License-Identifier: GPL-2.0-only
"""What programs in a measurement told: iperf3, ping and traffic.py, as series and numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunnelcc.errors import TunnelccError
from tunnelcc.formats.measurement import Measurement, Pings, Series, Stream
from tunnelcc.measure.plan import FlowPlan, Plan
from tunnelcc.measure.virtual import Answers

NAN = float("nan")
_ANSWER = re.compile(r"^\[(?P<at>[\d.]+)\].*icmp_seq=(?P<seq>\d+) .*time=(?P<ms>[\d.]+) ms", re.M)


@dataclass(frozen=True)
class FlowAnswer:
    """One flow. ``goodput``: bit/s after the warm-up. ``retransmits``: segments, of the whole run.

    ``rtt``, ``rtt_p95``: of the smoothed RTT
    after the warm-up, s. ``completion``: s from its start until all was
    read. ``latency``, ``latency_p95``: of messages that were due after the warm-up, from then until
    all was read, s. ``loss``: part of the datagrams that did not arrive. ``delay``: their mean
    one-way delay, s. NaN: it has none.
    """

    stream: Stream
    goodput: float
    retransmits: float = NAN
    rtt: float = NAN
    rtt_p95: float = NAN
    completion: float = NAN
    latency: float = NAN
    latency_p95: float = NAN
    loss: float = NAN
    delay: float = NAN


@dataclass(frozen=True)
class Answer:
    """What was measured. Of the bottleneck: queueing times without service (s), and packets."""

    flows: list[FlowAnswer]
    cross: list[FlowAnswer] = field(default_factory=list)
    pings: Pings | None = None
    queue_mean: float = NAN
    queue_p95: float = NAN
    counts: Mapping[str, float] = field(default_factory=dict)

    def measurement(self, source: str) -> Measurement:
        """Return its series."""
        return Measurement(source, [it.stream for it in self.flows], self.pings)


def read(plan: Plan, answers: Answers, warmup: float, duration: float, link: int = 0,
         is_reverse: bool = False) -> Answer:  # fmt: skip
    """Return what a plan's programs told. ``link``: number of the bottleneck."""
    reader = _Reader(answers, warmup, duration)
    counts: Mapping[str, float] = {}
    ways = answers.link["reverse" if is_reverse else "forward"] or answers.link["forward"]
    if ways:
        counts = ways[link]
    pings = [reader.pings(name) for name in plan.pings]
    return Answer(
        [reader.flow(it) for it in plan.flows],
        [reader.flow(it) for it in plan.cross],
        pings[0] if pings else None,
        counts.get("queue_mean", NAN),
        counts.get("queue_p95", NAN),
        counts,
    )


class _Reader:
    def __init__(self, answers: Answers, warmup: float, duration: float) -> None:
        self._answers, self._warmup, self._duration = answers, warmup, duration

    def flow(self, planned: FlowPlan) -> FlowAnswer:
        kinds = {"iperf3": self._iperf, "stream": self._stream, "datagrams": self._datagrams}
        return kinds[planned.kind](planned)

    def _iperf(self, planned: FlowPlan) -> FlowAnswer:
        found = {}
        for end in ("client", "server"):
            text = self._answers.text(f"{planned.name}-{end}")
            try:
                found[end] = json.loads(text)
            except ValueError:
                raise TunnelccError(
                    f"the measurement failed: iperf3 of {planned.name} told nothing"
                ) from None
        is_down = planned.placed.direction == "down"
        sender, receiver = (
            found["server" if is_down else "client"],
            found["client" if is_down else "server"],
        )
        if not sender["intervals"] or not receiver["intervals"]:
            reason = sender.get("error", "no interval")
            raise TunnelccError(f"the measurement failed: iperf3 of {planned.name}: {reason}")
        start = self._start(sender)
        read = _intervals(receiver, "bytes", self._start(receiver))
        told = _intervals(sender, "retransmits", start)
        cwnd = _intervals(sender, "snd_cwnd", start)[1]
        rtt = _intervals(sender, "rtt", start)[1] * 1e-6
        time, total = read[0], np.cumsum(read[1])
        at = told[0]
        retransmits = np.cumsum(told[1])
        goodput = np.interp(at, time, 8 * total)
        stream = Stream(
            planned.name, at, np.diff(goodput, prepend=0.0) / np.diff(at, prepend=start),
            np.where(rtt > 0, rtt, NAN), cwnd / 1448, retransmits, np.full(len(at), NAN),
            float(np.min(rtt[rtt > 0], initial=np.inf)), {}, planned.placed.flow.cc.name,
        )  # fmt: skip
        return FlowAnswer(
            stream, self._mean(time, total), float(retransmits[-1]), *self._rtts(stream)
        )

    def _start(self, report: Mapping[str, Any]) -> float:
        """Return when an end of iperf3 began, s. It was told to stop at the end of the run."""
        return self._duration - float(report["intervals"][-1]["streams"][0]["end"])

    def _mean(self, time: Series, total: Series) -> float:
        """Return the mean rate after the warm-up of bytes so far, bit/s."""
        if len(time) == 0:
            return 0.0
        # iperf3's last interval ends a little before the run does.
        last = min(self._duration, float(time[-1]))
        until = last if self._duration - last < 1 else self._duration
        begin, end = (float(np.interp(it, [0.0, *time], [0.0, *total]))
                      for it in (self._warmup, last))  # fmt: skip
        rate: float = 8 * (end - begin) / max(until - self._warmup, 1e-9)
        return rate

    def _stream(self, planned: FlowPlan) -> FlowAnswer:
        told = self._answers.json(planned.name)
        arrivals = np.array(told["arrivals"], dtype=float).reshape(-1, 2)
        time, total = arrivals[:, 0] * 1e-9, arrivals[:, 1]
        begin, end = (_so_far(time, total, it) for it in (self._warmup, self._duration))
        done = NAN if told["done"] is None else told["done"] * 1e-9 - planned.placed.start
        samples = np.array(told["samples"], dtype=float).reshape(-1, 4)
        at, rtt = samples[:, 0] * 1e-9, samples[:, 1] * 1e-6
        so_far = np.array([_so_far(time, total, it) for it in at])
        stream = Stream(
            planned.name, at, np.diff(8 * so_far, prepend=0.0) / np.diff(at, prepend=at[0] - 0.1),
            np.where(rtt > 0, rtt, NAN), samples[:, 2], samples[:, 3], np.full(len(at), NAN),
            NAN, {}, planned.placed.flow.cc.name,
        )  # fmt: skip
        return FlowAnswer(
            stream, 8 * (end - begin) / (self._duration - self._warmup),
            float(samples[-1, 3]), *self._rtts(stream), done,
            *self._latencies(planned, told["began"] * 1e-9, time, total),
        )  # fmt: skip

    def _latencies(
        self, planned: FlowPlan, began: float, time: Series, total: Series
    ) -> tuple[float, float]:
        """Return the mean and the 95th percentile of the latency of messages."""
        flow = planned.placed.flow
        if flow.rate is None or planned.placed.bytes is not None or len(total) == 0:
            return NAN, NAN
        size, interval = flow.write_size, 8 * flow.write_size / flow.rate
        number = np.arange(int(total[-1]) // size)
        due = began + number * interval
        read = time[np.searchsorted(total, (number + 1) * size)]
        found = (read - due)[due >= self._warmup]
        if len(found) == 0:
            return NAN, NAN
        return float(found.mean()), float(np.percentile(found, 95))

    def _rtts(self, stream: Stream) -> tuple[float, float]:
        """Return the mean and the 95th percentile of the smoothed RTT after the warm-up."""
        known = stream.rtt[(stream.time > self._warmup) & np.isfinite(stream.rtt)]
        if len(known) == 0:
            return NAN, NAN
        return float(np.mean(known)), float(np.percentile(known, 95))

    def _datagrams(self, planned: FlowPlan) -> FlowAnswer:
        told = self._answers.json(planned.name)
        arrivals = np.array(told["arrivals"], dtype=float).reshape(-1, 3) * [1, 1e-9, 1e-9]
        left, arrived = arrivals[:, 1], arrivals[:, 2]
        after = arrived >= self._warmup
        rate = 8 * told["payload"] * after.sum() / (self._duration - self._warmup)
        grid = np.arange(0.1, self._duration + 0.05, 0.1)
        so_far = np.searchsorted(arrived, grid) * told["payload"]
        unknown = np.full(len(grid), NAN)
        stream = Stream(
            planned.name, grid, np.diff(8.0 * so_far, prepend=0.0) / 0.1, unknown, unknown,
            unknown, unknown, NAN, {}, "udp",
        )  # fmt: skip
        # Of what left after the warm-up, up to the latest that arrived.
        numbers = arrivals[left >= self._warmup, 0]
        expected = numbers.max() - numbers.min() + 1 if len(numbers) else NAN
        return FlowAnswer(
            stream, float(rate), loss=float(1 - len(numbers) / expected),
            delay=float((arrived - left)[after].mean()) if after.any() else NAN,
        )  # fmt: skip

    def pings(self, name: str) -> Pings:
        """Return the RTTs of requests that were answered after the warm-up."""
        text = self._answers.text(name)
        found = [
            (float(it["at"]), int(it["seq"]), float(it["ms"])) for it in _ANSWER.finditer(text)
        ]
        if not found:
            return Pings(np.empty(0), 0)
        # ping tells the kernel's date: the first request's is what it began with.
        at = np.array([it[0] - it[2] * 1e-3 for it in found])
        rtts = np.array([it[2] for it in found]) * 1e-3
        sent = max(it[1] for it in found)
        begin = at[0] - (found[0][1] - 1) * (at[-1] - at[0]) / max(found[-1][1] - found[0][1], 1)
        after = at - begin >= self._warmup
        return Pings(rtts[after], sent)


def _so_far(time: Series, total: Series, when: float) -> float:
    place = int(np.searchsorted(time, when, side="right"))
    return float(total[place - 1]) if place else 0.0


def _intervals(report: Mapping[str, Any], key: str, start: float) -> tuple[Series, Series]:
    """Return the ends of iperf3's intervals (s) and a value of each."""
    rows = [it["streams"][0] for it in report["intervals"]]
    return (
        np.array([start + it["end"] for it in rows]),
        np.array([float(it.get(key, NAN)) for it in rows]),
    )
