# SPDX-License-Identifier: GPL-2.0-only
"""Runs written for other programs, and what other programs measured, read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import flent.resultset
import numpy as np
import pytest
import xarray

import tunnelcc as tc
from tunnelcc.commands import run_files
from tunnelcc.formats import iperf3
from tunnelcc.formats.read import read
from tunnelcc.plots import plot_beside

SS = """{0}
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0      2895464   10.0.0.1:40000     10.0.0.2:5201
\t bbr wscale:7,7 rto:240 rtt:{1}/1.5 ato:40 mss:1448 pmtu:1500 cwnd:{2} bytes_sent:9 \
bytes_acked:{3} segs_out:9 send 231Mbps pacing_rate 277Mbps retrans:0/{4} minrtt:40
ESTAB 0      0         10.0.0.1:40002     10.0.0.2:5201
\t cubic rtt:40/1 cwnd:10 bytes_acked:300
"""


def written(result, tmp_path, name):
    file = tmp_path / name
    run_files.check(file)
    run_files.write(result, file)
    return file


def counted(result, flow):
    return result.sender_leg(flow).retransmits_series[-1]


def test_flent_opens_a_run(plain_result, tmp_path):
    opened = flent.resultset.load(str(written(plain_result, tmp_path, "run.flent.gz")))
    dataset = plain_result.dataset
    assert opened.meta("NAME") == "tcp_nup"
    assert opened.meta("TOTAL_LENGTH") == 5
    np.testing.assert_allclose(opened.x_values, dataset["time"])
    rates = dataset["flow_goodput_series"] / 1e6
    for flow in (0, 1):
        np.testing.assert_allclose(opened.series(f"TCP upload::{flow + 1}"), rates[flow])
        raw = list(opened.raw_series(f"TCP upload::{flow + 1}", raw_key="tcp_cwnd"))
        np.testing.assert_allclose([value for _, value in raw], dataset["cwnd"][flow, 0])
        np.testing.assert_allclose([moment for moment, _ in raw], dataset["time"])
    np.testing.assert_allclose(opened.series("TCP upload sum"), rates.sum("flow"))
    pings = [value for value in opened.series("Ping (ms) ICMP") if value is not None]
    assert min(pings) >= 20
    assert opened.raw_values


def test_a_download_is_one_to_flent(tmp_path):
    result = tc.run({"direction": "down", "duration": "1s"}, progress=False)
    opened = flent.resultset.load(str(written(result, tmp_path, "down.flent.gz")))
    assert opened.meta("NAME") == "tcp_ndown"
    assert "TCP download::1" in opened.series_names


def test_flent_tells_downloads_from_uploads(tmp_path):
    flows = [{"cc": "bbr"}, {"direction": "down"}, {"direction": "down"}]
    result = tc.run({"flows": flows, "duration": "1s"}, progress=False)
    opened = flent.resultset.load(str(written(result, tmp_path, "both.flent.gz")))
    assert opened.meta("NAME") == "tcp_bidirectional"
    rates = result.dataset["flow_goodput_series"].values / 1e6
    for name, expected in {
        "TCP upload::1": rates[0],
        "TCP upload sum": rates[0],
        "TCP download::1": rates[1],
        "TCP download::2": rates[2],
        "TCP download sum": rates[1] + rates[2],
        "TCP download avg": (rates[1] + rates[2]) / 2,
    }.items():
        np.testing.assert_allclose(opened.series(name), expected)


@pytest.mark.parametrize(
    ("duration", "probe", "bounds"),
    [
        ("2550ms", "100ms", [1, 2, 2.55]),
        ("4s", "700ms", [1.4, 2.1, 3.5, 4]),
        ("3500ms", "3s", [3, 3.5]),
        ("500ms", "100ms", [0.5]),
        ("3s", "1s", [1, 2, 3]),
    ],
)
@pytest.mark.parametrize("warmup", ["0s", "400ms"])
def test_iperf3s_intervals_are_those_of_probes_and_leave_nothing_out(
    duration, probe, bounds, warmup
):
    path = {"rate": "20Mbps", "rtt": "20ms", "loss": "1%"}
    keys = {"path": path, "duration": duration, "probe_interval": probe, "warmup": warmup}
    result = tc.run(keys, progress=False)
    table = iperf3.write(result)
    streams = [interval["streams"][0] for interval in table["intervals"]]
    assert [it["end"] for it in streams] == pytest.approx(bounds)
    assert [it["start"] for it in streams] == pytest.approx([0, *bounds[:-1]])
    assert sum(it["bytes"] for it in streams) == result.flows[0].total_bytes
    assert table["end"]["sum_sent"]["bytes"] == result.flows[0].total_bytes
    for it in streams:
        assert it["bits_per_second"] * (it["end"] - it["start"]) == pytest.approx(8 * it["bytes"])
    resent = sum(it["retransmits"] for it in streams)
    assert resent >= counted(result, 0)
    if warmup == "0s":
        assert resent == result.sender_leg(0).retransmits


def test_equal_runs_give_equal_files(relay_result, tmp_path):
    for suffix in (".nc", ".csv", ".flent.gz", ".json"):
        one, other = (written(relay_result, tmp_path, f"{name}{suffix}") for name in "ab")
        assert one.read_bytes() == other.read_bytes()


def test_iperf3s_json_adds_up(plain_result, tmp_path):
    table = json.loads(written(plain_result, tmp_path, "run.json").read_text())
    end = table["end"]
    assert len(table["intervals"]) == 5
    assert table["start"]["test_start"]["num_streams"] == 2
    for flow, stream in enumerate(end["streams"]):
        samples = [interval["streams"][flow] for interval in table["intervals"]]
        assert stream["sender"]["bytes"] == sum(it["bytes"] for it in samples)
        total = plain_result.flows[flow].total_bytes
        assert stream["receiver"]["bytes"] == pytest.approx(total, rel=0.01)
        assert stream["sender"]["retransmits"] == counted(plain_result, flow)
        assert all(19e3 < it["rtt"] < 200e3 for it in samples[:1])
    assert end["sum_received"]["bytes"] == sum(it["sender"]["bytes"] for it in end["streams"])
    assert end["sender_tcp_congestion"] == "bbr, cubic"


@pytest.mark.parametrize(
    ("tunnel", "mss"),
    # A relay's application has a socket on the loopback; WireGuard's device has an MTU of 1420.
    [("none", 1448), ("gost-relay-ws", 65483), ("gost-quic", 65483), ("wireguard", 1368)],
)
def test_iperf3s_window_is_that_of_the_applications_socket(tunnel, mss):
    flows = [{"cc": "cubic"}, {"cc": "cubic", "tunnel": tunnel}]
    result = tc.run({"path": {"rate": "20Mbps"}, "flows": flows, "duration": "3s"}, progress=False)
    table = iperf3.write(result)
    assert table["start"]["tcp_mss"] == 1448
    last = len(result["time"]) - 1
    for stream, size in zip(table["intervals"][-1]["streams"], (1448, mss), strict=True):
        leg = result.sender_leg(stream["socket"] - 1)
        assert stream["snd_cwnd"] == leg.cwnd[last] * size
        assert stream["snd_cwnd"] >= leg.in_flight[last]


def test_what_is_written_for_iperf3_is_read_again(plain_result, tmp_path):
    found = read(written(plain_result, tmp_path, "run.json"))
    assert [it.name for it in found.streams] == ["1", "2"]
    assert found.mean_goodput(1) == pytest.approx(plain_result.goodput, rel=0.02)
    leg = plain_result.sender_leg(0)
    np.testing.assert_allclose(found.streams[0].cwnd, leg.cwnd[9::10], rtol=0.01)
    np.testing.assert_allclose(found.streams[0].rtt, leg.srtt[9::10], rtol=1e-4, atol=1e-6)
    assert found.streams[0].retransmits[-1] == counted(plain_result, 0)


def test_what_iperf3_leaves_out_is_not_known():
    streams = [{"socket": 5, "end": end, "bits_per_second": 8e6 * end} for end in (1, 2, 3)]
    streams[0]["omitted"] = True
    table = {"intervals": [{"streams": [it]} for it in streams]}
    (stream,) = iperf3.read("file", table).streams
    assert stream.time.tolist() == [1, 2, 3]
    assert np.isnan(stream.rtt).all()
    assert stream.goodput.tolist() == [8e6, 16e6, 24e6]


def test_a_log_of_ss_is_read(tmp_path):
    file = tmp_path / "ss.log"
    samples = [(1700.5, 40.1, 10, 0, 0), (1701.0, 50, 20, 500_000, 3), (1702.0, 60, 30, 750_000, 4)]
    file.write_text("".join(SS.format(*sample) for sample in samples))
    found = read(file)
    (stream,) = found.streams  # the other is iperf3's connection for control
    assert "10.0.0.2:5201" in stream.name
    assert stream.time == pytest.approx([0.5, 1.5])
    assert stream.goodput == pytest.approx([8e6, 2e6])
    assert stream.rtt == pytest.approx([0.05, 0.06])
    assert stream.cwnd.tolist() == [20, 30]
    assert stream.retransmits.tolist() == [3, 4]
    assert found.mean_goodput() == pytest.approx(4e6)
    assert found.mean_goodput(1) == pytest.approx(2e6)  # half of the sample that spans it


@pytest.mark.parametrize(
    "text", ["", "{}", "[1, 2]", '{"intervals": [3]}', "1700\nnothing\n", "\0"]
)
def test_other_files_are_refused_in_one_line(run, tmp_path, text):
    file = tmp_path / "other"
    file.write_text(text)
    code, _, err = run("run", "--measured", file, "--duration", "1s")
    assert code == 2
    assert err.count("\n") == 1
    assert "iperf3" in err


@pytest.mark.parametrize(
    ("what", "words"), [("[" * 200_000, "nested too deeply"), (None, "more than 256 MiB")]
)
def test_a_file_of_any_depth_or_length_is_refused(tmp_path, what, words):
    file = Path("/dev/zero") if what is None else tmp_path / "deep.json"
    if what is not None:
        file.write_text(what)
    with pytest.raises(tc.ConfigError, match=words):
        read(file)


def test_series_as_csv_and_netcdf(relay_result, tmp_path):
    with written(relay_result, tmp_path, "run.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    dataset = relay_result.dataset
    assert [float(row["time (s)"]) for row in rows] == pytest.approx(dataset["time"].values)
    column = [float(row["cwnd.flow=1.leg=carrier (segments)"]) for row in rows]
    assert column == pytest.approx(dataset["cwnd"].sel(flow=1, leg="carrier").values)
    assert "flow_goodput_series.flow=2 (bit/s)" in rows[0]
    opened = xarray.load_dataset(written(relay_result, tmp_path, "run.nc"), engine="scipy")
    assert set(opened.data_vars) == set(dataset.data_vars)


def test_the_command_writes_reads_and_draws(run, tmp_path):
    first = tmp_path / "first.json"
    options = ("--duration", "3s", "--rate", "10Mbps", "--cc", "bbr", "--flows", "2")
    assert run("run", *options, "--output", first)[0] == 0
    figure = tmp_path / "beside.svg"
    code, out, err = run("run", *options, "--measured", first, "--plot", figure)
    assert code == 0, err
    assert "simulated / measured 1.0" in out
    assert "measured" in figure.read_text() or figure.stat().st_size > 5000
    code, _, err = run("run", *options, "--output", tmp_path / "x.txt")
    assert code == 2
    assert ".flent.gz" in err
    assert not (tmp_path / "x.txt").exists()


def test_measured_and_simulated_are_drawn_alike(plain_result, tmp_path):
    measured = read(written(plain_result, tmp_path, "run.json"))
    figure = plot_beside(plain_result, measured)
    ours, theirs = figure.axes[0].get_lines()
    np.testing.assert_allclose(ours.get_xdata(), theirs.get_xdata(), atol=0.01)
    np.testing.assert_allclose(ours.get_ydata(), theirs.get_ydata(), rtol=1e-6, atol=1e-6)
    assert [len(axes.get_lines()) for axes in figure.axes[1:]] == [4, 4, 4]
    assert [axes.get_ylabel().split()[0] for axes in figure.axes] == [
        "goodput", "smoothed", "congestion", "retransmissions"
    ]  # fmt: skip
    simulated, _, first, _ = figure.axes[3].get_lines()
    assert simulated.get_ydata()[-1] == first.get_ydata()[-1] == counted(plain_result, 0)
    for axes in figure.axes:  # no line lies on the upper edge
        highest = max(np.nanmax(line.get_ydata()) for line in axes.get_lines())
        assert axes.get_ylim()[1] > 1.05 * highest
