# SPDX-License-Identifier: GPL-2.0-only
"""From a measurement to the path that it was made on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.config import Experiment
from tunnelcc.errors import ConfigError, Problem, TunnelccError
from tunnelcc.fit.features import as_measured, features
from tunnelcc.fit.reading import Reading, reading
from tunnelcc.fit.search import CONFIDENCE, search
from tunnelcc.formats.measurement import Measurement, merged
from tunnelcc.formats.read import read
from tunnelcc.output.progress import RunsProgress
from tunnelcc.schema.units import format_probability, format_rate, format_time
from tunnelcc.simulation.limited import of_flows
from tunnelcc.simulation.result import Result
from tunnelcc.store import Store
from tunnelcc.sweeps.execute import complete, executor

#: Simulations of a fit.
RUNS = 160
ROUNDS = 5
#: Longer measurements are simulated this far (s).
LONGEST = 30.0

# An interval whose ends differ by more than this factor tells too little.
_TELLS = {"rate": 1.2, "rtt": 1.2, "buffer": 1.6, "loss": float("inf")}
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


@dataclass(frozen=True)
class Estimate:
    """A value of the path in SI units, its interval, and how it was found.

    ``is_told``: the measurement tells it; otherwise ``how`` says which one would.
    """

    name: str
    value: float
    low: float
    high: float
    is_told: bool
    how: str


@dataclass(frozen=True)
class Fit:
    """What a measurement tells of its path. ``limit``: what limited the flows; ``share``: how many
    of the simulations that are like the measurement say so (1: read directly). ``other``: what most
    of the rest say, if too many do ("": none).
    """

    reading: Reading
    estimates: dict[str, Estimate]
    limit: str
    share: float
    runs: int
    other: str = ""

    @cached_property
    def table(self) -> dict[str, Any]:
        """The tables of the scenario that is like the measurement."""
        return _scenario(self.reading, {name: it.value for name, it in self.estimates.items()})


def read_all(files: Sequence[Path]) -> Measurement:
    """Return the measurement of several files together, each of which counts once.

    Raises ConfigError.
    """
    once = {file.resolve(): file for file in files}
    return merged([read(file, "FILE") for file in once.values()])


def direct(measured: Measurement, congestion: str | None = None) -> Fit:
    """Return what a measurement tells without simulations. Raises ConfigError."""
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
    found = reading(measured, congestion)
    _known(found.congestion)
    estimates = _read_directly(found)
    if found.limit != "network":
        return Fit(found, estimates, found.limit, 1.0, 0)
    prior = _Prior(found)
    kinds: list[str | None] = []

    def simulate(values: NDArray[np.float64], first: int) -> list[NDArray[np.float64] | None]:
        experiments = [
            _experiment(found, prior.named(row), prior.seed + first + place)
            for place, row in enumerate(values)
        ]
        told: list[NDArray[np.float64] | None] = []
        for run in _results(experiments, Path(store), jobs, progress):
            seen = None if run is None else as_measured(run, found)
            if run is None or seen is None or not seen.mean_goodput(found.since) > 0:
                told.append(None)
                kinds.append(None)
            else:
                told.append(features(seen, found.since))
                kinds.append(_kind(run))
        return told

    target = features(_cut(found), found.since)
    try:
        result = search(simulate, target, prior.draw, prior.bounds, runs, ROUNDS)
    except ValueError:
        raise TunnelccError("nearly all simulations of the fit failed") from None
    # The runs of the last round are those that are most like the measurement.
    votes = Counter(filter(None, kinds[-max(runs // 6, 1) :]))
    (limit, count), *others = votes.most_common(2) or [("network", 0)]
    share = count / max(votes.total(), 1)
    simulated = prior.estimates(result.middle, result.low, result.high, limit)
    if measured.pings is not None:
        del simulated["rtt"]  # pings tell it better
    estimates |= simulated
    other = others[0][0] if others and share < _AGREE else ""
    return Fit(found, estimates, limit, share, runs, other)


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
    kinds = Counter(it.limit for it in of_flows(run) if it.limit)
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

    Values: rate (bit/s), RTT without queues (s), the queue (s), probability of loss.
    """

    NAMES = ("rate", "rtt", "buffer", "loss")

    def __init__(self, found: Reading) -> None:
        self.found = found
        mss = found.streams[0].mss
        self.least_rate = 0.97 * found.goodput * (mss + _HEADER) / mss
        rtts = np.concatenate([it.rtt for it in found.streams])
        known = rtts[np.isfinite(rtts)]
        most = float(np.max(known)) if known.size else found.least_rtt
        self.queue = max(most - found.least_rtt, _LEAST_QUEUE)
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
            [0.3 * self.queue, max(6 * self.queue, 4 * found.least_rtt)],
            [self.floor, min(3 * self.ratio, 0.6)],
        ])  # fmt: skip
        told = json.dumps([found.measured.source, found.goodput, found.least_rtt])
        self.seed = 1_000_000 + int(hashlib.sha256(told.encode()).hexdigest()[:6], 16)

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the first round: mostly rates just above the goodput."""
        low, high = self.bounds.T
        near = low[0] + min(np.log(1.3), high[0] - low[0]) * uniform[:, 0] / 0.6
        far = low[0] + (high[0] - low[0]) * (uniform[:, 0] - 0.6) / 0.4
        values: NDArray[np.float64] = low + uniform * (high - low)
        values[:, 0] = np.where(uniform[:, 0] < 0.6, near, np.maximum(far, low[0]))
        return values

    def named(self, row: NDArray[np.float64]) -> dict[str, float]:
        """Return name → value in SI units."""
        return dict(zip(self.NAMES, np.exp(row).tolist(), strict=True))

    def estimates(
        self,
        middle: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        limit: str,
    ) -> dict[str, Estimate]:
        """Return estimates from simulations."""
        found = {}
        for place, name in enumerate(self.NAMES):
            value, least, most = (float(np.exp(it[place])) for it in (middle, low, high))
            how, is_told = "simulations", most <= _TELLS[name] * least
            if name == "loss":
                none = 3 * self.floor
                if least <= none:
                    least = 0.0
                value = 0.0 if value <= none else value
                if most >= 0.9 * float(np.exp(self.bounds[place, 1])):
                    is_told = False
                    how = "tells no more; `ping -c 1000 -i 0.01` on an idle path would"
            elif not is_told and name == "rate":
                how = (
                    f"the flow was limited by {KINDS.get(limit, limit)}: several flows "
                    "(iperf3 -P 8), or UDP (iperf3 -u), would tell"
                )
            elif not is_told and name == "buffer":
                how = "the flow did not fill it: CUBIC without random loss, or several flows, would"
                if limit in ("link", "congestion_window"):
                    how = "a longer measurement would tell it better"
                    if not self.found.has_raw_rtt:
                        how = "only with the RTT without queues: `ping` before the flow would tell"
            elif not is_told:
                how = "`ping` before the flow starts would tell"
            found[name] = Estimate(name, value, least, most, is_told, how)
        return found


#: What limited flows → in words.
KINDS = {
    "link": "the rate of the link",
    "receive_window": "the receiver's window",
    "send_buffer": "the sender's buffer",
    "application": "the application, or a window that the files do not tell",
    "random_loss": "random loss, which keeps the congestion window small",
    "congestion_window": "the congestion window: the queue drops before the link is full",
    "pacing": "the rate that congestion control chose",
    "network": "the network",
}


def _read_directly(found: Reading) -> dict[str, Estimate]:
    """Return what needs no simulation: RTT, windows, jitter; and bounds of the rest."""
    mss = found.streams[0].mss
    estimates = {}
    least = found.least_rtt
    # A smoothed RTT is above the path's by the queue that was there.
    low = (0.98 if found.has_raw_rtt else 0.9) * least
    if found.measured.pings is not None:
        low = _OF_PINGS * least
    how = "least of single RTTs" if found.has_raw_rtt else "least of smoothed RTTs"
    estimates["rtt"] = Estimate("rtt", least, low, least, True, how)
    rate = found.goodput * (mss + _HEADER) / mss
    is_full = found.limit == "network"
    how = "at least the goodput"
    if not is_full:
        how = (
            f"the flow was limited by {KINDS[found.limit]}, which tells nothing of the link: "
            "several flows (iperf3 -P 8) or UDP (iperf3 -u) would"
        )
    top = found.highest * (mss + _HEADER) / mss
    guess = max(top * _SPARE if is_full else max(2 * top, 100e6), rate)
    estimates["rate"] = Estimate("rate", guess, rate, float("inf"), False, how)
    if found.plateau > 0:
        full = found.plateau * (mss + _HEADER) / mss
        how = "the goodput stays the same while RTTs change"
        estimates["rate"] = Estimate("rate", full, 0.99 * full, 1.01 * full, True, how)
    how = "a flow that fills it would tell: CUBIC, with windows larger than rate × RTT"
    estimates["buffer"] = Estimate("buffer", least, 0.0, float("inf"), False, how)
    segments = found.segments
    if np.isfinite(found.retransmits):
        loss, low, high = _proportion(found.retransmits, segments + found.retransmits)
        # Retransmissions are of losses of the queue, too, and some are needless.
        how = "retransmissions; the queue's drops and needless ones count, too"
        value = 0.0 if is_full else loss
        estimates["loss"] = Estimate("loss", value, 0.0 if is_full else low, high, not is_full, how)
    else:
        how = "the file counts no retransmissions: iperf3, ss or a capture would"
        estimates["loss"] = Estimate("loss", 0.0, 0.0, 1.0, False, how)
    pings = found.measured.pings
    if pings is not None and len(pings.rtts) >= _LEAST_PINGS:
        away = pings.rtts - pings.rtts.min()
        half = 1.96 * float(np.std(away)) / np.sqrt(len(away))
        mean = float(np.mean(away))
        estimates["jitter"] = Estimate(
            "jitter", mean, max(mean - half, 0.0), mean + half, True,
            "pings above the least, of both directions",
        )  # fmt: skip
    if found.window > 0:
        window = found.window
        is_known = found.limit == "receive_window"
        how = "snd_wnd" + (", which the flow filled" if is_known else ", as the receiver offered")
        estimates["window"] = Estimate("window", window, window, window, True, how)
    return estimates


def _proportion(count: float, of: float) -> tuple[float, float, float]:
    """Return a proportion and its interval (Wilson, Probable Inference, 1927)."""
    z, part = 1.96, count / of
    middle = (part + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * np.sqrt(part * (1 - part) / of + z**2 / (4 * of**2))
    return part, max(0.0, float(middle - half)), float(middle + half)


def _experiment(found: Reading, values: dict[str, float], seed: int) -> Experiment:
    experiment: Experiment = Experiment.parse({**_scenario(found, values), "seed": seed})
    return experiment


def _scenario(found: Reading, values: dict[str, float]) -> dict[str, Any]:
    """Return the tables of a scenario with these values of the path, and the flows of the files."""
    rate, rtt = float(f"{values['rate']:.4g}"), float(f"{values['rtt']:.4g}")
    queue = max(values["buffer"], 12e3 * 2 / rate)
    path: dict[str, Any] = {
        "rate": format_rate(rate),
        "rtt": format_time(float(f"{rtt:.4g}")),
        "buffer": f"{max(round(queue * rate / 8), 3100)}B",
    }
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


__all__ = ["CONFIDENCE", "KINDS", "RUNS", "Estimate", "Fit", "direct", "fit", "read_all"]
