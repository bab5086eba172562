# SPDX-License-Identifier: GPL-2.0-only
"""All metrics of a large sweep as columns: kept beside it, and written for other programs.

``sweeps/NAME.npz`` is a copy of what the files of the runs have, to open 100,000 runs in a second.
A file that is lost, or older than a run, is made anew. It is numpy's, with a CRC of each array. Of
text it has the different ones, and a number for each run.

A table for others has a row for each run. Columns are the axes, ``seed``, ``run``, ``error`` and
the metrics in SI units; those of flows have a column for each flow (``flow_goodput.0``).
"""

from __future__ import annotations

import contextlib
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import system
from tunnelcc.errors import ConfigError, Problem, install
from tunnelcc.output import files

#: Sweeps with fewer runs are read as fast from the files of the runs.
LEAST_RUNS = 1000
_DIGEST_BYTES = 16
# Names in the file: what it is of, and of a column of text.
_KEY, _TEXTS, _NUMBERS = "key", ".texts", ".numbers"

#: Dimensions, values, attributes.
Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]
Variables = dict[str, Variable]


def key_of(*parts: str) -> str:
    """Return a text that is another one if any of ``parts`` is."""
    text = "\n".join(parts).encode()
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


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


def write_parquet(
    file: Path, columns: Mapping[str, NDArray[Any]], about: Mapping[str, str]
) -> None:
    """Write columns to a Parquet file, ``about`` as its metadata. Raises OSError, ConfigError."""
    pyarrow = need_pyarrow()
    from pyarrow import parquet

    table = pyarrow.table(dict(columns)).replace_schema_metadata(dict(about))
    with files.replacing(file) as new:
        parquet.write_table(table, new)


def need_pyarrow() -> Any:
    """Return pyarrow. Raises ConfigError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        expected = f"a .nc or .csv file, or pyarrow: {install('parquet')}"
        raise ConfigError(Problem("output", ".parquet", expected)) from None
    return pyarrow


def save(file: Path, data: Variables, key: str) -> None:
    """Keep a sweep's results in ``file``, if that can be written. A link there is replaced."""
    import pandas  # type: ignore[import-untyped]

    arrays: dict[str, NDArray[Any]] = {_KEY: np.array(key)}
    for name, (_, values, _) in data.items():
        if values.dtype.kind == "O":
            codes, texts = pandas.factorize(values.ravel())
            arrays[name + _NUMBERS] = codes.reshape(values.shape)
            arrays[name + _TEXTS] = texts.astype(str)
        else:
            arrays[name] = values
    with contextlib.suppress(OSError):
        if file.is_symlink():  # of a store that came from somebody else, to a file of this user
            file.unlink()
        with files.replacing(file) as new, new.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **arrays)


def load(file: Path, key: str, names: Sequence[str]) -> dict[str, NDArray[Any]] | None:
    """Return name → values as save() had them; None: not of this key, or damaged."""
    try:
        with system.opened(file) as opened, np.load(opened) as kept:
            # save() packs nothing, so what is read has no more bytes than the file.
            is_packed = any(it.compress_type != zipfile.ZIP_STORED for it in kept.zip.infolist())
            if is_packed or str(kept[_KEY]) != key:
                return None
            found = {}
            for name in names:
                if name in kept:
                    found[name] = kept[name]
                else:
                    texts, numbers = kept[name + _TEXTS], kept[name + _NUMBERS]
                    found[name] = texts.astype(object)[numbers]
            return found
    except Exception:  # whatever zipfile and numpy meet in a damaged file
        return None
