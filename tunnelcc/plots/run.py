# SPDX-License-Identifier: GPL-2.0-only
"""Figure of one run over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.analysis.counters import connection_of
from tunnelcc.network.topology import Step
from tunnelcc.plots.flows import Kind, colours, kinds, style_of
from tunnelcc.plots.layout import set_title
from tunnelcc.plots.network import draw_network, has_network, network_height
from tunnelcc.plots.style import STYLE, category_style, check_file, save, take_literally
from tunnelcc.results import fair, provenance
from tunnelcc.words.quantities import RATE, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tunnelcc.config.path import LinkDirection
    from tunnelcc.results.result import Result

# With more flows than this, single lines say nothing: the spread over flows is drawn instead.
_MOST_LINES = 8
# With less goodput than this part of the bottleneck's rate, its line would only flatten the rest.
_LEAST_OF_CAPACITY = 0.3
# From here on above the bottleneck's rate a goodput is explained.
_MOST_OF_CAPACITY = 1.1
# A link whose rate changes: steps in which its queue is followed (s), how many at most, and how far
# ahead (s).
_OUTAGE_STEP, _MOST_STEPS, _LONGEST_OUTAGE = 1e-3, 1_000_000, 60.0


def plot_run(result: Result, file: str | Path | None = None) -> Figure:
    """Draw goodput, data in flight and queueing delay of a run over time.

    With several links or tunnels, the network is above them; what each path carries is there where
    connections have several. ``file``: also save the figure as PNG,
    SVG or PDF. Raises ConfigError for other formats and for a file that cannot be written.

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> figure = tc.plot_run(tc.run(tc.Experiment(path=path, duration="1s")), "run.png")
    """
    if file is not None:
        check_file(Path(file))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        extra = network_height(result) if has_network(result) else 0.0
        delays, paths, routes = [*_delays(result)], _paths(result), _routes(result)
        optional = [1.9] * (bool(paths) + bool(routes) + bool(delays))
        heights = [*([extra] if extra else []), 2.8, 1.9, 1.9, *optional]
        figure = Figure(figsize=(7.2, sum(heights) + 0.4))
        panels = figure.subplots(len(heights), 1, height_ratios=heights)
        if extra:
            draw_network(panels[0], result, _group_colours(result))
        series = panels[1:] if extra else panels
        top, middle, lower = series[:3]
        bottom = series[-1]
        for axes in series[:-1]:
            axes.sharex(bottom)
            axes.tick_params(labelbottom=False)
        _plot_goodput(top, result)
        _plot_in_flight(middle, result)
        _plot_queue_delay(lower, result)
        if paths:
            title = "Goodput over each path (what came twice counts twice)"
            _plot_paths(series[3], result, paths, title, "goodput")
        if routes:
            title = "Sent over each route of the tunnel, headers included"
            _plot_paths(series[3 + bool(paths)], result, routes, title, "rate")
        if delays:
            _plot_delays(bottom, result, delays)
        bottom.set_xlabel("time (s)")
        bottom.set_xlim(0, result.duration)
        for axes in series:
            axes.set_ylim(bottom=0)
            if result.experiment.warmup:
                axes.axvspan(0, result.experiment.warmup, color="#EEEEEE", linewidth=0, zorder=0)
        heading = result.experiment.title or spaced(result.heading)
        set_title(figure, "\n".join([heading, *map(spaced, _limit_line(result))]))
        take_literally(figure)
        if file is not None:
            save(figure, Path(file), provenance.text(result.provenance))
    return figure


def _limit_line(result: Result) -> list[str]:
    """Return a line that tells what limited the flows, if they did anything: at most two things."""
    texts = [text for text in result["flow_limited_by"].tolist() if text]
    by_count = sorted(dict.fromkeys(texts), key=texts.count, reverse=True)
    if not by_count:
        return []
    rest = " and others" if len(by_count) > 2 else ""
    return [f"limited by {' and '.join(by_count[:2])}{rest}"]


def _plot_goodput(axes: Axes, result: Result) -> None:
    time, (moments, rates) = result["time"], _rates(result)
    shares, times = _crossing(result), ""
    different = {*shares.values()}
    if len(different) == 1 and 0 < (share := different.pop()) < 1:
        rates, times = rates / share, f" × {1 / share:.3g}"  # the rest of the data goes elsewhere
    rates = rates / 1e6
    rate = float(rates.max())
    series = result["flow_goodput_series"] / 1e6
    if len(series) > 1:
        series = _smooth(series, time)
    _plot_flows(axes, time, series, kinds(result))
    crossing = series[[*shares]]
    together = crossing.sum(axis=0)
    level, label, highest = rate, f"bottleneck rate{times}", crossing
    if len(series) > _MOST_LINES and len(crossing) > 0:
        level, label = rate / len(crossing), f"{label} / {len(crossing)}"
    elif len(crossing) > 1:
        all_or_some = "all flows" if len(crossing) == len(series) else f"the {len(crossing)} flows"
        across = "" if len(crossing) == len(series) else " across the bottleneck"
        axes.plot(
            time, together, color="#777777", linewidth=1, label=f"{all_or_some}{across} together"
        )
        highest = together
    if np.max(highest, initial=0) > _LEAST_OF_CAPACITY * level:
        look: dict[str, Any] = {"color": "black", "linewidth": 1, "linestyle": ":", "label": label}
        if len(rates) == 1:
            axes.axhline(level, **look)
        else:
            axes.stairs(rates * level / rate, moments, baseline=None, **look)
    else:
        axes.plot([], [], " ", label=f"{label} {RATE.heading(f'{level:.4g}')}, not shown")
    axes.set_ylabel(RATE.label("goodput"))
    is_above = np.max(together, initial=0) > _MOST_OF_CAPACITY * rate
    note = " (peaks above the rate: data that had waited for a lost packet)"
    axes.set_title("Goodput of each flow" + note * bool(is_above))
    figure = axes.get_figure()
    assert figure is not None
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _plot_in_flight(axes: Axes, result: Result) -> None:
    """Draw what each connection across the path has in flight.

    A carrier of several flows is drawn once. If its algorithm is another one than theirs, it is
    none of them and has the colour of its own.
    """
    time, mss = result["time"], result.network.first.carried_mss
    legs = [result.path_leg(flow) for flow in range(len(result.legs))]
    flights = np.array([leg.in_flight for leg in legs]) / 1e6
    of_flows = kinds(result)  # also of flows with a carrier: their colours are those above
    shades = colours(of_flows)
    users: dict[int, list[int]] = {}
    for index, leg in enumerate(legs):
        users.setdefault(id(leg), []).append(index)
    alone = [flows[0] for flows in users.values() if len(flows) == 1]
    _plot_flows(axes, time, flights, of_flows, set(alone))
    shared = [flows for flows in users.values() if len(flows) > 1]
    of_carriers = [Kind(legs[first].cc, None, False) for first, *_ in shared]
    lines = []
    for flows, kind, shade in zip(shared, of_carriers, colours(of_carriers), strict=True):
        if of_flows[flows[0]].cc != kind.cc:
            shades[flows[0]] = shade
        few = len(legs) <= _MOST_LINES
        named = f"flows {', '.join(map(str, flows))}" if few else f"{len(flows)} flows"
        look = {"color": shades[flows[0]], "label": f"carrier of {named}: {kind.label}"}
        lines += axes.plot(time, flights[flows[0]], **look)
    if 0 < len(lines) <= _MOST_LINES:
        axes.legend(handles=lines, loc="upper right")
    note, widest = "", 0.0
    if len(users) <= _MOST_LINES:
        for first, *_ in users.values():
            unit = _window_unit(result, first, mss)
            if unit:
                window, look = np.array(legs[first].cwnd) * unit / 1e6, {"color": shades[first]}
                axes.plot(time, window, linewidth=0.7, linestyle=":", **look)
                widest = max(widest, float(window.max(initial=0)))
                note = " (dotted: congestion window)"
        # A window far above what is in flight (limited by a buffer) is cut off, not squeezed in.
        most = max(float(flights.max(initial=0)), mss / 1e6)
        axes.set_ylim(0, 1.08 * min(max(most, widest), 2 * most))
    axes.set_ylabel("data in flight (MB)")
    several = any(it.traffic.paths for it in result.network.flows)
    where = "over the path that carries most" if several else "across the path"
    axes.set_title(f"In flight {where}{note}")


def _window_unit(result: Result, flow: int, mss: int) -> int:
    """Return the bytes that the window of a flow's path leg counts; 0: it has no such window.

    What KCP and RUDP call a window is not the congestion window. Relays over QUIC have packets of
    their own, which are left out.
    """
    traffic = result.network.flows[flow].traffic
    if result.path_leg(flow).arq_timeouts is None:  # it is TCP
        return mss
    if traffic.flow.transport == "quic":
        return traffic.below.quic_packet.udp
    return 0


def _crossing(result: Result) -> dict[int, float]:
    """Return the flows whose data cross the bottleneck in the direction that is measured.

    Each with the share of its data that does.
    """
    network, step = result.network, result.network.bottleneck
    loads = {index: placed.traffic.loads for index, placed in enumerate(network.flows)}
    return {index: of_flow[step] for index, of_flow in loads.items() if step in of_flow}


def _rates(result: Result) -> tuple[Any, Any]:
    """Return when the bottleneck's rate changes (s), with begin and end, and the rates (bit/s)."""
    step = result.network.bottleneck
    direction = result.network.direction(step)
    changes = fair.rate_changes(result, step)
    moments = np.unique([0.0, *changes, result.duration])
    if direction.rate is None:
        return moments, np.array([math.nan])
    return moments, fair.offered_rates(direction, moments)


def _queue_delay(direction: LinkDirection, time: Any, queue: Any) -> Any:
    """Return in how long (s) the link carries the ``queue`` (bits) of each ``time`` (s).

    NaN where its rate is 0 for longer than _LONGEST_OUTAGE.
    """
    if not direction.varies("rate"):
        return queue / (direction.rate or math.nan)
    end = time[-1] + _LONGEST_OUTAGE
    moments = np.linspace(0.0, end, min(int(end / _OUTAGE_STEP), _MOST_STEPS) + 1)
    # A little more with each step, so that each number of bits has one moment.
    carried = fair.offered_bits(direction, moments) + 1e-3 * np.arange(len(moments))
    gone = np.interp(time, moments, carried) + queue
    return np.interp(gone, carried, moments, right=math.nan) - time


def _plot_queue_delay(axes: Axes, result: Result) -> None:
    network, time, drops = result.network, result["time"], []
    is_both_ways = len({placed.direction for placed in network.flows}) > 1
    is_up = network.first.direction == "up" or network.bottleneck not in network.first.loads
    steps, ends = network.bottlenecks, ("server", "client") if is_up else ("client", "server")
    for is_other, end in enumerate(ends[: 1 + is_both_ways]):
        for place, (name, is_reverse) in enumerate(steps):
            step = Step(name, is_reverse is not bool(is_other))
            link = result.way(step)
            delay = 1e3 * _queue_delay(network.direction(step), time, 8 * link.queue_bytes)
            words = [name] * (len(steps) > 1) + [f"to the {end}"] * is_both_ways
            look = {
                "color": category_style(place)["color"] if place else "#555555",
                "linestyle": category_style(place + is_other * len(steps))["linestyle"],
                "alpha": 0.5 if is_other else 1.0,
            }
            axes.plot(time, delay, label=" ".join(words), **look)
            drops.append(str(link.queue_drops))
    axes.set_ylabel("queueing delay (ms)")
    of_each = " of each route" if len(steps) > 1 else ""
    dropped = f"{' and '.join(drops)} packets dropped"
    axes.set_title(f"Queueing delay at the bottleneck{of_each} ({dropped})")
    if len(drops) > 1:
        axes.legend(loc="upper right", ncols=2)


def _paths(result: Result) -> dict[str, Any]:
    """Return the goodput over time (bit/s) of each path of connections that have several.

    Connections of the same flows or tunnel count together.
    """
    found: dict[tuple[str, str], Any] = {}
    seen: set[int] = set()
    for placed, legs in zip(result.network.flows, result.legs, strict=True):
        if (paths := placed.traffic.paths) is None:
            continue
        through = placed.traffic.tunnel is not None
        whose = result.network.tunnel_key(placed.traffic) if through else placed.traffic.key
        keys, role = paths.keys, "carrier" if through else "app"
        for leg in legs:
            if connection_of(leg.name) != role or id(leg) in seen:
                continue
            seen.add(id(leg))
            path = keys.paths[int(leg.name.partition("-path")[2] or 1) - 1]
            label = path if isinstance(path, str) else " → ".join(path)
            label += " (backup)" * (path in keys.backup)
            found[whose, label] = found.get((whose, label), 0) + leg.goodput_series
    one = len({whose for whose, _ in found}) == 1
    return {label if one else f"{label} of {whose}": it for (whose, label), it in found.items()}


def _routes(result: Result) -> dict[str, Any]:
    """Return the rate over time (bit/s) of each route of tunnels that give packets to several.

    It is that of the link where the route is narrowest, in the direction of the data.
    """
    network, found = result.network, {}
    for placed in network.tunnels:
        if (uplinks := placed.keys.uplinks) is None or uplinks.use == "fail-over":
            continue
        for route in placed.uplinks:
            step = network.narrowest(dict.fromkeys(route.sent_by(placed.sender), 1.0))
            if network.direction(step).rate is None:
                continue
            rates = fair.offered_rates(network.direction(step), np.append(0, result["time"]))
            found[step.link] = result.way(step).utilisation_series * rates
    return found


def _plot_paths(
    axes: Axes, result: Result, paths: dict[str, Any], title: str, quantity: str
) -> None:
    series = _smooth(np.array([*paths.values()]) / 1e6, result["time"])
    for place, (label, line) in enumerate(zip(paths, series, strict=True)):
        look = {key: category_style(place)[key] for key in ("color", "linestyle")}
        axes.plot(result["time"], line, label=label, **look)
    axes.set_ylabel(RATE.label(quantity))
    axes.set_ylim(top=1.3 * max(float(series.max()), 1e-3))  # room for the legend
    axes.set_title(title)
    axes.legend(loc="upper right", ncols=len(paths))


def _delays(result: Result) -> Iterator[tuple[str, Any]]:
    """Yield a label and the delay over time (s) of each flow of datagrams or messages, and ping."""
    for index, placed in enumerate(result.network.flows):
        if placed.flow.transport == "udp":
            yield f"flow {index}, {placed.flow.label}", result["flow_delay_series"][index]
        elif placed.flow.rate is not None:
            yield f"messages of flow {index}", result["flow_message_latency_series"][index]
    for index, series in enumerate(result["ping_delay_series"] if result.network.pings else ()):
        yield f"pings.{index}, RTT", series


def _plot_delays(axes: Axes, result: Result, delays: Sequence[tuple[str, Any]]) -> None:
    time, interval = result["time"], 1e3 * result.experiment.probe_interval
    flows = result.network.flows
    found = {
        "datagrams": any(it.flow.transport == "udp" for it in flows),
        "messages": any(it.flow.transport != "udp" and it.flow.rate is not None for it in flows),
        "pings": bool(result.network.pings),
    }
    whose = [name for name, is_there in found.items() if is_there]
    for place, (label, series) in enumerate(delays[:_MOST_LINES]):
        known = np.isfinite(series)
        look = {key: category_style(place)[key] for key in ("color", "linestyle")}
        axes.plot(time[known], 1e3 * series[known], label=label, linewidth=1, **look)
    axes.set_ylabel("delay (ms)")
    axes.set_title(f"Delay of {' and '.join(whose)} (means of {interval:.3g} ms)")
    axes.legend(loc="upper right", ncols=2)


def _group_colours(result: Result) -> list[Any]:
    """Return the colour of the first of each group of flows, or a shade where flows have none."""
    of_flows, groups = kinds(result), [placed.group for placed in result.network.flows]
    firsts = [groups.index(group) for group in dict.fromkeys(groups)]
    if len(of_flows) <= _MOST_LINES:
        of_each = colours(of_flows)
        return [of_each[first] for first in firsts]
    return colours([of_flows[first] for first in firsts])


def _plot_flows(
    axes: Axes, time: Any, series: Any, of_flows: list[Kind], shown: Collection[int] | None = None
) -> None:
    """Draw a line for each flow, or mean and range of the flows of a kind if there are many.

    ``shown``: only these flows.
    """
    of_each = colours(of_flows)
    for position, kind in enumerate(dict.fromkeys(of_flows)):
        members = [
            index
            for index, other in enumerate(of_flows)
            if other == kind and (shown is None or index in shown)
        ]
        if not members:
            continue
        # Lines tell flows apart in grey. Markers would look like samples.
        if len(of_flows) <= _MOST_LINES:
            for index in members:
                label = f"flow {index}, {kind.label}" if len(of_flows) > 1 else kind.label
                line = category_style(index)["linestyle"]
                axes.plot(time, series[index], label=label, color=of_each[index], linestyle=line)
            continue
        style = {
            "color": style_of(kind, of_flows)["color"],
            "linestyle": category_style(position)["linestyle"],
        }
        rows = series[members]
        low, high = np.min(rows, axis=0), np.max(rows, axis=0)
        axes.fill_between(time, low, high, color=style["color"], alpha=0.2, linewidth=0)
        label = kind.label
        if len(rows) > 1:
            label += f" ({len(rows)}: mean; band: least to most)"
        axes.plot(time, np.mean(rows, axis=0), label=label, **style)


def _smooth(series: Any, time: Any) -> Any:
    """Mean over half a second, so that single flows are distinguishable."""
    width = int(0.5 / (time[1] - time[0])) if len(time) > 1 else 1
    if width < 2 or series.shape[1] < 2 * width:
        return series
    weights = np.convolve(np.ones(series.shape[1]), np.ones(width), "same")
    return np.array([np.convolve(row, np.ones(width), "same") / weights for row in series])
