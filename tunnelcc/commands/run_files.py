# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc run --output``: the file's suffix selects the format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats import flent, iperf3
from tunnelcc.output import files
from tunnelcc.results import provenance
from tunnelcc.sweeps.export import heading

if TYPE_CHECKING:
    from tunnelcc.results.result import Result


def _netcdf(result: Result) -> bytes:
    return bytes(result.dataset.to_netcdf(engine="scipy"))


def _csv(result: Result) -> bytes:
    """One row per sample. Columns name flow, leg and direction, and the unit.

    Such as ``cwnd.flow=0.leg=app (segments)``.
    """
    series = result.dataset
    series = series[[name for name, values in series.data_vars.items() if "time" in values.dims]]
    columns = {}
    for name, values in series.data_vars.items():
        others = [dim for dim in values.dims if dim != "time"]
        flat = values.stack(place=others) if others else values.expand_dims("place")
        for place in range(flat.sizes["place"]):
            column = flat.isel(place=place)
            labels = [f"{dim}={column.coords[dim].item()}" for dim in others]
            columns[heading(".".join((str(name), *labels)), values.attrs)] = column.values
    import pandas  # type: ignore[import-untyped]

    table = pandas.DataFrame(columns, index=series["time"].to_series())
    table["provenance"] = provenance.text(result.provenance)  # CSV has no other place for it
    label = heading("time", series["time"].attrs)
    return bytes(table.dropna(axis="columns", how="all").to_csv(index_label=label).encode())


def _flent(result: Result) -> bytes:
    return flent.write(result)


def _iperf3(result: Result) -> bytes:
    return (json.dumps(iperf3.write(result), indent=1, allow_nan=False) + "\n").encode()


_FORMATS: dict[str, Callable[[Result], bytes]] = {
    ".nc": _netcdf,
    ".csv": _csv,
    ".flent.gz": _flent,
    ".json": _iperf3,
}


def check(file: Path) -> None:
    """Raise ConfigError if a run cannot be written to ``file``."""
    _format_of(file)
    files.check_netcdf("--output", file)
    files.check_file("--output", file)


def write(result: Result, file: Path) -> None:
    """Write a run: netCDF, CSV, flent's or iperf3's format. Raises ConfigError."""
    data = _format_of(file)(result)
    try:
        with files.replacing(file) as new:
            new.write_bytes(data)
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("--output", str(file), expected, error.strerror or "")) from None


def _format_of(file: Path) -> Callable[[Result], bytes]:
    for suffix, make in _FORMATS.items():
        if file.name.endswith(suffix):
            return make
    expected = "a file name that ends in .nc, .csv, .flent.gz (flent's) or .json (iperf3's)"
    raise ConfigError(Problem("--output", str(file), expected))
