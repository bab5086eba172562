# SPDX-License-Identifier: GPL-2.0-only
"""The compiled module's result as plain values, and hashes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

#: What most parts of a result are, and need no look.
_NUMBERS = frozenset({int, float, np.ndarray})


def plain(value: Any) -> Any:
    """Return a result of the compiled module as namespaces, lists and arrays (picklable)."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, np.ndarray):
        return value  # the module has made it for this result
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: plain(it) for name, it in vars(value).items()})
    names, get = _attributes(type(value))  # type: ignore[arg-type]
    parts = zip(names, get(value), strict=True)
    return SimpleNamespace(
        **{name: it if type(it) in _NUMBERS else plain(it) for name, it in parts}
    )


@cache
def _attributes(kind: Hashable) -> tuple[Sequence[str], Callable[[Any], Sequence[Any]]]:
    """Return the names of a type's attributes, and what gets them all; there are at least two."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    return names, attrgetter(*names)


def digests(raw: Any) -> dict[str, str]:
    """Return a hash of each kind of measurement. Equal hashes mean equal bits.

    Kinds that a run does not have are left out. So is the number of events, which describes the
    simulator and not the network.
    """
    flows, tunnels = raw.flows, [(it.forward, it.reverse) for it in raw.tunnels]
    kinds = {
        "cross_traffic": [raw.cross_traffic],
        "flows": [[SimpleNamespace(**{**vars(flow), "messages": None}) for flow in flows]],
        "hosts": raw.hosts,
        "legs": [raw.legs, raw.path_segments],
        "links": [way for link in raw.links for way in (link.forward, link.reverse)],
        "messages": [flow.messages for flow in flows if flow.messages.due],
        "time": [raw.time],
        "tunnel": [way for ways in tunnels for way in ways if way is not None],
    }
    return {kind: _digest(parts) for kind, parts in kinds.items() if np.size(parts[:1])}


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    _update(digest, parts)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(value.astype("<f8").tobytes())
    elif isinstance(value, list):
        for item in value:
            _update(digest, item)
    elif isinstance(value, SimpleNamespace):
        # What a run does not have leaves no trace: new kinds of results do not change old runs.
        for name in sorted(name for name, part in vars(value).items() if part is not None):
            digest.update(name.encode())
            _update(digest, vars(value)[name])
    else:
        digest.update(repr(value).encode())
