# SPDX-License-Identifier: GPL-2.0-only
"""Links that repeat: what the short form stands for, and what it refuses."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tests.helpers import ROOT
from tunnelcc import scenario
from tunnelcc.specification import experiment_spec

OFFICE = ROOT / "scenarios/examples/office.toml"


def _written_out():
    """Return the office with each link and each flow written out."""
    lan = {"rate": "1Gbps", "rtt": "0.4ms"}
    names = [f"caller{it}" for it in range(1, 6)] + ["backup"] + [f"pc{it}" for it in range(1, 25)]
    links = {
        "wan": {
            "between": ["edge-a", "edge-b"], "rate": "20Mbps", "rtt": "30ms", "buffer": "250ms",
            "reverse": {"rate": "100Mbps", "buffer": "100ms"},
        },
        "dc": {"between": ["edge-b", "server"], "rate": "1Gbps", "rtt": "1ms"},
    }  # fmt: skip
    links |= {f"of-{name}": {"between": [name, "edge-a"], **lan} for name in names}
    flows = []
    for name in names[:5]:
        call = {"from": name, "to": "server", "transport": "udp", "traffic": "call"}
        flows += [call, {**call, "direction": "down"}]
    flows.append({"from": "backup", "to": "server", "cc": "cubic"})
    downloads = {
        "to": "server", "direction": "down", "count": 10, "interarrival": "2s", "bytes": "500kB",
    }  # fmt: skip
    flows += [{"from": name, **downloads} for name in names[6:]]
    return tc.Experiment(
        title="30 hosts behind WireGuard", duration="30s", warmup="5s",
        tunnel={"name": "wireguard", "between": ["edge-a", "edge-b"]},
        network={"links": links}, flows=flows, pings=[{"from": "caller1", "to": "server"}],
    )  # fmt: skip


def test_an_office_in_a_few_dozen_lines_is_what_hundreds_of_lines_are():
    lines = [line for line in OFFICE.read_text().splitlines() if line and line[0] != "#"]
    assert len(lines) < 60
    # The models get the same input, to the byte, and so all numbers are the same.
    assert experiment_spec(tc.load(OFFICE)) == experiment_spec(_written_out())


LINKS = {
    "lan": {"count": 3, "between": ["pc", "switch"], "rate": "1Gbps", "rtt": "1ms"},
    "up": {"count": 3, "between": ["switch", "edge"], "rate": "50Mbps", "rtt": "2ms"},
    "wan": {"between": ["edge", "server"], "rate": "20Mbps", "rtt": "30ms"},
}
FLOWS = [{"from": "pc", "to": "server"}, {"from": "server", "to": "pc", "cc": "bbr"}]


def test_hosts_of_two_groups_belong_together_and_each_has_all_its_flows():
    flows = [*FLOWS, {"from": "pc2", "to": "server"}]
    flows[0] = {**flows[0], "route": ["pc", "switch", "edge", "server"]}
    hosts = {"pc": {"cores": 1, "kernel": "5.10"}, "pc3": {"cores": 4}}
    found = tc.Experiment(
        network={"links": LINKS, "hosts": hosts}, flows=flows,
        pings={"from": "pc", "to": "switch"},
        cross_traffic={"from": "pc", "to": "edge", "rate": "1Mbps"},
    )  # fmt: skip
    assert [*found.network.links] == [
        "lan1", "lan2", "lan3", "up1", "up2", "up3", "wan",
    ]  # fmt: skip
    assert found.network.links["lan2"].between == ("pc2", "switch2")
    assert found.network.links["up3"].between == ("switch3", "edge")
    ends = [(flow.from_, flow.to) for flow in found.flows]
    assert ends == [
        ("pc1", "server"), ("server", "pc1"), ("pc2", "server"), ("server", "pc2"),
        ("pc3", "server"), ("server", "pc3"), ("pc2", "server"),
    ]  # fmt: skip
    assert found.flows[2].route == ("pc2", "switch2", "edge", "server")
    assert [(ping.from_, ping.to) for ping in found.pings][1] == ("pc2", "switch2")
    assert [it.from_ for it in found.cross_traffic] == ["pc1", "pc2", "pc3"]
    cores = {name: (it.cores, it.kernel) for name, it in found.network.hosts.items()}
    assert cores == {"pc1": (1, "5.10"), "pc2": (1, "5.10"), "pc3": (4, "5.10")}
    assert tc.Experiment.parse(found.table()) == found
    assert found.with_({"duration": "9s"}).flows == found.flows


def test_settings_axes_and_models_in_python_take_the_short_form():
    table = {"network": {"links": LINKS}, "flows": FLOWS, "duration": "1s"}
    slower = scenario.build(table, {"network.links.lan.rate": "90Mbps", "flows.0.cc": "vegas"})
    assert {slower.network.links[f"lan{it}"].rate for it in (1, 2, 3)} == {9e7}
    assert [flow.cc.name for flow in slower.flows] == ["vegas", "bbr"] * 3
    axes = {f"network.links.{name}.count": [1, 3] for name in ("lan", "up")}
    sweep = tc.Sweep(table, axes, 1)
    counts = [len(it.flows) for it in sweep.experiments() if isinstance(it, tc.Experiment)]
    assert counts == [2, 6]  # the counts of a pair of groups differ in the others
    queues = tc.Sweep(table, {"network.links.lan.queue": ["codel", "cake"]}, 1)
    assert queues.coordinates["network.links.lan.queue"][1].values == ("codel", "cake")
    links = {name: tc.Link(**keys) for name, keys in LINKS.items()}
    flows = [tc.Flow(**flow) for flow in FLOWS]
    made = tc.Experiment(network=tc.Network(links=links), flows=flows, duration="1s")
    assert made == scenario.build(table, {})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"network.links.lan.count": 0}, "network.links.lan.count = 0: expected a whole number"),
        ({"network.links.lan.count": 4}, "network.links.lan.between .*: expected one host, "),
        ({"network.links.lan.rate": 5}, "network.links.lan.rate = 5: "),
        ({"network.links.lan.buffer": "1B"}, "^network.links.lan.buffer = '1B': expected room"),
        ({"flows.1.start": "1h"}, "^flows.1.start = '3600s': expected a time before the end"),
        ({"network.links.wan.between": ["pc", "server"]}, r"network.links.wan.between = .*pc1"),
        ({"network.links.lan.between": "pc"}, "network.links.lan.between = 'pc'"),
        ({"network.links.more": {"count": 2}}, "network.links.more.count = 2: .*between"),
        ({"network.links.lan2": {"between": ["x", "y"]}}, "lan.count = 3: .*another lan2"),
        ({"network.hosts.pc.cors": 1}, "network.hosts.pc.cors = 1: .*did you mean 'cores'"),
        ({"flows.1.cc": "cubik"}, "^flows.1.cc = 'cubik'"),
        ({"flows.0.from": "pcs"}, "flows.0.from = 'pcs': expected a host"),
        ({"network.access.count": 2}, "network.access.count = 2"),
    ],
)
def test_a_group_that_cannot_be_is_refused_once_where_it_is_written(settings, told):
    table = {"network": {"links": LINKS}, "flows": FLOWS}
    if "network.access.count" in settings:
        table = {"network": {"shape": "dumbbell", "size": 2}}
    with pytest.raises(tc.ConfigError, match=told) as refused:
        scenario.build(table, settings)
    assert len(refused.value.problems) == 1
