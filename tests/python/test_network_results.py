# SPDX-License-Identifier: GPL-2.0-only
"""Results of networks and of several tunnels: links, tunnels, and the harm that they do."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics

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
        for direction, counted in (("forward", link), ("reverse", link["reverse"])):
            found = run.sel(link=name, direction=direction)
            assert float(found.link_mean_utilisation) == counted["utilisation"]
            assert float(found.link_bytes_served) == counted["bytes"]
            assert float(found.link_packets) == counted["packets"]
            assert float(found.link_queue_drops) == counted["drops"]
            assert float(found.link_queue_delay_p95) == counted["queue_delay_p95_s"]
            # Drops count from the start, the total leaves out the warm-up.
            assert float(found.link_drops[-1]) >= counted["drops"]
    assert run.link_utilisation.dims == run.link_queue.dims == ("link", "direction", "time")
    measured = run.link_utilisation.sel(time=slice(1.05, None)).mean("time")
    np.testing.assert_allclose(measured, run.link_mean_utilisation, atol=0.01)


def test_variables_over_directions_are_the_bottlenecks(ring):
    run = ring.dataset
    assert ring.layout.bottleneck == ("ring1", False)
    np.testing.assert_array_equal(run.queue, run.link_queue.sel(link="ring1"))
    np.testing.assert_array_equal(run.packets, run.link_packets.sel(link="ring1"))


def test_links_without_a_rate_are_not_utilised():
    run = tc.run(
        tc.Experiment(path=PATH, network={"shape": "dumbbell", "size": 1}, duration="2s"),
        progress=False,
    ).dataset
    assert (run.link_mean_utilisation.sel(link="client1") == 0).all()
    assert float(run.link_mean_utilisation.sel(link="bottleneck", direction="forward")) > 0.5
    assert float(run.link_bytes_served.sel(link="client1", direction="forward")) > 1e6


def test_a_download_crosses_its_only_link_forward():
    run = tc.run(tc.Experiment(path=PATH, direction="down", duration="2s"), progress=False).dataset
    assert (run.link_from.item(), run.link_to.item()) == ("server", "client")
    served = run.link_bytes_served.sel(link="path")
    assert float(served.sel(direction="forward")) > 10 * float(served.sel(direction="reverse"))


def test_links_are_not_made_for_every_run_of_a_sweep(ring):
    assert not [name for name in ring.variables if name.startswith("link")]


def test_tunnels_between_different_hosts_are_different_ones(ring):
    assert list(ring.dataset.tunnel.values) == [
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
    assert list(result.dataset.tunnel.values) == ["ours", "ours", "theirs", "none"]
    np.testing.assert_allclose(table.flow_tunnel_goodput, [ours, ours, theirs, plain])
    np.testing.assert_allclose(table.flow_tunnel_share, table.flow_tunnel_goodput / own.sum())
    assert float(table.jain_tunnels) == pytest.approx(metrics.jain_index([ours, theirs]))
    assert result.metric("flow_tunnel_goodput", flow=1) == pytest.approx(ours)


def test_without_tunnels_there_is_nothing_between_them(plain_result):
    table = metrics.of_run(plain_result.dataset)
    assert np.isnan(table.jain_tunnels)
    np.testing.assert_array_equal(table.flow_tunnel_goodput, table.flow_goodput)
    np.testing.assert_allclose(table.flow_tunnel_share, table.flow_share)


def test_flows_in_the_tunnel_of_the_whole_experiment_share_it(relay_result):
    table = metrics.of_run(relay_result.dataset)
    assert set(relay_result.dataset.tunnel.values) == {"tunnel"}
    assert float(table.jain_tunnels) == 1
    np.testing.assert_allclose(table.flow_tunnel_share, 1)
