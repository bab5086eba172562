# SPDX-License-Identifier: GPL-2.0-only
"""Figure of a run's network: hosts, the utilisation of each link, flows and tunnels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.metrics import METRICS
from tunnelcc.network.topology import ResolvedLink, Step, Topology
from tunnelcc.network.traffic import Traffic
from tunnelcc.plots.flows import tunnel_name
from tunnelcc.plots.style import STYLE, category_style, check_file, save, take_literally
from tunnelcc.results import provenance
from tunnelcc.schema.units import format_rate, format_time
from tunnelcc.words.quantities import LARGE_RATE, RATE, spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tunnelcc.results.result import Result

# With more hosts than this, names of the first and last of each kind have to do.
_MOST_NAMES, _MOST_NAMES_OF_LONG = 16, 28
# With less than so many square inches for each limited link, what each is has no room.
_LEAST_FOR_LINK = 1.3
# With more links than this in a row, their names have smaller letters.
_MOST_LARGE = 5
# With more groups of flows than this, the rest have one line in the legend, and no arrows.
_MOST_GROUPS = 6
# With so many limited links that differ, a list above the map says what each is.
_LISTED = range(5, 9)
# With more hosts than this, lines get thinner.
_MOST_WIDE = 16
# In points: half the distance of a link's two directions, of lanes of flows, sizes of hosts.
_APART, _FIRST_LANE, _LANE, _HOST = 2.4, 8.0, 4.6, 9.0
# Points: the band of a tunnel, and how much wider the one is that it goes through.
_BAND, _WIDER_BAND = 5.4, 3.2
# Dashes of links that data cross only after a fail-over.
_LATER = (0, (3, 2))
# Inches that a network has: what is around it comes on top. A long one is wider than others, but
# fits beside the axes of a run.
_WIDTH, _MOST_WIDTH, _HEIGHT, _MOST_HEIGHT = 4.2, 7.0, 2.7, 5.0
# Inches of a unit of places, if there is room; inches around the outermost hosts; those of a text
# above a link.
_UNIT, _AROUND, _TEXT = 0.5, 1.1, 0.36
_BOX = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#CCCCCC"}
_NOT_LIMITED = "#C4C4C4"
_OTHER = "#999999"
# Factors of the places of a network of any shape, to fit the axes; hosts beyond which it is larger.
_WIDER, _HIGHER, _SMALL = 2.0, 1.4, 4
# Its places are looked for in so many steps, until one moves none by so many links.
_STEPS, _STILL = 1000, 1e-5
# Where groups have the colours of their algorithms, UDP has none.
_OF_UDP = "#555555"


@dataclass(frozen=True)
class Place:
    """The position of a host, and the side of its name.

    ``is_beside_lanes``: flows pass between the host and its name.
    """

    x: float
    y: float
    side: tuple[float, float]
    is_beside_lanes: bool = False


@dataclass(frozen=True)
class Group:
    """Equal flows: their text and colour in the legend, and the links that their data cross.

    ``loads``: as Traffic.loads, of all of them together; ``tunnels``: the links between the ends
    of each tunnel around them, from the inside.
    """

    label: str
    colour: Any
    loads: dict[Step, float]
    tunnels: tuple[frozenset[Step], ...] = ()


def has_network(result: Result) -> bool:
    """Return whether there is more to show than flows in parallel on one path."""
    network = result.network
    differ = {(it.tunnel is None, it.tunnel and it.flow.tunnel, it.sender) for it in network.flows}
    return len(network.topology.links) > 1 or len(differ) > 1


def plot_network(result: Result, file: str | Path | None = None) -> Figure:
    """Draw a run's hosts and links, the utilisation of each direction, and the flows on them.

    ``file``: also save it as PNG, SVG or PDF. Raises ConfigError for other formats and for a file
    that cannot be written.
    """
    if file is not None:
        check_file(Path(file))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        width = _inches(place_hosts(result)) + 0.2
        figure = Figure(figsize=(width, 0.8 + network_height(result)))
        draw_network(figure.subplots(), result)
        take_literally(figure)
        if file is not None:
            save(figure, Path(file), provenance.text(result.provenance))
    return figure


def network_height(result: Result) -> float:
    """Return the height (inches) of the panel of a run's network."""
    places = place_hosts(result)
    left, right, low, high = _extent(places, result)
    width = _inches(places)
    rows = min(len(result.experiment.flows) + len(result.experiment.cross_traffic), _MOST_GROUPS)
    if _is_listed(places, _link_texts(places, result)[0]):
        rows += len(_link_texts(places, result)[0])
    return 0.75 + min(_high(places), width * (high - low) / (right - left)) + 0.17 * rows


def draw_network(axes: Axes, result: Result, colours: Sequence[Any] = ()) -> None:
    """Draw a run's network into ``axes``.

    ``colours``: of each group of flows, as the experiment declares them.
    """
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    places, topology = place_hosts(result), result.network.topology
    reds = mpl.colormaps["YlOrRd"]
    busy = LinearSegmentedColormap.from_list("busy", [reds(0.12 + 0.08 * i) for i in range(11)])
    groups = _groups(result, colours)
    lanes = _lanes(groups[:_MOST_GROUPS])
    for name, link in topology.links.items():
        _draw_link(axes, places, link, result, name, busy)
        for is_reverse in (False, True):
            for lane, group in enumerate(lanes.get(Step(name, is_reverse), ())):
                _draw_lane(axes, places, link.ends, Step(name, is_reverse), lane, group)
    _draw_hosts(axes, places, topology, _aside(result))
    _name_links(axes, places, result)
    _fit(axes, places, result)
    _legend(axes, groups)
    bar = axes.figure.colorbar(
        ScalarMappable(Normalize(0, 1), busy), ax=axes, orientation="horizontal", shrink=0.42,
        aspect=24, pad=0.02, ticks=[0, 0.5, 1], format=lambda part, _: f"{100 * part:g} %",
    )  # fmt: skip
    bar.ax.tick_params(labelsize=9, length=2)
    bar.outline.set_visible(False)
    bar.set_label("how busy a direction of a link was (grey: not limited)", fontsize=9)


def place_hosts(result: Result) -> dict[str, Place]:
    """Return the position of each host, in the order of its shape."""
    network, topology = result.experiment.network, result.network.topology
    hosts = topology.hosts
    shape = network.shape if network is not None else None
    if network is not None and set(network.layout.links) == set(topology.links):
        own = [name for name, link in network.links.items() if link.between is not None]
        if shape is not None and not own:
            size = network.size or 1
            match shape:
                case "dumbbell":
                    return _dumbbell(size)
                case "parking-lot":
                    return _parking_lot(size)
                case "star":
                    return {"hub": Place(0, 0, (0, 1), is_beside_lanes=True)} | _circle(
                        [h for h in hosts if h != "hub"]
                    )
                case "ring" | "mesh":
                    return _circle([f"host{i}" for i in range(1, size + 1)])
    row = _as_row(topology)
    if row is not None:
        if result.network.flows[0].client == row[-1]:
            row.reverse()
        return {host: Place(2.0 * i, 0, (0, -1), True) for i, host in enumerate(row)}
    first = result.network.flows[0]
    return _by_distance(topology, first.client, first.server)


def _dumbbell(size: int) -> dict[str, Place]:
    height = 1.6 if size > 1 else 0.0
    places = {"left": Place(1.4, 0, (0, -1), True), "right": Place(3.6, 0, (0, -1), True)}
    for i in range(size):
        y = height / 2 - height * i / max(size - 1, 1)
        places[f"client{i + 1}"] = Place(0, y, (-1, 0))
        places[f"server{i + 1}"] = Place(5, y, (1, 0))
    return places


def _parking_lot(size: int) -> dict[str, Place]:
    """The long route in a row; clients above the router that they join, servers below theirs."""
    places = {"client0": Place(-1.1, 0, (-1, 0)), "server0": Place(size * 1.6 + 1.1, 0, (1, 0))}
    for i in range(size + 1):
        places[f"router{i}"] = Place(1.6 * i, 0, (0.55, -1), True)
    for i in range(1, size + 1):
        places[f"client{i}"] = Place(1.6 * (i - 1) + 0.2, 1.2, (0, 1))
        places[f"server{i}"] = Place(1.6 * i - 0.2, -1.4, (0, -1))
    return places


def _circle(hosts: Sequence[str]) -> dict[str, Place]:
    """Return places around 0, the first at the top left, clockwise."""
    places = {}
    for i, host in enumerate(hosts):
        turn = math.pi * (0.5 + 1 / len(hosts) - 2 * i / len(hosts))
        x, y = math.cos(turn), math.sin(turn)
        places[host] = Place(1.3 * x, y, (x, y))
    return places


def _as_row(topology: Topology) -> list[str] | None:
    """Return the hosts in a row, if links join each only to the next."""
    neighbours: dict[str, list[str]] = {host: [] for host in topology.hosts}
    for link in topology.links.values():
        one, other = link.ends
        neighbours[one].append(other)
        neighbours[other].append(one)
    ends = [host for host, near in neighbours.items() if len(near) == 1]
    if len(ends) != 2 or any(len(near) > 2 for near in neighbours.values()):
        return None
    row = [ends[0]]
    while len(following := [it for it in neighbours[row[-1]] if it not in row[-2:]]) == 1:
        row += following
    return row if len(row) == len(topology.hosts) else None


def _by_distance(topology: Topology, client: str, server: str) -> dict[str, Place]:
    """Return positions of hosts of any network; hosts with few links between them are close."""
    joined = dict.fromkeys(host for link in topology.links.values() for host in link.ends)
    graph: dict[str, list[str]] = {host: [] for host in joined}
    for link in topology.links.values():
        one, other = link.ends
        graph[one].append(other)
        graph[other].append(one)
    spread = _spread(graph)
    if spread is None:
        return _circle(topology.hosts)
    positions = dict(zip(graph, spread, strict=True))
    if positions[client][0] > positions[server][0]:
        positions = {host: (-x, y) for host, (x, y) in positions.items()}
    larger = max(1.0, len(positions) / _SMALL)
    wider, higher = _WIDER * larger, _HIGHER * larger
    places = {}
    for host, (x, y) in positions.items():
        ways = [
            (wider * (positions[near][0] - x), higher * (positions[near][1] - y))
            for near in graph[host]
        ]
        side = _widest_gap([math.atan2(dy, dx) for dx, dy in ways])
        places[host] = Place(wider * float(x), higher * float(y), (math.cos(side), math.sin(side)))
    return places


def _spread(graph: dict[str, list[str]]) -> list[tuple[float, float]] | None:
    """Return places between -1 and 1, as far apart as there are links between; None: cut in parts.

    They have least stress, in squares of relative errors (Kamada and Kawai, 1989). Each step
    brings it down (Gansner et al., Graph drawing by stress majorization, 2004, equation 8).
    """
    numbers = {host: number for number, host in enumerate(graph)}
    away = np.full((len(graph), len(graph)), np.inf)
    np.fill_diagonal(away, 0)
    for host, near in graph.items():
        away[numbers[host], [numbers[it] for it in near]] = 1
    for middle in range(len(graph)):
        away = np.minimum(away, away[:, middle, None] + away[middle])
    if np.isinf(away).any():
        return None
    weights = np.where(away > 0, 1 / np.maximum(away, 1) ** 2, 0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    turns = np.linspace(0, math.tau, len(graph), endpoint=False)
    places = np.column_stack([np.cos(turns), np.sin(turns)]) * len(graph) / math.tau
    for _ in range(_STEPS):
        apart = np.linalg.norm(places[:, None] - places, axis=2)
        pulls = -weights * away / np.where(apart > 0, apart, np.inf)
        before, places = places, inverse @ ((pulls - np.diag(pulls.sum(axis=1))) @ places)
        if np.abs(places - before).max() < _STILL:
            break
    places -= places.mean(axis=0)
    places /= np.abs(places).max()
    return [(float(x), float(y)) for x, y in places]


def _widest_gap(angles: Sequence[float]) -> float:
    """Return the middle of the widest gap between links, where there is room for a name."""
    ordered = sorted(angles)
    gaps = [
        ((after - before) % math.tau or math.tau, before)
        for before, after in zip(ordered, [*ordered[1:], ordered[0]], strict=True)
    ]
    width, before = max(gaps)
    return before + width / 2


def _groups(result: Result, colours: Sequence[Any] = ()) -> list[Group]:
    """Return groups of flows as the experiment declares them, and cross traffic."""
    network, experiment = result.network, result.experiment
    goodputs = METRICS["flow_goodput"](result)
    members: dict[int, list[int]] = {}
    for index, placed in enumerate(network.flows):
        members.setdefault(placed.group, []).append(index)
    groups: list[Group] = []
    for number, flows in enumerate(members.values()):
        first = network.flows[flows[0]]
        ways = [*dict.fromkeys(network.flows[index].traffic for index in flows)]
        layers = zip(*([it for _, it in network.tunnels_around(way)] for way in ways), strict=True)
        tunnels = tuple(frozenset[Step]().union(*of_ways) for of_ways in layers)
        count = f"{len(flows)} × " if len(flows) > 1 else ""
        inside = f" in {tunnel_name(network, first.traffic)}" if tunnels else ""
        rate = float(sum(goodputs[flows])) / 1e6
        loads = _together(ways)
        later = " (dashed: after a fail-over)" if 0 in loads.values() else ""
        label = f"{count}{first.flow.label}{inside}: {RATE.heading(f'{rate:.3g}')}{later}"
        colour = colours[number] if colours else _colour(number)
        groups.append(Group(label, colour, loads, tunnels))
    for source, placed in zip(experiment.cross_traffic, network.cross_traffic, strict=True):
        colour = _OF_UDP if colours else _colour(len(groups))
        label = f"UDP, {spaced(format_rate(source.rate))}"
        groups.append(Group(label, colour, placed.traffic.loads))
    return groups


def _together(ways: Iterable[Traffic]) -> dict[Step, float]:
    """Return the links that any of the flows crosses, and the largest share."""
    loads: dict[Step, float] = {}
    for way in ways:
        for step, share in way.loads.items():
            loads[step] = max(share, loads.get(step, 0.0))
    return loads


def _lanes(groups: Iterable[Group]) -> dict[Step, list[Group]]:
    """Return the groups that cross each direction of a link."""
    lanes: dict[Step, list[Group]] = {}
    for group in groups:
        for step in group.loads:
            lanes.setdefault(step, []).append(group)
    return lanes


def _draw_link(
    axes: Axes,
    places: dict[str, Place],
    link: ResolvedLink,
    result: Result,
    name: str,
    colours: Any,
) -> None:
    rates = link.path.rate, link.backward.rate  # None: not limited
    counted = result.links[name]
    for is_reverse, way in ((False, counted.forward), (True, counted.reverse)):
        is_limited = rates[is_reverse] is not None
        _arrow(
            axes, places, link.ends[::-1] if is_reverse else link.ends, _APART,
            color=colours(min(way.utilisation or 0.0, 1.0)) if is_limited else _NOT_LIMITED,
            linewidth=3.2 if is_limited else 1.2, head=7.0 if is_limited else 5.0, zorder=2,
        )  # fmt: skip


def _draw_lane(
    axes: Axes, places: dict[str, Place], ends: tuple[str, str], step: Step, lane: int,
    group: Group,
) -> None:  # fmt: skip
    ends = ends[::-1] if step.is_reverse else ends
    colour, aside = group.colour, _FIRST_LANE + lane * _LANE
    for number, steps in enumerate(group.tunnels):
        if step in steps:
            _arrow(
                axes, places, ends, aside, color=colour, linewidth=_BAND + number * _WIDER_BAND,
                alpha=0.25, head=0, zorder=1,
            )  # fmt: skip
    style = _LATER if group.loads[step] == 0 else "-"
    _arrow(
        axes, places, ends, aside, color=colour, linewidth=1.3, linestyle=style, head=7.0,
        zorder=1.5,
    )  # fmt: skip


def _arrow(
    axes: Axes, places: dict[str, Place], ends: tuple[str, str], aside: float, *, head: float,
    **style: Any,
) -> None:  # fmt: skip
    """Draw an arrow from a host to another, ``aside`` points to the right of the way there."""
    thin = _thin(len(places))
    aside, head = aside * thin, head * thin
    style["linewidth"] *= thin
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.transforms import ScaledTranslation

    start, end = (places[host] for host in ends)
    dx, dy = end.x - start.x, end.y - start.y
    length = math.hypot(dx, dy)
    inches = axes.figure.dpi_scale_trans
    shift = ScaledTranslation(aside * dy / length / 72, -aside * dx / length / 72, inches)
    axes.add_patch(
        FancyArrowPatch(
            (start.x, start.y), (end.x, end.y), transform=axes.transData + shift,
            arrowstyle="-|>" if head else "-", mutation_scale=head or 1, shrinkA=_HOST * 0.75,
            shrinkB=_HOST * 0.75, joinstyle="miter", capstyle="butt", clip_on=False, **style,
        )
    )  # fmt: skip


def _thin(hosts: int) -> float:
    """Return the factor by which lines are thinner if there are many hosts."""
    return min(1.0, max(0.35, math.pow(_MOST_WIDE / hosts, 1.2)))


def _colour(number: int) -> str:
    return str(category_style(number + 2)["color"]) if number < _MOST_GROUPS else _OTHER


def _draw_hosts(axes: Axes, places: dict[str, Place], topology: Topology, aside: float) -> None:
    from matplotlib.patheffects import withStroke

    count = len(topology.hosts)
    most = _MOST_NAMES if _inches(places) == _WIDTH else _MOST_NAMES_OF_LONG
    size = _HOST if count <= most else 0.6 * _HOST
    halo = withStroke(linewidth=2.5, foreground="white")  # a name may lie on a lane
    named = set(_named(list(topology.hosts), most))
    for host, place in places.items():
        axes.plot(
            place.x, place.y, marker="o", markersize=size, markerfacecolor="white",
            markeredgecolor="black", markeredgewidth=1.1, zorder=4, clip_on=False,
        )  # fmt: skip
        if host in named:
            x, y = place.side
            far = aside + 2 if place.is_beside_lanes else 9
            axes.annotate(
                host, (place.x, place.y), (x * 9, y * far), textcoords="offset points",
                fontsize=9 if count <= _MOST_LARGE + 1 else 8,
                ha="center" if abs(x) < 0.4 else "left" if x > 0 else "right",
                va="center" if abs(y) < 0.5 else "bottom" if y > 0 else "top",
                zorder=7, annotation_clip=False, path_effects=[halo],
            )  # fmt: skip


def _named(hosts: list[str], most: int) -> Iterator[str]:
    """Yield the hosts whose names fit: of many, the first and last of each kind."""
    if len(hosts) <= most:
        yield from hosts
        return
    kinds: dict[str, list[str]] = {}
    for host in hosts:
        kinds.setdefault(host.rstrip("0123456789"), []).append(host)
    for members in kinds.values():
        yield members[0]
        yield members[-1]


def _name_links(axes: Axes, places: dict[str, Place], result: Result) -> None:
    """Label the links: once if all are equal, otherwise each one, if there is room."""
    texts, alike = _link_texts(places, result)
    links = result.network.topology.links
    if len(alike) == 1 and len(texts) > 1:
        (one, other, rtt), *_ = alike
        if one == other:
            text = f"each{'' if len(texts) == len(links) else ' coloured'} link: "
            axes.set_title(f"{text}{_rate(one)}, RTT {spaced(format_time(rtt))}")
            return
    if _inches(places) * _high(places) < _LEAST_FOR_LINK * len(texts):
        axes.set_title(f"{len(texts)} links of {len(alike)} kinds")
        return
    size = 9.0 if len(texts) <= _MOST_LARGE else 7.5
    # In a row there is room above links, and none on short ones.
    is_row = _is_row(places)
    above = (0.0, _above(result)) if is_row else (0.0, 0.0)
    style: dict[str, Any] = {} if is_row else {"bbox": _BOX}
    if _is_listed(places, texts):
        lines = (f"{name}: {', '.join(text.splitlines())}" for name, text in texts.items())
        axes.set_title("\n".join(lines), fontsize=size, linespacing=1.3)
        texts = {name: name for name in texts}
    for name, text in texts.items():
        start, end = (places[host] for host in links[name].ends)
        busier, other = (
            len([it for it in links.values() if h in it.ends]) for h in links[name].ends
        )
        # Links of a star are far apart where its hosts are.
        part = 0.5 if is_row or busier == other else 0.6 if busier > other else 0.4
        axes.annotate(
            text, (start.x + part * (end.x - start.x), start.y + part * (end.y - start.y)), above,
            textcoords="offset points", fontsize=size, ha="center",
            va="bottom" if is_row else "center", zorder=6, annotation_clip=False, linespacing=1.15,
            **style,
        )  # fmt: skip


def _link_texts(
    places: dict[str, Place], result: Result
) -> tuple[dict[str, str], set[tuple[Any, ...]]]:
    """Return what each limited link is, and the different rates and RTTs."""
    texts: dict[str, str] = {}
    alike: set[tuple[Any, ...]] = set()
    for name, link in result.network.topology.links.items():
        rates = link.path.rate, link.backward.rate  # None: not limited
        if rates != (None, None):
            alike.add((*rates, link.path.rtt))
            texts[name] = _link_text(places, link, rates)
    return texts, alike


def _is_row(places: dict[str, Place]) -> bool:
    return len({place.y for place in places.values()}) == 1


def _is_listed(places: dict[str, Place], texts: dict[str, str]) -> bool:
    """Whether a list says what the links are, because there is no room beside them."""
    count = len(texts)
    return count in _LISTED and not _is_row(places) and len(set(texts.values())) > 1


def _link_text(
    places: dict[str, Place], link: ResolvedLink, rates: tuple[float | None, float | None]
) -> str:
    rtt = f"RTT {spaced(format_time(link.path.rtt))}"
    if rates[0] is not None and rates[0] == rates[1]:
        return f"{_rate(rates[0])}\n{rtt}"
    start, end = (places[host] for host in link.ends)
    if abs(end.x - start.x) >= abs(end.y - start.y):
        signs = "→←" if end.x >= start.x else "←→"
    else:
        signs = "↑↓" if end.y >= start.y else "↓↑"
    lines = (f"{sign} {_rate(rate)}" for sign, rate in zip(signs, rates, strict=True) if rate)
    return "\n".join((*sorted(lines, reverse=True), rtt))


def _rate(rate: float) -> str:
    scale = LARGE_RATE if rate >= 1e9 else RATE
    return scale.heading(f"{scale.factor * rate:g}")


def _extent(places: dict[str, Place], result: Result) -> tuple[float, float, float, float]:
    """Return left, right, lower and upper end of the axes, with room for lanes and names."""
    xs, ys = ([getattr(it, name) for it in places.values()] for name in "xy")
    width, height = max(xs) - min(xs), max(ys) - min(ys)
    inch = max(width / (_inches(places) - _AROUND), height / (_high(places) - 0.7))
    below = _aside(result) / 72 + 0.2 if height == 0 else 0.3
    above = _above(result) / 72 + _TEXT if height == 0 else 0.3
    side = _AROUND / 2 * inch
    return min(xs) - side, max(xs) + side, min(ys) - below * inch, max(ys) + above * inch


def _inches(places: dict[str, Place]) -> float:
    """Return the width of the network in inches."""
    xs = [place.x for place in places.values()]
    return min(_MOST_WIDTH, max(_WIDTH, _UNIT * (max(xs) - min(xs)) + _AROUND))


def _high(places: dict[str, Place]) -> float:
    """Return the height of the network in inches, if it is not flat."""
    ys = [place.y for place in places.values()]
    return min(_MOST_HEIGHT, max(_HEIGHT, _UNIT * (max(ys) - min(ys)) + _AROUND))


def _above(result: Result) -> float:
    """Return the points that lanes of flows need above hosts in a row: those to the left."""
    places, links = place_hosts(result), result.network.topology.links
    count = 0
    for step, groups in _lanes(_groups(result)[:_MOST_GROUPS]).items():
        one, other = (places[host].x for host in links[step.link].ends)
        if (one > other) != step.is_reverse:
            count = max(count, len(groups))
    return _FIRST_LANE + _LANE * count


def _aside(result: Result) -> float:
    """Return the points that lanes of flows need beside a link."""
    lanes = _lanes(_groups(result)[:_MOST_GROUPS])
    return _FIRST_LANE + _LANE * max((len(it) for it in lanes.values()), default=0)


def _fit(axes: Axes, places: dict[str, Place], result: Result) -> None:
    left, right, low, high = _extent(places, result)
    axes.set_aspect("equal")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_axis_off()
    axes.grid(visible=False)


def _legend(axes: Axes, groups: Sequence[Group]) -> None:
    """Explain below what the arrows next to links are."""
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    for group in groups[:_MOST_GROUPS]:
        line = Line2D([], [], color=group.colour, linewidth=1.5)
        bands = [
            Line2D([], [], color=group.colour, linewidth=_BAND + number * _WIDER_BAND, alpha=0.25)
            for number in range(len(group.tunnels))
        ]
        handles.append((*bands, line) if bands else line)
    labels = [group.label for group in groups[:_MOST_GROUPS]]
    if len(groups) > _MOST_GROUPS:
        handles.append(Line2D([], [], linestyle=""))
        labels.append(f"and {len(groups) - _MOST_GROUPS} more")
    axes.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.02), fontsize=9,
        handlelength=2.2, labelspacing=0.35, borderaxespad=0.2,
    )  # fmt: skip
