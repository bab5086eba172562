# SPDX-License-Identifier: GPL-2.0-only
"""What all parts of a specification need: its tables and text, times, keys of the same name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tunnelcc import core, modules
from tunnelcc.config import CongestionControl
from tunnelcc.errors import RunError
from tunnelcc.schema import Model, kind_of

if TYPE_CHECKING:
    from tunnelcc.catalog.layers import StreamLayer
    from tunnelcc.catalog.turn import Turn

#: A struct of ``models/spec/`` as a table.
Spec = dict[str, Any]

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def spec_text(spec: Spec | Sequence[Spec]) -> str:
    """Return ``spec`` as the JSON text that the compiled module reads."""
    return _JSON.encode(spec)


def same(model: Model, struct: str) -> Spec:
    """Return the keys of ``model`` that ``struct`` has under the same names, times in ns.

    ``struct``: its name in C++, such as ``LinkSpec``.

    Keys that are not set are left out: they are 0, false or empty in the struct.
    """
    values = vars(model)
    return {
        name: nanoseconds(value) if is_time else value
        for name, is_time in _shared(type(model), struct)
        if (value := values[name]) is not None
    }


@cache
def _shared(model: type[Model], struct: str) -> tuple[tuple[str, bool], ...]:
    """Return the keys that ``model`` and ``struct`` share, and whether each is a time."""
    members = _members()[struct]
    kinds = {name: kind_of(field) for name, field in model.model_fields.items() if name in members}
    return tuple((name, kind is not None and kind.unit == "s") for name, kind in kinds.items())


@cache
def _members() -> dict[str, list[str]]:
    """Return the names of the members of each struct of ``models/spec/``."""
    members: dict[str, list[str]] = core.load().spec_members()
    return members


def nanoseconds(seconds: float) -> int:
    """Return ``seconds`` in whole nanoseconds."""
    return round(seconds * 1e9)


def congestion(cc: CongestionControl) -> Spec:
    """Return a congestion control and its parameters."""
    if cc.code:
        name = core.congestion_label(cc.name)
        return {"name": name, "parameters": cc.parameters, "code": cc.code}
    if modules.is_file(cc.name):
        raise RunError(
            f"{cc.name} would run with all your rights, and a file of somebody else names it: name "
            "it yourself, as --cc or in Python"
        )
    return {"name": cc.name, "parameters": cc.parameters}


def handshake(turns: Sequence[Turn]) -> list[Spec]:
    """Return the turns of a handshake."""
    return [{"client": list(turn.client), "server": list(turn.server)} for turn in turns]


def layer_wire_bytes(
    layers: Sequence[StreamLayer], message: int, already_sent: int = 0
) -> list[int]:
    """Return the writes (bytes) that a message becomes in ``layers``, innermost first.

    ``already_sent``: bytes that passed the layers before.
    """
    text = spec_text([layer.spec() for layer in layers])
    writes: list[int] = core.load().layer_wire_bytes(text, message, already_sent)
    return writes
