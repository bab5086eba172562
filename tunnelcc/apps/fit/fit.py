# SPDX-License-Identifier: GPL-2.0-only
"""From a measurement to the path that it was made on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tunnelcc as tc
from tunnelcc.analysis.values import Estimate, Reason
from tunnelcc.apps.fit.direct import Direct
from tunnelcc.apps.fit.features import as_measured, features
from tunnelcc.apps.fit.reading import HEADER, RATES, RTTS, Reading, reading
from tunnelcc.apps.fit.search import CONFIDENCE, interval, search
from tunnelcc.apps.fit.windows import estimate
from tunnelcc.errors import ConfigError, Problem, RunError, TunnelccError
from tunnelcc.formats.measurement import Measurement, merged
from tunnelcc.formats.read import read
from tunnelcc.modules import trust
from tunnelcc.output.progress import Progress
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import format_probability, format_rate, format_time

#: Simulations of a fit.
RUNS = 96
ROUNDS = 3
#: Longer measurements are simulated this far (s).
LONGEST = 20.0
#: The answer's simulation has this part of the measured goodput and RTT; otherwise the answer is
#: withdrawn.
WITHIN = (0.9, 1.1)

_DROP_TAIL = "drop-tail"
#: What may drop packets instead of a full drop-tail queue.
QUEUES = ("codel", "policer")
# What the search finds.
_SEARCHED = ("rate", "rtt", "buffer", "loss")
# Sizes of a policer's bucket (bytes), and the rate of the link behind it, relative to its own.
_BUCKETS, _FASTER = (15e3, 1e6), 10.0
# What may drop packets instead of a full queue: its rate is at most this times the goodput's.
_RATES_OF = {"codel": 1.1, "policer": 1.5}
# If less than this part of the simulations say what limited the flows, it is open.
_AGREE = 2 / 3
_LEAST_QUEUE = 1e-3  # s
_MOST_LOSS = 0.99
# With more random loss, one flow does not fill a link.
_LOSSY = 1e-3
# Simulations of the answer, each with its own seed, and how many answers are tried.
_CHECKS, _TRIES = 3, 3
# So often, the values of an answer are mended that are not told, until its simulation is this near.
_MENDS, _NEAR = 6, 0.03


@dataclass(frozen=True)
class Check:
    """The answer's simulation beside the measurement, after the start: rates in bit/s, RTTs in s.

    RTTs are NaN where the files have none beside the flows.
    """

    goodput: float
    measured_goodput: float
    rtt: float
    measured_rtt: float

    @property
    def ratio(self) -> float:
        """Simulated goodput / measured."""
        return self.goodput / self.measured_goodput

    @property
    def rtt_ratio(self) -> float:
        """Simulated RTT / measured; NaN: the files have none."""
        return self.rtt / self.measured_rtt

    @property
    def away(self) -> float:
        """How far the simulation is from the measurement: the larger of both ratios, as a log."""
        logs = np.abs(np.log([max(self.ratio, 1e-9), max(self.rtt_ratio, 1e-9)]))
        return float(np.nanmax(logs)) if np.isfinite(logs).any() else inf

    @property
    def misfits(self) -> tuple[str, ...]:
        """What does not fit: ``goodput``, ``rtt``."""
        ratios = {"goodput": self.ratio, "rtt": self.rtt_ratio}
        return tuple(name for name, it in ratios.items() if it < WITHIN[0] or it > WITHIN[1])


@dataclass(frozen=True)
class Fit:
    """What a measurement tells of its path. ``limit``: what limited the flows; ``share``: how many
    of the simulations that are like the measurement say so (1: read directly). ``other``: what most
    of the rest say, if too many do ("": none). ``queue``: drop-tail, or what of
    ``QUEUES`` most of the simulations that are like it have. ``check``: the answer's simulation.
    ``is_outside``: the path is none of the family: its rate changes.
    """

    reading: Reading
    estimates: dict[str, Estimate]
    limit: str
    share: float
    runs: int
    other: str = ""
    queue: str = _DROP_TAIL
    check: Check | None = None
    is_outside: bool = False

    @property
    def is_withdrawn(self) -> bool:
        """Whether the answer does not reproduce its own file, or cannot."""
        return self.is_outside or (self.check is not None and bool(self.check.misfits))

    @property
    def further(self) -> list[tuple[str, tuple[str, ...]]]:
        """Measurements that would tell more, names of ``words.fits.MEASUREMENTS``, and what of.

        The one that tells most is the first.
        """
        missing = {name for name, it in self.estimates.items() if not it.is_told}
        has_pings = self.reading.idle is not None
        tells = {
            # Without the RTT, no queue is known.
            "ping": {"rtt", "buffer", "rate"} if "rtt" in missing and not has_pings else set(),
            "flows": {"rate"} if self.limit not in ("link", "policer") else set(),
            "cubic": {"rate", "buffer"} if has_pings else {"buffer"},
            "datagrams": {"loss"},
        }
        if self.estimates["loss"].value > _LOSSY:  # one flow of CUBIC fills no such link
            tells["flows"], tells["cubic"] = {"rate", "buffer"}, set()
        found = [(name, tuple(sorted(of & missing))) for name, of in tells.items() if of & missing]
        return sorted(found, key=lambda it: -len(it[1]))

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
    found = _read(measured, congestion)
    return Fit(found, Direct(found).estimates(), found.limit, 1.0, 0)


def fit(
    measured: Measurement,
    congestion: str | None = None,
    *,
    runs: int = RUNS,
    progress: bool = True,
) -> Fit:
    """Return what a measurement tells of its path, by direct reading and by simulations.

    ``congestion``: the congestion control, if the files do not tell. ``runs``: how many simulations
    at most. Raises ConfigError, TunnelccError.
    """
    seen = Direct(_read(measured, congestion))
    estimates = _intersected(seen, measured, congestion)
    with Progress(runs + _CHECKS, enabled=progress) as shown:
        return _simulated(seen, estimates, _Simulator(seen.reading, shown), runs)


def _read(measured: Measurement, congestion: str | None) -> Reading:
    """Return what files say, of congestion controls that can be simulated. Raises ConfigError."""
    trust.agree(congestion)
    found = reading(measured, congestion)
    for cc in found.congestion:
        _known(cc)
    return found


def _simulated(
    seen: Direct, estimates: dict[str, Estimate], simulator: _Simulator, runs: int
) -> Fit:
    found = seen.reading
    if found.limit != "network" or found.is_datagrams or not found.least_rtt > 0:
        fit_ = Fit(found, estimates, _limit_of(found, estimates), 1.0, 0)
        return replace(fit_, check=simulator.check(fit_.table))
    if seen.changes or seen.is_unsteady:
        return Fit(found, estimates, found.limit, 1.0, 0, is_outside=True)
    return _searched(found, estimates, simulator, runs)


def _limit_of(found: Reading, estimates: dict[str, Estimate]) -> str:
    if not found.is_datagrams:
        return found.limit
    return "link" if estimates["rate"].is_told else "application"


def _intersected(
    seen: Direct, measured: Measurement, congestion: str | None
) -> dict[str, Estimate]:
    """Return what all measurements of the path tell: of each value, the narrowest interval."""
    found = seen.estimates()
    for other in measured.others:
        try:
            with_pings = replace(other, pings=measured.pings, series=measured.series)
            more = Direct(reading(with_pings, congestion)).estimates()
        except ConfigError:
            continue
        for name in found.keys() & more.keys() - {"window", "jitter"}:
            ours, theirs = found[name], more[name]
            (low, high), (least, most) = ours.interval, theirs.interval
            if max(low, least) > min(high, most) * (1 + 1e-9):
                if ours.is_told and theirs.is_told:  # they contradict each other
                    both = min(low, least), max(high, most)
                    found[name] = ours._replace(
                        interval=both, is_told=False, reason=Reason("files_differ")
                    )
            elif theirs.is_told and not (ours.is_told and high * least <= most * low):
                found[name] = theirs
    return found


def _searched(
    found: Reading, estimates: dict[str, Estimate], simulator: _Simulator, runs: int
) -> Fit:
    """Return what simulations tell besides."""
    prior = _Prior(found, estimates)
    target = features(_cut(found), found.since, found)
    rate = estimates["rate"].value
    part = max(runs // 8, 1)  # for each queue, after the search
    searched = runs - part * (1 + len(QUEUES))
    try:
        points = search(
            lambda values, _: simulator.features(prior, [(_DROP_TAIL, row) for row in values]),
            target, prior.draw, prior.bounds, searched, ROUNDS,
        )  # fmt: skip
    except ValueError:
        raise TunnelccError("nearly all simulations of the fit failed") from None
    ran = simulator.ran
    first, queues = len(ran), (_DROP_TAIL, *QUEUES)  # a long search has fewer runs than it may
    simulator.features(
        prior, [(name, row) for name in queues for row in prior.with_queue(points, name, part)]
    )
    last = [it for it in ran[first:] if it is not None]
    like = _most_alike(last, target)
    shares = {name: sum(it.queue == name for it in like) / max(len(like), 1) for name in QUEUES}
    instead = max(shares, key=lambda name: shares[name])
    # BBR hardly reacts to drops, so it does not tell what dropped the packets.
    is_told = shares[instead] >= _AGREE and not found.has_bbr
    queue = instead if is_told else _DROP_TAIL
    votes = Counter(it.limit for it in last if it.queue == queue)
    (limit, count), *others = votes.most_common(2) or [("network", 0)]
    share = count / max(votes.total(), 1)
    other = others[0][0] if others and share < _AGREE else ""
    simulated = prior.estimates(points)
    if queue != _DROP_TAIL:
        alike = [it.values for it in like if it.queue == queue]
        simulated |= _without_full_queue(queue, alike, simulated["loss"])
    elif shares[instead] > 1 - _AGREE:
        other = instead
    # What is seen directly is not searched for.
    for name, it in simulated.items():
        if name == "buffer" and queue != _DROP_TAIL:
            estimates[name] = it
        elif not estimates[name].is_told:
            estimates[name] = it._replace(reason=estimates[name].reason)
    fit_ = Fit(found, estimates, limit, share, len(ran), other, queue)
    best = fit_, simulator.check(fit_.table)
    # The values that are not told are those of a plain path, or of the runs that are most like the
    # measurement.
    nearest = _most_alike([it for it in ran if it is not None], target)[: _TRIES - 1]
    candidates = [(_DROP_TAIL, _plain(found, estimates) | {"rate": rate})]
    candidates += [(it.queue, it.values) for it in nearest]
    for queue, values in candidates:
        if not best[1].misfits:
            break
        moved = {name: values[name] for name in _SEARCHED if not estimates[name].is_told}
        best = _better(best, replace(fit_, estimates=_moved(estimates, moved), queue=queue),
                       simulator)  # fmt: skip
    for _ in range(_MENDS):
        if not best[1].misfits:
            break
        changes = _mended(*best, simulator.kind)
        if not changes:
            break
        before = best[1]
        other_fit = replace(best[0], estimates=_moved(best[0].estimates, changes))
        best = _better(best, other_fit, simulator)
        if best[1] is before:
            break
    # What limits the answer; where most of the paths that fit have another limit, it is open.
    named = simulator.kind
    if named != limit:
        other = limit
    return replace(best[0], check=best[1], runs=len(ran), limit=named,
                   other=other if other != named else "")  # fmt: skip


def _plain(found: Reading, estimates: dict[str, Estimate]) -> dict[str, float]:
    """Return the values of a path without random loss, whose full queue made the highest RTT."""
    values = {name: estimates[name].value for name in _SEARCHED}
    known = found.rtt_series[1]
    if known.size:
        values["buffer"] = max(float(np.max(known)) - values["rtt"], _LEAST_QUEUE)
    return values | {"loss": estimates["loss"].interval[0]}


def _better(best: tuple[Fit, Check], other: Fit, simulator: _Simulator) -> tuple[Fit, Check]:
    """Return an answer with its simulation, or another if that is nearer to the measurement."""
    kind = simulator.kind
    tried = simulator.check(other.table)
    if tried.away < best[1].away:
        return replace(other, limit=simulator.kind), tried
    simulator.kind = kind
    return best


def _mended(found: Fit, check: Check, limit: str) -> dict[str, float]:
    """Return values that are not told with which goodput and RTT would be the measured ones.

    Goodput that random loss limits grows with 1 / √loss (Mathis et al., The macroscopic behavior of
    the TCP congestion avoidance algorithm, 1997), and that of a full link with its rate.
    """
    values, changes = found.estimates, {}
    ratio = min(max(check.ratio, 0.2), 5.0)
    is_lossy = limit in ("random_loss", "queue", "congestion_window")
    if abs(ratio - 1) > _NEAR and np.isfinite(check.ratio):
        if not values["rate"].is_told and not (is_lossy and not values["loss"].is_told):
            changes["rate"] = values["rate"].value / ratio
        elif not values["loss"].is_told and values["loss"].value > 0:
            changes["loss"] = min(values["loss"].value * ratio**2, 0.5)
    base, most = values["rtt"].value, values["rtt"].interval[1]
    if abs(check.rtt_ratio - 1) > _NEAR and not values["rtt"].is_told:
        changes["rtt"] = min(base / min(max(check.rtt_ratio, 0.3), 3.0), most)
    elif abs(check.rtt_ratio - 1) > _NEAR and not values["buffer"].is_told:
        ours, theirs = check.rtt - base, check.measured_rtt - base
        if ours > 0 and theirs > 0:
            factor = min(max(theirs / ours, 0.3), 3.0)
            changes["buffer"] = values["buffer"].value * factor
    return changes


def _moved(estimates: dict[str, Estimate], values: dict[str, float]) -> dict[str, Estimate]:
    """Return estimates with other values, which their intervals have, too."""
    found = dict(estimates)
    for name, value in values.items():
        it = found[name]
        low, high = it.interval
        found[name] = it._replace(
            quantity=it.quantity._replace(amount=value),
            interval=(min(low, value), max(high, value)),
        )
    return found


class _Simulator:
    """Runs paths with the flows of a measurement."""

    def __init__(self, found: Reading, shown: Progress) -> None:
        self.found, self._shown, self._done = found, shown, 0
        self.kind = found.limit  #: what limited most flows of the last answer
        self.seed = _seed(found)
        self.ran: list[_Run | None] = []

    def features(
        self, prior: _Prior, paths: list[tuple[str, NDArray[np.float64]]]
    ) -> list[NDArray[np.float64] | None]:
        """Run paths, each with its queue and values. Return their features."""
        first = len(self.ran)
        named = [prior.named(row) for _, row in paths]
        tables = [
            _scenario(self.found, values, queue)
            for (queue, _), values in zip(paths, named, strict=True)
        ]
        results = self._runs(tables, self.seed + first)
        for (queue, _), values, it in zip(paths, named, results, strict=True):
            seen = None if it is None else as_measured(it, self.found)
            if it is None or seen is None or not seen.mean_goodput(self.found.since) > 0:
                self.ran.append(None)
            else:
                found = features(seen, self.found.since, self.found)
                self.ran.append(_Run(queue, values, found, _kind(it)))
        return [None if it is None else it.features for it in self.ran[first:]]

    def check(self, table: dict[str, Any]) -> Check:
        """Simulate an answer. Return it beside the measurement."""
        found = self.found
        end = min(found.duration, LONGEST)
        span = f"{min(found.since, end / 2):.6f}s"
        runs = self._runs([table] * _CHECKS, self.seed + 500_000)
        done = [it for it in runs if it is not None]
        if not done:
            return Check(float("nan"), found.goodput, float("nan"), float("nan"))
        self.kind = Counter(map(_kind, done)).most_common(1)[0][0]
        goodputs = [it.metric("goodput", since=span) for it in done]
        rtts = [_mean_rtt(it, found.since) for it in done]
        # Datagrams arrive; of a cut measurement, its first part counts.
        measured = found.arrived if found.is_datagrams else found.goodput_until(end)
        after = found.rtts_until(end)
        # What a receiver takes for the RTT is not what a sender does.
        has_own = all(it.counted != "received" for it in found.streams)
        is_told = len(after) > 0 and has_own and not found.is_datagrams
        rtt = float(np.mean(after)) if is_told else float("nan")
        known = [it for it in rtts if np.isfinite(it)]
        simulated = float(np.mean(known)) if known else float("nan")
        return Check(float(np.mean(goodputs)), measured, simulated, rtt)

    def _runs(self, tables: list[dict[str, Any]], seed: int) -> list[tc.Result | None]:
        """Run tables in this process: most runs take less than starting another one."""
        found: list[tc.Result | None] = []
        for place, table in enumerate(tables):
            experiment: Experiment = Experiment.parse({**table, "seed": seed + place})
            try:
                found.append(tc.run(experiment, progress=False))
            except RunError:
                found.append(None)
            self._done += 1
            self._shown.update(self._done)
        return found


def _mean_rtt(result: tc.Result, since: float) -> float:
    """Return the mean of the flows' smoothed RTTs after the start, s."""
    after = result["time"] > since
    flows = range(len(result.flows))
    parts = [np.asarray(result.sender_leg(flow).srtt)[after] for flow in flows]
    values = np.concatenate(parts)
    values = values[values > 0]
    return float(np.mean(values)) if len(values) else float("nan")


def _seed(found: Reading) -> int:
    """Return a seed that depends on what was measured, and not on names of files."""
    digest = hashlib.sha256(" ".join(found.congestion).encode())
    for it in found.streams:
        for values in (it.time, it.goodput, it.rtt, it.cwnd):
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    for pings in (found.idle, found.loaded):
        if pings is not None:
            digest.update(np.ascontiguousarray(pings.rtts, dtype="<f8").tobytes())
    return 1_000_000 + int(digest.hexdigest()[:6], 16)


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
        "buffer": estimate("buffer", bucket, 0.0, inf, Reason("dropped_before", queue=queue)),
        "loss": estimate(
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
        why = Reason("simulations", queue=queue)
        found["rate"] = estimate("rate", value, least, most, why)
    return found


def _kind(result: tc.Result) -> str:
    """Return what limited most flows of a run."""
    kinds = Counter(it.limit for it in result.limited if it)
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

    def __init__(self, found: Reading, told: dict[str, Estimate]) -> None:
        self.found = found
        mss = found.streams[0].mss
        self.least_rate = 0.97 * found.goodput * (mss + HEADER) / mss
        known = found.rtt_series[1]
        most = float(np.max(known)) if known.size else found.least_rtt
        rtt = told["rtt"]
        base = (max(rtt.interval[0], 0.4 * rtt.interval[1]), 1.001 * rtt.interval[1])
        queue = max(most - rtt.interval[1], _LEAST_QUEUE)
        self.floor = 0.3 / found.segments
        ratio = found.resent / found.segments if np.isfinite(found.resent) else 0.02
        self.ratio = min(max(ratio, 3 / found.segments), 0.5)
        rates = (self.least_rate, 10 * self.least_rate)
        if np.isfinite(told["rate"].interval[1]):
            rates = told["rate"].interval
        full = (0.85 * most, base[1] + max(6 * queue, 4 * base[1]))
        if told["buffer"].is_told:
            low, high = told["buffer"].interval
            full = (rtt.value + low, rtt.value + high)
        least_loss, most_loss = self.floor, min(3 * self.ratio, 0.6)
        if told["loss"].is_told:
            least_loss = max(told["loss"].interval[0], self.floor)
            most_loss = max(told["loss"].interval[1], 1.05 * least_loss)
        # No smoothed RTT is above that with a full queue. Runs with less show what more adds.
        self.bounds = np.log([rates, base, full, [least_loss, most_loss]])
        self.bounds[:, 1] = np.maximum(self.bounds[:, 1], self.bounds[:, 0] + 1e-6)

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

    def estimates(self, points: NDArray[np.float64]) -> dict[str, Estimate]:
        """Return values that fit. They are never told: simulations are too sure of them."""
        found = {}
        ends = interval(self._values(points)).T.tolist()
        for name, (least, value, most) in zip(_SEARCHED, ends, strict=True):
            if name == "loss":
                none = 3 * self.floor
                least = 0.0 if least <= none else least
                value = 0.0 if value <= none else value
            found[name] = estimate(name, value, least, most, "simulations")
        return found


def _scenario(found: Reading, values: dict[str, float], queue: str = _DROP_TAIL) -> dict[str, Any]:
    """Return the tables of a scenario with these values of the path, and the flows of the files."""
    rate, rtt = float(f"{values['rate']:.4g}"), float(f"{values['rtt']:.4g}")
    rate, rtt = max(rate, RATES[0]), max(rtt, RTTS[0])
    buffer = max(values["buffer"], 12e3 * 2 / rate)
    path: dict[str, Any] = {
        "rate": format_rate(rate),
        "rtt": format_time(float(f"{rtt:.4g}")),
        "phase": "0",  # the RTT that was measured has its own
        "buffer": f"{max(round(buffer * rate / 8), 3100)}B",
    }
    if queue == "policer":
        path["policer"] = {"rate": path["rate"], "burst": path["buffer"]}
        path |= {"rate": format_rate(_FASTER * rate), "buffer": "1000p"}
    elif queue != _DROP_TAIL:
        path |= {"queue": queue, "buffer": "1000p"}
    if found.extra_delay > 0:
        path["jitter"] = format_time(float(f"{found.extra_delay:.3g}"))
    if values["loss"] > 0:
        path["loss"] = format_probability(min(float(f"{values['loss']:.3g}"), _MOST_LOSS))
    table: dict[str, Any] = {
        "duration": format_time(round(min(max(found.duration, 2.0), LONGEST), 3)),
        "path": path,
        "flows": _flows(found),
    }
    if found.measured.is_down:
        table["direction"] = "down"
    hosts: dict[str, Any] = {}
    if found.limit == "receive_window" and found.window > 0:
        default = tc.Hosts()
        part = default.receive_window / default.receive_buffer
        hosts["tcp_rmem"] = max(round(found.window / part), 4096)
    elif found.limit == "send_buffer":
        hosts["tcp_wmem"] = max(round(2 * found.in_flight), 16384)
    else:
        # Windows larger than any flow here fills: those of the files did not limit it.
        hosts = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    if found.limit == "application" and not found.is_datagrams:
        each = format_rate(float(f"{found.goodput / len(found.streams):.4g}"))
        table["flows"] = [{**flow, "rate": each} for flow in table["flows"]]
    if hosts:
        table["hosts"] = hosts
    return table


def _flows(found: Reading) -> list[dict[str, Any]]:
    """Return the flows of the files, those that are alike and start together as one entry."""
    flows = []
    for (start, cc), count in found.groups.items():
        flow: dict[str, Any] = {"cc": _known(cc), "count": count}
        if found.is_datagrams:
            offered = sum(it.offered for it in found.streams) / len(found.streams)
            told = offered if offered > 0 else found.goodput / len(found.streams)
            flow = {"transport": "udp", "rate": format_rate(float(f"{told:.4g}")), "count": count}
        if start > 0:
            flow["start"] = format_time(start)
        flows.append(flow)
    return flows


def _known(name: str) -> str:
    """Return a congestion control that is modelled. Raises ConfigError."""
    try:
        Experiment.parse({"flows": [{"cc": name}]})
    except ConfigError:
        expected = "one that is modelled; --cc names the nearest"
        raise ConfigError(Problem("the congestion control", name, expected)) from None
    return name


__all__ = ["CONFIDENCE", "QUEUES", "RUNS", "Fit", "direct", "fit", "read_all"]
