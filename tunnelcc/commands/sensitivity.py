# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc sensitivity``: a table, and a figure of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tunnelcc.commands.options import read_results
from tunnelcc.metrics import find, own_metrics
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.style import check_file, save
from tunnelcc.results import provenance
from tunnelcc.searches.sensitivity import Influence, sensitivity


def run(results: Path, metric: str, flow: int | None, output: Path | None) -> None:
    """Print what each key explains of a metric, and draw it. Raises ConfigError."""
    found = find(metric, "--metric")
    if output is not None:
        check_file(output)
    data = read_results(results, metrics=own_metrics([metric]) if ":" in metric else ())
    rows = sensitivity(data, metric, flow)
    of = "" if flow is None else f" of flow {flow}"
    _print(rows, f"What explains {found.name}{of}")
    if output is not None:
        _draw(rows, f"{found.long_name}{of}", output, provenance.text(data.attrs))


def _print(rows: Sequence[Influence], title: str) -> None:
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
