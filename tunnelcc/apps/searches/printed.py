# SPDX-License-Identifier: GPL-2.0-only
"""Finds and sensitivities as tables, a find's scenario, and the figure of a sensitivity."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from tunnelcc import scenario as scenarios
from tunnelcc.apps.searches import search as searching
from tunnelcc.apps.searches.search import Find, Point
from tunnelcc.apps.searches.sensitivity import Influence
from tunnelcc.apps.searches.sensitivity import sensitivity as influences
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.options import parsed, read_results
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.metrics import Metric, find, own_metrics
from tunnelcc.output import records
from tunnelcc.output.files import check_file, write_text
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file as check_figure
from tunnelcc.plots import finish, panels, save
from tunnelcc.results import provenance
from tunnelcc.schema.toml import parse_value, write_toml
from tunnelcc.words.quantities import shown


def search(
    file: Path | None,
    settings: Sequence[str],
    over: Sequence[str],
    output: Path,
    **options: Any,
) -> Find:
    """Search, print the find, and write its scenario to ``output``."""
    if output.suffix != ".toml":
        raise ConfigError(Problem("--output", output, "a file that ends with .toml"))
    check_file("--output", output)
    if options.get("minimise") is None and options.get("maximise") is None:
        expected = "a metric of `tunnelcc show metrics`, here or in --maximise"
        raise ConfigError(Problem("--minimise", "none", expected))
    table = scenarios.read_scenario(file) if file is not None else {}
    table.pop("sweep", None)
    base = scenarios.build(table, parsed(settings))
    axes = dict(_axis(text) for text in over)
    with interruptible():
        found = searching.search(base, axes, on_point=_Shown(options).show, **options)
    _print_find(found)
    _write(found, output)
    click.echo(f"\n{output} repeats it: tunnelcc run {output}")
    return found


def _axis(text: str) -> tuple[str, Any]:
    key, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not key or not values:
        expected = "KEY=LOW..HIGH, KEY=LOW..HIGH:log or KEY=VALUE,VALUE,…, such as path.loss=0..2%"
        raise ConfigError(Problem("--over", text, expected))
    if values.startswith(("[", "{")):
        return key, parse_value(values)
    low, dots, high = values.partition("..")
    if dots:
        high, *rest = (part.strip() for part in high.split(":"))
        ends = {
            "from": scenarios.parse_text(key, low.strip()),
            "to": scenarios.parse_text(key, high),
        }
        return key, {**ends, **dict(_detail(part) for part in rest)}
    return key, [scenarios.parse_text(key, value.strip()) for value in values.split(",")]


def _detail(text: str) -> tuple[str, Any]:
    return ("steps", int(text)) if text.isdecimal() else ("scale", text)


class _Shown:
    """Prints each point that is better than all before."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        is_least = options.get("minimise") is not None
        self._sign = 1 if is_least else -1
        metric = find(options["minimise" if is_least else "maximise"])
        self._written = partial(_written, metric)
        self._best = math.inf
        self._failed = 0

    def show(self, number: int, point: Point) -> None:
        """Print a point, if it is better."""
        self._failed += math.isnan(point.value)
        if self._sign * point.value < self._best:
            self._best = self._sign * point.value
            value = self._written(point.value)
            print(f"point {number}: {value} at {_text(point.settings)}", file=sys.stderr)


def _text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings.items())


def _print_find(found: Find) -> None:
    metric = found.goal.metric
    units = dict.fromkeys(("value", "half_width", "searched"), metric.units)
    records.tell(
        "find",
        lambda: [{
            **found.settings, "metric": metric.name, "value": found.value,
            "half_width": found.half_width, "searched": found.searched, "seeds": list(found.seeds),
        }],
        units,
    )  # fmt: skip
    records.tell(
        "points", lambda: ({**it.settings, "value": it.value} for it in found.points), units
    )
    written = partial(_written, metric)
    rows = [(key, str(value)) for key, value in found.settings.items()]
    failed = sum(math.isnan(it.value) for it in found.points)
    half = "" if math.isnan(found.half_width) else f" ± {written(found.half_width, 2)}"
    notes = [
        f"{metric.name} is {written(found.value)}{half} with {len(found.seeds)} fresh seeds, and "
        f"was {written(found.searched)} in the search.",
        f"{len(found.points)} points" + (f", {failed} of them without a value" if failed else ""),
    ]
    title = found.goal.words[0].upper() + found.goal.words[1:]
    Table(title, ("key", "value"), rows, notes=notes).print(console())


def _written(metric: Metric, value: float, digits: int = 5) -> str:
    """Write a value of a metric with its unit."""
    scale = shown(metric.units)
    return scale.heading(f"{scale.factor * value:.{digits}g}")


def _write(found: Find, output: Path) -> None:
    title = f"{found.goal.words[0].upper()}{found.goal.words[1:]}"
    table = found.experiment.table()
    head = [
        f"# {title}: {_written(found.goal.metric, found.value)}, mean of seeds {found.seeds[0]} to "
        f"{found.seeds[-1]}.",
        "# Found with:",
        f"#     {shlex.join(['tunnelcc', *sys.argv[1:]])}",
        "",
    ]
    text = "\n".join(head) + "\n" + write_toml({**table, "title": title})
    write_text("--output", output, text)


def sensitivity(results: Path, metric: str, flow: int | None, output: Path | None) -> None:
    """Print what each key explains of a metric, and draw it. Raises ConfigError."""
    found = find(metric, "--metric")
    if output is not None:
        check_figure(output)
    data = read_results(results, metrics=own_metrics([metric]) if ":" in metric else ())
    rows = influences(data, metric, flow)
    of = "" if flow is None else f" of flow {flow}"
    _print_influences(rows, f"What explains {found.name}{of}")
    if output is not None:
        _draw(rows, f"{found.long_name}{of}", output, provenance.text(data.attrs))


def _print_influences(rows: Sequence[Influence], title: str) -> None:
    records.tell("keys", lambda: map(asdict, rows))
    cells = [(it.key, f"{it.part:.2f} ± {it.half_width:.2f}") for it in rows]
    rest = 1 - sum(it.part for it in rows)
    notes = [f"{max(rest, 0):.0%} of the variance: keys together, and seeds"]
    columns = ("key", "part of the variance")
    Table(title, columns, cells, (1,), notes).print(console())


def _draw(rows: Sequence[Influence], title: str, output: Path, made: str) -> None:
    with panels(1) as (figure, (ax,)):
        places = range(len(rows))[::-1]
        ax.barh(
            places, [it.part for it in rows], height=0.6,
            xerr=[it.half_width for it in rows], capsize=3,
        )  # fmt: skip
        ax.set_yticks(places, [it.key for it in rows])
        ax.set_xlim(0, 1)
        ax.set_xlabel("part of the variance that the key explains")
        ax.grid(False, axis="y")
        finish(figure, [ax], title[0].upper() + title[1:])
        save(figure, output, made)
