# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc explain``: every key that matters for a flow, by what it is worth."""

from __future__ import annotations

from tunnelcc.analysis.values import Finding
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console
from tunnelcc.report import tables
from tunnelcc.results.result import Result
from tunnelcc.running import runner
from tunnelcc.running.confirm import THOROUGH, Confirmer, Rung
from tunnelcc.scenario import Experiment
from tunnelcc.words import findings, lists
from tunnelcc.words.quantities import percent

# Gains below this one, of a single run, are as good as none.
_NONE = 0.02


def explain(experiment: Experiment, jobs: int | None) -> None:
    """Print what limits the flows, and what each key is worth."""
    result = runner.run(experiment)
    runs = Confirmer(result, jobs, THOROUGH)
    try:
        found = runs.findings()
        ladders = {it.entry: runs.ladder(it) for it in found if it.found}
    finally:
        runs.close()
    _tell(found, ladders)
    out = console()
    out.print(result.heading, style="bold", markup=False)
    for sentence in tables.limit_sentences(result, found):
        out.print(sentence, markup=False)
    for it in _different(found):
        _print(result, it, ladders.get(it.entry, []))


def _tell(found: list[Finding], ladders: dict[int, list[Rung]]) -> None:
    """Tell a record of each limit, of each key that was changed alone, and of more of a limit."""
    records.tell("limits", [row for it in found for row in it.records()])
    records.tell(
        "keys",
        [
            {
                "entry": it.entry, "key": it.known[name].key, "lowered": it.known[name].lowers,
                "from": str(it.known[name].before), "to": str(it.known[name].after), "gain": gain,
            }
            for it in found
            for name, gain in it.gains.items()
        ],
    )  # fmt: skip
    records.tell(
        "larger",
        [
            {
                "entry": entry, "to": rung.value, "gain": rung.gain, "resent": rung.resent,
                "then": [*rung.then],
            }
            for entry, rungs in ladders.items()
            for rung in rungs
        ],
    )  # fmt: skip


def _different(found: list[Finding]) -> list[Finding]:
    """Return the first one of those that say the same of flows."""
    kinds: dict[object, Finding] = {}
    for it in found:
        names = tuple(change.name for first in it.found[:1] for change in first.changes)
        kinds.setdefault((names, it.worth.metric, it.is_slow_start), it)
    return [*kinds.values()]


def _print(result: Result, finding: Finding, ladder: list[Rung]) -> None:
    out = console()
    placed = enumerate(result.network.flows)
    numbers = [number for number, flow in placed if flow.group == finding.entry]
    known = finding.known
    order = sorted(finding.gains, key=lambda it: -finding.gains[it])
    shown = [it for it in order if abs(finding.gains[it]) >= _NONE]
    title = f"{lists.flows(numbers)}: {findings.amount(finding.worth)}. One key changed"
    rows: list[tuple[str, ...]] = [
        (it, str(known[it].before), str(known[it].after), findings.relative(finding.gains[it]))
        for it in shown
    ]
    if rows:
        headings = ("key", "from", "to", findings.heading(finding.worth))
        Table(title, headings, rows, (3,), whole=(0,)).print(out)
    if same := [it for it in order if it not in shown]:
        out.print(f"no change: {', '.join(same)}", markup=False)
    if ladder:
        steps: list[tuple[str, ...]] = [
            (rung.value, findings.relative(rung.gain), percent(rung.resent)) for rung in ladder
        ]
        columns = ("value", findings.heading(finding.worth), "packets sent again")
        more = f"More of {findings.given(finding.found[0], has_values=False)}"
        Table(more, columns, steps, (1, 2), whole=(0,)).print(out)
        if ladder[-1].then:
            then = ", ".join(ladder[-1].then)
            out.print(f"with {ladder[-1].value}, what helps next is {then}", markup=False)
