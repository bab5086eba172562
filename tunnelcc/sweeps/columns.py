# SPDX-License-Identifier: GPL-2.0-only
"""All metrics of a large sweep in one Parquet file, a column for each: ``sweeps/NAME.parquet``.

It is a copy of what the files of the runs have, to open 100,000 runs in a second and to read them
with other programs (DuckDB, pandas, Polars). Columns are the axes, ``seed``, ``run``, ``error`` and
the metrics in SI units; those of flows have a column for each flow (``flow_goodput.0``). A file
that is lost, or older than a run, is made anew.

Parquet, because these programs read it. fastparquet, because it takes 14 MB, and pyarrow ten times
as much.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import system
from tunnelcc.output import files

#: Sweeps with fewer runs are read as fast from the files of the runs.
LEAST_RUNS = 1000
# A sweep with more flows in a run has no such file: it would have thousands of columns.
_MOST_FLOWS = 64
_KEY = "tunnelcc"
_DIGEST_BYTES = 16
_NO_DIGEST = "0" * 2 * _DIGEST_BYTES

#: Dimensions, values, attributes.
Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]
Variables = dict[str, Variable]


def key_of(*parts: str) -> str:
    """Return a text that is another one if any of ``parts`` is."""
    return _digest("\n".join(parts).encode()).decode()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest().encode()


def table(data: Variables, along: Variables) -> dict[str, NDArray[Any]]:
    """Return the columns of a sweep's results, one row for each run, in their order."""
    dims, runs, _ = data["run"]
    columns: dict[str, NDArray[Any]] = {}
    for name, (of, values, _) in along.items():
        if set(of) <= set(dims):
            shape = [len(values) if dim in of else 1 for dim in dims]
            columns[name] = np.broadcast_to(values.reshape(shape), runs.shape).ravel()
    for name, (of, values, _) in data.items():
        if of == dims:
            columns[name] = values.ravel()
        elif of == (*dims, "flow"):
            for flow in range(values.shape[-1]):
                columns[f"{name}.{flow}"] = values[..., flow].ravel()
    return columns


def write(file: Path, columns: Mapping[str, NDArray[Any]], key: str = "") -> None:
    """Write columns to a Parquet file. Raises OSError.

    Behind the ``key`` in its metadata stands a checksum of all else, which Parquet lacks.
    """
    import fastparquet  # type: ignore[import-untyped]
    import pandas  # type: ignore[import-untyped]

    frame = pandas.DataFrame(dict(columns))
    with files.replacing(file) as new:
        told = {_KEY: key + _NO_DIGEST}
        fastparquet.write(str(new), frame, write_index=False, custom_metadata=told)
        if key:
            data = new.read_bytes()
            at = data.rindex((key + _NO_DIGEST).encode()) + len(key)
            with new.open("r+b") as opened:
                opened.seek(at)
                opened.write(_digest(data))


def save(file: Path, data: Variables, along: Variables, key: str) -> None:
    """Keep a sweep's results in ``file``, if that can be written."""
    if data["flow_cc"][1].shape[-1] <= _MOST_FLOWS:
        with contextlib.suppress(OSError):
            write(file, table(data, along), key)


def load(file: Path, key: str, names: Sequence[str]) -> dict[str, NDArray[Any]] | None:
    """Return name → values of each run, shape (run,) or (run, flow); None: not of this key."""
    import fastparquet

    try:
        with system.opened(file) as opened:
            data = opened.read()
    except OSError:
        return None
    at = data.rfind(key.encode()) + len(key)
    end = at + len(_NO_DIGEST)
    if at < len(key) or _digest(data[:at] + _NO_DIGEST.encode() + data[end:]) != data[at:end]:
        return None
    try:
        found = fastparquet.ParquetFile(io.BytesIO(data))
        there = set(found.columns)
        parts = {name: _parts(name, there) for name in names}
        frame = found.to_pandas(columns=[*itertools.chain(*parts.values())])
    except KeyError:  # a metric is not there
        return None
    columns: dict[str, NDArray[Any]] = {}
    for name, of in parts.items():
        each = [frame[it].to_numpy() for it in of]
        columns[name] = np.array(each[0]) if of == [name] else np.stack(each, axis=-1)
    return columns


def _parts(name: str, there: set[str]) -> list[str]:
    """Return the columns of a metric. Raises KeyError if there is none."""
    if name in there:
        return [name]
    numbered = (f"{name}.{flow}" for flow in itertools.count())
    flows = [*itertools.takewhile(there.__contains__, numbered)]
    if not flows:
        raise KeyError(name)
    return flows
