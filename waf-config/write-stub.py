# SPDX-License-Identifier: GPL-2.0-only
"""Write tunnelcc/results/measured.pyi: the types of what a run measures, from the models' table.

``make format`` runs it; a test compares.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tunnelcc.core import Measurement
from tunnelcc.results import measured

_FILE = Path(measured.__file__).with_suffix(".pyi")
_START = '''\
# SPDX-License-Identifier: GPL-2.0-only
# Written by waf-config/write-stub.py from the table of the models.
"""The measurements of one part of a run, with their units."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]

class Part:
    place: int | tuple[int, ...]
    def __init__(self, arrays: Callable[[str], Any], place: int | tuple[int, ...]) -> None: ...
'''
_END = """
KINDS: tuple[type[Part], ...]

def names(kind: str) -> tuple[str, ...]: ...
def plain(value: Any, *, is_count: bool = False) -> Any: ...
"""


def text() -> str:
    """Return the stub."""
    return _START + "".join(map(_class, measured.KINDS)) + _END


def _class(part: type[measured.Part]) -> str:
    lines = [f'\nclass {part.__name__}(Part):\n    """{inspect.getdoc(part)}"""\n']
    for name, type_, doc in _attributes(part):
        lines.append(f"\n    {name}: {type_}\n")
        lines.append(textwrap.indent(textwrap.fill(f'"""{doc}"""', 96), "    "))
    return "".join(lines) + "\n"


def _attributes(part: type[measured.Part]) -> Iterator[tuple[str, str, str]]:
    kind = part.kind
    for name in measured.names(kind):
        it = measured.declared(kind, name)
        yield name, _type(it), _doc(it)


def _type(it: Measurement) -> str:
    if not it.unit:
        return "NDArray[np.str_]" if "time" in it.dimensions else "str"
    if "time" in it.dimensions:
        return "Series"
    return "int | None" if it.is_count else "float | None"


def _doc(it: Measurement) -> str:
    unit = "" if it.unit in ("", "1") else f", {it.unit}"
    return f"{it.meaning[:1].upper()}{it.meaning[1:]}{unit}."


if __name__ == "__main__":
    _FILE.write_text(text(), "utf-8")
