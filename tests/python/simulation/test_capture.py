# SPDX-License-Identifier: GPL-2.0-only
"""Captures: what tshark and dpkt read in them is what the run did."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import dpkt
import pytest

import tunnelcc as tc
from tunnelcc import catalog

_TSHARK = (
    "tshark", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
    "-o", "udp.check_checksum:TRUE",
)  # fmt: skip
_LOSSY = {
    "path": {"rate": "20Mbps", "rtt": "20ms", "loss": "1%"},
    "flows": [{"cc": "cubic"}],
    "duration": "1s",
    "warmup": "0s",
}


@pytest.fixture(scope="module")
def tshark(request):
    """Return a function that reads fields of a capture's packets."""
    if shutil.which("tshark") is None:
        missing = "tshark, which reads captures, is not installed: apt install tshark"
        if request.config.getoption("--fail-missing"):
            pytest.fail(missing)
        pytest.skip(missing)

    def read(file, *fields, only=""):
        command = [*_TSHARK, "-r", file, "-T", "fields", "-E", "separator=/t"]
        for field in fields:
            command += ["-e", field]
        command += ["-Y", only] if only else []
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [line.split("\t") for line in out.splitlines()]

    return read


def _packets(file):
    """Return the IP packets of a capture, as dpkt reads them."""
    return [dpkt.ip.IP(data) for _, data in dpkt.pcapng.Reader(io.BytesIO(Path(file).read_bytes()))]


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """A run that loses segments, and its capture at the path with whole packets."""
    file = tmp_path_factory.mktemp("capture") / "lossy.pcapng"
    capture = tc.Capture(file, snap="full")
    return tc.run(_LOSSY, capture=capture), capture


def test_a_capture_changes_no_result(lossy):
    assert lossy[0].to_json() == tc.run(_LOSSY).to_json()


def test_segments_and_their_repairs_are_those_of_the_result(lossy, tshark):
    result, capture = lossy
    fields = ("tcp.srcport", "tcp.seq", "tcp.len", "frame.comment")
    data = [row for row in tshark(capture.file, *fields) if row[0] == "32768" and row[2] != "0"]
    flow = result.to_dict()["flows"][0]
    first = Counter(seq for _, seq, _, _ in data)
    assert len(data) - len(first) == flow["flow_socket_retransmits"]
    assert sum("lost" in row[3] for row in data) == result.links["path"].forward.random_losses > 0
    assert len(tshark(capture.file, "tcp.seq", only="tcp.analysis.retransmission or "
                      "tcp.analysis.out_of_order")) == flow["flow_socket_retransmits"]  # fmt: skip


def test_dpkt_reads_whole_packets_back(lossy):
    result, capture = lossy
    packets = _packets(capture.file)
    assert len(packets) == capture.packets
    assert all(it.len == len(bytes(it)) for it in packets)
    syn = dpkt.tcp.parse_opts(packets[0].data.opts)
    assert [kind for kind, _ in syn] == [2, 4, 8, 1, 3]  # as Linux orders them
    sent = Counter(it.data.seq for it in packets if it.data.dport == 5201 and it.data.data)
    assert sum(sent.values()) == result.connections[0].segments


@pytest.mark.parametrize("keys", [{"window_scaling": False}, {"timestamps": False}])
def test_tshark_reads_connections_without_options(keys, tmp_path, tshark):
    file = tmp_path / "plain.pcapng"
    tc.run(_LOSSY | {"tcp": keys}, capture=tc.Capture(file, snap="full"))
    syn, *_ = tshark(file, "tcp.options.wscale.shift", "tcp.options.timestamp.tsval")
    assert [bool(option) for option in syn] == [
        "window_scaling" not in keys, "timestamps" not in keys
    ]  # fmt: skip
    assert tshark(file, "frame.number", only="_ws.malformed or tcp.checksum.status == 0") == []


@pytest.mark.parametrize("queue", ["drop-tail", "codel", "red"])
def test_every_drop_of_a_queue_has_a_comment(queue, tmp_path, tshark):
    path = {"rate": "10Mbps", "rtt": "20ms", "buffer": "20p", "queue": queue}
    if queue == "red":
        path["queue"] = {"name": "red", "min_threshold": "5p", "max_threshold": "15p"}
    table = _LOSSY | {"path": path, "flows": [{"cc": "cubic", "count": 2}]}
    file = tmp_path / "drops.pcapng"
    result = tc.run(table, capture=file)
    comments = Counter(row[0] for row in tshark(file, "frame.comment"))
    assert comments["dropped by this queue"] == result.links["path"].forward.queue_drops > 0


def test_every_mark_of_a_queue_has_a_comment(tmp_path, tshark):
    path = {"rate": "10Mbps", "rtt": "20ms", "queue": "dualpi2"}
    table = _LOSSY | {"path": path, "flows": [{"cc": "prague"}]}
    file = tmp_path / "marks.pcapng"
    result = tc.run(table, capture=file)
    comments = Counter(row[0] for row in tshark(file, "frame.comment"))
    marks = [count for text, count in comments.items() if text.startswith("marked")]
    assert marks == [result.links["path"].forward.marks]


def test_tshark_understands_every_tunnel(tmp_path, tshark):
    files = []
    for name in catalog.names():
        rate = {"rate": "10Mbps"} if name == "finalspeed" else {}
        # Without losses: tshark calls it malformed where a repair overlaps a record that it knows.
        path = {"rate": "20Mbps", "rtt": "20ms", "buffer": "10MiB"}
        table = _LOSSY | {"path": path, "duration": "0.3s"}
        files.append(tmp_path / f"{name}.pcapng")
        capture = tc.Capture(files[-1], at=["client"], snap="full")
        with_one = tc.run(table | {"tunnel": {"name": name, **rate}}, capture=capture)
        without = tc.run(table | {"tunnel": {"name": name, **rate}})
        assert with_one.to_json() == without.to_json(), name
        assert capture.packets > 50, name
    fields = (
        "frame.protocols", "_ws.malformed", "ip.checksum.status", "tcp.checksum.status",
        "udp.checksum.status", "frame.len", "ip.len", "_ws.col.Info",
    )  # fmt: skip
    protocols = set()
    # Each on its own: connections of two tunnels with the same ports and first sequence numbers
    # would be one to tshark, which reads the second one as repairs of the first.
    rows = (row for file in files for row in tshark(file, *fields))
    for names, malformed, *checks, length, ip_length, info in rows:
        protocols.update(names.split(":"))
        assert not malformed, info
        assert "0" not in ",".join(checks).split(","), info
        assert ip_length.split(",")[0] == length, info
    assert {"tls", "websocket", "ssh", "wg", "openvpn", "esp", "vxlan", "quic"} <= protocols


def test_a_place_that_does_not_exist_gets_the_nearest_name(tmp_path, run):
    code, _, err = run("run", "--capture", tmp_path / "x.pcapng", "--at", "servr")
    assert code == 2
    assert "--at" in err
    assert "server" in err
    assert not (tmp_path / "x.pcapng").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--capture", "missing/x.pcapng"], "--capture"),
        (["--at", "path"], "--capture FILE"),
        (["--capture", "x.pcapng", "--snap", "all"], "--snap"),
        (["--capture", "x.pcapng", "--capture-limit", "much"], "--capture-limit"),
    ],
)
def test_wrong_options_are_refused(options, told, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("run", "--duration", "1s", *options)
    assert code == 2
    assert told in err


def test_a_capture_ends_at_its_limit(tmp_path):
    capture = tc.Capture(tmp_path / "x.pcapng", limit="20kB")
    tc.run(_LOSSY, capture=capture)
    assert "limit" in capture.note
    assert Path(capture.file).stat().st_size == capture.bytes <= 20_000
    assert len(_packets(capture.file)) == capture.packets > 100


def test_a_full_disk_leaves_a_file_that_opens(tmp_path):
    # A limit of the process stands for the disk's, and leaves the run alone.
    file = tmp_path / "full.pcapng"
    code = (
        "import resource, signal, tunnelcc as tc\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        f"capture = tc.Capture({str(file)!r}, snap='full')\n"
        f"print(tc.run({_LOSSY!r}, capture=capture, progress=False).to_json())\n"
        "assert capture.note, capture\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(tc.run(_LOSSY).to_json())
    assert 0 < file.stat().st_size <= 300_000
    assert len(_packets(file)) > 100


def test_a_pipe_that_closes_leaves_the_run_alone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def read_a_little():
        with pipe.open("rb") as opened:
            opened.read(1000)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    capture = tc.Capture(pipe, snap="full")
    result = tc.run(_LOSSY, capture=capture)
    reader.join()
    assert "pipe" in capture.note
    assert result.to_json() == tc.run(_LOSSY).to_json()


def _whole_blocks(data):
    """Return a pcapng file without a last block that is cut. Check the lengths of all others."""
    end = 0
    while end + 8 <= len(data):
        size = data[end + 4 : end + 8]
        following = end + int.from_bytes(size, "little")
        if following > len(data):
            break
        assert data[following - 4 : following] == size
        end = following
    return data[:end]


def test_a_killed_run_leaves_a_file_that_opens(tmp_path):
    file = tmp_path / "killed.pcapng"
    code = (
        f"import tunnelcc as tc; tc.run({_LOSSY | {'duration': '600s'}!r}, capture={str(file)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not file.exists() or file.stat().st_size < 1_000_000:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The kernel may end a write of a killed process between two pages.
    data = file.read_bytes()
    whole = _whole_blocks(data)
    assert len(data) - len(whole) < 200, "no more than the last packet is cut"
    file.write_bytes(whole)
    assert len(_packets(file)) > 1000


@pytest.mark.parametrize("tunnel", ["none", "hysteria2"])
def test_logs_of_quic_have_the_packets_of_the_result(tunnel, tmp_path):
    flow = {"cc": "cubic", "transport": "quic" if tunnel == "none" else "tcp"}
    table = _LOSSY | {"flows": [flow], "tunnel": tunnel}
    capture = tc.Capture(qlog=tmp_path / "logs")
    result = tc.run(table, capture=capture)
    name = "flow0" if tunnel == "none" else "carrier0"
    logs = {}
    for side in ("client", "server"):
        records = (tmp_path / "logs" / f"{name}-{side}.sqlog").read_text().split("\x1e")[1:]
        header, *events = map(json.loads, records)
        assert header["qlog_format"] == "JSON-SEQ"
        assert header["trace"]["vantage_point"] == {"type": side}
        times = [event["time"] for event in events]
        assert times == sorted(times)
        logs[side] = events

    def numbers(side, event):
        return [it["data"]["header"]["packet_number"] for it in logs[side] if it["name"] == event]

    sent, received = (
        numbers("client", "transport:packet_sent"), numbers("server", "transport:packet_received")
    )  # fmt: skip
    assert sent == sorted(set(sent))
    assert set(received) < set(sent)
    leg = next(
        it for it in result.connections if it.name == ("app" if tunnel == "none" else "carrier")
    )
    lost = numbers("client", "recovery:packet_lost")
    assert len(lost) == len(set(lost)) > 0
    assert set(lost).isdisjoint(received)
    data = [
        it for it in logs["client"]
        if it["name"] == "transport:packet_sent"
        and any(frame["frame_type"] == "stream" for frame in it["data"]["frames"])
    ]  # fmt: skip
    assert len(data) == leg.segments
    metrics = [it["data"] for it in logs["client"] if it["name"] == "recovery:metrics_updated"]
    assert metrics[-1]["smoothed_rtt"] >= 20
    window = max(it["congestion_window"] for it in metrics)
    assert 0 < max(it["bytes_in_flight"] for it in metrics) <= window + 1500
    assert (capture.packets, capture.text()) == (0, f"logs of QUIC in {tmp_path / 'logs'}")
