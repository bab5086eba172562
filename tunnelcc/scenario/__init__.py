# SPDX-License-Identifier: GPL-2.0-only
"""Experiments from TOML files, and ``key=value`` settings that change them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunnelcc import modules
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.modules import trust as trusted
from tunnelcc.scenario.experiment import Experiment as Experiment
from tunnelcc.scenario.settings import apply as apply
from tunnelcc.scenario.settings import as_table as as_table
from tunnelcc.schema import listed_as
from tunnelcc.schema.toml import parse_value, read_toml

#: Where tunnels are, which may be files.
_TUNNELS = ("tunnel", "tunnel.name", "tunnels.NAME", "tunnels.NAME.name", "flows.tunnel")

#: Where congestion controls are, which may be files.
_CC = re.compile(r"\b(carrier_)?cc(\.name)?$")

#: Keys whose values are text even where they look like numbers.
_TEXTS = ("kernel", "title", "from", "to")


def experiment_of(source: Experiment | Mapping[str, Any] | str | Path) -> Experiment:
    """Return an experiment from an Experiment, nested tables or the path of a TOML file.

    Raises ConfigError.
    """
    if isinstance(source, Experiment):
        return source
    if isinstance(source, (str, Path)):
        return load(source)
    table = tables_of(source)
    trusted.agree(table)
    return build(table, {})


def tables_of(source: object) -> Mapping[str, Any]:
    """Return ``source`` if it is nested tables. Raises ConfigError."""
    return as_table(
        "experiment", source, "an Experiment, a table (dict), or the path of a TOML file"
    )


def load(
    path: str | Path, settings: Mapping[str, Any] | None = None, *, trust: bool = False
) -> Experiment:
    """Return the experiment in a TOML file.

    ``path``: the file. ``settings``: other values for some keys, as for ``Experiment.with_``.
    ``trust``: compile and run files with congestion controls that the scenario names
    (``cc = "linux:tcp_illinois.c"``). Raises ConfigError.

        >>> _ = pathlib.Path("slow.toml").write_text('path = { rate = "10Mbps", rtt = "20ms" }')
        >>> tc.load("slow.toml", {"path.loss": "1%"}).path.loss
        0.01
    """
    trusted.agree(settings or {})
    return build(read_scenario(Path(path), trust=trust), settings or {})


def load_base(path: Path) -> Experiment:
    """Return the experiment of a file without its sweep, if it has one. Raises ConfigError."""
    table = read_scenario(path)
    table.pop("sweep", None)
    return build(table, {})


def build(table: Mapping[str, Any], settings: Mapping[str, Any]) -> Experiment:
    """Return the experiment of nested tables, with ``settings`` applied. Raises ConfigError."""
    if "sweep" in table:
        raise ConfigError(
            Problem(
                "sweep", MISSING, "one experiment; use `tunnelcc sweep` for a file with [sweep]"
            )
        )
    experiment: Experiment = Experiment.parse(apply(table, settings))
    return experiment


def read_scenario(path: Path, *, trust: bool = False) -> dict[str, Any]:
    """Return the tables of a scenario file. Raises ConfigError.

    Files that it names (tunnels, traces of rates, congestion controls) are searched in its folder.
    ``trust``: congestion controls among them may be compiled and run.
    """
    table = read_toml(path)
    sweep = table.pop("sweep", None)
    table = beside(path, table, trust=trust)
    if isinstance(sweep, dict):
        sweep = beside(path, sweep, trust=trust)
    return table if sweep is None else {**table, "sweep": sweep}


def beside(path: Path, settings: Mapping[str, Any], *, trust: bool = False) -> dict[str, Any]:
    """Return ``settings``; files that they name are searched in the folder of ``path``."""
    return {key: _beside(path, key, value, trust) for key, value in settings.items()}


def _beside(path: Path, key: str, value: Any, trust: bool) -> Any:
    """Return ``value``; file names in it are searched in the folder of ``path``."""
    if isinstance(value, dict):
        return {name: _beside(path, f"{key}.{name}", item, trust) for name, item in value.items()}
    if isinstance(value, list):
        return [_beside(path, key, item, trust) for item in value]
    if isinstance(value, str) and modules.is_file(value) and _CC.search(key):
        name = modules.absolute(value, path.parent)
        trusted.check(name, path, key, trust=trust)
        return name
    if not isinstance(value, str) or not (value.endswith(".toml") or key.endswith("trace")):
        return value
    listed = listed_as(Experiment, key)
    names_tunnel = value.endswith(".toml") and listed in _TUNNELS
    return str(path.parent / value) if names_tunnel or listed.endswith(".trace") else value


def parse_setting(option: str, text: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``, the argument of ``option``. Raises ConfigError."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        example = "cc=bbr,rtt=20ms" if option == "--flow" else "hosts.kernel=5.10"
        raise ConfigError(Problem(option, text, f"KEY=VALUE, such as {example}"))
    parsed = parse_text(key, value)
    trusted.agree({key: parsed})
    return key, parsed


def parse_text(key: str, text: str) -> Any:
    """Return the value that ``text`` means for ``key``.

    Kernel versions, titles and hosts stay text even if they look like numbers.
    """
    return text if key.rpartition(".")[2] in _TEXTS else parse_value(text)
