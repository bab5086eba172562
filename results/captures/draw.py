# SPDX-License-Identifier: GPL-2.0-only
"""Draw what tshark reads in captures: time–sequence graphs, as Wireshark draws them.

``.venv/bin/python results/captures/draw.py`` writes the SVG files beside this one; names of figures
draw those alone. It needs tshark (``apt install tshark``).
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import tunnelcc as tc
from tunnelcc.plots import algorithm_style, gallery

HERE = Path(__file__).parent
GREY, BLACK = "#777777", "#000000"
BLUE, ORANGE = (algorithm_style(name)["color"] for name in ("bbr", "cubic"))
APP, RELAY, TLS, OPENVPN = 5201, 15201, 443, 1194  # ports that servers listen at

Which = NDArray[np.bool_]


class Packets:
    """What tshark tells of the packets of a capture: arrays with an element for each packet.

    Times in s since the first packet; sequence numbers, of data and acknowledged, in kB.
    """

    FIELDS = ("frame.time_relative", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len", "tcp.ack")

    def __init__(self, table: dict[str, Any], place: str) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = str(Path(directory, "run.pcapng"))
            tc.run(table | {"warmup": "0s"}, capture=tc.Capture(file, at=[place]))
            command = ["tshark", "-r", file, "-T", "fields"]
            for field in (*self.FIELDS, "frame.comment"):
                command += ["-e", field]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [line.split("\t") for line in out.splitlines()]
        numbers = np.array([[float(it or 0) for it in row[: len(self.FIELDS)]] for row in rows])
        self.time, self.source, self.target = numbers[:, 0], numbers[:, 1], numbers[:, 2]
        self.seq, self.length, self.ack = (
            numbers[:, 3] / 1e3,
            numbers[:, 4] / 1e3,
            numbers[:, 5] / 1e3,
        )
        self.is_lost = np.array([row[-1].startswith(("lost", "dropped")) for row in rows])

    def data(self, port: int) -> Which:
        """Return which packets have data for the server at ``port``."""
        return (self.target == port) & (self.length > 0)

    def again(self, data: Which) -> Which:
        """Return which of ``data`` are sent again: all but the first with their number."""
        found = np.zeros(len(data), bool)
        places = np.flatnonzero(data)
        _, first = np.unique(self.seq[places], return_index=True)
        found[places] = True
        found[places[first]] = False
        return found


def loss_and_repair(_: None) -> Figure:
    """A lost segment, the ACKs that stand still meanwhile, and the repair."""
    path = {"rate": "10Mbps", "rtt": "40ms", "loss": "0.1%", "buffer": "0.5bdp"}
    it = Packets({"path": path, "flows": [{"cc": "cubic"}], "duration": "10s"}, "path")
    data = it.data(APP)
    lost = it.time[it.is_lost]
    # The first with no other near it.
    apart = np.diff(lost, prepend=-1, append=99)
    begin = lost[(apart[:-1] > 0.5) & (apart[1:] > 0.5)][0]
    figure, axes = _figure()
    near = (it.time > begin - 0.02) & (it.time < begin + 0.13)
    acks = near & (it.source == APP)
    axes.step(it.time[acks], it.ack[acks], where="post", color=GREY, label="acknowledged")
    _segments(axes, it, data & near, BLUE, "sent")
    _segments(axes, it, it.again(data) & near, ORANGE, "sent again", width=5)
    _segments(axes, it, it.is_lost & near, BLACK, "lost on the link", width=5)
    _name(axes, "CUBIC, 10 Mbit/s, 40 ms:\na loss and its repair")
    return figure


def two_legs(_: None) -> Figure:
    """What the application writes to its relay, and what the relay puts on the path."""
    path = {"rate": "20Mbps", "rtt": "100ms", "buffer": "0.5bdp"}
    table = {"path": path, "flows": [{"cc": "cubic"}], "tunnel": "gost-relay-wss", "duration": "8s"}
    it = Packets(table, "client")
    figure, axes = _figure()
    for port, colour, label in (
        (RELAY, ORANGE, "application to relay, on loopback"),
        (TLS, BLUE, "relay to relay, on the path"),
    ):
        _dots(axes, it, it.data(port), colour, label)
    _dots(axes, it, it.again(it.data(TLS)), BLACK, "sent again", size=3)
    _name(axes, "gost-relay-wss, CUBIC, 20 Mbit/s, 100 ms:\nboth legs at the client", unit="MB")
    return figure


def tcp_over_tcp(_: None) -> Figure:
    """A carrier that repairs a loss, and the connection inside, which repairs it as well."""
    path = {"rate": "10Mbps", "rtt": "100ms", "loss": "3%"}
    tunnel = "openvpn-2.6-tcp"
    table = {"path": path, "flows": [{"cc": "cubic"}], "tunnel": tunnel, "duration": "12s"}
    it = Packets(table, "client")
    figure = Figure(figsize=(4.2, 6.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, port, title in (
        (above, APP, "inside the tunnel (client tun)"),
        (below, OPENVPN, "its carrier (client)"),
    ):
        data = it.data(port)
        _dots(axes, it, data, BLUE, "sent")
        _dots(axes, it, it.again(data), BLACK, "sent again", size=5)
        acks = it.source == port
        axes.step(it.time[acks], it.ack[acks] / 1e3, where="post", color=GREY, label="acknowledged")
        _name(axes, title, unit="MB")
    above.set_xlabel("")
    return figure


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(4.2, 4), layout="constrained")
    return figure, figure.add_subplot()


def _dots(axes: Axes, it: Packets, which: Which, colour: str, label: str, size: float = 2) -> None:
    """Draw segments as dots at their first byte, in MB."""
    axes.plot(
        it.time[which], it.seq[which] / 1e3, ".",
        color=colour, markersize=size, label=label, rasterized=True,
    )  # fmt: skip


def _segments(
    axes: Axes, it: Packets, which: Which, colour: str, label: str, width: float = 2
) -> None:
    """Draw segments as lines from their first byte to their last."""
    axes.vlines(
        it.time[which], it.seq[which], (it.seq + it.length)[which],
        color=colour, linewidth=width, label=label,
    )  # fmt: skip


def _name(axes: Axes, title: str, unit: str = "kB") -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"sequence number ({unit})")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


FIGURES = {
    "loss-and-repair": loss_and_repair,
    "two-legs": two_legs,
    "tcp-over-tcp": tcp_over_tcp,
}

if __name__ == "__main__":
    gallery.main(FIGURES, lambda _: None, HERE, __doc__)
