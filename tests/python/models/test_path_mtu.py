# SPDX-License-Identifier: GPL-2.0-only
"""Links whose MTU hosts do not know: what Linux does, what tunnels do, what a run says."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.analysis import path_mtu
from tunnelcc.words import warnings

_DATA = Path(__file__).parents[2] / "validation/data/linux/path_mtu.csv"
_BYTES = 4_000_000
# Of the measured link.
_LINK = {"rate": "10Mbps", "rtt": "40ms", "buffer": "100p"}
_SILENT = {"rate": "20Mbps", "rtt": "20ms", "mtu": 1400, "too_big": "silent"}


def run(tunnel=None, flows=None, tcp=None, duration="3s", warmup="0s", **path):
    keys = {"path": _SILENT | path, "flows": flows or [{"cc": "cubic"}], "duration": duration}
    keys |= {"warmup": warmup}
    if tunnel:
        keys["tunnel"] = tunnel
    if tcp:
        keys["tcp"] = tcp
    return tc.run(keys)


def told(result):
    totals = result.to_dict()
    links = map(warnings.mtu, path_mtu.of_links(result.network, totals))
    tunnels = map(warnings.divided, path_mtu.of_tunnels(result.network, totals))
    return " ".join([*links, *tunnels])


def _measured():
    """Return the conditions that were measured, each with its runs."""
    cells = {}
    with _DATA.open() as file:
        for row in csv.DictReader(file):
            cells.setdefault(tuple(row.values())[:7], []).append(row)
    return cells


# How far the completion time may be off.
_TOLERANCE = 0.1


@pytest.fixture(scope="module")
def wireguard_go(tmp_path_factory):
    """The catalogue's WireGuard, but with a program's UDP sockets: the one that was measured."""
    text = (Path(catalog.__file__).parent / "tunnels/wireguard.toml").read_text()
    file = tmp_path_factory.mktemp("tunnel") / "wireguard-go.toml"
    file.write_text(text.replace('df = "clear"', 'df = "wanted"'))
    return str(file)


@pytest.mark.parametrize("cell", _measured(), ids=lambda cell: " ".join(filter(None, cell)))
def test_a_transfer_as_measured_on_linux(cell, wireguard_go):
    mtu, too_big, probing, clamp, tunnel_mtu, tunnel_mss, fragments = cell
    rows = _measured()[cell]
    path = _LINK | {"mtu": int(mtu), "too_big": too_big, "fragments": fragments}
    if clamp:
        path["clamp_mss"] = clamp if clamp == "pmtu" else int(clamp)
    flow = {"cc": "cubic", "bytes": _BYTES, "preamble": 0, "write_size": 65536}
    keys = {"path": path, "flows": [flow], "tcp": {"mtu_probing": int(probing)}}
    if tunnel_mtu:
        keys["tunnel"] = {"name": wireguard_go, "mtu": int(tunnel_mtu)}
        keys["tunnel"] |= {"mss": int(tunnel_mss)} if tunnel_mss else {}
    result = tc.run(keys | {"duration": "30s", "warmup": "0s"})
    leg = result.path_leg(0)
    flow_totals = result.to_dict()["flows"][0]
    done = flow_totals["flow_completion_time"]
    if not rows[0]["done_s"]:
        assert done is None
        assert leg.payload_bytes == 0
        return
    if probing == "0":
        assert leg.mss == float(rows[0]["mss"])
    else:  # the search ends within 8 bytes of the largest (sysctl tcp_probe_threshold)
        assert leg.mss == pytest.approx(float(rows[0]["mss"]), abs=8)
    times = [float(row["done_s"]) for row in rows]
    if tunnel_mtu:
        # The real SYN waits for WireGuard's handshake, which is not simulated: its RTT is longer,
        # and with it the time-outs before the first byte.
        times = [float(row["done_s"]) - float(row["first_s"]) for row in rows]
        done -= flow_totals["flow_first_byte_at"]
    assert done == pytest.approx(sum(times) / len(times), rel=_TOLERANCE)


def test_a_black_hole_stalls_exactly_what_does_not_fit():
    """Messages that fill no segment pass; a bulk transfer beside them does not."""
    flows = [{"cc": "cubic"}, {"cc": "cubic", "rate": "100kbps", "write_size": 1000}]
    result = run(flows=flows)
    bulk, messages = (flow["flow_goodput"] for flow in result.to_dict()["flows"])
    assert bulk == 0
    assert messages == pytest.approx(100e3, rel=0.1)
    text = told(result)
    assert "told nobody" in text
    assert "Flow 0 delivered nothing" in text
    assert "path.clamp_mss" in text
    assert "tcp.mtu_probing" in text


@pytest.mark.parametrize("tunnel", ["none", "ipsec-esp"])
@pytest.mark.parametrize("begins", ["start", "data_start"])
def test_a_host_remembers_what_one_connection_learned(tunnel, begins):
    """As Linux (path_mtu.py remember): of a later connection nothing is too large."""
    flows = [{"cc": "cubic"}]
    alone = run(flows=flows, too_big="tell", tunnel=tunnel)
    later = run(flows=[*flows, {"cc": "cubic", begins: "2s"}], too_big="tell", tunnel=tunnel)
    drops = "link_mtu_drops"
    assert alone[drops].sum() > 0
    assert later[drops].sum() == alone[drops].sum()
    assert later.to_dict()["flows"][1]["flow_goodput"] > 0


def test_what_fits_is_as_if_the_link_had_no_mtu():
    plain = run(too_big="known", mtu=1500).goodput
    assert run(mtu=1500).goodput == plain
    assert run(mtu=1400, clamp_mss="pmtu").goodput == run(too_big="known").goodput


@pytest.mark.parametrize(
    ("tunnel", "too_big", "works"),
    [
        ("wireguard", "silent", True),  # its packets may be fragmented
        ("vxlan", "silent", True),
        ("openvpn-udp", "silent", False),
        ("openvpn-udp", "tell", True),
        ("ipsec-esp", "silent", False),
        ("ipsec-esp", "tell", True),
        ("tinc", "silent", False),  # as a connection during its search
        ("tinc", "tell", False),
        ("tinc", "known", True),  # after it
        ("openvpn-tcp", "silent", False),
        ("openvpn-tcp", "tell", True),
        ("gost-relay-wss", "tell", True),
        ("hysteria2", "silent", True),  # QUIC searches
        ("kcptun", "silent", True),  # 1378 bytes
    ],
)
def test_tunnels_and_their_outer_packets(tunnel, too_big, works):
    goodput = run(tunnel=tunnel, too_big=too_big).goodput
    assert (goodput > 4e6) if works else (goodput == 0)


def test_fragments_and_a_firewall():
    """The MTU of the device that the text names is the largest that works."""
    stuck = run(tunnel="wireguard", fragments="drop")
    assert stuck.goodput == 0
    assert "tunnel.mtu, at most 1340 here" in told(stuck)
    heal = {"name": "wireguard", "mtu": 1340}
    assert run(tunnel=heal, fragments="drop").goodput > 15e6
    assert run(tunnel=heal | {"mtu": 1341}, fragments="drop").goodput == 0
    probed = run(tunnel="wireguard", fragments="drop", tcp={"mtu_probing": 1}, duration="10s")
    assert 0 < probed.path_leg(0).mss <= 1288
    assert probed.goodput > 5e6


def test_an_mss_of_1350_cures_and_one_of_1400_does_not():
    def through(mss):
        tunnel = {"name": "wireguard", "mtu": 1440, "mss": mss}
        return run(tunnel=tunnel, mtu=1480, fragments="drop").goodput

    assert through(1350) > 15e6
    assert through(1400) == 0


@pytest.mark.parametrize("mtu", [1420, 1500])
def test_a_device_whose_packets_do_not_fit_is_told(mtu):
    """Its host knows the MTU, and fragments: 1500 bytes and 60 of WireGuard on a path of 1500."""
    flows = [{"cc": "cubic"}, {"cc": "cubic", "direction": "down"}]
    tunnel = {"name": "wireguard", "mtu": mtu}
    result = run(flows=flows, tunnel=tunnel, too_big="known", mtu=1500, warmup="1s")
    there, back = result.tunnels[0]
    text = told(result)
    if mtu == 1420:
        assert there.fragmented == back.fragmented == 0
        assert text == ""
        return
    assert 0 < there.fragmented <= there.packets, "of one span"
    assert f"fragmented {there.fragmented} of {there.packets} packets to server" in text
    assert f"fragmented {back.fragmented} of {back.packets} packets to client" in text
    assert "tunnel.mtu, at most 1440 here" in text
    fits = run(flows=flows, tunnel={**tunnel, "mtu": 1440}, too_big="known", mtu=1500)
    assert fits.tunnels[0].forward.fragmented == 0


def test_packets_that_do_not_fit_count_after_the_warm_up():
    """As all that is told beside them: at most as many as were offered then."""
    keys = {"tunnel": "wireguard", "too_big": "tell", "mtu": 1300, "warmup": "2s"}
    result = run(**keys)
    link = result.links["path"].forward
    assert 0 < link.fragmented <= link.packets
    assert f"path (client → server) fragmented {link.fragmented:.0f} packets" in told(result)
    before = run(**{**keys, "warmup": "0s"}).links["path"].forward.fragmented
    assert before > link.fragmented


@pytest.mark.parametrize("tunnel", [None, "wireguard"])
def test_a_black_hole_in_the_warm_up_is_told(tunnel):
    """Retransmissions are seconds apart then: none of them is in the measured part."""
    keys = {"tunnel": tunnel, "mtu": 1280, "fragments": "drop", "warmup": "8s", "duration": "14s"}
    result = run(**keys)
    assert (
        result.links["path"].forward.mtu_drops == result.links["path"].forward.fragment_drops == 0
    )
    assert "lost packets of more than 1280 bytes in the warm-up" in told(result)
    assert "Flow 0 delivered nothing" in told(result)
    assert ("tunnel.mtu" if tunnel else "tcp.mtu_probing") in told(result)


@pytest.mark.parametrize("flow", [{"bytes": "20kB", "cc": "cubic"}, {"start": "13.9s"}])
def test_a_flow_that_sends_nothing_after_the_warm_up_is_in_no_black_hole(flow):
    for keys in ({"mtu": 1500}, {"tunnel": "wireguard"}):
        told_of_run = told(run(flows=[flow], warmup="8s", duration="14s", **keys))
        assert "black hole" not in told_of_run


def test_a_second_link_tells_across_the_first():
    result = tc.run(
        {
            "path": {"rate": "20Mbps", "rtt": "20ms"},
            "network": {
                "links": {
                    "a": {"between": ["client", "router"], "rtt": "10ms"},
                    "b": {
                        "between": ["router", "server"],
                        "rtt": "10ms",
                        "mtu": 1280,
                        "too_big": "tell",
                    },
                },
            },
            "flows": [{"from": "client", "to": "server", "cc": "cubic"}],
            "duration": "3s",
            "warmup": "0s",
        }
    )
    assert result.path_leg(0).mss == 1228
    assert result.goodput > 15e6
    assert result.to_dict()["links"]["b"]["forward"]["link_mtu_drops"] == 10


def test_ipv6_routers_never_fragment():
    keys = {"tunnel": "wireguard", "too_big": "silent", "duration": "2s"}
    assert run(**keys).goodput > 0
    assert run(**keys, ip=6, mtu=1400).goodput == 0
    assert run(**keys | {"too_big": "tell"}, ip=6, mtu=1400).goodput > 10e6
