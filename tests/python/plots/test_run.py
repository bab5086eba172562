# SPDX-License-Identifier: GPL-2.0-only
"""Figures: the same files from the same runs, and algorithms that can be told apart."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc import plots
from tunnelcc.plots.style import save
from two_paths import PATHS, experiment_with, flow_with, links_with


@pytest.mark.parametrize("suffix", plots.FORMATS)
def test_figures_are_deterministic(plain_result, tmp_path, suffix):
    files = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for file in files:
        tc.plot_run(plain_result, file)
    assert files[0].stat().st_size > 5000
    assert files[0].read_bytes() == files[1].read_bytes()


def labels(axes):
    return axes.get_legend_handles_labels()[1]


def queues(figure):
    return next(axes for axes in figure.axes if axes.get_ylabel().startswith("queueing"))


def goodputs(figure):
    return next(axes for axes in figure.axes if axes.get_ylabel().startswith("goodput"))


def test_a_figure_shows_goodput_flight_and_queue(relay_result):
    top, middle, bottom = tc.plot_run(relay_result).axes
    assert "Goodput" in top.get_title(loc="left")
    assert "In flight" in middle.get_title(loc="left")
    assert "Queueing delay" in bottom.get_title(loc="left")
    flows = [f"flow {flow}, cubic" for flow in range(3)]
    assert labels(top) == [*flows, "all flows together", "bottleneck rate"]
    assert len({line.get_color() for line in top.lines[:3]}) == 3
    assert all("(" in axes.get_ylabel() for axes in (top, middle, bottom))  # a unit
    assert bottom.get_xlim() == (0, 4)


@pytest.mark.parametrize(
    ("tunnel", "role", "names"),
    [
        (None, "app", ["dsl", "lte (backup)"]),
        ({"name": "gost-relay-mws", "mptcp": PATHS}, "carrier", ["dsl", "lte"]),
        ({"name": "connect-ip", "mpquic": PATHS}, "carrier", ["dsl", "lte"]),
    ],
)
def test_what_each_path_carried_has_axes_of_its_own(tunnel, role, names):
    if tunnel is None:
        flow = {"from": "router", "to": "relay", "mptcp": {**PATHS, "backup": ["lte"]}}
        keys = {"network": {"links": links_with()}, "flows": [{**flow, "count": 2}]}
        experiment = tc.Experiment.parse({**keys, "duration": "3s"})
    else:
        experiment = experiment_with(tunnel, flow_with(), flow_with(), duration="3s", warmup="0s")
    result = tc.run(experiment)
    axes = next(it for it in tc.plot_run(result).axes if "each path" in it.get_title(loc="left"))
    assert labels(axes) == names
    carried = sum(line.get_ydata().mean() for line in axes.lines)
    of_paths = [it for it in result.connections if it.name.startswith(role)]
    expected = sum(it.goodput_series.mean() for it in of_paths) / 1e6
    assert carried == pytest.approx(expected, rel=0.03)  # but for the smoothing


def test_one_path_has_no_axes_of_its_own(plain_result):
    titles = [it.get_title(loc="left") for it in tc.plot_run(plain_result).axes]
    assert not any("each path" in it for it in titles)


def test_many_flows_are_drawn_as_a_band():
    result = tc.run(tc.Experiment(path={"rate": "50Mbps"}, flows={"count": 12}, duration="1s"))
    top, middle, _ = tc.plot_run(result).axes
    assert len(top.collections) == len(middle.collections) == 1
    assert len(middle.lines) == 1


def test_a_shared_carrier_is_drawn_once_as_what_it_is():
    experiment = tc.Experiment(tunnel="hysteria2", flows={"cc": "cubic", "count": 3}, duration="1s")
    for count in (3, 20):
        result = tc.run(experiment.with_({"flows.0.count": count}), progress=False)
        middle = tc.plot_run(result).axes[1]
        named = {3: "flows 0, 1, 2", 20: "20 flows"}[count]
        assert labels(middle) == [f"carrier of {named}: bbr"]
        assert to_rgb(middle.lines[0].get_color()) == to_rgb(plots.algorithm_style("bbr")["color"])


def test_carriers_of_users_and_of_single_flows_are_told_apart():
    flows = [{"user": "a", "count": 2}, {"user": "b", "count": 2}, {"user": "c"}]
    tunnel = {"name": "gost-relay-mwss", "carriers": "user"}
    result = tc.run(tc.Experiment(tunnel=tunnel, flows=flows, duration="1s"), progress=False)
    top, middle, _ = tc.plot_run(result).axes
    shown = [text.get_text() for text in middle.get_legend().get_texts()]
    assert shown == ["carrier of flows 0, 1: cubic", "carrier of flows 2, 3: cubic"]
    drawn = [line.get_color() for line in middle.lines if line.get_linestyle() != ":"]
    assert set(drawn) == {top.lines[first].get_color() for first in (0, 2, 4)}


def test_a_rate_far_above_the_goodput_does_not_flatten_it():
    experiment = tc.Experiment(path={"rate": "1Gbps", "rtt": "1s"}, duration="2s")
    top = tc.plot_run(tc.run(experiment)).axes[0]
    assert top.get_ylim()[1] < 500
    assert "not shown" in labels(top)[1]


def test_the_bottlenecks_rate_and_queue_follow_its_changes(tmp_path):
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "100kB", "rate_steps": [["4s", "5Mbps"]]}
    result = tc.run({"path": path, "duration": "8s"}, progress=False)
    goodput, _, queue = plots.plot_run(result).axes
    (rate,) = (it for it in goodput.patches if it.get_label() == "bottleneck rate")
    assert list(rate.get_data().values) == [20, 5]
    assert list(rate.get_data().edges) == [0, 4, 8]
    time, delay = queue.lines[0].get_data()
    assert 35 < delay[time < 3.9].max() < 42  # ms: 100 kB at 20 Mbit/s
    assert 150 < delay[time > 4].max() < 165

    (tmp_path / "outage.csv").write_text("time_s,rate_Mbps\n0,10\n2,0\n3,10\n")
    path = {"trace": str(tmp_path / "outage.csv"), "rtt": "40ms", "buffer": "100kB"}
    result = tc.run({"path": path, "duration": "6s"}, progress=False)
    goodput, _, queue = plots.plot_run(result).axes
    (rate,) = (it for it in goodput.patches if it.get_label() == "bottleneck rate")
    assert list(rate.get_data().values) == [10, 10, 0, 10, 10, 10]
    time, delay = queue.lines[0].get_data()
    assert 960 < delay[(time > 2.05) & (time < 2.15)].max() < 990  # 900 until 3 s, and 80


def test_what_a_bonded_tunnel_sends_over_each_route_has_a_panel():
    uplinks = {"routes": [["router", "mast", "relay"]], "use": "weights"}
    tunnel = {"name": "wireguard", "uplinks": uplinks}
    links = links_with(("20Mbps", "20ms"), ("10Mbps", "20ms"), rate_steps=[["4s", "5Mbps"]])
    flow = flow_with(route=["pc", "router", "isp", "relay", "server"])
    result = tc.run(experiment_with(tunnel, flow, links=links, duration="8s"), progress=False)
    panels = {axes.get_title(loc="left"): axes for axes in plots.plot_run(result).axes}
    routes = panels["Sent over each route of the tunnel, headers included"]
    (delay,) = (axes for title, axes in panels.items() if "of each route" in title)
    for panel in (delay, routes):
        assert [line.get_label() for line in panel.lines] == ["dsl", "lte"]
    for line, link in zip(routes.lines, ("dsl", "lte"), strict=True):
        time, sent = line.get_data()
        seconds = np.diff(np.append(0, time))
        sent_bits = 8 * result.links[link].forward.bytes_sent
        # Of the run without its warm-up; lines are smooth.
        later = time > result.experiment.warmup
        assert 1e6 * (sent * seconds)[later].sum() == pytest.approx(sent_bits, rel=0.05)
    assert max(routes.lines[0].get_ydata()[-20:]) < 5.5


def test_a_goodput_above_the_bottlenecks_rate_is_explained(relay_result):
    burst = tc.Result(relay_result.experiment, copy.deepcopy(relay_result.measured))
    burst["flow_goodput_series"][0, 20:30] *= 100
    plain, explained = (
        tc.plot_run(it).axes[0].get_title(loc="left") for it in (relay_result, burst)
    )
    assert explained.startswith(plain)
    assert len(explained) > len(plain)


def test_flows_beside_the_bottleneck_are_not_added_to_its_own():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "direction": "down"}]
    path = {"rate": "20Mbps", "rtt": "20ms", "buffer": "4bdp"}
    for ways, shown in ((flows, False), (flows[:1] * 2, True)):
        experiment = tc.Experiment(path=path, flows=ways, duration="4s")
        top = goodputs(tc.plot_run(tc.run(experiment, progress=False)))
        assert ("all flows together" in labels(top)) is shown


def test_flows_of_different_tunnels_are_told_apart():
    flows = [{}, {"tunnel": "wireguard"}, {"tunnel": "relay", "count": 8}]
    tunnels = {"relay": {"name": "gost-relay-wss", "cc": "bbr"}}
    experiment = tc.Experiment.parse({"flows": flows, "tunnels": tunnels, "duration": "2s"})
    top = goodputs(tc.plot_run(tc.run(experiment, progress=False)))
    shown = ["cubic", "cubic in wireguard", "cubic in relay (gost-relay-wss with bbr) (8: mean; "]
    assert all(told.startswith(it) for told, it in zip(labels(top), shown, strict=False))
    assert len({line.get_color() for line in top.lines[:3]}) == 3


def test_flows_of_a_kind_are_told_apart_in_grey_and_the_panel_in_flight_is_filled():
    flows = [{"cc": "cubic", "count": 2}, {"cc": "bbr"}]
    result = tc.run(tc.Experiment(flows=flows, duration="2s"), progress=False)
    top, middle, _ = tc.plot_run(result).axes
    assert len({line.get_linestyle() for line in top.lines[:3]}) == 3
    assert {line.get_marker() for line in top.lines} == {"None"}
    drawn = max(max(line.get_ydata()) for line in middle.lines)
    assert middle.get_ylim()[1] < 1.1 * drawn


def test_windows_of_kcp_are_not_drawn_as_congestion_windows():
    experiment = tc.Experiment(path={"rate": "10Mbps"}, tunnel="kcptun", duration="2s")
    middle = tc.plot_run(tc.run(experiment, progress=False)).axes[1]
    assert len(middle.lines) == 1
    assert "dotted" not in middle.get_title(loc="left")


def test_one_algorithm_looks_the_same_everywhere_and_unlike_the_others():
    styles = {name: plots.algorithm_style(name) for name in plots.ALGORITHMS}
    for one, other in itertools.combinations(styles, 2):
        assert styles[one] != styles[other]
        markers = styles[one]["marker"] != styles[other]["marker"]
        lines = styles[one]["linestyle"] != styles[other]["linestyle"]
        assert markers or lines, "told apart in grey"
    assert plots.algorithm_style("ns3::TcpYeah") == plots.algorithm_style("ns3::TcpYeah")


def test_our_algorithms_differ_in_lightness():
    # Rec. 709 luma: what remains in print without colour.
    luma = [
        sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), rgb, strict=True))
        for rgb in (to_rgb(plots.ALGORITHMS[name][0]) for name in ("bbr", "cubic", "reno"))
    ]
    assert min(abs(one - other) for one, other in itertools.combinations(luma, 2)) > 0.03


@pytest.mark.parametrize("name", ["figure.gif", "figure", "figure.png/", "nowhere/figure.png"])
def test_bad_files_are_refused_before_anything_is_drawn(plain_result, tmp_path, name):
    with pytest.raises(tc.ConfigError, match="plot"):
        tc.plot_run(plain_result, str(tmp_path / "x" / name))


def test_a_title_is_never_read_as_mathematics(tmp_path):
    title = r"$\frac{a$ costs $5"
    result = tc.run(tc.Experiment(title=title, path={"rate": "10Mbps"}, duration="1s"))
    figure = plots.plot_run(result, tmp_path / "run.svg")
    assert title in figure.get_suptitle()
    assert (tmp_path / "run.svg").stat().st_size > 0


def test_letters_that_the_font_lacks_are_of_another_font_or_are_told(tmp_path, capsys, recwarn):
    names = [it for it in font_manager.fontManager.ttflist if not it.name.startswith("Last")]
    known = {it.name: {*font_manager.get_font(it.fname).get_charmap()} for it in names}
    style = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    other = chr(min(set().union(*known.values()) - {*style.get_charmap()} - {*range(0xA0)}))
    figure = Figure()
    title = figure.suptitle(f"it is {other}")
    save(figure, tmp_path / "it.png")
    assert any(ord(other) in known[name] for name in title.get_fontfamily() if name in known)
    assert capsys.readouterr().err == ""
    title.set_text("private \U0010f0ff letters")
    save(figure, tmp_path / "it.pdf")
    assert "it.pdf: no font here has \U0010f0ff," in capsys.readouterr().err
    assert not recwarn.list


def test_messages_have_their_latency_and_units_are_written_in_one_way():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "rate": "200kbps", "write_size": 500}]
    path = {"rate": "20Mbps", "rtt": "40ms"}
    result = tc.run(tc.Experiment(path=path, flows=flows, duration="2s"))
    figure = tc.plot_run(result)
    latency = figure.axes[-1]
    assert latency.get_title(loc="left") == "Delay of messages (means of 100 ms)"
    assert labels(latency) == ["messages of flow 1"]
    assert min(latency.lines[0].get_ydata()) >= 20  # ms: half an RTT
    mean = np.nanmean(result["flow_message_latency_series"][1])
    assert mean == pytest.approx(result.dataset.flow_message_latency_mean[1].item(), rel=0.1)
    assert np.isnan(result["flow_message_latency_series"][0]).all()
    assert "20 Mbit/s × 40 ms" in figure.get_suptitle()


def test_the_queue_of_each_route_is_drawn():
    """Behind the first uplink there is nothing after its cut: what has a queue is the second."""
    ends = {"uplink-1": ("a", "isp-1"), "core-1": ("isp-1", "b")}
    ends |= {"uplink-2": ("a", "isp-2"), "core-2": ("isp-2", "b")}
    links = {name: {"between": pair, "rtt": "10ms"} for name, pair in ends.items()}
    links["uplink-1"] |= {"rate": "3Mbps", "loss_steps": [["1s", "100%"]]}
    links["uplink-2"] |= {"rate": "2Mbps"}
    uplinks = {"routes": [["a", "isp-2", "b"]], "use": "fail-over", "probe_interval": "200ms"}
    tunnel = {"name": "ethudp", "between": ["a", "b"], "mtu": 1458, "uplinks": uplinks}
    table = {"network": {"links": links}, "tunnel": tunnel, "duration": "5s"}
    up, down = {"from": "a", "to": "b"}, {"from": "b", "to": "a", "direction": "down"}
    for flow in (up, down):  # the data of both go from a to b
        queue = queues(tc.plot_run(tc.run({**table, "flows": [flow]}, progress=False)))
        assert labels(queue) == ["uplink-1", "uplink-2"]
        (time, first), (_, second) = (line.get_data() for line in queue.lines)
        before, after = time < 1, time > 2.5
        assert first[before].max() > 1
        assert first[after].max() == 0
        assert second[before].max() < 1
        assert second[after].max() > 1
    both = tc.run({**table, "flows": [down, {**down, "direction": "up"}]}, progress=False)
    queue = queues(tc.plot_run(both))
    assert len({*labels(queue)}) == 4
    assert labels(queue)[0] == "uplink-1 to the client"
