# SPDX-License-Identifier: GPL-2.0-only
"""Draw what accelerators repair, and what that costs them and others.

``.venv/bin/python results/repair/accelerators.py`` runs the sweeps that the store (``runs``) does
not have and writes the SVG files beside this one; names of figures draw those alone. Points are
means over seeds, geometric ones on a logarithmic axis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc import core
from tunnelcc.plots import algorithm_style, gallery
from tunnelcc.schema.toml import parse_toml

HERE = Path(__file__).parent
SWEEP = HERE.parents[1] / "scenarios/sweeps/accelerators.toml"
LATENCY = "flow_message_latency_p95"
GREY = "#777777"
SIZE = (7.1, 8.6)  # inches

#: On the sender: algorithm → what it is called.
ALGORITHMS = {
    "cubic": "CUBIC",
    "bbr": "BBR",
    "vegas": "Vegas",
    "qvegas": "qVegas",
    "unlimited": "no window (KernelPCC)",
    "pcc": "PCC Allegro",
    "vivace": "PCC Vivace",
    "zeta-like": core.congestion_label("zeta-like"),
}
#: Tunnels, as the sweep has them → label, colour, marker.
TUNNELS = {
    "kcptun-2017 mode=fast2": ("kcptun of 2017", "#E69F00", "o"),
    "kcptun mode=fast2": ("kcptun", "#009E73", "s"),
    "gost-kcp": ("GOST over KCP", "#8B4513", "X"),
    "finalspeed rate=40Mbps": ("FinalSpeed", "#CC79A7", "D"),
    "udpspeeder": ("CUBIC in UDPspeeder, 20:10", "#000000", "P"),
    "gost-relay-wss cc=bbr": ("CUBIC, BBR in a relay", "#56B4E9", "^"),
    "gost-quic": ("GOST over QUIC", "#999933", "v"),
    "hysteria2": ("Hysteria 2, BBR", "#0072B2", "<"),
    "hysteria2 rate=40Mbps": ("Hysteria 2, Brutal", "#882255", ">"),
}
#: Groups beside each other: a plot of all would have too many lines.
FIRST_RELAY = list(TUNNELS).index("gost-relay-wss cc=bbr")
GROUPS = {
    "on the sender": tuple(ALGORITHMS),
    "KCP, RUDP, FEC": ("cubic", *list(TUNNELS)[:FIRST_RELAY]),
    "relays over TCP and QUIC": ("cubic", *list(TUNNELS)[FIRST_RELAY:]),
}

#: Opens the results of a sweep: its table, and what it is called.
Open = Callable[[dict[str, Any], str], Any]


def _runs(results: Open, name: str, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return system → its runs; the sweep's keys are their axes."""
    found = {}
    for cc in ALGORITHMS:
        table = parse_toml(SWEEP.read_text(), SWEEP.name)
        change(table)
        if cc != "cubic":
            table["flows"][-1]["cc"] = cc
            table["sweep"]["tunnel"] = ["none"]
        runs = results(table, f"{name}-{cc}")
        if cc == "cubic":
            found[cc] = runs.sel({"tunnel": "none"})
            found |= {tunnel: runs.sel({"tunnel": tunnel}) for tunnel in TUNNELS}
        else:
            found[cc] = runs
    return found


def _keep(table: dict[str, Any]) -> None:
    """Nothing changes."""


def _messages(table: dict[str, Any]) -> None:
    """An application that needs 4 % of the link."""
    table["flows"][0] |= {"rate": "2Mbps", "write_size": 1250}
    table["sweep"]["path.rtt"] = ["100ms"]


def _neighbour(table: dict[str, Any]) -> None:
    """A plain flow beside, for longer."""
    table["flows"] = [{"cc": "cubic", "tunnel": "none"}, table["flows"][0]]
    table |= {"start_jitter": "1s", "duration": "300s", "warmup": "150s"}
    table["sweep"] |= {"path.rtt": ["100ms"], "path.loss": ["0%", "1%"]}


def _style(system: str) -> dict[str, Any]:
    if system in ALGORITHMS:
        return {**algorithm_style(system), "label": ALGORITHMS[system]}
    label, colour, marker = TUNNELS[system]
    return {"color": colour, "marker": marker, "label": label}


def _plot(axes: Any, runs: dict[str, Any], systems: tuple[str, ...], values: Any) -> None:
    """Draw geometric means over seeds; what never arrives is not drawn."""
    for system in systems:
        run = values(runs[system]).squeeze(drop=True)
        rows = run.transpose("path.loss", ...).values.reshape(run.sizes["path.loss"], -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.exp(np.mean(np.log(rows), axis=1))
        means[means == 0] = np.nan  # nothing arrives in one of the runs
        axes.plot(range(len(means)), means, markersize=4, **_style(system))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _losses() -> list[str]:
    losses: list[str] = parse_toml(SWEEP.read_text(), SWEEP.name)["sweep"]["path.loss"]
    return [loss.rstrip("%") for loss in losses]


def _finish(figure: Figure, panels: Any, title: str) -> None:
    for axes in panels[-1]:
        axes.set_xticks(range(len(_losses())), _losses())
        axes.set_xlabel("loss (%)")
    for row, name in zip(panels, GROUPS, strict=True):
        row[0].set_title(name)
    known: dict[str, Any] = {}
    for axes in panels[:, 0]:
        known |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(known.values(), known, loc="outside lower center", ncols=3)
    figure.suptitle(title, fontsize=10)


def _goodput(rtt: int, run: Any) -> Any:
    """Return the goodput (Mbit/s) at the ``rtt``-th RTT."""
    return run["goodput"].isel({"path.rtt": rtt}) / 1e6


def goodput(results: Open) -> Figure:
    """Goodput over loss at two RTTs."""
    runs = _runs(results, "accelerators", _keep)
    figure = Figure(figsize=SIZE)
    panels = figure.subplots(len(GROUPS), 2, sharex=True, sharey=True)
    for row, systems in zip(panels, GROUPS.values(), strict=True):
        for place, axes in enumerate(row):
            _plot(axes, runs, systems, partial(_goodput, place))
        row[0].set_ylabel("goodput (Mbit/s)")
    for axes, rtt in zip(panels[0], (20, 100), strict=True):
        axes.set_title(f"RTT {rtt} ms", loc="right")
    panels[0][0].set_ylim(0.02, 70)
    _finish(figure, panels, "What gets through: 50 Mbit/s")
    return figure


def price(results: Open) -> Figure:
    """Bytes on the wire and latency of messages over loss, at 100 ms."""
    bulk = _runs(results, "accelerators", _keep)
    messages = _runs(results, "accelerators-messages", _messages)
    figure = Figure(figsize=SIZE)
    panels = figure.subplots(len(GROUPS), 2, sharex=True, sharey="col")
    for (left, right), systems in zip(panels, GROUPS.values(), strict=True):
        _plot(left, bulk, systems, lambda run: 1 / run["efficiency"].isel({"path.rtt": 1}))
        _plot(right, messages, systems, lambda run: 1e3 * run[LATENCY].isel(flow=0))
        left.set_ylabel("IP bytes sent / byte")
        right.set_ylabel("95 % of messages within (ms)")
    panels[0][0].set_ylim(1, 4)
    for axes in panels[:, 0]:
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
    _finish(
        figure, panels, "What it costs, and when messages at 2 Mbit/s arrive: 50 Mbit/s, 100 ms"
    )
    return figure


def harm(results: Open) -> Figure:
    """What a plain CUBIC flow keeps beside each."""
    runs = _runs(results, "accelerators-neighbour", _neighbour)
    names = [*ALGORITHMS, *TUNNELS][::-1]
    figure = Figure(figsize=(7.1, 8))
    for axes, (index, title) in zip(
        figure.subplots(1, 2, sharey=True), enumerate(("no loss", "1 % loss")), strict=True
    ):
        rows = []
        for system in names:
            style = _style(system)
            rates = runs[system]["flow_goodput"].isel({"path.loss": index}) / 1e6
            plain, own = (rates.isel(flow=flow).squeeze(drop=True).values for flow in (0, 1))
            rows.append((style["label"], ((plain, GREY), (own, style["color"]))))
        gallery.bars_of_flows(axes, rows)
        axes.set_xlim(0, 50)
        axes.set_title(title)
    figure.suptitle(
        "Each beside one plain CUBIC flow (plain bars; hatched: the system): 50 Mbit/s, 100 ms",
        fontsize=10,
    )
    return figure


FIGURES: dict[str, Callable[[Open], Figure]] = {
    "accelerators-goodput": goodput,
    "accelerators-price": price,
    "accelerators-harm": harm,
}


def _rows(runs: dict[str, Any], quantities: Callable[[Any], Any]) -> list[gallery.Row]:
    found = []
    for system in (*ALGORITHMS, *TUNNELS):
        run = runs[system]
        run = run.squeeze("tunnel", drop=True) if "tunnel" in run.dims else run.drop_vars("tunnel")
        rows = gallery.table(run, **quantities(run))
        found += [{"system": str(_style(system)["label"]), **it} for it in rows]
    return found


def _goodputs(results: Open) -> list[gallery.Row]:
    return _rows(
        _runs(results, "accelerators", _keep), lambda run: {"goodput": ("bit/s", run["goodput"])}
    )


def _costs(results: Open) -> list[gallery.Row]:
    return _rows(
        _runs(results, "accelerators", _keep),
        lambda run: {"bytes": ("1", 1 / run["efficiency"])},
    )


def _kept(results: Open) -> list[gallery.Row]:
    return _rows(
        _runs(results, "accelerators-neighbour", _neighbour),
        lambda run: {"plain": ("bit/s", run["flow_goodput"].isel(flow=0))},
    )


def _waits(results: Open) -> list[gallery.Row]:
    return _rows(
        _runs(results, "accelerators-messages", _messages),
        lambda run: {"p95": ("s", run[LATENCY].isel(flow=0))},
    )


TABLES: dict[str, Callable[[Open], list[gallery.Row]]] = {
    "accelerators-goodput": _goodputs,
    "accelerators-price": _costs,
    "accelerators-harm": _kept,
    "accelerators-messages": _waits,
}


def _opener(store: Path) -> Open:
    return lambda table, name: tc.sweep(table, name=name, store=store)


if __name__ == "__main__":
    gallery.main(FIGURES, _opener, HERE, __doc__ or "", TABLES)
