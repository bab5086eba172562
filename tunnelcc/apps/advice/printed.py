# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc advise``: from a path to a ranking of tunnels and congestion controls."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from tunnelcc import scenario as scenarios
from tunnelcc.apps.advice import advice as advices
from tunnelcc.apps.advice.advice import Advice, Candidate
from tunnelcc.apps.advice.goals import Goal
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.options import KEYS, changes, listed
from tunnelcc.commands.sweep import parse_seeds
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.metrics import METRICS
from tunnelcc.metrics.paired import CONFIDENCE, Difference
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file, differences, save
from tunnelcc.results import provenance
from tunnelcc.words.quantities import PERCENT

_HEADINGS = (
    "rank", "tunnel", "cc", "", "to the best", "bytes", "CPU", "neighbour", "limited by",
)  # fmt: skip
# Differences below this one, in the unit of the goal or in %, are not shown.
_SAME = 5e-4
_NOTE = (
    "bytes: on the wire for each byte of the application. CPU: of the busier host, with the costs "
    "of its profile. neighbour: goodput of a CUBIC flow beside it, as part of what it has beside a "
    "plain CUBIC flow"
)


def advise(
    file: Path | None,
    settings: tuple[str, ...],
    *,
    goal: str,
    tunnels: str | None,
    congestion: str | None,
    seeds: str | None,
    jobs: int | None,
    store: Path,
    plot: Path | None,
    html: Path | None,
    **options: str | None,
) -> bool:
    """Print the ranking. Return whether every run succeeded."""
    if plot is not None:
        check_file(plot, "--plot")
    if html is not None and not html.parent.is_dir():
        raise ConfigError(Problem("--html", str(html), "a file in an existing directory"))
    count = parse_seeds(seeds) if seeds is not None else advices.SEEDS
    if not isinstance(count, int):
        raise ConfigError(Problem("--seeds", seeds, "a number of seeds"))
    table = scenarios.read_scenario(file) if file is not None else {}
    given = {name: options.get(name) for name in KEYS}
    table = scenarios.apply(table, changes(table, given, settings))
    with interruptible():
        found = advices.advise(
            table, goal, listed(tunnels) or advices.TUNNELS,
            listed(congestion) or advices.CONGESTION_CONTROLS,
            seeds=count, store=store, jobs=jobs,
        )  # fmt: skip
    _print(found)
    figure = _figure(found.final)
    if plot is not None and figure is not None:
        save(figure, plot, provenance.text(provenance.here()))
        click.echo(plot)
    if html is not None:
        _write_page(found, figure, html)
        click.echo(html)
    return not found.failed


def _records(found: Advice) -> Iterator[dict[str, Any]]:
    for it in found.candidates:
        other = it.to_best
        yield {
            "tunnel": it.tunnel, "cc": it.cc, "value": it.value,
            "difference": other and other.mean, "low": other and other.low,
            "high": other and other.high, "verdict": other.verdict if other else "best",
            "limited_by": it.limit, "wire_bytes": it.bytes, "cpu": it.cpu,
            "neighbour": it.neighbour,
        }  # fmt: skip


def _print(found: Advice) -> None:
    unit = {"value": METRICS[found.goal.metric].units} if found.goal.metric in METRICS else {}
    records.tell("candidates", lambda: _records(found), unit)
    if (without := found.without) is not None:
        records.tell("without_limits", lambda: _records(without), unit)
    out = console()
    for line in _conclusion(found):
        out.print(line, markup=False)
    out.print(f"\n{found.conditions}\n{found.goal.words}", style="bold", markup=False)
    _print_table(found, "")
    if without is not None:
        _print_table(without, f"\n{_settings(found)}")
    out.print(f"{_statement()}. {_NOTE}", markup=False)
    if found.left_out:
        out.print(f"left out, because they cannot carry it: {', '.join(found.left_out)}",
                  markup=False)  # fmt: skip
    by_name = {it.name: it for it in found.final.candidates}
    for name, text in found.configurations.items():
        out.print(f"\n{_to_start(by_name[name])}:\n{text}", markup=False)


def _print_table(found: Advice, title: str) -> None:
    out = console()
    if title:
        out.print(title, style="bold", markup=False)
    rows = [list(_cells(found, place, it)) for place, it in enumerate(found.candidates, 1)]
    headings = list(_headings(found))
    Table("", headings, rows, (0, 3, 4, 5, 6, 7), whole=range(9)).print(out)


def _settings(found: Advice) -> str:
    """Return what the second ranking has: larger buffers of hosts, and windows of tunnels."""
    return "with " + ", ".join([*(f"{k} = {v}" for k, v in found.defaults.items()), *found.wider])


def _conclusion(found: Advice) -> list[str]:
    """Return what is best and where, what is not told from it, and what changes that."""
    final, text = found.final, found.goal.scale.text
    best = final.best
    is_alone = not final.equals
    claim = "is the best of these" if is_alone else "has the best mean"
    settings = f", {_settings(found)}" if found.without else ""
    lines = [f"{_subject(best)} {claim}, {text(best.value)}: on {found.conditions}{settings}."]
    if found.without is not None and found.best.name != best.name:
        lines[0] += f" Without these settings: {found.best.name}, {text(found.best.value)}."
    if not is_alone:
        lines.append(
            f"Not distinguishable from it with {final.seeds} seeds: "
            f"{', '.join(it.name for it in final.equals)}. Choose among them by bytes, CPU and "
            "neighbours, or use more --seeds."
        )
    if found.defaults:
        count = len(found.limited_by_defaults)
        lines.append(
            f"{count} of {len(found.candidates)} candidates {'is' if count == 1 else 'are'} "
            f"limited by {' and '.join(found.defaults)}, as hosts have it: both rankings follow."
        )
    if found.wider:
        names = ", ".join(it.partition(" ")[0] for it in found.wider)
        lines.append(f"Own windows limit {names}: the second ranking also has larger ones.")
    return [*lines, *(f"  {it}" for it in _turns(final))]


def _statement() -> str:
    return f"[low, high]: all intervals hold together with {CONFIDENCE:.0%} confidence"


def _headings(found: Advice) -> tuple[str, ...]:
    goal = found.goal
    name = goal.metric.removeprefix("flow_").replace("_", " ")
    return (*_HEADINGS[:3], goal.scale.heading(name), *_HEADINGS[4:])


def _cells(found: Advice, place: int, it: Candidate) -> tuple[str, ...]:
    difference = "best"
    if it.to_best is not None:
        difference = difference_text(it.to_best, found.goal)
    value = found.goal.scale.factor * it.value
    return (
        str(place), it.tunnel, it.cc, "–" if np.isnan(value) else f"{value:.4g}", difference,
        _number(it.bytes, ".3f"), _number(it.cpu, ".0%"), _number(it.neighbour, ".0%"), it.limit,
    )  # fmt: skip


def difference_text(it: Difference, goal: Goal, decimals: int = 1) -> str:
    """Return a difference with its interval in %, or in the goal's unit where it is no ratio.

    An interval without a low end that decides nothing tells nothing.
    """
    if not np.isfinite(it.mean):
        return "not known"
    if it.is_cut and it.verdict == "undecided":
        return f"not known with {it.pairs} seeds"
    scale, form = (PERCENT, f"+.{decimals}f") if it.is_ratio else (goal.scale, "+.3g")
    ends = [scale.factor * it.low, scale.factor * it.mean, scale.factor * it.high]
    if max(map(abs, ends)) < _SAME:
        return "the same"
    low, mean, high = (format(end, form) for end in ends)
    return f"{scale.heading(mean)} [{low}, {high}]".replace("-", "−")


def _number(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"


def _subject(it: Candidate) -> str:
    return f"Without a tunnel, {it.cc}" if it.tunnel == "none" else it.name


def _to_start(it: Candidate) -> str:
    return f"To use {it.cc} without a tunnel" if it.tunnel == "none" else f"To start {it.name}"


def _turns(found: Advice) -> list[str]:
    """Return under which changes of the path another one is best."""
    if not found.paths:
        return []
    name = found.best.name
    lines = [
        f"{turn.path}: {turn.best} is better than {name} by "
        f"{difference_text(turn.gain, found.goal, 0)}"
        for turn in found.turns
    ]
    turned = [turn.path for turn in found.turns]
    same = [name for name in found.paths if name not in turned]
    if same:
        lines.append(f"on other paths, too, no other is shown to be better: {', '.join(same)}")
    return lines


def _figure(found: Advice) -> Any:
    if not found.differences:
        return None
    goal, results = found.goal, found.results
    if goal.flow is not None:
        results = results.assign({goal.metric: results[goal.metric].isel(flow=goal.flow)})
    cc = found.best.cc
    cc = str(results[goal.cc_key].values[0]) if cc == "any" else cc
    to = f"tunnel={found.best.tunnel},{goal.cc_key}={cc}"
    return differences(results, goal.metric, to, found.differences)


def _write_page(found: Advice, figure: Any, file: Path) -> None:
    from tunnelcc.report import html

    rankings = [("", found)]
    if found.without is not None:
        rankings.append((f"W{_settings(found)[1:]}", found.without))
    text = html.render(
        Path(advices.__file__).with_name("page.html"),
        title=f"Advice: {found.goal.words.partition(':')[0]}",
        conditions=found.conditions,
        goal=found.goal.words,
        seeds=found.seeds,
        conclusion=_conclusion(found),
        headings=_headings(found),
        rankings=[
            (name, [_cells(it, place, one) for place, one in enumerate(it.candidates, 1)])
            for name, it in rankings
        ],
        note=_NOTE,
        figure="" if figure is None else html.inline_svg(figure),
        configurations=found.configurations,
        command=shlex.join(["tunnelcc", *sys.argv[1:]]),
    )
    html.write(file, text)
