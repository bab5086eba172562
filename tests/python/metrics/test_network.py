# SPDX-License-Identifier: GPL-2.0-only
"""Results of networks and of several tunnels: links, tunnels, and the harm that they do."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics
from tunnelcc.running.harm import part

PATH = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}


@pytest.fixture(scope="module")
def ring() -> tc.Result:
    """Two flows in two WireGuard tunnels across a ring, and two in none."""
    return tc.run(
        tc.Experiment(
            path=PATH,
            network={"shape": "ring", "size": 4},
            tunnels={"vpn": "wireguard"},
            flows=[
                {"cc": "bbr", "count": 2, "tunnel": "vpn"},
                {"cc": "cubic", "count": 2},
            ],
            duration="4s",
            warmup="1s",
        ),
        progress=False,
    )


def test_every_link_is_in_the_dataset(ring):
    run = ring.dataset
    assert list(run.link.values) == ["ring1", "ring2", "ring3", "ring4"]
    assert list(run.link_from.values) == ["host1", "host2", "host3", "host4"]
    assert list(run.link_to.values) == ["host2", "host3", "host4", "host1"]
    for name, link in ring.to_dict()["links"].items():
        for direction in ("forward", "reverse"):
            found, counted = run.sel(link=name, direction=direction), link[direction]
            for total in ("utilisation", "bytes_sent", "packets", "queue_drops", "queue_delay_p95"):
                assert float(found[f"link_{total}"]) == counted[f"link_{total}"]
            # Drops count from the start, the total leaves out the warm-up.
            assert float(found.link_queue_drops_series[-1]) >= counted["link_queue_drops"]
    for series in (run.link_utilisation_series, run.link_queue_bytes):
        assert series.dims == ("link", "direction", "time")
    measured = run.link_utilisation_series.sel(time=slice(1.05, None)).mean("time")
    np.testing.assert_allclose(measured, run.link_utilisation, atol=0.01)


def test_derived_numbers_of_a_network_are_those_of_its_bottleneck_and_hosts():
    links = {
        "near": {"between": ["a", "r"], "rate": "50Mbps", "rtt": "4ms"},
        "far": {"between": ["r", "b"], "rate": "10Mbps", "rtt": "20ms", "reverse_rate": "2Mbps"},
    }
    network = {"links": links, "hosts": {"b": {"tcp_rmem": "1MiB"}}}
    found = {}
    for direction in ("up", "down"):
        flow = {"from": "a", "to": "b", "direction": direction}
        experiment = tc.Experiment(network=network, flows=[flow], duration="1s")
        result = tc.run(experiment, progress=False)
        found[direction] = result.to_dict()["derived"]
        assert json.loads(result.dataset.attrs["derived"]) == found[direction]
    up, down = found["up"], found["down"]
    assert up["bdp_bytes"] == up["buffer_bytes"] == 25_000
    assert down["bdp_bytes"] == down["buffer_bytes"] == 5_000
    assert up["tcp_rmem_bytes"] == 1 << 20
    assert down["tcp_rmem_bytes"] == 32 << 20


def test_a_buffer_in_packets_has_no_derived_bytes():
    result = tc.run({"path": {"buffer": "50p"}, "duration": "1s"}, progress=False)
    assert result.to_dict()["derived"]["buffer_bytes"] is None


def test_metrics_of_the_path_are_the_bottlenecks(ring):
    run = ring.dataset
    assert ring.network.bottleneck == ("ring1", False)
    assert (int(run.bottleneck_link), int(run.bottleneck_direction)) == (0, 0)
    here = run.isel(link=run.bottleneck_link, direction=run.bottleneck_direction)
    assert here.link.item() == "ring1"
    for name in ("utilisation", "queue_delay_p95"):
        assert ring.metric(name) == float(here[f"link_{name}"])
    assert ring.bottleneck.forward.packets == int(here.link_packets)


def test_links_without_a_rate_are_not_utilised():
    run = tc.run(
        tc.Experiment(path=PATH, network={"shape": "dumbbell", "size": 1}, duration="2s"),
        progress=False,
    ).dataset
    assert (run.link_utilisation.sel(link="client1") == 0).all()
    assert float(run.link_utilisation.sel(link="bottleneck", direction="forward")) > 0.5
    assert float(run.link_bytes_sent.sel(link="client1", direction="forward")) > 1e6


def test_a_download_crosses_its_only_link_forward():
    run = tc.run(tc.Experiment(path=PATH, direction="down", duration="2s"), progress=False).dataset
    assert (run.link_from.item(), run.link_to.item()) == ("server", "client")
    served = run.link_bytes_sent.sel(link="path")
    assert float(served.sel(direction="forward")) > 10 * float(served.sel(direction="reverse"))


def test_metrics_of_a_sweep_make_few_arrays(ring):
    again = tc.Result(ring.experiment, ring.measured)
    metrics.values(again)
    made = again.__dict__["_arrays"].keys()
    assert not made & {"cwnd", "link_queue_bytes", "limit_share"}


def test_tunnels_between_different_hosts_are_different_ones(ring):
    assert list(ring.dataset.flow_tunnel.values) == [
        "vpn host1-host3", "vpn host2-host4", "none", "none",
    ]  # fmt: skip


def test_flows_that_share_a_tunnel_are_counted_together():
    result = tc.run(
        tc.Experiment(
            path=PATH,
            tunnels={"ours": "wireguard", "theirs": "gost-relay-wss"},
            flows=[
                {"count": 2, "tunnel": "ours"},
                {"count": 1, "tunnel": "theirs"},
                {"count": 1},
            ],
            duration="3s",
        ),
        progress=False,
    )
    table = metrics.of_run(result.dataset)
    own = table.flow_goodput.values
    ours, theirs, plain = own[0] + own[1], own[2], own[3]
    assert list(result.dataset.flow_tunnel.values) == ["ours", "ours", "theirs", "none"]
    np.testing.assert_allclose(table.flow_tunnel_goodput, [ours, ours, theirs, plain])
    np.testing.assert_allclose(table.flow_tunnel_share, table.flow_tunnel_goodput / own.sum())
    assert float(table.jain_tunnels) == pytest.approx(metrics.jain_index([ours, theirs]))
    assert result.metric("flow_tunnel_goodput", flow=1) == pytest.approx(ours)


def test_flows_without_a_tunnel_have_no_carrier():
    experiment = tc.Experiment(
        path=PATH,
        tunnels={"ours": "wireguard", "theirs": "gost-relay-wss"},
        flows=[{"cc": "reno"}, {"count": 2, "tunnel": "ours"}, {"cc": "bbr", "tunnel": "theirs"}],
        duration="2s",
    )
    result = tc.run(experiment, progress=False)
    np.testing.assert_array_equal(result.dataset.flow_carrier, [np.nan, 0, 0, 1])
    totals = result.to_dict()
    assert [flow["flow_carrier"] for flow in totals["flows"]] == [None, 0, 0, 1]
    assert [group["flows"] for group in totals["carriers"]] == [[1, 2], [3]]
    # A flow without a tunnel still has its part of the path.
    own = metrics.of_run(result.dataset).flow_goodput.values
    assert result.metric("jain_carriers") == pytest.approx(
        metrics.jain_index([own[0], own[1] + own[2], own[3]])
    )


def test_carrier_columns_are_empty_without_a_carrier(run):
    code, out, _ = run(
        "run", "--rate", "10Mbps", "--rtt", "20ms", "--duration", "2s", "--flow", "cc=reno",
        "--flow", "cc=bbr,tunnel=gost-relay-wss", "--flow", "cc=vegas,tunnel=wireguard",
    )  # fmt: skip
    assert code == 0
    assert "carrier cc" in out
    rows = [line for line in out.splitlines() if re.match(r"\d  ", line)]
    assert [sum(row.count(cc) for cc in ("reno", "bbr", "vegas")) for row in rows] == [1, 2, 1]


def test_without_tunnels_there_is_nothing_between_them(plain_result):
    table = metrics.of_run(plain_result.dataset)
    assert np.isnan(table.jain_tunnels)
    np.testing.assert_array_equal(table.flow_tunnel_goodput, table.flow_goodput)
    np.testing.assert_allclose(table.flow_tunnel_share, table.flow_share)


def test_flows_in_the_tunnel_of_the_whole_experiment_share_it(relay_result):
    table = metrics.of_run(relay_result.dataset)
    assert set(relay_result.dataset.flow_tunnel.values) == {"tunnel"}
    assert float(table.jain_tunnels) == 1
    np.testing.assert_allclose(table.flow_tunnel_share, 1)


def test_flows_that_never_started_have_results():
    # All three of its legs counted nothing.
    experiment = tc.Experiment(
        path=PATH, tunnel="gost-relay-wss", start_jitter="60s", duration="0.1s", seed=3
    )
    result = tc.run(experiment, progress=False)
    assert result.network.flows[0].start > 0.1
    assert result.dataset.flow_path_leg.item() == [leg.name for leg in result.legs[0]].index(
        "carrier"
    )
    assert float(metrics.of_run(result.dataset).goodput) == 0


# A fair queue gives each of those behind it the same part, whatever they do.
FAIR = {
    "path": {**PATH, "queue": "fq-codel", "buffer": "200p"},
    "tunnels": {"vpn": "wireguard"},
    "duration": "8s",
    "warmup": "3s",
}


def test_harm_behind_a_fair_queue_is_what_equal_parts_make_it():
    flows = [{"cc": "cubic", "count": 2}, {"cc": "cubic", "tunnel": "vpn"}]
    found = tc.harm(tc.Experiment(**FAIR, flows=flows))
    # Each has the link alone, and a third of it in company.
    np.testing.assert_allclose(found.flow_harm, 2 / 3, atol=0.03)
    # The two others have all of it without the tunnel, and two thirds with it.
    assert list(found.tunnel.values) == ["vpn"]
    np.testing.assert_allclose(found.tunnel_harm, 1 / 3, atol=0.03)
    assert float(found.others_goodput[0]) == float(found.flow_goodput[:2].sum())
    assert float(found.others_goodput_without[0]) > 9e6


def test_those_who_want_less_than_their_part_are_not_harmed():
    flows = [{"rate": "1Mbps", "write_size": "1kB"}, {"count": 2, "tunnel": "vpn"}]
    found = tc.harm(tc.Experiment(**FAIR, flows=flows))
    assert float(found.flow_harm[0]) == pytest.approx(0, abs=0.02)
    assert float(found.tunnel_harm[0]) == pytest.approx(0, abs=0.02)
    assert float(found.flow_harm[1]) == pytest.approx(1 / 2, abs=0.1)


def test_a_tunnel_that_has_no_flows_beside_it_harms_nobody():
    found = tc.harm(tc.Experiment(path=PATH, tunnel="wireguard", duration="2s"))
    assert list(found.flow_harm.values) == [0]
    assert np.isnan(found.tunnel_harm).all()
    assert np.isnan(found.others_goodput).all()


@pytest.mark.parametrize(
    "keys",
    [
        {
            "network": {"shape": "star", "size": 4},
            "tunnels": {"vpn": "wireguard"},
            "flows": [{"count": 3, "tunnel": "vpn"}, {"cc": "bbr", "start": "0.5s"}],
        },
        {
            "flows": [
                {"count": 2, "data_start": "0.2s", "stop": "1s"},
                {"direction": "down"},
            ],
        },
    ],
    ids=["star", "both directions"],
)
def test_all_flows_one_by_one_are_the_same_run(keys):
    experiment = tc.Experiment(path=PATH, **keys, duration="1.5s", seed=7)
    whole = tc.run(experiment, progress=False)
    again = tc.run(part(experiment, range(len(whole.flows))), progress=False)
    assert again.digests() == whole.digests()


def test_a_flow_alone_keeps_its_hosts_its_tunnel_and_its_start():
    experiment = tc.Experiment(
        path=PATH,
        network={"shape": "dumbbell", "size": 3},
        tunnels={"vpn": "wireguard"},
        flows={"count": 3, "tunnel": "vpn"},
    )
    whole = tc.run(experiment.model_copy(update={"duration": 0.5}), progress=False)
    alone = tc.run(part(whole.experiment, [2]), progress=False)
    (flow,), third = alone.network.flows, whole.network.flows[2]
    assert (flow.client, flow.server) == ("client3", "server3")
    assert flow.start == third.start
    assert alone.network.tunnels[0].name == "vpn"


def test_the_command_tells_of_harm(run, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(
        """duration = "2s"
path = { rate = "10Mbps", rtt = "20ms" }
tunnels.vpn = "wireguard"
flows = [{ cc = "cubic" }, { cc = "bbr", tunnel = "vpn" }]
"""
    )
    code, out, _ = run("run", file, "--harm")
    assert code == 0
    assert "Harm to flows" in out
    code, out, _ = run("run", file, "--harm", "--json")
    table, found = json.loads(out), tc.harm(tc.load(file))
    assert [flow["flow_harm"] for flow in table["flows"]] == list(found.flow_harm.values)
    assert table["tunnels"][0]["tunnel_harm"] == float(found.tunnel_harm[0])
    code, out, _ = run("run", file, "--json")
    assert "harm" not in out


def test_shares_are_of_the_links_that_a_flow_crosses():
    """Each direction of a path is a link of its own; so are the links of a parking lot."""
    common = {"duration": "20s", "warmup": "10s"}
    path = {"rate": "10Mbps", "rtt": "20ms"}
    flows = [{"cc": "bbr"}, {"cc": "bbr", "direction": "down"}]
    both = tc.run({**common, "path": path, "flows": flows}, progress=False)
    shares = [both.metric("flow_max_min_share", flow=flow) for flow in (0, 1)]
    assert shares == pytest.approx([0.95, 0.95], abs=0.06)

    network = {"links": {"first": {"between": ["a", "b"]}, "second": {"between": ["b", "c"]}}}
    ends = [("a", "c"), ("a", "b"), ("b", "c")]
    flows = [{"cc": "reno", "from": here, "to": there} for here, there in ends]
    lot = tc.run({**common, "path": path, "network": network, "flows": flows}, progress=False)
    half = 10e6 / 2 * 1448 / 1500
    expected = [lot.metric("flow_goodput", flow=flow) / half for flow in range(3)]
    shares = [lot.metric("flow_max_min_share", flow=flow) for flow in range(3)]
    assert shares == pytest.approx(expected, rel=0.01)
    assert lot.metric("max_min_share") == min(shares)


@pytest.mark.parametrize("tunnel", [None, "wireguard"])
def test_the_path_limits_a_download_as_it_does_an_upload(tunnel):
    """With no other direction given, the link has its rate in the direction of all data."""
    base = {"path": {"rate": "20Mbps", "rtt": "40ms"}, "tunnel": tunnel, "duration": "5s"}
    alone = tc.run({**base, "flows": [{"direction": "down"}]}, progress=False)
    assert 15e6 < alone.goodput < 20e6
    two = tc.run({**base, "direction": "down", "flows": [{"direction": "up"}]}, progress=False)
    assert 15e6 < two.goodput < 20e6


def test_connections_of_chains_of_different_length_are_told_by_name():
    links = {
        "a": {"between": ["c", "m"], "rate": "20Mbps", "rtt": "20ms"},
        "b": {"between": ["m", "s"], "rate": "30Mbps", "rtt": "30ms"},
    }
    ends = {"from": "c", "to": "s"}
    result = tc.run(
        {
            "network": {"links": links},
            "tunnels": {
                "long": {"name": "gost-relay-ws", "chain": [{"host": "m"}]},
                "short": {"name": "gost-relay-ws"},
            },
            "flows": [{**ends, "tunnel": "short"}, {**ends, "tunnel": "long"}, ends],
            "duration": "2s",
            "probe_congestion": True,
        },
        progress=False,
    )
    dataset = result.dataset
    assert dataset.leg.values.tolist() == ["app", "carrier", "carrier2", "target"]
    for index, legs in enumerate(result.legs):
        own = {leg.name: leg for leg in legs}
        for name in dataset.leg.values.tolist():
            throughput = dataset["throughput"].sel(flow=index, leg=name).values
            limits = dataset["limit_share"].sel(flow=index, leg=name).values
            phase = dataset["phase"].sel(flow=index, leg=name).values.tolist()
            if name in own:
                assert throughput.tolist() == own[name].throughput.tolist()
                assert phase == result.measured["phase"][result.connections.index(own[name])]
                assert limits.sum() == pytest.approx(1)
            else:
                assert np.isnan(throughput).all()
                assert np.isnan(limits).all()
                assert set(phase) == {""}
        across = dataset["leg"].values[int(dataset.flow_path_leg[index])]
        assert across == result.path_leg(index).name


def test_fair_rates_have_the_segments_of_the_flows_that_cross_a_link():
    links = {"a": {"between": ["h0", "h1"]}, "b": {"between": ["h2", "h3"], "mtu": 576}}
    run = tc.run(
        {
            "path": {"rate": "20Mbps", "rtt": "40ms"},
            "network": {"links": links},
            "flows": [{"from": "h0", "to": "h1"}, {"from": "h2", "to": "h3"}],
            "duration": "10s",
            "warmup": "4s",
        }
    )
    owed = [20e6 * 1448 / 1500, 20e6 * 524 / 576]
    assert run.dataset.flow_fair_rate.values == pytest.approx(owed, rel=1e-6)
    for flow in (0, 1):
        assert run.metric("flow_max_min_share", flow=flow) == pytest.approx(1, abs=0.002)
