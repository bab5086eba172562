# SPDX-License-Identifier: GPL-2.0-only
"""Experiments from TOML files and from ``key=value`` settings on top of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunnelcc.config.experiment import Experiment
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import keys_of, listed_as
from tunnelcc.schema.toml import parse_value, read_toml

#: Tables that may be given as their name alone: ``tunnel = "gost-relay-ws"``, ``cc = "bbr"``.
_SHORT_FORMS = ("tunnel", "cc", "queue")

#: Where tunnels are, which may be files.
_TUNNELS = ("tunnel", "tunnel.name", "tunnels.NAME", "tunnels.NAME.name", "flows.tunnel")

#: Keys whose values are text even where they look like numbers.
_TEXTS = ("kernel", "title", "from", "to")


def load(path: str | Path, settings: Mapping[str, Any] | None = None) -> Experiment:
    """Return the experiment of a TOML file, changed by ``settings`` (see apply()).

    Raises ConfigError.
    """
    return build(read_scenario(Path(path)), settings or {})


def build(table: Mapping[str, Any], settings: Mapping[str, Any]) -> Experiment:
    """Return the experiment of nested tables, changed by ``settings``. Raises ConfigError."""
    if "sweep" in table:
        raise ConfigError(Problem("sweep", MISSING, "one experiment; `tunnelcc sweep` runs these"))
    experiment: Experiment = Experiment.parse(apply(table, settings))
    return experiment


def read_scenario(path: Path) -> dict[str, Any]:
    """Return the tables of a scenario file. Raises ConfigError.

    A tunnel that is a file is looked for beside the scenario, and so is a trace of rates.
    """
    table = read_toml(path)
    sweep = table.pop("sweep", None)
    table = {key: _beside(path, key, value) for key, value in table.items()}
    if isinstance(sweep, dict):
        sweep = {
            key: _beside(path, key, value) if isinstance(value, list) else value
            for key, value in sweep.items()
        }
    return table if sweep is None else {**table, "sweep": sweep}


def _beside(path: Path, key: str, value: Any) -> Any:
    """Return ``value`` with the files that it names looked for beside ``path``."""
    if isinstance(value, dict):
        return {name: _beside(path, f"{key}.{name}", item) for name, item in value.items()}
    if isinstance(value, list):
        return [_beside(path, key, item) for item in value]
    if not isinstance(value, str) or not (value.endswith(".toml") or key.endswith("rate_trace")):
        return value
    listed = listed_as(Experiment, key)
    names_tunnel = value.endswith(".toml") and listed in _TUNNELS
    return str(path.parent / value) if names_tunnel or listed.endswith(".rate_trace") else value


def parse_setting(option: str, text: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``, given to ``option``. Raises ConfigError."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(Problem(option, text, "KEY=VALUE, such as hosts.kernel=5.10"))
    return key, parse_text(key, value)


def parse_text(key: str, text: str) -> Any:
    """Return what ``text`` means as the value of ``key``.

    Kernel versions, titles and hosts are text even where they look like numbers.
    """
    return text if key.rpartition(".")[2] in _TEXTS else parse_value(text)


def apply(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``table`` with dotted keys set: ``path.rtt``, ``flows.0.count``, ``tunnel.cc``.

    A key below ``flows`` or ``cross_traffic`` without a number is set in each of them; ``cc`` is
    short for ``flows.cc``. A key is set before those below it, whatever their order. The
    name none takes a table's tunnel away with all its keys. Raises ConfigError for a key that
    cannot be reached.
    """
    changed = copy.deepcopy(dict(table))
    full_keys = {("flows.cc" if key == "cc" else key): value for key, value in settings.items()}
    for key, value in full_keys.items():
        if value == "none" and listed_as(Experiment, key) in ("tunnel.name", "tunnels.NAME.name"):
            _set(changed, key.removesuffix(".name"), {}, key)
    for full in sorted(full_keys, key=lambda key: key.count(".")):
        value = full_keys[full]
        group = full.partition(".")[0]
        if group in ("flows", "cross_traffic") and group != full:
            changed.setdefault(group, [{}])
        _set(changed, full, value, full)
    return changed


def _set(node: Any, key: str, value: object, full: str) -> None:
    first, _, rest = key.partition(".")
    if isinstance(node, list):
        _set_in_list(node, key, value, full)
    elif not isinstance(node, dict) and _is_table(table := full[: -len(key) - 1]):
        raise ConfigError(Problem(table, node, f"a table, for {full} to be set in"))
    elif not isinstance(node, dict) or not first:
        raise ConfigError(Problem(full, value, "a key such as path.rtt or flows.0.cc"))
    elif not rest:
        node[first] = value
    else:
        child = node.setdefault(first, {})
        if isinstance(child, str) and _has_short_form(full[: -len(rest) - 1]):
            child = node[first] = {"name": child}
        _set(child, rest, value, full)


def _is_table(key: str) -> bool:
    """Whether there are keys below ``key`` (``path``, ``flows.0``)."""
    table = listed_as(Experiment, key)
    return any(info.key.startswith(f"{table}.") for info in keys_of(Experiment))


def _has_short_form(key: str) -> bool:
    """Whether the table ``key`` may be given as its name alone."""
    return key.rpartition(".")[2] in _SHORT_FORMS or listed_as(Experiment, key) == "tunnels.NAME"


def _set_in_list(elements: list[Any], key: str, value: object, full: str) -> None:
    first, _, rest = key.partition(".")
    if not first.isdecimal():
        for element in elements:
            _set(element, key, value, full)
    elif int(first) >= len(elements):
        last = len(elements) - 1
        is_flow = full.startswith("flows.")
        hint = "a further flow: --flow cc=bbr on the command line, [[flows]] in a file" * is_flow
        expected = f"an index from 0 to {last} instead of {first}"
        raise ConfigError(Problem(full, MISSING, expected, hint))
    elif not rest:
        raise ConfigError(Problem(full, value, f"a key of one element, such as {full}.cc"))
    else:
        _set(elements[int(first)], rest, value, full)
