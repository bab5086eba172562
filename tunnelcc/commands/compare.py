# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc compare``: a sweep over the options with several values, drawn as bars."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np

from tunnelcc import scenario as scenarios
from tunnelcc.commands.options import KEYS, changes, check_no_axis, listed, tell_changes
from tunnelcc.commands.sweep import Comparison, find_all, parse_seeds, run_and_print
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.modules import trust
from tunnelcc.plots import check_file, save
from tunnelcc.plots import differences as draw_differences
from tunnelcc.plots.standard import comparison
from tunnelcc.results import provenance
from tunnelcc.scenario import Experiment
from tunnelcc.store.store import check_name
from tunnelcc.sweeps import Sweep, export
from tunnelcc.sweeps.table import MOST_ROWS


def compare(
    file: Path | None,
    settings: Sequence[str],
    *,
    seeds: str | None,
    jobs: int | None,
    store: Path,
    name: str | None,
    again: bool,
    metric: str,
    plot: Path,
    output: Path | None,
    to: str | None,
    precision: str | None,
    most_seeds: int,
    **options: str | None,
) -> bool:
    """Run all combinations, print tables, save figures. Return whether every run succeeded."""
    check_file(plot, "--plot")
    second = plot.with_stem(f"{plot.stem}-differences")
    check_file(second, "--plot")
    if output is not None:
        export.check_file(output)
    if name is not None:
        check_name(name)
    (found,) = find_all([metric])
    declared = declare(file, options, settings, seeds, name)
    if file is not None and isinstance(declared.first_possible, Experiment):
        tell_changes(file, declared.of_each("tunnel"))
    asked = Comparison(metric, to, precision, most_seeds)
    ran = run_and_print(
        declared, store, asked, jobs, output=output, metrics=[metric], again=again,
        confirms=MOST_ROWS,
    )  # fmt: skip
    if ran.tally.failed == ran.tally.total:
        return False  # the first error is told
    if np.isnan(ran.data[found.name][1]).all():
        raise ConfigError(Problem("--metric", metric, "a metric that a run has a value of"))
    results = ran.results
    made = provenance.text(results.attrs)
    if ran.differences is not None:
        drawn = draw_differences(results, found.name, to, ran.differences.found)
        save(drawn, second, made)
        click.echo(second)
    figure, fixed = comparison(results, found.name)
    save(figure, plot, made)
    only = ", ".join(fixed)
    click.echo(f"{plot} (only {only}; `tunnelcc plot --at` draws others)" if only else plot)
    return not ran.tally.failed


def declare(
    file: Path | None,
    options: Mapping[str, str | None],
    settings: Sequence[str],
    seeds: str | None,
    name: str | None,
) -> Sweep:
    """Return the sweep over all options with several values. Raises ConfigError.

    The default name is unique for each comparison, so that none replaces another.
    """
    table = scenarios.read_scenario(file) if file is not None else {}
    for key in ("sweep", "title"):  # the title is of one experiment, and may name what now varies
        table.pop(key, None)
    values = {option: listed(text) for option, text in options.items() if text is not None}
    axes = {
        KEYS[option]: [scenarios.parse_text(KEYS[option], text) for text in texts]
        for option, texts in values.items()
        if len(texts) > 1
    }
    trust.agree(axes)
    if not {"cc", "tunnel.name", "tunnel.cc"} & axes.keys():
        expected = (
            "--tunnel, --cc or --carrier-cc with several values, such as --tunnel none,wireguard; "
            "`tunnelcc sweep` takes several values of other keys alone"
        )
        raise ConfigError(Problem("compare", MISSING, expected))
    first = {option: texts[0] for option, texts in values.items() if texts}
    single = {option: first.get(option) for option in options}
    table = scenarios.apply(table, changes(table, single, settings))
    declared = Sweep({**table, "sweep": axes}, seeds=parse_seeds(seeds), name=name or "compare")
    check_no_axis(settings, declared)
    if name is None:
        declared.name += f"-{hashlib.sha256(declared.to_toml().encode()).hexdigest()[:8]}"
    return declared
