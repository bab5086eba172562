# SPDX-License-Identifier: GPL-2.0-only
"""From a path to advice: which tunnel and congestion control serve a use best there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc import scenario as scenarios
from tunnelcc.apps.advice.goals import CONGESTION_CONTROLS, GOALS, MIX, TUNNELS, Goal, with_mix
from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.metrics import paired
from tunnelcc.metrics.paired import Difference
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import format_probability, format_rate, format_time, parse_size
from tunnelcc.sweeps import Tally, results_of
from tunnelcc.sweeps import run as run_sweep
from tunnelcc.sweeps.table import HOST_DEFAULTS
from tunnelcc.words import findings

if TYPE_CHECKING:
    import xarray

__all__ = ["CONGESTION_CONTROLS", "GOALS", "TUNNELS", "Advice", "Candidate", "Goal", "advise"]

_Key = TypeVar("_Key")

SEEDS = 5
# Short, so that all candidates on all paths take minutes; a scenario's own duration counts.
_DURATION = "12s"
# The axis of the tunnels, each as in a sweep: a name, and keys with values after it.
_TUNNEL = "tunnel"
_OWN_CC = " cc="


@dataclass(frozen=True)
class Candidate:
    """A tunnel with a congestion control on the given path, in SI units.

    ``tunnel``: its name, and what follows it in a sweep, as in ``openvpn-tcp cc=bbr``. ``cc``:
    of the application; "any" if the carrier has its own. ``value``: mean of the goal's metric.
    ``to_best``: the difference to the best one, None of itself. ``limit``: what limits it, by more
    runs, and ``limit_keys``: the keys that change that.
    ``bytes``: on the wire for a byte of the application. ``cpu``: of the busier host.
    ``neighbour``: the goodput of a CUBIC flow beside it, as part of what that has beside a plain
    CUBIC flow.
    """

    tunnel: str
    cc: str
    value: float
    to_best: Difference | None
    limit: str
    limit_keys: tuple[str, ...]
    bytes: float
    cpu: float
    neighbour: float

    @property
    def name(self) -> str:
        """Tunnel and congestion control."""
        tunnel, _, carrier = self.tunnel.partition(_OWN_CC)
        tunnel = "no tunnel" if tunnel == "none" else tunnel
        if carrier:
            return f"{self.cc} in {tunnel} over {carrier}"
        return tunnel if self.cc == "any" else f"{tunnel} with {self.cc}"


@dataclass(frozen=True)
class Turn:
    """Another path on which another candidate is best: by ``gain``, with its interval."""

    path: str
    best: str
    gain: Difference


@dataclass(frozen=True)
class Advice:
    """The candidates, the best first, and the changes of the path that turn the ranking.

    ``paths``: the other paths that were simulated. ``failed``: runs that failed. ``results``: on
    the given path. ``differences``: to the best one, by the places of tunnel and algorithm.
    ``left_out``: tunnels that cannot carry the traffic. ``defaults``: keys of hosts whose defaults
    limit candidates, and the values without that limit; ``without``: the ranking with these.
    """

    goal: Goal
    conditions: str
    candidates: list[Candidate]
    turns: list[Turn]
    paths: list[str]
    seeds: int
    failed: int
    results: xarray.Dataset
    differences: dict[tuple[int, ...], Difference]
    left_out: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    without: Advice | None = None

    @property
    def limited_by_defaults(self) -> list[Candidate]:
        """The candidates that a default of the hosts limits."""
        return [it for it in self.candidates if {*it.limit_keys} & self.defaults.keys()]

    @property
    def best(self) -> Candidate:
        """The one with the best mean."""
        return self.candidates[0]

    @property
    def equals(self) -> list[Candidate]:
        """Those that the runs do not tell from the best."""
        return [
            it for it in self.candidates
            if it.to_best is not None and it.to_best.verdict in ("undecided", "same")
        ]  # fmt: skip

    @cached_property
    def configurations(self) -> dict[str, str]:
        """What starts the best candidate, and the best tunnel if that is another: by name."""
        ranked = self.without or self
        tunnel = next((it for it in ranked.candidates if it.tunnel != "none"), ranked.best)
        limited = {it.name for it in self.limited_by_defaults}
        return {
            it.name: configuration(it.tunnel, it.cc, self.defaults if it.name in limited else {})
            for it in (ranked.best, tunnel)
        }


#: Key of hosts → the line that sets it; of TCP's buffers, least and first size stay the kernel's.
_SYSCTL = {
    "hosts.tcp_wmem": 'sysctl -w net.ipv4.tcp_wmem="4096 16384 {size}"',
    "hosts.tcp_rmem": 'sysctl -w net.ipv4.tcp_rmem="4096 131072 {size}"',
}


def configuration(tunnel: str, cc: str, hosts: Mapping[str, str] | None = None) -> str:
    """Return commands for both ends of a tunnel, for congestion controls, and keys of ``hosts``."""
    name, _, carrier = tunnel.partition(_OWN_CC)
    lines = catalog.commands(name.partition(" ")[0])
    lines += [f"# with {it}" for it in name.split(" ")[1:]]
    for key, size in (hosts or {}).items():
        lines.append("# on both hosts whose TCP crosses the path")
        lines.append(_SYSCTL[key].format(size=parse_size(size)))
    ways = {"the hosts whose TCP crosses the path": cc}
    if carrier:
        ways = {"both ends of the tunnel": carrier, "the sending host": cc}
    elif name == "none":
        ways = {"the sending host": cc}
    for where, algorithm in ways.items():
        if algorithm != "any":
            lines.append(f"# on {where}")
            lines.append(f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}")
    return "\n".join(lines)


def advise(
    table: Mapping[str, Any],
    goal: str = "bulk",
    tunnels: Sequence[str] = TUNNELS,
    congestion: Sequence[str] = CONGESTION_CONTROLS,
    *,
    seeds: int = SEEDS,
    store: str | Path = "runs",
    jobs: int | None = None,
    progress: bool = True,
    has_variants: bool = True,
) -> Advice:
    """Simulate tunnels and congestion controls on a path and on others like it, and rank them.

    ``table``: the tables of a scenario: its path and hosts count, and its flows for ``bulk``. The
    candidates take the place of its tunnel and of those of its flows.
    ``tunnels``: with keys as in a sweep (``openvpn-tcp cc=bbr``: the carrier's own algorithm).
    ``has_variants``: also simulate the path with other loss, RTT, rate and buffer. Raises
    ConfigError.
    """
    if goal not in GOALS:
        raise unknown_name("--goal", goal, GOALS)
    if seeds < 2:
        raise ConfigError(Problem("--seeds", seeds, "at least 2, for differences"))
    found = GOALS[goal]
    base = {key: value for key, value in table.items() if key not in ("tunnel", "sweep", "title")}
    if "network" in base or "tunnels" in base:
        expected = "a scenario with one path: no network, and no tunnels of its own"
        raise ConfigError(
            Problem("advise", "network" if "network" in base else "tunnels", expected)
        )
    own = _without_tunnels(base.pop("flows", []))
    base.setdefault("duration", _DURATION)
    flows = own if goal == "bulk" and own else list(found.flows)
    paths = _paths(base) if has_variants else [("the path", {})]
    given = paths[0][1]
    left_out = _without_udp(base, flows, tunnels)
    tunnels = [it for it in tunnels if it not in left_out]
    candidates = [_table(it) for it in tunnels]
    axes: dict[str, Any] = {_TUNNEL: candidates, found.cc_key: list(congestion)}
    zipped = {key: [values.get(key, given.get(key)) for _, values in paths] for key in given}
    results, tally = _swept(
        {**base, "flows": flows}, {**axes, "zip": zipped} if zipped else axes, seeds, store, jobs,
        progress,
    )  # fmt: skip
    with_plain = {
        _TUNNEL: candidates if "none" in tunnels else ["none", *candidates],
        "flows.0.cc": list(dict.fromkeys(["cubic", *congestion])),
    }
    beside = {**base, "flows": list(GOALS["fair"].flows)}
    neighbour, _ = _swept(beside, with_plain, seeds, store, jobs, progress)
    path = Experiment.parse(scenarios.apply(base, {}))
    if found.metric == MIX:
        results = with_mix(results, path.path.rate or 0, path.path.rtt, path.duration)
    conditions = ", ".join([
        f"{format_rate(path.path.rate or 0)} × {format_time(path.path.rtt)}",
        *([f"loss {100 * path.path.loss:g} %"] if path.path.loss else []),
        f"buffer {path.path.buffer}", format_time(path.duration),
    ])  # fmt: skip
    limits = _limits(results, tally.ids, store, jobs)
    ranked = replace(_ranked(
        found, results, neighbour, [name for name, _ in paths], conditions, seeds, tally.failed,
        limits,
    ), left_out=left_out)  # fmt: skip
    keys = {key for it in ranked.candidates for key in it.limit_keys}
    given = base.get("hosts", {})
    defaults = {
        key: value
        for key, value in HOST_DEFAULTS.items()
        if key in keys and key.removeprefix("hosts.") not in given
    }
    if not defaults:
        return ranked
    without = advise(
        scenarios.apply(table, defaults), goal, tunnels, congestion, seeds=seeds, store=store,
        jobs=jobs, progress=progress, has_variants=False,
    )  # fmt: skip
    return replace(ranked, defaults=defaults, without=without)


def _without_tunnels(flows: Any) -> list[dict[str, Any]]:
    """Return the flows of a scenario, one table or several. Raises ConfigError."""
    tables = [flows] if isinstance(flows, Mapping) else flows
    if not isinstance(tables, list) or not all(isinstance(it, Mapping) for it in tables):
        Experiment.parse({"flows": flows})  # says what is wrong
        raise ConfigError(Problem("flows", flows, "tables"))
    return [{key: value for key, value in it.items() if key != "tunnel"} for it in tables]


def _limits(
    results: xarray.Dataset, ids: Sequence[str], store: str | Path, jobs: int | None
) -> dict[tuple[int, int], tuple[str, tuple[str, ...]]]:
    """Return what limits each candidate on the given path, and the keys, confirmed by runs."""
    values = results["goodput"]
    shape = tuple(values.sizes.values())
    runs: dict[tuple[int, int], tc.Result] = {}
    for place in np.ndindex(*shape[:2]):
        first = (*place, *(0,) * (len(shape) - 2))
        id_ = ids[int(np.ravel_multi_index(first, shape))]
        found = tc.Store(store).load(id_) if id_ else None
        if isinstance(found, tc.Result):
            runs[place] = found
    each = tc.confirm_each([*runs.values()], jobs=jobs)
    return {
        place: (", ".join(filter(None, findings.at_point(found))), findings.keys_of(found))
        for place, found in zip(runs, each, strict=True)
        if found
    }


def _without_udp(
    base: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], tunnels: Sequence[str]
) -> tuple[str, ...]:
    """Return the tunnels that cannot carry those of the flows that are over UDP."""

    def is_possible(tunnel: str, those: Sequence[Mapping[str, Any]]) -> bool:
        try:
            Experiment.parse({**base, "flows": list(those), "tunnel": _table(tunnel)})
        except ConfigError:
            return False
        return True

    others = [it for it in flows if it.get("transport") != "udp"]
    if len(others) in (0, len(flows)):
        return ()
    return tuple(it for it in tunnels if not is_possible(it, flows) and is_possible(it, others))


def _table(tunnel: str) -> str | dict[str, Any]:
    """Return the value of the axis for a tunnel such as ``openvpn-tcp cc=bbr``."""
    name, *settings = tunnel.split()
    keys = dict(it.split("=", 1) for it in settings if "=" in it)
    if len(keys) < len(settings):
        raise ConfigError(Problem("--tunnels", tunnel, "a name, and KEY=VALUE after it"))
    return {"name": name, **keys} if keys else name


def _swept(
    table: dict[str, Any],
    axes: dict[str, Any],
    seeds: int,
    store: str | Path,
    jobs: int | None,
    progress: bool,
) -> tuple[xarray.Dataset, Tally]:
    declared = tc.Sweep(table, axes, seeds)
    digest = hashlib.sha256(declared.to_toml().encode()).hexdigest()[:8]
    declared.name = f"advise-{digest}"
    tally = run_sweep(declared, store, jobs=jobs, progress=progress, again=True)
    return results_of(declared, tally, store), tally


def _paths(base: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the given path, and those that differ in one thing: name, and keys with values."""
    path = Experiment.parse(scenarios.apply(base, {})).path
    if path.rate is None:
        raise ConfigError(Problem("path.rate", "none", "a rate, so that there is a bottleneck"))
    buffer = path.buffer.at(path.rate, path.rtt) or (path.buffer.packets or 0) * 1500
    here = {
        "path.rate": format_rate(path.rate), "path.rtt": format_time(path.rtt),
        "path.loss": format_probability(path.loss), "path.buffer": f"{buffer}B",
    }  # fmt: skip
    less, more = path.loss / 4, max(4 * path.loss, 0.001)
    changes: list[tuple[str, float, str]] = [
        ("path.loss", path.loss, format_probability(float(f"{more:.3g}"))),
        ("path.rtt", path.rtt, format_time(float(f"{2 * path.rtt:.4g}"))),
        ("path.rate", path.rate, format_rate(float(f"{2 * path.rate:.4g}"))),
        ("path.rate", path.rate, format_rate(float(f"{path.rate / 2:.4g}"))),
        ("path.buffer", buffer, f"{max(buffer // 4, 3100)}B"),
        ("path.buffer", buffer, f"{4 * buffer}B"),
    ]
    if path.loss:
        changes.append(("path.loss", path.loss, format_probability(float(f"{less:.3g}"))))
    if more < 0.02:
        changes.append(("path.loss", path.loss, "2%"))
    found = [("the path", here)]
    for key, _, text in changes:
        found.append((f"{key} {text}", {**here, key: text}))
    return found


def _ranked(
    goal: Goal,
    results: xarray.Dataset,
    neighbour: xarray.Dataset,
    paths: list[str],
    conditions: str,
    seeds: int,
    failed: int,
    limits: Mapping[tuple[int, int], tuple[str, tuple[str, ...]]],
) -> Advice:
    values = _values(goal, results)  # tunnel, cc, path, seed
    tunnels = [str(it) for it in results[_TUNNEL].values]
    algorithms = [str(it) for it in results[goal.cc_key].values]
    shown = _different(values, tunnels, algorithms)
    better = 1.0 if goal.is_higher else -1.0
    means = {point: float(np.nanmean(values[point][0])) for point in shown}
    order = sorted(shown, key=lambda point: -better * means[point])
    best = order[0]
    # Whichever is truly the best, it is called worse with 5 % at most: it has as many rivals as
    # there are intervals (Hsu, Constrained Simultaneous Confidence Intervals for Multiple
    # Comparisons with the Best, 1984; with Bonferroni's bound).
    rivals = max(len(order) - 1, 1)
    confidence = paired.each_of(rivals)
    beside = _beside(neighbour)
    candidates: list[Candidate] = []
    differences = _in_one_unit(
        {point: (values[point][0], values[best][0]) for point in order[1:]}, confidence
    )
    for point in order:
        tunnel, cc = tunnels[point[0]], algorithms[point[1]]
        difference = differences.get(point)
        at = {_TUNNEL: tunnel, goal.cc_key: cc}
        here = results.sel(at)
        here = here.isel(point=0) if "point" in here.dims else here
        candidates.append(Candidate(
            tunnel, shown[point], means[point], difference, *limits.get(point, ("–", ())),
            1 / float(here["efficiency"].mean()),
            float(np.maximum(here["cpu_client"], here["cpu_server"]).mean()),
            beside.get((tunnel, cc), float("nan")),
        ))  # fmt: skip
    found = {}
    for number in range(1, len(paths)):
        there = {
            point: float(np.nanmean(values[point][number])) for point in shown
            if np.isfinite(values[point][number]).any()
        }  # fmt: skip
        if there:
            found[number] = max(there, key=lambda point: better * there[point])
    gains = _in_one_unit(
        {
            number: (values[first][number], values[best][number])
            for number, first in found.items() if first != best
        },
        paired.each_of(rivals * len(paths)),
    )  # fmt: skip
    turns = []
    for number, gain in gains.items():
        first = found[number]
        if gain.verdict == ("more" if goal.is_higher else "less"):
            winner = Candidate(
                tunnels[first[0]], shown[first], 0.0, None, "", (), 0.0, 0.0, 0.0
            ).name
            turns.append(Turn(paths[number], winner, gain))
    return Advice(
        goal, conditions, candidates, turns, paths[1:], seeds, failed,
        (results.isel(point=0) if "point" in results.dims else results).assign_attrs(
            title=conditions
        ),
        {(*point,): it for point, it in differences.items()},
    )  # fmt: skip


def _in_one_unit(
    pairs: Mapping[_Key, tuple[NDArray[np.float64], NDArray[np.float64]]], confidence: float
) -> dict[_Key, Difference]:
    """Return the differences of pairs: all of them ratios, or none where one cannot be."""
    found = {key: paired.difference(*both, confidence) for key, both in pairs.items()}
    if all(it.is_ratio for it in found.values()):
        return found
    return {
        key: paired.difference(*both, confidence, is_ratio=False) for key, both in pairs.items()
    }


def _values(goal: Goal, results: xarray.Dataset) -> NDArray[np.float64]:
    """Return the goal's metric; shape (tunnel, cc, path, seed)."""
    values = results[goal.metric]
    if goal.flow is not None:
        values = values.isel(flow=goal.flow)
    elif "flow" in values.dims:
        values = values.mean("flow")
    if "point" not in values.dims:
        values = values.expand_dims("point")
    found: NDArray[np.float64] = values.transpose(_TUNNEL, goal.cc_key, "point", "seed").values
    return found


def _different(
    values: NDArray[np.float64], tunnels: Sequence[str], algorithms: Sequence[str]
) -> dict[tuple[int, int], str]:
    """Return the places of candidates that have results, and the names of their algorithms.

    Where the carrier has its own congestion control, one stands for all. A carrier with an
    algorithm of its own is left out where the tunnel without one gives the same runs.
    """
    found = {}
    for tunnel in range(len(tunnels)):
        is_same = len(algorithms) > 1 and all(
            np.array_equal(values[tunnel, 0], values[tunnel, cc], equal_nan=True)
            for cc in range(1, len(algorithms))
        )
        plain, _, carrier = tunnels[tunnel].partition(_OWN_CC)
        same = None
        if plain in tunnels and carrier in algorithms:
            same = values[tunnels.index(plain), algorithms.index(carrier)]
        for cc, name in enumerate(algorithms[:1] if is_same else algorithms):
            if same is not None and np.array_equal(values[tunnel, cc], same, equal_nan=True):
                continue
            if np.isfinite(values[tunnel, cc, 0]).any():
                found[tunnel, cc] = "any" if is_same else name
    if not found:
        raise ConfigError(Problem("advise", ", ".join(tunnels), "tunnels that run on this path"))
    return found


def _beside(results: xarray.Dataset) -> dict[tuple[str, str], float]:
    """Return what the neighbour keeps, by tunnel and congestion control."""
    goodput = results["flow_goodput"].isel(flow=1).mean("seed")
    tunnels = [str(it) for it in results[_TUNNEL].values]
    algorithms = [str(it) for it in results["flows.0.cc"].values]
    plain = float(goodput.sel({_TUNNEL: "none", "flows.0.cc": "cubic"}))
    return {
        (tunnel, cc): float(goodput.sel({_TUNNEL: tunnel, "flows.0.cc": cc})) / plain
        for tunnel in tunnels
        for cc in algorithms
    }
