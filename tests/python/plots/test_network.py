# SPDX-License-Identifier: GPL-2.0-only
"""The figure of a run's network: hosts, links in both directions, and the ways of flows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.patches import FancyArrowPatch

import tunnelcc as tc
from tunnelcc.plots import plot_network, plot_run
from tunnelcc.plots.network import _spread, has_network, place_hosts
from tunnelcc.plots.selection import Selection
from tunnelcc.plots.theory import capacity, experiments, theory_lines

PATH = {"rate": "10Mbps", "rtt": "20ms"}
SHAPES = ("dumbbell", "parking-lot", "line", "star", "ring", "mesh")


def simulate(**keys) -> tc.Result:
    return tc.run(tc.Experiment(path=PATH, duration="0.3s", **keys), progress=False)


def arrows(figure) -> list[FancyArrowPatch]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


def texts(figure) -> list[str]:
    axes = figure.axes[0]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    return [text.get_text() for text in axes.texts] + legend + [axes.get_title(loc="left")]


@pytest.fixture(scope="module", params=SHAPES)
def shaped(request) -> tc.Result:
    return simulate(network={"shape": request.param, "size": 4})


def test_every_host_has_a_place_of_its_own(shaped):
    places = place_hosts(shaped)
    assert set(places) == set(shaped.network.topology.hosts)
    for one, other in itertools.combinations(places.values(), 2):
        assert math.hypot(one.x - other.x, one.y - other.y) > 0.4


def test_clients_are_on_the_left_of_their_servers(shaped):
    places, first = place_hosts(shaped), shaped.network.flows[0]
    if shaped.experiment.network.shape in ("dumbbell", "parking-lot", "line"):
        assert places[first.client].x < places[first.server].x


def test_links_have_an_arrow_each_way_and_flows_one_on_each_link(shaped):
    flow = shaped.network.first.route.to_server
    count = 2 * len(shaped.network.topology.links) + len(flow)
    assert len(arrows(plot_network(shaped))) == count


def test_limited_links_have_a_colour_that_tells_how_busy_they_were():
    figure = plot_network(simulate(network={"shape": "dumbbell", "size": 1}))
    colours = [arrow.get_edgecolor() for arrow in arrows(figure)]
    # Two directions of two access links are alike; those of the bottleneck are not.
    assert len(set(colours[:2])) == 1
    assert len(set(colours[2:5])) == 3


def test_what_links_are_is_told_once_or_on_each():
    ring = {"shape": "ring", "size": 3}
    once = texts(plot_network(simulate(network=ring)))
    assert "each link: 10 Mbit/s, RTT 20 ms" in once
    network = {**ring, "links": {"ring1": {"rate": "50Mbps", "reverse_rate": "5Mbps"}}}
    each = texts(plot_network(simulate(network=network)))
    assert sum("RTT 20 ms" in text for text in each) == 3
    (uneven,) = (text for text in each if "50 Mbit/s" in text)
    assert "5 Mbit/s" in uneven.splitlines()[1] or "5 Mbit/s" in uneven.splitlines()[0]


def test_flows_and_tunnels_are_in_the_legend():
    result = simulate(
        tunnels={"vpn": {"name": "gost-relay-wss", "cc": "bbr"}},
        flows=[{"count": 2, "tunnel": "vpn"}, {"cc": "reno", "direction": "down"}],
        cross_traffic={"rate": "1Mbps"},
    )
    assert has_network(result)
    lines = [text for text in texts(plot_network(result)) if "Mbit/s" in text or "UDP" in text]
    assert any(text.startswith("2 × cubic in vpn (gost-relay-wss with bbr): ") for text in lines)
    assert any(text.startswith("reno: ") for text in lines)
    assert "UDP, 1 Mbit/s" in lines


def test_many_hosts_have_few_names():
    figure = plot_network(simulate(network={"shape": "star", "size": 40}))
    assert {"host1", "host40", "hub"} <= set(texts(figure))
    assert sum(text.startswith("host") for text in texts(figure)) == 2


def test_other_networks_are_laid_out_by_distance():
    links = {"around": {"between": ["host1", "relay"]}, "back": {"between": ["relay", "host2"]}}
    places = place_hosts(simulate(network={"shape": "line", "size": 2, "links": links}))
    assert set(places) == {"host0", "host1", "host2", "relay"}
    assert places["host0"].x < places["host2"].x

    def apart(one: str, other: str) -> float:
        return math.dist((places[one].x, places[one].y), (places[other].x, places[other].y))

    assert apart("host0", "relay") > apart("host1", "relay")


def test_hosts_lie_as_far_apart_as_links_are_between_them():
    """A path is a straight line; a ring of four is a square, whose stress is known."""
    path = {"a": ["b"], "b": ["a", "c"], "c": ["b", "d"], "d": ["c"]}
    places = _spread(path)
    steps = [math.dist(one, other) for one, other in itertools.pairwise(places)]
    assert steps == pytest.approx([math.dist(places[0], places[3]) / 3] * 3, rel=0.02)
    ring = _spread({"a": ["b", "d"], "b": ["a", "c"], "c": ["b", "d"], "d": ["c", "a"]})
    sides = [math.dist(ring[i], ring[i - 1]) for i in range(4)]
    assert sides == pytest.approx([sides[0]] * 4, rel=1e-3)
    assert math.dist(ring[0], ring[2]) == pytest.approx(math.sqrt(2) * sides[0], rel=1e-3)
    assert _spread({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}) is None


def _sites(count: int) -> tc.Result:
    """``count`` hosts behind each of two gateways, and a tunnel over two links between them."""
    links = {
        f"{side}{i}": {"between": [f"pc-{side}{i}", f"edge-{side}"], "rate": f"{i + 1}Gbps"}
        for side in "ab"
        for i in range(count)
    }
    links |= {
        "wan-a": {"between": ["edge-a", "isp"], "rate": "10Mbps"},
        "wan-b": {"between": ["isp", "edge-b"], "rate": "20Mbps"},
    }
    keys = {"network": {"links": links}, "duration": "0.3s"}
    keys["tunnel"] = {"name": "wireguard", "between": ["edge-a", "edge-b"]}
    keys["flows"] = {"from": "pc-a0", "to": "pc-b0"}
    return tc.run(tc.Experiment.parse(keys), progress=False)


def test_twelve_links_have_room_for_what_they_are():
    figure = plot_network(_sites(5))
    assert sum("bit/s\nRTT" in text for text in texts(figure)) == 12
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_a_tunnel_is_drawn_between_its_gateways_only():
    bands = [arrow for arrow in arrows(plot_network(_sites(1))) if arrow.get_alpha()]
    assert len(bands) == 2  # of four links on the way


def test_all_tunnels_around_a_flow_are_drawn_and_named():
    """VXLAN between the outer hosts of four links, WireGuard between the inner ones."""
    names = ["pc-a", "edge-a", "isp", "edge-b", "pc-b"]
    links = {f"link{i}": {"between": names[i : i + 2], **PATH} for i in range(4)}
    tunnels = {
        "pods": {"name": "vxlan", "mtu": 1300, "between": ["pc-a", "pc-b"], "under": "wg"},
        "wg": {"name": "wireguard", "between": ["edge-a", "edge-b"]},
    }
    result = tc.run(
        {
            "network": {"links": links},
            "tunnels": tunnels,
            "flows": {"from": "pc-a", "to": "pc-b", "tunnel": "pods"},
            "duration": "0.3s",
        }
    )
    figure = plot_network(result)
    bands = [arrow.get_linewidth() for arrow in arrows(figure) if arrow.get_alpha()]
    assert [bands.count(width) for width in sorted(set(bands))] == [4, 2]
    assert any("cubic in pods (vxlan) over wg (wireguard): " in text for text in texts(figure))


def test_links_that_wait_for_a_fail_over_are_dashed():
    names = [["a", "isp-1"], ["isp-1", "b"], ["a", "isp-2"], ["isp-2", "b"], ["b", "c"]]
    links = {f"link{i}": {"between": ends, **PATH} for i, ends in enumerate(names)}
    uplinks = {"routes": [["a", "isp-2", "b"]]}
    tunnel = {"name": "ethudp", "mtu": 1458, "between": ["a", "b"], "uplinks": uplinks}
    flow = {"from": "a", "to": "c", "route": ["a", "isp-1", "b", "c"]}
    keys = {"network": {"links": links}, "tunnel": tunnel, "flows": flow, "duration": "0.3s"}
    figure = plot_network(tc.run(keys))
    assert sum(isinstance(arrow.get_linestyle(), tuple) for arrow in arrows(figure)) == 2
    assert any(text.endswith("(dashed: after a fail-over)") for text in texts(figure))


def test_a_single_path_with_flows_alike_has_no_network(plain_result, shaped):
    assert not has_network(plain_result)
    assert has_network(shaped)
    assert len(plot_run(shaped).axes) == len(plot_run(plain_result).axes) + 2  # and its colours


def test_the_command_draws_it(run, tmp_path):
    heights = []
    for name, network in (("plain", ""), ("ring", 'network = { shape = "ring", size = 4 }')):
        scenario, file = tmp_path / f"{name}.toml", tmp_path / f"{name}.png"
        scenario.write_text(f'duration = "0.3s"\n{network}\n')
        assert run("run", scenario, "--plot", file)[0] == 0
        heights.append(imread(file).shape[0])
    assert heights[1] > 1.3 * heights[0]


def test_lines_of_theory_are_for_one_path_and_one_direction(tmp_path):
    """Flows of a ring get more together than one link carries: its rate is no limit of theirs."""

    def drawn(**keys):
        store = tmp_path / str(len(list(tmp_path.iterdir())))
        axes = {"path.loss": ["0.1%", "1%"]}
        base = {**keys, "duration": "1s"}
        selection = Selection(tc.sweep(base, axes, [1], store=store, progress=False))
        known = experiments(selection, "path.loss", "goodput")
        span = np.array([0.001, 0.01])
        lines = list(theory_lines(known, "path.loss", "goodput", span, {"cubic"}))
        return len(lines), capacity(known, "path.loss", "goodput", span)

    lines, limit = drawn()
    assert lines > 0
    assert limit is not None
    ring = {"network": {"shape": "ring", "size": 4}}
    for keys in (ring, {"flows": [{}, {"direction": "down"}]}, {"flows": [{}, {"tunnel": "vtun"}]}):
        assert drawn(**keys) == (0, None)


def test_lines_of_theory_end_at_what_framing_leaves(tmp_path):
    def line(framing):
        base = {"duration": "1s", "path": {"rate": "1Mbps", "framing": framing}}
        results = tc.sweep(
            base, {"path.loss": ["0.1%", "1%"]}, [1], store=tmp_path / framing, progress=False
        )
        span = np.array([0.00001, 0.00002])  # so little that the path is full
        known = experiments(Selection(results), "path.loss", "goodput")
        return next(theory_lines(known, "path.loss", "goodput", span, {"cubic"})).y

    assert line("ip") == pytest.approx([1e6 * 1448 / 1500] * 2)
    assert line("ethernet") == pytest.approx([1e6 * 1448 / 1538] * 2)


def test_a_flow_has_one_colour_in_all_panels():
    """Also one whose carrier has another algorithm."""
    flows = [
        {"cc": "cubic"}, {"cc": "cubic", "tunnel": "slow"}, {"cc": "bbr", "tunnel": "wireguard"},
        {"cc": "reno", "tunnel": "openvpn-tcp"},
    ]  # fmt: skip
    tunnels = {"slow": {"name": "gost-relay-wss", "cc": "vegas"}}
    network, top, middle, *_ = plot_run(simulate(flows=flows, tunnels=tunnels)).axes
    of_flows = [
        [to_rgb(line.get_color()) for line in it.lines[: len(flows)]] for it in (top, middle)
    ]
    in_map = [to_rgb(line.get_color()) for line in network.get_legend().get_lines()]
    assert of_flows[0] == of_flows[1]
    assert list(dict.fromkeys(in_map)) == of_flows[0]
    assert len(set(in_map)) == len(flows)


def test_groups_of_many_flows_have_their_algorithms_colours():
    flows = [{"cc": "cubic", "count": 6}, {"cc": "bbr", "count": 6, "tunnel": "wireguard"}]
    network, top, *_ = plot_run(simulate(flows=flows)).axes
    in_map = [to_rgb(line.get_color()) for line in network.get_legend().get_lines()]
    assert list(dict.fromkeys(in_map)) == [to_rgb(line.get_color()) for line in top.lines[:2]]


def _boxes(figure) -> dict[str, Any]:
    """Return where each text of the map is."""
    figure.canvas.draw()
    return {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}


@pytest.mark.parametrize("count", [2, 5, 8])
def test_links_and_hosts_in_a_row_are_named_beside_each_other(count):
    """Of a chain of different links, without a text on another one or on a link."""
    hosts = ["alice", *(f"router{i}" for i in range(1, count)), "bob"]
    links = {
        f"link{i}": {"between": pair, "rate": f"{100 + i}Mbps", "rtt": "2ms"}
        for i, pair in enumerate(itertools.pairwise(hosts))
    }
    flows = [{"from": "alice", "to": "bob"}, {"from": "alice", "to": "bob", "direction": "down"}]
    result = simulate(network={"links": links}, flows=flows)
    for figure in (plot_network(result), plot_run(result)):
        boxes = _boxes(figure)
        assert set(hosts) <= set(boxes)
        assert len(boxes) == len(hosts) + count
        assert not any(
            one.overlaps(other) for one, other in itertools.combinations(boxes.values(), 2)
        )
        axes = figure.axes[0]
        middle = axes.transData.transform((0, place_hosts(result)["bob"].y))[1]
        assert all(box.y1 < middle or box.y0 > middle for box in boxes.values())


def test_routers_of_a_long_parking_lot_have_their_names():
    result = simulate(network={"shape": "parking-lot", "size": 8})
    assert set(result.network.topology.hosts) <= set(_boxes(plot_network(result)))


def test_many_different_links_are_named_on_the_map_and_listed_above_it():
    pairs = {"ab": "ab", "bc": "bc", "cd": "cd", "da": "da", "ae": "ae"}
    links = {
        name: {"between": list(ends), "rate": f"{10 + index}Mbps", "rtt": "2ms"}
        for index, (name, ends) in enumerate(pairs.items())
    }
    found = texts(plot_network(simulate(network={"links": links}, flows={"from": "a", "to": "c"})))
    assert set(pairs) <= set(found)
    assert found[-1].splitlines()[1] == "bc: 11 Mbit/s, RTT 2 ms"
