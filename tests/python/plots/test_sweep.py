# SPDX-License-Identifier: GPL-2.0-only
"""Figures of sweeps: what is drawn, where, and what is said when it cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba

import tunnelcc as tc
from tunnelcc import metrics, plots
from tunnelcc.metrics import formulas
from tunnelcc.plots import scales
from tunnelcc.plots.standard import comparison, overview

LOSS = ([0.0, 1e-4, 1e-3, 1e-2], "1")
RTT = ([0.01, 0.04, 0.16], "s")
BUFFER = ([0.5, 1.0, 2.0, 4.0], "bdp")


@pytest.fixture(scope="module")
def loss_sweep(make_sweep):
    """Goodput over loss, RTT and algorithm: 40 Mbit/s and what the seed adds, CUBIC a tenth."""

    def goodput(cc, seed, **_):
        return (40e6 if cc == "bbr" else 4e6) * (1 + 0.01 * seed)

    axes = {"path.loss": LOSS, "path.rtt": RTT, "cc": ["bbr", "cubic"]}
    return make_sweep(axes, goodput=goodput, scenario='[path]\nrate = "50Mbps"\n')


@pytest.fixture(scope="module")
def duel(make_sweep):
    """BBR's share beside CUBIC falls with the buffer."""
    return make_sweep(
        {"path.buffer": BUFFER}, ("bbr", "cubic"), lambda **point: (8e6, 4e6 * point["path.buffer"])
    )


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def line(axes, label):
    return next(line for line in axes.lines if line.get_label() == label)


def test_a_line_is_the_mean_over_seeds_and_a_band_reaches_from_the_least_to_the_most(loss_sweep):
    figure = plots.curves(loss_sweep, "path.loss", "goodput", by="cc", at={"path.rtt": "40ms"})
    (axes,) = figure.axes
    assert np.allclose(line(axes, "bbr").get_ydata(), 40 * 1.02)
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((40.4, 41.2))
    assert axes.get_ylabel() == "goodput of all flows (Mbit/s)"
    assert "base RTT 40 ms" in figure.get_suptitle()


def test_a_title_tells_how_many_runs_the_points_have(loss_sweep):
    """An interrupted sweep has less than its number of seeds at some points, and none at others."""
    left = loss_sweep.copy(deep=True)
    left["goodput"][0, :, :, 1:] = np.nan
    left["goodput"][1] = np.nan
    figures = [
        plots.curves(it, "path.loss", "goodput", by="cc", at={"path.rtt": "40ms"})
        for it in (loss_sweep, left, left.isel(seed=[0]))
    ]
    told = [figure.get_suptitle().splitlines()[-1] for figure in figures]
    assert told[:2] == [f"means of {it} runs, bands: least to most" for it in ("3", "1 to 3")]
    assert "means" not in told[2]


@pytest.mark.parametrize("least", [0.0, 1.0, 400.0], ids=["linear", "logarithm", "equal"])
def test_bands_end_within_the_axes(make_sweep, least):
    """One run of three is far from the others: its end of the band is twice the mean."""

    def goodput(seed, **point):
        return (1e6 * max(least, 400 * (point["path.rtt"] > 0.1))) * (1 + (seed == 3) * 4)

    sweep = make_sweep({"path.rtt": RTT}, goodput=goodput)
    (axes,) = plots.curves(sweep, "path.rtt", "goodput", theory=False).axes
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    low, high = axes.get_ylim()
    assert low <= band.min() <= band.max() == pytest.approx(2000)
    assert band.max() < high < 2 * band.max()


def test_a_facet_is_a_panel(loss_sweep):
    figure = plots.curves(loss_sweep, "path.loss", "goodput", by="cc", facet="path.rtt")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["base RTT 10 ms", "base RTT 40 ms", "base RTT 160 ms"]
    assert labels(figure)[:2] == ["bbr", "cubic"]


def test_no_loss_stands_beside_a_logarithmic_axis(loss_sweep):
    figure = plots.curves(loss_sweep, "path.loss", "goodput", by="cc", at={"path.rtt": "10ms"})
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "0.01", "0.1", "1"]
    assert axes.get_xlabel() == "random loss (%)"
    assert 0 < line(axes, "bbr").get_xdata()[0] < 0.01


def test_goodputs_far_apart_are_drawn_as_logarithms(make_sweep):
    wide = make_sweep({"path.rtt": RTT}, goodput=lambda **point: 1e4 / point["path.rtt"] ** 2)
    assert plots.curves(wide, "path.rtt", "goodput").axes[0].get_yscale() == "log"
    assert plots.curves(wide, "path.rtt", "utilisation").axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ([1, 2, 4, 8], True),
        ([0, 1e-4, 1e-3, 1e-2], True),
        ([1, 2, 3, 4], False),
        ([10, 20, 30, 50], False),
        ([1, 10], False),
        ([-1, 1, 10, 100], False),
    ],
)
def test_geometric_axes(values, geometric):
    assert scales.is_geometric(values) is geometric


def test_theory_is_drawn_where_its_assumptions_hold(loss_sweep):
    figure = plots.curves(loss_sweep, "path.loss", "goodput", by="cc", at={"path.rtt": "40ms"})
    assert labels(figure) == [
        "bbr", "cubic", "RFC 9438 (CUBIC)", "0.99 (1 − p)² (BBR)", "bottleneck rate",
    ]  # fmt: skip
    (axes,) = figure.axes
    cubic, bbr = line(axes, "RFC 9438 (CUBIC)"), line(axes, "0.99 (1 − p)² (BBR)")
    assert cubic.get_xdata()[-1] == pytest.approx(1)
    expected = 8 * 1448 * formulas.cubic_window(0.01, 0.04) * 0.99 / 0.04 / 1e6
    assert cubic.get_ydata()[-1] == pytest.approx(expected)
    assert bbr.get_ydata()[-1] == pytest.approx(50 * 1448 / 1500 * 0.99**3)
    assert line(axes, "bottleneck rate").get_ydata()[0] == 50
    plain = plots.curves(
        loss_sweep, "path.loss", "goodput", by="cc", at={"path.rtt": "40ms"}, theory=False
    )
    assert labels(plain) == ["bbr", "cubic"]


@pytest.mark.parametrize("key", ["tunnel", "tunnel.name"])
def test_theory_is_not_drawn_through_a_tunnel(make_sweep, key):
    tunnels = make_sweep({"path.loss": LOSS, key: ["none", "gost-relay-ws"]})
    assert labels(plots.curves(tunnels, "path.loss", "goodput", by=key)) == [
        "no tunnel",
        "gost-relay-ws",
    ]


@pytest.mark.parametrize(
    "scenario",
    [
        '[path]\nrate_steps = [["5s", "1Mbps"]]\n',
        "[path]\nreorder = 0.1\n",
        '[[flows]]\nrtt = "10ms"\n',
        '[[cross_traffic]]\nrate = "1Mbps"\n',
        '[[flows]]\ncc = { name = "reno", beta = 0.7 }\n',
        '[[flows]]\ncc = "reno"\nstart = "5s"\n',
        '[[flows]]\ncc = "reno"\nstop = "5s"\n',
        '[[flows]]\ncc = "reno"\ntransport = "quic"\n',
    ],
)
def test_theory_is_not_drawn_of_what_formulas_do_not_know(make_sweep, scenario):
    sweep = make_sweep({"path.loss": LOSS}, flows=("reno",), scenario=scenario)
    assert not plots.curves(sweep, "path.loss", "goodput").legends
    plain = make_sweep({"path.loss": LOSS}, flows=("reno",))
    assert plots.curves(plain, "path.loss", "goodput").legends


def test_an_axis_of_one_entry_of_flows_draws_its_flows_alone(make_sweep):
    axes = {"path.buffer": [0.5, 1.0], "flows.1.cc": ["bbr", "reno"]}
    sweep = make_sweep(
        axes, ("cubic", "bbr"), lambda **at: [1e6, 3e6 if at["flows.1.cc"] == "bbr" else 1e6]
    )
    sweep["flow_group"][:] = [0, 1]
    (axes,) = plots.curves(sweep, "path.buffer", "flow_share", by="flows.1.cc").axes
    assert axes.get_ylabel().endswith("of flows.1")
    assert line(axes, "bbr").get_ydata() == pytest.approx([0.75, 0.75])
    assert line(axes, "reno").get_ydata() == pytest.approx([0.5, 0.5])


def test_theory_is_not_drawn_for_parameters_of_an_algorithm(make_sweep):
    sweep = make_sweep({"path.loss": LOSS, "flows.cc.beta": [0.7]}, flows=("reno",))
    assert not plots.curves(sweep, "path.loss", "goodput", at={"flows.cc.beta": 0.7}).legends


def test_theory_is_drawn_with_what_an_axis_gives_to_all_runs_of_a_panel(make_sweep):
    sweep = make_sweep({"path.loss": LOSS, "tcp.mss": [536.0, 1448.0]}, flows=("reno",))
    for axes, mss in zip(
        plots.curves(sweep, "path.loss", "goodput", facet="tcp.mss").axes, (536, 1448), strict=True
    ):
        expected = 8 * mss * formulas.reno_window(0.01) * 0.99 / 0.04 / 1e6
        assert line(axes, "Mathis et al. (Reno)").get_ydata()[-1] == pytest.approx(expected)
    together = plots.curves(sweep, "path.loss", "goodput", by="tcp.mss")
    assert "Mathis et al. (Reno)" not in labels(together)


@pytest.mark.parametrize(
    ("key", "value", "has_capacity"),
    [
        ("flows.0.tunnel", "vtun", False),
        ("flows.tunnel", "vtun", False),
        ("tunnel", "vtun", True),
        ("flows.1.direction", "down", False),
        ("flows.0.transport", "quic", True),
        ("flows.1.stop", "20s", True),
        ("network.shape", "ring", False),
    ],
)
def test_theory_is_not_drawn_where_an_axis_leaves_its_assumptions(
    make_sweep, key, value, has_capacity
):
    axes = {"path.loss": LOSS, key: [value]}
    sweep = make_sweep(axes, ("cubic", "cubic"), lambda **_: 50e6)
    figure = plots.curves(sweep, "path.loss", "flow_goodput", at={key: value})
    (axes,) = figure.axes
    drawn = {line.get_label() for line in axes.lines}
    assert "RFC 9438 (CUBIC)" not in drawn
    assert ("bottleneck rate / flows" in drawn) is has_capacity


def test_theory_is_not_drawn_where_an_axis_of_the_runs_is_not_in_the_figure(make_sweep):
    sweep = make_sweep({"path.loss": LOSS, "path.rtt": RTT}, flows=("reno",))
    assert not plots.curves(sweep.isel({"path.rtt": 0}, drop=True), "path.loss", "goodput").legends


def test_theory_of_equal_flows_ends_at_each_ones_part_of_the_rate(make_sweep):
    scenario = '[path]\nrate = "20Mbps"\n[[flows]]\ncc = "{}"\ncount = 4\n'
    payload = 20 * 1448 / 1500
    few = ([1e-6, 1e-5, 1e-4], "1")
    for name, label, part in (
        ("cubic", "RFC 9438 (CUBIC)", 1),
        ("bbr", "0.99 (1 − p)² (BBR)", 0.99 * (1 - 1e-6) ** 2),
    ):
        sweep = make_sweep({"path.loss": few}, (name,) * 4, scenario=scenario.format(name))
        (axes,) = plots.curves(sweep, "path.loss", "flow_goodput").axes
        assert line(axes, label).get_ydata()[0] == pytest.approx(payload / 4 * part)
        (axes,) = plots.curves(sweep, "path.loss", "goodput").axes
        assert line(axes, label).get_ydata()[0] == pytest.approx(payload * part)


def test_theory_is_of_the_number_of_flows_that_an_axis_gives(make_sweep):
    scenario = '[path]\nrate = "50Mbps"\n[[flows]]\ncc = "reno"\n'
    sweep = make_sweep({"path.loss": LOSS, "flows.count": [1.0, 8.0]}, ("reno",), scenario=scenario)
    one, eight = plots.curves(sweep, "path.loss", "goodput", facet="flows.count").axes
    expected = 8 * 1448 * formulas.reno_window(0.01) * 0.99 / 0.04 / 1e6
    for axes, count in ((one, 1), (eight, 8)):
        assert line(axes, "Mathis et al. (Reno)").get_ydata()[-1] == pytest.approx(count * expected)
    together = plots.curves(sweep, "path.loss", "goodput", by="flows.count")
    assert "Mathis et al. (Reno)" not in labels(together)


def test_theory_counts_the_flows_of_the_entry_that_an_axis_changes(make_sweep):
    scenario = (
        '[path]\nrate = "50Mbps"\n[[flows]]\ncc = "reno"\n[[flows]]\ncc = "reno"\ncount = 2\n'
    )
    few = {"path.loss": ([1e-3, 1e-2], "1"), "flows.0.count": [1.0, 4.0]}
    sweep = make_sweep(few, ("reno",) * 6, lambda **_: 12e6, scenario=scenario)
    three, six = plots.curves(sweep, "path.loss", "flow_goodput", facet="flows.0.count").axes
    assert line(three, "bottleneck rate / flows").get_ydata() == pytest.approx(50 / 3)
    assert line(six, "bottleneck rate / flows").get_ydata() == pytest.approx(50 / 6)
    (axes,) = plots.curves(sweep, "flows.0.count", "goodput", at={"path.loss": 0.01}).axes
    alone = 8 * 1448 * formulas.reno_window(0.01) * 0.99 / 0.04 / 1e6
    assert line(axes, "Mathis et al. (Reno)").get_ydata()[[0, -1]] == pytest.approx(
        [3 * alone, 6 * alone]
    )


def test_wares_model_is_of_the_flows_that_an_axis_gives(make_sweep):
    axes = {"path.buffer": BUFFER, "flows.0.count": [1.0, 4.0]}
    sweep = make_sweep(
        axes, ("bbr",) * 4 + ("cubic",), scenario='[[flows]]\ncc = "bbr"\n[[flows]]\ncc = "cubic"\n'
    )
    at = {"flows.0.count": 4}
    (axes,) = plots.curves(sweep, "path.buffer", "flow_share", by="cc", at=at).axes
    model = line(axes, "Ware et al. (BBR, long run)").get_ydata()[-1]
    assert model == pytest.approx(formulas.ware_share(4, 100e6, 0.04, 4) / 4)


def test_theory_of_bbr_says_where_packets_are_lost(make_sweep):
    scenario = '[path]\nrate = "50Mbps"\nloss_position = "before"\n[[flows]]\ncc = "bbr"\n'
    sweep = make_sweep({"path.loss": LOSS}, scenario=scenario)
    (axes,) = plots.curves(sweep, "path.loss", "goodput").axes
    assert line(axes, "1 − p (BBR)").get_ydata()[-1] == pytest.approx(50 * 1448 / 1500 * 0.99)
    places = make_sweep({"path.loss": LOSS, "path.loss_position": ["after", "before"]})
    after, before = plots.curves(places, "path.loss", "goodput", facet="path.loss_position").axes
    assert line(after, "0.99 (1 − p)² (BBR)")
    assert line(before, "1 − p (BBR)")


def test_reno_has_two_theories(make_sweep):
    sweep = make_sweep({"path.loss": LOSS}, flows=("reno",))
    figure = plots.curves(sweep, "path.loss", "goodput")
    assert {"Mathis et al. (Reno)", "PFTK (Reno)"} <= set(labels(figure))
    # The first time-out of an RTT of 40 ms is 240 ms: min_rto is the least of its variance term.
    pftk = line(figure.axes[0], "PFTK (Reno)").get_ydata()[-1]
    window = formulas.pftk_window(0.01, 0.04, 0.24)
    assert pftk == pytest.approx(8 * 1448 * window * 0.99 / 0.04 / 1e6)


def test_shares_are_drawn_per_algorithm_with_wares_model(duel):
    figure = plots.curves(duel, "path.buffer", "flow_share")
    (axes,) = figure.axes
    assert np.allclose(line(axes, "cubic").get_ydata(), [0.2, 1 / 3, 0.5, 2 / 3])
    model = line(axes, "Ware et al. (BBR, long run)")
    assert model.get_ydata()[-1] == pytest.approx(formulas.ware_share(4, 100e6, 0.04))
    assert min(model.get_xdata()) > 1


def test_wares_model_ends_where_windows_do_not_fill_the_queue(make_sweep):
    """Two thirds of 4 MiB of tcp_wmem fill the path (0.5 MB) and 4.5 times as much of a queue.

    Over 50 Mbit/s and 40 ms, simulated, that is 9.9 BDP: with 9 BDP BBR's share beside CUBIC is
    0.34, with 10 and 12 BDP 0.06 and 0.014 (Linux 6.18, 12 BDP: 0.011 to 0.016). With 64 MiB it is
    0.36 and 0.34 there.
    """
    sweep = make_sweep({"path.buffer": ([2.0, 4.0, 8.0, 32.0], "bdp")}, ("bbr", "cubic"))
    (axes,) = plots.curves(sweep, "path.buffer", "flow_share").axes
    model = line(axes, "Ware et al. (BBR, long run)")
    assert max(model.get_xdata()) == pytest.approx(2 / 3 * 4.09e6 / 0.5e6 - 1, rel=0.1)


def test_flows_of_one_algorithm_share_its_colour_and_differ_in_line(make_sweep):
    pair = make_sweep({"path.rtt": RTT}, flows=("cubic", "cubic"))
    (axes,) = plots.curves(pair, "path.rtt", "flow_goodput", by="flow").axes
    first, second = line(axes, "flow 0, cubic"), line(axes, "flow 1, cubic")
    assert first.get_color() == second.get_color() == plots.algorithm_style("cubic")["color"]
    assert first.get_linestyle() != second.get_linestyle()


def test_flows_are_told_apart_by_tunnel_and_direction(make_sweep):
    sweep = make_sweep({"path.rtt": RTT}, flows=("cubic",) * 3)
    words = np.empty((*sweep["flow_cc"].shape,), dtype=object)
    words[:] = ["none", "none", "wireguard"]
    sweep["flow_tunnel"] = (sweep["flow_cc"].dims, words)
    sweep["flow_direction"] = (sweep["flow_cc"].dims, np.full(words.shape, "up", dtype=object))
    sweep["flow_direction"][..., 1] = "down"
    figure = plots.curves(sweep, "path.rtt", "flow_goodput", by="flow")
    assert labels(figure) == [
        "flow 0, cubic up", "flow 1, cubic down", "flow 2, cubic in wireguard up",
    ]  # fmt: skip
    colours = {it.get_color() for it in figure.axes[0].lines if it.get_label().startswith("flow")}
    assert len(colours) == 3
    many = make_sweep({"path.rtt": RTT}, flows=("cubic",) * 9)
    words = np.empty((*many["flow_cc"].shape,), dtype=object)
    words[:] = ["none"] * 8 + ["wireguard"]
    many["flow_tunnel"] = (many["flow_cc"].dims, words)
    figure = plots.curves(many, "path.rtt", "flow_goodput", theory=False)
    assert labels(figure) == [
        "cubic, mean of 8", "cubic in wireguard",
    ]  # fmt: skip


def test_a_flow_that_no_point_has_is_not_in_the_legend(duel):
    duel = duel.copy(deep=True)
    duel["flow_goodput"][..., 1] = np.nan
    assert labels(plots.curves(duel, "path.buffer", "flow_goodput", by="flow")) == ["flow 0, bbr"]


def test_times_that_were_not_reached_are_marked(duel):
    late = duel.copy(deep=True)
    late["fair_convergence_time"][:] = [[1, 2, 3], [1, np.nan, 3], [np.nan] * 3, [2, 2, 2]]
    figure = plots.curves(late, "path.buffer", "fair_convergence_time")
    (axes,) = figure.axes
    assert labels(figure) == ["not in every run (hollow)", "in no run"]
    assert list(line(axes, "in no run").get_xdata()) == [2]
    assert list(line(axes, "not in every run (hollow)").get_ydata()) == [2]


def test_axes_that_vary_together_need_no_choice(make_sweep):
    sweep = make_sweep({"point": [0, 1, 2]}, goodput=lambda point, **_: 1e7 * (point + 1))
    zipped = sweep.drop_vars("point").assign_coords(
        {"path.rtt": ("point", [0.01, 0.02, 0.04], {"units": "s"}),
         "path.buffer": ("point", [4.0, 2.0, 1.0], {"units": "bdp"})}
    )  # fmt: skip
    (axes,) = plots.curves(zipped, "path.rtt", "goodput").axes
    assert list(axes.lines[0].get_ydata()) == [10, 20, 30]
    (axes,) = plots.curves(zipped, "path.buffer", "goodput").axes
    assert list(axes.lines[0].get_ydata()) == [30, 20, 10]
    assert axes.lines[0].get_linestyle() == "None", "points are not joined out of their order"


def test_shares_are_of_the_first_entry_where_the_mean_over_all_flows_says_nothing(make_sweep):
    """BBR's share beside two CUBIC flows: 1 / (1 + 2 · buffer), and half of it in a tunnel."""

    def goodput(**point):
        bbr = 1e6 if point["tunnel.name"] == "none" else 1e6 / (2 + 2 / point["path.buffer"])
        return [bbr, point["path.buffer"] * 1e6, point["path.buffer"] * 1e6]

    axes = {"tunnel.name": ["none", "wireguard"], "path.buffer": ([1.0, 4.0], "bdp")}
    results = make_sweep(axes, ("bbr", "cubic", "cubic"), goodput)
    results["flow_group"] = results["flow_group"].fillna(0) + np.array([0, 1, 1])
    share = results.flow_share.isel(flow=0, seed=0)
    figure = plots.curves(results, "path.buffer", "flow_share", by="tunnel.name")
    assert figure.axes[0].get_ylabel().endswith("of flows.0")
    for name in axes["tunnel.name"]:
        drawn = line(figure.axes[0], "no tunnel" if name == "none" else name).get_ydata()
        assert drawn == pytest.approx(share.sel({"tunnel.name": name}))
    assert line(figure.axes[0], "no tunnel").get_ydata() == pytest.approx([1 / 3, 1 / 9])
    cells = plots.maps(results, "path.buffer", "tunnel.name", "flow_share").axes[0]
    assert np.allclose(cells.images[0].get_array(), share)
    differences = plots.differences(results, "flow_share").axes[0]
    at = differences.containers[0].lines[0].get_xdata()[0]
    assert at == pytest.approx(100 * (share[1, 0] / share[0, 0] - 1))
    assert "of flows.0: difference to" in differences.get_xlabel()


def test_a_map_shows_means_over_two_axes(loss_sweep):
    figure = plots.maps(loss_sweep, "path.loss", "path.rtt", "goodput", facet="cc")
    first = figure.axes[0]
    assert first.images[0].get_array().shape == (3, 4)
    assert np.allclose(first.images[0].get_array(), 40.8)
    assert [text.get_text() for text in first.get_yticklabels()] == ["10", "40", "160"]
    assert len(first.texts) == 12


def test_pairs_show_who_beats_whom(make_sweep):
    strength = {"bbr": 3, "cubic": 1}

    def goodput(**point):
        return [strength[point[f"flows.{index}.cc"]] for index in (0, 1)]

    names = ["bbr", "cubic"]
    sweep = make_sweep({"flows.0.cc": names, "flows.1.cc": names}, ("bbr", "cubic"), goodput)
    axes = plots.pairs(sweep).axes[0]
    (image,) = axes.images
    assert image.get_array().tolist() == [[0.5, 0.75], [0.25, 0.5]]
    assert axes.get_ylabel() == "share of"
    assert min(image.cmap(image.norm(0.5))) > 0.95, "equal shares are pale"


def test_a_scatter_shows_every_run_and_every_mean(loss_sweep):
    (axes,) = plots.scatter(loss_sweep, by="cc", at={"path.rtt": "10ms"}).axes
    runs, means = axes.lines[:2]
    assert (runs.get_xdata().size, means.get_xdata().size) == (12, 4)
    assert axes.get_xlabel() == "mean queueing delay (ms)"
    (by_default,) = plots.scatter(loss_sweep, at={"path.rtt": "10ms"}).axes
    colours = {line.get_color() for line in by_default.lines}
    assert colours == {plots.algorithm_style(cc)["color"] for cc in ("bbr", "cubic")}


def test_queueing_delays_of_less_than_a_packet_take_no_room(loss_sweep):
    sweep = loss_sweep.copy()
    delays = sweep["queue_delay_mean"].copy()
    delays[{"path.loss": 0}] = 1e-9
    delays[{"path.loss": 1}] = 0.5
    figure = plots.scatter(sweep.assign(queue_delay_mean=delays), at={"path.rtt": "10ms"})
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] > 0.1  # 12,000 bits at 50 Mbit/s take 0.24 ms
    assert "0.24 ms, a packet's time" in figure.get_suptitle()


def test_bars_differ_in_grey(make_sweep):
    sweep = make_sweep({"tunnel": ["none", "wireguard"], "cc": ["bbr", "cubic"]})
    (axes,) = plots.curves(sweep, "tunnel", "goodput", by="cc").axes
    assert len({bar.get_hatch() for bar in axes.patches}) == 2


def test_a_long_title_is_no_wider_than_the_figure(loss_sweep):
    title = "What a tunnel does to a flow of a congestion control at many rates of loss, " * 3
    sweep = loss_sweep.assign_attrs(title=title)
    figure = plots.curves(sweep, "path.loss", "goodput", by="cc", at={"path.rtt": "10ms"})
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert box.width < figure.bbox.width


@pytest.fixture(scope="module")
def with_series(duel):
    time = np.arange(0.1, 10.05, 0.1)
    rates = np.where(time < 5, 10e6, 20e6)
    values = np.broadcast_to(rates, (4, 3, 2, time.size))
    dims = ("path.buffer", "seed", "flow", "time")
    return duel.assign({plots.series.__globals__["GOODPUT"]: (dims, values, {"units": "bit/s"})}
                       ).assign_coords(time=("time", time, {"units": "s"}))  # fmt: skip


def test_series_show_each_flow(with_series):
    axes = plots.series(with_series, at={"path.buffer": "1bdp"}).axes[0]
    flow = line(axes, "flow 0, bbr")
    assert flow.get_ydata()[0] == pytest.approx(10)
    assert flow.get_ydata()[-1] == pytest.approx(20)
    lines = axes.lines[:2]
    assert len({str(it.get_linestyle()) for it in lines}) == 2, "they differ in grey"
    assert {it.get_marker() for it in lines} == {""}, "markers look like samples"


def test_the_ratio_of_rtts_is_an_axis(make_sweep):
    sweep = make_sweep({"flows.1.rtt": ([0.04, 0.08, 0.16], "s")}, ("cubic", "cubic"))
    sweep["flow_base_rtt"][:, :, 1] = sweep["flows.1.rtt"]
    (axes,) = plots.curves(sweep, "rtt_ratio", "jain").axes
    assert list(axes.lines[0].get_xdata()) == [1, 2, 4]


def test_harm_compares_each_flow_with_itself_alone(duel, make_sweep):
    alone = make_sweep(
        {"path.buffer": BUFFER, "cc": ["bbr", "cubic"]},
        goodput=lambda cc, **_: 16e6 if cc == "bbr" else 40e6,
    )
    harm = metrics.flow_harm(duel, alone)
    assert harm.dims == ("path.buffer", "seed", "flow")
    assert harm.attrs["units"] == "1"
    assert np.allclose(harm.isel(flow=0), 0.5)
    assert np.allclose(harm.isel(flow=1, seed=0), [0.95, 0.9, 0.8, 0.6])
    with pytest.raises(tc.ConfigError, match="one flow in each run"):
        metrics.flow_harm(duel, duel)
    with pytest.raises(tc.ConfigError, match=r"path\.buffer"):
        metrics.flow_harm(duel, alone.isel({"path.buffer": [0, 1]}))


def test_the_standard_set(loss_sweep, duel, with_series):
    names = [name for name, _ in plots.standard(loss_sweep)]
    assert names == [
        "goodput-over-path-loss", "goodput-over-path-rtt", "queueing-delay",
        "utilisation-over-path-loss-and-path-rtt",
    ]  # fmt: skip
    names = [name for name, _ in plots.standard(with_series)]
    assert names == [
        "goodput-over-path-buffer", "flow-share-over-path-buffer", "jain-over-path-buffer",
        "queueing-delay", "over-time",
    ]  # fmt: skip
    duel = duel.assign(flow_harm=duel["flow_share"])
    assert "flow-harm-over-path-buffer" in [name for name, _ in plots.standard(duel)]


@pytest.mark.parametrize("suffix", plots.FORMATS)
def test_equal_results_give_equal_files(duel, tmp_path, suffix):
    files = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for file in files:
        plots.save(plots.curves(duel, "path.buffer", "flow_share"), file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda s: plots.curves(s, "path.los", "goodput"), "did you mean 'path.loss'"),
        (lambda s: plots.curves(s, "path.buffer", "goodput"), "one of the axes path.loss"),
        (lambda s: plots.curves(s, "path.loss", "godput"), "did you mean 'goodput'"),
        (lambda s: plots.curves(s, "path.loss", "goodput", by="c"), "--by = 'c'"),
        (lambda s: plots.curves(s, "path.loss", "goodput", facet="rtt"), "did you mean"),
        (lambda s: plots.curves(s, "path.loss", "goodput"), "--facet path.rtt or --at path.rtt="),
        (
            lambda s: plots.curves(s, "path.loss", "goodput", at={"path.rtt": "50ms"}),
            "one of 10ms, 40ms, 160ms",
        ),
        (lambda s: plots.curves(s, "path.loss", "goodput", at={"rtt": "40ms"}), "--at"),
        (lambda s: plots.maps(s, "path.loss", "path.rtt", "jane"), "'jain'"),
        (lambda s: plots.maps(s, "path.loss", "path.loss", "jain"), "each axis only once"),
        (
            lambda s: plots.maps(s, "path.loss", "jain", "goodput"),
            "cc (--value names the metric)",
        ),
        (lambda s: plots.curves(s, "path.loss", "goodput", by="path.loss"), "each axis only once"),
        (lambda s: plots.curves(s, "path.loss", "goodput", "cc", "cc"), "each axis only once"),
        (lambda s: plots.scatter(s, x="delay"), "--x"),
        (plots.pairs, "flows.0.cc and flows.1.cc"),
        (plots.series, "series over time"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(loss_sweep, draw, message):
    with pytest.raises(tc.ConfigError) as caught:
        draw(loss_sweep)
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1


def test_theory_of_reno_agrees_where_losses_are_rare():
    # RFC 9438 gives √(1.5 / p); the other adds time-outs, which vanish.
    assert formulas.pftk_window(1e-6, 0.1, 0.2) == pytest.approx(
        formulas.reno_window(1e-6), rel=1e-3
    )
    assert formulas.pftk_window(0.05, 0.1, 0.2) < 0.85 * formulas.reno_window(0.05)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("path.rtt", "base RTT"), ("flows.1.rtt", "base RTT of flows.1"),
        ("flows.0.cc", "congestion control of flows.0"), ("tcp.mss", "segment size (MSS)"),
        ("flows.2.write_size", "write size of flows.2"), ("hosts.cores", "otherwise"),
    ],
)  # fmt: skip
def test_axes_are_named_in_words(key, name):
    assert scales.name_of_key(key, "otherwise") == name


def test_a_figure_says_what_its_bands_are(loss_sweep, make_sweep):
    said = "means of 3 runs, bands: least to most"
    assert overview(loss_sweep, "goodput").get_suptitle().endswith(said)
    bars = make_sweep({"tunnel": ["none", "tinc"]}, seeds=2)
    said = "means of 2 runs, whiskers: least to most"
    assert plots.curves(bars, "tunnel", "goodput").get_suptitle().endswith(said)
    alone = make_sweep({"path.loss": LOSS}, seeds=1)
    assert "least" not in overview(alone, "goodput").get_suptitle()


def test_bars_of_one_seed_have_no_whiskers(make_sweep):
    results = make_sweep({"tunnel": ["none", "tinc"]}, seeds=1)
    (panel,) = plots.curves(results, "tunnel", "goodput").axes
    (bars,) = (box for box in panel.containers if hasattr(box, "patches"))
    (whiskers,) = bars.errorbar.lines[2]
    assert not any(np.isfinite(line).all() and len(line) for line in whiskers.get_segments())
    assert panel.get_ylim()[1] > max(bar.get_height() for bar in bars)


def test_twelve_categories_have_colours_of_their_own():
    styles = [plots.category_style(position) for position in range(13)]
    assert len({style["color"] for style in styles}) == 13


@pytest.mark.parametrize(("key", "other"), [("tunnel", "tunnel.name"), ("tunnel.name", "tunnel")])
def test_an_axis_is_found_by_each_name_of_its_key(make_sweep, key, other):
    results = make_sweep({key: ["none", "tinc"], "path.rtt": [0.01, 0.02]})
    assert plots.curves(results, other, "goodput", facet="path.rtt")
    assert plots.curves(results, "path.rtt", "goodput", by=other)
    assert plots.curves(results, "path.rtt", "goodput", facet=other)
    assert plots.curves(results, "path.rtt", "goodput", at={other: "tinc"})
    assert plots.maps(results, "path.rtt", other, "goodput")
    assert plots.scatter(results, by=other)


def test_a_mean_over_seeds_is_no_sweep(loss_sweep):
    with pytest.raises(tc.ConfigError, match="the dimension seed"):
        plots.curves(loss_sweep.mean("seed"), "path.loss", "goodput")


def test_long_labels_of_vertical_axes_have_several_lines(make_sweep):
    results = make_sweep({"path.rtt": [0.01, 0.02]})
    results["goodput"].attrs["long_name"] = "a name that is as long as the axis is high, or longer"
    label = plots.curves(results, "path.rtt", "goodput").axes[0].get_ylabel()
    assert max(map(len, label.splitlines())) <= 32


def test_an_overview_needs_no_choice(loss_sweep, make_sweep):
    figure = overview(loss_sweep, "goodput")
    assert figure.axes[0].get_title(loc="left") == "base RTT 10 ms"
    assert labels(figure)[:2] == ["bbr", "cubic"]
    with pytest.raises(tc.ConfigError, match="axis of names"):
        overview(make_sweep({}), "goodput")


def test_bars_stand_over_names_with_the_most_and_the_least(make_sweep):
    rates = {"none": 40e6, "wireguard": 30e6, "ssh": 2e6}

    def goodput(cc, tunnel, seed):
        return rates[tunnel] * (1 if cc == "bbr" else 0.5) + 1e6 * seed

    axes = {"cc": ["bbr", "cubic"], "tunnel": list(rates)}
    results = make_sweep(axes, goodput=goodput)
    figure = overview(results, "goodput")
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.get_xticklabels()] == ["no tunnel", *[*rates][1:]]
    assert labels(figure) == ["bbr", "cubic"]
    bbr, cubic = (box for box in panel.containers if hasattr(box, "patches"))
    goodputs = results["goodput"] / 1e6
    for bars, cc in ((bbr, "bbr"), (cubic, "cubic")):
        runs = goodputs.sel(cc=cc)
        assert [bar.get_height() for bar in bars] == pytest.approx(runs.mean("seed").values)
        (whiskers,) = bars.errorbar.lines[2]
        ends = [list(line[:, 1]) for line in whiskers.get_segments()]
        expected = zip(runs.min("seed").values, runs.max("seed").values, strict=True)
        assert np.allclose(ends, list(expected))
    assert panel.get_ylim()[0] == 0
    assert panel.get_ylim()[1] > 42


def test_inner_and_outer_algorithms_are_told_apart(make_sweep):
    both = ["bbr", "cubic"]
    results = make_sweep({"tunnel.name": ["ssh-forward", "tinc"], "cc": both, "tunnel.cc": both})
    figure = overview(results, "goodput")
    said = {*(axes.get_title(loc="left") for axes in figure.axes), *labels(figure)}
    names = ("congestion control", "carrier's congestion control")
    assert said == {f"{name} {cc}" for name in names for cc in both}


def test_a_comparison_has_bars_colours_and_panels(make_sweep):
    results = make_sweep({"cc": ["bbr", "cubic"], "path.rtt": RTT, "path.buffer": BUFFER})
    figure, fixed = comparison(results, "goodput")
    assert not fixed
    assert len(figure.axes) * len(labels(figure)) == len(RTT[0]) * len(BUFFER[0])


def test_bars_of_algorithms_have_their_colours(make_sweep):
    (panel,) = overview(make_sweep({"cc": ["bbr", "cubic"]}), "goodput").axes
    (bars,) = (box for box in panel.containers if hasattr(box, "patches"))
    expected = [to_rgba(plots.algorithm_style(name)["color"]) for name in ("bbr", "cubic")]
    assert [bar.get_facecolor() for bar in bars] == expected


def test_a_sweep_over_names_alone_has_standard_figures(make_sweep):
    results = make_sweep({"tunnel": ["none", "ssh"]}, flows=("bbr", "cubic"))
    names = [name for name, _ in plots.standard(results)]
    assert {"goodput-over-tunnel", "jain-over-tunnel", "flow-share-over-tunnel"} <= set(names)


def test_bars_of_flows_are_grouped_by_their_algorithms(make_sweep):
    results = make_sweep({"tunnel": ["none", "ssh"]}, ("bbr", "cubic"), lambda **_: (3e6, 1e6))
    figure = plots.curves(results, "tunnel", "flow_goodput")
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert labels(figure) == ["bbr", "cubic"]
    assert heights == pytest.approx([3, 3, 1, 1])


def test_flows_that_differ_in_nothing_need_no_figure_of_their_shares(make_sweep):
    names = [name for name, _ in plots.standard(make_sweep({"path.rtt": RTT}, ("bbr", "bbr")))]
    assert "jain-over-path-rtt" in names
    assert "flow-share-over-path-rtt" not in names


def test_runs_that_failed_leave_the_others_to_be_drawn(duel):
    holed = duel.copy(deep=True)
    for name in metrics.STORED:
        holed[name][1, 2] = np.nan  # one run
        holed[name][3] = np.nan  # a point
    holed["flow_cc"][1, 2], holed["flow_cc"][3] = "", ""
    (axes,) = plots.curves(holed, "path.buffer", "flow_share").axes
    assert np.allclose(line(axes, "bbr").get_ydata(), [0.8, 2 / 3, 0.5, np.nan], equal_nan=True)
    assert len(list(plots.standard(holed))) == len(list(plots.standard(duel)))


@pytest.fixture(scope="module")
def pairs_of_points(make_sweep):
    """Points of RTT, loss and tunnel as a sweep's list has them: a grid but for one of them."""
    points = [
        (rtt, loss, tunnel)
        for rtt in (0.08, 0.02)
        for loss in (0.01, 0.001)
        for tunnel in ("none", "relay")
    ][:-1]
    sweep = make_sweep(
        {"point": list(range(len(points)))},
        goodput=lambda point, **_: 1e6 / (points[point][0] * points[point][1]) ** 0.5,
    )
    rtts, losses, tunnels = zip(*points, strict=True)
    return sweep.drop_vars("point").assign_coords(
        {"path.rtt": ("point", list(rtts), {"units": "s"}),
         "path.loss": ("point", list(losses), {"units": "1"}),
         "tunnel": ("point", np.array(tunnels, dtype=object))}
    )  # fmt: skip


def test_a_list_of_points_is_drawn_like_the_grid_that_it_is(pairs_of_points):
    figure = plots.curves(pairs_of_points, "path.rtt", "goodput", by="tunnel", facet="path.loss")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["random loss 0.1 %", "random loss 1 %"]
    few, many = figure.axes
    assert list(line(many, "no tunnel").get_xdata()) == [20, 80]
    expected = [1 / (0.02 * 0.01) ** 0.5, 1 / (0.08 * 0.01) ** 0.5]
    assert list(line(many, "relay").get_ydata()) == pytest.approx(expected)
    assert line(many, "relay").get_linestyle() == "--"
    assert list(line(few, "relay").get_xdata()) == [80], "where there is no point is none drawn"
    fixed = plots.curves(
        pairs_of_points, "path.rtt", "goodput", by="tunnel", at={"path.loss": "1%"}
    )
    assert list(line(fixed.axes[0], "relay").get_ydata()) == pytest.approx(expected)


def test_a_list_of_points_in_other_figures(pairs_of_points):
    at = {"tunnel": "none"}
    figure = plots.maps(pairs_of_points, "path.rtt", "path.loss", "goodput", at=at)
    cells = figure.axes[0].images[0].get_array()
    assert cells.shape == (2, 2)
    assert cells[0, 0] == cells.max()
    figure = plots.scatter(pairs_of_points, by="tunnel", facet="path.loss")
    assert [len(axes.lines) for axes in figure.axes] == [4, 4]
    names = [name for name, _ in plots.standard(pairs_of_points)]
    assert names == ["goodput-over-path-rtt", "goodput-over-path-loss", "queueing-delay"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "path.rtt", "by": "tunnel"}, "--at path.loss="),
        (
            {"x": "path.loss", "facet": "tunnel"},
            "path.rtt: expected --by path.rtt or --at path.rtt=",
        ),
        ({"x": "path.loss", "at": {"tunnel": "wire"}}, "one of none, relay"),
    ],
)
def test_points_that_a_figure_cannot_tell_apart_are_told_of(pairs_of_points, arguments, message):
    with pytest.raises(tc.ConfigError) as caught:
        plots.curves(pairs_of_points, y="goodput", **arguments)
    assert message in str(caught.value)


def test_points_of_one_axis_alone_are_not_joined(pairs_of_points):
    (axes,) = plots.curves(pairs_of_points, "path.rtt", "goodput").axes
    assert len(axes.lines[0].get_xdata()) == 7
    assert axes.lines[0].get_linestyle() == "None"


def test_an_axis_that_falls_is_joined_like_one_that_rises(make_sweep):
    sweep = make_sweep({"path.loss": ([0.01, 0.001], "1")})
    (axes,) = plots.curves(sweep, "path.loss", "goodput").axes
    assert list(axes.lines[0].get_xdata()) == pytest.approx([0.1, 1])
    assert axes.lines[0].get_linestyle() == "-"


@pytest.mark.parametrize(
    ("axes", "seeds"),
    [
        ({}, 1),
        ({"path.loss": ([0.01], "1")}, 1),
        ({"path.loss": ([0.0], "1"), "cc": ["bbr"]}, 1),
        ({"path.rtt": RTT, "path.loss": ([0.01], "1"), "tunnel": ["none"]}, 1),
        ({"flows.count": ([1, 2], "1")}, 2),
    ],
)
@pytest.mark.parametrize("values", ["all", "none"])
def test_odd_shapes_are_drawn_or_told_of(make_sweep, axes, seeds, values):
    sweep = make_sweep(axes, ("bbr", "cubic"), seeds=seeds)
    if values == "none":
        for name in metrics.STORED:
            sweep[name][:] = np.nan
        sweep["flow_cc"][:] = ""
    figures = [
        lambda: list(plots.standard(sweep)),
        lambda: overview(sweep, "goodput"),
        lambda: plots.scatter(sweep),
        *(lambda x=x, y=y: plots.maps(sweep, x, y, "jain") for x in axes for y in axes if x != y),
        *(lambda x=x, y=y: plots.curves(sweep, x, y) for x in axes for y in ("goodput", "jain")),
    ]
    drawn = 0
    for draw in figures:
        try:
            drawn += bool(draw())
        except tc.ConfigError:
            assert not drawn or len(axes) == 0 or values == "all"
    assert bool(drawn) == (values == "all")


def test_sweeps_without_any_result_are_told_of(make_sweep):
    empty = make_sweep({"path.loss": LOSS}, ("bbr", "cubic")).isel(flow=slice(0))
    for name in metrics.STORED:
        empty[name][:] = np.nan
    with pytest.raises(tc.ConfigError, match="one run has a value"):
        list(plots.standard(empty))


def test_what_sizes_and_messages_and_users_add_to_the_standard_set(make_sweep):
    sweep = make_sweep({"flows.write_size": ([64, 512], "byte")}, ("cubic", "cubic", "cubic"))
    sweep["efficiency"][:], sweep["flow_message_latency_p99"][:] = 0.5, 0.1
    sweep["jain_users"][:], sweep["jain_carriers"][:] = 0.7, 1
    names = [name for name, _ in plots.standard(sweep)]
    assert names == [
        "efficiency-over-flows-write-size", "message-latency-over-flows-write-size",
        "jain-over-flows-write-size", "jain-users-over-flows-write-size", "queueing-delay",
    ]  # fmt: skip
    sweep["flow_completion_time"][..., 0], sweep["flow_bytes"][..., 0] = 0.3, 1e5
    sweep["flow_group"][:], sweep["flow_completed"][..., 0] = [0, 1, 1], 1
    more = {name for name, _ in plots.standard(sweep)} - set(names)
    assert more == {"completion-time-over-flows-write-size"}


@pytest.mark.parametrize(
    "axes",
    [
        {"flows.interarrival": ([0.01, 0.02], "s"), "tunnel": ["none", "ssh"]},
        {"tunnel": ["none", "ssh"]},
    ],
)
def test_the_standard_set_of_finite_flows_has_their_completion_and_no_fairness(make_sweep, axes):
    sweep = make_sweep(axes, ("cubic",) * 3)
    sweep["flow_start"][:] = [0, 1, 2]
    sweep["flow_group"][:], sweep["flow_bytes"][:] = 0, 1e5
    sweep["flow_completion_time"][:], sweep["flow_completed"][:] = 0.3, 1
    x = next(iter(axes)).replace(".", "-")
    complete = [f"goodput-over-{x}", f"completion-time-over-{x}", "queueing-delay"]
    assert [name for name, _ in plots.standard(sweep)] == complete
    sweep["flow_completed"][..., -1], sweep["flow_completion_time"][..., -1] = 0, np.nan
    figures = dict(plots.standard(sweep))
    assert [*figures] == [*complete[:2], f"completed-over-{x}", "queueing-delay"]
    assert figures[f"completed-over-{x}"].axes[0].get_ylabel() == (
        "part of the flows that complete\n(%)"
    )
    # With an endless flow, shares are told of.
    sweep["flow_bytes"][..., 0] = sweep["flow_completed"][..., 0] = np.nan
    sweep["flow_group"][..., 0] = 1
    assert {f"jain-over-{x}", f"completed-over-{x}"} <= {name for name, _ in plots.standard(sweep)}


def test_completion_over_two_axes_is_a_map(make_sweep):
    sweep = make_sweep({"path.buffer": BUFFER, "path.rtt": RTT}, ("cubic",) * 3)
    sweep["flow_group"][:], sweep["flow_bytes"][:], sweep["flow_completion_time"][:] = 0, 1e5, 0.3
    names = [name for name, _ in plots.standard(sweep)]
    assert "completion-time-over-path-buffer-and-path-rtt" in names
    assert not any(name.startswith("jain") for name in names)


def test_flows_without_an_end_are_not_in_figures_of_completion(make_sweep):
    sweep = make_sweep({"path.buffer": BUFFER}, ("bbr", "cubic"))
    sweep["flow_bytes"][..., 1] = 1e5
    sweep["flow_completion_time"][1:, :, 1] = 0.3
    for by in (None, "flow"):
        figure = plots.curves(sweep, "path.buffer", "flow_completion_time", by=by)
        assert labels(figure) == ["cubic" if by is None else "flow 1, cubic", "in no run"]


def test_completion_is_of_others_where_the_changed_entry_has_no_end(make_sweep):
    sweep = make_sweep({"path.buffer": BUFFER, "flows.0.cc": ["bbr", "reno"]}, ("bbr", "cubic"))
    sweep["flow_group"][:] = [0, 1]
    sweep["flow_bytes"][..., 1] = 1e5
    sweep["flow_completion_time"][..., 1] = 0.3
    figure = plots.curves(sweep, "path.buffer", "flow_completion_time", by="flows.0.cc")
    assert labels(figure) == ["bbr", "reno"]
    assert figure.axes[0].get_ylabel() == "flow completion time (ms)"


def test_a_kind_of_flow_looks_the_same_in_all_panels(make_sweep):
    axes = {"path.buffer": BUFFER, "tunnel": ["none", "tinc"]}
    sweep = make_sweep(axes, ("bbr", "cubic", "cubic"))
    words = np.empty(sweep["flow_cc"].shape, dtype=object)
    words[:] = ["none", "none", "vxlan"]
    sweep["flow_tunnel"] = (sweep["flow_cc"].dims, words)
    sweep["flow_cc"][:, 1, :, 0] = "reno"
    figure = plots.curves(sweep, "path.buffer", "flow_goodput", facet="tunnel", theory=False)
    one, other = ({it.get_label(): it.get_color() for it in ax.lines} for ax in figure.axes)
    assert one["cubic in vxlan"] == other["cubic in vxlan"]
    assert len({one["bbr"], other["reno"], one["cubic"], one["cubic in vxlan"]}) == 4


def test_many_flows_are_drawn_by_their_rtt(make_sweep):
    sweep = make_sweep({"path.buffer": BUFFER}, ("cubic",) * 10)
    sweep["flow_base_rtt"][..., :4] = 0.02
    (axes,) = plots.curves(sweep, "path.buffer", "flow_share").axes
    drawn = [line.get_label() for line in axes.lines]
    assert drawn == ["mean of 4 flows, 20 ms", "mean of 6 flows, 40 ms"]
    sweep["flow_base_rtt"][:] = np.arange(10) / 100
    (axes,) = plots.curves(sweep, "path.buffer", "flow_share").axes
    assert [line.get_label() for line in axes.lines] == ["mean of 10 flows"]


@pytest.mark.parametrize(("axis", "value"), [("path.buffer", 1.0), ("tunnel", "none")])
def test_each_of_many_flows_has_the_look_of_its_entry(make_sweep, axis, value):
    sweep = make_sweep({axis: [value, value * 2]}, ("cubic",) * 20 + ("bbr", "reno"))
    sweep["flow_group"][:] = [0] * 20 + [1, 2]
    sweep["flow_share"][..., -1] = np.nan
    figure = plots.curves(sweep, axis, "flow_share", by="flow", theory=False)
    assert labels(figure) == ["flows.0, cubic, 20 flows", "flows.1, bbr, 1 flow"]
    assert figure.get_suptitle().endswith("means of 3 runs")
    (axes,) = figure.axes
    colours = [
        to_rgba(it.get_color()) if axes.lines else it.patches[0].get_facecolor()
        for it in axes.lines or axes.containers
    ]
    assert len(colours) == 21
    assert set(colours[:20]) == {colours[0]}
    assert colours[20] not in colours[:20]
    assert not axes.collections  # bands and whiskers


def test_flows_are_of_each_entry_that_has_them(make_sweep):
    sweep = make_sweep({"flows.0.count": [1.0, 12.0]}, ("cubic",) * 13)
    sweep["flow_group"][:] = [[[0, *[1] * 12]], [[0] * 12 + [1]]]
    figure = plots.curves(sweep, "flows.0.count", "flow_share", by="flow", theory=False)
    assert labels(figure) == [
        "flows.0, cubic, 1 flow", "flows.0 or flows.1, cubic, 11 flows", "flows.1, cubic, 1 flow",
    ]  # fmt: skip
    colours = {it.get_color() for it in figure.axes[0].lines}
    assert len(colours) == 3


def test_a_long_legend_makes_a_figure_higher_and_leaves_the_panel_its_size(make_sweep, tmp_path):
    heights = []
    for count in (12, 40):
        sweep = make_sweep({"path.buffer": BUFFER, "path.rate": np.arange(1.0, count + 1).tolist()})
        figure = plots.curves(sweep, "path.buffer", "goodput", by="path.rate", theory=False)
        plots.save(figure, tmp_path / "figure.png")
        heights.append(figure.axes[0].get_window_extent().height)
        assert len(labels(figure)) == count
    assert heights[1] == pytest.approx(heights[0], rel=0.05)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [([32, 16384], "32 bytes"), ([600, 1500], "600 bytes"), ([4000, 64000], "4 kB")],
)
def test_small_sizes_are_shown_in_bytes(make_sweep, sizes, text):
    axis = make_sweep({"flows.write_size": (sizes, "byte")})["flows.write_size"]
    assert scales.texts(axis)[0] == text


def looks(figure):
    legend = figure.legends[0].get_lines()
    return {it.get_label(): (it.get_color(), it.get_marker(), it.get_linestyle()) for it in legend}


def test_own_algorithms_never_look_the_same(make_sweep):
    """Style has 15 looks for algorithms that it does not know, by their names alone."""
    names = ("balia", "lia", "ns3::TcpHybla", "ns3::TcpYeah", "cubic")
    figure = plots.curves(make_sweep({"path.buffer": BUFFER}, names), "path.buffer", "flow_share")
    found = looks(figure)
    assert len(found) == len(set(found.values())) == 5
    for drawn in figure.axes[0].lines:
        own = (drawn.get_color(), drawn.get_marker(), drawn.get_linestyle())
        assert own == found[drawn.get_label()]


def test_many_values_of_an_axis_never_look_the_same(make_sweep):
    rates = np.arange(1.0, 41).tolist()
    sweep = make_sweep({"path.buffer": BUFFER, "path.rate": rates})
    figure = plots.curves(sweep, "path.buffer", "goodput", by="path.rate", theory=False)
    found = looks(figure)
    assert len(found) == len(set(found.values())) == 40


def test_ticks_of_small_numbers_are_written_as_others_are():
    assert [scales.plain(it) for it in (1e-5, 1e-4, 0.5, 10.0, 1e5)] == [
        "0.00001", "0.0001", "0.5", "10", "100000",
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["tunnel", "tunnel.name", "flows.0.tunnel"])
def test_none_is_no_tunnel_in_figures(make_sweep, key):
    sweep = make_sweep({key: ["none", "tinc"], "path.rtt": [0.01, 0.02]})
    figure = plots.curves(sweep, "path.rtt", "goodput", by=key, theory=False)
    assert labels(figure) == ["no tunnel", "tinc"]
    bars = plots.curves(sweep, key, "goodput", at={"path.rtt": 0.01}).axes[0]
    assert [it.get_text() for it in bars.get_xticklabels()] == ["no tunnel", "tinc"]
    rows = plots.differences(sweep, "goodput").axes[0].get_yticklabels()
    assert all(it.get_text().startswith("tinc") for it in rows)
    with pytest.raises(tc.ConfigError, match="none, tinc"):
        plots.curves(sweep, "path.rtt", "goodput", at={key: "tink"})
