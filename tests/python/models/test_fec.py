# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels with FEC, and relays whose carriers go through a tunnel."""

from __future__ import annotations

import math
from math import comb

import pytest

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.values import Use, parity_counts
from tunnelcc.network.resolve import resolve
from tunnelcc.schema.units import UnitError

#: An entry with FEC of any kind, by its layers.
FILE = """
kind = "datagram"
summary = "a test"
software = "none"
mode = "test"
[device]
device = "tun"
mtu = 1400
queue = 500
label = "inferred"
source = "a test"
[threads]
threads = 2
label = "inferred"
source = "a test"
[cpu]
encapsulate = ["udp-send"]
decapsulate = ["udp-receive"]
label = "inferred"
source = "a test"
[socket]
queue = 0
label = "inferred"
source = "a test"
[ecn]
copied = false
label = "inferred"
source = "a test"
[modes.test]
summary = "a test"
layers = [{fec} "udp", "ip"]
label = "inferred"
source = "a test"
"""
RS = '{{ layer = "fec", code = "reed-solomon", memory = 64, parity = "{}" {} }},'
BLOB = "{ mtu = 1250, packets = 200, header = 4, packet_header = 2, cost = 40 }"
CODES = {
    "xor": '{ layer = "fec", code = "xor", parity = "4:1", memory = 64 },',
    "rs": RS.format("10:3", ', timeout = "8ms"'),
    "list": RS.format("1:2,20:5", ', header = 8, timeout = "2ms"'),
    "blob": RS.format("10:3", f', timeout = "8ms", header = 8, blob = {BLOB}'),
}


def _tunnel(tmp_path, fec: str) -> str:
    path = tmp_path / "test.toml"
    path.write_text(FILE.replace("{fec}", fec))
    return str(path)


def _run(tunnel, path=None, **keys):
    path = {"rate": "50Mbps", "rtt": "20ms", "buffer": "100MiB", **(path or {})}
    keys = {"duration": "10s", "flows": [{"cc": "bbr"}], **keys}
    return tc.run(tc.Experiment.parse({"path": path, "tunnel": tunnel, **keys}), progress=False)


def _residual(data: int, parity: int, p: float, is_blob: bool = False) -> tuple[float, float]:
    """Expected share of packets lost, and its variance from group to group."""
    shards = data + parity
    mean = square = 0.0
    for lost in range(parity + 1, shards + 1):
        chance = comb(shards, lost) * p**lost * (1 - p) ** (shards - lost)
        share = 1.0 if is_blob else lost / shards
        mean += chance * share
        square += chance * share**2
    return mean, square - mean**2


@pytest.mark.parametrize(("code", "data", "parity"), [("xor", 4, 1), ("rs", 10, 3)])
@pytest.mark.parametrize("loss", [0.02, 0.1])
def test_the_loss_it_leaves_is_that_of_theory(tmp_path, code, data, parity, loss):
    result = _run(_tunnel(tmp_path, CODES[code]), {"loss": loss})
    way = result.tunnels[0].forward
    mean, variance = _residual(data, parity, loss)
    groups = way.fec_packets / data
    assert groups > 3000
    sigma = math.sqrt(variance / groups)
    assert result.metric("residual_loss") == pytest.approx(mean, abs=3 * sigma + 1 / groups)
    recovered = loss - mean  # of the packets that were lost, those that came back
    sigma = math.sqrt(loss / way.fec_packets)
    assert result.metric("recovered_share") == pytest.approx(recovered, abs=4 * sigma)


def test_parity_takes_its_share_of_the_path(tmp_path):
    result = _run(_tunnel(tmp_path, CODES["xor"]))
    forward = result.tunnels[0].forward
    assert result.metric("parity_share") == pytest.approx(1 / 5, rel=0.01)
    assert forward.outer_bytes == result["path_wire_bytes"]
    plain = _run(_tunnel(tmp_path, ""))
    assert result.goodput == pytest.approx(plain.goodput * 4 / 5, rel=0.02)


@pytest.mark.parametrize("first", ["none", "udpspeeder"])
def test_metrics_are_of_all_tunnels_with_fec(first):
    flows = [{"tunnel": first}, {"tunnel": "sdwan-fec"}]
    path = {"rate": "20Mbps", "loss": "5%"}
    result = _run(None, path, flows=flows, duration="6s", warmup="1s")
    fecs = [tunnel.forward for tunnel in result.tunnels]
    assert len(fecs) == (1 if first == "none" else 2)

    def total(name):
        return sum(getattr(fec, f"fec_{name}") for fec in fecs)

    assert result.metric("residual_loss") == total("lost") / total("packets")
    assert result.metric("recovered_share") == total("recovered") / total("packets")
    assert result.metric("parity_share") == total("parity_bytes") / result["path_wire_bytes"]
    delays = sum(fec.fec_recovered * fec.fec_recovery_delay_mean for fec in fecs)
    assert result.metric("recovery_delay") == pytest.approx(delays / total("recovered"))
    each = result.dataset.tunnel_fec_lost.sel(direction="forward")
    assert each.values.tolist() == [fec.fec_lost for fec in fecs]


def test_counts_of_fec_leave_out_the_warm_up():
    flows = [{"rate": "4Mbps", "write_size": 1000}]
    path = {"rate": "20Mbps", "loss": "2%"}
    counts = []
    for warmup in (2, 8):
        result = _run("sdwan-fec", path, flows=flows, duration="10s", warmup=f"{warmup}s")
        counts.append(result.tunnels[0].forward.fec_packets)
    assert counts[0] / counts[1] == pytest.approx((10 - 2) / (10 - 8), rel=0.1)


def test_parity_of_kcp_is_parity():
    result = _run("kcptun", {"loss": "2%"}, duration="4s")
    (carrier,) = [leg for leg in result.connections if leg.arq_timeouts is not None]
    share = carrier.arq_parity_bytes / carrier.wire_bytes
    assert result.metric("parity_share") == pytest.approx(share)
    assert 0.2 < share < 0.3
    assert math.isnan(result.metric("residual_loss"))  # what FEC leaves, KCP sends again


@pytest.mark.parametrize("loss", [0.0, 0.03])
def test_without_parity_it_is_as_if_it_were_not_there(tmp_path, loss):
    none = _run(_tunnel(tmp_path, RS.format("4:0", "")), {"loss": loss}).digests()
    plain = _run(_tunnel(tmp_path, ""), {"loss": loss}).digests()
    assert none.pop("tunnel") != plain.pop("tunnel")  # which has counts of FEC
    assert none == plain


PATHS = {
    "no loss": {},
    "loss": {"loss": "8%"},
    "bursts": {"gilbert_elliott": {"p": "1%", "r": "25%"}},
    "reordering": {"loss": "3%", "reorder": "5%", "reorder_delay": "30ms"},
    "jitter": {"loss": "3%", "jitter": "5ms", "jitter_reorders": True},
    "fragments": {"loss": "3%", "mtu": 600},
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("path", PATHS)
def test_every_byte_arrives_once(tmp_path, code, path):
    flows = [{"cc": "cubic", "bytes": "400kB"}, {"cc": "bbr", "bytes": "300kB"}]
    keys = {"duration": "60s", "flows": flows}
    result = _run(_tunnel(tmp_path, CODES[code]), PATHS[path], **keys)
    assert [flow.total_bytes for flow in result.flows] == [400_000, 300_000]
    for way in result.tunnels[0]:
        assert way.fec_recovered + way.fec_lost <= way.fec_packets <= way.packets
        assert way.fec_parity_bytes <= way.outer_bytes
    if path == "no loss":
        assert result.tunnels[0].forward.fec_lost == 0
        assert sum(leg.retransmits for leg in result.connections) == 0
    assert result.digests() == _run(_tunnel(tmp_path, CODES[code]), PATHS[path], **keys).digests()


@pytest.mark.parametrize("code", ["xor", "blob"])
def test_flows_that_share_parity_have_one_rtt(tmp_path, code):
    # Parity of several flows would bring back a packet sooner than the path of its flow could.
    with pytest.raises(
        tc.ConfigError, match=r"flows\.1\.rtt.*all its flows have the RTT path\.rtt"
    ):
        _run(_tunnel(tmp_path, CODES[code]), flows=[{"cc": "bbr"}, {"cc": "bbr", "rtt": "30ms"}])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "path",
    [
        {"jitter": "40ms", "jitter_reorders": True},
        {"reorder": "20%", "reorder_delay": "300ms"},
    ],
)
def test_what_only_comes_late_is_neither_lost_nor_recovered(tmp_path, code, path):
    flow = {"cc": "cubic", "rate": "5Mbps", "write_size": 1300, "stop": "5s"}
    path = {"rate": "50Mbps", "rtt": "40ms", "phase": "0", "buffer": "2000p", **path}
    result = _run(_tunnel(tmp_path, CODES[code]), path, flows=[flow], duration="10s", warmup="2s")
    assert result.links["path"].forward.queue_drops == 0
    way = result.tunnels[0].forward
    assert way.fec_packets > 200
    assert (way.fec_lost, way.fec_recovered) == (0, 0)


def test_a_blob_that_is_not_full_waits_for_its_time(tmp_path):
    message = {"cc": "cubic", "rate": "80kbps", "write_size": 1000}
    plain, blob = (
        _run(_tunnel(tmp_path, code), flows=[message]).metric("flow_message_latency_p50", flow=0)
        for code in ("", CODES["blob"])
    )
    assert blob - plain == pytest.approx(0.008, abs=0.001)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("4:1", [1, 1, 1, 1]),
        ("3:2,6:5", [2, 2, 2, 3, 4, 5]),
        ("1:3,4:4", [3, 4, 4, 4]),
        ("2:0", [0, 0]),
    ],
)
def test_parity_is_interpolated_and_rounded_up(text, counts):
    assert parity_counts(text) == counts


@pytest.mark.parametrize("text", ["", "4", "4:1:1", "0:1", "4:1,4:2", "8:1,4:1", "200:56", "4:-1"])
def test_parity_that_makes_no_sense_is_refused(text):
    with pytest.raises(UnitError):
        parity_counts(text)


@pytest.mark.parametrize(
    "name",
    # Carriers that are KCP sessions have FEC of their own.
    [it for it in catalog.names() if getattr(catalog.load(it), "kcp", None) is None],
)
def test_fec_is_for_modes_that_have_it(name):
    entry = catalog.load(name)
    if isinstance(entry, DatagramEntry) and entry.fec() is not None:
        parity = f"{len(entry.fec().parity_counts)}:1"
        experiment = tc.Experiment.parse({"tunnel": {"name": name, "fec": parity}})
        assert experiment.table()["tunnel"]["fec"] == parity
    else:
        with pytest.raises(tc.ConfigError, match=r"tunnel\.fec"):
            tc.Experiment.parse({"tunnel": {"name": name, "fec": "4:1"}})


@pytest.mark.parametrize(
    ("tunnel", "changes", "key"),
    [
        ({"name": "udpspeeder", "fec": "1:1"}, {}, "tunnel.fec"),
        (
            {"name": "tinyfecvpn", "fec": "7:1", "mtu": 9000},
            {"path": {"mtu": 9100}, "flows": [{"transport": "quic"}]},
            "tunnel.fec",
        ),
        ({"name": "tinyfecvpn", "fec": "1:1"}, {"flows": [{"transport": "quic"}]}, "tunnel.fec"),
        (
            {"name": "gost-relay-ws", "under": {"name": "udpspeeder", "fec": "1:1"}},
            {},
            "tunnel.under.fec",
        ),
    ],
)
def test_groups_that_cannot_hold_a_packet_are_refused(tunnel, changes, key):
    with pytest.raises(tc.ConfigError, match=key + r" = .*data shards or more"):
        tc.Experiment.parse({"tunnel": tunnel, **changes})


def test_a_group_holds_as_much_as_its_shards():
    # UDPspeeder: 4 bytes in front of all, 2 in front of the packet, shards of 1250 bytes.
    entry = catalog.load("tinyfecvpn")
    entry.check_packet(1250 - 6, "1:1", Use(1500))
    with pytest.raises(tc.ConfigError):
        entry.check_packet(1250 - 5, "1:1", Use(1500))
    path = {"rate": "20Mbps", "rtt": "20ms"}
    tunnel = {"name": "tinyfecvpn", "fec": "1:1", "mtu": 1250 - 6}
    run = tc.run({"path": path, "duration": "2s", "tunnel": tunnel})
    assert run.metric("goodput") > 5e6


# Carriers through a tunnel ----------------------------------------------------------------------


def test_carriers_go_through_the_tunnel_under_them():
    result = _run({"name": "gost-relay-ws", "under": "wireguard"}, {"loss": "1%"})
    under = result.tunnels[1].forward
    assert result.tunnel_names == ["tunnel", "tunnel.under"]
    assert result.tunnels[0] is None
    carrier = result.legs[0][1]
    sent = round(carrier.wire_bytes / (1420 - 0)), under.packets
    assert sent[1] == pytest.approx(sent[0], rel=0.01)  # its packets fill the device
    assert result["path_wire_bytes"] == under.outer_bytes > carrier.wire_bytes
    assert resolve(result.experiment).first.mss == 1420 - 52
    table = result.to_dict()["tunnels"]
    assert [it["flows"] for it in table] == [[0], [0]]


def test_each_hop_of_a_chain_has_a_tunnel_of_its_own():
    tunnel = {"name": "gost-relay-ws", "under": "sdwan-fec", "relays": 2}
    result = _run(tunnel, flows=[{"cc": "cubic"}, {"cc": "bbr"}])
    assert result.tunnel_names == ["tunnel", "tunnel.under", "tunnel.under2", "tunnel.under3"]
    counts = [it.forward.packets for it in result.tunnels[1:]]
    assert min(counts) > 0.9 * max(counts) > 0


def test_an_entry_chooses_congestion_control_and_tunnel_of_its_carriers():
    result = _run("sdwan-tcp-opt", {"loss": "2%"}, flows=[{"cc": "cubic"}])
    assert [leg.cc for leg in result.legs[0]] == ["cubic", "bbr", "cubic"]
    assert result.tunnel_names[1] == "tunnel.under"
    reno = _run({"name": "sdwan-tcp-opt", "cc": "reno", "under": "wireguard"}, {"loss": "2%"})
    assert reno.legs[0][1].cc == "reno"
    assert reno.goodput < result.goodput / 5


def test_fec_under_a_relay_spares_its_carrier_losses():
    def retransmits(tunnel):
        return _run(tunnel, {"loss": "3%"}).metric("retransmission_ratio")

    with_fec = {"name": "sdwan-tcp-opt", "under": "sdwan-fec"}
    assert retransmits(with_fec) < retransmits("sdwan-tcp-opt") / 3


@pytest.mark.parametrize("under", ["gost-relay-ws", "ssh-tun", "openvpn-tcp"])
def test_only_datagram_tunnels_go_under(under):
    with pytest.raises(tc.ConfigError, match=r"tunnel\.under.*a datagram tunnel below relays"):
        tc.Experiment.parse({"tunnel": {"name": "gost-relay-ws", "under": under}})


def test_an_entry_under_itself_is_refused(tmp_path):
    text = catalog.path_of("sdwan-tcp-opt").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('under = "ipsec-esp"', f'under = "{path}"'))
    with pytest.raises(tc.ConfigError, match=r"carrier\.under.*a datagram tunnel"):
        tc.Experiment.parse({"tunnel": str(path)})
