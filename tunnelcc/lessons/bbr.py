# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 3: BBR."""

from typing import Any

from tunnelcc.lessons import LARGE, PACKET, Figure, np, packets_waiting, tc

#: Of 50 Mbit/s and 40 ms, packets.
BDP = 50e6 * 0.04 / 8 / PACKET
#: Most goodput, Mbit/s: 1448 of 1500 bytes are data.
CEILING = 50 * 1448 / 1500


def run(
    cc: str = "bbr",
    buffer: str = "3bdp",
    loss: float = 0,
    seconds: float = 25,
    warmup: float = 0,
    seed: int = 1,
    probe: str = "10ms",
    rate: str = "50Mbps",
    rtt: str = "40ms",
    hosts: dict[str, Any] = LARGE,
) -> tc.Result:
    """Run one flow on a path of 50 Mbit/s and 40 ms, and return the result."""
    experiment = tc.Experiment(
        path={"rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss},
        flows=[{"cc": cc}],
        hosts=hosts,
        duration=f"{seconds}s",
        warmup=f"{warmup}s",
        probe_interval=probe,
        start_jitter="0s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def draw(result: tc.Result, since: float, until: float) -> Figure:
    """Draw pacing rate, data in flight and queue over time."""
    leg = result.legs[0][0]
    time = result["time"]
    figure = Figure(figsize=(5.6, 6.4))
    rate, flight, queue = figure.subplots(3, 1, sharex=True)
    if leg.cc.startswith("bbr"):
        rate.plot(time, np.array(leg.pacing_rate) / 1e6)
    rate.axhline(50, color="black", linestyle=":", linewidth=1)
    rate.set(ylabel="pacing rate\n(Mbit/s)", ylim=(0, 150))
    flight.plot(time, np.array(leg.cwnd) / BDP, "--", color="C1", label="window (most allowed)")
    flight.plot(time, np.array(leg.in_flight) / 1448 / BDP, label="in flight")
    flight.set(ylabel="BDP", ylim=(0, 5))
    flight.legend(loc="upper right")
    queue.plot(time, packets_waiting(result) / BDP, "k")
    queue.set(xlabel="time (s)", ylabel="queue (BDP)", xlim=(since, until), ylim=(0, 3))
    return figure
