# SPDX-License-Identifier: GPL-2.0-only
"""Which run a run is: a hash of everything that its results depend on.

That is what the compiled module is told, the specification (every number of the scenario, of the
tunnel's catalogue entry and of the kernel, and the seed), and what the module does with it, the
version of the models. The latter is a hash of the compiled module itself: a change of the models
that changes no compiled code keeps the results there are, any other makes new runs of everything.
A result's title, and how a number was written, do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc.config import Experiment
from tunnelcc.spec import experiment_spec

_DIGEST_BYTES = 16


@cache
def model_version() -> str:
    """Return the version of the models: a hash of the compiled module, 32 hexadecimal digits."""
    file = core.load().__file__
    assert file is not None
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=_DIGEST_BYTES).hexdigest()


def run_id(experiment: Experiment) -> str:
    """Return the id of the run of ``experiment``: 32 hexadecimal digits."""
    parts = [model_version()]
    _write(experiment_spec(experiment), parts)
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _write(value: Any, parts: list[str]) -> None:
    """Append the text of every number in ``value``, an object of the compiled module."""
    if isinstance(value, (str, int, float)):
        parts.append(repr(value))
    elif isinstance(value, (list, tuple)):
        parts.append(f"[{len(value)}]")
        for item in value:
            _write(item, parts)
    else:
        for name in _attributes(type(value)):  # type: ignore[arg-type]
            parts.append(name)
            _write(getattr(value, name), parts)


@cache
def _attributes(kind: Hashable) -> tuple[str, ...]:
    """Return the names of the members of a class of the compiled module."""
    names = sorted(name for name in vars(kind) if not name.startswith("_"))
    if not names:
        raise TypeError(f"{kind} is no class of the compiled module")
    return tuple(names)
