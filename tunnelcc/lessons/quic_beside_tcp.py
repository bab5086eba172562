# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 14: QUIC beside TCP."""

from collections.abc import Mapping
from typing import Any

from tunnelcc.lessons import Figure, fmean, plots, tc

#: How messages of several streams cross the path: the name in figures, and the tunnel.
CARRIERS = {
    "one TCP connection": "gost-relay-mwss",
    "one QUIC connection": "gost-quic",
    "a TCP connection each": "gost-relay-wss",
}


def run(
    *flows: Mapping[str, Any],
    tunnel: str = "none",
    seconds: tuple[float, float] = (5, 60),
    seed: int = 1,
    start: str = "5ms",
    **path: Any,
) -> tc.Result:
    """Run flows over 20 Mbit/s and 40 ms.

    ``seconds``: begin and end of the measurement; ``start``: by how much starts differ at most.
    """
    experiment = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "40ms", **path},
        flows=[dict(flow) for flow in flows],
        tunnel=tunnel,
        duration=f"{seconds[1]}s",
        warmup=f"{seconds[0]}s",
        start_jitter=start,
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def finish(
    size: str, tunnel: str = "none", transport: str = "tcp", seed: int = 1, **path: Any
) -> float:
    """Return when the last byte of a transfer has arrived, ms after the beginning."""
    flow = {"bytes": size, "transport": transport}
    result = run(flow, tunnel=tunnel, seconds=(0, 10), seed=seed, start="0s", **path)
    return 1e3 * float(result.flows[0].completed_at or 0)


def messages(
    carrier: str, loss: float, streams: int = 8, rtt: str = "100ms", seed: int = 1
) -> tc.Result:
    """Run streams with ten messages of 500 bytes a second each."""
    flow = {"count": streams, "rate": "40kbps", "write_size": 500}
    return run(flow, tunnel=CARRIERS[carrier], seed=seed, rtt=rtt, loss=loss)


def late(result: tc.Result) -> float:
    """Return within what time 95 % of a stream's messages arrive, ms, as the mean of streams."""
    name = "flow_message_latency_p95"
    return 1e3 * fmean(float(result.metric(name, flow=flow)) for flow in range(len(result.flows)))


def share(cc: str, buffer: str, quic: str = "reno", seed: int = 1) -> float:
    """Return the share of a flow over QUIC beside one over TCP with ``cc``, in the long run."""
    flows = ({"transport": "quic", "cc": quic}, {"cc": cc})
    result = run(*flows, seconds=(60, 200), seed=seed, buffer=buffer)
    return float(result.metric("flow_share", flow=0))


def draw(values: Mapping[str, Any], x: Any, xlabel: str, ylabel: str) -> Figure:
    """Draw a line for each name over x."""
    figure = Figure(figsize=(5.6, 4))
    axes = figure.subplots()
    for index, (name, line) in enumerate(values.items()):
        axes.plot(x, line, label=name, **plots.category_style(index))
    axes.set(xlabel=xlabel, ylabel=ylabel, xticks=x)
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure
