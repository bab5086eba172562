# SPDX-License-Identifier: GPL-2.0-only
"""Draw who repairs loss, and at what price.

``.venv/bin/python results/repair/draw.py`` runs the sweeps that the store (``runs``) does not have
and writes the SVG files beside this one; names of figures draw those alone. Values are means over
seeds, bands and whiskers reach from the least to the most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import algorithm_style, gallery
from tunnelcc.schema.toml import parse_toml

HERE = Path(__file__).parent
SWEEP = HERE.parents[1] / "scenarios/sweeps/loss-repair.toml"
LATENCY = "flow_message_latency_p95"
GREY = "#777777"
BLUE, ORANGE = (algorithm_style(name)["color"] for name in ("bbr", "cubic"))

#: Tunnel and algorithm → label, colour, marker.
SYSTEMS = {
    ("none", "cubic"): ("CUBIC", ORANGE, "s"),
    ("none", "bbr"): ("BBR", BLUE, "o"),
    ("sdwan-tcp-opt", "cubic"): ("CUBIC, split with BBR between", "#56B4E9", "D"),
    ("sdwan-fec", "cubic"): ("CUBIC in XOR 4 + 1", "#009E73", "^"),
    ("udpspeeder mode=mode-1 fec=10:3", "cubic"): ("CUBIC in RS 10 + 3", "#CC79A7", "v"),
    ("udpspeeder", "cubic"): ("CUBIC in UDPspeeder, 20:10", "#000000", "P"),
    ("gost-kcp", "cubic"): ("GOST relay over KCP, 10 + 3", "#8B4513", "X"),
}
#: Mean burst of losses, packets; 1: each by itself.
PATTERNS = {1: "random loss", 4: "bursts of 4 in the mean"}

#: Opens the results of a sweep: its table, and what it is called.
Open = Callable[[dict[str, Any], str], Any]


def _table(burst: int, cc: str) -> dict[str, Any]:
    """The sweep, with losses in bursts, or with another algorithm and no tunnel."""
    table = parse_toml(SWEEP.read_text(), SWEEP.name)
    if burst > 1:
        losses = table["sweep"].pop("path.loss")
        shares = [max(1e-9, float(loss.rstrip("%")) / 100) for loss in losses]  # 0: as good as none
        table["sweep"]["path.gilbert_elliott"] = [
            {"p": share / (burst * (1 - share)), "r": 1 / burst} for share in shares
        ]
    if cc != "cubic":
        table["flows"][0]["cc"] = cc
        table["sweep"]["tunnel"] = ["none"]
    return table


def _losses() -> list[str]:
    losses: list[str] = parse_toml(SWEEP.read_text(), SWEEP.name)["sweep"]["path.loss"]
    return losses


def _runs(results: Open, burst: int, name: str, change: Callable[[dict[str, Any]], None]) -> Any:
    """Return system → its runs over loss."""
    sweeps = {}
    for cc in ("cubic", "bbr"):
        table = _table(burst, cc)
        change(table)
        sweeps[cc] = results(table, f"{name}-{'random' if burst == 1 else 'bursts'}-{cc}")
    return {
        (tunnel, cc): sweeps[cc].sel({"tunnel": tunnel}) if cc == "cubic" else sweeps[cc]
        for tunnel, cc in SYSTEMS
    }


def _messages(table: dict[str, Any]) -> None:
    """An application that needs a tenth of the link."""
    table["flows"][0] |= {"rate": "5Mbps", "write_size": 1250}


def _keep(table: dict[str, Any]) -> None:
    """Nothing changes."""


def _plot(axes: Any, runs: Any, values: Callable[[Any], Any], is_log: bool = False) -> None:
    """Draw means over seeds, geometric ones on a logarithmic axis."""
    for system, (label, colour, marker) in SYSTEMS.items():
        run = values(runs[system]).squeeze(drop=True)
        rows = run.transpose("seed", ...).values.reshape(run.sizes["seed"], -1).T
        lines = gallery.mean_and_ends(np.log10(rows) if is_log else rows)
        middle, low, high = (10.0**line for line in lines) if is_log else lines
        x = np.arange(len(middle))
        axes.plot(x, middle, color=colour, marker=marker, markersize=4, label=label)
        axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)


def loss_repair(results: Open) -> Figure:
    """Goodput and bytes of a flow that fills the link, and delay of one that does not."""
    figure = Figure(figsize=(7.1, 6.0))
    panels = figure.subplots(2, 3, sharex=True, sharey="col")
    for row, (burst, title) in zip(panels, PATTERNS.items(), strict=True):
        bulk = _runs(results, burst, "loss-repair", _keep)
        messages = _runs(results, burst, "loss-repair-messages", _messages)
        goodput, wire, delay = row
        _plot(goodput, bulk, lambda run: run["goodput"] / 1e6)
        _plot(wire, bulk, lambda run: 1 / run["efficiency"])
        _plot(delay, messages, lambda run: 1e3 * run[LATENCY].isel(flow=0), is_log=True)
        goodput.set_ylabel(f"{title}\n\ngoodput (Mbit/s)")
        wire.set_ylabel("IP bytes sent / byte")
        delay.set_ylabel("95 % of messages within (ms)")
    goodput, wire, delay = panels[0]
    goodput.set_title("one flow that fills the link")
    wire.set_title("what it costs")
    delay.set_title("messages at 5 Mbit/s")
    goodput.set_ylim(0, 50)
    wire.set_ylim(1, 3.1)
    delay.set_yscale("log")
    labels = [loss.rstrip("%") for loss in _losses()]
    for axes in panels[1]:
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel("loss (%)")
    handles, names = goodput.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    figure.suptitle("Who repairs loss: 50 Mbit/s, 60 ms", fontsize=10)
    return figure


def _neighbours(table: dict[str, Any]) -> None:
    """A plain flow beside, until shares have settled."""
    own = table["flows"][0]
    table["flows"] = [{"cc": "cubic", "tunnel": "none"}, own]
    table |= {"start_jitter": "1s", "duration": "300s", "warmup": "150s"}
    table["sweep"]["path.loss"] = ["0%", "1%"]


def beside_a_plain_flow(results: Open) -> Figure:
    """What a plain CUBIC flow keeps beside each system on a full link."""
    runs = _runs(results, 1, "loss-repair-neighbour", _neighbours)
    figure = Figure(figsize=(7.1, 4.2))
    names = list(SYSTEMS)[::-1]
    for axes, (index, title) in zip(
        figure.subplots(1, 2, sharey=True), enumerate(("no loss", "1 % loss")), strict=True
    ):
        rows = []
        for system in names:
            label, colour, _ = SYSTEMS[system]
            rates = runs[system]["flow_goodput"].isel({"path.loss": index}) / 1e6
            plain, own = (rates.isel(flow=flow).squeeze(drop=True).values for flow in (0, 1))
            rows.append((label, ((plain, GREY), (own, colour))))
        gallery.bars_of_flows(axes, rows)
        axes.set_xlim(0, 50)
        axes.set_title(title)
    figure.suptitle(
        "Each beside one plain CUBIC flow (plain bars; hatched: the system)", fontsize=10
    )
    return figure


FIGURES: dict[str, Callable[[Open], Figure]] = {
    "loss-repair": loss_repair,
    "beside-a-plain-flow": beside_a_plain_flow,
}


def _rows(runs: Any, quantities: Callable[[Any], Any], **where: str) -> list[gallery.Row]:
    """Return the rows of all systems. Losses in bursts have the loss that they are."""
    found = []
    bursts = "path.gilbert_elliott"
    for system, (label, *_) in SYSTEMS.items():
        run = runs[system]
        if bursts in run.dims:
            losses = [float(it.rstrip("%")) / 100 for it in _losses()]
            run = run.assign_coords({bursts: losses}).rename({bursts: "path.loss"})
        rows = gallery.table(
            run.squeeze("tunnel", drop=True) if "tunnel" in run.dims else run.drop_vars("tunnel"),
            **quantities(run.squeeze(drop=True)),
        )
        found += [{"system": label, **where, **it} for it in rows]
    return found


def _bulk(run: Any) -> Any:
    return {"goodput": ("bit/s", run["goodput"]), "overhead": ("1", 1 / run["efficiency"])}


def _waits(run: Any) -> Any:
    return {"p95": ("s", run[LATENCY])}


def _table_of_repair(results: Open) -> list[gallery.Row]:
    rows = []
    for burst, pattern in PATTERNS.items():
        for name, change, what in (
            ("loss-repair", _keep, _bulk), ("loss-repair-messages", _messages, _waits),
        ):  # fmt: skip
            rows += _rows(_runs(results, burst, name, change), what, pattern=pattern)
    return rows


def _table_beside(results: Open) -> list[gallery.Row]:
    return _rows(
        _runs(results, 1, "loss-repair-neighbour", _neighbours),
        lambda run: {
            "plain": ("bit/s", run["flow_goodput"].isel(flow=0)),
            "system": ("bit/s", run["flow_goodput"].isel(flow=1)),
        },
    )


TABLES: dict[str, Callable[[Open], list[gallery.Row]]] = {
    "loss-repair": _table_of_repair,
    "beside-a-plain-flow": _table_beside,
}


def _opener(store: Path) -> Open:
    return lambda table, name: tc.sweep(table, name=name, store=store)


if __name__ == "__main__":
    gallery.main(FIGURES, _opener, HERE, __doc__ or "", TABLES)
