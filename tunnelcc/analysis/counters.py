# SPDX-License-Identifier: GPL-2.0-only
"""What a run counted of one flow, as shares of its time and of what it sent.

Each sender of a run, and each stream on a shared carrier, counts for how long it waited and why
(``models/transport/send-limits.h``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc.config.queue import Cake
from tunnelcc.metrics import limits
from tunnelcc.metrics.samples import mean, median
from tunnelcc.network.topology import Step

if TYPE_CHECKING:
    from tunnelcc.network.resolved import ResolvedNetwork
    from tunnelcc.network.traffic import ResolvedFlow

#: Above this utilisation, on average or for most of the time, a link or a program is full.
FULL = 0.95
#: A program that is busy for less than this did not limit: between bursts, it waited for more.
SATURATED = 0.9
# A flow with this share of all bytes has the link to itself.
_MOST = 0.9


def path_leg(names: Sequence[str]) -> int:
    """Return which of a flow's legs crosses the path: the carrier, or a plain flow's only one.

    Of a connection with several paths, that over the first one.
    """
    return names.index("carrier") if "carrier" in names else 0


def connection_of(leg: str) -> str:
    """Return the name of the connection of which a leg is all, or what goes over one path."""
    return leg.partition("-path")[0]


def is_carrier(leg: str) -> bool:
    """Whether a connection is between the ends of a tunnel."""
    return leg.startswith("carrier")


class Losses(NamedTuple):
    """Packets of a connection that were lost, by what lost them.

    ``is_recent``: some on the link, after the warm-up. ``is_unexplained``: none of these, but some.
    """

    random: int
    queue: int
    device: int
    socket: int
    is_recent: bool = False
    is_unexplained: bool = False


class Counters:
    """One flow, and its connections in the direction of its data."""

    def __init__(self, run: Any, index: int, placed: ResolvedFlow) -> None:
        """``run``: its Parts."""
        self.run, self.index, self.placed = run, index, placed
        self.network: ResolvedNetwork = run.network
        self.traffic = placed.traffic
        self.is_up = placed.direction == "up"
        self.tunnel = self.traffic.tunnel_keys
        self.entry: Any = self.tunnel.entry if self.tunnel else None
        #: The kind of the tunnel. Its class would import those of all layers.
        self.kind = self.entry.kind if self.entry is not None else ""
        #: The end of the tunnel at which the data enter, and that at which they leave it.
        self.sender = (self.traffic.tunnel or self.traffic).sender
        self.receiver = "server" if self.sender == "client" else "client"
        sides: dict[str, list[Any]] = {}
        for leg in run.legs[index]:
            sides.setdefault(connection_of(leg.name), []).append(leg)
        # Of those side by side, the one that carried most.
        self.legs = [max(it, key=lambda leg: leg.payload_bytes or 0) for it in sides.values()]
        channels = list(run.measured["flow_channels"][index])
        # In a tunnel of packets, the connection of the applications goes through the carrier.
        if not self.is_up and self.kind not in ("stream", "quic-datagram"):
            self.legs.reverse()
            channels.reverse()
        self.hops = [number for number, leg in enumerate(self.legs) if is_carrier(leg.name)]
        #: The connection of the application that sends.
        self.app = next((i for i, leg in enumerate(self.legs) if leg.name == "app"), 0)
        self._channels = dict(zip(self.hops, channels, strict=False))
        time, interval = run["time"], run.experiment.probe_interval
        begin, end = run["flow_start"][index], run["flow_completed_at"][index]
        #: Which samples are those after the warm-up.
        self.measured = time > run.experiment.warmup
        #: Those while the flow was active, as far as that is known: NaN is before no time.
        self.during = self.measured & ~(time <= begin) & ~(time >= end + interval)
        is_always = (self.during == self.measured).all() or not self.during.any()
        self._is_always_active = bool(is_always)

    # Time ----------------------------------------------------------------------------------------

    def shares(self, place: int) -> dict[str, float]:
        """Return the share of each limit in the time of a connection, or of the flow's stream."""
        shares = self._measured_shares(place)
        # The time of a program that is not always busy is that of what it waited for.
        waits = {it: share for it, share in shares.items() if it != "cpu" and share > 0}
        if not shares["cpu"] or not waits or self.most_busy()[0] >= SATURATED:
            return shares
        longest, share = limits.largest(waits)
        return {**shares, "cpu": 0.0, longest: share + shares["cpu"]}

    def _measured_shares(self, place: int) -> dict[str, float]:
        leg = self.legs[place]
        times = self._times(leg)
        own = limits.shares(self._until_end(times) if is_carrier(leg.name) else times)
        if place not in self._channels:
            return own
        times = dict(zip(limits.LIMITS, self._channels[place], strict=True))
        stream = limits.shares(self._until_end(times))
        # While the stream waited for the carrier, the carrier's limits held, as far as it had data.
        waits = stream.pop("send_buffer")
        # So they did while its window was full although the carrier had data: what fills the
        # window then waits in the carrier.
        full = stream.get("stream_window", 0.0) + stream.get("connection_window", 0.0)
        busy = max(full - own["application"], 0.0)
        for name in ("stream_window", "connection_window") if busy else ():
            stream[name] -= busy * stream[name] / full
        waits += busy
        active = sum(share for name, share in own.items() if name != "application")
        scale = waits / active if active else 0.0
        return {
            name: stream.get(name, 0.0) + (scale * own[name] if name != "application" else 0.0)
            for name in limits.LIMITS
        }

    def _times(self, leg: Any) -> dict[str, float]:
        """Return how long each limit of a connection held, s."""
        measured = self.run.measured
        return {name: float(measured[f"limit_{name}"][leg.place]) for name in limits.LIMITS}

    def _until_end(self, times: dict[str, float]) -> dict[str, float]:
        """Leave out for how long a carrier, or a stream in it, waited on when the flow was over."""
        app = self._times(self.legs[self.app])
        after = max(sum(times.values()) - sum(app.values()), 0.0)
        return {**times, "application": max(times["application"] - after, 0.0)}

    # Links ---------------------------------------------------------------------------------------

    @cached_property
    def step(self) -> Step:
        """The bottleneck in the direction of the flow's data, or its own if it is not there."""
        loads, name = self.traffic.loads, self.network.bottleneck.link
        crossed = (step for step in loads if step.link == name)
        return next(crossed, None) or self.network.narrowest(loads)

    def step_of(self, carrier: str) -> Step:
        """Return the bottleneck, if the hop of this carrier crosses it, or else the hop's own."""
        hop = self.traffic.below.hops[int(carrier.removeprefix("carrier") or 1) - 1]
        steps = hop.sent_by(self.sender)
        return self.step if self.step in steps else self.network.narrowest(dict.fromkeys(steps, 1))

    def shaper(self, step: Step) -> Cake | None:
        """Return CAKE, if its shaper is slower than the link."""
        way = self.network.direction(step)
        if not isinstance(way.queue, Cake) or way.queue.bandwidth is None:
            return None
        return way.queue if way.rate is not None and way.queue.bandwidth < way.rate else None

    def _shaped(self, step: Step) -> float:
        """The rate of a link divided by that of its shaper, as bytes of packets; 1: it has none."""
        link, shaper = self.run.way(step), self.shaper(step)
        if shaper is None or link.packets <= link.queue_drops:
            return 1.0
        packet = link.bytes_sent / (link.packets - link.queue_drops)
        rate = self.network.direction(step).rate or 0.0
        return float(rate / (shaper.bandwidth or inf) * shaper.shaped_bytes(packet) / packet)

    def utilisation(self, step: Step) -> float:
        """Return the mean utilisation of a link while the flow was active, after the warm-up."""
        link = self.run.way(step)
        if self._is_always_active:
            return float(self._shaped(step) * link.utilisation)
        return self._shaped(step) * mean(link.utilisation_series[self.during])

    def is_full(self, step: Step) -> bool:
        """Whether a link is full: the start of a flow, when it cannot be, may not decide."""
        used = self.utilisation(step)
        if not FULL / 2 <= used < FULL:
            return used >= FULL
        series, during = self.run.way(step).utilisation_series, self.during
        return bool(during.any() and self._shaped(step) * median(series[during]) >= FULL)

    @cached_property
    def is_alone(self) -> bool:
        """Whether nearly all that flows deliver is the flow's."""
        flows = self.run.flows
        all_bytes = sum(flow.delivered_bytes for flow in flows)
        return bool(flows[self.index].delivered_bytes >= _MOST * all_bytes)

    def passed(self, step: Step) -> float:
        """Return what passed a link and its policer, bit/s."""
        policer, link = self.network.direction(step).policer, self.run.way(step)
        is_behind = policer is not None and policer.position == "after" and link.packets > 0
        kept = 1 - (link.policer_drops or 0) / link.packets if is_behind else 1.0
        return float(8 * link.bytes_sent * kept / self.run.measured_time)

    # Losses --------------------------------------------------------------------------------------

    def losses(self, leg: Any, step: Step) -> Losses:
        """Return what dropped packets of a connection, ``step`` being the link that holds it back.

        What a carrier or FEC has repaired, it did not see. If it saw none after the warm-up, those
        before count: a window may need longer than that to grow again.
        """
        link, is_app = self.run.way(step), leg.name == "app"
        random, queue = link.random_losses, link.queue_drops + (link.marks or 0)
        before = int(link.queue_drops_series[-1:].sum())
        before = 0 if self.network.direction(step).loss else before  # which may be that
        if is_repaired := is_app and self.kind == "stream":
            random = queue = before = 0
        tunnel = self.tunnel_ways[0] if self.tunnel_ways else None
        if tunnel is not None and not is_repaired and (lost := tunnel.fec_lost) is not None:
            queue = min(link.queue_drops, lost)  # FEC repairs bursts of drops last
            random = lost - queue
        device, socket = 0, 0
        if tunnel is not None and is_app:
            device, socket = tunnel.device_drops, tunnel.socket_drops
        if random or queue or device or socket:
            return Losses(random, queue, device, socket, is_recent=bool(random or queue))
        if tunnel is not None and is_app:
            device = int(tunnel.device_drops_series[-1:].sum())
        is_unexplained = not device and self._has_unexplained_losses(leg)
        return Losses(0, before, device, 0, is_unexplained=is_unexplained)

    def _has_unexplained_losses(self, leg: Any) -> bool:
        """Whether a connection repaired losses that no count of the whole run explains.

        What policers and far sockets drop is counted after the warm-up only.
        """
        series = getattr(leg, "retransmits_series", None)
        if series is None or not series[-1:].sum() or getattr(self.tunnel, "uplinks", None):
            return False
        ways = ((self.network.direction(it), self.run.way(it)) for it in self.traffic.loads)
        return not any(
            way.loss
            or way.jitter_reorders
            or link.random_losses
            or link.queue_drops_series[-1:].sum()
            for way, link in ways
        )

    @cached_property
    def tunnel_ways(self) -> tuple[Any, ...]:
        """What was measured of a tunnel of packets: in the direction of the data, and back."""
        if self.placed.tunnel is None or (counts := self.run.tunnels[self.placed.tunnel]) is None:
            return ()
        first = self.network.tunnels[self.placed.tunnel].layer
        ways = counts.forward, counts.reverse
        return ways if first.sender == self.sender else ways[::-1]

    # Programs ------------------------------------------------------------------------------------

    @cached_property
    def relays(self) -> list[str]:
        """The hosts that run the tunnel, in order from the flow's client."""
        assert self.placed.tunnel is not None
        hosts, gateways = self.network.tunnels[self.placed.tunnel].hosts, self.traffic.gateways
        return hosts[::-1] if gateways is not None and gateways.is_turned else hosts

    def most_busy(self) -> tuple[float, str]:
        """Return the share and the host: of those that run the tunnel, or the flow, the most busy.

        Its share is of the time that its threads have, as far as there are cores for them.
        """
        time = self.run.measured_time
        if self._is_always_active:
            return self._busiest(lambda cpu, cores, _: cpu.cpu_time / (time * cores))
        return self._busiest(lambda cpu, cores, most: mean(self._use(cpu, cores, most)))

    def most_often_busy(self) -> tuple[float, str]:
        """Return the host whose program most often only works, and for which share of the time."""
        if not self.during.any():
            return 0.0, ""
        return self._busiest(lambda cpu, cores, most: mean(self._use(cpu, cores, most) >= FULL))

    def _use(self, cpu: Any, cores: float, most: int) -> Any:
        return cpu.cpu_series[self.during] * most / cores

    def _busiest(self, share: Callable[[Any, float, int], float]) -> tuple[float, str]:
        found = ((share(cpu, cores, most), host) for host, cpu, cores, most in self._programs)
        return max(found, default=(0.0, ""))

    @cached_property
    def _programs(self) -> list[tuple[str, Any, float, int]]:
        """The hosts that run the tunnel, or the flow, their CPUs, the cores for its threads, and
        all cores.
        """
        run, found = self.run, []
        ends = [self.placed.client, self.placed.server] if self.tunnel is None else self.relays
        for host in ends:
            if host in run.host_names:
                most = self.network.hosts[host].cores
                cores = min(self._threads(host), most)
                found.append((host, run.hosts[run.host_names.index(host)], cores, most))
        return found

    def _threads(self, host: str) -> float:
        """How many cores the program fills on a host if the thread with most work never rests."""
        if self.kind == "relay":
            return self.traffic.contents.streams
        tunnel, payload = self.traffic.packet_tunnel, self.traffic.contents.payload
        if tunnel is None or not self.tunnel_ways or self.entry.threads.threads == 1:
            return 1
        is_sender = (host == self.relays[0]) == self.is_up
        work = []  # of the thread that the data keep busy, and of that for the other direction
        for way, encapsulates in zip(self.tunnel_ways, (is_sender, not is_sender), strict=True):
            cost = tunnel.cost(payload, encapsulates=encapsulates)
            work.append(cost.per_call * way.inner_packets + cost.per_byte * way.inner_bytes)
        return sum(work) / max(work) if max(work) > 0 else 1
