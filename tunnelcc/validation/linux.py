# SPDX-License-Identifier: GPL-2.0-only
"""Checks against real Linux 6.18 over an emulated bottleneck: data/linux/README.md.

Tolerances: goodput within 10 % where the reference's own runs vary by less than that, else within
25 % or 0.3 Mbit/s; queueing delay within 20 %; retransmission ratio within 20 % where it is above
0.5 %; RTT within 10 %; shares within 10 percentage points.

Where BBR may be bistable (from 10 % loss on) its goodput is compared by branches, and queueing
delay and RTT, which follow it, are not compared. The mean retransmission ratio is: it is the loss
rate, whatever the branch. In the reference 19.9 and 19.9 % at 11 and 2 Mbit/s, 30.1 and 31.2 % at 7
and 0.5 Mbit/s; here, means of the fastest and the slowest tenth of 128 runs are within 4 % of each
other in all eight cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tunnelcc.config import Experiment
from tunnelcc.metrics import mean
from tunnelcc.validation import causes, theory
from tunnelcc.validation.check import Case, Check, Group, Kind, Measure
from tunnelcc.validation.compare import Between, MeanNear, SameBranches, SameFrequency
from tunnelcc.validation.measure import START_UP, Measurement, Run, Series
from tunnelcc.validation.reference import (
    ReferenceCell,
    branch_counts,
    cells,
    mean_window,
    measured_again,
    periodic_loss,
    series,
)

SOURCE = "Linux 6.18"

#: Seeds of a condition with random loss, of one where BBR may be bistable, and of one that only
#: start times and algorithms vary.
RANDOM_SEEDS = 16
BISTABLE_SEEDS = 128
OTHER_SEEDS = 4

_LEFT_OUT = (
    "Not compared: queueing delay and RTT of BBR alone from 10 % loss on, at 10 and 100 ms (eight "
    "cells). They follow its goodput, which at 100 ms takes one of two branches: two to four runs "
    "of the reference give no mean of these. The rule goes by loss alone, so that it covers 10 ms, "
    "too, where the reference shows no branches; the numbers are in "
    "tunnelcc/validation/data/README.md."
)
# BBR's goodput is bistable from this loss on.
_BISTABLE_LOSS = 0.1
# Below this ratio (%) retransmissions are few, and not compared.
_LEAST_RATIO = 0.5
# Linux's tcp_rmem and tcp_wmem in the reference, but for window_limits.
_LARGE_BUFFER = "64MiB"
# The reference's application, inferred: measured again with these and 4 MiB of tcp_wmem, queues
# and RTTs are its own; with writes of 128 KiB or Nagle's rule they are others (data/README.md).
_WRITE_SIZE = "32KiB"
_PAYLOAD_SHARE = 1448 / 1500
# The emulated link sent packets late, 99 % of them by less than 0.2 ms (data/README.md). The shape
# was not recorded. On another such link the 99th percentile is 4.25 times the median; of the
# simulator's distributions the half-normal one comes nearest (3.8), and with that percentile it
# has this mean: sqrt(2 / pi) of a deviation of 0.2 ms / 2.576.
_LATENESS = {
    "jitter": f"{0.2 * math.sqrt(2 / math.pi) / 2.576:.3f}ms",
    "jitter_distribution": "half-normal",
}
# When the UDP of variable_load begins and ends, s.
_UDP_TIME = (5, 15)


def group() -> Group:
    """Return the checks against real Linux."""
    return Group(
        "linux",
        "measurements of Linux 6.18",
        causes.attach(_checks(), causes.read("linux")),
        _LEFT_OUT,
    )


def _checks() -> Iterator[Check]:
    for cell in cells("loss_by_rtt"):
        yield from _loss_by_rtt(cell)
    for cell in cells("buffer_shares"):
        yield from _buffer_shares(cell)
    for cell in cells("late_joiner"):
        yield from _late_joiner(cell)
    for cell in cells("rtt_fairness"):
        yield from _rtt_fairness(cell)
    for cell in cells("window_limits"):
        yield from _window_limits(cell)
    for cell in cells("variable_load"):
        yield from _variable_load(cell)
    for (cc, rtt, period), runs in periodic_loss().items():
        yield _periodic_loss(cc, rtt, period, mean([run.window for run in runs]))


def case(
    cell: ReferenceCell,
    loss: float | None = None,
    cross_traffic: Sequence[Mapping[str, str]] = (),
    **hosts: str,
) -> Case:
    """Return the simulation of a cell, with another loss rate if given, and hosts' settings."""
    path = {
        "rate": f"{cell.rate:g}Mbps",
        "rtt": f"{cell.rtt:g}ms",
        "loss": f"{100 * (cell.loss if loss is None else loss):.6g}%",
        "buffer": f"{cell.buffer}p",
        **_LATENESS,
    }
    buffers = {"tcp_rmem": _LARGE_BUFFER, "tcp_wmem": _LARGE_BUFFER}
    buffers.update(hosts)
    variants = tuple(
        Experiment.parse(
            {
                "path": path,
                "flows": [
                    {
                        "cc": flow.cc,
                        "rtt": f"{flow.rtt:g}ms",
                        "start": f"{flow.start:g}s",
                        "write_size": _WRITE_SIZE,
                    }
                    for flow in run.flows
                ],
                "cross_traffic": list(cross_traffic),
                "tcp": {"nodelay": True},
                "hosts": buffers,
                "duration": f"{cell.duration:g}s",
                "warmup": f"{START_UP:g}s",
            }
        )
        for run in cell.runs
    )
    key = cell.name if loss is None else f"{cell.name} loss {loss:.6g}"
    fewest = RANDOM_SEEDS if _is_bistable(cell) else 1
    seeds = RANDOM_SEEDS if cell.loss else OTHER_SEEDS
    if _is_bistable(cell):
        seeds = BISTABLE_SEEDS
    return Case(key, variants, seeds, fewest=fewest)


def _is_bistable(cell: ReferenceCell) -> bool:
    return cell.runs[0].flows[0].cc == "bbr" and cell.loss >= _BISTABLE_LOSS


def _loss_by_rtt(cell: ReferenceCell) -> Iterator[Check]:
    cc = cell.runs[0].flows[0].cc
    place = f"{cc}/{cell.rtt:g}ms/{100 * cell.loss:g}%"
    condition = f"{cc}, 50 Mbit/s × {cell.rtt:g} ms, loss {100 * cell.loss:g} %"
    cases = (case(cell),)
    if _is_bistable(cell):
        yield Check(
            f"linux/branches/{place}", "BBR's branches", SOURCE, condition, cases, goodputs,
            SameBranches(
                tuple(run.goodput for run in cell.runs),
                cell.rate * _PAYLOAD_SHARE * (1 - cell.loss) / 2,
            ),
            Kind.CELL,
        )  # fmt: skip
        for cut, ups, runs in branch_counts(cell.name):
            yield Check(
                f"linux/branches-again/{place}/{cut:g}Mbps", "BBR's branches",
                f"{SOURCE}, {runs} more runs", condition, cases, goodputs,
                SameFrequency(ups, runs, cut), Kind.CELL,
            )  # fmt: skip
    else:
        yield _goodput(f"linux/goodput/{place}", condition, cell, cases)
    ratio = mean([run.retransmission_ratio for run in cell.runs])
    if ratio > _LEAST_RATIO:
        yield _ratio(f"linux/retransmissions/{place}", condition, ratio, cases)
    if _is_bistable(cell):
        return
    yield _queue_delay(f"linux/queue/{place}", condition, cell, cases)
    yield from _rtts(place, condition, cell, cases, _ALL)
    if cell.loss:
        yield _at_counted_loss(place, condition, cell)


def _at_counted_loss(place: str, condition: str, cell: ReferenceCell) -> Check:
    """The same goodput at the loss that the reference's runs had: its seeds are much alike."""
    loss = mean([run.counted_loss for run in cell.runs])
    return Check(
        f"linux/counted-loss/{place}",
        "goodput at the loss that the reference counted",
        SOURCE,
        f"{condition}, as counted {100 * loss:.3g} %",
        (case(cell, loss),),
        goodputs,
        _goodput_near(cell),
        Kind.TOLD,
    )


def _buffer_shares(cell: ReferenceCell) -> Iterator[Check]:
    condition = f"{cell.variant}, 100 Mbit/s × 40 ms, buffer {cell.buffer_bdp} BDP"
    place = f"{cell.variant}/{cell.buffer_bdp}bdp"
    cases = (case(cell),)
    algorithms = {flow.cc for flow in cell.runs[0].flows}
    if len(cell.runs[0].flows) == 1:
        yield _goodput(f"linux/goodput/{place}", condition, cell, cases)
    elif len(algorithms) == 1:
        yield _share(f"linux/shares/{place}", condition + ": larger share", cell, cases, _largest)
    else:
        yield _share(f"linux/shares/{place}", condition + ": BBR's share", cell, cases, _of_bbr)
    yield from _queue_and_ratio(place, condition, cell, cases)
    yield from _rtts(place, condition, cell, cases, *map(_FlowClass, sorted(algorithms)))
    if delays := measured_again().get((cell.variant, cell.buffer_bdp)):
        yield Check(
            f"linux/again/{place}", "queueing delay, measured again without stalls", SOURCE,
            condition, cases, lambda runs: [run.queue_ms for run in runs[0]],
            MeanNear(mean(delays), 0.2, unit="ms"), Kind.CELL,
        )  # fmt: skip


def _late_joiner(cell: ReferenceCell) -> Iterator[Check]:
    cc = cell.runs[0].flows[0].cc
    condition = f"{cc} joined by another after 5 s, 50 Mbit/s × {cell.rtt:g} ms"
    cases, place = (case(cell),), f"{cc}-joined"
    yield _share(f"linux/shares/{place}", condition + ": joiner's share", cell, cases, _of_last)
    yield from _queue_and_ratio(place, condition, cell, cases)
    classes = _FlowClass("first", index=0), _FlowClass("joiner", index=1)
    yield from _rtts(place, condition, cell, cases, *classes)


def _rtt_fairness(cell: ReferenceCell) -> Iterator[Check]:
    cc = cell.runs[0].flows[0].cc
    condition = f"two {cc} of 10 and 50 ms, 50 Mbit/s, {cell.buffer} packets"
    place, cases = f"{cc}-10ms-50ms/{cell.buffer}p", (case(cell),)
    name = f"linux/shares/{place}"
    yield _share(name, condition + ": share of the longer RTT", cell, cases, _of_last)
    if cc == "bbr":
        yield Check(
            f"linux/longer-rtt-wins/{cell.buffer}p", "BBR's longer RTT wins", SOURCE, condition,
            cases, lambda runs: [100 * min(_of_last(run) for run in runs[0])],
            Between(low=50, unit="%", digits=1),
        )  # fmt: skip
    yield from _queue_and_ratio(place, condition, cell, cases)
    classes = _FlowClass("10ms", index=0), _FlowClass("50ms", index=1)
    yield from _rtts(place, condition, cell, cases, *classes)


def _window_limits(cell: ReferenceCell) -> Iterator[Check]:
    cc = cell.runs[0].flows[0].cc
    receive, send = (text[4:-1] for text in cell.variant.split("_"))
    condition = f"{cc}, 200 Mbit/s × 170 ms, tcp_rmem {receive} MiB, tcp_wmem {send} MiB"
    cases = (case(cell, tcp_rmem=f"{receive}MiB", tcp_wmem=f"{send}MiB"),)
    place = f"{cc}/rmem{receive}-wmem{send}"
    yield _goodput(f"linux/goodput/{place}", condition, cell, cases)
    yield from _queue_and_ratio(place, condition, cell, cases)
    yield from _rtts(place, condition, cell, cases, _ALL)
    if (cc, receive, send) == ("cubic", "6", "4"):
        # 129 Mbit/s: the middle of what several measurements of this limit gave, 124 to 130.
        yield Check(
            "linux/default-send-buffer", "send buffer's limit", SOURCE, condition, cases, goodputs,
            MeanNear(129, 0.05, unit="Mbit/s", digits=1),
        )  # fmt: skip


def _variable_load(cell: ReferenceCell) -> Iterator[Check]:
    cc = cell.runs[0].flows[0].cc
    begin, end = _UDP_TIME
    udp = {"rate": "50Mbps", "start": f"{begin}s", "stop": f"{end}s"}
    cases = (case(cell, cross_traffic=[udp]),)
    condition = f"{cc}, 100 Mbit/s × 40 ms, 1 BDP, UDP of 50 Mbit/s from {begin} to {end} s"
    yield _goodput(f"linux/goodput/udp/{cc}", condition, cell, cases)
    yield from _queue_and_ratio(f"udp/{cc}", condition, cell, cases)
    yield from _rtts(f"udp/{cc}", condition, cell, cases, _ALL)
    for what, since, until in (("beside", begin, end), ("after", end, int(cell.duration))):
        (reference,) = series(f"{cell.name}_s1")
        expected = _mean_between(reference, since, until)
        yield Check(
            f"linux/udp/{what}/{cc}", "UDP coming and going", SOURCE, f"{condition}: {what} it",
            cases, _goodput_between(since, until), MeanNear(expected, 0.1, unit="Mbit/s"),
            Kind.CELL,
        )  # fmt: skip


def _periodic_loss(cc: str, rtt: float, period: int, expected: float) -> Check:
    return Check(
        name=f"linux/periodic/{cc}/{rtt:g}ms/{1 / period:g}",
        metric="mean window under periodic loss",
        source=SOURCE,
        condition=f"{cc}, RTT {rtt:g} ms, one packet in {period} lost: goodput × mean RTT",
        cases=(theory.case(cc, rtt / 1e3, 1 / period, "periodic"),),
        measure=lambda runs: [mean_window(run.goodput, run.flows[0].rtt_mean) for run in runs[0]],
        comparison=MeanNear(expected, 0.1, unit="segments", digits=1),
        kind=Kind.CELL,
        slow=theory.is_slow(1 / period),
    )


def _goodput_between(since: float, until: float) -> Measure:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [_mean_between(run.flows[0].series, since, until) for run in runs[0]]

    return measure


def _mean_between(flow: Series, since: float, until: float) -> float:
    """Mean goodput, Mbit/s, from ``since`` to ``until`` s."""
    return float(flow.goodput[(flow.time > since) & (flow.time <= until)].mean())


def _queue_and_ratio(
    place: str, condition: str, cell: ReferenceCell, cases: tuple[Case, ...]
) -> Iterator[Check]:
    yield _queue_delay(f"linux/queue/{place}", condition, cell, cases)
    ratio = mean([run.retransmission_ratio for run in cell.runs])
    if ratio > _LEAST_RATIO:
        yield _ratio(f"linux/retransmissions/{place}", condition, ratio, cases)


def _goodput(name: str, condition: str, cell: ReferenceCell, cases: tuple[Case, ...]) -> Check:
    metric = "goodput" if cell.is_stable else "goodput where the reference varies"
    comparison = _goodput_near(cell)
    return Check(name, metric, SOURCE, condition, cases, goodputs, comparison, Kind.CELL)


def _goodput_near(cell: ReferenceCell) -> MeanNear:
    expected = mean([run.goodput for run in cell.runs])
    if cell.is_stable:
        return MeanNear(expected, 0.1, unit="Mbit/s")
    return MeanNear(expected, 0.25, 0.3, unit="Mbit/s")


def _queue_delay(name: str, condition: str, cell: ReferenceCell, cases: tuple[Case, ...]) -> Check:
    comparison = MeanNear(mean([run.queue_ms for run in cell.runs]), 0.2, unit="ms")
    return Check(
        name, "queueing delay", SOURCE, condition, cases,
        lambda runs: [run.queue_ms for run in runs[0]], comparison, Kind.CELL,
    )  # fmt: skip


@dataclass(frozen=True)
class _FlowClass:
    """Flows of a run that are alike: those of an algorithm, the one at an index, or all of them.

    ``name``: in words; an algorithm, unless ``index`` is given or it is empty.
    """

    name: str = ""
    index: int | None = None

    def mean(self, run: Run, what: str) -> float:
        """Return the mean of an attribute of its flows."""
        flows = run.flows
        if self.index is not None:
            flows = [flows[self.index]]
        elif self.name:
            flows = [flow for flow in flows if flow.cc == self.name]
        return mean([getattr(flow, what) for flow in flows])


_ALL = _FlowClass()


def _rtts(
    place: str, condition: str, cell: ReferenceCell, cases: tuple[Case, ...], *classes: _FlowClass
) -> Iterator[Check]:
    """Mean and 95th percentile of the RTT of each class of flows; means over its flows."""
    for flows in classes:
        suffix, whose = (f"/{flows.name}", f": {flows.name}") if len(classes) > 1 else ("", "")
        for key, metric, what in (
            ("rtt-mean", "mean RTT", "rtt_mean"),
            ("rtt-p95", "95th percentile of the RTT", "rtt_p95"),
        ):
            expected = mean([flows.mean(run, what) for run in cell.runs])
            yield Check(
                f"linux/{key}/{place}{suffix}", metric, SOURCE, condition + whose, cases,
                _mean_of(flows, what), MeanNear(expected, 0.1, unit="ms"), Kind.CELL,
            )  # fmt: skip


def _mean_of(flows: _FlowClass, what: str) -> Measure:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [flows.mean(run, what) for run in runs[0]]

    return measure


def _ratio(name: str, condition: str, ratio: float, cases: tuple[Case, ...]) -> Check:
    return Check(
        name, "retransmission ratio", SOURCE, condition, cases,
        lambda runs: [run.retransmission_ratio for run in runs[0]],
        MeanNear(ratio, 0.2, unit="%"), Kind.CELL,
    )  # fmt: skip


def _share(
    name: str,
    condition: str,
    cell: ReferenceCell,
    cases: tuple[Case, ...],
    part: Callable[[Run], float],
) -> Check:
    """Check ``part``, a part of all flows' goodput."""
    expected = mean([100 * part(run) for run in cell.runs])
    return Check(
        name, "shares", SOURCE, condition, cases,
        lambda runs: [100 * part(run) for run in runs[0]],
        MeanNear(expected, absolute=10, unit="%", digits=1), Kind.CELL,
    )  # fmt: skip


def _largest(run: Run) -> float:
    return max(flow.goodput for flow in run.flows) / run.goodput


def _of_last(run: Run) -> float:
    return run.flows[-1].goodput / run.goodput


def _of_bbr(run: Run) -> float:
    return sum(flow.goodput / run.goodput for flow in run.flows if flow.cc == "bbr")


def goodputs(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    """Return the goodput of all flows, Mbit/s, of the runs of the first case."""
    return [run.goodput for run in runs[0]]
