# SPDX-License-Identifier: GPL-2.0-only
"""Lists of a model's keys with their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, cleandoc
from keyword import iskeyword
from textwrap import wrap

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tunnelcc.schema.kinds import Kind, choice
from tunnelcc.schema.model import Model, fields_of, is_table, kind_of, models_in, tag_of

#: Stands in lists of keys for a name that the user gives to a table.
NAME = "NAME"


@dataclass(frozen=True)
class KeyInfo:
    """One row of `tunnelcc show experiment`. ``kind``: of the key's value, if it has one."""

    key: str
    default: object
    expected: str
    doc: str
    kind: Kind | None = None


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[KeyInfo]:
    """Yield every key of ``model`` and of the models in it, in order of declaration.

    For a union of models, this yields the key that selects one, then the keys of each. For a table
    of models by name, ``NAME`` stands for the name.
    """
    for name, field in fields_of(model).items():
        key = f"{prefix}{name}.{NAME}" if is_table(field) else f"{prefix}{name}"
        models = list(models_in(field.annotation))
        if len(models) > 1:
            yield from _of_union(models, field, key)
        elif models and not getattr(models[0], "IS_ONE_KEY", False):
            yield from keys_of(models[0], f"{key}.")
        else:
            yield _key(key, field)


def listed_as(model: type[BaseModel], key: str) -> str:
    """Return the name that keys_of() has for ``key`` of a scenario.

    Indices are left out (``flows.0.rtt``), and ``NAME`` stands for names of tables.
    """
    parts: list[str] = []
    models: list[type[BaseModel]] = [model]
    field: FieldInfo | None = None
    for part in key.split("."):
        if field is not None and is_table(field):
            parts.append(NAME)
            field = None
        elif not part.isdecimal():
            parts.append(part)
            fields = (fields_of(it).get(part) for it in models)
            field = next((it for it in fields if it is not None), None)
            models = list(models_in(field.annotation)) if field is not None else []
    return ".".join(parts)


def document(model: type[BaseModel]) -> None:
    """Add a model's keys to its help(): meaning, default and accepted values."""
    model.model_rebuild()  # now, because it sets a signature
    lines, parameters = [], []
    for name, field in fields_of(model).items():
        inner = " or ".join(f"tc.{it.__name__}" for it in models_in(field.annotation))
        info = _key(name, field)
        attribute = f"{name}_" if iskeyword(name) else name
        default = info.default if not inner or info.default is None else _name_of(info.default)
        parameters.append(Parameter(attribute, Parameter.KEYWORD_ONLY, default=default))
        shown = "" if default is ... or default is None else f", default {default!r}"
        kind = inner or info.expected
        lines.append(f"{attribute}: {kind}{shown}")
        if info.doc:
            lines += wrap(info.doc, 76, initial_indent="    ", subsequent_indent="    ")
    model.__doc__ = f"{cleandoc(model.__doc__ or '')}\n\nKeys:\n\n" + "\n".join(lines)
    model.__signature__ = Signature(parameters)


def _name_of(default: object) -> object:
    """Return the name that stands for a table, or ``...`` if it has none."""
    return default if isinstance(default, str) else ...


def _key(key: str, field: FieldInfo) -> KeyInfo:
    kind, default = kind_of(field), _default(field)
    if isinstance(default, Model):
        default = default.model_dump()
    elif kind is not None and default is not None:
        default = kind.format(default)
    expected = kind.expected if kind else "a name"
    return KeyInfo(key, default, expected, field.description or "", kind)


def _of_union(models: Sequence[type[BaseModel]], field: FieldInfo, key: str) -> Iterator[KeyInfo]:
    tag, _ = tag_of(models[0])
    kind = choice(*(tag_of(it)[1] for it in models))
    default = getattr(_default(field), tag, None)
    doc = next(filter(None, (it.model_fields[tag].description for it in models)), "")
    yield KeyInfo(f"{key}.{tag}", default, kind.expected, doc, kind)
    for model in models:
        for info in keys_of(model, f"{key}."):
            if info.key != f"{key}.{tag}":
                yield replace(info, doc=f"{tag_of(model)[1]}: {info.doc}")


def _default(field: FieldInfo) -> object:
    return None if field.is_required() else field.get_default(call_default_factory=True)
