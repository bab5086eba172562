# SPDX-License-Identifier: GPL-2.0-only
"""Run Linux's congestion control modules: a figure of all pairs, and the tables of the page.

``.venv/bin/python results/linux-modules/measure.py`` runs what the store (``runs``) does not have,
draws all-pairs.svg beside this file, and rewrites the tables of
docs/pages/results/linux-modules.md. The modules come from tests/linux/get-modules.sh.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots.heat_map import DIVERGING, cells
from tunnelcc.plots.style import STYLE, save

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LINUX = ROOT / "build/linux"
PAGE = ROOT / "docs/pages/results/linux-modules.md"
JOBS = int(os.environ.get("JOBS", "0")) or None
MODULES = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
#: Of this project, beside Linux's: those that Linux does not have as a module.
OURS = ("bbr3", "fast", "pcc", "reno")
ALL = [*(f"linux:{LINUX}/tcp_{name}.c" for name in MODULES), *OURS]
NAMES = [*MODULES, *(f"{name}*" for name in OURS)]
# Jitter, because without it the queue has a favourite: see "Phases" in deviations.md.
PATH = {"rate": "30Mbps", "rtt": "40ms", "jitter": "0.2ms"}
HOSTS = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
BUFFERS = ("1bdp", "4bdp")
SEEDS = 2
TUNNEL = "gost-relay-wss"


def pairs() -> Any:
    """Run each algorithm against each. Return the results of the sweep."""
    base = {"path": PATH, "hosts": HOSTS, "duration": "30s", "warmup": "10s", "flows": [{}, {}]}
    axes = {"flows.0.cc": ALL, "flows.1.cc": ALL, "path.buffer": BUFFERS}
    return tc.sweep(base, axes, seeds=1, store=ROOT / "runs", name="linux-modules-pairs", jobs=JOBS)


def draw(results: Any) -> Figure:
    """Draw the share of each against each, for both buffers. Both orders of a pair are one mean."""
    figure = Figure(figsize=(7.1, 6.6 * len(BUFFERS)), layout="constrained")
    axes = figure.subplots(len(BUFFERS), 1)
    goodput = results["flow_goodput"].mean("seed")
    for index, (ax, buffer) in enumerate(zip(axes, BUFFERS, strict=True)):
        here = goodput.isel({"path.buffer": index}).transpose("flows.0.cc", "flows.1.cc", "flow")
        first = (here.isel(flow=0) / here.sum("flow")).values
        share = (first + 1 - first.T) / 2
        image = cells(ax, share, 0, 1, DIVERGING)
        for (row, column), number in np.ndenumerate(share):
            ax.text(
                column, row, f"{100 * number:.0f}", ha="center", va="center", fontsize=9,
                color="black" if 0.15 < number < 0.85 else "white",
            )  # fmt: skip
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=90)
        ax.set_yticks(range(len(NAMES)), NAMES)
        ax.set_title(f"buffer of {buffer.removesuffix('bdp')} BDP")
        ax.set_xlabel("beside")
        ax.set_ylabel("share of, %")
    figure.colorbar(image, ax=axes, label="share of the goodput of both", shrink=0.8)
    return figure


def sweep(name: str, key: str, **base: Any) -> Any:
    """Run all algorithms as ``key`` of ``base``."""
    path = PATH | {"buffer": "1bdp"} | base.pop("path", {})
    whole = {"path": path, "hosts": HOSTS, "duration": "40s", "warmup": "10s", **base}
    return tc.sweep(
        whole, {key: ALL}, seeds=SEEDS, store=ROOT / "runs", name=f"linux-modules-{name}", jobs=JOBS
    )


def rows() -> tuple[list[str], list[str]]:
    """Return the rows of both tables: plain, and on a carrier."""
    carrier = {"tunnel": {"name": TUNNEL}}
    beside = {"flows": [{}, {"cc": "cubic"}]}
    above = {
        "flows": [{"cc": "cubic", "tunnel": "one"}, {"cc": "cubic"}],
        "tunnels": {"one": {"name": TUNNEL}},
    }
    plain = [
        sweep("clean", "flows.0.cc"),
        sweep("loss", "flows.0.cc", path={"loss": "0.1%"}),
        sweep("more-loss", "flows.0.cc", path={"loss": "1%"}),
        sweep("beside", "flows.0.cc", **beside),
    ]
    carried = [
        sweep("carrier-clean", "tunnel.cc", **carrier),
        sweep("carrier-loss", "tunnel.cc", path={"loss": "0.1%"}, **carrier),
        sweep("carrier-more-loss", "tunnel.cc", path={"loss": "1%"}, **carrier),
        sweep("carrier-beside", "tunnels.one.cc", **above),
    ]
    return _table(plain), _table(carried)


def _table(results: list[Any]) -> list[str]:
    clean, lossy, more, beside = results
    lines = []
    for index, name in enumerate(NAMES):
        both = _of(beside, "flow_goodput", index).values
        numbers = (
            f"{_of(clean, 'goodput', index).item() / 1e6:.1f}",
            f"{_of(lossy, 'goodput', index).item() / 1e6:.1f}",
            f"{_of(more, 'goodput', index).item() / 1e6:.1f}",
            f"{1e3 * _of(clean, 'queue_delay_mean', index).item():.0f}",
            f"{100 * _of(clean, 'retransmission_ratio', index).item():.2f}",
            f"{100 * both[0] / both.sum():.0f}",
        )
        lines.append(f"| {name} | " + " | ".join(numbers) + " |")
    return lines


def _of(results: Any, variable: str, index: int) -> Any:
    (axis,) = (dim for dim in results[variable].dims if str(dim).endswith("cc"))
    return results[variable].isel({axis: index}).mean("seed")


def write(tables: tuple[list[str], list[str]]) -> None:
    """Put the tables into the page, each behind its heading."""
    text = PAGE.read_text()
    for name, lines in zip(("plain", "carrier"), tables, strict=True):
        before, rest = text.split(f"<!-- measured: {name} -->\n")
        head, after = rest.split("<!-- end -->", 1)
        heading = "".join(head.splitlines(keepends=True)[:2])
        text = f"{before}<!-- measured: {name} -->\n{heading}" + "\n".join(lines)
        text += f"\n<!-- end -->{after}"
    PAGE.write_text(text)


if __name__ == "__main__":
    write(rows())
    with mpl.rc_context(STYLE):
        save(draw(pairs()), HERE / "all-pairs.svg")
