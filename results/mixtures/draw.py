# SPDX-License-Identifier: GPL-2.0-only
"""Draw mixtures of tunnels and networks of several links, one figure for each sweep.

``.venv/bin/python results/mixtures/draw.py`` runs the sweeps that the store (``runs``) does not
have and writes the SVG files beside this one, and CSV files with their points; names of figures
draw those alone. Values are means over seeds, bands and whiskers reach from the least to the most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import tunnelcc as tc
from tunnelcc.metrics import harm
from tunnelcc.plots import algorithm_style, category_style, gallery
from tunnelcc.plots.style import hatch
from tunnelcc.schema.toml import parse_toml

HERE = Path(__file__).parent
SWEEPS = HERE.parents[1] / "scenarios/sweeps"
BLACK, GREY, GREEN, PINK = "#000000", "#777777", "#009E73", "#CC79A7"
BLUE, ORANGE = (algorithm_style(name)["color"] for name in ("bbr", "cubic"))

NEIGHBOURS = {
    "gost-relay-wss cc=bbr": ("relay, BBR carrier", BLUE, "D"),
    "gost-relay-wss cc=cubic": ("relay, CUBIC carrier", ORANGE, "s"),
    "wireguard": ("WireGuard", GREEN, "^"),
    "openvpn-2.6-tcp": ("OpenVPN over TCP", PINK, "v"),
    "none": ("no tunnel", BLACK, "o"),
}
TUNNELS = {
    "none": "no tunnel",
    "wireguard": "WireGuard",
    "openvpn-udp": "OpenVPN over UDP",
    "gost-relay-wss": "GOST relay, CUBIC",
    "gost-relay-wss cc=bbr": "GOST relay, BBR",
    "gost-relay-mwss": "GOST relay with smux, CUBIC",
    "gost-relay-mwss cc=bbr": "GOST relay with smux, BBR",
    "ssh-forward": "SSH forwarding",
    "openvpn-2.6-tcp": "OpenVPN over TCP, CUBIC",
    "openvpn-2.6-tcp cc=bbr": "OpenVPN over TCP, BBR",
}

#: Flows of a download beside an upload.
WAYS = {"down": BLUE, "up": ORANGE}

#: Opens the results of a sweep: of a scenario's name, or of its table.
Open = Callable[[Any, str], Any]


def _mean_and_ends(values: Any, dim: str | None = None) -> tuple[Any, Any, Any]:
    dims = ("seed",) if dim is None else (dim, "seed")
    return gallery.mean_and_ends(values.transpose(*dims).values)


def _neighbours(results: Open) -> tuple[Any, Any]:
    """Return the sweep, and the one without the neighbour."""
    name = "neighbours-tunnel"
    sweep = results(SWEEPS / f"{name}.toml", name)
    table = parse_toml((SWEEPS / f"{name}.toml").read_text(), name)
    table["flows"] = table["flows"][:1]
    del table["tunnels"], table["sweep"]["tunnels.neighbour"]
    return sweep, results(table, f"{name}-away")


def neighbours_tunnel(results: Open) -> Figure:
    """What a neighbour gets, and what he takes, by his tunnel."""
    sweep, alone = _neighbours(results)
    figure = Figure(figsize=(7.1, 6.2))
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, count in zip(panels.T, (1, 8), strict=True):
        at = {"flows.0.count": count}
        for place, (tunnel, (label, colour, marker)) in enumerate(NEIGHBOURS.items()):
            run = sweep.sel(at | {"tunnels.neighbour": tunnel})
            mine = run["flow_goodput"].isel(flow=count)
            others = run["goodput"] - mine
            lost = harm(alone["goodput"].sel(at).mean("seed"), others)
            for axes, values in zip(column, (100 * mine / run["goodput"], lost), strict=True):
                mean, low, high = _mean_and_ends(values, "path.buffer")
                x = np.arange(len(mean))
                line = category_style(place)["linestyle"]
                axes.plot(
                    x, mean, color=colour, marker=marker, linestyle=line, markersize=4, label=label
                )
                axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
        share, lost_axes = column
        fair = 1 / (count + 1)
        share.axhline(100 * fair, color=GREY, linestyle=":", linewidth=1)
        lost_axes.axhline(fair, color=GREY, linestyle=":", linewidth=1)
        flows = "one plain CUBIC flow" if count == 1 else f"{count} plain CUBIC flows"
        share.set_title(f"beside {flows}")
        share.set_ylim(0, 100)
        lost_axes.set_ylim(0, 1)
        labels = [f"{value:g}".lstrip() for value in (0.25, 0.6, 1.4, 3.4, 8)]
        lost_axes.set_xticks(range(5), labels)
        lost_axes.set_xlabel("buffer (BDP)")
    panels[0, 0].set_ylabel("neighbour's share (%)")
    panels[1, 0].set_ylabel("harm to the plain flows")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.suptitle("A neighbour's tunnel (dotted: an equal part for each flow)", fontsize=10)
    return figure


def vpn_of_eight(results: Open) -> Figure:
    """The share of a user of eight flows, by his tunnel."""
    name = "vpn-of-eight"
    sweep = results(SWEEPS / f"{name}.toml", name)
    share = 100 * sweep["flow_goodput"].isel(flow=slice(8, 16)).sum("flow") / sweep["goodput"]
    figure = Figure(figsize=(3.9, 5))
    axes = figure.subplots()
    names = [name for name in TUNNELS if name in sweep["tunnels.vpn"].values][::-1]
    for y, tunnel in enumerate(names):
        mean, low, high = _mean_and_ends(share.sel({"tunnels.vpn": tunnel}))
        ends = gallery.whiskers(mean, low, high)
        colour = BLACK if tunnel == "none" else BLUE if "bbr" in tunnel else ORANGE
        axes.barh(y, mean, xerr=ends, color=colour, height=0.45, error_kw={"linewidth": 1})
        axes.text(float(high) + 1.5, y, f"{float(mean):.0f} %", va="center")
    gallery.names_above(axes, [TUNNELS[name] for name in names])
    for part in (50, 100 / 9):
        axes.axvline(part, color=GREY, linestyle=":", linewidth=1)
    axes.set_xlim(0, 112)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel("share of the user with the tunnel (%)")
    axes.set_title("8 flows in one tunnel beside 8 plain users\n(dotted: 1/9 and 8/16)")
    return figure


def upload_beside_download(results: Open) -> Figure:
    """What each way gets, with two queues at the way up."""
    name = "upload-beside-download"
    sweep = results(SWEEPS / f"{name}.toml", name)
    figure = Figure(figsize=(7.1, 4.6))
    queues = {"drop-tail": "100 packets, drop-tail", "fq-codel": "up: FQ-CoDel"}
    names = [name for name in TUNNELS if name in sweep["tunnel"].values][::-1]
    for axes, (queue, title) in zip(
        figure.subplots(1, 2, sharey=True), queues.items(), strict=True
    ):
        goodputs = sweep["flow_goodput"].sel({"path.reverse.queue": queue}) / 1e6
        rows = [
            (
                TUNNELS[tunnel],
                [
                    (goodputs.sel(tunnel=tunnel).isel(flow=flow).values, colour)
                    for flow, colour in enumerate(WAYS.values())
                ],
            )
            for tunnel in names
        ]
        gallery.bars_of_flows(axes, rows)
        for rate in (10, 50):
            axes.axvline(rate, color=GREY, linestyle=":", linewidth=1)
        axes.set_xlim(0, 55)
        axes.set_title(title)
    handles = [
        Patch(facecolor=colour, label=label, **hatch(place))
        for place, (label, colour) in enumerate(WAYS.items())
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle("A download and an upload at once, 50 Mbit/s down and 10 up", fontsize=10)
    return figure


def shapes(results: Open) -> Figure:
    """What each flow gets in networks of equal links."""
    sweep = results(SWEEPS / "shapes.toml", "shapes")
    figure = Figure(figsize=(7.1, 5.2))
    names = list(sweep["network.shape"].values)
    panels = figure.subplots(2, len(names) // 2, sharey=True)
    for index, (axes, name) in enumerate(zip(panels.flat, names, strict=True)):
        kinds = (("cubic", ORANGE, -0.19), ("bbr", BLUE, 0.19))
        for place, (cc, colour, aside) in enumerate(kinds):
            rates = sweep["flow_goodput"].isel(point=index).sel(cc=cc) / 1e6
            mean, low, high = _mean_and_ends(rates, "flow")
            ends = gallery.whiskers(mean, low, high)
            x = np.arange(len(mean))
            axes.bar(
                x + aside, mean, yerr=ends, width=0.36, color=colour, label=cc.upper(),
                error_kw={"linewidth": 1}, **hatch(place),
            )  # fmt: skip
        crossed = {"star": 2, "ring": 2, "mesh": 1}.get(name)
        long = "flow 0 crosses 4 links, others one"
        each = f"each flow crosses {crossed} link{'s' * (crossed != 1)}"
        axes.set_title(f"{name}: {each if crossed else long}")
        axes.set_xticks(range(5))
        axes.set_xlabel("flow")
        axes.grid(visible=False, axis="x")
    for axes in panels[:, 0]:
        axes.set_ylabel("goodput (Mbit/s)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle("Links of 20 Mbit/s, flows through GOST's relay", fontsize=10)
    return figure


FIGURES: dict[str, Callable[[Open], Figure]] = {
    "neighbours-tunnel": neighbours_tunnel,
    "vpn-of-eight": vpn_of_eight,
    "upload-beside-download": upload_beside_download,
    "shapes": shapes,
}


def _neighbours_table(results: Open) -> list[gallery.Row]:
    rows = []
    sweep, alone = _neighbours(results)
    for count in (1, 8):
        chosen = sweep.sel({"flows.0.count": count})
        mine = chosen["flow_goodput"].isel(flow=count)
        others = chosen["goodput"] - mine
        without = alone["goodput"].sel({"flows.0.count": count}).mean("seed")
        rows += [
            {"plain flows": str(count), **row}
            for row in gallery.table(
                chosen.drop_vars("flows.0.count"),
                share=("1", mine / chosen["goodput"]),
                harm=("1", harm(without, others)),
            )
        ]
    return rows


def _vpn_table(results: Open) -> list[gallery.Row]:
    sweep = results(SWEEPS / "vpn-of-eight.toml", "vpn-of-eight")
    share = sweep["flow_goodput"].isel(flow=slice(8, 16)).sum("flow") / sweep["goodput"]
    return gallery.table(sweep, share=("1", share))


def _ways_table(results: Open) -> list[gallery.Row]:
    sweep = results(SWEEPS / "upload-beside-download.toml", "upload-beside-download")
    goodputs = {
        way: ("bit/s", sweep["flow_goodput"].isel(flow=flow)) for flow, way in enumerate(WAYS)
    }
    rtt = sweep["flow_socket_rtt"].mean("flow")
    return gallery.table(sweep, **goodputs, rtt=("s", rtt))


def _shapes_table(results: Open) -> list[gallery.Row]:
    sweep = results(SWEEPS / "shapes.toml", "shapes")
    goodputs = {
        f"flow {flow}": ("bit/s", sweep["flow_goodput"].isel(flow=flow)) for flow in range(5)
    }
    return gallery.table(sweep, **goodputs)


TABLES: dict[str, Callable[[Open], list[gallery.Row]]] = {
    "neighbours-tunnel": _neighbours_table,
    "vpn-of-eight": _vpn_table,
    "upload-beside-download": _ways_table,
    "shapes": _shapes_table,
}


def _opener(store: Path) -> Open:
    return lambda base, name: tc.sweep(base, name=name, store=store)


if __name__ == "__main__":
    gallery.main(FIGURES, _opener, HERE, __doc__ or "", TABLES)
