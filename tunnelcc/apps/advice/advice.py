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
# So many seeds tell whether a default limits.
_SEEDS_OF_DEFAULTS = 2
# So many times a tunnel's windows are doubled.
_MOST_DOUBLED = 8
_WINDOWS = ("window", "buffer", "queue")
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
    limit candidates, and the values without that limit. ``wider``: tunnels whose own windows limit
    them, with those that do not. ``without``: the ranking with both; then it has the other paths.
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
    wider: Sequence[str] = ()
    without: Advice | None = None

    @property
    def limited_by_defaults(self) -> list[Candidate]:
        """The candidates that are worth more without the defaults of the hosts that limit."""
        if self.without is None or not self.defaults:
            return []
        after = {it.name: it.value for it in self.without.candidates}
        return [
            it for it in self.candidates
            if it.name in after and self.goal.are_better(after[it.name], it.value)
        ]  # fmt: skip

    @property
    def final(self) -> Advice:
        """The ranking without limits that a setting removes, or this one if there are none."""
        return self.without or self

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
        ranked = self.final
        tunnel = next((it for it in ranked.candidates if it.tunnel != "none"), ranked.best)
        limited = {it.name for it in self.limited_by_defaults}
        same = {it.name for it in self.candidates} - limited
        return {
            it.name: configuration(it.tunnel, it.cc, {} if it.name in same else self.defaults)
            for it in (ranked.best, tunnel)
        }


#: Key of hosts → the line that sets it; of TCP's buffers, least and first size stay the kernel's.
_SYSCTL = {
    "hosts.tcp_wmem": 'sysctl -w net.ipv4.tcp_wmem="4096 16384 {size}"',
    "hosts.tcp_rmem": 'sysctl -w net.ipv4.tcp_rmem="4096 131072 {size}"',
}


def configuration(tunnel: str, cc: str, hosts: Mapping[str, str] | None = None) -> str:
    """Return commands for both ends of a tunnel, for congestion controls, and keys of ``hosts``."""
    program, *settings = tunnel.split(" ")
    options = dict(it.split("=", 1) for it in settings)
    carrier = options.pop("cc", "")
    lines = catalog.commands(program, options)
    for key, size in (hosts or {}).items():
        lines.append("# on both hosts whose TCP crosses the path")
        lines.append(_SYSCTL[key].format(size=parse_size(size)))
    ways = {"the hosts whose TCP crosses the path": cc}
    if carrier:
        ways = {"both ends of the tunnel": carrier, "the sending host": cc}
    elif program == "none":
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
    left_out = _without_udp(base, flows, tunnels)
    tunnels = [it for it in tunnels if it not in left_out]
    ask = _Asked(found, flows, congestion, seeds, store, jobs, progress, left_out)
    first = ask.ranking(base, tunnels)
    defaults, wider = ask.limiting_defaults(base, tunnels, first), ask.wider(base, first)
    table = scenarios.apply(base, defaults)
    if not defaults and not wider:
        return ask.ranking(table, tunnels, has_variants=True) if has_variants else first
    without = ask.ranking(table, [*tunnels, *wider], has_variants=has_variants)
    return replace(first, defaults=defaults, wider=wider, without=without)


@dataclass(frozen=True)
class _Asked:
    """A use, and how its candidates are simulated."""

    goal: Goal
    flows: Sequence[Mapping[str, Any]]
    congestion: Sequence[str]
    seeds: int
    store: str | Path
    jobs: int | None
    progress: bool
    left_out: tuple[str, ...]

    def ranking(
        self, base: dict[str, Any], tunnels: Sequence[str], *, has_variants: bool = False
    ) -> Advice:
        """Simulate tunnels on a path, and on others like it, and rank them."""
        paths = _paths(base) if has_variants else [("the path", {})]
        results, tally = self._results(base, tunnels, [values for _, values in paths], self.seeds)
        others = tunnels if "none" in tunnels else ["none", *tunnels]
        algorithms = list(dict.fromkeys(["cubic", *self.congestion]))
        beside = {**base, "flows": list(GOALS["fair"].flows)}
        neighbour, _ = self._swept(beside, others, {"flows.0.cc": algorithms}, self.seeds)
        path = Experiment.parse(scenarios.apply(base, {}))
        conditions = ", ".join([
            f"{format_rate(path.path.rate or 0)} × {format_time(path.path.rtt)}",
            *([f"loss {100 * path.path.loss:g} %"] if path.path.loss else []),
            f"buffer {path.path.buffer}", *(["downloads"] if path.direction == "down" else []),
            format_time(path.duration),
        ])  # fmt: skip
        limits = _limits(results, tally.ids, self.store, self.jobs)
        ranked = _ranked(
            self.goal, results, neighbour, [name for name, _ in paths], conditions, self.seeds,
            tally.failed, limits,
        )  # fmt: skip
        return replace(ranked, left_out=self.left_out)

    def limiting_defaults(
        self, base: dict[str, Any], tunnels: Sequence[str], ranked: Advice
    ) -> dict[str, str]:
        """Return the defaults of hosts without which a candidate is worth more.

        Random loss may limit as well, and be worth more still: so each default is asked.
        """
        found: dict[str, str] = {}
        before = _values(self.goal, ranked.results)[..., :_SEEDS_OF_DEFAULTS].mean(-1)
        for key, value in HOST_DEFAULTS.items():
            if key.removeprefix("hosts.") not in base.get("hosts", {}):
                wider = scenarios.apply(base, {**found, key: value})
                results, _ = self._results(wider, tunnels, [{}], _SEEDS_OF_DEFAULTS)
                after = _values(self.goal, results).mean(-1)
                if self.goal.are_better(after, before).any():
                    found[key], before = value, after
        return found

    def wider(self, base: dict[str, Any], ranked: Advice) -> list[str]:
        """Return tunnels whose own windows limit them, with windows that do not.

        Of a tunnel with several congestion controls, those of its best candidate.
        """
        best: dict[str, Candidate] = {}
        for it in ranked.candidates:
            best.setdefault(it.tunnel, it)
        found = []
        for name, it in best.items():
            if any(map(_is_window, it.limit_keys)):
                cc = self.congestion[0] if it.cc == "any" else it.cc
                table = {**base, "flows": list(self.flows), _TUNNEL: _table(name)}
                sizes = _widened(scenarios.build(table, {self.goal.cc_key: cc}), self.jobs)
                found.append(" ".join([name, *(f"{key}={size}" for key, size in sizes.items())]))
        return found

    def _results(
        self,
        base: dict[str, Any],
        tunnels: Sequence[str],
        paths: Sequence[Mapping[str, Any]],
        seeds: int,
    ) -> tuple[xarray.Dataset, Tally]:
        """Return what the goal's flows have on a path, or on several by the keys that differ."""
        axes: dict[str, Any] = {self.goal.cc_key: list(self.congestion)}
        if paths[0]:
            axes["zip"] = {key: [it[key] for it in paths] for key in paths[0]}
        results, tally = self._swept({**base, "flows": list(self.flows)}, tunnels, axes, seeds)
        if self.goal.metric == MIX:
            path = Experiment.parse(scenarios.apply(base, {}))
            results = with_mix(results, path.path.rate or 0, path.path.rtt, path.duration)
        return results, tally

    def _swept(
        self, table: dict[str, Any], tunnels: Sequence[str], axes: dict[str, Any], seeds: int
    ) -> tuple[xarray.Dataset, Tally]:
        declared = tc.Sweep(table, {_TUNNEL: [_table(it) for it in tunnels], **axes}, seeds)
        digest = hashlib.sha256(declared.to_toml().encode()).hexdigest()[:8]
        declared.name = f"advise-{digest}"
        tally = run_sweep(declared, self.store, jobs=self.jobs, progress=self.progress, again=True)
        results = results_of(declared, tally, self.store)
        return results.assign_coords({_TUNNEL: list(tunnels)}), tally


def _widened(experiment: Experiment, jobs: int | None) -> dict[str, str]:
    """Return a tunnel's windows, doubled as long as that is what helps a flow most."""
    sizes: dict[str, str] = {}
    for _ in range(_MOST_DOUBLED):
        entries = tc.confirm(tc.run(experiment, progress=False), jobs=jobs)
        firsts = [it.changes for entry in entries for it in findings.limits_of(entry)[:1]]
        changes = next((it for it in firsts if all(_is_window(one.key) for one in it)), ())
        if not changes:
            break
        sizes |= {it.key.removeprefix(f"{_TUNNEL}."): str(it.after) for it in changes}
        experiment = tc.relax(experiment, *(it.name for it in changes))
    return sizes


def _is_window(key: str) -> bool:
    return key.startswith(f"{_TUNNEL}.") and key.endswith(_WINDOWS)


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
    found: dict[str, Any] = {"name": name}
    for key, value in keys.items():
        *tables, last = key.split(".")
        inner = found
        for it in tables:
            inner = inner.setdefault(it, {})
        inner[last] = scenarios.parse_text(f"{_TUNNEL}.{key}", value)
    return found if keys else name


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
    shown = _different(values, tunnels, algorithms, _of_carriers(results, goal))
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


def _of_carriers(results: xarray.Dataset, goal: Goal) -> list[bool]:
    """Return of each tunnel whether it is a relay whose carrier has its own congestion control.

    The application's is then that of loopbacks: its runs differ by chance at most.
    """
    used = results["flow_cc"].transpose(_TUNNEL, goal.cc_key, ...).values
    tunnels = [
        Experiment.parse({_TUNNEL: _table(str(it))}).tunnel for it in results[_TUNNEL].values
    ]
    return [
        it is not None and it.entry.kind == "relay" and bool((here == here[:1]).all())
        for it, here in zip(tunnels, used, strict=True)
    ]


def _different(
    values: NDArray[np.float64],
    tunnels: Sequence[str],
    algorithms: Sequence[str],
    of_carriers: Sequence[bool],
) -> dict[tuple[int, int], str]:
    """Return the places of candidates that have results, and the names of their algorithms.

    Where the carrier has its own congestion control, one stands for all. A carrier with an
    algorithm of its own is left out where the tunnel without one gives the same runs.
    ``of_carriers``: whether the path has that of the tunnel's carrier alone.
    """
    found = {}
    for tunnel in range(len(tunnels)):
        is_same = len(algorithms) > 1 and (of_carriers[tunnel] or all(
            np.array_equal(values[tunnel, 0], values[tunnel, cc], equal_nan=True)
            for cc in range(1, len(algorithms))
        ))  # fmt: skip
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
