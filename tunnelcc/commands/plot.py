# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc plot``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc.commands.options import read_results
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.metrics import Metric, find, flow_harm
from tunnelcc.output.files import make_directory
from tunnelcc.plots.curves import curves
from tunnelcc.plots.differences import differences
from tunnelcc.plots.form import Form, shape
from tunnelcc.plots.maps import maps
from tunnelcc.plots.pairs import pairs
from tunnelcc.plots.scales import is_number
from tunnelcc.plots.scatter import scatter
from tunnelcc.plots.selection import Selection
from tunnelcc.plots.series import series
from tunnelcc.plots.standard import overview, standard, wants_series
from tunnelcc.plots.style import FORMATS, check_file, save
from tunnelcc.results import provenance
from tunnelcc.sweeps import open_results

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

#: Kind → the options that it heeds, besides --at.
KINDS = {
    "curves": ("x", "y", "by", "facet"),
    "differences": ("y", "to"),
    "scatter": ("x", "y", "by", "facet"),
    "map": ("x", "y", "value", "facet"),
    "pairs": ("facet",),
    "series": ("facet",),
}
_DEFAULT_DIRECTORY = "figures"


@dataclass(frozen=True)
class Options:
    """The command's options by name. ``at``: each is KEY=VALUE."""

    x: str | None = None
    y: str | None = None
    by: str | None = None
    facet: str | None = None
    at: Sequence[str] = ()
    kind: str = "curves"
    value: str | None = None
    to: str | None = None
    theory: bool = True


def draw(
    path: Path,
    options: Options,
    *,
    all_of_them: bool = False,
    baseline: Path | None = None,
    output: Path | None = None,
    suffix: str = FORMATS[0],
    form: Form | None = None,
) -> list[Path]:
    """Save one figure of the results in ``path``, or the standard set. Return the files.

    ``output``: the file, or the directory for the standard set. ``form``: default: for a screen.
    Raises ConfigError.
    """
    form = form or Form()
    if options.kind not in KINDS:
        raise unknown_name("--kind", options.kind, KINDS)
    for name in ("x", "y", "by", "facet", "value", "to"):
        given = getattr(options, name)
        if given is not None and name not in KINDS[options.kind]:
            heeded = ", ".join(f"--{it}" for it in KINDS[options.kind])
            expected = f"no --{name} with --kind {options.kind}, which takes {heeded} and --at"
            raise ConfigError(Problem(f"--{name}", given, expected))
    if suffix not in FORMATS:
        raise unknown_name("--format", suffix, FORMATS)
    if not all_of_them:
        output = output or Path(f"{options.kind}.{suffix}")
        check_file(output, "--output")
    own: list[Metric] = []
    for name in ("x", "y", "value"):
        if ":" in (text := getattr(options, name) or ""):
            own.append(find(text, f"--{name}"))
            changed: dict[str, Any] = {name: own[-1].name}
            options = replace(options, **changed)
    results = read_results(path, series=options.kind == "series", metrics=own)
    if all_of_them and wants_series(results):
        results = open_results(path, series=True, metrics=own)
    if baseline is not None:
        results = results.assign(flow_harm=flow_harm(results, open_results(baseline)))
    if not all_of_them:
        assert output is not None
        _save(_figure(results, options), output, results, form)
        return [output]
    directory = output or Path(_DEFAULT_DIRECTORY)
    make_directory("--output", directory)
    files = []
    for name, figure in standard(results):
        files.append(directory / f"{name}.{suffix}")
        _save(figure, files[-1], results, form)
    return files


def _save(figure: Figure, file: Path, results: xarray.Dataset, form: Form) -> None:
    shape(figure, form)
    save(figure, file, provenance.text(results.attrs), form.dpi)


def _figure(results: xarray.Dataset, options: Options) -> Figure:
    at = dict(_setting(text) for text in options.at)
    if options.kind == "curves" and not (options.x or options.by or options.facet or at):
        return overview(results, options.y or "goodput")
    if options.kind == "curves":
        x = options.x or _first_axis(results, (options.by, options.facet, *at))
        return curves(
            results, x, options.y or "goodput", options.by, options.facet, at, options.theory
        )
    if options.kind == "differences":
        return differences(Selection(results, at).results, options.y or "goodput", options.to)
    if options.kind == "scatter":
        x, y = options.x or "queue_delay_mean", options.y or "goodput"
        return scatter(results, x, y, options.by, options.facet, at)
    if options.kind == "map":
        x, y = _required("--x", options.x, results), _required("--y", options.y, results)
        return maps(results, x, y, options.value or "goodput", options.facet, at)
    if options.kind == "pairs":
        return pairs(results, options.facet, at)
    return series(results, options.facet, at)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(Problem("--at", text, "KEY=VALUE, such as path.rtt=40ms"))
    return key.strip(), value.strip()


def _first_axis(results: xarray.Dataset, used: Sequence[str | None]) -> str:
    """Return the first axis of numbers that has no other use. Raises ConfigError."""
    selection = Selection(results)
    others = {selection.key(name) for name in used if name is not None}
    free = (key for key, axis in selection.axes.items() if key not in others and is_number(axis))
    return _required("--x", next(free, None), results)


def _required(option: str, key: str | None, results: xarray.Dataset) -> str:
    if key is None:
        expected = "one of the axes " + ", ".join(Selection(results).axes)
        raise ConfigError(Problem(option, MISSING, expected))
    return key
