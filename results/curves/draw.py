# SPDX-License-Identifier: GPL-2.0-only
"""Draw what tunnels do to congestion control, one figure for each lesson.

``.venv/bin/python results/curves/draw.py`` runs the sweeps that the store (``runs``) does not have
and writes the SVG files beside this one, and CSV files with their points; names of figures draw
those alone. Lines are means over
seeds, bands reach from the least to the most, thin dashed lines are theory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import tunnelcc as tc
from tunnelcc import core
from tunnelcc.metrics import formulas
from tunnelcc.plots import algorithm_style, gallery
from tunnelcc.plots.scales import Positions

HERE = Path(__file__).parent
SWEEPS = HERE.parents[1] / "scenarios/sweeps"
BLACK, GREY, GREEN, PINK = "#000000", "#777777", "#009E73", "#CC79A7"
BLUE, ORANGE = (algorithm_style(name)["color"] for name in ("bbr", "cubic"))
# Vertical distance between the labels of two lines, as a part of the axes.
_LABEL_HEIGHT = 0.075
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

#: Opens a sweep's results by its name.
Open = Callable[[str], Any]


@dataclass
class Panel:
    """Axes, what is drawn there, and the labels that wait at the ends of its lines."""

    axes: Axes
    positions: Positions

    def __post_init__(self) -> None:
        self._labels: list[tuple[float, str, str]] = []

    def line(self, values: Any, label: str, colour: str, **style: Any) -> None:
        """Draw the mean of ``values`` over seeds, and from the least to the most."""
        (dim,) = (dim for dim in values.dims if dim != "seed")
        at = self.positions.of(values[dim].values)
        mean, low, high = gallery.mean_and_ends(values.transpose(dim, "seed").values)
        style = {"marker": "o", "markersize": 4, **style}
        self.axes.plot(at, mean, color=colour, **style)
        self.axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        self.label(float(mean[-1]), label, colour)

    def theory(self, x: Any, y: Any, colour: str, label: str = "") -> None:
        """Draw a thin dashed line."""
        self.axes.plot(
            self.positions.of(x), y, color=colour, linestyle=(0, (4, 3)), linewidth=0.9, zorder=3
        )
        if label:
            self.label(float(np.asarray(y)[-1]), label, colour)

    def level(self, y: float, label: str, **style: Any) -> None:
        """Draw a dotted line across, its label above it at the left end."""
        self.axes.axhline(y, color=BLACK, linewidth=0.9, linestyle=":", zorder=1.5)
        style = {"ha": "left", "va": "bottom", **style}
        x = {"left": 0.015, "right": 0.985, "center": 0.5}[style["ha"]]
        self.axes.text(x, y, label, transform=self.axes.get_yaxis_transform(), fontsize=9, **style)

    def label(self, y: float, text: str, colour: str) -> None:
        """Write ``text`` beside the line's end at ``y``, once all are known."""
        self._labels.append((y, text, colour))

    def finish(self, x_name: str, y_name: str, title: str) -> None:
        """Write labels of lines, clear of each other, and of axes."""
        self.positions.draw(self.axes, x_name)
        self.axes.xaxis.set_minor_locator(NullLocator())
        self.axes.set_ylabel(y_name)
        self.axes.set_title(title)
        to_axes = self.axes.transScale + self.axes.transLimits
        wanted = [(to_axes.transform((1, y))[1], text, colour) for y, text, colour in self._labels]
        wanted.sort(key=lambda item: item[0])
        for height, (_, text, colour) in zip(
            _spread([y for y, _, _ in wanted]), wanted, strict=True
        ):
            self.axes.text(
                1.02, height, text, transform=self.axes.transAxes, fontsize=9, color=colour,
                ha="left", va="center", linespacing=1.0,
            )  # fmt: skip

    def logarithmic(self, low: float, high: float) -> None:
        """Set a logarithmic vertical axis with plain numbers."""
        self.axes.set_yscale("log")
        self.axes.set_ylim(low, high)
        ticks = [tick for tick in _TICKS if low <= tick <= high]
        self.axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        self.axes.yaxis.set_minor_locator(NullLocator())


def _spread(heights: Sequence[float]) -> list[float]:
    """Return rising heights moved apart as little as need be."""
    groups: list[list[float]] = []  # heights that touch, in a row about their mean
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _ends(groups[-2])[1] + _LABEL_HEIGHT > _ends(groups[-1])[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [
        _ends(group)[0] + index * _LABEL_HEIGHT for group in groups for index in range(len(group))
    ]


def _ends(group: Sequence[float]) -> tuple[float, float]:
    middle, half = sum(group) / len(group), (len(group) - 1) * _LABEL_HEIGHT / 2
    return middle - half, middle + half


def _figure(panels: int, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Panels below each other, as wide as letters of 9 points are legible on a phone."""
    figure = Figure(figsize=(4.2, panels * height))
    axes = figure.subplots(panels, 1, squeeze=False)
    figure.get_layout_engine().set(hspace=0.06)  # type: ignore[union-attr]
    return figure, list(axes.flat)


def _cubic(loss: Any, rtt: Any, mss: float = 1448) -> Any:
    """Goodput (Mbit/s) of a CUBIC flow that only loss limits (RFC 9438)."""
    pairs = np.broadcast(np.asarray(loss, dtype=float), np.asarray(rtt, dtype=float))
    return np.array([8e-6 * mss * formulas.cubic_window(p, t) * (1 - p) / t for p, t in pairs])


def tcp_over_tcp(results: Open) -> Figure:
    """One carrier for all flows against datagrams."""
    sweep = results("tcp-over-tcp")
    goodput = sweep["goodput"] / 1e6
    figure, (left, right) = _figure(2)
    lines = (
        ("vtun-udp", "datagrams", GREEN, {"marker": "s"}),
        ("vtun", "one TCP carrier,\nCUBIC", ORANGE, {}),
        ("vtun cc=bbr", "one TCP carrier,\nBBR", BLUE, {"marker": "D"}),
    )
    loss, rtt = 0.002, 0.05
    views = (
        (left, "flows.count", {"path.loss": loss}, "0.2 % loss"),
        (right, "path.loss", {"flows.count": 16}, "16 flows"),
    )
    for axes, key, at, title in views:
        panel = Panel(axes, Positions(sweep[key]))
        panel.logarithmic(1.2, 400)
        shown = goodput.sel(at, method="nearest")
        panel.line(shown.sel(tunnel="none"), "no tunnel", GREY, marker="", linewidth=3, alpha=0.5)
        for tunnel, label, colour, style in lines:
            panel.line(shown.sel(tunnel=tunnel), label, colour, **style)
        x = panel.positions.span()
        one = _cubic(x if key == "path.loss" else loss, rtt)
        count = 16 if key == "path.loss" else x
        panel.theory(x, np.broadcast_to(one, x.shape), ORANGE)
        panel.theory(x, count * one, GREEN)
        panel.level(300, "bottleneck rate")
        name = "flows" if key == "flows.count" else "random loss"
        panel.finish(name, "goodput of all flows (Mbit/s)", title)
    left.text(4, 3.4, "RFC 9438: one flow", fontsize=9, color=ORANGE, ha="center")
    left.text(3.3, 27, "RFC 9438: × flows", fontsize=9, color=GREEN, ha="center", rotation=30)
    figure.suptitle(
        "CUBIC flows through one tunnel: over TCP they get\nwhat one of the carrier's control gets",
        fontsize=10,
    )
    return figure


def split_or_end_to_end(results: Open) -> Figure:
    """What relays on the way save."""
    sweep = results("split-or-end-to-end")
    goodput = sweep["goodput"] / 1e6
    figure, (left, right) = _figure(2)
    lines = (
        (0, "end to end", ORANGE, {}),
        (1, "1 relay", BLUE, {"marker": "s"}),
        (3, "3 relays", GREEN, {"marker": "^"}),
    )
    loss, rtt = 0.001, 0.08
    views = (
        (left, "path.rtt", {"path.loss": loss}, "0.1 % loss", "base RTT"),
        (right, "path.loss", {"path.rtt": rtt}, "RTT 80 ms", "random loss"),
    )
    for axes, key, at, title, name in views:
        panel = Panel(axes, Positions(sweep[key]))
        panel.logarithmic(1.2, 130)
        shown = goodput.sel(at, method="nearest")
        x = panel.positions.span()
        for relays, label, colour, style in lines:
            panel.line(shown.sel({"tunnel.relays": relays}), label, colour, **style)
            parts = relays + 1
            theory = _cubic(
                (x if key == "path.loss" else loss) / parts,
                (x if key == "path.rtt" else rtt) / parts,
            )
            panel.theory(x, np.minimum(theory, 96), colour)
        panel.level(100, "bottleneck rate", ha="right")
        panel.finish(name, "goodput of one CUBIC flow (Mbit/s)", title)
    without, halved = (
        float(goodput.sel(at | {"tunnel.relays": relays}, method="nearest").mean("seed"))
        for at in ({"path.loss": loss, "path.rtt": rtt},)
        for relays in (0, 1)
    )
    left.annotate("", (80, halved), (80, without), arrowprops={"arrowstyle": "->", "lw": 1})
    left.text(83, (halved * without) ** 0.5, f"× {halved / without:.1f}", fontsize=9, va="center")
    figure.suptitle(
        "A relay half way halves RTT and loss of each control loop\n"
        "(dashed: RFC 9438 for each part)",
        fontsize=10,
    )
    return figure


def bbr_inside_cubic(results: Open) -> Figure:
    """All four pairs of an application's and a carrier's control."""
    sweep = results("bbr-inside-cubic")
    figure, (left, right) = _figure(2)
    views = (
        (
            left, sweep["goodput"] / 1e6, "goodput of four flows (Mbit/s)",
            "What the carrier decides",
        ),
        (
            right, 1e3 * sweep["flow_socket_rtt"].mean("flow"), "RTT that applications see (ms)",
            "What both decide",
        ),
    )  # fmt: skip
    lines = (
        ("openvpn-2.6-tcp cc=bbr", "bbr", "BBR in BBR", BLUE, {}),
        (
            "openvpn-2.6-tcp cc=bbr", "cubic", "CUBIC in BBR", BLUE,
            {"linestyle": "--", "marker": "s"},
        ),
        ("openvpn-2.6-tcp cc=cubic", "bbr", "BBR in CUBIC", ORANGE, {}),
        (
            "openvpn-2.6-tcp cc=cubic", "cubic", "CUBIC in CUBIC", ORANGE,
            {"linestyle": "--", "marker": "s"},
        ),
        ("none", "bbr", "BBR, no tunnel", GREY, {"marker": ""}),
        ("none", "cubic", "CUBIC, no tunnel", GREY, {"marker": "", "linestyle": "--"}),
    )  # fmt: skip
    for axes, shown, name, title in views:
        panel = Panel(axes, Positions(sweep["path.loss"]))
        panel.logarithmic(*((0.7, 130) if axes is left else (40, 5000)))
        for tunnel, cc, label, colour, style in lines:
            panel.line(shown.sel(tunnel=tunnel, cc=cc), label, colour, **style)
        if axes is right:
            panel.level(50, "base RTT")
        panel.finish("random loss", name, title)
    figure.suptitle("TCP over TCP (OpenVPN):\nwhich control inside, which outside", fontsize=10)
    return figure


def one_carrier_or_many(results: Open) -> Figure:
    """Who shares a carrier: goodput, fairness between users, messages behind others' losses."""
    bulk, messages = results("one-carrier-or-many"), results("head-of-line")
    figure, (left, middle, right) = _figure(3)
    lines = (
        ("all", "for all", ORANGE, {}),
        ("user", "each user", PINK, {"marker": "^"}),
        ("flow", "each flow", BLUE, {"marker": "s"}),
    )
    views = (
        (left, bulk["goodput"] / 1e6, "goodput of both users (Mbit/s)", "Eight flows of two users"),
        (
            middle, 100 * bulk["flow_share"].isel(flow=7), "share of the user of one flow (%)",
            "The user of one flow, the other of seven",
        ),
        (
            right, 1e3 * messages["flow_message_latency_p95"].mean("flow"),
            "95th percentile of latency (ms)", "Messages of eight flows",
        ),
    )  # fmt: skip
    for axes, shown, name, title in views:
        panel = Panel(axes, Positions(shown["path.loss"]))
        if axes is left:
            panel.logarithmic(1.5, 130)
            panel.level(100, "bottleneck rate", ha="right")
        elif axes is middle:
            axes.set_ylim(0, 90)
            panel.level(50, "")
            axes.text(0.985, 79, "dotted, half: fair between users", fontsize=9, ha="right",
                      transform=axes.get_yaxis_transform())  # fmt: skip
            panel.level(12.5, "")
            axes.text(0.985, 4, "dotted, an eighth: fair between flows", fontsize=9, ha="right",
                      transform=axes.get_yaxis_transform())  # fmt: skip
        else:
            panel.logarithmic(20, 500)
            axes.text(0.015, 24, "half of the RTT", fontsize=9,
                      transform=axes.get_yaxis_transform())  # fmt: skip
            panel.level(30, "")
        for carriers, label, colour, style in lines:
            if carriers in shown["tunnel.carriers"].values:
                panel.line(shown.sel({"tunnel.carriers": carriers}), label, colour, **style)
        panel.finish("random loss", name, title)
    figure.suptitle(
        "One carrier for all flows or several\n(GOST with smux): rate, fairness between\nusers, "
        "head-of-line blocking", fontsize=10,
    )  # fmt: skip
    return figure


def tunnel_mtu(results: Open) -> Figure:
    """Headers against fragments."""
    sweep = results("tunnel-mtu")
    figure, (left, right) = _figure(2)
    key, whole = "tunnel.mtu", 1458
    loss, rtt, flows = 0.001, 0.04, 4
    views = (
        (left, sweep["goodput"] / 1e6, "goodput of four CUBIC flows (Mbit/s)", "0.1 % loss"),
        (right, 1 / sweep["efficiency"], "bytes on the path\nper application byte", "Overhead"),
    )
    for axes, shown, name, title in views:
        panel = Panel(axes, Positions(sweep[key]))
        for side, colour, label in (
            (sweep[key] <= whole, BLUE, "whole"),
            (sweep[key] > whole, ORANGE, "two\nfragments"),
        ):
            at = shown.sel({key: sweep[key][side]})
            panel.line(at, label if colour == ORANGE else "", colour)
            if axes is left:
                mtu = at[key].values.astype(float)
                lost = loss if colour == BLUE else 1 - (1 - loss) ** 2
                panel.theory(mtu, flows * _cubic(lost, rtt, 1) * (mtu - 52), BLACK)
        axes.axvline(whole, color=BLACK, linewidth=0.9, linestyle=":")
        axes.set_ylim(*((0, 55) if axes is left else (1.0, 1.25)))
        panel.finish("MTU of the tunnel's device (bytes)", name, title)
        ticks = [600, 800, 1000, 1200, whole]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    note = "dashed: RFC 9438, where a packet\nor either of its fragments is lost"
    left.text(610, 3, note, fontsize=9)
    left.text(whole - 15, 49.5, "1458: the last\nthat leaves whole", fontsize=9, ha="right")
    figure.suptitle(
        "EthUDP adds 42 bytes: larger packets are better\nuntil one byte more makes two fragments",
        fontsize=10,
    )
    return figure


def small_writes(results: Open) -> Figure:
    """Bytes on the path for small messages."""
    sweep = results("small-writes")
    figure, (axes,) = _figure(1, 5.2)
    panel = Panel(axes, Positions(sweep["flows.write_size"]))
    panel.logarithmic(0.98, 12.5)
    kinds = (
        ("gost-tun-wss", "GOST tun (TCP over TLS)", ORANGE, {"marker": "D"}),
        ("openvpn-2.6-tcp", "OpenVPN over TCP", ORANGE, {"marker": "s"}),
        ("wireguard", "WireGuard", GREEN, {"marker": "o"}),
        ("openvpn-udp", "OpenVPN over UDP", GREEN, {"marker": "s"}),
        ("ssh-forward", "SSH forwarding", BLUE, {"marker": "v"}),
        ("gost-relay-wss", "GOST relay, TLS", BLUE, {"marker": "D"}),
        ("gost-relay-mws", "GOST relay, smux", BLUE, {"marker": "^"}),
        ("gost-relay-ws", "GOST relay", BLUE, {"marker": "o"}),
        ("none", "no tunnel", BLACK, {"marker": "", "linewidth": 2}),
    )
    for tunnel, label, colour, style in kinds:
        panel.line(1 / sweep["efficiency"].sel(tunnel=tunnel), "", colour, **style)
        axes.lines[-1].set_label(label)
    x = panel.positions.span()
    axes.plot(
        panel.positions.of(x), 1 + 52 / np.minimum(x, 1448), color=GREY, linestyle="--", lw=0.9,
        label="52 bytes of headers",
    )  # fmt: skip
    panel.finish("size of a write", "bytes on the path per application byte", "")
    axes.tick_params(axis="x", rotation=45)
    for y, text, colour in (
        (0.94, "packets in TCP", ORANGE), (0.88, "packets in UDP", GREEN), (0.82, "relays", BLUE),
    ):  # fmt: skip
        axes.text(0.97, y, text, transform=axes.transAxes, color=colour, fontsize=9, ha="right")
    axes.annotate(
        "1400 bytes no longer fit\nthe tunnels' packets", (1400, 1.44), (1000, 2.3), fontsize=9,
        arrowprops={"arrowstyle": "->", "lw": 0.8},
    )  # fmt: skip
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    figure.suptitle("Small writes through tunnels, each sent at once", fontsize=10)
    return figure


def short_flows(results: Open) -> Figure:
    """Time that short downloads take, over their load."""
    sweep = results("short-flows")
    times = sweep["flow_completion_time"].mean("flow").rename({"flows.interarrival": "load"})
    load = 100 * (8 * 100e3 / times["load"].values) / 100e6
    times = times.assign_coords(load=load.round()).sortby("load")
    figure, (axes,) = _figure(1, 4.0)
    panel = Panel(axes, Positions(times["load"]))
    panel.logarithmic(60, 6000)
    kinds = (
        ("openvpn-2.6-tcp", "OpenVPN over TCP", ORANGE, {"marker": "s"}),
        ("gost-relay-wss", "GOST relay, a carrier\nfor each download", PINK, {"marker": "D"}),
        ("wireguard", "WireGuard", GREEN, {}),
        ("none", "no tunnel", BLACK, {"marker": "", "linewidth": 2}),
        ("gost-relay-mwss", "GOST relay, one\ncarrier for all", BLUE, {"marker": "^"}),
        (
            "gost-relay-mwss cc=bbr",
            "GOST relay, one\ncarrier for all, BBR",
            BLUE,
            {"marker": "v", "linestyle": "--"},
        ),
    )
    for tunnel, label, colour, style in kinds:
        panel.line(1e3 * times.sel(tunnel=tunnel), label, colour, **style)
    panel.finish("load of the downloads (% of the rate)", "mean time of a download (ms)", "")
    figure.suptitle(
        "Downloads of 100 kB at random times,\n100 Mbit/s × 60 ms, 0.01 % loss, CUBIC", fontsize=10
    )
    return figure


def quic_beside_tcp(results: Open) -> Figure:
    """Share of a flow over QUIC beside one over TCP."""
    sweep = results("quic-beside-tcp")
    share = sweep["flow_share"].isel(flow=0)
    tunnels = (
        ("none", "no tunnel"),
        ("wireguard", "both in WireGuard"),
        ("openvpn-2.6-tcp", "both in OpenVPN over TCP"),
    )
    figure, panels = _figure(len(tunnels), 2.6)
    for axes, (tunnel, title) in zip(panels, tunnels, strict=True):
        panel = Panel(axes, Positions(sweep["path.buffer"]))
        for name, line in (("reno", "-."), ("cubic", "--"), ("bbr", "-")):
            style = algorithm_style(name)
            one = share.sel(cc=name, tunnel=tunnel)
            look = {"marker": style["marker"], "linestyle": line}
            panel.line(one, core.congestion_label(name), style["color"], **look)
        panel.level(0.5, "")
        if axes is panels[0]:
            axes.text(0.985, 0.05, "dotted: equal shares", fontsize=9, ha="right",
                      transform=axes.get_yaxis_transform())  # fmt: skip
        axes.set_ylim(0, 1)
        panel.finish("buffer", "share of the flow over QUIC", title)
    figure.suptitle(
        "A flow over QUIC beside one over TCP\nwith the same congestion control,\n"
        "50 Mbit/s × 40 ms",
        fontsize=10,
    )
    return figure


FIGURES: dict[str, Callable[[Open], Figure]] = {
    "tcp-over-tcp": tcp_over_tcp,
    "split-or-end-to-end": split_or_end_to_end,
    "bbr-inside-cubic": bbr_inside_cubic,
    "one-carrier-or-many": one_carrier_or_many,
    "tunnel-mtu": tunnel_mtu,
    "small-writes": small_writes,
    "quic-beside-tcp": quic_beside_tcp,
    "short-flows": short_flows,
}


def _goodput(name: str) -> Callable[[Open], list[gallery.Row]]:
    """Return the table of a sweep's goodput."""

    def rows(results: Open) -> list[gallery.Row]:
        sweep = results(name)
        return gallery.table(sweep, goodput=("bit/s", sweep["goodput"]))

    return rows


def _pairs_inside(results: Open) -> list[gallery.Row]:
    sweep = results("bbr-inside-cubic")
    rtt = sweep["flow_socket_rtt"].mean("flow")
    return gallery.table(sweep, goodput=("bit/s", sweep["goodput"]), rtt=("s", rtt))


def _carriers(results: Open) -> list[gallery.Row]:
    sweep = results("one-carrier-or-many")
    share = sweep["flow_share"].isel(flow=7)
    return gallery.table(sweep, goodput=("bit/s", sweep["goodput"]), share_of_one_flow=("1", share))


def _blocked(results: Open) -> list[gallery.Row]:
    sweep = results("head-of-line")
    return gallery.table(sweep, p95=("s", sweep["flow_message_latency_p95"].mean("flow")))


def _overhead(name: str) -> Callable[[Open], list[gallery.Row]]:
    def rows(results: Open) -> list[gallery.Row]:
        sweep = results(name)
        return gallery.table(
            sweep, goodput=("bit/s", sweep["goodput"]), overhead=("1", 1 / sweep["efficiency"])
        )

    return rows


def _completion(results: Open) -> list[gallery.Row]:
    sweep = results("short-flows")
    times = sweep["flow_completion_time"]
    ended = np.isfinite(times).mean("flow")
    return gallery.table(sweep, time=("s", times.mean("flow")), ended=("1", ended))


def _share_of_first(name: str) -> Callable[[Open], list[gallery.Row]]:
    def rows(results: Open) -> list[gallery.Row]:
        sweep = results(name)
        return gallery.table(sweep, share=("1", sweep["flow_share"].isel(flow=0)))

    return rows


#: `tunnelcc plot --kind pairs` draws who-beats-whom (results/README.md).
TABLES: dict[str, Callable[[Open], list[gallery.Row]]] = {
    "tcp-over-tcp": _goodput("tcp-over-tcp"),
    "split-or-end-to-end": _goodput("split-or-end-to-end"),
    "bbr-inside-cubic": _pairs_inside,
    "one-carrier-or-many": _carriers,
    "head-of-line": _blocked,
    "tunnel-mtu": _overhead("tunnel-mtu"),
    "small-writes": _overhead("small-writes"),
    "quic-beside-tcp": _share_of_first("quic-beside-tcp"),
    "short-flows": _completion,
    "who-beats-whom": _share_of_first("all-pairs"),
}


def _opener(store: Path) -> Open:
    return lambda name: tc.sweep(SWEEPS / f"{name}.toml", store=store)


if __name__ == "__main__":
    gallery.main(FIGURES, _opener, HERE, __doc__ or "", TABLES)
