# SPDX-License-Identifier: GPL-2.0-only
"""Results as files for other programs: netCDF (.nc), CSV (.csv) and Parquet (.parquet).

Headings of CSV have units: ``goodput (bit/s)``. Columns of Parquet have names alone, which queries
name. What made the runs is in attributes, in Parquet's metadata, and in a column of CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output import files
from tunnelcc.results import provenance
from tunnelcc.sweeps import columns

if TYPE_CHECKING:
    import xarray

_SUFFIXES = (".nc", ".csv", ".parquet")
_LARGEST_INTEGER = 2**31 - 1  # netCDF 3 has no larger ones


def check_file(file: Path) -> None:
    """Raise ConfigError if results cannot be written to ``file``."""
    if file.suffix not in _SUFFIXES:
        hint = "figures are written by --plot" if file.suffix[1:] in files.FIGURE_FORMATS else ""
        expected = "a file ending in " + ", ".join(_SUFFIXES)
        raise ConfigError(Problem("output", str(file), expected, hint))
    if file.suffix == ".parquet":
        columns.need_pyarrow()
    files.check_netcdf("output", file)
    if not file.parent.is_dir():
        raise ConfigError(Problem("output", str(file), "a file in an existing directory"))
    files.check_file("output", file)


def write(results: xarray.Dataset, file: Path) -> None:
    """Write ``results`` to a .nc file, or to a .csv or .parquet file with one row per run."""
    check_file(file)
    try:
        if file.suffix == ".parquet":
            about = {str(key): str(value) for key, value in results.attrs.items()}
            rows = columns.table(_variables(results), _variables(results.coords))
            columns.write_parquet(file, rows, about)
            return
        with files.replacing(file) as new:
            if file.suffix == ".nc":
                # Not to a file: xarray would ask a Dask scheduler for a lock if there ever was one.
                new.write_bytes(_writable(results).to_netcdf(engine="scipy"))
            else:
                table = _flat(results)
                headings = {
                    name: heading(str(name), it.attrs) for name, it in table.variables.items()
                }
                rows = table.to_dataframe().reset_index().rename(columns=headings)
                for name in rows.columns[rows.dtypes.map(lambda it: it.kind not in "biuf")]:
                    rows[name] = [_cell(it) for it in rows[name]]
                rows["provenance"] = provenance.text(results.attrs)  # CSV has no other place for it
                rows.to_csv(new, index=False)
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("output", str(file), expected, error.strerror or "")) from None


def _variables(found: Mapping[Any, xarray.DataArray]) -> columns.Variables:
    return {str(name): (tuple(map(str, it.dims)), it.to_numpy(), {}) for name, it in found.items()}


def _cell(value: Any) -> Any:
    return files.csv_text(value) if isinstance(value, str) else value


def heading(name: str, attributes: Mapping[str, Any]) -> str:
    """Return the heading of a column with its unit: ``goodput (bit/s)``."""
    units = attributes.get("units", "1")
    return name if units == "1" else f"{name} ({units})"


def _writable(results: xarray.Dataset) -> xarray.Dataset:
    """Return the results in the types of netCDF 3. Large seeds become text."""
    large = [
        name
        for name, values in results.variables.items()
        if values.dtype.kind == "i" and values.size and int(values.max()) > _LARGEST_INTEGER
    ]
    texts = {name: (results[name].dims, results[name].to_numpy().astype(str)) for name in large}
    changed: xarray.Dataset = results.assign_coords(texts)
    return changed


def _flat(results: xarray.Dataset) -> xarray.Dataset:
    """Return a variable per column: ``flow_goodput.0``, ``flow_goodput.1``, …; without series."""
    dims = results["goodput"].dims
    flat = results[[name for name, values in results.items() if values.dims == dims]]
    columns = {
        f"{name}.{flow}": values.isel(flow=flow, drop=True)
        for name, values in results.items()
        if values.dims == (*dims, "flow")
        for flow in range(results.sizes["flow"])
    }
    table: xarray.Dataset = flat.assign(columns).transpose(*dims)
    return table
