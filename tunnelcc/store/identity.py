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
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc.config import Experiment
from tunnelcc.simulation.spec import experiment_spec

_DIGEST_BYTES = 16
_NUMBERS = (int, float, bool)


@cache
def model_version() -> str:
    """Return the version of the models: a hash of the compiled module, 32 hexadecimal digits."""
    file = core.load().__file__
    assert file is not None
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=_DIGEST_BYTES).hexdigest()


def run_id(experiment: Experiment) -> str:
    """Return the id of the run of ``experiment``: 32 hexadecimal digits."""
    text = f"{model_version()}\n{_text(experiment_spec(experiment))}"
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _text(value: Any) -> str:
    """Return every number in ``value``, an object of the compiled module, with its name."""
    if isinstance(value, (str, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_text, value))}]"
    kind: Any = type(value)
    names, read, optional = _members(kind)
    # Most members are numbers: a call for each of them would take most of the time.
    texts = [repr(it) if type(it) in _NUMBERS else _text(it) for it in read(value)]
    for place, name, flag in optional:
        part = _text(getattr(value, name)) if getattr(value, flag) else _unset(kind, name)
        texts.insert(place, part)
    return f"{names}({','.join(texts)})"


@cache
def _unset(kind: Any, name: str) -> str:
    """Return the text of a member that is as the module made it."""
    return _text(getattr(kind(), name))


@cache
def _members(kind: Any) -> tuple[str, Callable[[Any], tuple[Any, ...]], list[tuple[int, str, str]]]:
    """Return the names of a class's members, what reads those that always count, and the others.

    Of ``x``, which counts where ``has_x`` is set alone: its place, its name, that of the flag.
    """
    names = sorted(name for name in vars(kind) if not name.startswith("_"))
    if not names:
        raise TypeError(f"{kind} is no specification of the compiled module")
    optional = [
        (at, name, f"has_{name}") for at, name in enumerate(names) if f"has_{name}" in names
    ]
    always = [name for name in names if f"has_{name}" not in names]
    # Of a single name, attrgetter() would return no tuple.
    read = attrgetter(*always) if len(always) > 1 else lambda value: (getattr(value, always[0]),)
    return ",".join(names), read, optional
