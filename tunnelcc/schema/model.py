# SPDX-License-Identifier: GPL-2.0-only
"""Groups of keys, and their errors.

pydantic does the structure; its complaints become ConfigErrors that name the key's path, the value,
what was expected and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.schema.units import UnitError


class Model(BaseModel):
    """A group of keys: immutable, and an error for every key it does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise config_error(type(self), error) from None

    # Without this mark pydantic builds nested models through __init__, and their errors would
    # lose the path of the key.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def parse(cls, data: object) -> Any:
        """Return the model of ``data`` (a table). Raises ConfigError."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise config_error(cls, error) from None

    def table(self) -> dict[str, Any]:
        """Return the keys that are set or have defaults, as in TOML."""
        return self.model_dump(mode="json", exclude_none=True)


def config_error(model: type[BaseModel], error: ValidationError) -> ConfigError:
    """Return what pydantic complains of, in the words of tunnelcc."""
    problems: list[Problem] = []
    for details in error.errors():
        path = [str(part) for part in details["loc"]]
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            problems += [problem.below(".".join(path)) for problem in cause.problems]
            continue
        if details["type"] == "too_short" and details["input"]:
            continue  # elements that were refused count as missing, and are told of themselves
        problems.append(_problem(model, details["type"], path, details["input"], cause))
    return ConfigError(*problems)


def _problem(
    model: type[BaseModel], type_: str, path: Sequence[str], value: object, cause: object
) -> Problem:
    key = ".".join(path) or "experiment"
    if isinstance(cause, UnitError):
        return Problem(key, value, cause.expected, cause.hint)
    if type_ == "extra_forbidden":
        parent = _model_at(model, path[:-1]) or model
        names = list(parent.model_fields)
        expected = "one of the keys " + ", ".join(names)
        hint = f"unknown key, {nearest(path[-1], names)}".rstrip(", ")
        return Problem(key, MISSING if _holds_tables(value) else value, expected, hint)
    if type_ == "missing":
        return Problem(key, MISSING, "a value")
    if type_ in ("model_type", "dict_type", "model_attributes_type"):
        inner = _model_at(model, path) or model
        return Problem(key, value, "a table with the keys " + ", ".join(inner.model_fields))
    if type_ == "too_short":
        return Problem(key, value, "a list of at least one")
    if type_.startswith(("tuple", "list")):
        return Problem(key, value, "a list")
    return Problem(key, value, "another value")


def _holds_tables(value: object) -> bool:
    """Whether it is a table, or a list with one: too long to be shown."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tables, value))
    return isinstance(value, (dict, BaseModel))


def _model_at(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel] | None:
    """Return the model that the key at ``path`` holds."""
    for part in path:
        if part.isdigit():
            continue
        field = model.model_fields.get(part)
        inner = next(iter(models_in(field.annotation)), None) if field else None
        if inner is None:
            return None
        model = inner
    return model


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models within a type such as ``tuple[Flow, ...]`` or ``Tunnel | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)
