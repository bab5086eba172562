# SPDX-License-Identifier: GPL-2.0-only
"""Files of measurements: what is read of each program, and that none of them does harm."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct

import dpkt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from tunnelcc.commands import run_files
from tunnelcc.formats import flent, iperf3
from tunnelcc.formats.measurement import merged
from tunnelcc.formats.read import read

PING = """PING example (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=40.1 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=41.3 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=99.9 ms (DUP!)
64 bytes from 192.0.2.1: icmp_seq=5 ttl=57 time=40.7 ms
"""
SS = """{0}
ESTAB 0 2895464 10.0.0.1:40000 10.0.0.2:5201
\t ts sack bbr wscale:7,7 rto:240 rtt:42/1.5 mss:1400 cwnd:80 bytes_acked:{1} retrans:0/2 \
busy:9000ms rwnd_limited:8100ms(90.0%) sndbuf_limited:450ms(5.0%) minrtt:40.5 snd_wnd:131072
"""


def of(tmp_path, content, name="file"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(file)


def test_pings_are_read_with_those_that_are_missing(tmp_path):
    pings = of(tmp_path, PING).pings
    assert pings.rtts == pytest.approx([0.0401, 0.0413, 0.0407])
    assert (pings.sent, pings.lost) == (5, 2)
    told = PING + "\n--- example ping statistics ---\n8 packets transmitted, 3 received, 60% loss\n"
    assert of(tmp_path, told).pings.lost == 5


def test_ss_tells_windows_waits_and_the_congestion_control(tmp_path):
    log = "".join(SS.format(1700.0 + k, 1_000_000 * k) for k in (1, 2, 3))
    (stream,) = of(tmp_path, log).streams
    assert stream.congestion == "bbr"
    assert stream.window.tolist() == [131072, 131072]
    assert (stream.min_rtt, stream.mss) == (0.0405, 1400)
    for impossible in ("0", "0.000001", "70000"):
        strange = log.replace("mss:1400", f"mss:{impossible}")
        assert of(tmp_path, strange).streams[0].mss == 1448
    assert stream.waits == {"receive_window": 0.9, "send_buffer": 0.05}


def test_flent_files_are_read_again(plain_result, tmp_path):
    file = tmp_path / "run.flent.gz"
    run_files.write(plain_result, file)
    found = read(file)
    assert len(found.streams) == 2
    assert not found.is_down
    assert found.mean_goodput(1) == pytest.approx(plain_result.goodput, rel=0.02)
    leg = plain_result.sender_leg(0)
    known = np.array(leg.srtt) > 0
    np.testing.assert_allclose(found.streams[0].rtt[known], np.array(leg.srtt)[known], rtol=1e-6)
    assert found.pings is None  # its RTTs are the flows' own


def test_pings_and_flows_of_several_files_are_one_measurement(plain_result, tmp_path):
    flows = of(tmp_path, json.dumps(iperf3.write(plain_result)))
    together = merged([of(tmp_path, PING), flows])
    assert len(together.streams) == 2
    assert together.pings.lost == 2


def segment(sequence, ack, size, *, back=False, syn=False):
    """Return an Ethernet frame with TCP, cut off behind its headers."""
    flags = dpkt.tcp.TH_ACK | (dpkt.tcp.TH_SYN if syn else 0)
    ports = (5201, 40000) if back else (40000, 5201)
    opts = b"\x03\x03\x07\x00" if syn else b""
    tcp = dpkt.tcp.TCP(
        sport=ports[0], dport=ports[1], seq=sequence % 2**32, ack=ack % 2**32, flags=flags,
        win=512, opts=opts,
    )  # fmt: skip
    tcp.off = 5 + len(opts) // 4
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    ip = dpkt.ip.IP(src=ends[back], dst=ends[not back], p=6, data=tcp, ttl=64)
    frame = bytearray(bytes(dpkt.ethernet.Ethernet(data=ip, type=0x0800)))
    frame[16:18] = (20 + 4 * tcp.off + size).to_bytes(2, "big")  # of all that was sent
    return bytes(frame)


@pytest.mark.parametrize("writer", [dpkt.pcap.Writer, dpkt.pcapng.Writer])
def test_a_capture_at_the_sender_tells_rtt_window_and_retransmissions(tmp_path, writer):
    """1000 segments of 1000 bytes in 10 s, acknowledged after 50 ms; one in 100 is sent twice.

    The sequence numbers wrap.
    """
    first, packets = 2**32 - 300_000, []
    packets.append((0.0, segment(first - 1, 0, 0, syn=True)))
    packets.append((0.05, segment(0, first, 0, back=True, syn=True)))
    for number in range(1000):
        sequence, at = first + 1000 * number, 0.1 + 0.01 * number
        packets.append((at, segment(sequence, 1, 1000)))
        packets.append((at + 0.05, segment(1, sequence + 1000, 0, back=True)))
        if number % 100 == 50:
            packets.append((at + 0.04, segment(sequence, 1, 1000)))
    stream = io.BytesIO()
    out = writer(stream)
    for at, packet in sorted(packets):
        out.writepkt(packet, at)
    found = of(tmp_path, stream.getvalue(), "file.pcap")
    (flow,) = found.streams
    assert flow.min_rtt == pytest.approx(0.05, abs=1e-4)
    assert flow.ahead == 0
    assert found.mean_goodput(1) == pytest.approx(8e5, rel=0.02)
    assert flow.retransmits[-1] == pytest.approx(10, abs=1)
    assert set(flow.window[~np.isnan(flow.window)]) == {512 << 7}
    damaged = bytearray(stream.getvalue())
    for place in range(40, len(damaged), 97):
        damaged[place] ^= 0xFF
    with contextlib.suppress(tc.ConfigError):
        of(tmp_path, bytes(damaged))


def test_a_handshake_that_a_middlebox_answers_tells_no_rtt(tmp_path):
    packets = [
        (0.0, segment(-1, 0, 0, syn=True)),
        (1e-5, segment(-1, 0, 0, back=True, syn=True)),
        (2e-5, segment(0, 0, 0)),
    ]
    for number in range(300):
        at = 0.1 + 0.01 * number
        packets.append((at, segment(1000 * number, 1, 1000)))
        packets.append((at + 0.05, segment(1, 1000 * (number + 1), 0, back=True)))
    stream = io.BytesIO()
    out = dpkt.pcap.Writer(stream, nano=True)
    for at, packet in sorted(packets):
        out.writepkt(packet, at)
    (flow,) = of(tmp_path, stream.getvalue(), "file.pcap").streams
    assert flow.min_rtt == pytest.approx(0.05, abs=1e-4)
    assert np.nanmin(flow.rtt) > 0.04


@pytest.mark.parametrize(("timestamps", "buffer"), [(True, "1.5bdp"), (False, "1bdp")])
def test_a_capture_tells_what_the_sender_knows(tmp_path, timestamps, buffer):
    """Also of the handshake, and from SACKs while the queue is full: then no ACK is new."""
    file = tmp_path / "it.pcapng"
    path = {"rate": "20Mbps", "rtt": "50ms", "phase": "0", "buffer": buffer}
    result = tc.run(
        {"path": path, "duration": "6s",
         "start_jitter": 0, "probe_interval": "10ms", "tcp": {"timestamps": timestamps}},
        capture=tc.Capture(file, at=["client"], snap=100), progress=False,
    )  # fmt: skip
    (flow,) = of(tmp_path, file.read_bytes(), "file.pcapng").streams
    sender = result.sender_leg(0)
    srtt = np.array(sender.srtt)
    assert sender.retransmits_series[-1] > 0
    assert flow.min_rtt == pytest.approx(0.05, rel=0.003)
    assert flow.rtt[0] == pytest.approx(0.05, rel=0.003)
    assert np.nanmax(flow.rtt) == pytest.approx(np.nanmax(srtt), rel=0.003)
    steady = np.isfinite(flow.rtt) & (flow.time > 0.3)
    moments = np.searchsorted(result["time"], flow.time[steady], side="right") - 1
    assert flow.rtt[steady] == pytest.approx(srtt[moments], rel=0.02)
    window = np.array(sender.cwnd)[moments]
    assert np.mean(flow.cwnd[steady]) == pytest.approx(np.mean(window), rel=0.03)


@pytest.mark.parametrize("place", ["client", "path", "server"])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_capture_away_from_the_sender_is_told_by_its_handshake(tmp_path, place, direction):
    file = tmp_path / "it.pcapng"
    path = {"rate": "10Mbps", "rtt": "40ms"}
    experiment = {"path": path, "direction": direction, "duration": "1s"}
    tc.run(experiment, capture=tc.Capture(file, at=[place]), progress=False)
    (flow,) = of(tmp_path, file.read_bytes(), "file.pcapng").streams
    is_sender = place == {"up": "client", "down": "server"}[direction]
    expected = 0 if is_sender else 0.02 if place == "path" else 0.04
    assert flow.ahead == pytest.approx(expected, abs=2e-3)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([
            "intervals", "streams", "start", "end", "socket", "bits_per_second", "rtt", "sender",
            "snd_cwnd", "retransmits", "tcp_mss", "test_start", "reverse", "results", "x_values",
            "TCP upload::1", "raw_values", "Ping (ms) ICMP", "min_rtt", "sender_tcp_congestion",
        ]),
        inner, max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(JSON)
def test_no_json_of_a_stranger_does_more_than_have_no_streams(table):
    for reader in (iperf3.read, flent.read):
        for stream in reader("file", table).streams:
            assert len(stream.time) == len(stream.goodput) > 1


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_of_a_stranger_crash(tmp_path_factory, data):
    for head in (b"", b"\x1f\x8b\x08\0", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)):
        try:
            of(tmp_path_factory.mktemp("bytes"), head + data)
        except tc.ConfigError:
            continue


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tunnelcc.formats.read._MOST_BYTES", 2**20)
    with pytest.raises(tc.ConfigError, match="more than 1 MiB"):
        of(tmp_path, gzip.compress(bytes(2**20 + 1)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b'{"start": {},\n "intervals": [{"streams"', "its JSON ends, or is wrong, at line 2"),
        (b'{\0"start": {}, "a": 1} ', "its JSON ends, or is wrong, at line 1"),
        (b'{"start": {}, "error": "unable to connect"}', "iperf3 failed: unable to connect"),
        (b'{"start": {}, "intervals": []}', "less than two"),
        (b'{"a": 1}', "neither iperf3's nor flent's"),
        (b"64 bytes: icmp_seq=1 ttl=9 time=4 ms\n", "one answer to ping"),
        (b"1700.1\nESTAB 0 0 1.1.1.1:5 2.2.2.2:6\n cubic bytes_acked:900000\n", "one sample"),
        (b"ESTAB 0 0 1.1.1.1:5 2.2.2.2:6\n\t cubic wscale:7,7\n", "100 kB"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "it is cut off"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told(tmp_path, data, reason):
    with pytest.raises(tc.ConfigError) as told:
        of(tmp_path, data)
    assert reason in str(told.value)


def test_rtts_and_windows_of_a_capture_away_from_the_sender_are_left_out(run, tmp_path):
    file = tmp_path / "it.pcapng"
    path = {"rate": "10Mbps", "rtt": "40ms"}
    tc.run(
        {"path": path, "duration": "1s"}, capture=tc.Capture(file, at=["server"]), progress=False
    )
    (flow,) = of(tmp_path, file.read_bytes(), "file.pcapng").streams
    assert np.isnan(flow.rtt).all()
    assert np.isnan(flow.cwnd).all()
    assert flow.min_rtt == pytest.approx(0.04, rel=0.01)  # the handshake's, which all places see
    assert flow.counted == "received"
    assert np.isfinite(flow.goodput).all()
    code, _, err = run("run", "--rate", "10Mbps", "--duration", "1s", "--measured", file,
                       "--plot", tmp_path / "it.png")  # fmt: skip
    assert code == 0, err
    assert "its RTTs and windows are left out" in err


def set_back(log, by, start):
    """Return a log of ss whose times are earlier, from a sample on."""
    parts = [SS.format(1700.0 + k - by * (k >= start), size) for k, size in log]
    return "".join(parts)


@pytest.mark.parametrize("by", [1.5, 1200, -200_000])
def test_a_log_whose_clock_was_set_is_refused_at_its_line(tmp_path, by):
    samples = [(k, 1_000_000 * k) for k in range(1, 7)]
    assert len(of(tmp_path, set_back(samples, 0, 4)).streams[0].time) == 5
    with pytest.raises(tc.ConfigError) as caught:
        of(tmp_path, set_back(samples, by, 4))
    assert "line 12:" in caught.value.problems[0].hint


def test_pings_whose_clock_was_set_back_are_refused_at_their_line(tmp_path):
    pings = "".join(f"[{at}.5] 64 bytes: icmp_seq={at} ttl=9 time=40 ms\n" for at in (1, 2, 3))
    assert of(tmp_path, pings).pings.times.tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(tc.ConfigError) as caught:
        of(tmp_path, pings.replace("[3.5]", "[0.5]"))
    assert "line 3:" in caught.value.problems[0].hint


@pytest.mark.parametrize("writer", [dpkt.pcap.Writer, dpkt.pcapng.Writer])
def test_a_capture_with_a_time_of_no_clock_is_refused_at_its_packet(tmp_path, writer):
    """Packets of several interfaces are a little out of order in real captures."""

    def written(time_of_the_third):
        kept = io.BytesIO()
        out = writer(kept)
        for number in range(300):
            time = 1000 + 0.01 * number if number != 2 else time_of_the_third
            out.writepkt(segment(1 + 1000 * number, 1, 1000), ts=time)
            out.writepkt(segment(1, 1 + 1000 * (number + 1), 0, back=True), ts=time)
        return kept.getvalue()

    assert of(tmp_path, written(1000.005)).streams
    for wrong in (3.0, 1_000_000.0):
        with pytest.raises(tc.ConfigError) as caught:
            of(tmp_path, written(wrong))
        assert "packet 5:" in caught.value.problems[0].hint


def test_a_connection_whose_samples_are_of_one_moment_is_no_flow(tmp_path):
    at_once = "".join(SS.format(1701.0, 1_000_000 * k) for k in (1, 2, 3))
    with pytest.raises(tc.ConfigError):
        of(tmp_path, at_once)
    other = "".join(SS.format(1701.0 + k, 1_000_000 * k) for k in (1, 2)).replace(":40000", ":7")
    assert len(of(tmp_path, at_once + other).streams) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_files_of_windows_are_read_whatever_their_unicode(tmp_path, plain_result, encoding):
    """PowerShell writes UTF-16, and a mark of the order of bytes."""
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    written = json.dumps(iperf3.write(plain_result))
    found = of(tmp_path, (mark + written).encode(encoding))
    assert len(found.streams) == len(of(tmp_path, written).streams) > 0
    assert of(tmp_path, (mark + PING).encode(encoding)).pings.sent == 5
    with pytest.raises(tc.ConfigError) as caught:
        of(tmp_path, (mark + written[:-9]).encode(encoding))
    assert "its JSON ends" in caught.value.problems[0].hint


@pytest.mark.parametrize(
    ("line", "counts", "encoding"),
    [
        ("Reply from 10.0.0.1: bytes=32 time={}ms TTL=64",
         "    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),", "utf-8"),
        ("Reply from fd00::1: time={}ms",
         "    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),", "utf-8"),
        ("Antwort von 10.0.0.1: Bytes=32 Zeit={}ms TTL=64",
         "    Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1\n    (25% Verlust),", "cp850"),
        ("Réponse de 10.0.0.1 : octets=32 temps={} ms TTL=64",
         "    Paquets : envoyés = 4, reçus = 3, perdus = 1 (perte 25%),", "cp850"),
        ("Ответ от 10.0.0.1: число байт=32 время={}мс TTL=64",
         "    Пакетов: отправлено = 4, получено = 3, потеряно = 1\n    (25% потерь)", "cp866"),
    ],
)  # fmt: skip
def test_pings_of_windows_are_read_in_any_language(tmp_path, line, counts, encoding):
    lines = [line.format(it) for it in (40, 41, 40)]
    text = "\r\n".join(["", *lines, "", "10.0.0.1:", counts, ""])
    pings = of(tmp_path, text.encode(encoding)).pings
    assert pings.rtts.tolist() == [0.040, 0.041, 0.040]
    assert (pings.sent, pings.lost) == (4, 1)
    assert of(tmp_path, text.replace("=40", "<1").encode(encoding)).pings.rtts.min() == 0.001
