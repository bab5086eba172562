# SPDX-License-Identifier: GPL-2.0-only
"""The models as WebAssembly, run by wasmtime: the functions of ``tunnelcc._core``, for all systems.

The results are the same to the bit. What needs ns-3, the files of a capture or code that a compiler
makes is in the native module alone, and says so. A fresh instance of the module does each task, so
none finds what another has left.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import wasmtime

from tunnelcc.errors import TunnelccError

#: Where a wheel has the module, and where a clone has built it.
_FILES = (
    Path(__file__).with_name("tunnelcc.wasm"),
    Path(__file__).parents[2] / "build" / "wasm" / "tunnelcc-package.wasm",
)
__file__ = str(next(filter(Path.is_file, _FILES), _FILES[0]))

#: Said where something is asked for that only the native module has.
NATIVE_ONLY = "only the native module has that, which is for Linux on x86-64"

_WATCH_SECONDS = 0.1  # how soon Ctrl-C ends a run where waiting cannot be interrupted


class ModuleError(RuntimeError):
    """A congestion control that comes as a file failed. None is run here."""


def prepare() -> None:
    """Load the module. Raises ImportError if it is not there."""
    _module()


@cache
def _module() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """Return the compiled module: compiled once, then from wasmtime's cache in the user's folder.

    Raises ImportError if it is not there.
    """
    file = Path(__file__)
    if not file.is_file():
        raise ImportError(f"{file} is not there; `make wasm` builds it")
    try:
        config = wasmtime.Config()
        config.cache = True
        engine = wasmtime.Engine(config)
        return engine, wasmtime.Module.from_file(engine, str(file))
    except wasmtime.WasmtimeError:  # no folder that can be written: it is compiled each time
        engine = wasmtime.Engine()
        return engine, wasmtime.Module.from_file(engine, str(file))


class _Instance:
    """A fresh instance of the module. ``progress`` returns whether a run is to go on."""

    def __init__(self, progress: Callable[[float], bool] = lambda _: True) -> None:
        engine, module = _module()
        self._store = wasmtime.Store(engine)
        self._said: list[bytes] = []
        wasi = wasmtime.WasiConfig()
        wasi.stderr_custom = self._take
        self._store.set_wasi(wasi)
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        kind = wasmtime.FuncType([wasmtime.ValType.f64()], [wasmtime.ValType.i32()])
        linker.define_func("tunnelcc", "progress", kind, lambda now: int(progress(now)))
        exports = linker.instantiate(self._store, module).exports(self._store)
        self._functions: Any = exports
        self._memory: Any = exports["memory"]
        initialize: Any = exports["_initialize"]
        initialize(self._store)

    def _take(self, text: bytes) -> None:
        """Keep what it writes to the standard error."""
        self._said.append(text)

    def call(self, name: str, text: str = "", *arguments: int) -> bytearray:
        """Return the text that an export makes of ``text``. Raises ValueError with its message."""
        data = text.encode()
        try:
            start = self._functions["input"](self._store, len(data))
            self._memory.write(self._store, data, start)
            start = self._functions[name](self._store, *arguments) & 0xFFFFFFFF
            size = self._functions["outputSize"](self._store) & 0xFFFFFFFF
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            said = b"".join(self._said).decode(errors="replace").strip()
            if said:
                raise ValueError(said) from None
            if self._memory.data_len(self._store) > 0xF0000000:
                raise MemoryError from None
            raise RuntimeError(str(error)) from None
        found: bytearray = self._memory.read(self._store, start, start + size)
        return found


# Tables -----------------------------------------------------------------------------------------


@cache
def _tables() -> Any:
    text = _Instance().call("describe").decode()
    return json.loads(text, object_hook=lambda table: SimpleNamespace(**table))


@cache
def _algorithms() -> Mapping[str, Any]:
    return {it.name: it for it in _tables().algorithms}


def measurements() -> list[Any]:
    """Return every measurement that a run may have."""
    return list(_tables().measurements)


def congestion_algorithms() -> list[Any]:
    """Return the congestion controls of this project."""
    return list(_tables().algorithms)


def ns3_congestion_controls() -> list[str]:
    """Return none: ns-3 is not here."""
    return []


def has_congestion_control(name: str) -> bool:
    """Whether flows can use it."""
    return name in _algorithms()


def needs_ecn(name: str) -> bool:
    """Whether a congestion control has its data marked instead of dropped."""
    return bool(_algorithms()[name].needs_ecn)


def congestion_parameters(name: str) -> list[Any]:
    """Return the parameters of a congestion control."""
    return list(_algorithms()[name].parameters)


def model_version() -> str:
    """Return the version of the models: the native module's."""
    return str(_tables().model_version)


def build() -> dict[str, str]:
    """Return what the module was built with, and what runs it."""
    return {
        "compiler": _tables().compiler,
        "optimised": "optimised",
        "engine": f"WebAssembly, wasmtime {version('wasmtime')}",
    }


# Specifications ---------------------------------------------------------------------------------


@cache
def specification() -> dict[str, list[Any]]:
    """Return the members of each struct in a specification."""
    text = _Instance().call("specification").decode()
    structs: SimpleNamespace = json.loads(text, object_hook=lambda it: SimpleNamespace(**it))
    return vars(structs)


def spec_members() -> dict[str, list[str]]:
    """Return the names of the members of each struct in a specification."""
    return {name: [it.name for it in members] for name, members in specification().items()}


def complete_spec(text: str) -> str:
    """Return a specification with all its members. Raises ValueError."""
    return _Instance().call("completeSpec", text).decode()


def layer_wire_bytes(layers: str, message_bytes: int, already_sent: int = 0) -> list[int]:
    """Return the sizes of the writes to the carrier for a message. Raises ValueError."""
    text = _Instance().call("layerWireBytes", layers, message_bytes, already_sent)
    writes: list[int] = json.loads(text)
    return writes


# Runs -------------------------------------------------------------------------------------------


def run(
    spec: str,
    progress: Callable[[float], object] | None = None,
    capture: object = None,
    classes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run a specification: name → array. What ``progress`` raises ends it, and is raised.

    Raises ValueError for a specification that the models refuse.
    """
    return _unpacked(_in_thread(spec, progress or (lambda _: None)))


def _in_thread(spec: str, progress: Callable[[float], object]) -> bytearray:
    """Return the packed result of a run, which a thread of its own does.

    Python handles signals between two of its own instructions in the main thread, wherever those
    are: also in the few with which a call from compiled code begins, where what the handler raises
    is lost. So the main thread waits, and what is raised there ends the run.
    """
    done, now, over = threading.Event(), [-1.0], [False]
    outcome: list[bytearray | BaseException] = []
    news = threading.Condition()

    def tell(seconds: float) -> bool:
        with news:
            now[0] = seconds
            news.notify()
        return not over[0]

    def work() -> None:
        try:
            outcome.append(_Instance(tell).call("measure", spec))
        except BaseException as error:
            outcome.append(error)
        done.set()
        with news:
            news.notify()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    told = -1.0
    try:
        while not done.is_set():
            with news:
                if now[0] == told and not done.is_set():
                    news.wait(_WATCH_SECONDS)
                seconds = now[0]
            if seconds != told:
                told = seconds
                progress(seconds)
    except BaseException:
        over[0] = True
        worker.join()
        raise
    worker.join()
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found


def _unpacked(data: bytearray) -> dict[str, Any]:
    import numpy as np

    end = data.index(b"\n")
    head = json.loads(data[:end])
    values = np.frombuffer(data[end + 1 :], dtype="<f8").astype(np.float64, copy=False)
    found: dict[str, Any] = {}
    at = 0
    for name, shape in head.pop("numbers"):
        size = math.prod(shape)
        found[name] = values[at : at + size].reshape(shape)
        at += size
    for name, shape, texts in head.pop("texts"):
        found[name] = _nested(texts, shape)
    found.update(head)
    return found


def _nested(texts: list[str], shape: list[int]) -> list[Any]:
    if len(shape) == 1:
        return texts
    width = shape[1]
    return [texts[i * width : (i + 1) * width] for i in range(shape[0])]


# What the native module alone has -------------------------------------------------------------


def Capture(spec: str) -> Any:  # noqa: N802
    """Raise TunnelccError: no packets are written here."""
    raise TunnelccError(f"captures of packets and logs of connections: {NATIVE_ONLY}")
