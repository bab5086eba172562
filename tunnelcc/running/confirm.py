# SPDX-License-Identifier: GPL-2.0-only
"""What limits flows, by experiment: runs with one key relaxed, beside the same run without.

A limit is what raises the goodput when it is relaxed (docs/decisions/0012-limits-are-experiments).
Each key of ``scenario.relax.changes()`` is tried, with the same seed; where none helps, all
together, and then what is left of them as long as that helps. Of a long run that
does the same all the time, the others take a short part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc import system
from tunnelcc.analysis.values import Confirmed, Finding, Worth
from tunnelcc.errors import ConfigError, RunError
from tunnelcc.results import worth
from tunnelcc.results.result import Result
from tunnelcc.running import runner
from tunnelcc.scenario import Experiment
from tunnelcc.scenario.relax import FACTOR, LOWERED, Change, changes, relaxed

if TYPE_CHECKING:
    from tunnelcc.running.pool import Pool

#: Less than this gain is none: what gains less when it is relaxed is no limit.
LEAST = 0.05
#: What gains so much is a limit for certain; where no key does, pairs of keys are tried.
MUCH = 0.2
# Keys that help together have this part of what all of them gain; less where it takes many of them.
_KEPT = (0.8, 0.4, 0.0)
# Where twice as much of nothing helps, so much may: of a link, for datagrams at a fixed rate.
_LARGER = 4.0
# What slow start takes, a larger first window saves; no user tunes it, so it is no limit's key.
_INITIAL_WINDOW = "tcp.initial_window"
# Slow start may be all of a run of fewer RTTs.
_OF_SLOW_START = 100
# Of seeds, one more for each of these: runs are chaotic, and one pair may mislead.
_MORE_SEEDS = (1_000_003, 2_000_003, 3_000_017, 4_000_037)
# A part of a long run has so many events (some 20 ms), and less is tried with more keys and seeds.
_CHEAP = 100_000
# A short part of a long run has at least so many RTTs, and seconds.
_ROUNDS, _SECONDS = 60, 2.0
# So many events are quicker in this process than workers start.
_IN_PROCESS = 1_000_000
# A rate that is set, and loses more than this share of packets, may be too high.
_LOSSY = 0.01
# Of more keys, those of equal links, hosts and flows are relaxed together.
_MOST_KEYS = 24
# Of a long run, so many keys are tried at once; where one of them helps much, no others.
_AT_ONCE = 4
# Runs beside one that takes long may take so many times its events, and those beside any so many.
_BUDGET, _LEAST_BUDGET = 5.0, 5_000_000
# Where no key helps alone, so many more runs look for those that help together.
_MOST_OF_PAIRS = 16
# Of several results, beside which others are run, each has less.
_BUDGET_OF_EACH, _LEAST_OF_EACH = 2.0, 1_000_000
#: Explanations take as long as they need, but for large networks.
THOROUGH = 100.0
# More than so many times a value is no advice.
_MOST_RUNG = 256.0
# More than so many keys cannot be that many limits.
_MOST_TOGETHER = 3


class Rung(NamedTuple):
    """What more of a limit gives: its ``value``, the gain, and the share of packets sent again.

    ``then``: the keys that help next, where more of it does not.
    """

    value: str
    gain: float
    resent: float
    then: tuple[str, ...] = ()


class _Ask(NamedTuple):
    """A run: names of changes, what is added to the seed, and the factor of changes."""

    names: tuple[str, ...]
    seed: int = 0
    factor: float = FACTOR


class Confirmer:
    """The runs beside a finished one. ``jobs``: number of processes."""

    def __init__(
        self,
        result: Result,
        jobs: int | None = None,
        budget: float = _BUDGET,
        least: float = _LEAST_BUDGET,
    ) -> None:
        self.result, self.experiment = result, result.experiment
        self._changes: dict[float, dict[str, list[Change]]] = {}
        self.events = int(result.measured["events"])
        self.short = _short_part(self.experiment, self.events)
        self._cost = self.events * self.short.duration / self.experiment.duration
        self.base = worth.of_entries(result)
        self._known: dict[_Ask, list[Worth] | None] = {}
        if self.short is self.experiment:
            self._known[_Ask(())] = self.base
        self._jobs = jobs
        self._pool: Pool | None = None
        self.is_cheap = self.events <= _CHEAP or budget >= THOROUGH
        self._left = max(least, budget * self.events)

    def changes(self, factor: float = FACTOR) -> dict[str, list[Change]]:
        """Return what is relaxed together, by name."""
        if factor not in self._changes:
            self._changes[factor] = _grouped(self.experiment, factor)
        return self._changes[factor]

    def findings(self) -> list[Finding]:
        """Return what limits the flows of each entry of ``flows``."""
        names = _ranked(self.result, self.changes())
        entries = range(len(self.experiment.flows))
        step = len(names) if self.is_cheap else _AT_ONCE
        for at in range(0, len(names), step):
            self._run([_Ask(()), *(_Ask((it,)) for it in names[at : at + step])])
            known = [it for it in names if self._is_known(it)]
            bests = [max((self._gain(it, [name]) for name in known), default=0) for it in entries]
            if not self.is_cheap and min(bests) >= MUCH:
                break  # what else there is gains less in nearly all cases
        known = [it for it in names if self._is_known(it)]
        return [self._finding(entry, known) for entry in entries]

    # Runs

    def _run(self, asks: Iterable[_Ask]) -> None:
        """Make runs that are not known yet."""
        todo: list[tuple[_Ask, Experiment]] = []
        for ask in dict.fromkeys(asks):
            if ask in self._known or self._cost > self._left:
                continue
            try:
                if ask.names == (_INITIAL_WINDOW,):
                    window = round(_LARGER * self.short.tcp.initial_window)
                    todo.append((ask, self.short.with_({_INITIAL_WINDOW: window})))
                    continue
                changed = relaxed(
                    self.short,
                    [change for it in ask.names for change in self.changes(ask.factor)[it]],
                )
            except ConfigError:
                self._known[ask] = None
                continue
            self._left -= self._cost
            seed = (changed.seed + ask.seed) % 2**63
            todo.append((ask, changed.with_seed(seed) if ask.seed else changed))
        if not todo:
            return
        if self._jobs == 1 or (self._pool is None and len(todo) * self._cost <= _IN_PROCESS):
            outcomes: Any = ((ask, _worths((it, self.base))) for ask, it in todo)
        else:
            tasks = [(ask, (it, self.base)) for ask, it in todo]
            if self._pool is None:
                from tunnelcc.running.pool import Pool  # takes a while

                self._pool = Pool(_worths, self._jobs or system.cores())
            outcomes = self._pool.run(tasks)
        for ask, outcome in outcomes:
            self._known[ask] = None if isinstance(outcome, RunError) else outcome

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.__exit__(None)

    def _gain(
        self, entry: int, names: Sequence[str], seeds: int = 1, factor: float = FACTOR
    ) -> float:
        """Return the gain of an entry with some keys relaxed: 0.2 is 20 % more."""
        asks = [_Ask(tuple(names), it, factor) for it in (0, *_MORE_SEEDS)[:seeds]]
        bases = [_Ask((), it.seed) for it in asks]
        self._run([*asks, *bases])
        known = [
            (self._known.get(it), self._known.get(base))
            for it, base in zip(asks, bases, strict=True)
        ]
        gains = [more[entry].value / base[entry].value - 1 for more, base in known if more and base]
        return median(gains) if gains else 0.0  # others cannot be, or cost too much

    # Decisions

    def _finding(self, entry: int, names: Sequence[str]) -> Finding:
        twice = self._found(entry, names, FACTOR)
        found = twice or self._found(entry, names, _LARGER)
        gains = {it: self._gain(entry, [it]) for it in names if self._is_known(it)}
        for it in twice:  # of more seeds: a key has one worth
            if len(named := {change.name for change in it.changes}) == 1:
                gains[named.pop()] = it.gain
        best = found[0].gain if found else 0.0
        is_slow_start = self._is_slow_start(entry, best)
        known = {name: it[0] for name, it in self.changes().items()}
        return Finding(
            entry, self.base[entry], tuple(found), self._lower(entry, names), gains, known,
            is_slow_start,
        )  # fmt: skip

    def _is_slow_start(self, entry: int, best: float) -> bool:
        """Whether a larger first window gains more than the ``best`` key: a flow ends, or a run,
        before anything else limits.
        """
        metric, experiment = self.base[entry].metric, self.experiment
        is_short = experiment.duration < _OF_SLOW_START * _rtt(experiment)
        if metric == "completion" and best < MUCH:
            least = max(best, LEAST)
        elif metric == "completion" or (metric == "goodput" and is_short and not experiment.warmup):
            least = max(2 * best, MUCH)
        else:
            return False
        return self._gain(entry, [_INITIAL_WINDOW], factor=_LARGER) > least

    def _found(self, entry: int, names: Sequence[str], factor: float) -> list[Confirmed]:
        """Return the keys that help when relaxed by a factor, the best one first."""
        if factor != FACTOR:
            self._run(_Ask((it,), factor=factor) for it in names)
        gains = {it: self._gain(entry, [it], factor=factor) for it in names}
        order = sorted(names, key=lambda it: -gains[it])
        first = [it for it in order[:3] if gains[it] > LEAST / 2]
        if factor != FACTOR:  # of chaotic runs, one seed may have misled
            first += [it for it in names[:3] if it not in first]
        tops = [[it] for it in first]
        found = self._confirmed(entry, tops, factor)
        alone = found[0].gain if found else 0.0
        if alone < MUCH:
            together = self._together(entry, order, factor)
            pair = self._confirmed(entry, [together] if together else [], factor)
            if pair and pair[0].gain >= MUCH:
                return [*pair, *found]
        return found

    def ladder(self, finding: Finding) -> list[Rung]:
        """Return what twice, four times and more of the limit give, as long as they give more."""
        first = finding.found[0]
        names = [it.name for it in first.changes]
        rungs: list[Rung] = []
        if any(name not in self.changes() for name in names):
            return rungs
        before, factor = 0.0, FACTOR
        while factor <= _MOST_RUNG:
            after = [str(it.after) for name in names for it in self.changes(factor)[name]]
            value = ", ".join(after)
            gain = self._gain(finding.entry, names, factor=factor)
            asked = self._known.get(_Ask(tuple(names), factor=factor))
            if asked is None or (rungs and value == rungs[-1].value):
                break
            rungs.append(Rung(value, gain, asked[finding.entry].resent))
            if (1 + gain) / (1 + before) - 1 < LEAST:
                break
            before, factor = gain, 2 * factor
        if len(rungs) > 1:
            rungs[-1] = rungs[-1]._replace(then=self._then(finding, names, factor))
        return rungs if len(rungs) > 1 else []

    def _then(self, finding: Finding, names: Sequence[str], factor: float) -> tuple[str, ...]:
        """Return what helps when some keys are relaxed by a factor already."""
        changed = relaxed(self.short, [it for name in names for it in self.changes(factor)[name]])
        result = Result(changed, runner.measure(changed))
        runs = Confirmer(result, self._jobs)
        try:
            found = runs.findings()[finding.entry].found
        finally:
            runs.close()
        return tuple(it.name for it in found[0].changes) if found else ()

    def _confirmed(
        self, entry: int, tops: Sequence[Sequence[str]], factor: float
    ) -> list[Confirmed]:
        """Return those that help with other seeds, too.

        One run of a long one decides if it is clear; not where the best of many sets was searched.
        """
        gains = [self._gain(entry, top, 1, factor) for top in tops]
        is_clear = bool(gains) and gains[0] >= max([MUCH, *(2 * it for it in gains[1:])])
        if not self.is_cheap and is_clear and len(tops[0]) == 1:
            return [self._told(entry, tops[0], gains[0], 1, factor)]
        self._run(_Ask(tuple(top), seed, factor) for top in tops for seed in _MORE_SEEDS[:2])
        found = []
        for top in tops:
            each = [self._gain(entry, top, count, factor) for count in (1, 3)]
            is_alike = max(each) < max(3 * min(each), min(each) + LEAST)
            is_clear = (min(each) > LEAST) == (max(each) > LEAST) and is_alike
            seeds = 3 if is_clear else 5
            gain = self._gain(entry, top, seeds, factor)
            if gain >= LEAST:
                found.append(self._told(entry, top, gain, seeds, factor))
        return sorted(found, key=lambda it: -it.gain)

    def _told(
        self, entry: int, names: Sequence[str], gain: float, seeds: int, factor: float
    ) -> Confirmed:
        changed = tuple(it for name in names for it in self.changes(factor)[name])
        runs = self._known[_Ask(())], self._known[_Ask(tuple(names), factor=factor)]
        before, after = (it[entry] if it else self.base[entry] for it in runs)
        return Confirmed(changed, gain, seeds, before, after)

    def _lower(self, entry: int, names: Sequence[str]) -> Confirmed | None:
        """Return a rate that is set too high: with less, packets are lost no more."""
        for name in names:
            gain = self._gain(entry, [name], 3) if name.endswith(LOWERED) else -1.0
            if gain > -LEAST:
                told = self._told(entry, [name], gain, 3, FACTOR)
                base = told.before.resent
                if gain >= LEAST or (base > _LOSSY and told.after.resent < base / 2):
                    return told
        return None

    def _is_known(self, name: str) -> bool:
        return self._known.get(_Ask((name,))) is not None

    def _together(self, entry: int, order: Sequence[str], factor: float) -> list[str]:
        """Return the fewest keys that help only together; none if they do not."""
        useful = [
            it
            for it in order
            if not it.endswith(LOWERED) and self._known.get(_Ask((it,), factor=factor)) is not None
        ]
        self._left = max(self._left, _MOST_OF_PAIRS * self._cost)  # rare, and nothing else answers
        of_all = self._gain(entry, useful, factor=factor)
        if of_all < MUCH:
            return []
        left = list(reversed(useful))  # what gains least alone is left out first
        for part in _KEPT:
            left = self._fewest(entry, left, max(part * of_all, MUCH), factor)
            if len(left) <= _MOST_TOGETHER:
                return left
        return []

    def _fewest(self, entry: int, names: Sequence[str], least: float, factor: float) -> list[str]:
        """Return what is left of keys that together gain so much: none of it can be left out."""
        left, size = list(names), len(names)
        while size > 1:
            size, at = (size + 1) // 2, 0
            while at < len(left):
                rest = left[:at] + left[at + size :]
                if rest and self._gain(entry, rest, factor=factor) >= least:
                    left = rest
                else:
                    at += size
        return left


def _worths(task: tuple[Experiment, Sequence[Worth]]) -> list[Worth]:
    experiment, like = task
    return worth.of_entries(Result(experiment, runner.measure(experiment)), like)


def _grouped(experiment: Experiment, factor: float) -> dict[str, list[Change]]:
    """Return what is relaxed together, by name: one key, or in large networks those of equal links,
    hosts and flows.
    """
    known = changes(experiment, factor)
    if len(known) <= _MOST_KEYS or experiment.network is None:
        return {name: [it] for name, it in known.items()}
    groups: dict[Any, list[Change]] = {}
    for name, it in known.items():
        table, place, *rest = name.split(".")
        if table == "network":
            link = experiment.network.links.get(rest[0])
            given = link.table() if link is not None and place == "links" else {}
            alike: Any = (place, *rest[1:], it.before, str({**given, "between": ""}))
        else:
            alike = (table, *rest, it.before) if table == "flows" else name
        groups.setdefault(alike, []).append(it)
    return {
        it[0].name + (f" and {len(it) - 1} like it" if len(it) > 1 else ""): it
        for it in groups.values()
    }


def _ranked(result: Result, known: Mapping[str, Sequence[Change]]) -> list[str]:
    """Return the names, those first that the table of causes proposes or counters speak for."""
    proposed = [key.path for cause in result.limited if cause for key in cause.keys]
    counted = {place: _counted(result, place) for place in result.network.topology.links}

    def score(name: str) -> float:
        key = known[name][0].key
        if key in proposed:
            return 2.0 + proposed.count(key)
        table, _, tail = key.rpartition(".")
        if table.startswith(("path", "network.links", "tunnel.chain")):
            parts = key.split(".")
            link = parts[2] if table.startswith("network") else "path"
            if table.startswith("tunnel.chain"):
                link = f"hop{int(parts[2]) + 2}"
            way = "reverse" in key
            return counted[link][way].get(tail.removeprefix("reverse_"), 0.5)
        return 0.6 if table.startswith("tunnel") else 0.4

    return sorted(known, key=lambda it: -score(it))


def _counted(result: Result, link: str) -> list[dict[str, float]]:
    """Return for each direction of a link what speaks for its keys: from 0 to 1."""
    found = []
    for way in result.links[link]:
        drops = (way.queue_drops or 0) + (way.marks or 0)
        used = way.utilisation or 0.0
        found.append({
            "rate": used, "loss": 1.0 if way.random_losses else 0.0,
            "gilbert_elliott": 1.0 if way.random_losses else 0.0,
            "buffer": 0.9 if drops else 0.1, "queue": 0.9 if drops else 0.3,
            "burst": 0.9 if way.policer_drops else 0.0, "mtu": 1.0 if way.mtu_drops else 0.2,
        })  # fmt: skip
    return found


def _short_part(experiment: Experiment, events: int) -> Experiment:
    """Return the experiment, over a shorter time if it is long and does the same all the time."""
    if events <= _CHEAP:
        return experiment
    links = experiment.resolved.topology.links.values()
    begins = max(it.start for it in experiment.resolved.everyone)
    is_steady = not any(
        way.varies(key)
        for link in links
        for way in (link.path, link.backward)
        for key in ("rate", "loss", "buffer")
    ) and not any(link.path.outages or link.path.varies("rtt") for link in links)
    flows = experiment.flows
    if not is_steady or any(it.bytes or it.stop or it.data_start for it in flows):
        return experiment
    least = max(_ROUNDS * _rtt(experiment), _SECONDS, 3 * begins)
    share = max(_CHEAP / events, least / experiment.duration)
    if share > 0.7:
        return experiment
    duration = float(f"{share * experiment.duration:.4g}")
    warmup = float(f"{share * experiment.warmup:.4g}")
    return experiment.with_({"duration": f"{duration}s", "warmup": f"{warmup}s"})


def _rtt(experiment: Experiment) -> float:
    return max(it.traffic.rtt for it in experiment.resolved.flows)


def confirm_each(results: Sequence[Result], *, jobs: int | None = None) -> list[list[Finding]]:
    """Return confirm() of each result, in ``jobs`` processes. One that fails has no findings.

    Nor has one with a congestion control in a file, which would print and write again.

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> runs = [tc.run(tc.Experiment(path=path, duration=it)) for it in ("1s", "2s")]
        >>> [len(findings) for findings in tc.confirm_each(runs)]
        [1, 1]
    """
    from tunnelcc.running.pool import parallel

    found: dict[int, list[Finding]] = {}
    tasks = list(enumerate(results))
    for place, outcome in parallel(_confirm_alone, tasks, jobs):
        found[place] = [] if isinstance(outcome, RunError) else outcome
    return [found[place] for place, _ in tasks]


def _confirm_alone(result: Result) -> list[Finding]:
    if runs_own_code(result.experiment):
        return []
    runs = Confirmer(result, 1, _BUDGET_OF_EACH, _LEAST_OF_EACH)
    return runs.findings()


def runs_own_code(experiment: Experiment) -> bool:
    """Whether a congestion control comes as a file: each further run prints and writes again."""
    carriers = (tunnel.cc for _, tunnel in experiment.declared_tunnels())
    flows = (flow.cc for flow in experiment.flows)
    return any(cc is not None and cc.code for cc in (*flows, *carriers))


def confirm(result: Result, *, jobs: int | None = None, budget: float = _BUDGET) -> list[Finding]:
    """Return what limits the flows of each entry of ``flows``, confirmed by more runs.

    Keys are relaxed one by one, with the same seed; what helps is run with others, too. ``jobs``:
    number of processes; default: one per core. ``budget``: how much longer than the run itself the
    others may take together, if it takes long.

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> (found,) = tc.confirm(tc.run(tc.Experiment(path=path, duration="2s")))
        >>> [change.key for change in found.found[0].changes]
        ['path.rate']
    """
    runs = Confirmer(result, jobs, budget)
    try:
        return runs.findings()
    finally:
        runs.close()
