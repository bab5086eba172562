# SPDX-License-Identifier: GPL-2.0-only
"""Experiments from TOML files and from ``key=value`` settings on top of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunnelcc.config.experiment import Experiment
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import keys_of
from tunnelcc.schema.toml import parse_value, read_toml

#: Tables that may be given as their name alone: ``tunnel = "gost-relay-ws"``, ``cc = "bbr"``.
_SHORT_FORMS = ("tunnel", "cc", "queue")


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
    sweep = table.get("sweep")
    if isinstance(sweep, dict):
        for key, beside in (("tunnel", _beside), ("path.rate_trace", _trace_beside)):
            if isinstance(sweep.get(key), list):
                sweep[key] = [beside(path, value) for value in sweep[key]]
    if "tunnel" in table:
        table["tunnel"] = _beside(path, table["tunnel"])
    link = table.get("path")
    if isinstance(link, dict) and "rate_trace" in link:
        link["rate_trace"] = _trace_beside(path, link["rate_trace"])
    return table


def _beside(path: Path, tunnel: Any) -> Any:
    name = tunnel.get("name") if isinstance(tunnel, dict) else tunnel
    if not isinstance(name, str) or not name.endswith(".toml"):
        return tunnel
    file = str(path.parent / name)
    return {**tunnel, "name": file} if isinstance(tunnel, dict) else file


def _trace_beside(path: Path, trace: Any) -> Any:
    return str(path.parent / trace) if isinstance(trace, str) else trace


def parse_setting(option: str, text: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``, given to ``option``. Raises ConfigError."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(Problem(option, text, "KEY=VALUE, such as hosts.kernel=5.10"))
    return key, parse_text(key, value)


def parse_text(key: str, text: str) -> Any:
    """Return what ``text`` means as the value of ``key``.

    Kernel versions and titles are text even where they look like numbers.
    """
    return text if key.rpartition(".")[2] in ("kernel", "title") else parse_value(text)


def apply(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``table`` with dotted keys set: ``path.rtt``, ``flows.0.count``, ``tunnel.cc``.

    A key below ``flows`` or ``cross_traffic`` without a number is set in each of them; ``cc`` is
    short for ``flows.cc``. A key is set before those below it, whatever their order. The
    name none takes the table's tunnel away with all its keys. Raises ConfigError for a key that
    cannot be reached.
    """
    changed = copy.deepcopy(dict(table))
    full_keys = {("flows.cc" if key == "cc" else key): value for key, value in settings.items()}
    if full_keys.get("tunnel.name") == "none":
        changed["tunnel"] = {}
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
        if isinstance(child, str) and first in _SHORT_FORMS:
            child = node[first] = {"name": child}
        _set(child, rest, value, full)


def _is_table(key: str) -> bool:
    """Whether there are keys below ``key`` (``path``, ``flows.0``)."""
    table = ".".join(part for part in key.split(".") if not part.isdecimal())
    return any(info.key.startswith(f"{table}.") for info in keys_of(Experiment))


def _set_in_list(elements: list[Any], key: str, value: object, full: str) -> None:
    first, _, rest = key.partition(".")
    if not first.isdecimal():
        for element in elements:
            _set(element, key, value, full)
    elif int(first) >= len(elements):
        last = len(elements) - 1
        raise ConfigError(Problem(full, MISSING, f"an index from 0 to {last} instead of {first}"))
    elif not rest:
        raise ConfigError(Problem(full, value, f"a key of one element, such as {full}.cc"))
    else:
        _set(elements[int(first)], rest, value, full)
