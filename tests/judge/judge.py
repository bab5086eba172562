# SPDX-License-Identifier: GPL-2.0-only
"""Judge what ``tunnelcc.confirm()`` names, over random experiments (``make judge N=200 SEED=0``).

It shares nothing with the confirmation: it takes all numeric keys of the schema, factors of 1.5 and
4, three seeds that the confirmation did not use, and means of what an experiment is about. Counts
are of entries of ``flows``. With ``--out FILE``, verdicts are kept there, one a line, and a judge
that is started again goes on with what that lacks.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import experiments

import tunnelcc as tc
from tunnelcc import scenario
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.errors import TunnelccError
from tunnelcc.schema import keys_of
from tunnelcc.schema.units import Buffer, parse_buffer

FACTORS = (1.5, 4.0)
SEEDS = (7_000_001, 7_000_002, 7_000_003)
HELPS, MUCH = 0.05, 0.2
#: What is no limit: when things happen, how much traffic there is, how far apart hosts are, how
#: runs are sampled, and what others send.
LEFT_OUT = (
    "duration", "warmup", "probe_interval", "start_jitter", "seed", "count", "start", "stop",
    "interarrival", "data_start", "bytes", "bytes_shape", "bytes_most", "write_size", "preamble",
    "playout", "rtt", "size", "ip", "vlan_tags", "relays", "gro", "tcp_adv_win_scale", "packet",
    "on", "off", "reorder_delay", "clamp_mss", "jitter_deviation", "fec_timeout",
    "probe_interval", "fail_after", "return_after", "mpu", "overhead",
)  # fmt: skip
#: Of these, less is better.
LESS = (
    "loss", "reverse_loss", "jitter", "reorder", "reassembly_delay", "app_cost", "switch_cost",
    "interval", "delayed_ack", "min_rto",
)  # fmt: skip


def numeric_keys() -> list[str]:
    """Return the numeric keys of the schema, without those that are no limit."""
    found = []
    for info in keys_of(ExperimentKeys):
        table, last = info.key.partition(".")[0], info.key.rpartition(".")[2]
        if table in ("cross_traffic", "pings") or last in LEFT_OUT or last.endswith("_steps"):
            continue
        unit = info.kind.unit if info.kind else ""
        if unit or (info.kind and ("buffer" in info.kind.expected)):
            found.append(info.key)
    return found


def settings(experiment: tc.Experiment, result: tc.Result) -> Iterator[tuple[str, Any]]:
    """Yield each numeric key that this experiment has, and its value in SI units."""
    table = json.loads(json.dumps(experiment.table()))
    network = table.get("network")
    for key in numeric_keys():
        head, _, rest = key.partition(".")
        if head == "path":
            names = [f"network.links.{it}" for it in result.links] if network else ["path"]
            for name in names:
                for way in ("", "reverse."):
                    yield f"{name}.{way}{rest}", _of_link(result, name, way, rest)
        elif head == "flows":
            for number, flow in enumerate(experiment.flows):
                if flow.transport != "udp":
                    yield f"flows.{number}.{rest}", _of_flow(flow, rest)
        elif head == "hosts":
            for side in ("", "client.", "server."):
                own = getattr(experiment.hosts, side[:-1]) if side else experiment.hosts
                value = getattr(own, rest, None)
                if rest == "tcp_rmem" and not side and value is None:
                    value = result.derived["tcp_rmem_bytes"]
                yield f"hosts.{side}{rest}", value
            for name, own in (experiment.network.hosts if experiment.network else {}).items():
                yield f"network.hosts.{name}.{rest}", getattr(own, rest, None)
        elif head == "tunnel" and experiment.tunnel is not None:
            if rest.startswith("chain."):
                for number, hop in enumerate(experiment.tunnel.chain):
                    last = rest.removeprefix("chain.")
                    yield f"tunnel.chain.{number}.{last}", getattr(hop, last, None)
            else:
                yield key, _of_tunnel(experiment, rest)
        elif head == "tcp":
            yield key, getattr(experiment.tcp, rest, None)
    for number, flow in enumerate(experiment.flows):
        rate = flow.cc.parameters.get("rate")
        if flow.transport != "udp" and isinstance(rate, float):
            yield f"flows.{number}.cc.rate", 8 * rate


def _of_link(result: tc.Result, name: str, way: str, rest: str) -> Any:
    link = result.network.topology.links[name.rpartition(".")[2]]
    value: Any = link.direction(bool(way))
    if rest.startswith("reverse"):
        return None
    if rest in ("buffer", "queue.target", "queue.interval") and value.rate is None:
        return None
    for part in rest.split("."):
        value = getattr(value, part, None)
    return value


def _of_flow(flow: Any, rest: str) -> Any:
    if flow.transport == "quic" and rest in ("stream_window", "connection_window"):
        from tunnelcc.catalog.quic import transport

        quic = transport().with_windows(flow.windows)
        return (quic.stream if rest == "stream_window" else quic.connection).most or None
    return getattr(flow, rest, None)


def _of_tunnel(experiment: tc.Experiment, rest: str) -> Any:
    tunnel: Any = experiment.tunnel
    entry, (first, _, last) = tunnel.entry, rest.partition(".")
    value = getattr(tunnel.kcp, last, None) if first == "kcp" else getattr(tunnel, rest, None)
    if value is not None:
        return value
    if first == "kcp" and last.endswith("_window") and getattr(entry, "kcp", None):
        return getattr(entry.kcp.windows, last.removesuffix("_window"))
    is_up = experiment.flows[0].direction in (None, "up") and experiment.direction == "up"
    mux, quic = getattr(entry, "mux", None), getattr(entry, "quic", None)
    if mux is not None:
        of = mux.to_server if is_up else mux.to_client
        names = {"connection_window": "session_window"}
        return getattr(of, names.get(rest, rest), None) or None
    if quic is not None and rest in ("stream_window", "connection_window"):
        return (quic.stream if rest == "stream_window" else quic.connection).most or None
    if rest == "queue":
        return getattr(getattr(entry, "device", None), "queue", None)
    if rest == "receive_buffer":
        return getattr(getattr(entry, "socket", None), "asks", None)
    if rest == "copy_buffer" and hasattr(entry, "copy_buffer"):
        return entry.copy_buffer.bytes
    return None


def changed(key: str, value: Any, factor: float) -> Any:
    """Return the value that a scenario has, relaxed by a factor; None: there is none."""
    last = key.rpartition(".")[2]
    infos = {info.key: info for info in keys_of(ExperimentKeys)}
    if last in LESS:
        factor = 1 / factor
    if isinstance(value, Buffer):
        sizes = {k: v and v * factor for k, v in vars(value).items()}
        for name in ("packets", "bytes"):
            sizes[name] = sizes[name] and round(sizes[name])
        return str(parse_buffer(Buffer(**sizes)))
    if not value or isinstance(value, (bool, str)):
        return None
    if key.endswith(".cc.rate"):
        return f"{factor * value:.6g}bps"
    listed = scenario.settings.listed_as(ExperimentKeys, key)
    listed = listed.replace("network.links.NAME.", "path.").replace("path.reverse.", "path.")
    listed = listed.replace("network.hosts.NAME.", "hosts.")
    info = infos.get(listed) or infos.get(f"path.{last}") or infos.get(f"hosts.{last}")
    new = value * factor
    if isinstance(value, int):
        new = round(new)
    return info.kind.format(float(f"{new:.8g}") if isinstance(new, float) else new)  # type: ignore[union-attr]


class Case:
    """A random experiment, and the runs that judge it."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.experiment: tc.Experiment = tc.Experiment.parse(table)
        self.result = tc.run(self.experiment, progress=False)
        self.found = tc.confirm(self.result, jobs=1)
        self.values = dict(settings(self.experiment, self.result))
        self._runs: dict[Any, list[list[float]] | None] = {}

    def worths(self, change: Mapping[str, Any], seeds: int) -> list[list[float]] | None:
        """Return for each seed what each entry has; None: the change is not possible."""
        name = json.dumps(change, sort_keys=True), seeds
        if name not in self._runs:
            try:
                experiment = self.experiment.with_(change) if change else self.experiment
                self._runs[name] = [
                    worths(tc.run(experiment.with_seed(it), progress=False), self.metrics)
                    for it in SEEDS[:seeds]
                ]
            except TunnelccError:
                self._runs[name] = None
        return self._runs[name]

    @property
    def metrics(self) -> list[str]:
        """What counts for each entry."""
        return [it.worth.metric for it in self.found]

    def gain(self, changes: Sequence[Mapping[str, Any]], entry: int, seeds: int = 3) -> float:
        """Return the largest gain of some changes: of a key, with each factor."""
        base, gains = self.worths({}, seeds), [0.0]
        assert base is not None
        for change in changes:
            if (runs := self.worths(change, seeds)) is not None:
                before, after = (fmean(it[entry] for it in each) for each in (base, runs))
                gains.append(ratio(self.metrics[entry], before, after))
        return max(gains)

    def relaxed(self, key: str) -> list[dict[str, Any]]:
        """Return the changes of a key that are tried."""
        factors = [*FACTORS]
        if key.endswith("buffer") and not {"goodput", "completion"} >= {*self.metrics}:
            factors += [1 / it for it in FACTORS]  # datagrams wait behind what others send
        values = (changed(key, self.values.get(key), factor) for factor in factors)
        return [{key: value} for value in values if value is not None]


def worths(run: tc.Result, metrics: Sequence[str]) -> list[float]:
    """Return for each entry its goodput, mean time, MOS, loss or delay."""
    found = []
    for entry, metric in enumerate(metrics):
        numbers = [it for it, flow in enumerate(run.network.flows) if flow.group == entry]
        flows = [run.flows[it] for it in numbers]
        if metric == "goodput":
            found.append(sum(it.delivered_bytes for it in flows) / run.measured_time)
        elif metric == "completion":
            starts = [run.network.flows[it].start for it in numbers]
            left, end = run.experiment.warmup, run.experiment.duration
            those = [(s, f) for s, f in zip(starts, flows, strict=True) if left <= s < end]
            those = those or list(zip(starts, flows, strict=True))
            found.append(
                fmean(_time(run, s, f, n) for (s, f), n in zip(those, numbers, strict=False))
            )
        elif metric == "mos":
            each = [run.metric("flow_mos", flow=it) for it in numbers]
            found.append(fmean(1.0 if math.isnan(it) else it for it in each))
        elif metric == "loss":
            due = sum(it.expected for it in flows)
            found.append(1 - sum(it.received for it in flows) / due if due else 1.0)
        else:
            found.append(max((it.delay_p95 for it in flows if it.delay_p95), default=1e9))
    return found


def _time(run: tc.Result, start: float, flow: Any, number: int) -> float:
    end = run.experiment.duration
    if flow.completed_at is not None:
        return float(flow.completed_at - start)
    share = (flow.total_bytes or 0) / (run.network.flows[number].bytes or 1)
    return (end - start) / min(max(share, 1e-3), 1)


def ratio(metric: str, before: float, after: float) -> float:
    """Return the gain from what was before: more goodput and MOS, or less time, loss and delay."""
    if metric in ("goodput", "mos"):
        return after / before - 1 if before > 0 else (0.0 if after <= 0 else 1e6)
    floor = 0.005 if metric == "loss" else 0.0
    return (before + floor) / (after + floor) - 1


def judge(number: int) -> list[dict[str, Any]]:
    """Return the verdict on each entry of an experiment; nothing where it is refused."""
    table = experiments.experiment(number)
    try:
        case = Case(table)
    except TunnelccError as error:
        return [{"number": number, "refused": str(error)[:120]}]
    return [_verdict(case, number, entry) for entry in range(len(case.found))]


def _verdict(case: Case, number: int, entry: int) -> dict[str, Any]:
    finding = case.found[entry]
    keys = {it: case.relaxed(it) for it in case.values}
    keys = {it: changes for it, changes in keys.items() if changes}
    quick = {it: case.gain(changes[-1:], entry, 1) for it, changes in keys.items()}
    first = [it for it in sorted(quick, key=lambda it: -quick[it]) if quick[it] > HELPS][:6]
    gains = {it: case.gain(keys[it], entry) for it in first}
    best = max(gains, key=lambda it: gains[it], default="")
    most = gains.get(best, 0.0)
    # Where all keys together do not help, no pair of them does.
    everything = {k: v for changes in keys.values() for k, v in changes[-1].items()}
    if most < MUCH and case.gain([everything], entry, 1) >= MUCH:
        apart = [it for it in keys if not it.startswith("tcp.")]
        for pair in combinations(apart, 2):
            both = [
                {**one, **other} for one, other in zip(*(keys[it] for it in pair), strict=False)
            ]
            if case.gain(both[-1:], entry, 1) >= MUCH and (gain := case.gain(both, entry)) > most:
                best, most = " + ".join(pair), gain
                if gain >= MUCH:
                    break
    is_udp = finding.worth.metric in ("mos", "loss", "delay")
    named = [it for it in finding.found if is_udp or not it.changes[0].lowers][:1]
    names = [it.key for it in named[0].changes] if named else []
    worth = case.gain(_of_named(case, names, named[0]), entry) if named else 0.0
    if finding.is_slow_start:
        named, names, worth = [], ["slow start"], most if best == "tcp.initial_window" else 0.0
        kind = "best" if most < MUCH or worth else "wrong"
    elif not named:
        kind = "best, none" if most < MUCH else "nothing named"
    elif worth >= 0.8 * most or most - worth < HELPS:
        kind = "best" if worth >= HELPS else "no gain"
    elif worth >= HELPS:
        kind = "true"
    else:
        kind = "wrong" if most >= MUCH else "no gain"
    own = _of_named(case, names, named[0]) if named else []
    is_best = kind == "true" and best in gains and any(
        case.gain([mine], entry) >= 0.8 * max(case.gain([keys[it][at]], entry) for it in gains)
        for at, mine in enumerate(own) if at < min(len(keys[it]) for it in gains)
    )  # fmt: skip
    return {
        "number": number, "entry": entry, "kind": kind, "named": names, "gain": worth,
        "best": best, "most": most, "best_at_one": is_best, "metric": finding.worth.metric,
        "tunnel": case.experiment.tunnel.name if case.experiment.tunnel else "none",
    }  # fmt: skip


def _of_named(case: Case, names: Sequence[str], named: Any) -> list[dict[str, Any]]:
    """Return the changes of the named keys together: by the judge's factors, or as named."""
    each = [case.relaxed(it) for it in names]
    both = [{k: v for it in row for k, v in it.items()} for row in zip(*each, strict=False)]
    own: dict[str, Any] = {}
    for it in named.changes:
        own |= it.settings
    is_numeric = all(each)
    return both if is_numeric else [own]


def main() -> None:
    """Judge N experiments, and print the counts and what was not the best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=200, help="experiments")
    parser.add_argument("--seed", type=int, default=0, help="the first experiment's number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a file of verdicts, which goes on")
    given = parser.parse_args()
    verdicts: dict[int, list[dict[str, Any]]] = {}
    wanted = range(given.seed, given.seed + given.n)
    if given.out is not None and given.out.is_file():
        for line in given.out.read_text().splitlines():
            verdicts |= {it["number"]: it["verdicts"] for it in [json.loads(line)]}
    with ProcessPoolExecutor(given.jobs) as pool:
        left = [it for it in wanted if it not in verdicts]
        for done, (number, found) in enumerate(zip(left, pool.map(judge, left), strict=True), 1):
            verdicts[number] = found
            if given.out is not None:
                with given.out.open("a") as file:
                    file.write(json.dumps({"number": number, "verdicts": found}) + "\n")
            for it in found:
                if not it.get("kind", "best").startswith("best"):
                    print(json.dumps(it), flush=True)
            if done % 100 == 0:
                report(verdicts)
    report({number: verdicts[number] for number in wanted})


def report(verdicts: Mapping[int, Sequence[Mapping[str, Any]]]) -> None:
    """Print the table of counts."""
    counts = Counter(it.get("kind", "refused") for found in verdicts.values() for it in found)
    refused = counts.pop("refused", 0)
    total = sum(counts.values())
    nothing = counts.get("nothing named", 0)
    named = total - counts.get("best, none", 0) - nothing
    true = counts.get("best", 0) + counts.get("true", 0)
    best = counts.get("best", 0) + counts.get("best, none", 0)
    at_one = best + sum(it.get("best_at_one", False) for found in verdicts.values() for it in found)
    wrong = counts.get("wrong", 0) + nothing
    print(f"{len(verdicts)} experiments, {refused} of them refused, {total} entries of flows")
    print(dict(counts))
    for name, part, whole in (
        ("named causes that are true", true, named), ("the best key or pair is named", best, total),
        ("the same, or it is the best with 1.5 times or with 4 times its value", at_one, total),
        ("wrong", wrong, total), ("of them, nothing named where 20 % were to gain", nothing, total),
    ):  # fmt: skip
        print(f"{name}: {part} of {whole}, {100 * part / max(whole, 1):.1f} %")


if __name__ == "__main__":
    main()
