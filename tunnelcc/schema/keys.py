# SPDX-License-Identifier: GPL-2.0-only
"""The keys of a model with their defaults, for lists of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel

from tunnelcc.schema.kinds import Kind
from tunnelcc.schema.model import Model, models_in


@dataclass(frozen=True)
class KeyInfo:
    """What `tunnelcc show experiment` tells of a key; ``kind``: of its value, if it has one."""

    key: str
    default: object
    expected: str
    doc: str
    kind: Kind | None = None


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[KeyInfo]:
    """Yield every key of ``model`` and of the models in it, in order of declaration."""
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        inner = next(iter(models_in(field.annotation)), None)
        doc = field.description or ""
        if inner is None or "shown as one key" in (inner.__doc__ or ""):
            kinds = [item for item in field.metadata if isinstance(item, Kind)]
            kind = kinds[0] if kinds else next(_kinds_in(field.annotation), None)
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            if isinstance(default, Model):
                default = default.model_dump()
            elif kind is not None and default is not None:
                default = kind.format(default)
            yield KeyInfo(key, default, kind.expected if kind else "a name", doc, kind)
        else:
            yield from keys_of(inner, key + ".")


def _kinds_in(annotation: object) -> Iterator[Kind]:
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, Kind):
            yield metadata
    for argument in get_args(annotation):
        yield from _kinds_in(argument)
