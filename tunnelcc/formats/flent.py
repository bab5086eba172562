# SPDX-License-Identifier: GPL-2.0-only
"""flent's data files (``.flent.gz``): a run as one of its tests tcp_nup, tcp_ndown or, with flows
in both directions, tcp_bidirectional.

The file has what flent plots: rates of the flows (Mbit/s), their sum and mean, and socket values
(``tcp_cwnd``, ``tcp_rtt``). There is no ping. Instead of its times (ms), the file has the smoothed
RTT across the path, as a mean over flows.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc._version import __version__

if TYPE_CHECKING:
    from tunnelcc.simulation.result import Result

_VERSION = 4  # of the format, since flent 1.3
_BEGIN = "1970-01-01T00:00:00.000000Z"  # equal runs give equal files
_PING = "Ping (ms) ICMP"


def write(result: Result) -> bytes:
    """Return a run as the contents of a ``.flent.gz``."""
    time, step = result["time"], result.experiment.probe_interval
    rates = result["flow_goodput_series"] / 1e6
    rtts = np.array([result.path_leg(flow).srtt for flow in range(len(result.flows))])
    known = rtts > 0
    rtts = np.where(known, rtts, 0)
    counts = known.sum(axis=0)
    rtt = np.where(counts > 0, 1e3 * (rtts * known).sum(axis=0) / np.maximum(counts, 1), np.nan)
    senders = [placed.sender for placed in result.network.flows]
    names: dict[str, int] = {}  # of a series: the flow
    results: dict[str, Any] = {}
    for kind, sender in (("TCP upload", "client"), ("TCP download", "server")):
        flows = [flow for flow, it in enumerate(senders) if it == sender]
        if flows:
            names |= {f"{kind}::{number}": flow for number, flow in enumerate(flows, 1)}
            results |= {f"{kind}::{number}": rates[flow] for number, flow in enumerate(flows, 1)}
            results[f"{kind} sum"] = rates[flows].sum(axis=0)
            results[f"{kind} avg"] = rates[flows].mean(axis=0)
    results[_PING] = rtt
    streams = {"upload": senders.count("client"), "download": senders.count("server")}
    test = {"client": "tcp_nup", "server": "tcp_ndown"}
    units = {name: {"UNITS": "ms" if name == _PING else "Mbits/s"} for name in results}
    metadata = {
        "NAME": test[senders[0]] if len({*senders}) == 1 else "tcp_bidirectional",
        "TITLE": result.experiment.title or "simulated",
        "TIME": _BEGIN,
        "T0": _BEGIN,
        "LENGTH": result.experiment.duration,
        "TOTAL_LENGTH": result.experiment.duration,
        "STEP_SIZE": step,
        "DATA_FILENAME": "tunnelcc.flent.gz",
        "FLENT_VERSION": f"tunnelcc {__version__}",
        "NOTE": f"simulated; {_PING} is the smoothed RTT across the path",
        "TEST_PARAMETERS": {f"{way}_streams": str(n) for way, n in streams.items() if n},
        "SERIES_META": units,
    }
    table = {
        "version": _VERSION,
        "metadata": metadata,
        "x_values": [float(moment) for moment in time],
        "results": {name: _plain(values) for name, values in results.items()},
        "raw_values": {
            **{name: _raw(result, flow) for name, flow in names.items()},
            _PING: [
                {"t": float(moment), "val": float(value)}
                for moment, value in zip(time, rtt, strict=True)
                if np.isfinite(value)
            ],
        },
    }
    return gzip.compress(json.dumps(table, indent=1, sort_keys=True).encode(), mtime=0)


def _raw(result: Result, flow: int) -> list[dict[str, float]]:
    leg, rates = result.sender_leg(flow), result.flows[flow].goodput_series
    step = result.experiment.probe_interval
    rows = zip(result["time"], rates, leg.cwnd, leg.srtt, leg.pacing_rate, strict=True)
    return [
        {
            "t": float(moment), "dur": step, "val": float(rate) / 1e6, "tcp_cwnd": float(cwnd),
            "tcp_rtt": 1e3 * max(0.0, float(srtt)), "tcp_pacing_rate": float(pacing) / 1e6,
        }
        for moment, rate, cwnd, srtt, pacing in rows
    ]  # fmt: skip


def _plain(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
