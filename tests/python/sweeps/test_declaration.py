# SPDX-License-Identifier: GPL-2.0-only
"""Declarations of sweeps: every form of axis, and one message for each mistake."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from tunnelcc import scenario
from tunnelcc.schema.toml import parse_toml

BASE = {"path": {"rtt": "40ms"}, "flows": [{"cc": "bbr"}, {"cc": "cubic"}]}


def _coordinate(axes, key, base=BASE):
    return tc.Sweep(base, axes, 1).coordinates[key][1]


def test_every_combination_and_seed_is_there_once():
    axes = {"path.rtt": ["10ms", "40ms"], "path.loss": [0, "1%", "5%"]}
    declared = tc.Sweep(BASE, axes, seeds=[3, 7])
    assert (declared.dims, declared.shape) == (("path.rtt", "path.loss", "seed"), (2, 3, 2))
    expected = [
        scenario.build(BASE, {"path.rtt": rtt, "path.loss": loss, "seed": seed})
        for rtt, loss, seed in itertools.product(*axes.values(), (3, 7))
    ]
    assert list(declared.experiments()) == expected
    assert len(declared) == 12


def test_a_linear_and_a_geometric_range():
    linear = _coordinate({"path.rtt": {"from": "10ms", "to": "50ms", "steps": 5}}, "path.rtt")
    assert linear.values == pytest.approx((0.01, 0.02, 0.03, 0.04, 0.05))
    table = {"from": "1ms", "to": "100ms", "steps": 3, "scale": "log"}
    assert _coordinate({"path.rtt": table}, "path.rtt").values == pytest.approx((0.001, 0.01, 0.1))


def test_numbers_from_python_need_their_unit_as_those_of_files_do():
    axes = {
        "path.rtt": [f"{rtt}s" for rtt in (0.04, 0.08)],
        "flows.start": {"from": "0.25s", "to": "0.75s", "steps": 3},
        "path.reverse_rate": [f"{rate}bps" for rate in np.array([1e6, 2.5e6])],
        "zip": {"path.rate": ["50Mbps", "100Mbps"], "path.loss": np.array([0.0, 0.1])},
    }
    declared = tc.Sweep(BASE, axes)
    read_again = tc.Sweep(parse_toml(declared.to_toml(), "record"), is_record=True)
    for sweep in declared, read_again:
        found = {key: values.values for key, (_, values) in sweep.coordinates.items()}
        assert found == {
            "path.rtt": (0.04, 0.08), "flows.start": (0.25, 0.5, 0.75),
            "path.reverse_rate": (1e6, 2.5e6), "path.rate": (5e7, 1e8), "path.loss": (0, 0.1),
        }  # fmt: skip
    for wrong in ([10, 20], np.array([0.01, 0.02]), {"from": 0.01, "to": 0.02, "steps": 2}):
        with pytest.raises(tc.ConfigError, match="did you mean '10ms'"):
            tc.Sweep({}, {"path.rtt": wrong})


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ({"cc": ["bbr", "reno"], "flows.0.cc": ["cubic", "vegas"]}, "sweep.cc: .*flows.0.cc"),
        ({"flows.0.cc": ["cubic", "vegas"], "flows.cc": ["bbr", "reno"]}, "sweep.flows.cc: "),
        ({"tunnel": ["vtun", "none"], "tunnel.name": ["tinc", "vxlan"]}, "sweep.tunnel: "),
        ({"path": [{"rtt": "9ms"}, {"rtt": "8ms"}], "path.rtt": ["1ms", "2ms"]}, "sweep.path: "),
        ({"zip": {"cc": ["bbr", "reno"], "flows.0.cc": ["cubic", "vegas"]}}, "sweep.cc: "),
    ],
)
def test_an_axis_that_another_one_overrides_is_refused(axes, told):
    with pytest.raises(tc.ConfigError, match=told):
        tc.Sweep({"duration": "1s"}, axes)


BETWEEN = {"from": "10ms", "to": "100ms"}
MANY = {**BETWEEN, "steps": 200}


@pytest.mark.parametrize(
    ("base", "axes", "key"),
    [
        ({"name": "s"}, {"path.rtt": MANY}, "name"),
        ({"hosts": {"kernal": "6.18"}}, {"path.rtt": MANY, "cc": ["bbr", "reno"]}, "hosts.kernal"),
        ({"cc": "cubic"}, {"path.loss": ["0%", "1%"], "path.rtt": MANY}, "cc"),
        ({"warmup": "10s"}, {"duration": {"from": "1s", "to": "9s", "steps": 400}}, "warmup"),
        ({"tunnel": "wiregard"}, {"sample": {"points": 5000, "path.rtt": BETWEEN}}, "tunnel"),
    ],
)
def test_what_every_run_would_refuse_is_refused_once_before_the_first(base, axes, key):
    with pytest.raises(tc.ConfigError) as refused:
        tc.Sweep(base, axes, seeds=5)
    assert [problem.key for problem in refused.value.problems] == [key]


def test_a_few_possible_runs_among_many_impossible_ones_are_a_sweep():
    durations = {"from": "1s", "to": "10.05s", "steps": 300}
    declared = tc.Sweep({"warmup": "10s"}, {"duration": durations}, seeds=2)
    possible = [it for it in declared.experiments() if isinstance(it, tc.Experiment)]
    assert len(declared) == 600
    assert len(possible) == 4


def test_an_axis_that_another_one_overrides_in_part_is_none_without_effect():
    axes = {"cc": ["bbr", "reno"], "flows.0.cc": ["cubic", "vegas"]}
    declared = tc.Sweep({"flows": [{}, {}]}, axes, seeds=1)
    found = [[flow.cc.name for flow in it.flows] for it in declared.experiments()]
    assert found == [[one, other] for other in ("bbr", "reno") for one in ("cubic", "vegas")]
    tunnels = {"tunnel": ["gost-relay-ws", "gost-relay-wss"], "tunnel.cc": ["bbr", "reno"]}
    names = {(it.tunnel.name, it.tunnel.cc.name) for it in tc.Sweep({}, tunnels).experiments()}
    assert len(names) == 4


def test_ranges_have_the_type_of_their_key():
    count = {"from": 1, "to": 8, "steps": 4, "scale": "log"}
    assert _coordinate({"flows.count": count}, "flows.count").values == (1, 2, 4, 8)
    few = {"from": 1, "to": 4, "steps": 10}
    assert _coordinate({"flows.count": few}, "flows.count").values == (1, 2, 3, 4)
    buffer = {"from": "0.5bdp", "to": "8bdp", "steps": 3, "scale": "log"}
    found = _coordinate({"path.buffer": buffer}, "path.buffer")
    assert (found.values, found.units) == (pytest.approx((0.5, 2, 8)), "bdp")
    packets = {"from": "10p", "to": "20p", "steps": 3}
    found = _coordinate({"path.buffer": packets}, "path.buffer")
    assert (found.values, found.units) == ((10, 15, 20), "packet")
    drained = {"from": "10ms", "to": "30ms", "steps": 3}
    found = _coordinate({"path.buffer": drained}, "path.buffer")
    assert (found.values, found.units) == (pytest.approx((0.01, 0.02, 0.03)), "s")
    interval = {"from": "5s", "to": "15s", "steps": 2}
    found = _coordinate({"flows.cc.probe_rtt_interval": interval}, "flows.cc.probe_rtt_interval",
                        {"flows": [{"cc": "bbr"}]})  # fmt: skip
    assert (found.values, found.units) == ((5.0, 15.0), "s")


@pytest.mark.parametrize(
    ("key", "values", "expected", "units"),
    [
        ("path.rate", ["1Mbps", "2Gbps"], (1e6, 2e9), "bit/s"),
        ("hosts.tcp_rmem", ["1MiB", 65536], (2**20, 65536), "byte"),
        ("path.buffer", ["1bdp", "20p"], ("1bdp", "20p"), ""),
        ("path.buffer", ["1bdp", "20ms"], ("1bdp", "20ms"), ""),
        ("hosts.kernel", ["5.10", "6.18"], ("5.10", "6.18"), ""),
        ("tcp.ecn", [True, False], ("true", "false"), ""),
        ("cc", ["bbr", {"name": "bbr", "probe_rtt_interval": 5}],
         ("bbr", "bbr probe_rtt_interval=5.0"), ""),
        ("flows.0.cc", ["bbr", "reno"], ("bbr", "reno"), ""),
        ("tunnel", ["none", "gost-relay-ws", {"name": "gost-relay-wss", "cc": "bbr"}],
         ("none", "gost-relay-ws", "gost-relay-wss cc=bbr"), ""),
        ("flows.1.start", ["0s", "5s"], (0, 5), "s"),
    ],
)  # fmt: skip
def test_coordinates_are_numbers_in_si_units_or_names(key, values, expected, units):
    found = _coordinate({key: values}, key)
    assert (found.values, found.units) == (expected, units)
    assert found.long_name


def test_python_objects_are_values_too():
    axes = {
        "cc": [{"name": "bbr"}, "cubic"],
        "flows": [(tc.Flow(cc="bbr"),), (tc.Flow(cc="bbr"), tc.Flow(cc="cubic"))],
        "tunnel": [None],
        "path.loss": np.array([0, 0.01]),
    }
    declared = tc.Sweep(tc.Experiment(), axes, 1)
    assert [len(e.flows) for e in declared.experiments()] == [1, 1, 2, 2] * 2
    assert [e.path.loss for e in declared.experiments()] == [0, 0.01] * 4
    assert {e.flows[0].cc.name for e in declared.experiments()} == {"bbr", "cubic"}


def test_a_parameter_is_set_after_its_algorithm():
    axes = {"flows.cc.probe_rtt_interval": [5, 10], "cc": ["bbr", "bbr3"]}
    found = [e.flows[0].cc for e in tc.Sweep(BASE, axes, 1).experiments()]
    assert [(cc.name, cc.parameters["probe_rtt_interval"]) for cc in found] == [
        ("bbr", 5), ("bbr3", 5), ("bbr", 10), ("bbr3", 10),
    ]  # fmt: skip


def test_zipped_axes_go_together():
    zipped = {"path.rate": ["10Mbps", "1Gbps"], "path.buffer": ["50p", "500p"]}
    declared = tc.Sweep(BASE, {"zip": zipped, "path.loss": [0, "1%"]}, 1)
    assert (declared.dims, declared.shape) == (("path.loss", "point", "seed"), (2, 2, 1))
    assert [(e.path.rate, e.path.buffer.packets, e.path.loss) for e in declared.experiments()] == [
        (1e7, 50, 0),
        (1e9, 500, 0),
        (1e7, 50, 0.01),
        (1e9, 500, 0.01),
    ]


SAMPLE = {
    "path.rtt": {"from": "1ms", "to": "100ms", "scale": "log"},
    "path.loss": {"from": 0, "to": "5%"},
}


def test_a_latin_hypercube_has_one_value_in_each_part():
    declared = tc.Sweep(BASE, {"sample": {"points": 20, **SAMPLE}}, 1)
    assert declared.shape == (20, 1)
    loss = declared.coordinates["path.loss"][1].values
    assert sorted(int(value / 0.05 * 20) for value in loss) == list(range(20))
    rtt = declared.coordinates["path.rtt"][1].values
    parts = sorted(math.floor(math.log10(value / 0.001) / 2 * 20) for value in rtt)
    assert parts == list(range(20))


@pytest.mark.parametrize("values", [("flows.count", 1, 4), ("path.buffer", "50p", "53p")])
def test_whole_numbers_are_drawn_equally_often(values):
    key, low, high = values
    table = {"points": 400, "method": "latin-hypercube", key: {"from": low, "to": high}}
    drawn = tc.Sweep(BASE, {"sample": table}, 1).coordinates[key][1].values
    assert len(set(drawn)) == 4
    assert [drawn.count(value) for value in sorted(set(drawn))] == [100] * 4


def test_whole_numbers_on_a_log_scale_have_the_weight_of_what_is_rounded_to_them():
    table = {"points": 1000, "method": "latin-hypercube"}
    table["flows.count"] = {"from": 1, "to": 3, "scale": "log"}
    drawn = tc.Sweep(BASE, {"sample": table}, 1).coordinates["flows.count"][1].values
    weights = [math.log(3), math.log(5 / 3), math.log(7 / 5)]
    expected = [1000 * weight / sum(weights) for weight in weights]
    assert [drawn.count(value) for value in (1, 2, 3)] == pytest.approx(expected, abs=1)


def test_whole_numbers_of_a_range_that_coincide_are_one():
    ends = {"from": "1p", "to": "4p", "steps": 10}
    assert tc.Sweep(BASE, {"path.buffer": ends}, 1).shape == (4, 1)
    assert tc.Sweep(BASE, {"flows.count": {"from": 1, "to": 4, "steps": 10}}, 1).shape == (4, 1)


def test_samples_depend_on_their_seed_and_axis_alone():
    def drawn(**changes):
        table = {"points": 10, "method": "random", **SAMPLE, **changes}
        return tc.Sweep(BASE, {"sample": table}, 1).coordinates["path.rtt"][1].values

    assert drawn() == drawn(**{"path.rate": {"from": "1Mbps", "to": "9Mbps"}})
    assert drawn() != drawn(seed=2)
    assert all(0.001 <= value <= 0.1 for value in drawn())


def test_toml_may_nest_its_keys():
    text = '[sweep]\nseeds = 2\npath.rtt = ["1ms", "2ms"]\n[sweep.path]\n'
    nested = tc.Sweep(parse_toml(text.replace("[sweep.path]\n", ""), "x"))
    assert (nested.dims, nested.shape) == (("path.rtt", "seed"), (2, 2))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"path.rt": ["1ms"]}, "path.rt = '1ms': .*did you mean 'rtt'"),
        ({"path.rtt": []}, r"sweep.path.rtt = \[\]: expected at least one value"),
        ({"path.rtt": "10ms"}, "sweep.path.rtt = '10ms': expected a list of values, or a range"),
        ({"path.rtt": ["10ms", "40"]}, "path.rtt = '40': .*the unit is missing"),
        ({"path.rtt": ["10ms", "0.01s"]}, "sweep.path.rtt = 0.01: expected each value only once"),
        ({"cc": ["bbr", "bbrr"]}, "cc = 'bbrr': .*did you mean 'bbr'"),
        ({"tunnel": ["gost"]}, "tunnel = 'gost'"),
        ({"flows.5.cc": ["bbr"]}, "flows.5.cc: expected an index below 2"),
        ({"flows.-1.cc": ["bbr"]}, "flows.-1.cc: expected an index from 0 to 1"),
        ({"seed": [1, 2]}, "sweep.seed = .*: expected seeds"),
        ({"title": ["a", "b"]}, "sweep.title"),
        ({"path.rtt": {"from": "1ms", "to": "9ms"}}, "sweep.path.rtt.steps: expected a whole"),
        ({"path.rtt": {"from": "1ms", "to": "9ms", "steps": 1}}, "steps = 1: .* from 2 to"),
        ({"path.rtt": {"from": "9ms", "to": "1ms", "steps": 3}}, "to = '1ms': expected more than"),
        ({"path.rtt": {"from": "1ms", "steps": 3}}, "sweep.path.rtt.to: expected a value"),
        ({"path.rtt": {"from": "1", "to": "9ms", "steps": 3}}, "rtt.from = '1': .*unit is missing"),
        ({"path.loss": {"from": 0, "to": "1%", "steps": 3, "scale": "log"}}, "more than 0 on a"),
        ({"path.rtt": {"from": "1ms", "to": "9ms", "steps": 3, "scale": "lin"}}, "mean 'linear'"),
        ({"path.rtt": {"from": "1ms", "to": "9ms", "step": 3}}, "step = 3: .*mean 'steps'"),
        ({"path.buffer": {"from": "1p", "to": "9bdp", "steps": 3}}, "in the unit of 'from'"),
        ({"tunnel": {"from": 1, "to": 2, "steps": 2}}, "sweep.tunnel: expected a list"),
        ({"tcp.ecn": {"from": 1, "to": 2, "steps": 2}}, "sweep.tcp.ecn: expected a list"),
        ({"zip": {}}, "sweep.zip"),
        ({"zip": {"path.rtt": ["1ms", "2ms"], "path.loss": [0]}}, "zip.path.loss = 1: .*2"),
        ({"zip": {"path.rtt": ["1ms"]}, "path.rtt": ["1ms"]}, "sweep.path.rtt: expected one axis"),
        ({"zip": {"path.rtt": ["1ms"]}, "sample": {"points": 2, **SAMPLE}}, "sweep"),
        ({"sample": {}}, "sweep.sample.points: expected a whole number"),
        ({"sample": {"points": 5}}, "sweep.sample: expected at least one interval"),
        ({"sample": {"points": 5, "method": "sobol", **SAMPLE}}, "method = 'sobol': expected one"),
        ({"sample": {"points": 5, "seed": -1, **SAMPLE}}, "sample.seed = -1"),
        ({"sample": {"points": 5, "path.rtt": ["1ms"]}}, "sweep.sample.path.rtt"),
    ],
)
def test_a_mistake_is_told_in_one_message(axes, words):
    with pytest.raises(tc.ConfigError, match=words) as caught:
        tc.Sweep(BASE, axes, 1)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("seeds", [0, -1, True, "many", [], [1, 1], [1.5], [-1], 10**7, 2.5])
def test_seeds_are_counted_or_listed(seeds):
    with pytest.raises(tc.ConfigError, match=r"sweep\.seeds"):
        tc.Sweep(BASE, {"path.loss": [0]}, seeds)


def test_a_grid_of_a_hundred_million_takes_no_time_to_declare():
    axes = {
        key: {"from": low, "to": high, "steps": 100}
        for key, low, high in (
            ("path.rtt", "1ms", "100ms"),
            ("path.loss", "1%", "9%"),
            ("path.rate", "20Mbps", "1Gbps"),
        )
    }
    declared = tc.Sweep(BASE, axes, 100)
    assert len(declared) == 10**8
    last = declared.experiment(10**8 - 1)
    assert (last.path.rtt, last.path.loss, last.path.rate, last.seed) == (0.1, 0.09, 1e9, 100)
    assert isinstance(next(declared.experiments()), tc.Experiment)


VALUES = {
    "path.rtt": st.integers(1, 60_000).map("{}ms".format),
    "path.loss": st.integers(0, 99).map("{}%".format),
    "path.buffer": st.one_of(
        st.integers(1, 999).map("{}bdp".format), st.integers(1, 10**6).map("{}B".format)
    ),
    "flows.count": st.integers(1, 64),
    "cc": st.sampled_from(["bbr", "cubic", "reno", "ns3::TcpBbr", {"name": "bbr"}]),
    "tunnel": st.sampled_from(["none", "gost-relay-ws", {"name": "gost-relay-wss", "cc": "bbr"}]),
    "hosts.kernel": st.sampled_from(["5.10", "6.18"]),
}


@st.composite
def _axes(draw):
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3, unique=True))
    distinct = {"unique_by": json.dumps, "min_size": 1, "max_size": 3}
    return {key: draw(st.lists(VALUES[key], **distinct)) for key in keys}


@settings(deadline=None, max_examples=30)
@given(_axes(), st.integers(1, 2))
def test_what_is_written_as_toml_declares_the_same(axes, seeds):
    try:
        declared = tc.Sweep(BASE, axes, seeds)
    except tc.ConfigError as error:
        # The latter: buffers of a few bytes, and no others.
        assert any(it in str(error) for it in ("each value only once", "room for one packet"))  # noqa: PT017
        return
    again = tc.Sweep(parse_toml(declared.to_toml(), "x"))
    assert (again.dims, again.shape) == (declared.dims, declared.shape)
    assert again.coordinates == declared.coordinates
    for first, second in zip(declared.experiments(), again.experiments(), strict=True):
        assert first == second or str(first) == str(second)


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.one_of(st.sampled_from([*VALUES, "seeds", "zip", "sample", "flows.0.rtt"]), st.text())


@settings(deadline=None)
@given(st.dictionaries(KEYS, ANYTHING, max_size=3))
def test_whatever_is_declared_is_a_sweep_or_a_config_error(table):
    try:
        declared = tc.Sweep({"sweep": table})
    except tc.ConfigError:
        return
    assert len(declared) >= 1
