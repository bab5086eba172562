# SPDX-License-Identifier: GPL-2.0-only
"""Programs whose runs lie further apart than the tolerance: their means, on a virtual clock.

Two or three runs of such a program say too little of its mean. ``python -m validation.varying``
starts the program in Linux on a virtual clock (`make linux`), with seeds from 1, until two standard
errors of each mean are within its tolerance, or ``MOST`` runs are made. What it measured is
data/programs/varying.csv; a second call goes on where the first ended. The link is ``models/path``
between TUN devices, as late as the measured one. GOST's relays are not installed there.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import tunnelcc as tc
from tunnelcc import measure
from tunnelcc.measure import beside
from tunnelcc.metrics import mean
from validation import programs
from validation.check import VARIES, Case, Check, Kind
from validation.compare import MeanNear
from validation.reference import DATA, ProgramCell, program_cells

TABLE = DATA / "programs/varying.csv"
FEWEST, MOST = 4, 40
#: Runs of the simulator: its mean is to be known as well as the program's.
SEEDS = 16
#: Quantities as validation.programs names them, of which a measurement on a virtual clock tells.
KEYS = ("goodput", "share", "latency", "inner-rtt", "inner-retransmissions", "queue")
MEASURED = ("none", "openvpn-2.6-tcp", "openvpn-udp", "ssh-forward", "tinc", "vtun", "wireguard")


def checks() -> Iterator[Check]:
    """Yield a check for each quantity whose mean is known by now, as one of its metric's cells."""
    measured = _read()
    for cell in program_cells():
        runs = measured.get(programs.place(cell), [])
        for check in _varying(cell):
            key = _key(check)
            values = [float(run[key]) for run in runs if run[key]]
            if not values or _is_few(check, values):
                continue
            assert isinstance(check.comparison, MeanNear)
            near = _near(check.comparison, values)
            if len(values) < FEWEST or error(values) > near.margin:
                continue
            yield replace(
                check,
                name=f"{check.name}/virtual",
                metric=check.metric.removesuffix(VARIES),
                source=f"{cell.tunnel}, {len(values)} runs on a virtual clock",
                cases=(_case(cell),),
                comparison=near,
                kind=Kind.CELL,
            )


def error(values: Sequence[float]) -> float:
    """Return two standard errors of the mean."""
    return 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def _is_few(check: Check, values: Sequence[float]) -> bool:
    """Whether so few segments are sent again that they are not compared."""
    return _key(check) == "inner-retransmissions" and mean(values) < programs.LEAST_RATIO


def _near(tolerance: MeanNear, values: Sequence[float]) -> MeanNear:
    return replace(tolerance, target=mean(values))


def _varying(cell: ProgramCell) -> Iterator[Check]:
    if cell.tunnel in MEASURED:
        for check in programs.checks_of(cell):
            if check.metric.endswith(VARIES) and _key(check) in KEYS:
                yield check


def _key(check: Check) -> str:
    return check.name.split("/")[1]


def _case(cell: ProgramCell) -> Case:
    experiment = beside.costless(programs.experiment(cell))
    return Case(f"{programs.place(cell)}/virtual", (experiment,), SEEDS)


def _read() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["cell"], []).append(row)
    return found


# --------------------------------------------------------------------------------- what is measured


def _values(cell: ProgramCell, seed: int) -> Mapping[str, float]:
    """Return the quantities of a run of the program."""
    experiment = programs.experiment(cell).with_({"seed": seed})
    measured = measure.measure_virtually(experiment)
    told, through = measured.values, range(cell.flows)
    goodputs = [told[f"flow {number}: goodput"] * 1e-6 for number in through]
    total = sum(goodputs)
    found = {
        "goodput": total,
        "latency": told[f"flow {len(experiment.resolved.flows) - 1}: latency"] * 1e3,
        "queue": told["queue_mean"] * 1e3,
    }
    if cell.beside:
        found["share"] = 100 * total / (total + told[f"flow {cell.flows}: goodput"] * 1e-6)
    elif cell.flows > 1:
        found["share"] = 100 * max(goodputs) / total
    found["inner-rtt"] = 1e3 * mean([told[f"flow {number}: rtt"] for number in through])
    streams = [measured.flows.streams[number] for number in through]
    mss = 8 * tc.sizes(experiment).mss
    sent = sum(float((it.goodput[1:] * it.time[1:] - it.goodput[1:] * it.time[:-1]).sum()) / mss
               for it in streams)  # fmt: skip
    again = sum(told[f"flow {number}: retransmits"] for number in through)
    found["inner-retransmissions"] = 100 * again / (sent + again)
    return found


def _unknown(cell: ProgramCell, runs: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys of the quantities whose mean is not known by these runs."""
    if len(runs) >= MOST:
        return []
    found = []
    for check in _varying(cell):
        values = [float(run[_key(check)]) for run in runs]
        assert isinstance(check.comparison, MeanNear)
        is_wide = error(values) > _near(check.comparison, values).margin
        if len(runs) < FEWEST or (is_wide and not _is_few(check, values)):
            found.append(_key(check))
    return found


def main() -> None:
    """Measure until all is known: goodputs first, of which the fewest are, then in turn."""
    columns = ("cell", "seed", *KEYS)
    if not TABLE.exists():
        TABLE.write_text(",".join(columns) + "\n", encoding="utf-8")
    measured = _read()
    cells = {programs.place(it): it for it in program_cells() if any(_varying(it))}
    while True:
        runs = {name: measured.setdefault(name, []) for name in cells}
        left = {name: keys for name, it in cells.items() if (keys := _unknown(it, runs[name]))}
        if not left:
            return
        name = min(left, key=lambda it: ("goodput" not in left[it], len(runs[it])))
        seed = len(runs[name]) + 1
        values = {key: f"{it:.6g}" for key, it in _values(cells[name], seed).items()}
        runs[name].append({"cell": name, "seed": str(seed), **values})
        with TABLE.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, columns, lineterminator="\n").writerow(runs[name][-1])
        print(f"{name}: run {seed}, not known: {', '.join(left[name])}", flush=True)


if __name__ == "__main__":
    main()
