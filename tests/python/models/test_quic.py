# SPDX-License-Identifier: GPL-2.0-only
"""QUIC as a carrier: its rates and bytes, streams, what is told of it, and what is refused.

Figures without a range follow from arithmetic. The ranges of quic-go's Reno are around its law,
1.683 / √p packets per round trip (additive increase 1, decrease to 0.7). Loss is random.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import tunnelcc as tc
from tunnelcc import catalog

#: UDP payload of a full packet, its data to the server and to the client, and UDP and IP headers.
FULL, UP, DOWN, HEADERS = 1441, 1412, 1416, 28
#: Bytes that GOST writes at once. They end in a packet of their own.
WRITE = 32 << 10


def _run(name: str = "gost-quic", tunnel: dict[str, Any] | None = None, **keys: Any) -> tc.Result:
    """Return a run over a path with room to spare. The CPU and the applications are no limit."""
    path = {"rate": "1Gbps", "rtt": "40ms"} | keys.pop("path", {})
    if loss := keys.pop("loss", 0):
        path["loss"] = loss
    table: dict[str, Any] = {
        "flows": {"cc": "cubic"},
        "tunnel": {"name": name, **(tunnel or {})},
        "duration": "20s",
        "warmup": "5s",
        "hosts": {"speed": 50, "tcp_rmem": "64MiB", "tcp_wmem": "64MiB"},
    }
    return tc.run(tc.Experiment.parse({**table, **keys, "path": path}), progress=False)


def _edited(folder: Path, old: str, new: str) -> str:
    """Write gost-quic's file with all that its QUIC has, one text replaced; return where it is."""
    like = (catalog.DIRECTORY.parent / "transports" / "quic.toml").read_text()
    tables = re.sub(r"^(\[+)(?=\w)", r"\1quic.", like, flags=re.MULTILINE)
    tables = re.sub(r"\[quic\.threads\].*?\n\n", "", tables, flags=re.DOTALL)  # it has its own
    text = catalog.path_of("gost-quic").read_text().replace('[quic]\ndefaults = "quic"', tables)
    assert old in text
    file = folder / "mine.toml"
    file.write_text(text.replace(old, new, 1))
    return str(file)


def _carriers(result: tc.Result) -> list[Any]:
    return [leg for leg in result.connections if leg.name == "carrier"]


def _told(result: tc.Result, flow: int = 0) -> dict[str, Any]:
    (leg,) = [it for it in result.to_dict()["flows"][flow]["legs"] if it["leg_name"] == "carrier"]
    return leg


def _packets(data: int) -> int:
    """Return in how many packets a write leaves, of ``data`` bytes each but the last."""
    return -(-WRITE // data)


def _mean_packet(data: int) -> float:
    """Return the mean IP bytes of these packets."""
    return WRITE / _packets(data) + FULL - data + HEADERS


@pytest.mark.parametrize(("direction", "data"), [("up", UP), ("down", DOWN)])
@pytest.mark.parametrize("rtt", ["20ms", "100ms"])
def test_without_loss_it_fills_the_link(direction, data, rtt):
    result = _run(path={"rate": "100Mbps", "rtt": rtt}, direction=direction)
    part = WRITE / (_packets(data) * _mean_packet(data))
    assert result.goodput == pytest.approx(100e6 * part, rel=0.005)
    (leg,) = _carriers(result)
    # The first packets were smaller, and filled the queue in slow start.
    assert leg.wire_bytes / leg.total_segments == pytest.approx(_mean_packet(data), rel=0.01)
    assert leg.rtos == 0


def test_windows_grow_until_they_are_the_limit(tmp_path):
    keys = {"path": {"rtt": "100ms"}, "warmup": "0s", "probe_interval": "100ms", "duration": "4s"}
    prompt = _edited(tmp_path, "counts_acks = true", "counts_acks = false")
    (leg,) = _carriers(_run(prompt, **keys))
    # 512 KiB a round trip at first, 6 MiB at most; both ends tell windows a quarter early.
    assert max(leg.goodput_series[:5]) < 1.25 * (512 << 10) * 8 / 0.1
    most = (6 << 20) * 8 / 0.1
    assert 0.85 * most < fmean(leg.goodput_series[20:]) < most
    assert max(leg.goodput_series) == pytest.approx(most, rel=0.02)
    # As it is: 16,000 ACKs a second are more than the receiver's pacing allows, 32 packets of
    # 1280 bytes · 1.25 in 100 ms, so that new windows have to wait for a pause.
    (leg,) = _carriers(_run(**keys))
    assert 0.7 * most < fmean(leg.goodput_series[20:]) < 0.8 * most


#: RTT, loss in both directions → Mbit/s.
RENO = {
    ("100ms", 0.001): (5, 6.6),
    ("100ms", 0.01): (1.5, 2.1),
    ("100ms", 0.05): (0.6, 0.85),
    ("100ms", 0.1): (0.4, 0.55),
    ("100ms", 0.2): (0.2, 0.28),
    ("20ms", 0.001): (25, 31),
    ("20ms", 0.01): (7.5, 9.6),
    ("20ms", 0.05): (3.0, 3.9),
    ("20ms", 0.1): (1.8, 2.3),
}


@pytest.mark.parametrize(("rtt", "loss"), RENO)
def test_reno_of_quic_go(rtt, loss):
    low, high = RENO[rtt, loss]
    duration = "1200s" if (rtt, loss) == ("100ms", 0.001) else "300s"
    path = {"rtt": rtt, "reverse_loss": loss}
    result = _run(path=path, loss=loss, duration=duration, warmup="20s")
    assert low <= result.goodput / 1e6 <= high
    if loss <= 0.01:
        law = 1.683 / loss**0.5 * UP * 8 / float(rtt.removesuffix("ms")) * 1e3
        assert result.goodput == pytest.approx(law, rel=0.1)


def test_streams_share_one_window():
    one = _run(loss=0.01, duration="60s")
    many = _run(loss=0.01, duration="60s", flows={"cc": "cubic", "count": 16})
    assert len(_carriers(many)) == 1
    assert many.goodput == pytest.approx(one.goodput, rel=0.05)
    assert many.jain > 0.999
    four = {"cc": "cubic", "count": 4}
    apart = _run(tunnel={"carriers": "flow"}, loss=0.01, duration="60s", flows=four)
    assert len(_carriers(apart)) == 4
    assert apart.goodput == pytest.approx(4 * one.goodput, rel=0.15)


def _message_p95(name: str, loss: float, **tunnel: Any) -> list[float]:
    flows = {"cc": "cubic", "count": 16, "rate": "48kbps", "write_size": "1000B"}
    path = {"rate": "100Mbps", "rtt": "100ms"}
    result = _run(name, tunnel, path=path, loss=loss, flows=flows, duration="60s")
    return sorted(flow.message_latency_p95 for flow in result.flows)


def test_a_lost_packet_holds_up_no_other_stream():
    # At 1 %, one message in a hundred is lost. Over TCP each holds up those of all streams. The
    # rate of Brutal keeps its window out of this.
    calm = _message_p95("hysteria2", 0, rate="20Mbps")
    lossy = _message_p95("hysteria2", 0.01, rate="20Mbps")
    assert lossy == pytest.approx(calm, rel=0.05)
    mux = _message_p95("gost-relay-mws", 0.01)
    assert min(mux) > calm[0] + 0.08


#: Loss → rate of packets, and of data, as parts of the rate that is set and of its data.
BRUTAL = {0: (1, 1), 0.05: (1.053, 1), 0.1: (1.111, 1), 0.2: (1.25, 1), 0.3: (1.25, 0.875)}


@pytest.mark.parametrize("loss", BRUTAL)
def test_brutal_keeps_its_rate(loss):
    sent, read = BRUTAL[loss]
    result = _run("hysteria2", {"rate": "50Mbps"}, loss=loss, duration="60s", warmup="10s")
    (leg,) = _carriers(result)
    rate = fmean(leg.throughput[len(leg.throughput) // 6 :]) * FULL / (FULL + HEADERS)
    assert rate == pytest.approx(sent * 50e6, rel=0.02)
    assert result.goodput == pytest.approx(read * 50e6 * UP / FULL, rel=0.03)
    assert leg.cc == "brutal"


def test_the_stream_window_limits_brutal():
    # In-order delivery waits for the packet that is repaired last, four to five round trips.
    result = _run("hysteria2", {"rate": "400Mbps"}, path={"rtt": "100ms"}, loss=0.1)
    assert 125e6 < result.goodput < 150e6
    assert _told(result)["limit_share"]["stream_window"] > 0.5


def test_algorithms_of_the_entries():
    rates = {}
    for name in ("gost-quic", "tuic", "hysteria2"):
        result = _run(name, path={"rate": "100Mbps"}, loss=0.01)
        rates[name] = result.goodput
        assert _told(result)["leg_cc"] == {"gost-quic": "reno", "tuic": "cubic"}.get(name, "bbr")
    # 1.054 (RTT/p)^¾ of CUBIC and 1.683/√p of Reno: the latter is larger at 40 ms and 1 %.
    assert rates["tuic"] < rates["gost-quic"] < rates["hysteria2"]
    assert rates["hysteria2"] > 80e6


def test_first_bytes_take_the_round_trips_of_the_entry():
    for name in ("gost-quic", "tuic", "hysteria2"):
        flows = [{"bytes": "1kB"}, {"bytes": "1kB", "start": "2s"}]
        result = _run(name, flows=flows, duration="4s", warmup="0s", start_jitter="0s")
        first, second = (flow.first_byte_at for flow in result.flows)
        before = list(catalog.load(name).round_trips().values())
        assert second - 2 == pytest.approx(0.04 * (before[1] + 0.5), abs=0.003)
        if name != "hysteria2":  # which connects when it starts
            assert first == pytest.approx(0.04 * (before[0] + 0.5), abs=0.003)


def test_what_is_told():
    result = _run(loss=0.05, path={"rtt": "20ms"})
    leg, raw = _told(result), _carriers(result)[0]
    lost = leg["arq_fast_retransmits"] + leg["arq_early_retransmits"]
    # What a packet had may need two, if there is an ACK beside it.
    assert lost <= leg["retransmits"] <= 1.1 * lost
    assert min(leg["arq_fast_retransmits"], leg["arq_early_retransmits"]) > 100
    assert leg["rtos"] == leg["arq_timeouts"]
    assert raw.srtt[-1] == pytest.approx(0.02, abs=0.006)
    assert max(raw.cwnd[20:]) < 40


def test_runs_repeat_and_depend_on_the_seed():
    first, again, other = (_run(loss=0.02, duration="8s", seed=seed) for seed in (1, 1, 2))
    assert first.digests() == again.digests()
    assert first.digests() != other.digests()


def test_connections_in_a_chain():
    flows = {"cc": "cubic", "bytes": "500kB", "count": 2}
    chain = {"chain": [{"rtt": "20ms", "cc": "bbr"}]}
    result = _run(tunnel=chain, loss=0.02, flows=flows, warmup="0s")
    assert [flow.total_bytes for flow in result.flows] == [500_000] * 2
    assert {leg.name: leg.cc for leg in result.connections if leg.name != "app"}[
        "carrier2"
    ] == "bbr"


@pytest.mark.parametrize(
    ("name", "tunnel", "message"),
    [
        ("gost-quic", {"rate": "20Mbps"}, "tunnel.rate = '20Mbps': expected no value with gost"),
        ("hysteria2", {"under": "wireguard"}, "tunnel.under = 'wireguard': expected no value"),
        ("tuic", {"kcp": {"resend": 2}}, "tunnel.kcp"),
        ("tuic", {"fec": "10:3"}, "tunnel.fec = '10:3': expected no value with tuic"),
    ],
)
def test_bad_keys(name, tunnel, message, refusal):
    assert message in refusal({"tunnel": {"name": name, **tunnel}})


def test_a_path_is_too_narrow_for_a_tunnel_that_no_flow_uses_too():
    with pytest.raises(tc.ConfigError, match=r"path\.mtu of at least 1228"):
        tc.Experiment.parse(
            {"path": {"mtu": 1200}, "tunnel": "tuic", "flows": [{"cc": "bbr", "tunnel": "none"}]}
        )


def test_a_path_too_narrow_for_its_packets():
    with pytest.raises(tc.ConfigError, match="of at least 1308,"):
        tc.Experiment.parse({"path": {"mtu": 1300}, "tunnel": "gost-quic"})


def test_a_narrow_path_has_smaller_packets():
    result = _run(path={"rate": "50Mbps", "mtu": 1400})
    (leg,) = _carriers(result)
    assert leg.wire_bytes / leg.total_segments < 1400
    assert result.goodput > 40e6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('protocol = "quic"', 'protocol = "kcp"', "kcp: expected a table"),
        ('protocol = "quic"', 'protocol = "tcp"', "carrier.protocol = 'tcp': expected quic"),
        ("first_to_client = 1280", "first_to_client = 1100", "quic.packets.first_to_client = 1100"),
        ("most = 1452", "most = 1270", "quic.packets.most = 1270"),
        ('most = "6MiB"', 'most = "1KiB"', "quic.stream.most = "),
        ("server = [1280, 815]", "server = []", "quic.handshake"),
        ('wake_least = "0s"', 'wake_least = "1ms"', "quic.threads.wake_delay = 0.0"),
        ('cc = "reno"', 'cc = "rino"', "rino"),
    ],
)
def test_bad_entries(tmp_path, old, new, message, refusal):
    tunnel = _edited(tmp_path, old, new)
    assert message in refusal({"tunnel": tunnel})


def test_show_tells_the_layers(run):
    code, out, _ = run("show", "tunnel", "gost-quic")
    assert code == 0
    text = " ".join(out.split())
    for part in ("29 B per packet of ≤ 1441 B", "25 B per packet", "0.5 MiB to 6 MiB", "reno"):
        assert part in text
