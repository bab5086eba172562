# SPDX-License-Identifier: GPL-2.0-only
"""Groups of keys, and their errors.

pydantic checks the structure. Its errors become ConfigErrors with the key's path, the value, what
was expected and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from typing_extensions import dataclass_transform

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.schema.kinds import NAME, Kind, Relaxed
from tunnelcc.schema.typed import Field
from tunnelcc.schema.units import UnitError

if TYPE_CHECKING:
    from typing_extensions import Self


_Declared = TypeVar("_Declared")

# What validators see of Model.parse().
_PARSED = "parsed"


def is_parsed(info: ValidationInfo) -> bool:
    """Whether a validator reads data of Model.parse(), not what Python code wrote."""
    return info.context == _PARSED


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Model(BaseModel):
    """A group of keys. It is immutable, and an unknown key is an error.

    If a key is a Python keyword (``from``), its attribute and its argument end in an underscore
    (``from_``).
    """

    # A model that only others hold needs no validator of its own: most are never built. Their
    # files do without `from __future__ import annotations`: pydantic would compile each one.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    #: Whether lists of keys show it as one, whatever keys it has.
    IS_ONE_KEY: ClassVar[bool] = False

    def __init__(self, *values: Any, **data: Any) -> None:
        if values:
            name = type(self).__name__
            raise ConfigError(
                Problem(name, values[0], f"values with their keys: {name}(key=value)")
            )
        for name, field in type(self).model_fields.items():
            key = field.validation_alias
            if isinstance(key, str) and name in data and key not in data:
                data[key] = data.pop(name)
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise config_error(type(self), error) from None

    # Without this mark pydantic builds nested models through __init__, and their errors would
    # lose the path of the key.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            expected = "no assignment: Experiment.with_({key: value}) returns a changed copy"
            raise ConfigError(Problem(name, value, expected))
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changed keys, and without what was derived from the old ones."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(self).model_fields.keys() if update else ():
            del copy.__dict__[name]  # of a cached_property
        return copy

    @classmethod
    def parse(cls, data: object) -> Any:
        """Return the model of ``data`` (a table). Raises ConfigError.

        Unlike the arguments of a constructor, ``data`` may be words of somebody else: see
        is_parsed().
        """
        try:
            return cls.model_validate(data, context=_PARSED)
        except ValidationError as error:
            raise config_error(cls, error) from None

    @classmethod
    def default(cls) -> Self:
        """Return the model with all its defaults. They need no check, and so no validator."""
        return cls.model_construct()

    def table(self) -> dict[str, Any]:
        """Return the keys that are set or have defaults, as in TOML."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of ``model`` by their keys."""
    return {
        str(field.validation_alias or name): field for name, field in model.model_fields.items()
    }


def by_name(table: Any) -> dict[str, Any]:
    """Return a table of models by name unchanged. Raises ConfigError for an invalid name."""
    if not isinstance(table, dict):
        raise ConfigError(Problem("", table, "a table with one entry for each name"))
    for name in table:
        try:
            NAME.parse(name)
        except UnitError as error:
            raise ConfigError(Problem("", name, error.expected)) from None
    return table


def config_error(model: type[BaseModel], error: ValidationError) -> ConfigError:
    """Return pydantic's errors as Problems."""
    problems: list[Problem] = []
    for details in error.errors():
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            path, _ = _at(model, details["loc"])
            problems += [problem.below(".".join(path)) for problem in cause.problems]
            continue
        if details["type"] == "too_short" and details["input"]:
            continue  # elements that were refused count as missing, and are told of themselves
        problems.append(_problem(model, details, cause))
    return ConfigError(*problems)


def _problem(model: type[BaseModel], details: ErrorDetails, cause: object) -> Problem:
    (path, models), value, type_ = _at(model, details["loc"]), details["input"], details["type"]
    key = ".".join(path) or "experiment"
    if isinstance(cause, UnitError):
        return Problem(key, value, cause.expected, cause.hint)
    if type_ == "extra_forbidden":
        _, parents = _at(model, details["loc"][:-1])
        names = _names(parents or [model])
        expected = "one of the keys " + ", ".join(names)
        known = (*names, *_keys_below([model])) if len(path) == 1 else names
        hint = f"unknown key, {nearest(path[-1], known)}".rstrip(", ")
        return Problem(key, MISSING if _holds_tables(value) else value, expected, hint)
    if type_ in ("union_tag_invalid", "union_tag_not_found"):
        tags = [tag_of(it)[1] for it in models]
        tag = tag_of(models[0])[0]
        given = value.get(tag, MISSING) if isinstance(value, dict) else value
        hint = nearest(given, tags) if isinstance(given, str) else ""
        expected = "one of " + ", ".join(map(repr, tags))
        return Problem(f"{key}.{tag}", given, expected, hint)
    if type_ == "missing":
        return Problem(key, MISSING, "a value")
    if type_ in ("model_type", "dict_type", "model_attributes_type"):
        names = _names(models or [model])
        return Problem(key, value, "a table with the keys " + ", ".join(names))
    if type_ == "too_short":
        return Problem(key, value, "a list with at least one item")
    if type_.startswith(("tuple", "list")):
        return Problem(key, value, "a list")
    return Problem(key, value, "a different value")


def _holds_tables(value: object) -> bool:
    """Whether ``value`` is or contains a table, and is too long to show."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tables, value))
    return isinstance(value, (dict, BaseModel))


def _at(
    model: type[BaseModel], location: Sequence[str | int]
) -> tuple[list[str], list[type[BaseModel]]]:
    """Return the path of the key at pydantic's ``location``, and the models that it may hold.

    In a union, pydantic's location also names the selected model, which is not part of a key.
    """
    path: list[str] = []
    models = [model]
    is_table = False
    for part in location:
        if isinstance(part, int) or is_table:
            path.append(str(part))
            is_table = False
        elif len(models) > 1 and (meant := [it for it in models if tag_of(it)[1] == part]):
            models = meant
        else:
            path.append(part)
            field = fields_of(models[0]).get(part) if models else None
            models = list(models_in(field.annotation)) if field else []
            is_table = field is not None and get_origin(field.annotation) is dict
    return path, models


def _names(models: Sequence[type[BaseModel]]) -> list[str]:
    return list(dict.fromkeys(key for model in models for key in fields_of(model)))


def _keys_below(models: Sequence[type[BaseModel]]) -> Iterator[str]:
    """Yield the dotted keys in the tables of ``models``, without those that users name."""
    for model in models:
        for name, field in fields_of(model).items():
            inner = list(models_in(field.annotation))
            if len(inner) == 1 and get_origin(field.annotation) is not dict:
                yield from (f"{name}.{key}" for key in (*fields_of(inner[0]), *_keys_below(inner)))


def is_table(field: FieldInfo) -> bool:
    """Whether ``field`` holds models under names that the user chooses."""
    annotation = field.annotation
    return get_origin(annotation) is dict and next(models_in(annotation), None) is not None


def kind_of(field: FieldInfo) -> Kind | None:
    """Return the kind of the field's value, if it has one."""
    return next(_declared(field, Kind), None)


def relaxed_of(field: FieldInfo) -> Relaxed | None:
    """Return how the field's value is relaxed; None: it is no limit."""
    return next(_declared(field, Relaxed), None)


def _declared(field: FieldInfo, wanted: type[_Declared]) -> Iterator[_Declared]:
    yield from (item for item in field.metadata if isinstance(item, wanted))
    yield from _in(field.annotation, wanted)


def _in(annotation: object, wanted: type[_Declared]) -> Iterator[_Declared]:
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, wanted):
            yield metadata
    for argument in get_args(annotation):
        yield from _in(argument, wanted)


def tag_of(model: type[BaseModel]) -> tuple[str, str]:
    """Return the key that selects this model in a union, and its value."""
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is Literal:
            return name, get_args(field.annotation)[0]
    raise AssertionError(f"{model.__name__} has no key that selects it")


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models within a type such as ``tuple[Flow, ...]`` or ``Tunnel | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)
