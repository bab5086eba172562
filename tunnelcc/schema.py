# SPDX-License-Identifier: GPL-2.0-only
"""How one key of an experiment is read, checked, written and explained.

Each key's type is an ``Annotated`` of a ``Kind``: text or number in, SI value stored, text out,
with a sentence on what is expected. pydantic does the structure; its complaints become
ConfigErrors that name the key's path, the value, what was expected and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from tunnelcc import units
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.units import UnitError


@dataclass(frozen=True)
class Kind:
    """A key's quantity: ``parse`` raises UnitError, ``format`` writes what ``parse`` reads.

    ``unit``: of the stored value; "": it has none, or it depends on the value.
    """

    parse: Callable[[Any], Any]
    format: Callable[[Any], Any]
    expected: str
    unit: str = ""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(self.format),
        )


def quantity(
    parse: Callable[[object], Any],
    format_: Callable[[Any], str],
    expected: str,
    least: float = 0,
    most: float = float("inf"),
    at_zero: bool = False,
    unit: str = "",
) -> Kind:
    """Return the Kind of a quantity with units between ``least`` and ``most`` (or 0)."""
    low = "0" if at_zero and not least else format_(least)
    bounds = f"from {low} to {format_(most)}"
    if least and at_zero:
        bounds = f"0, or {bounds}"
    expected = f"{expected}, {bounds}"

    def parse_bounded(value: object) -> Any:
        try:
            number = parse(value)
        except UnitError as error:
            raise UnitError(expected, error.hint) from None
        if not (least <= number <= most or (at_zero and number == 0)):
            raise UnitError(expected)
        return number

    return Kind(parse_bounded, format_, expected, unit)


def whole(least: int, most: int) -> Kind:
    """Return the Kind of whole numbers from ``least`` to ``most``."""
    expected = f"a whole number from {least} to {most}"

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise UnitError(expected)
        return value

    return Kind(parse, int, expected, "1")


def number(least: float, most: float, above: bool = False, unit: str = "") -> Kind:
    """Return the Kind of numbers from (``above``: more than) ``least`` to ``most``."""
    expected = f"a number {'above' if above else 'from'} {least:g} to {most:g}{unit}"

    def parse(value: object) -> float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or not least <= value <= most or (above and value == least):  # type: ignore[operator]
            raise UnitError(expected)
        return float(value)  # type: ignore[arg-type]

    return Kind(parse, float, expected, unit.strip() or "1")


def choice(*names: str) -> Kind:
    """Return the Kind of one name out of several."""
    expected = "one of " + ", ".join(repr(name) for name in names)

    def parse(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        raise UnitError(expected, nearest(value, names) if isinstance(value, str) else "")

    return Kind(parse, str, expected)


def choice_of(*values: int) -> Kind:
    """Return the Kind of one whole number out of several."""
    expected = "one of " + ", ".join(map(str, values))

    def parse(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value in values:
            return value
        raise UnitError(expected)

    return Kind(parse, int, expected)


def _parse_switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise UnitError(SWITCH.expected)


def _parse_text(value: object) -> str:
    if isinstance(value, str) and len(value) <= 200 and value.isprintable():
        return value
    raise UnitError(TEXT.expected)


def _parse_prose(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise UnitError(PROSE.expected)


def _parse_buffer(value: object) -> units.Buffer:
    buffer = units.parse_buffer(value)
    sizes = (buffer.bdp, buffer.packets, buffer.bytes)
    size = next(size for size in sizes if size is not None)
    if not 0 < size <= 2**40 or (buffer.bdp or 0) > 1000:
        raise UnitError(BUFFER.expected)
    return buffer


def _parse_rate_steps(value: object) -> tuple[tuple[float, float], ...]:
    steps = value if isinstance(value, (list, tuple)) else [value]
    parsed: list[tuple[float, float]] = []
    for step in steps:
        if not isinstance(step, (list, tuple)) or len(step) != 2:
            raise UnitError(RATE_STEPS.expected)
        try:
            moment, bits = units.parse_time(step[0]), units.parse_rate(step[1])
        except UnitError as error:
            raise UnitError(RATE_STEPS.expected, error.hint) from None
        latest = parsed[-1][0] if parsed else 0.0
        if not (latest < moment <= 100_000 and 1e3 <= bits <= 400e9):
            raise UnitError(RATE_STEPS.expected)
        parsed.append((moment, bits))
    return tuple(parsed)


def _format_rate_steps(steps: Sequence[tuple[float, float]]) -> list[list[str]]:
    return [[units.format_time(moment), units.format_rate(bits)] for moment, bits in steps]


def _parse_carriers(value: object) -> str | int:
    if isinstance(value, str) and value in ("all", "user", "flow"):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096:
        return value
    hint = nearest(value, ("all", "user", "flow")) if isinstance(value, str) else ""
    raise UnitError(CARRIERS.expected, hint)


CARRIERS = Kind(
    _parse_carriers, lambda value: value, "'all', 'user', 'flow' or a whole number from 1 to 4096"
)
RATE_STEPS = Kind(
    _parse_rate_steps,
    _format_rate_steps,
    "a list of [time, rate] such as [['10s', '20Mbps'], ['20s', '5Mbps']], "
    "times in rising order from more than 0s, rates from 1kbps to 400Gbps",
)
SWITCH = Kind(_parse_switch, bool, "true or false")
TEXT = Kind(_parse_text, str, "one line of text")
PROSE = Kind(_parse_prose, str, "some text")
BUFFER = Kind(_parse_buffer, str, f"{units.BUFFER_EXPECTED}, more than 0, at most 1000bdp or 1TiB")
PROBABILITY = Kind(
    units.parse_probability, units.format_probability, units.PROBABILITY_EXPECTED, "1"
)
SHARE = Kind(units.parse_share, units.format_probability, f"{units.SHARE_EXPECTED}, from 0")


def _parse_positive_share(value: object) -> float:
    try:
        share = units.parse_share(value)
    except UnitError as error:
        raise UnitError(POSITIVE_SHARE.expected, error.hint) from None
    if share == 0:
        raise UnitError(POSITIVE_SHARE.expected)
    return share


POSITIVE_SHARE = Kind(
    _parse_positive_share, units.format_probability, f"{units.SHARE_EXPECTED}, more than 0"
)


def rate(least: float, most: float) -> Kind:
    """Return the Kind of rates, in bit/s."""
    return quantity(
        units.parse_rate, units.format_rate, units.RATE_EXPECTED, least, most, unit="bit/s"
    )


def time(least: float, most: float, at_zero: bool = False) -> Kind:
    """Return the Kind of times, in seconds. ``at_zero``: 0 is allowed besides."""
    return quantity(
        units.parse_time, units.format_time, units.TIME_EXPECTED, least, most, at_zero, "s"
    )


def size(least: int, most: int, at_zero: bool = False) -> Kind:
    """Return the Kind of sizes, in bytes. ``at_zero``: 0 is allowed besides."""
    return quantity(
        units.parse_size, lambda value: units.format_size(int(value)), units.SIZE_EXPECTED,
        least, most, at_zero, "byte",
    )  # fmt: skip


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
