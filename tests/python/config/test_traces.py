# SPDX-License-Identifier: GPL-2.0-only
"""Rates over time from files: CSV and mahimahi traces."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import scenario
from tunnelcc.config.traces import MAX_BYTES, parse_trace
from tunnelcc.schema.units import UnitError
from tunnelcc.specification import experiment_spec


@pytest.fixture
def write(tmp_path):
    def write(text, name="trace.csv"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(file)

    return write


def link(file, **path):
    experiment = tc.Experiment(path=tc.Path(trace=file, **path))
    return experiment_spec(experiment)["links"][0]["forward"]


def test_rates_of_a_csv_file(write):
    spec = link(write("time_ms,rate_Mbps\n0,10\n500,0\n1500,2.5\n"))
    assert spec["rate"] == 10e6
    changes = [(change["time"], change["rate"]) for change in spec["rate_steps"]]
    assert changes == [(500_000_000, 0), (1_500_000_000, 2.5e6)]
    assert spec["rate_period"] == 0


def test_a_mahimahi_trace_repeats(write):
    # Two packets by 1 ms, none in the two that follow, one by 4 ms.
    spec = link(write("0\n1\n4\n", "lte.trace"))
    assert spec["rate"] == 24e6
    changes = [(change["time"], change["rate"]) for change in spec["rate_steps"]]
    assert changes == [(1_000_000, 0), (3_000_000, 12e6), (4_000_000, 24e6)]
    assert spec["rate_period"] == 4_000_000


def test_the_mean_rate_stands_for_the_rate_unless_one_is_given(write):
    file = write("time_s,rate_Mbps\n0,30\n1,10\n4,50\n")
    assert tc.Path(trace=file).rate == 15e6
    assert tc.Path(trace=file, rate="20Mbps").rate == 20e6
    assert link(file, rtt="100ms")["buffer_bytes"] == 187_500
    assert tc.Path(trace=write("0\n2\n", "mm")).rate == 12e6
    assert tc.Path(trace=write("time_s,rate_kbps\n0,5\n", "one.csv")).rate == 5e3
    # Cut until it has a rate: that one stands for it.
    assert tc.Path(trace=write("time_s,rate_Mbps\n0,0\n2,10\n", "cut.csv")).rate == 10e6


def test_goodput_follows_the_trace(write):
    file = write("time_s,rate_Mbps\n0,40\n10,10\n")
    result = tc.run(
        tc.Experiment(path=tc.Path(trace=file, rtt="20ms"), duration="20s"), progress=False
    )
    goodput = result.dataset.flow_goodput_series.isel(flow=0) / 1e6
    assert 34 < float(goodput.sel(time=slice(5, 9.9)).mean()) < 40
    assert 8.5 < float(goodput.sel(time=slice(12, 20)).mean()) < 10


def test_mahimahi_delivers_what_the_trace_says(write):
    # 3 packets in 5 ms, again and again: 7.2 Mbit/s.
    file = write("1\n1\n5\n", "trace")
    traffic = tc.CrossTraffic(rate="20Mbps", packet=1500)
    experiment = tc.Experiment(
        path=tc.Path(trace=file, buffer="20p"),
        flows=[tc.Flow(bytes=1)],
        cross_traffic=[traffic],
        duration="10s",
        warmup="1s",
    )
    result = tc.run(experiment, progress=False)
    assert result.links["path"].forward.utilisation == pytest.approx(1, abs=1e-3)
    assert 8 * result.links["path"].forward.bytes_sent / 9 == pytest.approx(7.2e6, rel=1e-3)


BAD_FILES = {
    "empty.csv": (b"", "it is empty"),
    "blank.csv": (b"\n \n", "it is empty"),
    "header.csv": (b"time_s,rate_bps\n", "it has no rows"),
    "no-header.csv": (b"0,10\n1,20\n", "line 1: '0' is none of time_s"),
    "unit.csv": (b"time_s,rate_mbps\n0,10\n", "did you mean 'rate_Mbps'?"),
    "three.csv": (b"time_s,rate_Mbps\n0,10,5\n", "line 2: 3 columns instead of 2"),
    "twice.csv": (b"time_s,rate_Mbps,rate_bps\n0,10,5\n", "line 1: two columns of rate"),
    "times.csv": (b"time_s\n0\n", "line 1: a header of 1 columns"),
    "rtt-unit.csv": (b"time_s,rtt_msec\n0,10\n", "did you mean 'rtt_ms'?"),
    "rtt.csv": (b"time_s,rtt_ms\n0,0\n", "line 2: an RTT of 0 s is not from 1 us to 60 s"),
    "loss.csv": (b"time_s,loss\n0,0\n1,2\n", "line 3: a loss of 200 % is not from 0 to 100 %"),
    "buffer.csv": (b"time_s,buffer_packets\n0,0\n", "line 2: a buffer of 0 is not from 1"),
    "one.csv": (b"time_s,rate_Mbps\n0\n", "line 2: 1 columns instead of 2"),
    "text.csv": (b"time_s,rate_Mbps\n0,fast\n", "line 2: 'fast' is not a number"),
    "nan.csv": (b"time_s,rate_Mbps\n0,nan\n", "line 2: 'nan' is not a number"),
    "truncated.csv": (b"time_s,rate_Mbps\n0,10\n1,\n", "line 3: '' is not a number"),
    "late.csv": (b"time_s,rate_Mbps\n1,10\n", "line 2: the first time is 1 s"),
    "back.csv": (b"time_s,rate_Mbps\n0,10\n2,5\n1,7\n", "line 4: 1 s is not later than 2 s"),
    "long.csv": (b"time_s,rate_Mbps\n0,10\n1e9,5\n", "line 3: 1e+09 s is later than 100000 s"),
    "endless.csv": (b"time_s,rate_Mbps\n0,10\n1e308,5\n", "line 3: 1e+308 s is later than"),
    "before.csv": (b"time_s,rate_Mbps\n0,10\n-1e308,5\n", "line 3: -1e+308 s is not later"),
    "vast.csv": (b"time_s,buffer_MB\n0,1e308\n", "line 2: a buffer of inf is not from 1"),
    "minus.csv": (b"time_s,buffer_MB\n0,-1e308\n", "line 2: a buffer of -inf is not from 1"),
    "negative.csv": (b"time_s,rate_Mbps\n0,-10\n", "line 2: -1e+07 bit/s is neither 0"),
    "fast.csv": (b"time_s,rate_Gbps\n0,500\n", "line 2: 5e+11 bit/s is neither 0"),
    "outage.csv": (b"time_s,rate_Mbps\n0,10\n1,0\n", "line 3: the last rate stays"),
    "quote.csv": (b'time_s,rate_Mbps\n0,"1\n', "line 2: unexpected end of data"),
    "bytes.csv": (b"\xff\xfe\x00", "it is not UTF-8 text"),
    "empty": (b"", "it is empty"),
    "word": (b"1\n2\nthree\n", "line 3: 'three' is not a whole number of ms"),
    "fraction": (b"1\n2.5\n", "line 2: '2.5' is not a whole number of ms"),
    "minus": (b"-1\n", "line 1: '-1' is not a whole number of ms"),
    "backwards": (b"3\n2\n", "line 2: 2 ms is earlier than 3 ms"),
    "zero": (b"0\n0\n", "its last time is 0 ms"),
    "huge-time": (b"1\n999999999999\n", "line 2: 999999999999 ms is later than 100000 s"),
    "huge-number": (b"9" * 5000, "is not a whole number of ms"),
    "flood": (b"1\n" * 40_000, "40000 packets in one ms exceed 400 Gbit/s"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_malformed_files(name, write):
    contents, hint = BAD_FILES[name]
    with pytest.raises(tc.ConfigError, match=re.escape(hint)) as caught:
        tc.Path(trace=write(contents, name))
    assert caught.value.problems[0].key == "trace"


def test_files_that_are_too_large_are_not_read(tmp_path):
    file = tmp_path / "large.csv"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(tc.ConfigError, match="64 MiB"):
        tc.Path(trace=str(file))


@pytest.mark.parametrize("name", ["fuzz.csv", "fuzz"])
@settings(
    deadline=None,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    contents=st.binary(max_size=60)
    | st.text("0123456789.,-e\n \"", max_size=60).map(str.encode)
    | st.text("0123456789.,-e\n", max_size=60).map(
        lambda text: f"time_s,rate_bps\n0,1e6\n{text}".encode()
    )
    | st.lists(
        st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(0, 2), st.floats(0, 9)), max_size=4
    ).map(
        lambda rows: "\n".join(
            ["time_s,rtt_ms,loss,buffer_packets", "0,1,0,1"]
            + [",".join(map(repr, row)) for row in sorted(rows)]
        ).encode()
    )
)  # fmt: skip
def test_any_file_is_a_trace_or_an_error(name, contents, write):
    file = write(contents, name)
    try:
        trace = parse_trace(file)
    except UnitError:
        return
    assert trace.given
    for key in trace.given:
        times = [time for time, _ in getattr(trace, key)]
        assert times[0] == 0
        assert times == sorted(set(times))
    assert all(rate == 0 or 1e3 <= rate <= 400e9 for _, rate in trace.rate)
    assert all(1e-6 <= rtt <= 60 for _, rtt in trace.rtt)
    assert all(0 <= loss <= 1 for _, loss in trace.loss)
    assert not trace.rate or trace.period > 0 or trace.rate[-1][1] > 0
    assert all(trace.mean(key) >= 0 for key in trace.given if key in ("rate", "rtt"))


def test_a_file_that_changed_is_noticed(write):
    file = write("time_s,rate_Mbps\n0,10\n")
    table = tc.Experiment(path=tc.Path(trace=file)).table()
    again = tc.Experiment.parse(table)
    assert again.path.trace == tc.Path(trace=file).trace
    write("time_s,rate_Mbps\n0,20\n0.5,3\n")
    with pytest.raises(tc.ConfigError, match="SHA-256"):
        tc.Experiment.parse(table)


def test_a_file_that_changed_unseen_is_read_again(write):
    file = write("time_s,rate_Mbps\n0,5\n")
    before, status = tc.Path(trace=file), Path(file).stat()
    Path(file).write_text("time_s,rate_Mbps\n0,7\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tc.Path(trace=file).trace != before.trace
    assert tc.Path(trace=file).rate == 7e6


def test_a_trace_lies_beside_its_scenario(write, tmp_path, monkeypatch):
    write("time_s,rate_Mbps\n0,10\n", "rates.csv")
    file = write('[path]\ntrace = "rates.csv"\n', "scenario.toml")
    monkeypatch.chdir("/")
    assert scenario.load(file).path.rate == 10e6


def test_steps_and_a_trace_exclude_each_other(write):
    file = write("time_s,rate_Mbps\n0,10\n")
    with pytest.raises(tc.ConfigError, match=r"rate_steps.*because trace gives the rate"):
        tc.Path(trace=file, rate_steps=[("1s", "5Mbps")])


@pytest.mark.parametrize("queue", ["drop-tail", "codel"])
def test_a_link_serves_no_more_than_its_rate_allows_before_a_change(queue):
    """A packet takes from one rate into the next: most of it is served at the faster one."""
    experiment = tc.Experiment.parse(
        {
            "path": {"rate": "1kbps", "rate_steps": [["5s", "20Mbps"]], "queue": queue,
                     "buffer": "100kB"},
            "duration": "4s",
        }
    )  # fmt: skip
    result = tc.run(experiment, progress=False)
    assert 0 < result.links["path"].forward.utilisation <= 1 + 1e-9


def test_the_heading_of_a_run_names_the_trace_and_not_the_rate_beside_it(write):
    file = write("time_s,rate_Mbps\n0,10\n1,2\n", "mobile.csv")
    path = {"rate": "50Mbps", "rtt": "20ms"}
    run = {"duration": "1s", "flows": [{"cc": "reno"}]}
    plain = tc.run({**run, "path": path}, progress=False).heading
    traced = tc.run({**run, "path": {**path, "trace": file}}, progress=False).heading
    assert "50Mbps" in plain
    assert "50Mbps" not in traced
    assert "mobile.csv" in traced


def test_one_file_gives_rates_rtts_losses_and_buffers(write):
    file = write(
        "time_s,rate_Mbps,rtt_ms,loss_percent,buffer_kB\n0,10,40,0,90\n2,10,61,1.5,90\n6,4,21,0,30\n"
    )
    path = tc.Path(trace=file, buffer="1bdp", phase="0")
    assert (path.rate, path.rtt) == (10e6, pytest.approx(0.054)), "means, which size 1bdp"
    link = experiment_spec(tc.Experiment(path=path))["links"][0]
    forward, reverse = link["forward"], link["reverse"]
    assert (forward["rate"], forward["delay"], forward["loss"]) == (10e6, 20_000_000, 0)
    assert forward["rate_steps"] == [{"time": 6 * 10**9, "rate": 4e6}]
    assert [step["delay"] for step in forward["delay_steps"]] == [30_500_000, 10_500_000]
    assert [step["delay"] for step in reverse["delay_steps"]] == [30_500_000, 10_500_000]
    assert [step["loss"] for step in forward["loss_steps"]] == [0.015, 0]
    assert forward["buffer_bytes"] == 90_000
    assert forward["buffer_steps"] == [{"time": 6 * 10**9, "bytes": 30_000, "packets": 0}]
    assert reverse["loss_steps"] == [], "the other direction has no loss"
    again = tc.Experiment.parse(tc.Experiment(path=path).table())
    assert experiment_spec(again) == experiment_spec(tc.Experiment(path=path))


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        ("rtt_ms\n0,9", {"rtt_steps": [["1s", "9ms"]]}, "rtt_steps = 1.*trace gives the rtt"),
        ("loss\n0,0.1", {"loss": "1%"}, "loss = '1%'.*0, because trace gives the loss"),
        ("loss\n0,0.1", {"gilbert_elliott": {"p": 0.1, "r": 0.2}}, "no column of losses"),
        ("rtt_ms\n0,9", {"reverse": {"trace": "FILE", "rate": "9Mbps"}}, "no column of RTTs"),
        ("buffer_bytes\n0,999", {}, "room for one packet"),
    ],
)
def test_a_trace_takes_the_place_of_keys(write, columns, keys, message):
    file = write(f"time_s,{columns}\n")
    keys = {
        key: value if key != "reverse" else {**value, "trace": file} for key, value in keys.items()
    }
    trace = {} if "reverse" in keys else {"trace": file}
    with pytest.raises(tc.ConfigError, match=message):
        tc.Experiment(path={**trace, **keys})


def test_a_relays_own_rtt_replaces_the_traces(write):
    file = write("time_s,rtt_ms,rate_Mbps\n0,40,9\n1,60,7\n")
    tunnel = {"name": "gost-relay-ws", "chain": [{"rtt": "10ms"}, {}]}
    path = {"trace": file, "phase": "0"}
    links = experiment_spec(tc.Experiment(path=path, tunnel=tunnel))["links"]
    assert [link["forward"].get("delay_steps") for link in links] == [
        [{"time": 10**9, "delay": 30_000_000}], None, [{"time": 10**9, "delay": 30_000_000}],
    ]  # fmt: skip
    assert all(len(link["forward"]["rate_steps"]) == 1 for link in links)
    with pytest.raises(
        tc.ConfigError, match=r"path.trace.*no column of the rtt with tunnel.relays"
    ):
        tc.Experiment(path={"trace": file}, tunnel={"name": "gost-relay-ws", "relays": 1})


def test_the_example_like_wifi_is_what_its_script_writes():
    """A quarter of the turns, each 64 packets in 5474 us of about 5633."""
    folder = ROOT / "scenarios/examples"
    spec = importlib.util.spec_from_file_location("wifi_like", folder / "wifi-like.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.text() == (folder / "wifi-like.csv").read_text()
    rows = module.rows()
    sent = sum(end - begin for (begin, rate), (end, _) in itertools.pairwise(rows) if rate)
    assert sent / rows[-1][0] == pytest.approx(5474 / 5633 / 4, rel=0.05)


def test_what_the_path_like_starlinks_says_hangs_on_the_loss_that_it_states():
    file = ROOT / "scenarios/examples/starlink-like.toml"
    goodput = {
        (cc, loss): tc.run(tc.load(file, {"cc": cc, **loss_keys}), progress=False).goodput / 1e6
        for cc in ("bbr", "cubic")
        for loss, loss_keys in (("stated", {}), ("none", {"path.loss": "0%"}))
    }
    assert {key: round(value) for key, value in goodput.items()} == {
        ("bbr", "stated"): 111, ("cubic", "stated"): 25, ("bbr", "none"): 112,
        ("cubic", "none"): 101,
    }  # fmt: skip
