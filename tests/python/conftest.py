# SPDX-License-Identifier: GPL-2.0-only
"""Small runs that several tests look at, and the command line."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import xarray as xr

import tunnelcc as tc
from captures import fields_of
from helpers import ROOT
from tunnelcc import cli, metrics

# Programs that a shell starts in the background ignore SIGINT, and so would those that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL_PATH = {"rate": "10Mbps", "rtt": "20ms"}


@pytest.fixture
def run(capsys):
    """Run a command; return exit code, standard output and standard error."""

    def call(*arguments):
        code = 0
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def refusal():
    """Return the message with which an experiment's table is refused."""

    def call(table):
        with pytest.raises(tc.ConfigError) as caught:
            tc.Experiment.parse(table)
        return str(caught.value)

    return call


@pytest.fixture(scope="session")
def tshark():
    """Return a function that reads fields of a capture's packets."""
    return fields_of


@pytest.fixture(scope="session")
def plain_result() -> tc.Result:
    """Two flows without tunnel, one of which sends a finite amount of data."""
    flows = [{"cc": "bbr"}, {"cc": "cubic", "bytes": "500kB"}]
    return tc.run(tc.Experiment(path=SMALL_PATH, flows=flows, duration="5s", warmup="1s"))


@pytest.fixture(scope="session")
def relay_result() -> tc.Result:
    """Three flows through a relay whose carriers lose packets."""
    return tc.run(
        tc.Experiment(
            path={**SMALL_PATH, "loss": "1%", "phase": "0"},
            flows={"cc": "cubic", "count": 3},
            tunnel={"name": "gost-relay-wss", "cc": "bbr"},
            duration="4s",
        )
    )


@pytest.fixture(scope="session")
def make_sweep():
    """Return a function that makes results as a sweep has them, with numbers of our choice.

    ``axes``: key → values, or (values, unit); ``flows``: their algorithms; ``goodput``: of the
    coordinates of a run (bit/s, one per flow).
    """
    return _made_sweep


def _made_sweep(axes, flows=("bbr",), goodput=lambda **_: 1e7, seeds=3, scenario="", **coords):
    keys = list(axes)
    listed = {key: spec if isinstance(spec, tuple) else (spec, "") for key, spec in axes.items()}
    shape = [len(values) for values, _ in listed.values()] + [seeds]
    data = {}
    for name, metric in metrics.STORED.items():
        size = [len(flows)] if metric.per_flow else []
        attributes = {"units": metric.units, "long_name": metric.long_name}
        data[name] = ((*keys, "seed", *metric.dims), np.full(shape + size, np.nan), attributes)
    owners = np.full([*shape, len(flows)], "", dtype=object)
    for index in np.ndindex(*shape):
        point = {key: listed[key][0][at] for key, at in zip(keys, index, strict=False)}
        rates = np.broadcast_to(goodput(**point, seed=index[-1] + 1), len(flows))
        for name, value in (
            ("goodput", rates.sum()), ("flow_goodput", rates), ("utilisation", 0.9),
            ("flow_share", metrics.shares(rates)), ("jain", metrics.jain_index(rates)),
            ("queue_delay_mean", 0.01 * index[-1] + 0.001), ("flow_base_rtt", 0.04),
            ("flow_phase", 0.0),
        ):  # fmt: skip
            data[name][1][index] = value
        owners[index] = [point.get("cc", flow) for flow in flows]
    data["flow_cc"] = ((*keys, "seed", "flow"), owners, {"long_name": "congestion control"})
    coordinates = {
        key: (key, np.array(values, dtype=object if isinstance(values[0], str) else float),
              {"long_name": key, **({"units": unit} if unit else {})})
        for key, (values, unit) in listed.items()
    }  # fmt: skip
    coordinates["seed"] = ("seed", np.arange(1, seeds + 1))
    coordinates["flow"] = ("flow", np.arange(len(flows)))
    text = scenario or "".join(f'[[flows]]\ncc = "{name}"\n' for name in flows)
    text += "\n[sweep]\n" + "".join(f'"{key}" = []\n' for key in keys if key != "point")
    return xr.Dataset(data, {**coordinates, **coords}, {"scenario": text, "title": ""})


@pytest.fixture(scope="session")
def linux_modules():
    """Return the folder of Linux's congestion control modules."""
    return ROOT / "build" / "linux"
