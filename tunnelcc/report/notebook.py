# SPDX-License-Identifier: GPL-2.0-only
"""HTML for cells of notebooks: tables, a small figure, and what limited the flows."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path

from tunnelcc import metrics
from tunnelcc.analysis.values import Cause
from tunnelcc.plots import plot_run
from tunnelcc.report import html, network
from tunnelcc.report.results import Report
from tunnelcc.results import provenance
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.words import causes
from tunnelcc.words.lists import flows
from tunnelcc.words.quantities import shown

_TEMPLATE = Path(__file__).with_name("cell.html")
#: Metrics that a run's form has, if they have a value.
_METRICS = ("goodput", "jain", "utilisation", "queue_delay_mean", "retransmission_ratio")
# More figures make a notebook long.
_MOST_FIGURES = 2


@singledispatch
def form(it: object) -> str:
    """Return the HTML of an object of tunnelcc."""
    raise TypeError(type(it))


@form.register
def _of_experiment(it: Experiment) -> str:
    tables = []
    for name, section in network.SECTIONS.items():
        headings, rows = section(it.resolved)
        if rows:
            keys = list(dict.fromkeys(key for _, numbers in rows for key in numbers))
            cells = [
                [*texts, *(numbers[key].text if key in numbers else "" for key in keys)]
                for texts, numbers in rows
            ]
            tables.append((name, [*headings, *keys], cells))
    title = it.title or ", ".join(it.flow_labels())
    return html.render(_TEMPLATE, title=title, tables=tables, figures=(), limits=(), made="")


@form.register
def _of_result(it: Result) -> str:
    rows = []
    for name in _METRICS:
        metric = metrics.METRICS.get(name)
        value = it.metrics.get(name)
        if metric is not None and value is not None and value == value:
            scale = shown(metric.units)
            rows.append([metric.long_name, scale.heading(f"{scale.factor * value:.4g}")])
    alike: dict[tuple[str, str], tuple[Cause, list[int]]] = {}
    for flow, cause in enumerate(it.limited):
        if cause is not None:
            alike.setdefault((causes.text(cause), causes.keys(cause)), (cause, []))[1].append(flow)
    limits = []
    for cause, members in alike.values():
        shares = [found.evidence.share for i in members if (found := it.limited[i]) is not None]
        limits.append(causes.sentence(flows(members), len(members), shares, cause))
    return html.render(
        _TEMPLATE, title=it.heading, tables=[("", ["", ""], rows)],
        figures=[html.inline_svg(plot_run(it))],
        limits=limits, made=provenance.text(it.provenance),
    )  # fmt: skip


@form.register
def _of_results(it: Report) -> str:
    rows = [[*labels, *map(str, cells)] for labels, cells in it.rows]
    return html.render(
        _TEMPLATE, title=it.question, tables=[("", [*it.axes, *it.headings], rows)],
        figures=[html.inline_svg(figure) for _, figure in it.figures[:_MOST_FIGURES]],
        limits=it.limits, made=it.made,
    )  # fmt: skip
