# SPDX-License-Identifier: GPL-2.0-only
"""What keys explain of a metric's variance."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

import tunnelcc as tc
from tunnelcc.apps.searches.sensitivity import sensitivity


def _results(points=300, noise=0.2):
    """Return what a sweep would: 3 x + name, and a key without effect."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (2, points))
    names = np.array(["reno", "bbr"], object)
    values = 3 * x + (names[:, None] == "reno") + noise * rng.standard_normal((2, points))
    return xarray.Dataset(
        {"goodput": (("cc", "point", "seed"), values[:, :, None])},
        {"cc": names, "path.loss": ("point", x), "path.rtt": ("point", y), "seed": [1]},
    )


def test_parts_of_the_variance_are_those_of_the_function():
    found = {it.key: it for it in sensitivity(_results(), "goodput")}
    total = 9 / 12 + 1 / 4 + 0.04  # variances of 3 x, of the name, of the noise
    for key, variance in {"path.loss": 9 / 12, "cc": 1 / 4, "path.rtt": 0}.items():
        assert found[key].part == pytest.approx(variance / total, abs=0.06), key
        assert 0 < found[key].half_width < 0.2
    assert next(iter(found)) == "path.loss"


def test_runs_without_a_value_do_not_count():
    results = _results()
    results["goodput"][:, :20] = np.nan
    assert sensitivity(results, "goodput")[0].key == "path.loss"


def test_what_is_wrong_is_named():
    results = _results()
    with pytest.raises(tc.ConfigError, match="did you mean 'goodput'"):
        sensitivity(results, "godput")
    with pytest.raises(tc.ConfigError, match="a metric that the results have"):
        sensitivity(results, "jain")
    with pytest.raises(tc.ConfigError, match="at least 100 runs"):
        sensitivity(_results(points=20), "goodput")
    with pytest.raises(tc.ConfigError, match="an axis of several values"):
        sensitivity(results.isel(cc=0, point=0), "goodput")
    with pytest.raises(tc.ConfigError, match="it is 0 everywhere"):
        sensitivity(results * 0, "goodput")


@pytest.mark.slow
def test_the_command_prints_and_draws(tmp_path, run):
    results = _results(points=60)
    results["goodput"].attrs = {"units": "bit/s", "long_name": "goodput"}
    results.to_netcdf(tmp_path / "results.nc", engine="scipy")
    code, out, err = run("sensitivity", tmp_path / "results.nc", "-o", tmp_path / "figure.png")
    assert code == 0, err
    assert "path.loss" in out
    assert (tmp_path / "figure.png").stat().st_size > 5000
