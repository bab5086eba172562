# SPDX-License-Identifier: GPL-2.0-only
"""What limits flows is what raises their goodput when it is relaxed."""

from __future__ import annotations

import json

import pytest

import tunnelcc as tc
from tunnelcc.errors import ConfigError
from tunnelcc.running.confirm import THOROUGH, Confirmer, confirm
from tunnelcc.scenario.relax import changes
from tunnelcc.words import findings
from two_paths import PATHS, experiment_with, flow_with, links_with

FAST = {"rate": "100Mbps", "rtt": "40ms"}
SILENT = {**FAST, "mtu": 1280, "too_big": "silent", "fragments": "drop"}


def brutal(rate):
    flows = {"cc": {"name": "brutal", "rate": f"{rate}Mbps"}}
    return {"path": {"rate": "20Mbps", "rtt": "40ms"}, "flows": flows, "duration": "10s"}


LINKS = {
    "A": {"between": ["client", "x"], "rate": "20Mbps", "rtt": "5ms", "buffer": "100kB"},
    "B": {"between": ["x", "y"], "rate": "20Mbps", "rtt": "20ms"},
    "C": {"between": ["y", "server"], "rate": "1Gbps", "rtt": "5ms"},
}
ACROSS = {"path": {"rtt": "1ms"}, "flows": [{"from": "client", "to": "server"}]}
LOSSY = {
    "A": {**LINKS["A"], "rate": "100Mbps"},
    "B": {**LINKS["B"], "rate": "200Mbps", "loss": "0.5%"},
    "C": LINKS["C"],
}
SHALLOW = {
    "lan": {"between": ["client", "near"], "rate": "100Mbps", "rtt": "1ms", "buffer": "4p"},
    "wan": {"between": ["near", "server"], "rate": "100Mbps", "rtt": "40ms"},
}
AGAINST = {
    "X": {
        "between": ["server", "client"], "rate": "50Mbps", "rtt": "40ms",
        "reverse": {"buffer": "4500B"},
    }
}  # fmt: skip
RENO = [{"from": "client", "to": "server", "cc": "reno"}]
OFFICE = {
    "network": {
        "links": {
            "wan": {"between": ["edge", "server"], "rate": "100Mbps", "rtt": "30ms"},
            **{f"lan{i}": {"between": [f"pc{i}", "edge"], "rate": "1Gbps", "rtt": "400us"}
               for i in range(1, 6)},
        }
    },
    "tunnel": {"name": "wireguard", "between": ["edge", "server"]},
    "path": {"rtt": "1ms"}, "duration": "10s", "direction": "down",
    "flows": [
        {"from": f"pc{i}", "to": "server", "count": 5, "interarrival": "2s", "bytes": "500kB"}
        for i in range(1, 6)
    ],
}  # fmt: skip

#: Experiment, and the keys that limit together; "": slow start; None: nothing.
CASES = {
    "a rate that is set, below the link": (brutal(15), ["flows.0.cc.rate"]),
    "a rate that is set near the link": (brutal(19), ["flows.0.cc.rate", "path.rate"]),
    "a rate that is set to that of the link": (brutal(20), ["flows.0.cc.rate", "path.rate"]),
    "a rate that is set above the link": (brutal(25), ["path.rate"]),
    "one far above it": (brutal(200), ["path.rate"]),
    "one that costs goodput": (brutal(400), ["path.rate"]),
    "WireGuard over a silent path of 1280": (
        {"path": SILENT, "tunnel": "wireguard", "direction": "down", "duration": "10s"},
        ["path.mtu"],
    ),
    "no tunnel over a silent path of 1280": ({"path": SILENT, "duration": "10s"}, ["path.mtu"]),
    "KCP's window at 180 ms": (
        {"path": {**FAST, "rtt": "180ms"}, "tunnel": "kcptun", "duration": "10s"},
        ["tunnel.kcp.client_send_window"],
    ),
    "a stream of 256 KiB over 1 s": (
        {"path": {**FAST, "rtt": "1s"}, "duration": "60s",
         "tunnel": {"name": "gost-relay-mwss", "stream_window": "256KiB"}},
        ["tunnel.stream_window"],
    ),
    "little random loss, and drops of slow start": (
        {"path": {"rate": "200Mbps", "rtt": "50ms", "loss": "0.05%"}, "flows": {"cc": "reno"},
         "duration": "20s"},
        ["path.loss"],
    ),
    "hysteria2 of 80 on a link of 50": (
        {"path": {"rate": "50Mbps", "rtt": "40ms"}, "duration": "5s",
         "tunnel": {"name": "hysteria2", "rate": "80Mbps"}},
        ["path.rate"],
    ),
    "a reverse link full of ACKs": (
        {"path": {"rate": "500Mbps", "rtt": "20ms", "reverse_rate": "800kbps"}, "duration": "6s"},
        ["path.reverse_rate"],
    ),
    "16 flows with windows on a full link": (
        {"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "6s",
         "flows": {"count": 16, "window": "64KiB"}},
        ["path.rate"],
    ),
    "KCP over RED": (
        {"path": {"rate": "100Mbps", "rtt": "60ms", "queue": "red", "buffer": "500p"},
         "tunnel": {"name": "kcptun", "kcp": {
             "client_send_window": 512, "server_receive_window": 1024}}, "duration": "6s"},
        ["path.queue"],
    ),
    "FQ-CoDel with a buffer of 8 kB": (
        {"path": {**FAST, "queue": "fq-codel", "buffer": "8kB"}, "duration": "8s"},
        ["path.buffer"],
    ),
    "KCP's equal windows": (
        {"path": {**FAST, "rtt": "100ms"}, "duration": "5s",
         "tunnel": {"name": "gost-kcp", "kcp": {
             "client_send_window": 64, "server_receive_window": 64}}},
        ["tunnel.kcp.client_send_window", "tunnel.kcp.server_receive_window"],
    ),
    "two equal links": (
        {**ACROSS, "network": {"links": LINKS}, "duration": "6s"},
        ["network.links.A.rate", "network.links.B.rate"],
    ),
    "loss on the link that is not the narrowest": (
        {**ACROSS, "flows": RENO, "network": {"links": LOSSY}, "duration": "10s"},
        ["network.links.B.loss"],
    ),
    "finalspeed of 16 on a link of 11": (
        {"path": {"rate": "11Mbps", "rtt": "40ms"}, "duration": "6s",
         "tunnel": {"name": "finalspeed", "rate": "16Mbps"}},
        ["path.rate"],
    ),
    "hysteria2 of 80 through a policer of 2.5": (
        {"path": {"rate": "50Mbps", "rtt": "40ms", "policer": {"rate": "2.5Mbps", "burst": "50kB"}},
         "tunnel": {"name": "hysteria2", "rate": "80Mbps"}, "duration": "6s"},
        ["path.policer.rate"],
    ),
    "hysteria2 of 80 before a hop of 10": (
        {"path": {"rate": "50Mbps", "rtt": "40ms"}, "duration": "6s",
         "tunnel": {"name": "hysteria2", "rate": "80Mbps",
                    "chain": [{"rtt": "10ms", "rate": "10Mbps"}]}},
        ["tunnel.chain.0.rate"],
    ),
    "hysteria2 of 90 on a link of 100 that loses 1 %": (
        {"path": {"rate": "100Mbps", "rtt": "150ms", "loss": "1%"}, "duration": "12s",
         "tunnel": {"name": "hysteria2", "rate": "90Mbps"}},
        ["path.loss", "path.rate", "tunnel.rate"],
    ),
    "three flows in TUIC": (
        {"path": {"rate": "20Mbps", "rtt": "40ms"}, "tunnel": "tuic", "flows": {"count": 3},
         "duration": "6s"},
        ["path.rate"],
    ),
    "16 flows in kcptun": (
        {"path": {"rate": "10Mbps", "rtt": "40ms"}, "tunnel": "kcptun", "flows": {"count": 16},
         "duration": "6s"},
        ["path.rate"],
    ),
    "TinyFECVPN of 1500 over a silent path of 1280": (
        {"path": {**SILENT, "rate": "50Mbps"}, "tunnel": "tinyfecvpn", "duration": "6s"},
        ["path.mtu"],
    ),
    "tinc over a silent path of 1400": (
        {"path": {**SILENT, "mtu": 1400}, "tunnel": "tinc", "duration": "6s"}, ["path.mtu"],
    ),
    "KCP on a slow CPU": (
        {"path": FAST, "tunnel": "kcptun", "hosts": {"speed": 0.02}, "duration": "5s"},
        ["hosts.speed"],
    ),
    "RED with a buffer of 8 kB": (
        {"path": {**FAST, "queue": "red", "buffer": "8kB"}, "duration": "8s"}, ["path.buffer"],
    ),
    "BBRv3 with a small receive buffer": (
        {"path": {**FAST, "rtt": "100ms"}, "flows": {"cc": "bbr3"}, "duration": "8s",
         "hosts": {"tcp_rmem": "500kB"}},
        ["hosts.tcp_rmem"],
    ),
    "vtun-udp with a large receive buffer, and a send buffer of 1 MiB": (
        {"path": {"rate": "500Mbps", "rtt": "100ms"}, "tunnel": "vtun-udp", "duration": "6s",
         "flows": {"cc": "bbr"}, "hosts": {"tcp_rmem": "128MiB", "tcp_wmem": "1MiB"}},
        ["hosts.tcp_wmem"],
    ),
    "a shallow LAN before the tunnel": (
        {**ACROSS, "network": {"links": SHALLOW}, "duration": "8s",
         "tunnel": {"name": "wireguard", "between": ["near", "server"]}},
        ["network.links.lan.buffer"],
    ),
    "a flow against a link's first direction": (
        {**ACROSS, "flows": RENO, "network": {"links": AGAINST}, "duration": "8s"},
        ["network.links.X.reverse.buffer"],
    ),
    "a backlog that never drains": (
        {"path": {"rate": "50Mbps", "rtt": "40ms"}, "flows": {"rate": "92Mbps"}, "duration": "6s"},
        ["path.rate"],
    ),
    "a burst of short flows": (
        {"path": {"rate": "10Mbps", "rtt": "40ms"}, "duration": "10s",
         "flows": {"count": 15, "interarrival": "50ms", "bytes": "500kB"}},
        ["path.rate"],
    ),
    "the application": (
        {"path": FAST, "flows": {"rate": "5Mbps"}, "duration": "5s"}, ["flows.0.rate"],
    ),
    "datagrams over a link that is too slow": (
        {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "4s",
         "flows": {"transport": "udp", "traffic": "constant", "rate": "15Mbps"}},
        ["path.rate"],
    ),
    "a call on a link that is too slow": (
        {"path": {"rate": "40kbps", "rtt": "40ms", "buffer": "20p"}, "duration": "8s",
         "flows": {"transport": "udp", "traffic": "call"}},
        ["path.rate"],
    ),
    "pages behind WireGuard, which no queue limits": (OFFICE, ""),
    "a flow with all that it wants": (
        {"path": FAST, "duration": "4s",
         "flows": {"transport": "udp", "traffic": "constant", "rate": "1Mbps"}},
        None,
    ),
}  # fmt: skip


def _findings(keys, **options):
    return confirm(tc.run(tc.Experiment.parse(keys), progress=False), jobs=1, **options)


def _keys(finding):
    first = findings.limits_of(finding)[:1]
    return sorted(change.key for it in first for change in it.changes)


@pytest.mark.parametrize("case", CASES)
def test_what_limits_is_named(case):
    keys, expected = CASES[case]
    first = _findings(keys)[0]
    if expected == "":
        assert first.is_slow_start
    else:
        assert not first.is_slow_start
        assert _keys(first) == (expected or [])
    for it in first.found:
        assert it.gain >= 0.05


@pytest.mark.parametrize("rate", [25, 200, 400])
def test_a_rate_above_the_link_loses_fewer_packets_when_it_is_lowered(rate):
    (finding,) = _findings(brutal(rate))
    lower = finding.lower
    assert lower.changes[0].key == "flows.0.cc.rate"
    assert lower.after.resent < 0.01 < lower.before.resent
    assert lower.gain > (0.1 if rate == 400 else -0.05)


@pytest.mark.parametrize("rate", [15, 19])
def test_a_rate_below_the_link_is_not_to_be_lowered(rate):
    (finding,) = _findings(brutal(rate))
    assert finding.lower is None


def test_what_more_of_a_limit_gives_and_what_limits_then():
    keys = CASES["a stream of 256 KiB over 1 s"][0]
    runs = Confirmer(tc.run(keys, progress=False), 1, THOROUGH)
    (finding,) = runs.findings()
    rungs = runs.ladder(finding)
    assert [it.value for it in rungs][:3] == ["512KiB", "1MiB", "2MiB"]
    assert rungs[0].gain < rungs[1].gain < rungs[2].gain
    assert rungs[-1].then == ("hosts.tcp_wmem",)


def test_more_of_a_window_tells_what_4096_give_and_at_what_price():
    keys = CASES["KCP's window at 180 ms"][0]
    runs = Confirmer(tc.run(keys, progress=False), 1, THOROUGH)
    (finding,) = runs.findings()
    rungs = {it.value: it for it in runs.ladder(finding)}
    assert rungs["4096"].gain > 5 * rungs["256"].gain
    assert rungs["4096"].resent > rungs["256"].resent


def test_findings_do_not_depend_on_the_number_of_processes():
    result = tc.run({"path": {**FAST, "loss": "0.5%"}, "duration": "30s"}, progress=False)
    alone, several = (confirm(result, jobs=jobs) for jobs in (1, 2))
    assert [*map(findings.record, alone)] == [*map(findings.record, several)]
    json.dumps(findings.record(alone[0]), allow_nan=False)


def test_a_key_has_one_worth():
    """In the sentence, which is of several seeds, and in the table of all keys."""
    path = tc.Path(rate="20Mbps", rtt="60ms", loss="0.1%")
    (found,) = tc.confirm(tc.run(tc.Experiment(path=path), progress=False))
    worths = {it.changes[0].key: it.gain for it in found.found}
    assert {"path.loss", "path.rate"} <= worths.keys()
    assert worths == {key: found.gains[key] for key in worths}


def test_a_run_is_not_changed_by_what_is_confirmed():
    result = tc.run({"path": FAST, "duration": "2s"}, progress=False)
    before = result.to_json()
    confirm(result, jobs=1)
    assert result.to_json() == before


def test_each_change_changes_the_key_that_it_names():
    keys = {
        "path": {**FAST, "loss": "1%", "queue": "red", "policer": {"rate": "50Mbps"},
                 "reverse_rate": "5Mbps", "rate_steps": [["1s", "50Mbps"]], "jitter": "1ms"},
        "tunnels": {"low": {"name": "wireguard", "queue": 100}},
        "tunnel": {"name": "kcptun", "stream_window": "1MiB"},
        "flows": [{"tunnel": "openvpn-udp"}, {"cc": {"name": "brutal", "rate": "80Mbps"}},
                  {"transport": "quic", "tunnel": "none"}, {"tunnel": "low"}],
        "hosts": {"client": {"tcp_wmem": "1MiB"}},
    }  # fmt: skip
    experiment = tc.Experiment.parse(keys)
    before, told = experiment.table(), changes(experiment)
    for name in (
        "path.rate_steps", "path.loss", "path.queue", "path.policer.rate", "path.reverse_rate",
        "path.jitter", "tunnels.low.queue", "tunnels.openvpn-udp.queue", "tunnel.stream_window",
        "tunnel.kcp.client_send_window", "flows.1.cc.rate", "flows.1.cc.rate lowered",
        "flows.2.stream_window", "hosts.client.tcp_wmem", "hosts.tcp_rmem",
    ):  # fmt: skip
        assert name in told
    for name, change in told.items():
        assert tc.relax(experiment, name).table() != before, (name, change)


@pytest.mark.parametrize("whose", ["flow", "carrier", "bonding"])
def test_links_of_all_paths_may_limit(whose):
    flow = flow_with()
    if whose == "flow":
        ends = {"from": "router", "to": "relay"}
        table = {"network": {"links": links_with()}, "flows": [{**ends, "mptcp": PATHS}]}
        experiment = tc.Experiment.parse(table)
    elif whose == "carrier":
        experiment = experiment_with({"name": "gost-quic", "mpquic": PATHS}, flow)
    else:
        uplinks = {"routes": [["router", "mast", "relay"]], "use": "weights"}
        flow["route"] = ["pc", "router", "isp", "relay", "server"]
        experiment = experiment_with({"name": "wireguard", "uplinks": uplinks}, flow)
    found = changes(experiment)
    for link in ("dsl", "lte", "lte-far"):
        assert f"network.links.{link}.rate" in found
    network = experiment.resolved
    assert [step.link for step in network.bottlenecks] == ["dsl", "lte"]


def test_a_key_that_cannot_be_relaxed_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"path\.loss"):
        tc.relax(tc.Experiment(path={**FAST, "loss": "1%"}), "path.los")


@pytest.mark.words
def test_sentences_name_value_key_and_worth():
    (finding,) = _findings({"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "5s"})
    (told,) = findings.sentences("Flow 0", 1, finding)
    assert told.startswith("Flow 0 is limited by the link (20Mbps). With path.rate = 40Mbps: + 9")
    (other,) = _findings(CASES["a flow with all that it wants"][0])
    (nothing,) = findings.sentences("Flow 0", 1, other)
    assert "nothing tried helps" in nothing
    assert all(name in nothing for name in [*other.gains][:4])
