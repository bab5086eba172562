# SPDX-License-Identifier: GPL-2.0-only
"""Every metric of a run, declared once and looked up by name.

A metric is a function of a run: name → array, as ``Result.dataset`` has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.metrics import convergence, counts, drift, fairness, limits, samples, voice
from tunnelcc.metrics.metric import AnyMetric, Metric, Run, arrays, evaluate, own

if TYPE_CHECKING:
    import xarray

Series = NDArray[np.float64]

# Of Ethernet (IEEE 802.3), bytes; FCS, preamble and gap are not counted by interfaces.
_FRAME_HEADER = 14


def _goodputs(run: Run, since: float | None = None, until: float | None = None) -> Series:
    """Return the goodput of each flow, bit/s."""
    if since is not None or until is not None:
        measured = _within_time(run, since, until)
        return np.array([samples.mean(rate[measured]) for rate in run["flow_goodput_series"]])
    read: Series = run["flow_delivered_bytes"]
    return 8 * read / float(run["measured_time"])


def _rate(run: Run, flow: int | None) -> Series:
    """Return the goodput over time of a flow, or of all, bit/s; shape (time,)."""
    rates = run["flow_goodput_series"]
    series: Series = rates.sum(axis=0) if flow is None else rates[flow]
    return series


def _within_time(run: Run, since: float | None, until: float | None) -> slice:
    """Return the samples in that time (s); default: after the warm-up."""
    half = float(run["probe_interval"]) / 2
    end = float(run["duration"]) if until is None else until
    ends = np.searchsorted(run["time"], (_begin(run, since) + half, end + half), side="right")
    return slice(*ends.tolist())


def _begin(run: Run, since: float | None) -> float:
    return float(run["warmup"]) if since is None else since


def _active_until(run: Run, flow: int | None, until: float | None = None) -> float:
    """Return when the last byte of the flow (of all flows) was read, or else ``until``, s."""
    end = float(run["duration"]) if until is None else until
    completed = run["flow_completed_at"]
    last = float(completed.max() if flow is None else completed[flow])
    return end if math.isnan(last) else min(last, end)


def _goodput(
    run: Run, *, flow: int | None = None, since: float | None = None, until: float | None = None
) -> float:
    if since is not None or until is not None:
        return samples.mean(_rate(run, flow)[_within_time(run, since, until)])
    goodputs = _goodputs(run)
    return samples.total(goodputs.tolist()) if flow is None else float(goodputs[flow])


def _flow_goodput(run: Run, *, since: float | None = None, until: float | None = None) -> Series:
    return _goodputs(run, since, until)


def _at_bottleneck(name: str) -> Callable[[Run], float]:
    """Return a function that reads a total of the bottleneck in the direction of the data."""

    def read(run: Run) -> float:
        place = int(run["bottleneck_link"]), int(run["bottleneck_direction"])
        return float(run[f"link_{name}"][place])

    return read


def _loss_rate(run: Run) -> float:
    names = ("queue_drops", "policer_drops", "random_losses", "packets")
    return counts.link_loss_rate(*(_at_bottleneck(name)(run) for name in names))


def _jain_of(run: Run, owners: Sequence[Any]) -> float:
    """Return Jain's index of the sums over each owner's flows."""
    kept = _streams(run)
    named = [owner for owner, is_kept in zip(owners, kept, strict=True) if is_kept]
    totals = fairness.group_totals(run["flow_delivered_bytes"][kept], named)
    return fairness.jain_index([*totals.values()])


def _jain_carriers(run: Run) -> float:
    numbers = enumerate(run["flow_carrier"])
    return _jain_of(run, [("flow", index) if math.isnan(it) else it for index, it in numbers])


def _jain_tunnels(run: Run) -> float:
    totals = fairness.group_totals(run["flow_delivered_bytes"], list(run["flow_tunnel"]))
    totals.pop("none", None)
    return fairness.jain_index([*totals.values()])


def _tunnel_goodputs(run: Run) -> Series:
    own, tunnels = _goodputs(run), list(run["flow_tunnel"])
    totals = fairness.group_totals(own, tunnels)
    named = zip(tunnels, own, strict=True)
    return np.array([float(it) if name == "none" else totals[name] for name, it in named])


def _tunnel_share(run: Run) -> Any:
    whole = samples.total(_goodputs(run).tolist())
    return _tunnel_goodputs(run) / (whole if whole > 0 else counts.NAN)


def _max_min_shares(run: Run) -> Series:
    return fairness.max_min_shares(_goodputs(run), run["flow_fair_rate"])


def _max_min_share(run: Run) -> float:
    shares = _max_min_shares(run)
    known = shares[~np.isnan(shares)]
    return float(known.min()) if known.size else counts.NAN


def _across_path(run: Run, name: str) -> Any:
    """Return a variable of the connections that cross the path; shape (flow, …)."""
    legs = run["flow_path_leg"].astype(int)
    return run[name][np.arange(len(legs)), legs]


def _rtts(
    name: str, statistic: Callable[[Series, Series, float], float]
) -> Callable[..., Series | list[float]]:
    """Return a function: of each flow a statistic of the SRTT (s) across the path.

    ``name``: the variable with the statistic of all samples after the warm-up.
    """

    def compute(run: Run, *, since: float | None = None) -> Series | list[float]:
        if since is None:
            of_all: Series = _across_path(run, name)
            return of_all
        return [statistic(srtt, run["time"], since) for srtt in _across_path(run, "srtt")]

    return compute


def _window_share(run: Run) -> float:
    measured = run["time"] > run["warmup"]
    flights = [flight[measured] for flight in _across_path(run, "in_flight")]
    medians = [samples.median(flight[flight > 0]) if flight.any() else 0 for flight in flights]
    return float(np.mean(medians)) / float(run["receive_window"])


def _interface_efficiency(run: Run) -> float:
    entered, sent = (
        float(run[f"path_{way}_bytes"]) + _FRAME_HEADER * float(run[f"path_{way}_packets"])
        for way in ("inner", "outer")
    )
    return counts.ratio(entered, sent)


def _ratio(part: str, whole: str) -> Callable[[Run], float]:
    return lambda run: counts.ratio(float(run[part]), float(run[whole]))


def _fair_convergence_time(run: Run) -> float:
    last = float(np.max(run["flow_start"]))
    return convergence.fair_convergence_time(run["flow_goodput_series"], run["time"], last)


def completion_times(run: Run) -> Series:
    """Return for each flow the time from its start until its last byte is read, s; NaN: never."""
    is_whole = run["flow_total_bytes"] >= run["flow_bytes"]  # NaN: no flow without an end is
    times: Series = np.where(is_whole, run["flow_completed_at"] - run["flow_start"], counts.NAN)
    return times


def _completion_times(run: Run) -> Series:
    times: Series = np.where(run["flow_start"] >= run["warmup"], completion_times(run), counts.NAN)
    return times


def _completed(run: Run) -> Series:
    is_measured = np.isfinite(run["flow_bytes"]) & (run["flow_start"] >= run["warmup"])
    completed: Series = np.where(is_measured, np.isfinite(completion_times(run)), counts.NAN)
    return completed


def _messages_delivered(run: Run) -> list[float]:
    pairs = zip(run["flow_messages_delivered"], run["flow_messages_due"], strict=True)
    return [counts.ratio(float(part), float(whole)) for part, whole in pairs]


def _settling_time(
    run: Run,
    *,
    flow: int | None = None,
    since: float | None = None,
    until: float | None = None,
    within: float | None = None,
) -> float:
    end, reach = _active_until(run, flow, until), _reach(within)
    return convergence.settling_time(_rate(run, flow), run["time"], _begin(run, since), end, reach)


def _rise_time(run: Run, *, flow: int | None = None, within: float | None = None) -> float:
    start, end = float(run["flow_start"][flow or 0]), _active_until(run, flow)
    return convergence.rise_time(_rate(run, flow), run["time"], start, _reach(within), end)


def _dip_interval(
    run: Run,
    *,
    flow: int | None = None,
    since: float | None = None,
    until: float | None = None,
    within: float | None = None,
) -> float:
    measured = _within_time(run, since, until)
    rate, time = _rate(run, flow)[measured], run["time"][measured]
    return convergence.dip_interval(rate, time, _reach(within))


def _reach(within: float | None) -> float:
    return convergence.WITHIN if within is None else within


def _rate_convergence_times(run: Run) -> Any:
    rates = run["flow_goodput_series"]
    targets = run["flow_fair_rate_series"]
    return convergence.rate_convergence_time(rates, run["time"], run["flow_start"], targets)


def _drifts(run: Run) -> Series:
    """Return the drift of each flow, or of its entry of ``flows``, if that has more than two."""
    entries, endless = np.asarray(run["flow_group"]), ~np.isfinite(run["flow_bytes"])
    found = np.full(len(entries), counts.NAN)
    endless &= np.isfinite(run["flow_start"]) & _streams(run)
    if not endless.any():
        return found
    rates, ends = run["flow_goodput_series"], run["flow_completed_at"][endless]
    begin = max(float(run["warmup"]), float(run["flow_start"][endless].max()))
    until = min([*ends[np.isfinite(ends)], float(run["duration"])])
    rates = rates[:, _within_time(run, begin, until)]
    for entry in {*entries[endless].tolist()}:  # np.unique() imports masked arrays
        (flows,) = (endless & (entries == entry)).nonzero()
        of_entry = rates[flows]
        if len(flows) > drift.MOST_ALONE:
            of_entry = of_entry.sum(axis=0)
        found[flows] = drift.change(of_entry)
    return found


def _streams(run: Run) -> NDArray[np.bool_]:
    """Return which flows are byte streams: those that share by congestion control."""
    is_stream: NDArray[np.bool_] = np.asarray(run["flow_transport"]) != "udp"
    return is_stream


def _nothing(run: Run) -> Series:
    """Return NaN for each flow. The array is shared, and can't be written."""
    nothing: Series = _nans(len(run["flow_group"]))
    return nothing


@cache
def _nans(count: int) -> Series:
    found: Series = np.full(count, counts.NAN)
    found.flags.writeable = False
    return found


def _of_datagrams(name: str) -> Callable[[Run], Series]:
    """Return a function that reads a variable of flows of datagrams; NaN: it is none."""

    def read(run: Run) -> Series:
        if name not in run:
            return _nothing(run)
        values: Series = run[name].astype(float)
        return values

    return read


def _datagram_share(part: str, whole: str) -> Callable[[Run], Series]:
    """Return a function: of each flow of datagrams, a count divided by another."""

    def compute(run: Run) -> Series:
        shares = _nothing(run)
        if part not in run:
            return shares
        parts, wholes = _of_datagrams(part)(run), _of_datagrams(whole)(run)
        found: Series = shares.copy()
        np.divide(parts, wholes, out=found, where=wholes > 0)
        return found

    return compute


def _losses(run: Run) -> Series:
    return 1 - _datagram_share("flow_received", "flow_expected")(run)


def _late_shares(run: Run) -> Series:
    if "flow_play_delay" not in run:
        return _nothing(run)
    played = ~np.isnan(_of_datagrams("flow_play_delay")(run))
    shares: Series = np.where(
        played, _datagram_share("flow_late", "flow_received")(run), counts.NAN
    )
    return shares


def _opinions(run: Run) -> Series:
    found: Series = _nothing(run).copy()
    if "flow_play_delay" not in run:
        return found
    calls = np.flatnonzero(np.asarray(run["flow_traffic"]) == "call")
    delays, late, lost = _of_datagrams("flow_play_delay")(run), _late_shares(run), _losses(run)
    for flow in calls:
        unplayed = lost[flow] + (1 - lost[flow]) * (0.0 if math.isnan(late[flow]) else late[flow])
        if unplayed == 1:
            found[flow] = 1.0
        elif not math.isnan(delays[flow]):
            delay = delays[flow] + run["flow_codec_delay"][flow]
            found[flow] = voice.mean_opinion_score(delay, unplayed)
    return found


def _of_pings(name: str) -> Callable[[Run], float]:
    """Return a function: the largest value of the entries of ``pings``; NaN: there are none."""

    def read(run: Run) -> float:
        if name not in run:
            return counts.NAN
        values = run[name]
        known = values[~np.isnan(values)]
        return float(known.max()) if known.size else counts.NAN

    return read


def _ping_loss(run: Run) -> float:
    if "ping_expected" not in run:
        return counts.NAN
    return 1 - counts.ratio(float(run["ping_received"].sum()), float(run["ping_expected"].sum()))


def _responsiveness(run: Run) -> float:
    return 60 / _of_pings("ping_delay_trimmed")(run)


def _variable(name: str) -> Callable[[Run], Any]:
    """Return a function that reads a variable."""
    return lambda run: run[name]


# models/path/histogram.h: 64 buckets for each doubling.
_QUANTILE = "within 0.8 % of the exact value"


def _defined(definition: str, part: str) -> str:
    """Return the definition of a mean or of a percentile (``p95``), with its exactness."""
    return f"{definition}; {_QUANTILE}" if part.startswith("p") else definition


def _latency(part: str, long_name: str) -> Metric:
    definition = (
        "of messages that arrive (see flow_message_delivered_share): time from the due time of a "
        "write at flows.rate until its last byte is read; NaN without flows.rate"
    )
    name = f"flow_message_latency_{part}"
    get = _variable(name)
    return Metric(name, "s", long_name, _defined(definition, part), get, per_flow=True)


def _delay(part: str, long_name: str) -> Metric:
    definition = (
        "of datagrams that arrive: time from sending until arrival, RFC 7679; of requests (dns) "
        "from the first attempt until the answer; NaN for byte streams"
    )
    name = f"flow_delay_{part}"
    get = _of_datagrams(name)
    return Metric(name, "s", long_name, _defined(definition, part), get, per_flow=True)


def _ping(part: str, long_name: str) -> Metric:
    definition = (
        "time from an echo request until its answer; the largest of several entries of pings"
    )
    get = _of_pings(f"ping_delay_{part}")
    return Metric(f"ping_rtt_{part}", "s", long_name, _defined(definition, part), get)


def _limit(name: str, words: str) -> Metric:
    definition = (
        "time that this limit stopped the sender of the carrier (or of the flow) / measured time "
        "from its start to its end; in a chain of relays the first carrier; pacing within one "
        "round trip of another limit counts as that limit"
    )
    index = list(limits.LIMITS).index(name)
    return Metric(
        f"flow_limit_{name}", "1", f"share of time limited by the {words}", definition,
        lambda run: [shares[index] for shares in _across_path(run, "limit_share")],
        per_flow=True, is_stored=False,
    )  # fmt: skip


_JAIN = (
    "(Σx)² / (n Σx²) of goodputs x over the whole measured time, of flows that start late or stop "
    "early, too; without cross traffic; Jain, Chiu, Hawe, DEC TR-301, 1984"
)
_MAX_MIN = (
    "goodput / the flow's max-min fair rate on the links that its data cross, as plain TCP without "
    "a tunnel's overhead would have it: the mean over the measured time, where a flow demands "
    "flows.rate or all from its start until its last byte is read, and cross traffic its mean rate "
    "from its start to its stop; a link offers its rate at the time (of a trace the mean over "
    "each second), or its policer's; "
    "Bertsekas and Gallager, Data Networks, section 6.5.2; Philip et al., SIGCOMM 2024"
)
_FAIR_TIME = (
    f"time from the last flow's start until all shares of the next {convergence.HOLD:g} s "
    f"are within (1 ± {convergence.DELTA:g}) / n; RFC 5166, section 2.3"
)
_RATE_TIME = (
    f"time from the flow's start until its means over {convergence.WINDOW:g} s stay within "
    f"{100 * convergence.TOLERANCE:g} % of the max-min fair rate of that time (see "
    f"flow_max_min_share) for {convergence.HOLD:g} "
    "s; Dong et al., PCC, NSDI 2015, section 4.2.2"
)
_FIRST_HOP = "in a chain of relays on its first hop alone"
_FEC = "NaN without FEC, and for KCP, which sends again what its FEC does not repair"
_QUEUE = "waiting time at the bottleneck of packets that were not dropped"
_QUEUE_QUANTILE = f"{_QUEUE}; {_QUANTILE}"

# Those of each flow begin with ``flow_``. Warm-up left out, but where a definition says since the
# start, and for times since a flow's start.
_DECLARED = (
    Metric(
        "goodput", "bit/s", "goodput of all flows", "Σ 8·B/t; RFC 2647, section 3.17",
        _goodput,
    ),
    Metric(
        "utilisation", "1", "utilisation of the bottleneck",
        "bytes sent / bytes that it could send",
        _at_bottleneck("utilisation"),
    ),
    Metric(
        "jain", "1", "Jain's index", f"of n flows {_JAIN}; without flows over UDP",
        lambda run: fairness.jain_index(run["flow_delivered_bytes"][_streams(run)]),
    ),
    Metric(
        "jain_users", "1", "Jain's index of users",
        "the same for n users: x is the sum over a user's flows (flows.user)",
        lambda run: _jain_of(run, list(run["flow_user"])),
    ),
    Metric(
        "jain_carriers", "1", "Jain's index of carriers",
        "the same for n carriers (a tunnel's connections across the path): x is the sum "
            "over a carrier's flows; 1 if all flows share one, as in a packet tunnel; a flow "
            "without a tunnel counts as a carrier",
        _jain_carriers,
    ),
    Metric(
        "jain_tunnels", "1", "Jain's index of tunnels",
        "the same for n tunnels between two hosts: x is the sum over a tunnel's flows; "
            "NaN without tunnels",
        _jain_tunnels,
    ),
    Metric(
        "max_min_share", "1", "smallest max-min share of a flow", _MAX_MIN, _max_min_share
    ),
    Metric(
        "fair_convergence_time", "s",
        f"time until shares are within {100 * convergence.DELTA:g} % of equal", _FAIR_TIME,
        _fair_convergence_time, is_event=True,
    ),
    Metric(
        "queue_delay_mean", "s", "mean queueing delay", _QUEUE, _at_bottleneck("queue_delay_mean")
    ),
    Metric(
        "queue_delay_p50", "s", "median of the queueing delay", _QUEUE_QUANTILE,
        _at_bottleneck("queue_delay_p50"),
    ),
    Metric(
        "queue_delay_p95", "s", "95th percentile of the queueing delay", _QUEUE_QUANTILE,
        _at_bottleneck("queue_delay_p95"),
    ),
    Metric(
        "queue_delay_p99", "s", "99th percentile of the queueing delay", _QUEUE_QUANTILE,
        _at_bottleneck("queue_delay_p99"),
    ),
    Metric(
        "loss_rate", "1", "loss rate of the path",
        "packets dropped or lost / packets offered, after the warm-up; RFC 7680", _loss_rate,
    ),
    Metric(
        "mtu_drops", "1", "packets that the path's MTU dropped",
        "packets larger than a link's MTU that a router dropped, and fragments that a firewall "
            "dropped, on all links, after the warm-up",
        lambda run: float(np.nansum([run["link_mtu_drops"], run["link_fragment_drops"]])),
    ),
    Metric(
        "flow_mss", "byte", "segment size of TCP",
        "payload of a full segment at the end of the run, of the connection across the path; NaN "
            "if that is not TCP, or cannot change",
        lambda run: _across_path(run, "mss"), per_flow=True,
    ),
    Metric(
        "retransmission_ratio", "1", "retransmission ratio",
        f"retransmissions / data segments sent across the path; {_FIRST_HOP}",
        _ratio("path_retransmits", "path_segments"),
    ),
    Metric(
        "congestion_event_rate", "1", "congestion events per segment",
        "flow_congestion_events of all connections across the path / data segments sent there: p "
            f"of the model of Mathis et al., CCR 1997; {_FIRST_HOP}",
        _ratio("path_congestion_events", "path_segments"),
    ),
    Metric(
        "efficiency", "1", "application bytes per byte on the wire",
        f"application bytes read / IP bytes sent across the path, since the start; {_FIRST_HOP}",
        lambda run: counts.efficiency(
            run["flow_total_bytes"].sum(), float(run["path_wire_bytes"])
        ),
        since_start=True,
    ),
    _ping("mean", "mean RTT of pings"),
    _ping("p50", "median of the RTT of pings"),
    _ping("p95", "95th percentile of the RTT of pings"),
    _ping("p99", "99th percentile of the RTT of pings"),
    Metric(
        "ping_loss", "1", "loss of pings",
        "1 − answers / requests, up to the latest answer; of all entries of pings", _ping_loss,
    ),
    Metric(
        "responsiveness", "1/min", "responsiveness, round trips per minute",
        "60 s / mean of the least 95 % of the pings' RTTs, of the slowest entry of pings: RPM of "
            "draft-ietf-ippm-responsiveness, section 5, with echoes in place of requests over HTTP",
        _responsiveness,
    ),
    Metric(
        "cpu_client", "1", "CPU use of the client, all cores", "CPU time / (cores · time)",
        lambda run: run["host_cpu"][0],
    ),
    Metric(
        "cpu_server", "1", "CPU use of the server, all cores", "CPU time / (cores · time)",
        lambda run: run["host_cpu"][1],
    ),
    Metric(
        "flow_goodput", "bit/s", "goodput", "8·B/t; RFC 2647, section 3.17", _flow_goodput,
        per_flow=True,
    ),
    Metric(
        "flow_share", "1", "share of the goodput",
        "x / Σx", lambda run: fairness.shares(_goodputs(run)),
        per_flow=True,
    ),
    Metric(
        "flow_tunnel_goodput", "bit/s", "goodput of the flow's tunnel",
        "sum of x over the flows in the same tunnel; the flow's own x without a tunnel",
        _tunnel_goodputs, per_flow=True,
    ),
    Metric(
        "flow_tunnel_share", "1", "share of the flow's tunnel in the total goodput",
        "flow_tunnel_goodput / goodput",
        _tunnel_share, per_flow=True,
    ),
    Metric(
        "flow_group", "1", "entry of flows", "N of the keys flows.N that describe the flow",
        _variable("flow_group"), per_flow=True,
    ),
    Metric(
        "flow_max_min_share", "1", "max-min share", _MAX_MIN, _max_min_shares, per_flow=True
    ),
    Metric(
        "flow_convergence_time", "s", "time to a stable fair rate",
        _RATE_TIME, _rate_convergence_times, per_flow=True,
        is_event=True,
    ),
    Metric(
        "flow_completion_time", "s", "flow completion time",
        "from the start of the connection until the last of flows.bytes is read; NaN without "
            "flows.bytes, if flows.stop or the run ends first, and for a flow that starts in the "
            "warm-up; Dukkipati and McKeown, CCR 2006",
        _completion_times, per_flow=True, is_event=True,
    ),
    Metric(
        "flow_completed", "1", "part of the flows that complete",
        "1 if the flow completes (see flow_completion_time), or else 0; NaN without flows.bytes, "
            "and for a flow that starts in the warm-up or after the end of the run",
        _completed, per_flow=True,
    ),
    Metric(
        "flow_bytes", "byte", "bytes to send",
        "flows.bytes, or drawn with flows.bytes_shape; NaN: no end",
        _variable("flow_bytes"), per_flow=True,
    ),
    Metric(
        "flow_rtt", "s", "mean smoothed RTT across the path",
        "RFC 6298's SRTT of the carrier, or of the flow without one, sampled every probe_interval "
            f"(NaN for a flow that is over before the first sample); {_FIRST_HOP}",
        _rtts("srtt_mean", samples.mean_srtt), per_flow=True,
    ),
    Metric(
        "flow_congestion_events", "1", "congestion events",
        "RFC 9438, section 4.6: how often TCP across the path began to reduce its window for loss "
            "or marks, at most once a round trip; with BBR, how often it began to recover from "
            f"loss; NaN if it is not TCP; {_FIRST_HOP}",
        lambda run: _across_path(run, "congestion_events"), per_flow=True,
    ),
    Metric(
        "flow_socket_rtt", "s", "mean smoothed RTT of the application's socket",
        "RFC 6298's SRTT of the sending application", _variable("flow_socket_rtt"),
        per_flow=True,
    ),
    _latency("mean", "mean latency of messages"),
    _latency("p50", "median of the latency of messages"),
    _latency("p95", "95th percentile of the latency of messages"),
    _latency("p99", "99th percentile of the latency of messages"),
    Metric(
        "flow_message_delivered_share", "1", "share of messages that arrive",
        "writes at flows.rate that were due after the warm-up and arrived whole before the end of "
            "the run / those that were due; NaN without flows.rate",
        _messages_delivered,
        per_flow=True,
    ),
    Metric(
        "flow_base_rtt", "s", "base RTT", "with its phase; without the links of tunnel.chain",
        _variable("flow_base_rtt"), per_flow=True,
    ),
    Metric(
        "flow_phase", "s", "phase", "part of the base RTT that the seed drew, see path.phase",
        _variable("flow_phase"), per_flow=True,
    ),
    Metric(
        "flow_start", "s", "start",
        "time when it connects, jitter included; NaN: after the end of the run",
        _variable("flow_start"), per_flow=True,
    ),
    Metric(
        "flow_rtt_p95", "s", "95th percentile of the smoothed RTT across the path", "as flow_rtt",
        _rtts("srtt_p95", samples.p95_srtt), per_flow=True,
    ),
    Metric(
        "flow_limited_share", "1", "share of time limited by flow_limited_by",
        "time for which the limit held that held longest / measured time from the flow's start to "
            "its end, at the connection or the stream where it is",
        _variable("flow_limited_share"), per_flow=True,
    ),
    Metric(
        "flow_drift", "1", "change of the goodput that has not settled",
        "(mean of the second half − mean of the first half) / mean of the goodput, of the measured "
            f"time in which all flows send, without its first {drift.START_UP:.0%}; of an entry "
            f"of flows with more than {drift.MOST_ALONE} flows, of their sum; 0: at most "
            f"{drift.LEAST:.0%}, or no more than chance explains (5 %, from the goodput's slow "
            "cycles); NaN with flows.bytes; Geweke, Bayesian Statistics 4, "
            "1992",
        _drifts, per_flow=True,
    ),
    _delay("mean", "mean one-way delay of datagrams"),
    _delay("p50", "median of the one-way delay of datagrams"),
    _delay("p95", "95th percentile of the one-way delay of datagrams"),
    _delay("p99", "99th percentile of the one-way delay of datagrams"),
    Metric(
        "flow_jitter", "s", "jitter of datagrams",
        "mean over the arrivals of the interarrival jitter of RFC 3550, section 6.4.1; NaN for "
            "byte streams",
        _of_datagrams("flow_jitter"), per_flow=True,
    ),
    Metric(
        "flow_loss", "1", "loss of datagrams",
        "1 − received / expected, up to the latest number that arrived: RFC 3550, section A.3; of "
            "requests those without an answer; NaN for byte streams",
        _losses, per_flow=True,
    ),
    Metric(
        "flow_reordered_share", "1", "share of datagrams that are reordered",
        "arrived after one that was sent later / received; RFC 4737, section 3.3; NaN for byte "
            "streams",
        _datagram_share("flow_reordered", "flow_received"), per_flow=True,
    ),
    Metric(
        "flow_late_share", "1", "share of datagrams that are late for playing",
        "arrived later than flows.playout after the fastest one of the last 10 s would have / "
            "received; NaN without a playout buffer",
        _late_shares, per_flow=True,
    ),
    Metric(
        "flow_mos", "1", "mean opinion score of a call",
        "1 (bad) to 4.5, estimated by the E-model, ITU-T G.107, from the mouth-to-ear delay (until "
            "played, and 26.5 ms of the codec) and lost and late frames; Ie = 0 and Bpl = 25.1 of "
            "ITU-T G.113, appendix I; NaN unless flows.traffic is call",
        _opinions, per_flow=True,
    ),
    *(_limit(name, words) for name, words in limits.LIMITS.items()),
    Metric(
        "drops", "packets", "drops at the bottleneck", "packets that the full queue dropped",
        _at_bottleneck("queue_drops"), is_stored=False,
    ),
    Metric(
        "window_share", "1", "share of the receive window in flight",
        "mean over flows of (median of data in flight while there is any / TCP's receive "
            "window); NaN across KCP, RUDP and QUIC",
        _window_share, is_stored=False,
    ),
    Metric(
        "app_retransmits", "segments", "retransmissions of the applications' connections",
        "as iperf3 shows; with a relay, those of the loopback",
        lambda run: float(np.sum(run["flow_socket_retransmits"])), is_stored=False,
    ),
    Metric(
        "path_retransmits", "segments", "retransmissions across the path",
        f"of the carriers, or of the flows without one; {_FIRST_HOP}",
        _variable("path_retransmits"), is_stored=False,
    ),
    Metric(
        "cpu", "1", "CPU use of the busier host, all cores",
        "the larger of cpu_client and cpu_server",
        lambda run: np.max(run["host_cpu"]), is_stored=False,
    ),
    Metric(
        "interface_efficiency", "1", "Ethernet bytes into datagram tunnels per byte that they send",
        "(inner IP bytes + 14 per inner packet) / (outer IP bytes + 14 per outer packet), as "
            "interfaces count, of all datagram tunnels in the direction of the data, since the "
            f"start; {_FIRST_HOP}; NaN without a datagram tunnel",
        _interface_efficiency, is_stored=False, since_start=True,
    ),
    Metric(
        "residual_loss", "1", "loss that FEC did not repair",
        "packets that tunnels with FEC did not deliver / packets that entered them, in the "
            f"direction of the data; {_FIRST_HOP}; {_FEC}",
        _ratio("fec_lost", "fec_packets"),
    ),
    Metric(
        "recovered_share", "1", "packets that FEC repaired",
        "packets recovered from parity / packets that entered the tunnel; where FEC joins packets "
            "into shards (udpspeeder, tinyfecvpn), all packets of a group with a lost shard count, "
            f"because none of them arrives without parity; {_FEC}",
        _ratio("fec_recovered", "fec_packets"),
    ),
    Metric(
        "parity_share", "1", "share of parity in the bytes",
        "IP bytes of parity, of tunnels and of KCP / IP bytes sent across the path, since the "
            f"start; {_FIRST_HOP}; NaN without FEC",
        _ratio("fec_parity_bytes", "path_wire_bytes"), since_start=True,
    ),
    Metric(
        "recovery_delay", "s", "mean delay of FEC recovery",
        "time between a lost packet and the shard that recovered it, at the sender, since "
            f"the start; over several tunnels weighted by packets recovered; {_FEC}",
        _variable("fec_recovery_delay_mean"), since_start=True,
    ),
    Metric(
        "settling_time", "s", "settling time of the goodput",
        f"time from since (default: the end of the warm-up) until means over "
            f"{convergence.STEADY:g} s are within reach of the median of the second half of the "
            "time; the time of finite flows ends with their last byte",
        _settling_time, is_stored=False, is_event=True,
    ),
    Metric(
        "rise_time", "s", "rise time of the goodput",
        "time from the start of the connection until the goodput first reaches 1 − within "
            "of its median in the second half of the time until the end, or until a finite "
            "flow's last byte",
        _rise_time, is_stored=False, is_event=True,
    ),
    Metric(
        "dip_interval", "s", "interval between dips of the goodput",
        "median time between dips below 1 − within of the goodput's median",
        _dip_interval, is_stored=False, is_event=True,
    ),
)  # fmt: skip

#: Name → metric.
METRICS = {metric.name: metric for metric in _DECLARED}

#: Those of every run of a sweep.
STORED = {name: metric for name, metric in METRICS.items() if metric.is_stored}

#: What a sweep stores of each flow in words: variable of a run → what it is.
TEXTS = {
    "flow_cc": "congestion control across the path",
    "flow_transport": "transport",
    "flow_tunnel": "tunnel of the flow, or none",
    "flow_direction": "direction of the flow's data: up or down",
    "flow_limited_by": "what limited the flow, and its value",
    "flow_limited_key": "key that changes what limited the flow",
}


def find(given: AnyMetric, option: str = "metric") -> Metric:
    """Return the metric of a name, of a function of a run, or of ``module:function``.

    Raises ConfigError.
    """
    if isinstance(given, str) and ":" not in given:
        if given not in METRICS:
            expected = "a metric of `tunnelcc show metrics`, or module:function"
            hint = nearest(given, METRICS) or nearest(f"flow_{given}", METRICS)
            raise ConfigError(Problem(option, given, expected, hint))
        return METRICS[given]
    return own(given, METRICS, option)


def own_metrics(given: Iterable[AnyMetric], option: str = "metrics") -> tuple[Metric, ...]:
    """Return the user's functions among ``given``; names of METRICS are left out.

    Raises ConfigError if two functions have the same name.
    """
    if isinstance(given, str) or callable(given):
        given = (given,)  # one, where a list belongs
    found: dict[str, Metric] = {}
    for one in (find(it, option) for it in given):
        if one.is_own and found.setdefault(one.name, one).of is not one.of:
            expected = "functions with different names"
            raise ConfigError(Problem(option, one.name, expected))
    return tuple(found.values())


def value(run: Run, metric: Metric, **selection: Any) -> float:
    """Return a metric of a run as one number. A metric per flow needs the flow.

    ``selection``: see SELECTION. Raises ConfigError for arguments that the metric does not accept.
    """
    given = {key: it for key, it in selection.items() if it is not None}
    for key, asked in given.items():
        if key not in metric.keys:
            heeded = ", ".join(metric.keys) or "nothing"
            expected = f"no argument except: {metric.name} accepts {heeded}"
            raise ConfigError(Problem(key, asked, expected))
    if metric.is_own:
        found = evaluate(metric, run)
        return float(found[given.get("flow", 0)] if np.ndim(found) else found)
    if not metric.per_flow:
        return float(metric(run, **given))
    flow = given.pop("flow", 0)
    return float(metric(run, **given)[flow])


def of_run(run: xarray.Dataset) -> xarray.Dataset:
    """Return the STORED metrics of a run, ``Result.dataset``: scalars, and others over ``flow``.

    ``flow_cc`` is each flow's congestion control across the path; ``flow_transport``,
    ``flow_tunnel``, ``flow_direction``, ``flow_limited_by`` and ``flow_limited_key`` are texts.
    Each metric has ``units`` and ``long_name``; `tunnelcc show metrics` prints the definitions.
    """
    import xarray

    found = values(arrays(run))
    data = {name: (metric.dims, found[name], metric.attributes) for name, metric in STORED.items()}
    texts = {name: ("flow", found[name], {"long_name": doc}) for name, doc in TEXTS.items()}
    return xarray.Dataset({**data, **texts}, {"flow": run.variables["flow"]})


def values(run: Run) -> dict[str, NDArray[Any]]:
    """Return of_run() as plain arrays, computed from the arrays of a run, which is faster."""
    found = {name: np.asarray(metric.of(run), dtype=float) for name, metric in STORED.items()}
    return {**found, **{name: np.asarray(run[name]) for name in TEXTS}}
