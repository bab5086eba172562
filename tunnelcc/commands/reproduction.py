# SPDX-License-Identifier: GPL-2.0-only
"""The command that repeats an experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from tunnelcc import scenario
from tunnelcc.config import Flow
from tunnelcc.errors import ConfigError
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import write_value


def command(experiment: Experiment) -> str:
    """Return the ``tunnelcc run`` command that simulates ``experiment``, quoted for a shell."""
    settings = (f"--set {shlex.quote(f'{key}={text}')}" for key, text in _settings(experiment))
    return " ".join(("tunnelcc run", *settings))


def _settings(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the keys that define ``experiment``, with their values as on a command line.

    A key is left out if the other keys imply its value. Some defaults depend on other keys
    (``tcp.mss`` without timestamps, ``path.rate`` with a trace of rates).
    """
    given = experiment.table()
    settings: dict[str, str] = {}
    made = Experiment().table()
    while True:
        more = {
            key: _text(value, whole=key in settings or made == {})
            for key, value in _changed(given, made)
        }
        if more.items() <= settings.items():
            break
        settings |= more
        try:
            made = _build(settings).table()
        except ConfigError:  # these keys do not go together without some that are left out
            made = {}
    yield from settings.items()


def _build(settings: Mapping[str, str]) -> Experiment:
    parsed = (scenario.parse_setting("--set", f"{key}={text}") for key, text in settings.items())
    return scenario.build({}, dict(parsed))


def _changed(
    given: Mapping[str, Any], made: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        key, other = f"{prefix}{name}", made.get(name)
        if value == other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _changed(value, other, f"{key}.")
        else:
            yield key, value


def _text(value: Any, *, whole: bool) -> str:
    """Return ``value`` as on a command line. ``whole``: with the defaults of flows."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not whole:
        usual = Flow().table()
        value = [_without(item, usual) if isinstance(item, dict) else item for item in value]
    return write_value(value)


def _without(table: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value != usual.get(name)}
