# SPDX-License-Identifier: GPL-2.0-only
"""The compiled module, loaded at first use."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import ModuleType
from typing import Any, Literal, TypeVar

from tunnelcc.errors import TunnelccError

# Congestion controls under names that others give them.
_OTHER_NAMES = {"newreno": "reno"}


#: Which engine runs the models: ``native`` or ``wasm``. Unset: the first of them that is there.
ENGINE = "TUNNELCC_ENGINE"


@cache
def load() -> ModuleType:
    """Return the models: ``tunnelcc._core``, or where that is not, ``tunnelcc.core.wasm``.

    Raises TunnelccError if none can be loaded. The environment variable ``TUNNELCC_CORE`` names the
    native module's file in another build, such as that of ``make dev``.
    """
    engine, file = os.environ.get(ENGINE, ""), os.environ.get("TUNNELCC_CORE")
    if engine not in ("", "native", "wasm"):
        raise TunnelccError(f"{ENGINE} is '{engine}'; expected: native, wasm")
    try:
        if engine == "wasm":
            module = _webassembly()
        else:
            module = _module_in(file) if file else _native(alone=engine == "native")
    except ImportError as error:
        raise TunnelccError(
            f"the compiled module cannot be loaded: {error}; `tunnelcc doctor` shows "
            "details, and `pip install .` in the source tree builds it"
        ) from error
    vars(module)["__getattr__"] = _absent
    return module


def _native(*, alone: bool) -> ModuleType:
    """Return the native module; where it is not installed, the other one. Raises ImportError."""
    try:
        return importlib.import_module("tunnelcc._core")
    except ModuleNotFoundError as error:
        if alone or error.name != "tunnelcc._core":
            raise
        try:
            return _webassembly()
        except ImportError as other:
            raise ImportError(f"{error}, and no WebAssembly: {other}") from None


def _webassembly() -> ModuleType:
    """Raises ImportError if wasmtime or the module is missing."""
    module = importlib.import_module("tunnelcc.core.wasm")
    module.prepare()
    return module


def _absent(name: str) -> Any:
    """Say what is wrong where the module lacks something that this package uses."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise TunnelccError(
        f"the compiled module is of another version than the package: it has no {name!r}; "
        "`make setup` or `pip install .` in the source tree builds it again"
    )


def _module_in(file: str) -> ModuleType:
    if "tunnelcc._core" in sys.modules:  # a second copy would register its types again
        return sys.modules["tunnelcc._core"]
    spec = importlib.util.spec_from_file_location("tunnelcc._core", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["tunnelcc._core"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: What the name of a congestion control begins with that is a file with a module of Linux.
FILE_PREFIX = "linux:"

#: The name of a congestion control that is a file: its path, and a class of it.
FILE = re.compile(
    r"(?:[^\n]*/)?(?P<file>[^/\n]+\.(?:c|cc|cpp|py))(?::(?P<member>[A-Za-z_]\w*))?(?![\w.:])"
)

#: Limit of parameters for which a file states none (models/modules/tunnelcc.h).
NO_LIMIT = 1e15

_Info = TypeVar("_Info")


@dataclass(frozen=True)
class Algorithm:
    """A congestion control of this project."""

    name: str
    summary: str
    source: str
    note: str  # stands beside the name wherever that is shown; "": none


#: A value of a congestion control's parameter: a switch, a count, a number, or one of its choices.
ParameterValue = bool | int | float | str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a congestion control."""

    name: str
    kind: Literal["switch", "count", "number", "choice"]
    default: ParameterValue | None  # None: there is none, the parameter must be given
    unit: str  # "": none, or a ratio
    minimum: float  # of a count or a number
    maximum: float
    doc: str
    source: str
    choices: Sequence[str]  # values of a choice

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is None

    @property
    def default_text(self) -> str:
        """The default as a scenario writes it."""
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        if isinstance(self.default, (int, float)):
            return f"{self.default:g}"
        return self.default or "required"

    @property
    def accepts(self) -> str:
        """The values that it accepts, in short."""
        if self.kind == "switch":
            return "true, false"
        if self.kind == "choice":
            return ", ".join(self.choices)
        if (self.minimum, self.maximum) == (-NO_LIMIT, NO_LIMIT):
            return "any"
        return f"{self.minimum:g} to {self.maximum:g}"


@dataclass(frozen=True)
class Measurement:
    """A measurement of the models: a row of a table of models/probe/experiment-result.h."""

    name: str
    unit: str  # "": text
    meaning: str
    dimensions: Sequence[str]
    since_start: bool  # it counts from the start and not from the end of the warm-up
    is_moment: bool  # a time since the start
    is_count: bool

    @property
    def is_series(self) -> bool:
        """Whether it has a value for each probe time."""
        return "time" in self.dimensions

    @property
    def long_name(self) -> str:
        """What it is, in words."""
        return self.meaning + ", since the start" * (self.since_start and not self.is_series)


@cache
def measurements() -> Mapping[str, Measurement]:
    """Return name → measurement, of all that a run may have."""
    return {
        it.name: Measurement(
            it.name, it.unit, it.meaning, tuple(it.dimensions.split()),
            it.since_start, it.is_moment, it.is_count,
        )
        for it in load().measurements()
    }  # fmt: skip


@cache
def algorithms() -> tuple[Algorithm, ...]:
    """Return the congestion controls of this project."""
    return tuple(_copy(Algorithm, info) for info in load().congestion_algorithms())


@cache
def congestion_controls() -> tuple[str, ...]:
    """Return the names of this project's congestion controls."""
    return tuple(algorithm.name for algorithm in algorithms())


@cache
def ns3_congestion_controls() -> tuple[str, ...]:
    """Return the names of ns-3's congestion controls (``ns3::TcpBbr``)."""
    return tuple(load().ns3_congestion_controls())


def congestion_label(text: str) -> str:
    """Return a congestion control's name and note, as tables and figures show it.

    ``text``: the name, with or without parameters. A file is shown without its folder.
    """
    text = text.removeprefix(FILE_PREFIX)
    if match := FILE.match(text):
        return text[match.start("file") :]
    name = text.partition(" ")[0]
    notes = [algorithm.note for algorithm in algorithms() if algorithm.name == name]
    return f"{text} ({notes[0]})" if notes and notes[0] else text


def congestion_name(name: str) -> str:
    """Return the name used here: ``newreno`` is ``reno``."""
    return _OTHER_NAMES.get(name, name)


@cache
def has_congestion_control(name: str) -> bool:
    """Whether flows can use the congestion control."""
    return bool(load().has_congestion_control(name))


@cache
def congestion_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of a congestion control, including ns-3's attributes."""
    return tuple(parameter(info) for info in load().congestion_parameters(name))


def native_only() -> str:
    """Return what to tell of what this engine lacks: "" if it is the native one, which has all."""
    return str(vars(load()).get("NATIVE_ONLY", ""))


def model_version() -> str:
    """Return the version of the models, such as ``"1"``; with a digest if built from source.

    ``"1+3f2a9c01"``: the digest is of the models' code without comments, so that runs of changed
    models are new. See ``models/experiment/model-version.h``.
    """
    return str(load().model_version())


def build() -> str:
    """Return which engine runs the models, and what it was built with."""
    about = load().build()
    parts = [about.get("engine", "native"), about["compiler"], about["optimised"]]
    if "ns3" in about:
        parts.append(f"ns-3 {about['ns3']}")
    return ", ".join(parts)


@cache
def needs_ecn(name: str) -> bool:
    """Whether a congestion control has its data marked instead of dropped."""
    return bool(load().needs_ecn(name))


def parameter(info: Any) -> Parameter:
    """Return a parameter that the compiled module describes."""
    values = {field.name: getattr(info, field.name) for field in fields(Parameter)}
    return Parameter(**values | {"kind": info.kind.name.lower()})


def _copy(kind: type[_Info], info: object) -> _Info:
    return kind(*(getattr(info, field.name) for field in fields(kind)))  # type: ignore[arg-type]
