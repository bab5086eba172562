# SPDX-License-Identifier: GPL-2.0-only
"""Tables of a reproduction: for the terminal, as CSV and as JSON. Only numbers of the runs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tunnelcc.papers.compare import Cell, misfit, percent
from tunnelcc.papers.conclusions import explained_shares
from tunnelcc.papers.format import Comparison
from tunnelcc.papers.measures import MEASURES, unit
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.simulate import Simulated

_STYLES = {"reproduced": "green", "not reproduced": "red"}


def print_parameters(console: Console, paper: Paper) -> None:
    """Print each parameter with its value, its label and the reason."""
    table = _table("parameter", "value", "label", "why")
    for row in paper.parameters():
        table.add_row(*map(escape, row))
    console.print(table)


def print_comparison(console: Console, simulated: Simulated) -> None:
    """Print the published and the simulated value of every row."""
    comparison = simulated.comparison
    seeds = len(simulated.cells[0].runs)
    console.print(f"\n{comparison.title}", style="bold", markup=False)
    headings = [*comparison.axes, f"published {simulated.cells[0].unit}", "simulated", "spread"]
    headings += ["ratio", "verdict", "rests on"]
    if simulated.ns3:
        headings += ["ns-3's", "ratio"]
    numbers = [index for index, name in enumerate(headings) if name not in comparison.axes]
    right = [index for index in numbers if headings[index] not in ("verdict", "rests on")]
    table = _table(*headings, right=right)
    for index, cell in enumerate(simulated.cells):
        low, high = cell.spread()
        row = [escape(cell.columns[column]) for column in comparison.axes]
        row += [cell.show(cell.published), cell.show(cell.mean())]
        row += [f"{cell.show(low)}–{cell.show(high)}", f"{cell.ratio:.3f}"]
        style = _STYLES.get(cell.verdict)
        row += [f"[{style}]{cell.verdict}[/]" if style else cell.verdict, cell.label]
        if simulated.ns3:
            other = simulated.ns3[index]
            row += [other.show(other.mean()), f"{other.ratio:.3f}"]
        table.add_row(*row)
    console.print(table)
    console.print(
        f"Means of {seeds} seed{'s' if seeds > 1 else ''}, spread from least to most. Tolerance "
        f"{100 * comparison.tolerance:g} %: {comparison.tolerance_reason}",
        markup=False,
    )


def print_beside(console: Console, simulated: Simulated) -> None:
    """Print other published metrics beside simulated ones."""
    for beside in simulated.comparison.beside:
        console.print(f"\n{beside.published} (no verdict)", style="bold", markup=False)
        axes = simulated.comparison.axes
        names = [name.replace("_", " ") for name in beside.simulated]
        right = range(len(axes), len(axes) + 1 + len(names))
        table = _table(*axes, "published", *(f"simulated {name}" for name in names), right=right)
        for cell in simulated.cells:
            row = [escape(cell.columns[column]) for column in axes]
            row.append(published_beside(simulated, cell, beside.published))
            row += [f"{cell.mean(name):.0f}" for name in beside.simulated]
            table.add_row(*row)
        console.print(table)
        console.print(beside.reason, markup=False)


def print_variants(console: Console, simulated: Simulated) -> None:
    """Print the experiments that were varied: causes alone, and what-ifs."""
    if not simulated.variants:
        return
    console.print("\nOther settings, seed 1", style="bold", markup=False)
    axes = list(simulated.comparison.axes)
    table = _table("what", "role", *axes, "published", "simulated", "ratio", "closes", right=(
        *range(2 + len(axes), 6 + len(axes)),
    ))  # fmt: skip
    for variant, cells in simulated.variants:
        shares = explained_shares(simulated, cells) if variant.role == "cause" else []
        for index, cell in enumerate(cells):
            first = (variant.title, variant.role) if index == 0 else ("", "")
            share = percent(shares[index]) if index < len(shares) else ""
            values = [cell.columns[column] for column in axes]
            table.add_row(
                *map(escape, (*first, *values)),
                cell.show(cell.published),
                cell.show(cell.mean()),
                f"{cell.ratio:.2f}",
                share,
            )
    console.print(table)


def print_sweep(
    console: Console, comparison: Comparison, candidates: Sequence[tuple[str, list[Cell]]]
) -> None:
    """Print the simulated values and the misfit of each candidate."""
    cells = candidates[0][1]
    names = [" ".join(cell.columns[column] for column in comparison.axes) for cell in cells]
    assert comparison.calibration is not None
    table = _table(comparison.calibration.key, *names, "misfit", right=range(1, len(cells) + 2))
    for name, members in candidates:
        values = [cell.show(cell.mean()) for cell in members]
        table.add_row(name, *values, f"{misfit(cell.ratio for cell in members):.4f}")
    table.add_row("published", *(cell.show(cell.published) for cell in cells), "", style="bold")
    console.print(table)


def published_beside(simulated: Simulated, cell: Cell, metric: str) -> str:
    """Return another published metric of the cell's row, or a dash."""
    for row in simulated.paper.rows:
        if row.metric == metric and all(
            row.columns.get(column) == cell.columns[column] for column in simulated.comparison.axes
        ):
            return f"{row.value:g}"
    return "–"


def comparison_csv(simulated: Simulated) -> str:
    """Return all rows, variants included, as CSV in SI units."""
    axes = list(simulated.comparison.axes)
    head = [*axes, "set", "seeds", "published", "unit", "simulated", "least", "most", "ratio"]
    others = [name for name in MEASURES if name != simulated.comparison.simulated]
    lines = [[*head, "verdict", "rests_on", *others]]
    for name, cells in _sets(simulated):
        for cell in cells:
            low, high = cell.spread()
            line = [cell.columns[column] for column in axes]
            line += [name, str(len(cell.runs)), _plain(cell.published), unit(cell.measure)]
            line += [_plain(value) for value in (cell.mean(), low, high)]
            line.append(f"{cell.ratio:.4f}")
            line += [cell.verdict, cell.label] if name == "tunnelcc" else ["", ""]
            line += [_plain(cell.mean(other)) for other in others]
            lines.append(line)
    return _csv(lines)


def sweep_csv(comparison: Comparison, candidates: Sequence[tuple[str, list[Cell]]]) -> str:
    """Return the sweep of a calibration as CSV in SI units."""
    axes = list(comparison.axes)
    assert comparison.calibration is not None
    lines = [[comparison.calibration.key, *axes, "published", "simulated", "drops", "misfit"]]
    for name, cells in candidates:
        total = f"{misfit(cell.ratio for cell in cells):.6f}"
        for cell in cells:
            values = [cell.columns[column] for column in axes]
            numbers = [_plain(it) for it in (cell.published, cell.mean(), cell.mean("drops"))]
            lines.append([name, *values, *numbers, total])
    return _csv(lines)


def as_dict(simulated: Simulated, sentences: Sequence[str]) -> dict[str, Any]:
    """Return everything about a comparison as plain data for JSON, in SI units."""
    comparison = simulated.comparison
    return {
        "paper": simulated.paper.key,
        "title": simulated.paper.title,
        "comparison": comparison.id,
        "parameters": [
            dict(zip(("parameter", "value", "label", "reason"), row, strict=True))
            for row in simulated.paper.parameters()
        ],
        "tolerance": comparison.tolerance,
        "unit": unit(comparison.simulated),
        "rows": [_cell(cell) for cell in simulated.cells],
        "ns3": [_cell(cell) for cell in simulated.ns3],
        "variants": [
            {
                "id": variant.id,
                "title": variant.title,
                "role": variant.role,
                "reason": variant.reason,
                "rows": [_cell(cell) for cell in cells],
            }
            for variant, cells in simulated.variants
        ],
        "conclusions": list(sentences),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        **cell.columns,
        "published": cell.published,
        "simulated": cell.mean(),
        "runs": [{"seed": run.seed, **run.values} for run in cell.runs],
        "ratio": round(cell.ratio, 6),
        "verdict": cell.verdict,
        "rests_on": cell.label,
    }


def _sets(simulated: Simulated) -> Iterable[tuple[str, list[Cell]]]:
    yield "tunnelcc", simulated.cells
    if simulated.ns3:
        yield "ns3", simulated.ns3
    for variant, cells in simulated.variants:
        yield variant.id, cells


def _plain(value: float) -> str:
    if math.isfinite(value) and value == round(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.6g}"


def _csv(lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _table(*headings: str, right: Iterable[int] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, heading in enumerate(headings):
        justify = "right" if index in right else "left"
        table.add_column(escape(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table
