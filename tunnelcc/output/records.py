# SPDX-License-Identifier: GPL-2.0-only
"""What a command found, as JSON: one shape for all commands.

A command tells its records as it goes, whether or not somebody wants JSON. ``--json`` collects
them, and everything that is printed meanwhile goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Value = str | int | float | bool | None | list[str | int | float | bool | None]


def schema() -> str:
    """Return the JSON schema of Output."""
    return json.dumps(Output.model_json_schema(), indent=2)


class Output(BaseModel):
    """What a command of tunnelcc writes with --json, but `tunnelcc run`, whose JSON is a run's."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(description="the command, such as compare, or store ls")
    tunnelcc: str = Field(description="version of the package that wrote this")
    models: str = Field(description="version of its models; empty if there are none")
    tables: dict[str, list[dict[str, Value]]] = Field(
        description="records by table. Numbers are in SI units; null: there is no value"
    )
    units: dict[str, str] = Field(
        description="unit of each column of numbers: s, bit/s, byte, 1 (a ratio or a number of "
        "things) …; 'unit' if the column of this name has it for each record"
    )


_tables: ContextVar[dict[str, list[dict[str, Value]]] | None] = ContextVar("tables", default=None)
_units: ContextVar[dict[str, str]] = ContextVar("units")


def tell(
    table: str,
    records: Callable[[], Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]],
    units: Callable[[], Mapping[str, str]] | Mapping[str, str] | None = None,
) -> None:
    """Add records to a table, if somebody wants JSON. ``units``: of its columns of numbers.

    A whole number, a ratio and a yes or no need none: theirs is 1.
    """
    tables = _tables.get()
    if tables is None:
        return
    given = records() if callable(records) else records
    rows = list(map(plain, given))
    tables.setdefault(table, []).extend(rows)
    known = _units.get()
    known |= units() if callable(units) else units or {}
    for row in rows:
        for key, value in row.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                known.setdefault(key, "1")


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as JSON can have it: no value (NaN, infinite) is None."""
    return {key: _plain(value) for key, value in record.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(it) for it in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def as_json(command: str, versions: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Print what is told in this context as JSON, also if the command ends with a status.

    ``versions``: those of package and models.
    """
    tables, units = _tables.set({}), _units.set({})
    out = sys.stdout
    try:
        with contextlib.redirect_stdout(sys.stderr):
            try:
                yield
            except SystemExit:
                print(_text(command, versions()), file=out)
                raise
        print(_text(command, versions()), file=out)
    finally:
        _tables.reset(tables)
        _units.reset(units)


def _text(command: str, versions: Mapping[str, str]) -> str:
    found = Output(command=command, **versions, tables=_tables.get() or {}, units=_units.get())
    return found.model_dump_json(indent=2)
