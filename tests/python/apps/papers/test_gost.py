# SPDX-License-Identifier: GPL-2.0-only
"""The GOST thesis: what its scenario has to give before any cell is looked at.

Reference numbers: tests/reference/gost-wire.json, with their source.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from functools import cache

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import scenario
from tunnelcc.apps import papers
from tunnelcc.apps.papers import verdicts
from tunnelcc.apps.papers.observe import Observation, Point
from tunnelcc.apps.papers.simulate import Batch
from tunnelcc.apps.papers.verdicts import Simulated
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.resolve import resolve

FOLDER = ROOT / "scenarios" / "papers" / "gost-thesis"
WIRE = json.loads((ROOT / "tests" / "reference" / "gost-wire.json").read_text())
WS, WSS = "gost-relay-ws", "gost-relay-wss"
#: As tables of the thesis and of measurements call them.
CALLED = {WS: "relay+ws", WSS: "relay+wss"}
MIB = 2**20


@cache
def steady(tunnel: str, cc: str, tcp_wmem: str = "4MiB") -> tc.Result:
    """One stream from 5 to 45 s after its data begin: four of BBR's ProbeRTT intervals."""
    table = scenario.read_scenario(FOLDER / "scenario.toml")
    changes = {"tunnel": tunnel, "cc": cc, "warmup": "7s", "duration": "47s"}
    more = {"probe_interval": "10ms", "hosts.tcp_wmem": tcp_wmem}
    return tc.run(scenario.build(table, {**changes, **more}), progress=False)


def flight_of(result: tc.Result) -> np.ndarray:
    """The carrier's bytes in flight from 7 s on."""
    flight = result.dataset.in_flight.sel(leg="carrier", flow=0)
    assert float(flight.max()) <= 3 * MIB
    assert result.links["path"].forward.queue_drops == 0
    return flight.values[flight.time.values > 7]


@pytest.mark.parametrize("tunnel", [WS, WSS])
def test_one_stream_of_cubic_nearly_fills_the_receive_window(tunnel):
    """The send buffer holds hardly more: each write of 4104 bytes costs it 1280 more."""
    assert 0.93 * 3 * MIB <= float(np.median(flight_of(steady(tunnel, "cubic")))) <= 3 * MIB
    assert steady(WS, "cubic").goodput == pytest.approx(144e6, rel=0.05)  # published


@pytest.mark.parametrize("tunnel", [WS, WSS])
def test_the_send_buffer_holds_one_stream_of_bbr_back(tunnel):
    """Paced, it has on average less in flight than the window allows: the writer waits."""
    result = steady(tunnel, "bbr")
    two_thirds = 2 / 3 * result.experiment.hosts.of("client").tcp_wmem
    assert 0.97 * two_thirds <= float(np.median(flight_of(result))) < 0.95 * 3 * MIB
    assert 8 * 0.92 * two_thirds / 0.169 <= result.goodput <= 8 * 1.03 * two_thirds / 0.169


def carried_bytes(tunnel: str) -> float:
    """Bytes of the carrier's stream for each of the application's."""
    goodput = steady(tunnel, "cubic").dataset.goodput_series.sel(flow=0)
    measured = goodput.where(goodput.time > 7, drop=True).sum("time")
    return float(measured.sel(leg="carrier") / measured.sel(leg="target"))


def test_tls_costs_its_records():
    assert carried_bytes(WSS) / carried_bytes(WS) - 1 == pytest.approx(22 / 4104, rel=0.01)
    # Where only the window limits, it holds the records, too. By how much less a run gets depends
    # on which bursts wait to be filled.
    ws, wss = (steady(tunnel, "cubic", "32MiB").goodput for tunnel in (WS, WSS))
    assert wss < 0.9975 * ws


def lossless(tunnel: str, direction: str, size: int) -> tc.Result:
    """One finite flow over a path that drops nothing."""
    return tc.run(
        tc.Experiment(
            path={"rate": "50Mbps", "rtt": "100ms", "buffer": "64MiB"},
            flows={"cc": "cubic", "bytes": size},
            tunnel=tunnel,
            direction=direction,
            start_jitter="0s",
        ),
        progress=False,
    )


def carrier(result: tc.Result):
    return result.path_leg(0)


@pytest.mark.parametrize("tunnel", [WS, WSS])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_wire_bytes_per_application_byte(tunnel, direction):
    # The difference between two sizes is free of handshake and of TLS's first small records.
    small, large = (lossless(tunnel, direction, size * MIB) for size in (16, 48))
    assert carrier(large).retransmits == 0
    ratio = (carrier(large).wire_bytes - carrier(small).wire_bytes) / (32 * MIB)
    assert ratio == pytest.approx(
        WIRE["ip_bytes_per_application_byte"][tunnel][direction], rel=0.002
    )


@pytest.mark.parametrize("tunnel", [WS, WSS])
def test_handshake_sizes_and_flights(tunnel):
    expected = WIRE["handshake_payload_bytes"][tunnel]
    result = lossless(tunnel, "up", 37)
    leg = carrier(result)
    segments = [*expected["client"], expected["first_data_of_37"], 0]  # the last one is the FIN
    assert leg.segments == len(segments)
    sent = leg.wire_bytes - 60 - sum(segments) - 52 * len(segments)
    # The rest: ACKs of 52 bytes that carry no data.
    assert sent % 52 == 0
    assert 0 < sent <= 52 * (2 + len(expected["server"]))
    received = leg.ack_wire_bytes - 60 - sum(expected["server"])
    assert received % 52 == 0


@pytest.mark.parametrize("tunnel", [WS, WSS])
def test_round_trips_before_the_first_application_byte(tunnel):
    trips = WIRE["handshake_payload_bytes"][tunnel]["round_trips_before_first_data"]
    arrival = lossless(tunnel, "up", 37).flows[0].first_byte_at
    # Half a round trip later it is there; loopbacks and serialization take less than a millisecond.
    assert (trips + 0.5) * 0.1 <= arrival <= (trips + 0.5) * 0.1 + 0.001


def brief(streams: int, memory: str) -> tc.Result:
    """A few seconds of CUBIC over ws on hosts of this memory."""
    table = scenario.read_scenario(FOLDER / "scenario.toml")
    changes = {"tunnel": WS, "cc": "cubic", "flows.count": streams, "hosts.memory": memory}
    return tc.run(
        scenario.build(table, {**changes, "warmup": "5s", "duration": "8s"}), progress=False
    )


def test_memory_holds_128_streams_back():
    stated = scenario.read_scenario(FOLDER / "scenario.toml")["hosts"]["memory"]
    limited = brief(128, stated)
    # Nearly all carriers keep the send buffer that they got on connecting, 2 * 10 segments of 2304
    # bytes, and what the last write takes beyond it: a frame of 4104 bytes. Each frame costs 1280
    # bytes more. The others grow in a moment in which sockets have returned memory.
    most = 46_080 + 4104
    peaks = [float(max(it.in_flight)) for it in limited.connections if it.name == "carrier"]
    kept = [peak for peak in peaks if peak <= most]
    assert len(kept) >= 0.97 * 128
    assert min(kept) > 2 / 3 * 46_080
    assert limited.goodput <= 1.1 * 128 * most * 8 / 0.169
    assert brief(128, "64GB").goodput > 3 * limited.goodput


@pytest.mark.parametrize(
    ("tunnel", "cc", "streams", "tolerance"),
    [
        (WS, "cubic", 1, 0.01),
        (WS, "cubic", 128, 0.05),
        (WSS, "cubic", 128, 0.05),
        (WS, "bbr", 128, 0.05),
    ],
)
def test_linux_5_10_itself(monkeypatch, tunnel, cc, streams, tolerance):
    """Without tunnel devices, its buffers cost 768 bytes (README.md, Linux 5.10 itself)."""
    known = kernels()
    cloud = dataclasses.replace(known["5.10-cloud"], buffer_overhead=768)
    monkeypatch.setitem(known, "5.10-cloud", cloud)
    with (FOLDER / "linux-5.10.csv").open(encoding="utf-8", newline="") as file:
        (measured,) = (
            row
            for row in csv.DictReader(file)
            if (row["tunnel"], row["cc"], int(row["streams"])) == (CALLED[tunnel], cc, streams)
            and float(row["write_ns_per_byte"]) == 0
        )
    end = 2 + int(measured["duration_s"])
    table = scenario.read_scenario(FOLDER / "scenario.toml")
    changes = {"tunnel": tunnel, "cc": cc, "flows.count": streams}
    times = {"duration": f"{end}s", "warmup": f"{end - 2.7}s"}
    result = tc.run(scenario.build(table, {**changes, **times}), progress=False)
    assert result.goodput / 1e6 == pytest.approx(float(measured["steady_mbps"]), rel=tolerance)


def test_memory_does_not_touch_16_streams():
    stated = scenario.read_scenario(FOLDER / "scenario.toml")["hosts"]["memory"]
    limited, free = brief(16, stated), brief(16, "64GB")
    assert limited.links["path"].forward.queue_drops == free.links["path"].forward.queue_drops
    assert limited.goodput == free.goodput


def test_cells_of_one_stream_are_reproduced():
    paper = papers.find("gost-thesis")
    (figure,) = paper.figures(["goodput"])
    batch = Batch(paper)
    simulated = batch.add(figure, 1, where={"tunnel": "relay+wss", "streams": "1"})
    batch.run(jobs=2)
    cells = simulated.judged
    assert [cell.point.axes["cc"] for cell in cells] == ["cubic", "bbr"]
    assert [cell.published for cell in cells] == [142e6, 141e6]
    assert [cell.verdict for cell in cells] == ["reproduced", "reproduced"]
    assert [cell.point.mean("window_share") >= 0.97 for cell in cells] == [True, False]
    assert all(cell.rests_on == "inferred" for cell in cells)


def test_only_16_streams_are_calibrated_on():
    paper = papers.find("gost-thesis")
    (figure,) = paper.figures(["goodput"])
    points = [Point(axes, paper.experiment(figure, axes)) for axes in paper.points(figure)]
    for point in points:
        point.runs.append(Observation({"drops": 0.0, "goodput": 1.0}))
    cells = Simulated(paper, figure, points).judged
    assert len(cells) == 16
    assert {cell.point.axes["streams"] for cell in cells if cell.is_calibrated} == {"16"}
    labels = {name: label for name, _, label, _ in paper.evidence(figure)}
    assert [name for name, label in labels.items() if label == "calibrated"] == ["path.buffer"]


def stored_sweep(figure: str, key: str) -> dict[str, float]:
    """Candidate → misfit, as in results/."""
    file = ROOT / "results" / "gost-thesis" / f"{figure}-calibration.csv"
    return {row[key]: float(row["misfit"]) for row in csv.DictReader(file.open())}


def test_the_stored_sweep_chose_the_buffer():
    """The scenario's buffer is the one that results/ shows to have the least misfit."""
    scores = stored_sweep("goodput", "path.buffer")
    table = scenario.read_scenario(FOLDER / "scenario.toml")
    assert table["path"]["buffer"] == verdicts.best(list(scores.items()))


def test_the_stored_sweep_chose_the_number_of_connections():
    scores = stored_sweep("uploads", "flows.count")
    table = scenario.read_scenario(FOLDER / "speedtest.toml")
    assert str(table["flows"][0]["count"]) == verdicts.best(list(scores.items()))


def test_uploads_are_those_of_section_4_1():
    printed = {
        (row["cc"], f"{row['server']} {row['node'].split(',')[0]}", row["metric"]): row["value"]
        for row in csv.DictReader((FOLDER / "speedtest.csv").open())
    }
    paper = papers.find("gost-thesis")
    for figure in paper.figures(["uploads", "lossy-uploads"]):
        rows = {
            (row.columns["cc"], row.columns["route"]): row.published.middle
            for item in paper.values(figure)
            for row in paper.figure_rows(figure, item.published, item.where)
        }
        assert len(rows) == len(paper.points(figure))
        for point in paper.points(figure):
            cc, route = point["cc"], point["route"]
            assert rows[cc, route] == float(printed[cc, route, "upload"]) * 1e6
            latencies = [float(printed[it, route, "latency"]) for it in ("cubic", "bbr")]
            rtt = resolve(paper.experiment(figure, point)).topology.links["path"].path.rtt
            assert rtt == pytest.approx(sum(latencies) / 2e3, abs=1e-5)


@pytest.mark.parametrize("rtt", [0.106, 0.277])
def test_an_upload_with_bbr_carries_two_thirds_of_its_send_buffers(rtt):
    """A writer that found no room wakes when a third is free, whatever the RTT.

    Each burst, what a quarter of the rate sends in 1 ms, costs 1280 bytes more.
    """
    table = scenario.read_scenario(FOLDER / "speedtest.toml")
    experiment = scenario.build(table, {"cc": "bbr", "path.rtt": f"{1e3 * rtt:g}ms"})
    buffers = 4 * experiment.hosts.of("client").tcp_wmem
    goodput = tc.run(experiment, progress=False).goodput
    burst = 1e-3 * goodput / 4 / 8
    payload = 2 / 3 * buffers * burst / (burst + 1280)
    assert goodput * rtt / 8 == pytest.approx(payload, rel=0.06)


def test_the_stored_table_is_what_runs_give():
    """Else: tunnelcc reproduce gost-thesis --output results/gost-thesis."""
    with (ROOT / "results/gost-thesis/goodput.csv").open(encoding="utf-8", newline="") as file:
        stored = [
            row
            for row in csv.DictReader(file)
            if (row["set"], row["quantity"]) == ("scenario", "goodput")
        ]
    assert len(stored) == 16
    for tunnel, cc, streams in ((WS, "cubic", 1), (WSS, "bbr", 1), (WS, "bbr", 128)):
        (row,) = (
            row
            for row in stored
            if (row["tunnel"], row["cc"], row["streams"]) == (CALLED[tunnel], cc, str(streams))
        )
        table = scenario.read_scenario(FOLDER / "scenario.toml")
        settings = {"tunnel": tunnel, "cc": cc, "flows.count": streams}
        result = tc.run(scenario.build(table, settings), progress=False)
        assert 0.999 * float(row["least"]) <= result.goodput <= 1.001 * float(row["most"])
