# SPDX-License-Identifier: GPL-2.0-only
"""iperf3's JSON (``iperf3 -J``): write a run as its client does, and read measurements.

An interval of a run is one second, or ends with the next probe after it. Its rates are those of the
receiving application, while iperf3's client reports what it wrote. RTT, window and retransmissions
are the sender's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.formats.measurement import (
    LARGEST,
    Measurement,
    Stream,
    algorithm,
    list_of,
    number,
    segment_size,
    table_of,
)
from tunnelcc.results import provenance

if TYPE_CHECKING:
    from tunnelcc.results.result import Result

_INTERVAL = 1.0  # s
# What iperf3 writes and reads at once, if a file does not tell, and at most (bytes).
_BLOCK, _MOST_BLOCK = 131072.0, 2.0**20
_ROUNDING = 1e-6  # s, of times


def write(result: Result) -> dict[str, Any]:
    """Return a run as iperf3's JSON; sockets are numbered by flow, from 1."""
    sampled = [_intervals(result, flow) for flow in range(len(result.flows))]
    end = result.duration
    totals = [_total(part, 0.0, end, end) for part in sampled]
    return {
        "start": {
            "connected": [{"socket": flow + 1} for flow in range(len(sampled))],
            "version": f"tunnelcc {result.provenance['tunnelcc']}",
            "system_info": f"simulated: {provenance.text(result.provenance)}",
            "tcp_mss": _mss(result, 0),
            "test_start": {
                "protocol": _protocol(result), "num_streams": len(sampled), "omit": 0,
                "duration": end, "blksize": result.experiment.flows[0].write_size,
                "reverse": int(result.network.flows[0].sender == "server"),
            },
        },
        "intervals": [
            {"streams": list(streams), "sum": _sum(list(streams))}
            for streams in zip(*sampled, strict=True)
        ],
        "end": {
            "streams": [
                {"sender": {**it, "sender": True}, "receiver": {**it, "sender": False}}
                for it in totals
            ],
            "sum_sent": _sum(totals),
            "sum_received": _sum(totals),
            "sender_tcp_congestion": ", ".join(dict.fromkeys(result["flow_app_cc"].tolist())),
        },
    }  # fmt: skip


def _protocol(result: Result) -> str:
    """Return the applications' transport; TCP if they have several."""
    transports = {flow.transport for flow in result.experiment.flows}
    return transports.pop().upper() if len(transports) == 1 else "TCP"


def _intervals(result: Result, flow: int) -> list[dict[str, Any]]:
    """Return intervals of a second, or of as many probes as end later; the last has the rest."""
    leg, counted = result.sender_leg(flow), result.flows[flow]
    mss = _mss(result, flow)
    time, end = result["time"], result.duration
    sizes = np.rint(np.cumsum(counted.goodput_series) * result.experiment.probe_interval / 8)
    number = np.floor((time + _ROUNDING) / _INTERVAL)  # of whole intervals that have passed
    lasts = [*np.flatnonzero(np.diff(number, prepend=0.0))]
    if not lasts or lasts[-1] < len(time) - 1 or time[-1] < end - _ROUNDING:
        lasts.append(len(time) - 1)
    found: list[dict[str, Any]] = []
    start = size = retransmits = 0.0
    for index, last in enumerate(lasts, 1):
        is_rest = index == len(lasts)
        until = end if is_rest else float(time[last])
        sent = float(counted.total_bytes or 0) if is_rest else float(sizes[last])
        resent = _retransmits(result, leg) if is_rest else float(leg.retransmits_series[last])
        found.append(
            {
                "socket": flow + 1,
                "start": start,
                "end": until,
                "seconds": until - start,
                "bytes": round(sent - size),
                "bits_per_second": 8 * (sent - size) / (until - start),
                "retransmits": round(resent - retransmits),
                "snd_cwnd": round(float(leg.cwnd[last]) * mss),
                "rtt": round(max(0.0, float(leg.srtt[last])) * 1e6),
                "omitted": False,
                "sender": True,
            }
        )
        start, size, retransmits = until, sent, resent
    return found


def _mss(result: Result, flow: int) -> int:
    """Return the MSS of an application's socket: with a relay, that of the loopback."""
    traffic = result.network.flows[flow].traffic
    if traffic.flow.transport == "quic":
        return traffic.below.quic_packet.udp
    mss, keys = traffic.mss, traffic.tunnel_keys
    return keys.entry.host_mss(mss, traffic.loopback_ip) if keys is not None else mss


def _retransmits(result: Result, leg: Any) -> float:
    """Return the retransmissions of the whole run: those until the last probe, or known later."""
    before = leg.retransmits_series[result["time"] <= result.experiment.warmup]
    first = float(before[-1]) if before.size else 0.0
    return max(float(leg.retransmits_series[-1]), first + float(leg.retransmits))


def _total(parts: list[dict[str, Any]], start: float, end: float, seconds: float) -> dict[str, Any]:
    size = sum(part["bytes"] for part in parts)
    return {
        "socket": parts[0]["socket"] if parts else 0,
        "start": start,
        "end": end,
        "seconds": seconds,
        "bytes": size,
        "bits_per_second": 8 * size / seconds,
        "retransmits": sum(part["retransmits"] for part in parts),
    }


def _sum(streams: list[dict[str, Any]]) -> dict[str, Any]:
    first = streams[0] if streams else {"start": 0.0, "end": 0.0, "seconds": 0.0}
    return {
        **{key: first[key] for key in ("start", "end", "seconds")},
        **{key: sum(it[key] for it in streams) for key in ("bytes", "bits_per_second")},
        "retransmits": sum(it["retransmits"] for it in streams),
        "omitted": False,
        "sender": True,
    }


def read(source: str, table: Any) -> Measurement:
    """Return the streams of iperf3's JSON, of either end; none if the table is something else.

    A sender counts what is written into its socket, a receiver what it has read. Seconds that were
    omitted (-O) are before the others, whose times begin again at 0. Streams of a file with both
    directions (--bidir) are those that the client sends; the others are in ``reverse``.
    """
    table = table_of(table)
    start, end = table_of(table.get("start")), table_of(table.get("end"))
    test = table_of(start.get("test_start"))
    is_datagrams = test.get("protocol") == "UDP"
    server = table_of(table.get("server_output_json"))
    if is_datagrams and list_of(server.get("intervals")) and not test.get("reverse"):
        # Datagrams arrive or not, which the receiver's seconds have (--get-server-output).
        inner = {it: value for it, value in server.items() if it != "server_output_json"}
        return replace(read(source, inner), knows_way=True)
    is_server = "accepted_connection" in start
    omitted, again = 0.0, np.inf
    parts: dict[str, list[dict[str, Any]]] = {}
    for interval in list_of(table.get("intervals")):
        samples = [
            it for it in map(table_of, list_of(table_of(interval).get("streams")))
            if number(it.get("end")) > 0 and number(it.get("bits_per_second")) >= 0
        ]  # fmt: skip
        for it in samples:
            if it.get("omitted"):
                omitted = max(omitted, number(it.get("end")))
            else:
                again = min(again, number(it.get("end")))
        for it in samples:
            parts.setdefault(str(it.get("socket")), []).append(it)
    if again > omitted:
        omitted = 0.0
    mss = segment_size(number(start.get("tcp_mss")) or number(start.get("tcp_mss_default")))
    congestion = algorithm(end.get("sender_tcp_congestion"))
    totals = {
        str(table_of(it.get("sender") or it.get("udp") or it.get("receiver")).get("socket")): it
        for it in map(table_of, list_of(end.get("streams")))
    }
    is_reversed = bool(number(test.get("reverse"), 0))
    told_block = number(test.get("blksize"))
    block = told_block if 0 < told_block <= _MOST_BLOCK else _BLOCK
    is_ours = str(start.get("version")).startswith("tunnelcc")  # counts what was read
    streams = []
    for place, (socket, samples) in enumerate(parts.items(), 1):
        if len(samples) < 2:
            continue
        told = samples[0].get("sender")
        sends = told if isinstance(told, bool) else is_reversed is is_server
        streams.append(
            _stream(
                str(place), samples, mss, congestion, omitted, sends=sends,
                is_down=sends is is_server, total=totals.get(socket, {}),
                datagrams=test if is_datagrams else None, is_exact=is_ours,
                block=block,
            )
        )  # fmt: skip
    ways = {it.is_down for it in streams}
    is_down = ways == {True}
    seconds = number(table_of(start.get("timestamp")).get("timesecs"))
    return Measurement(
        source, [it for it in streams if it.is_down is is_down], is_down=is_down, epoch=seconds,
        blur=1.0, knows_way=bool(test),
        reverse=[it for it in streams if it.is_down is not is_down],
    )  # fmt: skip


def _grain(samples: list[dict[str, Any]], block: float) -> float:
    """Return the bytes that a receiver counts at once: a block in some versions (3.21), else 0."""
    counts = [number(it.get("bytes"), 0.0) for it in samples]
    return block if all(it % block == 0 for it in counts) else 0.0


def _stream(
    name: str, samples: list[dict[str, Any]], mss: float, congestion: str, omitted: float, *,
    sends: bool, is_down: bool, total: dict[str, Any], datagrams: dict[str, Any] | None,
    is_exact: bool,
    block: float,
) -> Stream:  # fmt: skip
    def column(key: str, scale: float = 1.0) -> Any:
        values = np.array([scale * number(it.get(key)) for it in samples])
        return np.where(values > 0, values, np.nan)

    later = np.array([0.0 if it.get("omitted") else omitted for it in samples])
    has_counts = any("retransmits" in it for it in samples)
    counts = [max(number(it.get("retransmits"), 0), 0.0) for it in samples]
    retransmits = np.cumsum(counts) if has_counts else np.full(len(samples), np.nan)
    rates = np.array([number(it["bits_per_second"]) for it in samples])
    sent, received = table_of(total.get("sender")), table_of(total.get("receiver"))
    found = Stream(
        name, column("end") + later, rates, column("rtt", 1e-6), column("snd_cwnd", 1 / mss),
        retransmits, column("snd_wnd"), congestion=congestion, mss=mss, is_down=is_down,
        counted="acked" if is_exact else "written" if sends else "received",
        start=max(number(samples[0].get("start"), 0.0), 0.0),
        resent=max(number(sent.get("retransmits")), 0.0),
        grain=0.0 if is_exact else block if sends else _grain(samples, block),
    )  # fmt: skip
    if datagrams is not None:
        udp = table_of(total.get("udp"))
        packets, lost = number(udp.get("packets")), number(udp.get("lost_packets"))
        if not (packets > 0 and lost >= 0):
            packets = sum(number(it.get("packets"), 0) for it in samples)
            lost = sum(number(it.get("lost_packets"), np.nan) for it in samples)
        told = number(datagrams.get("blksize"))
        size = told if 16 <= told <= LARGEST else mss
        seconds = float(found.time[-1] - found.start)
        is_known = packets > 0 and seconds > 0
        return replace(
            found, is_datagrams=True, mss=size,
            offered=8 * size * packets / seconds if is_known else np.nan,
            lost=min(lost / packets, 1.0) if packets > 0 and lost >= 0 else np.nan,
        )  # fmt: skip
    arrived = number(received.get("bytes"))
    # Without the omitted seconds, which have bytes of their own.
    if sends and omitted == 0 and 0 < arrived <= 1.01 * number(sent.get("bytes")):
        return replace(found, arrived=arrived)
    return found
