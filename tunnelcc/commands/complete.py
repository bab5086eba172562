# SPDX-License-Identifier: GPL-2.0-only
"""Names that a shell completes: of tunnels, algorithms, metrics, keys, papers and stores.

A name that cannot be found out, such as that of a damaged store, is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _names(of: Callable[[click.Context], Iterable[tuple[str, str]]]) -> Complete:
    """Return the completion of names, and what each is; after a comma, of one more."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        found: list[tuple[str, str]] = []
        with contextlib.suppress(Exception):
            found = list(of(context))
        return [
            CompletionItem(f"{before}{comma}{name}", help=about or None)
            for name, about in found
            if name.startswith(last)
        ]

    return complete


def _tunnels(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc import catalog

    yield "none", "no tunnel"
    for name in catalog.names():
        yield name, catalog.load(name).summary
    for name, program in catalog.programs().items():
        if name not in catalog.names() and program.like is not None:
            yield name, program.text()


def _algorithms(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc import core

    yield from ((it.name, it.summary) for it in core.algorithms())
    yield from ((it, "of ns-3") for it in core.ns3_congestion_controls())


def _metrics(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc.metrics import METRICS

    yield from ((name, it.long_name) for name, it in METRICS.items())


def _keys(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc.scenario import Experiment
    from tunnelcc.schema import keys_of

    yield from ((f"{it.key}=", it.doc) for it in keys_of(Experiment))


def _sweeps(context: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc.store import Store

    directory = context.params.get("directory") or "runs"
    yield from ((it, f"of {directory}") for it in Store(directory).sweep_names())


def results(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete STORE/NAME, or a file."""
    from tunnelcc.store import Store

    parent = Path(incomplete).parent if "/" in incomplete else Path("runs")
    names: list[str] = []
    with contextlib.suppress(Exception):
        if Store.is_at(parent):
            names = [f"{parent}/{it}" for it in Store(parent).sweep_names()]
    found = [CompletionItem(it) for it in names if it.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def shown(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
    """Complete what `tunnelcc show` shows of its first argument."""
    return {
        "tunnel": tunnels, "cc": algorithms, "metrics": metrics, "experiment": tables,
        "profile": profiles, "payload": payloads,
    }.get(context.params.get("what") or "", _nothing)(context, parameter, incomplete)  # fmt: skip


def _nothing(_: click.Context, __: click.Parameter, ___: str) -> list[CompletionItem]:
    return []


def _profiles(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc.hosts import costs

    yield from ((it, costs.load(it).summary) for it in costs.names())


def _payloads(_: click.Context) -> Iterable[tuple[str, str]]:
    from tunnelcc.payloads import CORPORA

    yield from CORPORA.items()


def choices(*names: str) -> Complete:
    """Return the completion of one of a few words."""
    return _names(lambda _: ((it, "") for it in names))


tunnels, algorithms, metrics = _names(_tunnels), _names(_algorithms), _names(_metrics)
keys, sweeps = _names(_keys), _names(_sweeps)
tables = _names(lambda context: ((it.rstrip("="), about) for it, about in _keys(context)))
profiles, payloads = _names(_profiles), _names(_payloads)
