# SPDX-License-Identifier: GPL-2.0-only
"""The file of one run: all measurements, or why the run failed.

It has four lines of text and the measurements::

    tunnelcc run 2                   name and version of the format
    <blake2b, 128 bits, hexadecimal>  of all that follows this line
    {"experiment": …, …}             JSON: the experiment's keys and ``measured``, or the error
    <float64, little-endian> …       the arrays, in the order in which the JSON refers to them

In ``measured`` each measurement has its name, and ``{"shape": [2, 3]}`` stands for the next six
numbers. ``files`` has the SHA-256 of the files
that the experiment names (tunnels, profiles), because their contents are part of it. ``directory``
is the folder of relative file names. Read from another folder, the experiment has full names,
unless the files were copied too. Equal runs give equal files.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tunnelcc.config import Experiment
from tunnelcc.errors import ConfigError, RunError, TunnelccError
from tunnelcc.simulation.result import Result

FORMAT = 2
_MAGIC = b"tunnelcc run "
_DIGEST_BYTES = 16


class DamagedFileError(TunnelccError):
    """A file of the store is damaged, or cannot be used any more."""


def encode(experiment: Experiment, outcome: Result | RunError) -> bytes:
    """Return the contents of the file of a run of ``experiment``."""
    arrays: list[np.ndarray[Any, Any]] = []
    table: dict[str, Any] = {"experiment": experiment.table()}
    if files := {name: _sha256(name) for name in _files(table)}:
        table["files"] = files
    if any(not Path(name).is_absolute() for name in (*files, *_traces(table))):
        table["directory"] = str(Path.cwd())
    if isinstance(outcome, Result):
        table["measured"] = outcome.measured
    else:
        table["error"] = str(outcome)

    def to_json(value: Any) -> Any:
        arrays.append(value)
        return {"shape": value.shape}

    text = json.dumps(table, separators=(",", ":"), check_circular=False, default=to_json).encode()
    numbers = (values.astype("<f8", copy=False).tobytes() for values in arrays)
    body = b"\n".join((text, b"".join(numbers)))
    return b"%s%d\n%s\n%s" % (_MAGIC, FORMAT, _digest(body), body)


def decode(data: bytes) -> Result | RunError:
    """Return the run of a file's contents. Raises DamagedFileError."""
    table, numbers = _parts(data)
    if "error" in table:
        return RunError(table["error"])
    found = _experiment(table)
    try:
        return Result(found, _measured(table["measured"], np.frombuffer(numbers, "<f8")))
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedFileError(f"it lacks measurements of a run: {error!r}") from None


def experiment(data: bytes) -> Experiment:
    """Return the experiment of a file's contents. Raises DamagedFileError."""
    return _experiment(_parts(data)[0])


def _experiment(table: dict[str, Any]) -> Experiment:
    """Return the experiment, unless this version or one of its files has changed it."""
    try:
        directory = table.get("directory", "")
        hashes = table.get("files", {})
        files = {name: _locate(name, sha256, directory) for name, sha256 in hashes.items()}
        for name, sha256 in hashes.items():
            if _sha256(files[name]) != sha256:
                raise DamagedFileError(f"{files[name]} has changed since the run used it")
        found: Experiment = Experiment.parse(_located(table["experiment"], files, directory))
    except ConfigError as error:
        problems = "; ".join(map(str, error.problems))
        raise DamagedFileError(f"its experiment cannot be read: {problems}") from None
    except KeyError:
        raise DamagedFileError("it has no experiment") from None
    return found


def _files(value: Any) -> Iterator[str]:
    """Yield the names of files in an experiment's table."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from _files(item)
        elif isinstance(item, str) and item.endswith(".toml"):
            yield item


def _traces(value: Any) -> Iterator[str]:
    """Yield the names of traces in an experiment's table."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict) and _is_trace(item):
            yield item["file"]
        elif isinstance(item, (dict, list)):
            yield from _traces(item)


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"file", "sha256"}


def _locate(name: str, sha256: str, directory: str) -> str:
    """Return a file's name as seen from here, if needed with ``directory``."""
    return name if _sha256(name) == sha256 else str(Path(directory) / name)


def _located(value: Any, files: dict[str, str], directory: str) -> Any:
    """Return an experiment's table with file names as seen from here."""
    if _is_trace(value):
        return {**value, "file": _locate(value["file"], value["sha256"], directory)}
    if isinstance(value, dict):
        return {key: _located(item, files, directory) for key, item in value.items()}
    if isinstance(value, list):
        return [_located(item, files, directory) for item in value]
    return files.get(value, value) if isinstance(value, str) else value


def _sha256(file: str) -> str:
    """Return the hash of a file's contents, or "" if it cannot be read."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def _parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    first, _, rest = data.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if not first.startswith(_MAGIC):
        raise DamagedFileError("it is not a run file")
    version = first.removeprefix(_MAGIC)
    if version.isdigit() and len(version) < 10 and int(version) > FORMAT:
        raise DamagedFileError(
            f"it has format {int(version)} of a newer tunnelcc; this version reads formats "
            f"up to {FORMAT}"
        )
    if version == b"1":
        raise DamagedFileError(
            "an older tunnelcc wrote it, whose measurements had other names; run it again"
        )
    if version != b"%d" % FORMAT or digest != _digest(body):
        raise DamagedFileError("its checksum is wrong")
    text, _, numbers = body.partition(b"\n")
    table = json.loads(text)
    if not isinstance(table, dict):
        raise DamagedFileError("it is not a run file")
    return table, numbers


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest().encode()


def _measured(table: dict[str, Any], numbers: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return name → array, or list of what is no number."""
    found, first = {}, 0
    for name, value in table.items():
        if not isinstance(value, dict):
            found[name] = value
            continue
        last = first + math.prod(value["shape"])
        found[name] = numbers[first:last].reshape(value["shape"])
        first = last
    return found
