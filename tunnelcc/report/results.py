# SPDX-License-Identifier: GPL-2.0-only
"""A report of results: a page, and its table, figures and references for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import catalog, core
from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError
from tunnelcc.metrics import drift, entries, paired
from tunnelcc.metrics.confidence import fewest_and_most, from_to, mean_and_half_width
from tunnelcc.output import cells
from tunnelcc.output.files import csv_text
from tunnelcc.plots import differences, save
from tunnelcc.plots.standard import standard
from tunnelcc.report import compared, html
from tunnelcc.report.cell import Cell, label
from tunnelcc.results import provenance
from tunnelcc.schema.toml import parse_toml
from tunnelcc.sweeps import Sweep
from tunnelcc.sweeps import differences as numbers
from tunnelcc.sweeps.columns import Variables
from tunnelcc.sweeps.table import named, of_runs, share_heading, shares_of, shown_in
from tunnelcc.words import answers, causes

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

_ALWAYS = ("goodput", "queue_delay_mean", "retransmission_ratio")
_MOST_FIGURES = 6
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "×": r"$\times$", "±": r"$\pm$", "–": "--", "…": r"\dots{}", "−": "$-$",
}  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What a report says. ``rows``: texts of the axes, then a Cell for each of ``headings``."""

    question: str
    axes: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[Cell]]]
    given: Sequence[tuple[str, str]]
    limits: Sequence[str]
    figures: Sequence[tuple[str, Figure]]
    seeds: tuple[int, int]  # the fewest and the most of a row
    references: Sequence[tuple[str, str]]  # key, entry of BibTeX
    compared: compared.Compared | None = None
    made: str = ""  # what made the results
    answer: str = ""
    differences: Sequence[Sequence[str]] = ()  # headings, and a row for each condition

    def _repr_html_(self) -> str:
        return cells.form(self)


def make(results: xarray.Dataset, question: str = "", metrics: Sequence[str] = ()) -> Report:
    """Return the report of a sweep's results. A cell of a notebook shows it.

    It has a table of all conditions, figures with the differences to the first one, and what
    limited the flows. ``question``: its title. ``metrics``: columns besides goodput. ``given`` has
    no keys that the sweep varies. Raises ConfigError.

        >>> base = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "1s"}
        >>> results = tc.sweep(base, {"cc": ["bbr", "cubic"]}, seeds=2, progress=False)
        >>> tc.summary(results).axes
        ['cc']
    """
    goodput = results["goodput"].transpose(..., "seed")
    dims = [str(it) for it in goodput.dims if it != "seed"]
    axes = [str(key) for key, it in results.coords.items() if set(it.dims) & set(dims)]
    columns = [
        (heading, bool((values < 0).any()), *mean_and_half_width(values))
        for heading, (_, values) in _values(results, metrics).items()
    ]
    rows, limits = [], list[str]()
    for point in np.ndindex(*(goodput.sizes[dim] for dim in dims)):
        at = dict(zip(dims, point, strict=True))
        labels = [label(results, key, at) for key in axes]
        rows.append(
            (labels, [Cell(float(m[point]), float(h[point]), it) for _, it, m, h in columns])
        )
        limits += _limits(results.isel(at), ", ".join(labels) or "the flows")
    failed = int(np.isnan(goodput.values).sum())
    answer, different = _answer(results, metrics[0] if metrics else "goodput")
    scenario = parse_toml(results.attrs["scenario"], "scenario")
    return Report(
        question or str(results.attrs.get("title", "")), axes, [it[0] for it in columns], rows,
        [(key, value) for key, value in _given(scenario) if key not in axes],
        [*([f"{failed} runs failed"] if failed else []), *limits],
        _figures(results), fewest_and_most(goodput.values), _references(results),
        made=provenance.text(results.attrs),
        answer=answer, differences=different,
    )  # fmt: skip


def _answer(results: xarray.Dataset, metric: str) -> tuple[str, list[list[str]]]:
    """Return the answer in one sentence, and the differences of all conditions with headings.

    Both are empty where there is nothing to compare, or one seed.
    """
    data, along = _variables(results)
    shown = numbers.differences(data, along, metric)
    if shown is None:
        return "", []
    axes, dims = numbers.axes_of(along), data["goodput"][0][:-1]
    unit, found = data[metric][2].get("units", ""), dict(shown.found)
    if not all(it.is_ratio for it in found.values()):  # then all have the metric's unit
        values, pairs = of_runs(data, metric, along), numbers.pairs_of(data, shown.question)
        confidence = paired.each_of(len(pairs))
        found = {
            point: paired.difference(values[point], values[other], confidence, is_ratio=False)
            for point, other in pairs.items()
        }
    told, rows = list[tuple[float, answers.Told]](), list[list[str]]()
    for point, it in found.items():
        at = dict(zip(dims, point, strict=True))
        labels = [str(values[at[dim]]) for dim, values, _ in axes.values()]
        if it.pairs < 2 or not np.isfinite(it.mean):
            continue
        text = numbers.difference_text(it, unit)
        is_decided = it.verdict != "undecided"
        told.append((it.mean, answers.Told(" ".join(labels), text, is_decided)))
        rows.append([*labels, text, numbers.WORDS[it.verdict], str(it.pairs)])
    if not rows:
        return "", []
    declared = Sweep(parse_toml(results.attrs["scenario"], "scenario"), is_record=True)
    said = answers.sentence(
        named(data, metric, along), shown.question.name,
        [it for _, it in sorted(told, key=lambda it: -it[0])], paired.CONFIDENCE,
        declared.conditions,
    )  # fmt: skip
    return said, [[*axes, "difference", "", "seeds"], *rows]


def _variables(results: xarray.Dataset) -> tuple[Variables, Variables]:
    """Return the results, seeds last, and the coordinates, as arrays with dimensions."""
    dims = (*(str(it) for it in results["goodput"].dims if it != "seed"), "seed")
    ordered = results.transpose(*dims, ...)
    data: Variables = {
        str(name): (tuple(map(str, it.dims)), it.values, it.attrs) for name, it in ordered.items()
    }
    along: Variables = {
        str(name): (tuple(map(str, it.dims)), it.values, it.attrs)
        for name, it in ordered.coords.items()
        if set(it.dims) & {*dims[:-1]}
    }
    return data, along


def _values(
    results: xarray.Dataset, metrics: Sequence[str]
) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Return, by heading, the dimensions (the last is the seed) and one value for each run.

    The values have the unit of the heading.
    """
    data, along = _variables(results)
    dims, axes = data["goodput"][0], [*along]
    told = entries.told(data["flow_group"][1], axes)
    names = [*_ALWAYS, *(["jain"] if results.sizes["flow"] > 1 else []), *metrics]
    found = {}
    for name in dict.fromkeys(names):
        if (name == "flow_share" and told) or not np.isfinite(data[name][1]).any():
            continue
        heading, factor = shown_in(named(data, name, axes), data[name][2]["units"])
        found[heading] = dims, factor * of_runs(data, name, axes)
    for entry in told:
        found[share_heading(entry)] = dims, 100 * shares_of(data, entry)
    return found


def together(
    results: Mapping[str, xarray.Dataset], question: str = "", metrics: Sequence[str] = ()
) -> Report:
    """Return one report of several results, by name: a table of all, and what each report has.

    An axis or a metric that one of them lacks has an empty cell there. What all have in common is
    compared with the first. Raises ConfigError.
    """
    reports = {name: make(it, metrics=metrics) for name, it in results.items()}
    every = list(reports.values())
    values = {name: it.assign(_values(it, metrics)) for name, it in results.items()}
    joined = compared.common(values)
    figures = [] if joined is None else _difference(joined, f"results={next(iter(results))}")
    for name, it in reports.items():
        figures += [(f"{name}-{title}", figure) for title, figure in it.figures]
    axes = list(dict.fromkeys(axis for it in every for axis in it.axes))
    headings = list(dict.fromkeys(heading for it in every for heading in it.headings))
    rows = []
    for name, it in reports.items():
        for labels, found in it.rows:
            at = dict(zip(it.axes, labels, strict=True))
            values = dict(zip(it.headings, found, strict=True))
            nothing = Cell(math.nan, math.nan)
            rows.append((
                [name, *(at.get(axis, "–") for axis in axes)],
                [values.get(heading, nothing) for heading in headings],
            ))  # fmt: skip
    stated = {name: dict(it.given) for name, it in reports.items()}
    given = []
    for key in dict.fromkeys(key for keys in stated.values() for key in keys):
        values_of = {name: keys.get(key) for name, keys in stated.items()}
        if len({*values_of.values()}) == 1:
            given.append((key, stated[next(iter(stated))][key]))
        else:
            given += [(f"{key} ({name})", text) for name, text in values_of.items() if text]
    shared = [it for it in headings if joined is not None and it in joined]
    return Report(
        question or " · ".join(dict.fromkeys(it.question for it in every)),
        ["results", *axes], headings, rows, given,
        [f"{name}: {limit}" for name, it in reports.items() for limit in it.limits],
        figures,
        (min(it.seeds[0] for it in every), max(it.seeds[1] for it in every)),
        list(dict(reference for it in every for reference in it.references).items()),
        None if joined is None else compared.compare(joined, shared),
    )  # fmt: skip


def _limits(here: xarray.Dataset, name: str) -> Iterator[str]:
    texts, shares, changes = (
        here[it].transpose("seed", "flow").values
        for it in ("flow_limited_by", "flow_limited_share", "flow_drift")
    )
    limit, share = causes.at_point(texts, shares)
    if limit:
        yield f"{name}: limited by the {limit} for {share:.0%} of the time"
    if change := drift.at_point(changes, here["goodput"].values):
        yield f"{name}: not steady, the goodput changed by up to {change:.0%} of its mean"


def _given(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys that the scenario states, with their values."""
    for key, value in table.items():
        if isinstance(value, dict) and key != "sweep":
            yield from _given(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, it in enumerate(value):
                yield from _given(it, f"{prefix}{key}.{number}.")
        elif key not in ("sweep", "title"):
            yield f"{prefix}{key}", str(value)


def _figures(results: xarray.Dataset) -> list[tuple[str, Figure]]:
    found = []
    try:
        for name, figure in standard(results):
            found.append((name, figure))
            if len(found) == _MOST_FIGURES:
                break
    except ConfigError:  # nothing to draw
        pass
    found[1:1] = _difference(results)
    return found


def _difference(results: xarray.Dataset, to: str | None = None) -> list[tuple[str, Figure]]:
    """Return the figure of differences, or none where nothing can be compared."""
    try:
        return [("differences", differences(results, "goodput", to))]
    except ConfigError:
        return []


def _references(results: xarray.Dataset) -> list[tuple[str, str]]:
    """Return what the results stand on: the programs, the algorithms, and the tunnels."""
    found = [
        ("tunnelcc", _entry("software", "tunnelcc", {
            "author": "{The tunnelcc authors}",
            "title": "{tunnelcc: a simulator for congestion control across tunnels}",
            "version": str(results.attrs.get("tunnelcc") or __version__),
        })),
        ("ns3", _entry("incollection", "ns3", {
            "author": "Riley, George F. and Henderson, Thomas R.",
            "title": "The {ns-3} Network Simulator",
            "booktitle": "Modeling and Tools for Network Simulation",
            "publisher": "Springer", "year": "2010", "pages": "15--34",
            "doi": "10.1007/978-3-642-12331-3_2",
        })),
    ]  # fmt: skip
    used = {str(it) for it in results["flow_cc"].values.flat}
    for it in core.algorithms():
        if it.name in used or core.congestion_label(it.name) in used:
            fields = {"title": f"{{{latex(it.name)}: {latex(it.summary)}}}",
                      "note": f"{{As simulated after {latex(it.source)}}}"}  # fmt: skip
            found.append((it.name, _entry("misc", it.name, fields)))
    for name in (*catalog.names(), *catalog.programs()):
        if re.search(rf'[="]\s*"?{re.escape(name)}"', results.attrs["scenario"]):
            entry = catalog.load(name)
            fields = {"title": f"{{{latex(entry.summary)}}}",
                      "note": f"{{As simulated after {latex(entry.software)}}}"}  # fmt: skip
            found.append((name, _entry("misc", name, fields)))
    return found


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    sorted_by = {} if "author" in fields else {"key": key}
    lines = [f"  {name} = {{{value}}}," for name, value in {**fields, **sorted_by}.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def latex(words: str) -> str:
    """Return text as LaTeX shows it."""
    return "".join(_LATEX.get(it, it) for it in words)


def as_latex(report: Report, versions: Sequence[str]) -> str:
    """Return the table for LaTeX, with the package booktabs, and what made it in comments."""
    seeds = from_to(*report.seeds)
    about = [f"{seeds} seeds: mean, and half the width of its 95 % confidence interval", *versions]
    rows = [[*labels, *map(str, cells)] for labels, cells in report.rows]
    return _tabular(about, [*report.axes, *report.headings], len(report.axes), rows)


def _tabular(
    about: Sequence[str], headings: Sequence[str], labels: int, rows: Sequence[Sequence[str]]
) -> str:
    """Return a table of texts for LaTeX; the first ``labels`` columns have no numbers.

    ``about``: its comments.
    """
    lines = [
        *(f"% {' '.join(it.split())}" for it in about),
        r"\begin{tabular}{" + "l" * labels + "r" * (len(headings) - labels) + "}",
        r"\toprule",
        " & ".join(map(latex, headings)) + r" \\",
        r"\midrule",
        *(" & ".join(map(latex, row)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def as_frame(report: Report) -> Any:
    """Return the table as a pandas DataFrame: means and half widths, rounded as they are shown."""
    import pandas  # type: ignore[import-untyped]

    columns: dict[str, list[Any]] = {
        key: [csv_text(labels[place]) for labels, _ in report.rows]
        for place, key in enumerate(report.axes)
    }
    for place, heading in enumerate(report.headings):
        parts = [cells[place].parts for _, cells in report.rows]
        for name, which in ((heading, 0), (f"{heading}, ±", 1)):
            columns[name] = [float(it[which]) if it[which] else np.nan for it in parts]
    return pandas.DataFrame(columns)


def write(
    report: Report, directory: Path, versions: Sequence[str], commands: Sequence[str]
) -> Iterator[Path]:
    """Write figures, the table (CSV and LaTeX), BibTeX and the page.

    ``versions``: sentences on what made the results and the page.

    Yield each file when it is there: figures take a second each.
    """
    for name, figure in report.figures:
        file = directory / f"{name}.pdf"
        save(figure, file, "; ".join(versions))
        yield file
    frame = as_frame(report)
    frame["provenance"] = "; ".join(versions)  # CSV has no other place for it
    texts = {
        "table.csv": frame.to_csv(index=False), "table.tex": as_latex(report, versions),
        "references.bib": "\n\n".join(it for _, it in report.references) + "\n",
        "report.html": html.render(
            Path(__file__).with_name("results.html"), title=report.question, report=report,
            figures=[(name.replace("-", " "), html.inline_svg(it)) for name, it in report.figures],
            versions=versions, commands=commands,
        ),
    }  # fmt: skip
    if (both := report.compared) is not None:
        about = "mean ± half the width of its 95 % interval; differences hold together by metric"
        about_all = [about, *versions]
        texts["compared.tex"] = _tabular(about_all, both.headings, both.labels, both.rows)
    for name, content in texts.items():
        html.write(directory / name, content)
        yield directory / name
