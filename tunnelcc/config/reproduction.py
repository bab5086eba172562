# SPDX-License-Identifier: GPL-2.0-only
"""The command that repeats an experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from tunnelcc.config.experiment import Experiment
from tunnelcc.config.flow import Flow
from tunnelcc.schema.toml import write_value

#: Of the elements of a list, keys with these values are left out.
_ELEMENT_DEFAULTS: dict[str, dict[str, Any]] = {"flows": Flow().table(), "cross_traffic": {}}


def command(experiment: Experiment) -> str:
    """Return the ``tunnelcc run`` that simulates ``experiment``, for a shell."""
    settings = (f"--set {shlex.quote(f'{key}={text}')}" for key, text in _settings(experiment))
    return " ".join(("tunnelcc run", *settings))


def _settings(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield each key that differs from its default, with its value as a command line has it."""
    given, defaults = experiment.table(), Experiment().table()
    for key, value in _changed(given, defaults):
        yield key, value if isinstance(value, str) else write_value(value)


def _changed(
    given: Mapping[str, Any], defaults: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        key, default = f"{prefix}{name}", defaults.get(name)
        if value == default:
            continue
        if isinstance(value, dict) and isinstance(default, dict):
            yield from _changed(value, default, f"{key}.")
        elif name in _ELEMENT_DEFAULTS:
            usual = _ELEMENT_DEFAULTS[name]
            yield key, [_without(element, usual) for element in value]
        else:
            yield key, value


def _without(table: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value != usual.get(name)}
