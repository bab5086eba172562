# SPDX-License-Identifier: GPL-2.0-only
"""Draw calls through every tunnel that carries UDP, and write the table of the page.

``.venv/bin/python results/calls/draw.py`` runs the sweep that the store (``runs``) does not have,
and writes the SVG file and the tables beside this one. Values are means over seeds, whiskers reach
from the least to the most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import gallery
from tunnelcc.schema.toml import parse_toml

HERE = Path(__file__).parent
SWEEPS = HERE.parents[1] / "scenarios/sweeps"
CALL, DOWNLOAD = 1, 0  # flows
QUEUES = {"drop-tail": ("drop-tail", "#E69F00", "o"), "fq-codel": ("FQ-CoDel", "#0072B2", "s")}


def _values(run: Any, queue: str, metric: str, flow: int, scale: float = 1.0) -> Any:
    """Return mean, least and most of a flow's metric over seeds, by tunnel."""
    values = run[metric].isel(flow=flow).sel({"path.queue": queue}) * scale
    return gallery.mean_and_ends(values.transpose("tunnel", "seed").values)


#: Opens the results of a sweep: its file's name, or its table and what it is called.
Open = Callable[..., Any]


def through_tunnels(results: Open) -> Figure:
    """MOS and p99 delay of the call, and what the download has."""
    run = results("calls")
    tunnels = [str(it) for it in run["tunnel"].values]
    scores = _values(run, "drop-tail", "flow_mos", CALL)[0]
    order = sorted(range(len(tunnels)), key=lambda it: scores[it])
    figure = Figure(figsize=(7.1, 0.26 * len(tunnels) + 1.3))
    panels = figure.subplots(1, 3, sharey=True)
    contents = (
        ("flow_mos", CALL, 1.0, "MOS of the call"),
        ("flow_delay_p99", CALL, 1e3, "99th percentile of\nits delay (ms)"),
        ("flow_goodput", DOWNLOAD, 1e-6, "goodput of the\ndownload (Mbit/s)"),
    )
    for axes, (metric, flow, scale, label) in zip(panels, contents, strict=True):
        for place, (queue, (name, colour, marker)) in enumerate(QUEUES.items()):
            mean, low, high = (it[order] for it in _values(run, queue, metric, flow, scale))
            y = [it + 0.15 - 0.3 * place for it in range(len(order))]
            axes.errorbar(
                mean, y, xerr=gallery.whiskers(mean, low, high),
                color=colour, marker=marker,
                markersize=4, linestyle="none", linewidth=1, label=name,
            )  # fmt: skip
        axes.set_xlabel(label)
        axes.grid(visible=True, axis="y", alpha=0.3)
    panels[0].set_xlim(0.9, 4.5)
    panels[1].set_xscale("log")
    panels[2].set_xlim(left=0)
    panels[0].set_yticks(
        range(len(order)),
        ["no tunnel" if tunnels[it] == "none" else tunnels[it] for it in order],
    )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _calls(results: Open) -> list[gallery.Row]:
    run = results("calls")
    call, download = run.isel(flow=CALL), run.isel(flow=DOWNLOAD)
    return gallery.table(
        run,
        mos=("1", call["flow_mos"]),
        delay_p99=("s", call["flow_delay_p99"]),
        lost=("1", call["flow_loss"]),
        goodput=("bit/s", download["flow_goodput"]),
    )


def _home_router(results: Open) -> list[gallery.Row]:
    run = results("home-router")
    up, down = run.isel(flow=0), run.isel(flow=1)
    return gallery.table(
        run,
        ping_median=("s", run["ping_rtt_p50"].isel(ping=0, missing_dims="ignore")),
        ping_p99=("s", run["ping_rtt_p99"].isel(ping=0, missing_dims="ignore")),
        responsiveness=("1/min", run["responsiveness"]),
        mos_up=("1", up["flow_mos"]),
        mos_down=("1", down["flow_mos"]),
        goodput=("bit/s", run["goodput"]),
    )


def _changed(name: str, sweep: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a sweep of SWEEPS with other keys and axes."""
    table = parse_toml((SWEEPS / f"{name}.toml").read_text(), name)
    path = {**table["path"], **keys.pop("path", {})}
    return {**table, **keys, "path": path, "sweep": {"seeds": table["sweep"]["seeds"], **sweep}}


def _apart(results: Open) -> list[gallery.Row]:
    """A call that shares no connection with the download: it has its own, or there is none."""
    call = {"transport": "udp", "traffic": "call"}
    vpn = {"name": "openvpn-2.6-tcp"}
    own = _changed(
        "calls", {"path.queue": ["drop-tail", "fq-codel"]}, tunnels={"one": vpn, "two": vpn},
        flows=[{"cc": "cubic", "tunnel": "one"}, {**call, "tunnel": "two"}],
    )  # fmt: skip
    lossy = _changed(
        "calls", {"tunnel": ["none", vpn, "openvpn-tcp"]}, flows=[call], path={"loss": "1%"}
    )
    found = []
    for name, sweep in (("own connection", own), ("no download", lossy)):
        run = results(sweep, f"calls-{name.replace(' ', '-')}")
        it = run.isel(flow=-1)
        rows = gallery.table(run, mos=("1", it["flow_mos"]), delay_p99=("s", it["flow_delay_p99"]))
        for row in rows:
            place = {key: row.pop(key, "") for key in ("tunnel", "path.queue")}
            found.append({"case": name, **place, **row})
    return found


TABLES: dict[str, Callable[[Open], list[gallery.Row]]] = {
    "through-tunnels": _calls,
    "home-router": _home_router,
    "apart": _apart,
}


def _opener(store: Path) -> Open:
    def run(table: str | dict[str, Any], name: str | None = None) -> Any:
        base = SWEEPS / f"{table}.toml" if isinstance(table, str) else table
        return tc.sweep(base, name=name, store=store)

    return run


if __name__ == "__main__":
    gallery.main({"through-tunnels": through_tunnels}, _opener, HERE, __doc__ or "", TABLES)
