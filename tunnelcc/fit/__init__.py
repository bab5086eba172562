# SPDX-License-Identifier: GPL-2.0-only
"""From a measurement to the path that it was made on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.analysis.values import Estimate, Quantity, Reason
from tunnelcc.errors import ConfigError, Problem, TunnelccError
from tunnelcc.fit.features import as_measured, features
from tunnelcc.fit.reading import Reading, reading
from tunnelcc.fit.search import CONFIDENCE, interval, search
from tunnelcc.formats.measurement import Measurement, merged
from tunnelcc.formats.read import read
from tunnelcc.modules import trust
from tunnelcc.output.progress import RunsProgress
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import format_probability, format_rate, format_time
from tunnelcc.store import Store
from tunnelcc.sweeps.execute import complete, executor

#: Simulations of a fit.
RUNS = 208
ROUNDS = 5
#: Longer measurements are simulated this far (s).
LONGEST = 30.0

_DROP_TAIL = "drop-tail"
#: What may drop packets instead of a full drop-tail queue.
QUEUES = ("codel", "policer")
# What the search finds.
_SEARCHED = ("rate", "rtt", "buffer", "loss")
# Sizes of a policer's bucket (bytes), and the rate of the link behind it, relative to its own.
_BUCKETS, _FASTER = (15e3, 1e6), 10.0
# What may drop packets instead of a full queue: its rate is at most this times the goodput's.
_RATES_OF = {"codel": 1.1, "policer": 1.5}
# An interval whose ends differ by more than this factor tells too little.
_TELLS = {"rate": 1.2, "rtt": 1.2, "buffer": 1.4, "loss": inf}
# If less than this part of the simulations say what limited the flows, it is open.
_AGREE = 2 / 3
# Header of IP and TCP with timestamps, bytes: path.rate is of IP packets.
_HEADER = 52
# Without a limit by the path, its rate is at least this times the goodput.
_SPARE = 1.05
_LEAST_QUEUE = 1e-3  # s
_MOST_LOSS = 0.99
# The RTT of the path is at least this part of the least of several pings.
_OF_PINGS = 0.99
# Pings (their number) of which jitter is told.
_LEAST_PINGS = 10


#: What a fit estimates → its unit.
_UNITS = {
    "rate": "bit/s", "rtt": "s", "buffer": "s", "loss": "1", "jitter": "s", "window": "byte",
}  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """What a measurement tells of its path. ``limit``: what limited the flows; ``share``: how many
    of the simulations that are like the measurement say so (1: read directly). ``other``: what most
    of the rest say, if too many do ("": none). ``queue``: drop-tail, or what of
    ``QUEUES`` most of the simulations that are like it have.
    """

    reading: Reading
    estimates: dict[str, Estimate]
    limit: str
    share: float
    runs: int
    other: str = ""
    queue: str = _DROP_TAIL

    @cached_property
    def table(self) -> dict[str, Any]:
        """The tables of the scenario that is like the measurement."""
        values = {name: it.value for name, it in self.estimates.items()}
        return _scenario(self.reading, values, self.queue)


def read_all(files: Sequence[Path]) -> Measurement:
    """Return the measurement of several files together, each of which counts once.

    Raises ConfigError.
    """
    once = {file.resolve(): file for file in files}
    return merged([read(file, "FILE") for file in once.values()])


def direct(measured: Measurement, congestion: str | None = None) -> Fit:
    """Return what a measurement tells without simulations. Raises ConfigError."""
    trust.agree(congestion)
    found = reading(measured, congestion)
    _known(found.congestion)
    return Fit(found, _read_directly(found), found.limit, 1.0, 0)


def fit(
    measured: Measurement,
    congestion: str | None = None,
    *,
    runs: int = RUNS,
    store: str | Path = "runs",
    jobs: int | None = None,
    progress: bool = True,
) -> Fit:
    """Return what a measurement tells of its path, by direct reading and by simulations.

    ``congestion``: the congestion control, if the files do not tell. ``runs``: how many simulations
    at most; those of an interrupted fit are in ``store``. Raises ConfigError, TunnelccError.
    """
    trust.agree(congestion)
    found = reading(measured, congestion)
    _known(found.congestion)
    estimates = _read_directly(found)
    if found.limit != "network":
        return Fit(found, estimates, found.limit, 1.0, 0)
    prior = _Prior(found)
    ran: list[_Run | None] = []

    def simulate(paths: list[tuple[str, NDArray[np.float64]]]) -> list[NDArray[np.float64] | None]:
        """Run paths, each with its queue and values. Return their features."""
        first = len(ran)
        named = [prior.named(row) for _, row in paths]
        experiments = [
            _experiment(found, values, prior.seed + first + place, queue)
            for place, ((queue, _), values) in enumerate(zip(paths, named, strict=True))
        ]
        results = _results(experiments, Path(store), jobs, progress)
        for (queue, _), values, run in zip(paths, named, results, strict=True):
            seen = None if run is None else as_measured(run, found)
            if run is None or seen is None or not seen.mean_goodput(found.since) > 0:
                ran.append(None)
            else:
                ran.append(_Run(queue, values, features(seen, found.since), _kind(run)))
        return [None if it is None else it.features for it in ran[first:]]

    target = features(_cut(found), found.since)
    part = max(runs // 8, 1)  # for each queue, after the search
    searched = runs - part * (1 + len(QUEUES))
    try:
        points = search(
            lambda values, _: simulate([(_DROP_TAIL, row) for row in values]),
            target, prior.draw, prior.bounds, searched, ROUNDS,
        )  # fmt: skip
    except ValueError:
        raise TunnelccError("nearly all simulations of the fit failed") from None
    before, queues = len(ran), (_DROP_TAIL, *QUEUES)  # a long search has fewer runs than it may
    simulate([(name, row) for name in queues for row in prior.with_queue(points, name, part)])
    last = [it for it in ran[before:] if it is not None]
    like = _most_alike(last, target)
    shares = {name: sum(it.queue == name for it in like) / max(len(like), 1) for name in QUEUES}
    instead = max(shares, key=lambda name: shares[name])
    # BBR hardly reacts to drops, so it does not tell what dropped the packets.
    is_told = shares[instead] >= _AGREE and not found.congestion.startswith("bbr")
    queue = instead if is_told else _DROP_TAIL
    votes = Counter(it.limit for it in last if it.queue == queue)
    (limit, count), *others = votes.most_common(2) or [("network", 0)]
    share = count / max(votes.total(), 1)
    other = others[0][0] if others and share < _AGREE else ""
    simulated = prior.estimates(points, limit)
    if queue != _DROP_TAIL:
        alike = [it.values for it in like if it.queue == queue]
        simulated |= _without_full_queue(queue, alike, simulated["loss"])
    elif shares[instead] > 1 - _AGREE:
        other, why = instead, Reason("other_drops", queue=instead)
        simulated["buffer"] = simulated["buffer"]._replace(is_told=False, reason=why)
    if measured.pings is not None:
        del simulated["rtt"]  # pings tell it better
    estimates |= simulated
    return Fit(found, estimates, limit, share, len(ran), other, queue)


@dataclass(frozen=True)
class _Run:
    """What is kept of a simulation. ``limit``: what limited most of its flows."""

    queue: str
    values: dict[str, float]
    features: NDArray[np.float64]
    limit: str


def _most_alike(runs: list[_Run], target: NDArray[np.float64]) -> list[_Run]:
    """Return the third of runs whose features are nearest to those of the measurement.

    Features count as they vary between runs of the same queue.
    """
    if not runs:
        return []
    seen = np.array([it.features for it in runs])
    groups = [seen[[it.queue == name for it in runs]] for name in {it.queue for it in runs}]
    spread = np.sqrt(np.mean([it.var(axis=0) for it in groups], axis=0))
    usable = np.isfinite(target) & np.isfinite(seen).all(axis=0) & (spread > 1e-9)
    away = (((seen - target)[:, usable] / spread[usable]) ** 2).sum(axis=1)
    return [runs[place] for place in np.argsort(away)[: max(len(runs) // 3, 1)]]


def _without_full_queue(
    queue: str, alike: list[dict[str, float]], loss: Estimate
) -> dict[str, Estimate]:
    """Return what differs if not a full queue dropped the packets. ``alike``: values of such runs.

    The buffer is that of a policer's bucket, for the scenario.
    """
    bucket = float(np.median([it["buffer"] for it in alike]))
    found = {
        "buffer": _estimate("buffer", bucket, 0.0, inf, Reason("dropped_before", queue=queue)),
        "loss": _estimate(
            "loss",
            0.0,
            0.0,
            loss.interval[1],
            Reason("enough_drops", queue=queue),
            is_told=loss.is_told,
        ),
    }
    if queue == "policer":
        least, value, most = interval(np.array([it["rate"] for it in alike])).tolist()
        is_told = most <= _TELLS["rate"] * least
        why = Reason("simulations", queue=queue)
        found["rate"] = _estimate("rate", value, least, most, why, is_told=is_told)
    return found


def _estimate(
    name: str, value: float, least: float, most: float, why: Reason | str, *, is_told: bool = False
) -> Estimate:
    """Return an estimate of a value with its interval. ``why``: the reason, or its name."""
    reason = Reason(why) if isinstance(why, str) else why
    return Estimate(Quantity(value, _UNITS[name]), (least, most), is_told, reason)


def _results(
    experiments: list[Experiment], directory: Path, jobs: int | None, progress: bool
) -> list[Result | None]:
    store = Store(directory)
    with RunsProgress(enabled=progress) as shown:
        tally = complete(experiments, len(experiments), store, executor(jobs, None), progress=shown)
    runs = [store.load(id_) if id_ else None for id_ in tally.ids]
    return [it if isinstance(it, Result) else None for it in runs]


def _kind(run: Result) -> str:
    """Return what limited most flows of a run."""
    kinds = Counter(it.limit for it in run.limited if it)
    return kinds.most_common(1)[0][0] if kinds else "application"


def _cut(found: Reading) -> Measurement:
    """Return the part of a measurement that is simulated."""
    streams = []
    for it in found.streams:
        kept = it.time <= min(found.duration, LONGEST)
        names = ("time", "goodput", "rtt", "cwnd", "retransmits")
        parts: dict[str, Any] = {name: getattr(it, name)[kept] for name in names}
        streams.append(replace(it, window=np.empty(0), **parts))
    return Measurement(found.measured.source, streams)


class _Prior:
    """Where the search begins: wide intervals around what the files tell, in log units.

    Values: rate (bit/s), RTT without queues (s), RTT with a full queue (s), probability of loss. A
    flow that fills the queue shows the RTT with a full one, whatever it is without.
    """

    def __init__(self, found: Reading) -> None:
        self.found = found
        mss = found.streams[0].mss
        self.least_rate = 0.97 * found.goodput * (mss + _HEADER) / mss
        rtts = np.concatenate([it.rtt for it in found.streams])
        known = rtts[np.isfinite(rtts)]
        most = float(np.max(known)) if known.size else found.least_rtt
        queue = max(most - found.least_rtt, _LEAST_QUEUE)
        self.floor = 0.3 / found.segments
        ratio = found.retransmits / found.segments if np.isfinite(found.retransmits) else 0.02
        self.ratio = min(max(ratio, 3 / found.segments), 0.5)
        least = 0.98 if found.has_raw_rtt else 0.4
        if found.measured.pings is not None:
            least = _OF_PINGS
        rates = (self.least_rate, 10 * self.least_rate)
        if found.plateau > 0:
            full = found.plateau * (mss + _HEADER) / mss
            rates = (0.99 * full, 1.01 * full)
        self.bounds = np.log([
            rates,
            # No RTT is below the path's.
            [least * found.least_rtt, 1.001 * found.least_rtt],
            # No smoothed RTT is above that with a full queue. Runs with less show what more adds.
            [0.85 * most, found.least_rtt + max(6 * queue, 4 * found.least_rtt)],
            [self.floor, min(3 * self.ratio, 0.6)],
        ])  # fmt: skip
        told = json.dumps([found.measured.source, found.goodput, found.least_rtt])
        self.seed = 1_000_000 + int(hashlib.sha256(told.encode()).hexdigest()[:6], 16)

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the first round: most rates and full queues are just above the least."""
        low, high = self.bounds.T
        part = uniform.copy()
        for place in (0, 2):
            near = min(np.log(1.3) / (high[place] - low[place]), 1.0) * uniform[:, place] / 0.6
            far = (uniform[:, place] - 0.6) / 0.4
            part[:, place] = np.where(uniform[:, place] < 0.6, near, far)
        values: NDArray[np.float64] = low + part * (high - low)
        return values

    def with_queue(
        self, points: NDArray[np.float64], queue: str, count: int
    ) -> NDArray[np.float64]:
        """Return some of the points that fit; for other queues, with rates that these may have.

        Their drops explain the losses. The buffer is that of a policer's bucket.
        """
        generator = np.random.default_rng([*queue.encode()])
        values = generator.choice(points, count)
        if queue == _DROP_TAIL:
            return values
        low, high = np.log([self.least_rate, _RATES_OF[queue] * self.least_rate])
        low, high = max(low, self.bounds[0, 0]), min(high, self.bounds[0, 1])
        values[:, 0] = generator.uniform(low, max(low, high), count)
        least, most = np.log(_BUCKETS).tolist()
        buckets = np.exp(generator.uniform(least, most, count))
        values[:, 2] = np.log(np.exp(values[:, 1]) + 8 * buckets / np.exp(values[:, 0]))
        values[:, 3] = -np.inf
        return values

    def named(self, row: NDArray[np.float64]) -> dict[str, float]:
        """Return name → value in SI units."""
        return dict(zip(_SEARCHED, self._values(row).tolist(), strict=True))

    @staticmethod
    def _values(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what ``_SEARCHED`` names, in SI units: the queue (s) is the RTT that it adds."""
        values: NDArray[np.float64] = np.exp(points)
        values[..., 2] = np.maximum(values[..., 2] - values[..., 1], 0.0)
        return values

    def estimates(self, points: NDArray[np.float64], limit: str) -> dict[str, Estimate]:
        """Return estimates from values that fit."""
        found = {}
        ends = interval(self._values(points)).T.tolist()
        for name, (least, value, most) in zip(_SEARCHED, ends, strict=True):
            why, is_told = Reason("simulations"), most <= _TELLS[name] * least
            if name == "loss":
                none = 3 * self.floor
                least = 0.0 if least <= none else least
                value = 0.0 if value <= none else value
                if most >= 0.9 * float(np.exp(self.bounds[_SEARCHED.index(name), 1])):
                    is_told, why = False, Reason("idle_pings")
            elif not is_told:
                why = self._missing(name, limit)
            found[name] = _estimate(name, value, least, most, why, is_told=is_told)
        return found

    def _missing(self, name: str, limit: str) -> Reason:
        """Return what would tell a value that the simulations do not."""
        if name == "rate":
            return Reason("other_limit", limit)
        if name == "rtt":
            return Reason("ping_before")
        if limit not in ("link", "queue", "congestion_window"):
            return Reason("not_filled")
        return Reason("longer" if self.found.has_raw_rtt else "raw_rtt")


def _read_directly(found: Reading) -> dict[str, Estimate]:
    """Return what needs no simulation: RTT, windows, jitter; and bounds of the rest."""
    mss = found.streams[0].mss
    estimates = {}
    least = found.least_rtt
    # A smoothed RTT is above the path's by the queue that was there.
    low = (0.98 if found.has_raw_rtt else 0.9) * least
    if found.measured.pings is not None:
        low = _OF_PINGS * least
    why = "single_rtts" if found.has_raw_rtt else "smoothed_rtts"
    estimates["rtt"] = _estimate("rtt", least, low, least, why, is_told=True)
    rate = found.goodput * (mss + _HEADER) / mss
    is_full = found.limit == "network"
    missing = Reason("goodput") if is_full else Reason("limited", found.limit)
    top = found.highest * (mss + _HEADER) / mss
    guess = max(top * _SPARE if is_full else max(2 * top, 100e6), rate)
    estimates["rate"] = _estimate("rate", guess, rate, inf, missing)
    if found.plateau > 0:
        full = found.plateau * (mss + _HEADER) / mss
        estimates["rate"] = _estimate(
            "rate", full, 0.99 * full, 1.01 * full, "plateau", is_told=True
        )
    estimates["buffer"] = _estimate("buffer", least, 0.0, inf, "filling_flow")
    segments = found.segments
    if np.isfinite(found.retransmits):
        loss, low, high = _proportion(found.retransmits, segments + found.retransmits)
        # Retransmissions are of losses of the queue, too, and some are needless.
        value, low = (0.0, 0.0) if is_full else (loss, low)
        estimates["loss"] = _estimate(
            "loss", value, low, high, "retransmissions", is_told=not is_full
        )
    else:
        estimates["loss"] = _estimate("loss", 0.0, 0.0, 1.0, "no_counts")
    pings = found.measured.pings
    if pings is not None and len(pings.rtts) >= _LEAST_PINGS:
        away = pings.rtts - pings.rtts.min()
        half = 1.96 * float(np.std(away)) / np.sqrt(len(away))
        mean = float(np.mean(away))
        low = max(mean - half, 0.0)
        estimates["jitter"] = _estimate("jitter", mean, low, mean + half, "pings", is_told=True)
    if (window := found.window) > 0:
        why = "window_filled" if found.limit == "receive_window" else "window_offered"
        estimates["window"] = _estimate("window", window, window, window, why, is_told=True)
    return estimates


def _proportion(count: float, of: float) -> tuple[float, float, float]:
    """Return a proportion and its interval (Wilson, Probable Inference, 1927)."""
    z, part = 1.96, count / of
    middle = (part + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * np.sqrt(part * (1 - part) / of + z**2 / (4 * of**2))
    low = max(0.0, float(middle - half)) if count > 0 else 0.0  # not a rounding error
    return part, low, float(middle + half)


def _experiment(found: Reading, values: dict[str, float], seed: int, queue: str) -> Experiment:
    experiment: Experiment = Experiment.parse({**_scenario(found, values, queue), "seed": seed})
    return experiment


def _scenario(found: Reading, values: dict[str, float], queue: str = _DROP_TAIL) -> dict[str, Any]:
    """Return the tables of a scenario with these values of the path, and the flows of the files."""
    rate, rtt = float(f"{values['rate']:.4g}"), float(f"{values['rtt']:.4g}")
    buffer = max(values["buffer"], 12e3 * 2 / rate)
    path: dict[str, Any] = {
        "rate": format_rate(rate),
        "rtt": format_time(float(f"{rtt:.4g}")),
        "buffer": f"{max(round(buffer * rate / 8), 3100)}B",
    }
    if queue == "policer":
        path["policer"] = {"rate": path["rate"], "burst": path["buffer"]}
        path |= {"rate": format_rate(_FASTER * rate), "buffer": "1000p"}
    elif queue != _DROP_TAIL:
        path |= {"queue": queue, "buffer": "1000p"}
    if values["loss"] > 0:
        path["loss"] = format_probability(min(float(f"{values['loss']:.3g}"), _MOST_LOSS))
    table: dict[str, Any] = {
        "duration": format_time(round(min(max(found.duration, 2.0), LONGEST), 3)),
        "path": path,
        "flows": [{"cc": _known(found.congestion), "count": len(found.streams)}],
    }
    if found.measured.is_down:
        table["direction"] = "down"
    hosts: dict[str, Any] = {}
    if found.limit == "receive_window" and found.window > 0:
        from tunnelcc.config import Hosts

        default = Hosts()
        part = default.receive_window / default.receive_buffer
        hosts["tcp_rmem"] = max(round(found.window / part), 4096)
    elif found.limit == "send_buffer":
        hosts["tcp_wmem"] = max(round(2 * found.in_flight), 16384)
    else:
        # Windows larger than any flow here fills: those of the files did not limit it.
        hosts = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    if found.limit == "application":
        table["flows"][0]["rate"] = format_rate(float(f"{found.goodput / len(found.streams):.4g}"))
    if hosts:
        table["hosts"] = hosts
    return table


def _known(name: str) -> str:
    """Return a congestion control that is modelled. Raises ConfigError."""
    try:
        Experiment.parse({"flows": [{"cc": name}]})
    except ConfigError:
        expected = "one that is modelled; --cc names the nearest"
        raise ConfigError(Problem("the congestion control", name, expected)) from None
    return name


__all__ = ["CONFIDENCE", "QUEUES", "RUNS", "Fit", "direct", "fit", "read_all"]
