# SPDX-License-Identifier: GPL-2.0-only
"""Options of commands that make an experiment: ``--rate``, ``--cc``, ``--flow`` …"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tunnelcc import scenario as scenarios
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.modules import trust
from tunnelcc.results import provenance
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import parse_value

if TYPE_CHECKING:
    import xarray

    from tunnelcc.sweeps import Sweep

#: Option → the key that it sets.
KEYS = {
    "rate": "path.rate",
    "rtt": "path.rtt",
    "loss": "path.loss",
    "buffer": "path.buffer",
    "cc": "cc",
    "flows": "flows.0.count",
    "tunnel": "tunnel.name",
    "direction": "direction",
    "carrier_cc": "tunnel.cc",
    "duration": "duration",
    "until": "until",
    "warmup": "warmup",
    "seed": "seed",
}
# A comma that is in no brackets and no quotes.
_COMMA = re.compile(r""",(?=(?:[^\[\]{}"']|\[[^]]*\]|\{[^}]*\}|"[^"]*"|'[^']*')*$)""")


def experiment_of(
    file: Path | None,
    options: Mapping[str, str | None],
    groups: Sequence[str],
    settings: Sequence[str],
    otherwise: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return the experiment of a file, changed by ``options`` (see KEYS) and ``settings``.

    ``groups``: flows, each as ``cc=bbr,rtt=20ms``. ``otherwise``: the tables where there is no
    file. Raises ConfigError.
    """
    for name, text in options.items():
        if name != "cc" and len(listed(text)) > 1 and not Path(text or "").is_file():
            expected = "one value; `tunnelcc compare` and `tunnelcc sweep` take several"
            raise ConfigError(Problem(f"--{name.replace('_', '-')}", text, expected))
    table = scenarios.read_scenario(file) if file is not None else dict(otherwise or {})
    algorithms = listed(options["cc"])
    if groups or len(algorithms) > 1:
        table["flows"] = _flows(table, options, groups, algorithms)
        options = {**options, "cc": None, "flows": None}
    return scenarios.build(table, changes(table, options, settings))


def changes(
    table: Mapping[str, Any], options: Mapping[str, str | None], settings: Sequence[str]
) -> dict[str, Any]:
    """Return key → value of the given options, and of ``settings``. Raises ConfigError."""
    groups = table.get("flows", [{}])
    if options["flows"] is not None and isinstance(groups, list) and len(groups) > 1:
        expected = "one group of flows in the scenario; otherwise use --set flows.0.count=…"
        raise ConfigError(Problem("--flows", options["flows"], expected))
    given = {KEYS[name]: parse_value(text) for name, text in options.items() if text is not None}
    trust.agree(given)
    added = parsed(settings)
    for name, text in options.items():
        if text is not None and KEYS[name] in added:
            option = f"--{name.replace('_', '-')}"
            expected = f"no --set of a key that an option sets ({option} {text})"
            raise ConfigError(Problem(f"--set {KEYS[name]}", added[KEYS[name]], expected))
    return given | added


def tell_changes(file: Path, experiments: Iterable[Experiment]) -> None:
    """Tell what changed in the catalogue since the scenario in ``file`` was written."""
    told = {
        f"{file}: {tunnel.keys.name} changed in {version}: {change}; version = '{version}' in the "
        "tunnel's table says that the scenario is for it"
        for experiment in experiments
        for tunnel in experiment.resolved.tunnels
        for version, change in tunnel.keys.changes_since()
    }
    for text in sorted(told):
        click.echo(text, err=True)


def tell_versions(name: object, made: Mapping[str, Any]) -> None:
    """Tell if other versions than this installation's made results. ``made``: their attributes."""
    if told := provenance.difference(made):
        click.echo(f"{name}: {told}", err=True)


def read_results(path: Path, **options: Any) -> xarray.Dataset:
    """Open results, and tell if other versions than this one made them. See ``tc.open``.

    Raises ConfigError also if no run of them can be read.
    """
    from tunnelcc.sweeps import open_results

    found = open_results(path, **options)
    if found["goodput"].isnull().all() and "error" in found:
        reason = next(filter(None, found["error"].to_numpy().flat), "")
        raise ConfigError(Problem("results", str(path), "a run with a result", str(reason)))
    tell_versions(path, found.attrs)
    return found


def parsed(settings: Iterable[str]) -> dict[str, Any]:
    """Return key → value of the options ``--set``. Raises ConfigError."""
    return dict(scenarios.parse_setting("--set", setting) for setting in settings)


def check_no_axis(settings: Iterable[str], sweep: Sweep) -> None:
    """Raise ConfigError if ``--set`` is given a key that is an axis, whose values would win."""
    axes = {axis.key for dimension in sweep.dimensions for axis in dimension.axes}
    for key in parsed(settings):
        for axis in (key, f"{key}.name"):
            if axis in axes:
                expected = f"no key that is an axis: the values of {axis} replace it"
                raise ConfigError(Problem("--set", key, expected))


def listed(text: str | None) -> list[str]:
    """Return the values of an option that accepts several: ``bbr,cubic``."""
    return [part.strip() for part in _COMMA.split(text or "") if part.strip()]


def _flows(
    table: Mapping[str, Any],
    options: Mapping[str, str | None],
    groups: Sequence[str],
    algorithms: Sequence[str],
) -> list[Any]:
    trust.agree(algorithms)
    if len(algorithms) > 1:
        if groups or len(table.get("flows", [])) > 1:
            expected = "one algorithm, because --flow or the scenario defines several flows"
            raise ConfigError(Problem("--cc", options["cc"], expected))
        one = {"flows": list(table.get("flows", [{}]))}
        count = {} if options["flows"] is None else {"flows.count": parse_value(options["flows"])}
        return [scenarios.apply(one, {"cc": name, **count})["flows"][0] for name in algorithms]
    if options["flows"] is not None:
        expected = "no --flows with --flow; use count=… in --flow"
        raise ConfigError(Problem("--flows", options["flows"], expected))
    common = {"cc": algorithms[0]} if algorithms else {}
    there = table.get("flows", [])
    if not isinstance(there, list):
        raise ConfigError(Problem("flows", there, "a list of tables, because --flow adds one"))
    new = [_flow(text, common) for text in groups]
    if algorithms and there:
        there = scenarios.apply({"flows": list(there)}, {"cc": algorithms[0]})["flows"]
    elif algorithms and all("cc" in pairs for pairs in map(_pairs, groups)):
        expected = "no --cc, because each --flow has its own cc"
        raise ConfigError(Problem("--cc", options["cc"], expected))
    return [*there, *new]


def _pairs(text: str) -> dict[str, Any]:
    return dict(scenarios.parse_setting("--flow", part) for part in listed(text))


def _flow(text: str, common: Mapping[str, Any]) -> Any:
    pairs = _pairs(text)
    if not pairs:
        raise ConfigError(Problem("--flow", text, "KEY=VALUE,KEY=VALUE such as cc=bbr,rtt=20ms"))
    if pairs.get("transport") == "udp":
        common = {}  # datagrams have no congestion control
    settings = {f"flows.0.{key}": value for key, value in pairs.items()}
    return scenarios.apply({"flows": [dict(common)]}, settings)["flows"][0]
