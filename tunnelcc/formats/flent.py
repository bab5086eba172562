# SPDX-License-Identifier: GPL-2.0-only
"""flent's data files (``.flent.gz``): a run as one of its tests tcp_nup, tcp_ndown or, with flows
in both directions, tcp_bidirectional, or rrul_be_nflows if there are pings; and measurements, read.

The file has what flent plots: rates of the flows (Mbit/s), their sum and mean, and socket values
(``tcp_cwnd``, ``tcp_rtt``). Times of pings (ms) are those of the first entry of ``pings``. Without
one, the file has the smoothed RTT across the path instead, as a mean over flows over TCP and QUIC.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.formats.measurement import Measurement, Pings, Stream, list_of, number, table_of
from tunnelcc.results import provenance

if TYPE_CHECKING:
    from tunnelcc.results.result import Result

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
    note = f"simulated; {_PING} is the smoothed RTT across the path"
    if result.pings:
        rtt, note = 1e3 * result["ping_delay_series"][0], "simulated"
    senders = [
        placed.sender if placed.flow.transport != "udp" else "" for placed in result.network.flows
    ]
    is_rrul = bool(result.pings) and {"client", "server"} <= {*senders}
    tag = " BE" if is_rrul else ""  # best effort, the class of all flows
    names: dict[str, int] = {}  # of a series: the flow
    results: dict[str, Any] = {}
    for kind, sender in (("TCP upload", "client"), ("TCP download", "server")):
        flows = [flow for flow, it in enumerate(senders) if it == sender]
        if flows:
            series = {f"{kind}{tag}::{number}": flow for number, flow in enumerate(flows, 1)}
            names |= series
            results |= {name: rates[flow] for name, flow in series.items()}
            results[f"{kind} sum"] = rates[flows].sum(axis=0)
            results[f"{kind} avg"] = rates[flows].mean(axis=0)
    results[_PING] = rtt
    if is_rrul:
        results["TCP totals"] = results["TCP upload sum"] + results["TCP download sum"]
        results["Ping (ms) avg"] = rtt
    streams = {"upload": senders.count("client"), "download": senders.count("server")}
    test = {"client": "tcp_nup", "server": "tcp_ndown"}
    (sender, *others) = {*senders} - {""} or {"client"}
    name = "tcp_bidirectional" if others else test[sender]
    name = "rrul_be_nflows" if is_rrul else name
    units = {it: {"UNITS": "ms" if it.startswith("Ping") else "Mbits/s"} for it in results}
    metadata = {
        "NAME": name,
        "TITLE": result.experiment.title or "simulated",
        "TIME": _BEGIN,
        "T0": _BEGIN,
        "LENGTH": result.duration,
        "TOTAL_LENGTH": result.duration,
        "STEP_SIZE": step,
        "LOCAL_HOST": "client",
        "HOST": "server",
        "DATA_FILENAME": "tunnelcc.flent.gz",
        "FLENT_VERSION": f"tunnelcc {result.provenance['tunnelcc']}",
        "KERNEL_NAME": "Linux, simulated",
        "KERNEL_RELEASE": result.provenance["kernel"],
        "NOTE": "; ".join(filter(None, (note, provenance.text(result.provenance)))),
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


def read(source: str, table: Any) -> Measurement:
    """Return the flows and pings of a flent file's table; none if it is something else.

    Flows are those of the direction that has most. Windows and RTTs come with flent's socket
    statistics, which it keeps among the raw values; flent has no count of retransmissions by time.
    """
    table = table_of(table)
    results, raw = table_of(table.get("results")), table_of(table.get("raw_values"))
    times = np.array([number(it) for it in list_of(table.get("x_values"))])
    ways = {
        way: [name for name in results if name.startswith((f"TCP {way}::", f"TCP {way} BE::"))]
        for way in ("upload", "download")
    }
    way = max(ways, key=lambda it: len(ways[it]))
    streams = []
    smoothed = "smoothed RTT" in str(table_of(table.get("metadata")).get("NOTE"))
    pings = np.array([1e-3 * number(it) for it in list_of(results.get(_PING))])
    is_whole = pings.shape == times.shape
    for name in ways[way]:
        rates = np.array([1e6 * number(it) for it in list_of(results[name])])
        if rates.shape != times.shape:
            continue
        known = np.isfinite(rates) & np.isfinite(times) & (times > 0)
        if known.sum() < 2:
            continue
        rows = [table_of(it) for it in list_of(raw.get(name))]

        def column(
            key: str, scale: float, rows: Any = rows, at: Any = times[known]
        ) -> NDArray[np.float64]:
            found = [(number(it.get("t")), scale * number(it.get(key))) for it in rows]
            pairs = np.array([it for it in found if np.isfinite(it).all() and it[1] > 0])
            if len(pairs) < 2:
                return np.full(len(at), np.nan)
            moments = pairs[:, 0] - (pairs[0, 0] - at[0] if pairs[0, 0] > 1e6 else 0.0)
            values: NDArray[np.float64] = np.interp(at, moments, pairs[:, 1])
            return values

        rtt = column("tcp_rtt", 1e-3)
        if smoothed and is_whole and not np.isfinite(rtt).any():
            rtt = pings[known]
        first = int(np.argmax(known))
        step = float(np.median(np.diff(times[known])))
        streams.append(
            Stream(
                name, times[known], rates[known], rtt, column("tcp_cwnd", 1.0),
                np.full(known.sum(), np.nan), is_down=way == "download", counted="flent",
                start=float(max(times[first] - step, 0.0)),
            )
        )  # fmt: skip
    groups = [] if smoothed else _pings(pings, times, streams)
    return Measurement(
        source,
        streams,
        groups[0] if groups else None,
        is_down=way == "download",
        knows_way=bool(streams),
        series=groups[1:],
    )


def _pings(
    pings: NDArray[np.float64], times: NDArray[np.float64], streams: list[Stream]
) -> list[Pings]:
    """Return the pings beside the flows, and those before and after, which flent has, too."""
    known = np.isfinite(pings) & (pings > 0)
    if pings.shape != times.shape or not streams:
        found = pings[known]
        return [Pings(found, len(found))] if len(found) > 1 else []
    begin = min(it.start for it in streams)
    end = max(float(it.time[-1]) for it in streams)
    is_before = known & (times <= begin)
    is_beside = known & (times > begin) & (times <= end)
    return [
        Pings(pings[some], int(some.sum()), is_loaded=is_loaded)
        for some, is_loaded in ((is_before, False), (is_beside, True))
        if some.sum() > 1
    ]
