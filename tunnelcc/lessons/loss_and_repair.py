# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 13: how loss is found and repaired."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunnelcc.lessons import Figure, np, tc

#: Port of the server, and payload of a full segment (bytes).
SERVER, SEGMENT = 5201, 1448


def run(
    seconds: float = 60, warmup: float = 10, seed: int = 1, capture: Any = None, **path: Any
) -> tc.Result:
    """Run one CUBIC flow over 20 Mbit/s and 40 ms, and return the result."""
    experiment = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "40ms", **path},
        flows=[{"cc": "cubic"}],
        duration=f"{seconds}s",
        warmup=f"{warmup}s",
        start_jitter="0s",
        seed=seed,
    )
    return tc.run(experiment, progress=False, capture=capture)


@dataclass
class Packets:
    """The packets of a capture, as arrays with an element for each.

    ``time`` in s; ``data``: whether it has data for the server; ``number``: of its first byte, or
    of an ACK of the first byte that is missing, in segments.
    """

    file: str
    time: Any
    data: Any
    number: Any

    @property
    def again(self) -> Any:
        """Which packets have data that an earlier one had."""
        found = self.data.copy()
        places = np.flatnonzero(self.data)
        found[places[np.unique(self.number[places], return_index=True)[1]]] = False
        return found


def capture(
    name: str, place: str = "client", seconds: float = 10, seed: int = 1, **path: Any
) -> Packets:
    """Run a flow, keep the packets at a host (``client`` or ``server``), and return them.

    The file is ``captures/NAME-PLACE.pcapng``, in the folder of the notebook.
    """
    file = Path("captures", f"{name}-{place}.pcapng")
    file.parent.mkdir(exist_ok=True)
    run(seconds, 0, seed, tc.Capture(str(file), at=[place]), **path)
    return read(file)


def read(file: Path) -> Packets:
    """Read a capture of one TCP connection. It needs dpkt."""
    import dpkt  # of the extra notebooks

    rows = []
    with file.open("rb") as stream:
        for time, frame in dpkt.pcapng.Reader(stream):
            ip = dpkt.ip.IP(frame)
            tcp = ip.data
            size = ip.len - 4 * (ip.hl + tcp.off)
            to_server = tcp.dport == SERVER
            rows.append((time, to_server and size > 0, tcp.seq if to_server else tcp.ack))
    time, data, number = (np.array(it) for it in zip(*rows, strict=True))
    return Packets(str(file), time - time[0], data, (number - number[data].min()) / SEGMENT)


def finding(sent: Packets) -> Any:
    """Return, for each packet with old data, how long ago these were first sent (s)."""
    numbers, first = np.unique(sent.number[sent.data], return_index=True)
    times = sent.time[sent.data][first]
    return sent.time[sent.again] - times[np.searchsorted(numbers, sent.number[sent.again])]


def draw_segments(sent: Packets, since: float, until: float) -> Figure:
    """Draw what a sender sends and what is acknowledged, as Wireshark's graph does."""
    near = (sent.time >= since) & (sent.time <= until)
    acks = near & ~sent.data
    figure = Figure(figsize=(5.6, 4))
    axes = figure.subplots()
    ms = 1e3 * (sent.time - since)
    for which, label, style in (
        (sent.data & ~sent.again & near, "sent", "C0."),
        (sent.again & near, "sent again", "C1D"),
    ):
        axes.plot(ms[which], sent.number[which], style, label=label)
    axes.step(ms[acks], sent.number[acks], "k", where="post", label="acknowledged")
    axes.set(xlabel="time (ms)", ylabel="segment")
    axes.legend()
    return figure


def repairs(result: tc.Result) -> tuple[int, int, int]:
    """Return the packets that were lost, those sent again, and those sent again in vain."""
    link = result.links["path"].forward
    lost = int(link.queue_drops or 0) + int(link.random_losses or 0)
    again = int(result.legs[0][0].retransmits or 0)
    return lost, again, max(again - lost, 0)
