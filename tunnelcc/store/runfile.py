# SPDX-License-Identifier: GPL-2.0-only
"""The file of one run: its metrics, and all measurements, or why it failed.

It has text and the measurements::

    tunnelcc run 3                   name and version of the format
    <blake2b, hexadecimal> <bytes>   of the head, and how many bytes follow it
    {"experiment": …, …}             the head, JSON: the experiment's keys, ``metrics`` or the error
    {"time": …, …}                   JSON: the measurements
    <float64, little-endian> …       the arrays, in the order in which that JSON refers to them

The last two are absent if the run failed, or if its series were not wanted. ``body`` in the head is
their checksum. Among measurements, ``{"shape": [2, 3]}`` stands for the next six numbers. ``code``
is the version of the metrics; ``tunnelcc``, ``models`` and ``entries`` are those of the package,
the models and the tunnels' entries. ``files`` has the SHA-256 of the files that the experiment
names (tunnels, profiles), because their contents are part of it. ``directory`` is the folder of
relative file names. Read from another folder, the experiment has full names, unless the files were
copied too. Equal runs give equal files.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tunnelcc import system
from tunnelcc.errors import ConfigError, RunError, TunnelccError
from tunnelcc.network.resolved import OfAllSeeds
from tunnelcc.results import provenance
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import MAX_BYTES
from tunnelcc.store.summary import is_summary, summarise, summary_version

FORMAT = 3
#: Bytes of a file.
LONGEST = 1 << 31
#: The format before, without metrics. It is still read.
_OLD = 2
_MAGIC = b"tunnelcc run "
_DIGEST_BYTES = 16
# Where the first lines end, at the latest.
_MOST_BEFORE_HEAD = 200
# A head is read at once if it is no longer than this. Experiments have at most MAX_BYTES.
_HEAD_BYTES, _LONGEST_HEAD = 16_384, 4 * MAX_BYTES


class DamagedFileError(TunnelccError):
    """A file of the store is damaged, or cannot be used any more."""


class OlderFileError(DamagedFileError):
    """A file of a version whose runs cannot be read any more. It is whole."""


class NoSeriesError(TunnelccError):
    """The file of a run has its metrics alone."""


@dataclass(frozen=True)
class Row:
    """One run: its error ("": none), its metrics, and the versions of its tunnels' entries.

    ``metrics``: name → number, or list with one value per flow. A failed run has none.
    ``entries``: such as ``gost-relay-wss 0.1.0, wireguard 0.1.0``.
    """

    id: str
    error: str
    metrics: dict[str, Any] = field(default_factory=dict)
    entries: str = ""


def encode(experiment: Experiment, outcome: Result | RunError, *, series: bool = True) -> bytes:
    """Return the contents of the file of a run of ``experiment``.

    ``series``: with all measurements, and not only its metrics.
    """
    head = _head_of(experiment)
    body = b""
    if isinstance(outcome, Result):
        head["code"] = summary_version()
        head |= {it: outcome.provenance[it] for it in ("tunnelcc", "models", "entries")}
        head["metrics"] = summarise(outcome)
        if series:
            body = _body(outcome)
            head["body"] = _digest(body)
    else:
        head |= {**provenance.here(), "error": str(outcome)}
    text = json.dumps(head, separators=(",", ":"), check_circular=False).encode()
    return b"%s%d\n%s %d\n%s\n%s" % (_MAGIC, FORMAT, _digest(text).encode(), len(body), text, body)


_heads: OfAllSeeds[dict[str, Any]] = OfAllSeeds()


def _head_of(experiment: Experiment) -> dict[str, Any]:
    """Return what a file's head has of an experiment."""
    head = _heads.of(experiment.resolved, lambda: _new_head_of(experiment))
    return {**head, "experiment": {**head["experiment"], "seed": experiment.seed}}


def _new_head_of(experiment: Experiment) -> dict[str, Any]:
    head: dict[str, Any] = {"experiment": experiment.table()}
    named = [*_files(head)]
    if files := {name: _sha256(name) for name, is_trace in named if not is_trace}:
        head["files"] = files
    if any(not Path(name).is_absolute() for name, _ in named):
        head["directory"] = str(Path.cwd())
    return head


def _body(result: Result) -> bytes:
    arrays: list[np.ndarray[Any, Any]] = []

    def to_json(value: Any) -> Any:
        arrays.append(value)
        return {"shape": value.shape}

    text = json.dumps(result.measured, separators=(",", ":"), check_circular=False, default=to_json)
    numbers = (values.astype("<f8", copy=False).tobytes() for values in arrays)
    return b"\n".join((text.encode(), b"".join(numbers)))


def read_row(id_: str, file: IO[bytes]) -> Row:
    """Read the row of a run from its file, of which this is mostly the head.

    Raises DamagedFileError, OSError.
    """
    data = file.read(_HEAD_BYTES)
    if not data.startswith(b"%s%d\n" % (_MAGIC, FORMAT)):
        if not data.startswith(_MAGIC):
            raise DamagedFileError("it is not a run file")
        file.seek(0)
        return row_of_all(id_, system.rest(file, LONGEST))
    digest, length, start = _before_head(data)
    end = data.find(b"\n", start)
    if end < 0:
        data += file.readline(_LONGEST_HEAD)
        end = data.find(b"\n", start)
    head = _head(data[start:end] if end >= 0 else b"", digest)
    if file.seek(0, 2) != end + 1 + length:
        raise DamagedFileError("it is not complete, or too long")
    if "error" in head:
        return Row(id_, _error(head))
    if head.get("code") != summary_version() and "body" in head:
        file.seek(0)  # the metrics mean something else now, and can be computed
        return row_of_all(id_, system.rest(file, LONGEST))
    found: dict[str, Any] = head.get("metrics", {})
    if not found or not is_summary(found):
        raise DamagedFileError("it has no metrics")
    return Row(id_, "", found, _listed(head.get("entries")))


def _error(head: dict[str, Any]) -> str:
    if not isinstance(error := head["error"], str):
        raise DamagedFileError("it does not tell why the run failed")
    return error


def _listed(entries: Any) -> str:
    """Return name and version of each entry; "" of runs of 0.2.1 and before."""
    told = entries.items() if isinstance(entries, dict) else ()
    return ", ".join(f"{name} {version}" for name, version in told)


def row_of_all(id_: str, data: bytes) -> Row:
    """Return the row of a file's contents, with metrics computed from the measurements.

    Raises DamagedFileError, NoSeriesError.
    """
    run = decode(data)
    if isinstance(run, RunError):
        return Row(id_, str(run))
    try:
        return Row(id_, "", summarise(run), _listed(run.entries))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A run of other models need not have measured what this version's metrics read.
        raise DamagedFileError(f"it has no metrics: {error!r}") from None


def decode(data: bytes) -> Result | RunError:
    """Return the run of a file's contents. Raises DamagedFileError, NoSeriesError."""
    head, body = _parts(data)
    if "error" in head:
        return RunError(_error(head))
    found = _experiment(head)
    if not body and "metrics" in head:
        raise NoSeriesError("it was stored without its series")
    text, _, numbers = body.partition(b"\n")
    try:
        table = head["measured"] if "measured" in head else json.loads(text)
        result = Result(found, _measured(table, np.frombuffer(numbers, "<f8")))
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedFileError(f"it lacks measurements of a run: {error!r}") from None
    versions = {it: head.get(it) for it in ("tunnelcc", "models")}  # 0.2.1 and before: none
    result.provenance |= {**versions, "entries": head.get("entries", {})}
    return result


def versions(data: bytes) -> dict[str, str]:
    """Return the versions of package and models that made a run; of 0.2.1 and before, none.

    Raises DamagedFileError.
    """
    head, _ = _parts(data)
    return {it: head[it] for it in ("tunnelcc", "models") if it in head}


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


def _files(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield the names of files in an experiment's table, and which are traces, hashed there."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict) and _is_trace(item):
            yield item["file"], True
        elif isinstance(item, (dict, list)):
            yield from _files(item)
        elif isinstance(item, str) and item.endswith(".toml"):
            yield item, False


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
        return hashlib.sha256(system.read(Path(file), MAX_BYTES)).hexdigest()
    except OSError:
        return ""


def _parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the head of a file, and its body. Raises DamagedFileError."""
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_MAGIC):
        raise DamagedFileError("it is not a run file")
    version = first.removeprefix(_MAGIC)
    if version == b"%d" % _OLD:
        digest, _, rest = rest.partition(b"\n")
        if digest != _digest(rest).encode():
            raise DamagedFileError("its checksum is wrong")
        text, _, numbers = rest.partition(b"\n")
        return _table(text), b"\n" + numbers
    checksum, length, start = _before_head(data)
    text, _, body = data[start:].partition(b"\n")
    head = _head(text, checksum)
    if len(body) != length or head.get("body", _digest(b"")) != _digest(body):
        raise DamagedFileError("its checksum is wrong")
    return head, body


def _before_head(data: bytes) -> tuple[str, int, int]:
    """Return the checksum of the head, the bytes of the body, and where the head begins."""
    first, _, rest = data[:_MOST_BEFORE_HEAD].partition(b"\n")
    second, end, _ = rest.partition(b"\n")
    version = first.removeprefix(_MAGIC)
    number = int(version) if version.isdigit() and len(version) < 10 else 0
    if number > FORMAT or (version.isdigit() and not number):
        raise DamagedFileError(f"it has format {version.decode()[:20]} of a newer tunnelcc")
    if 0 < number < _OLD:
        raise OlderFileError(
            "an older tunnelcc wrote it, in which measurements had other names; run it again"
        )
    digest, _, length = second.partition(b" ")
    if number != FORMAT or not end or not length.isdigit():
        raise DamagedFileError("its checksum is wrong")
    return digest.decode(errors="replace"), int(length), len(first) + len(second) + 2


def _head(text: bytes, checksum: str) -> dict[str, Any]:
    if checksum != _digest(text):
        raise DamagedFileError("its checksum is wrong")
    return _table(text)


def _table(text: bytes) -> dict[str, Any]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise DamagedFileError("it is not a run file")
    return table


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


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
