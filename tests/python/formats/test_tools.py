# SPDX-License-Identifier: GPL-2.0-only
"""Files that real programs wrote: iperf3 3.12 and 3.21, iperf 2.1, fping, mtr, nstat, ss.

The files in ``tools`` are of a path of 5 Mbit/s from the client, in network namespaces.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tunnelcc.apps.fit import fit as fits
from tunnelcc.apps.fit.reading import reading
from tunnelcc.formats.measurement import Measurement, Pings, Stream, merged
from tunnelcc.formats.read import read

TOOLS = Path(__file__).with_name("tools")


@pytest.mark.parametrize("name", ["u", "u321"])
def test_datagrams_of_a_client_are_what_was_offered_and_lost(name):
    found = read(TOOLS / f"iperf3-{name}.json")
    (stream,) = found.streams
    assert (stream.is_datagrams, stream.counted, found.is_down) == (True, "written", False)
    assert stream.offered == pytest.approx(8e6, rel=0.01)
    assert stream.lost == pytest.approx(0.373, abs=0.003)
    rate = fits.direct(found).estimates["rate"]
    assert not rate.is_told  # it may have changed
    assert rate.value == pytest.approx(5e6, rel=0.03)


def test_the_receivers_seconds_tell_the_rate_of_an_overloaded_link(tmp_path):
    table = json.loads((TOOLS / "iperf3-u.json").read_text())
    seconds = [
        {"socket": 5, "start": k, "end": k + 1, "seconds": 1, "bytes": 603_000, "sender": False,
         "bits_per_second": 4_824_000, "packets": 690, "lost_packets": 273, "omitted": False}
        for k in range(8)
    ]  # fmt: skip
    start = {"accepted_connection": {}, "test_start": table["start"]["test_start"]}
    table["server_output_json"] = {
        "start": start, "intervals": [{"streams": [it]} for it in seconds], "end": {},
    }  # fmt: skip
    file = tmp_path / "it.json"
    file.write_text(json.dumps(table))
    found = read(file)
    assert (found.streams[0].counted, found.is_down) == ("received", False)
    rate = fits.direct(found).estimates["rate"]
    assert rate.is_told
    assert rate.interval[0] < 4.824e6 * 1476 / 1448 < rate.interval[1]


def test_a_download_of_datagrams_tells_loss_and_no_rate():
    found = read(TOOLS / "iperf3-uR.json")
    assert found.is_down
    values = fits.direct(found).estimates
    assert values["loss"].is_told
    assert values["loss"].interval[0] == 0
    assert not values["rate"].is_told


@pytest.mark.parametrize("name", ["bidir", "bidir321"])
def test_both_directions_are_told_apart(name):
    found = read(TOOLS / f"iperf3-{name}.json")
    (up,), (down,) = found.streams, found.reverse
    assert (up.is_down, up.counted) == (False, "written")
    assert (down.is_down, down.counted) == (True, "received")
    assert up.retransmits[-1] > 0
    assert np.isnan(down.retransmits).all()
    assert down.resent_in_all >= 0


def test_omitted_seconds_of_a_download_are_before_the_others():
    found = read(TOOLS / "iperf3-RP321.json")
    assert found.is_down
    assert len(found.streams) == 2
    for stream in found.streams:
        assert stream.counted == "received"
        assert stream.time == pytest.approx([1.01, 2.01, 3.01, 4.01], abs=0.02)
        assert np.isfinite(stream.resent_in_all)


@pytest.mark.parametrize(
    ("name", "sent", "least"),
    [("fping.txt", 6, 5.1e-5), ("fping-l.txt", 7, 3.5e-5), ("mtr.json", 3, 4.5e-5),
     ("mtr.txt", 3, 1e-4), ("mtr-raw.txt", 3, 6.1e-5)],
)  # fmt: skip
def test_pings_of_other_programs(name, sent, least):
    pings = read(TOOLS / name).pings
    assert pings.rtts.min() == pytest.approx(least)
    assert (pings.sent, pings.lost) == (sent, 0)
    assert pings.is_summary is (name in ("mtr.json", "mtr.txt"))
    assert len(pings.times) == (7 if name == "fping-l.txt" else 0)


@pytest.mark.parametrize(
    ("name", "flows", "total"),
    [("iperf2.txt", 1, 2.25), ("iperf2-e.txt", 1, 2.25), ("iperf2-P.txt", 2, 2.40)],
)
def test_iperf_2_tells_what_it_wrote(name, flows, total):
    found = read(TOOLS / name)
    assert len(found.streams) == flows
    sent = sum(float(it.bytes_by(it.time[-1:])[0]) for it in found.streams)
    assert sent == pytest.approx(total * 2**20, rel=0.02)
    assert {it.counted for it in found.streams} == {"written"}
    if name == "iperf2-e.txt":
        (stream,) = found.streams
        assert stream.retransmits[-1] == 309
        assert stream.rtt[0] == pytest.approx(0.01641)


def test_nstat_counts_what_a_host_sent_again():
    found = read(TOOLS / "nstat.txt")
    assert found.counters == {"TcpOutSegs": 6652, "TcpRetransSegs": 1142}
    down = replace(read(TOOLS / "iperf3-uR.json").streams[0], is_datagrams=False)
    together = reading(merged([Measurement("it", [down]), found]))
    assert together.resent == pytest.approx(together.segments * 1142 / 6652)


def test_a_speed_test_tells_both_directions(tmp_path):
    ookla = {
        "ping": {"latency": 12.1, "low": 11.8, "high": 13.0},
        "download": {"bandwidth": 11_800_000, "elapsed": 8000, "latency": {"iqm": 80.0}},
        "upload": {"bandwidth": 2_400_000, "elapsed": 9000, "latency": {"iqm": 150.0}},
    }
    file = tmp_path / "it.json"
    file.write_text(json.dumps(ookla))
    found = read(file)
    assert found.is_down
    assert found.streams[0].goodput[0] == pytest.approx(94.4e6)
    assert found.reverse[0].goodput[0] == pytest.approx(19.2e6)
    assert found.pings.rtts.min() == pytest.approx(0.0118)
    assert not fits.direct(found).estimates["rate"].is_told
    file.write_text(json.dumps({"download": 94.4e6, "upload": 19.2e6, "ping": 12.0}))
    assert read(file).streams[0].goodput[0] == pytest.approx(94.4e6)


SS = """{time}
ESTAB 0 0 10.0.0.2:5201 10.0.0.1:40000
\t cubic wscale:7,7 rto:240 rtt:42/1.5 mss:1448 rcvmss:1448 cwnd:10 bytes_received:{bytes} \
minrtt:40.5
"""


def test_a_log_of_ss_at_the_receiver_tells_what_arrived(tmp_path):
    file = tmp_path / "it.log"
    file.write_text("".join(SS.format(time=1700 + k, bytes=10 + 500_000 * k) for k in range(6)))
    found = read(file)
    (stream,) = found.streams
    assert (stream.counted, found.is_down, found.knows_way) == ("received", False, True)
    assert stream.goodput == pytest.approx(4e6)
    assert stream.min_rtt == 0.0405
    assert np.isnan(stream.rtt).all()
    file.write_text(file.read_text().replace("minrtt", "rcv_rtt:61.25 minrtt"))
    assert read(file).streams[0].rtt == pytest.approx(0.06125)  # not 42 ms, of its own few segments


def flow(**changes):
    time = np.arange(1.0, 21)
    rtt = 0.08 + 0.02 * (time % 5) / 5
    stream = Stream("1", time, 19e6 * np.ones(20), rtt, 200 * np.ones(20), np.zeros(20),
                    min_rtt=0.06, congestion="cubic")  # fmt: skip
    return Measurement("made", [replace(stream, **changes)], epoch=1000.0)


def test_pings_beside_a_load_are_pings_under_load():
    beside = Pings(np.linspace(0.08, 0.1, 40), 40, 1000.5 + np.arange(40) / 4)
    before = Pings(np.full(10, 0.061), 10, 990 + np.arange(10) / 4)
    found = reading(replace(flow(), pings=beside, series=[before]))
    assert found.loaded.rtts.min() == 0.08
    assert found.idle.rtts.max() == 0.061
    without_times = replace(beside, times=np.empty(0))
    assert reading(replace(flow(), pings=without_times)).idle is None
    assert "jitter" not in fits.direct(replace(flow(), pings=without_times)).estimates


def test_pings_of_another_server_are_told():
    far = Pings(np.full(20, 0.4), 20)
    found = reading(replace(flow(), pings=far))
    assert found.remarks == ("other_pings",)
    assert found.idle is found.loaded is None


def test_the_order_of_files_and_their_names_change_nothing(tmp_path):
    names = ("iperf3-bidir.json", "fping.txt", "mtr.json")
    parts = [read(TOOLS / it) for it in names]
    seeds = set()
    for order in ((0, 1, 2), (2, 0, 1)):
        found = reading(merged([replace(parts[it], source=f"name {it}") for it in order]))
        seeds.add((fits._seed(found), found.idle.rtts.tobytes()))
    assert len(seeds) == 1
