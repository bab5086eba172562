# SPDX-License-Identifier: GPL-2.0-only
"""What a run counted of one flow, as shares of its time and of what it sent.

Each sender of a run, and each stream on a shared carrier, counts for how long it waited and why
(``models/transport/send-limits.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

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
    """Return which of a flow's legs crosses the path: the carrier, or a plain flow's only one."""
    return names.index("carrier") if "carrier" in names else 0


def is_carrier(leg: str) -> bool:
    """Whether a connection is between the ends of a tunnel."""
    return leg.startswith("carrier")


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
        self.legs = list(run.legs[index])
        channels = list(run.measured["flow_channels"][index])
        # In a tunnel of packets, the connection of the applications goes through the carrier.
        if not self.is_up and self.kind != "stream":
            self.legs.reverse()
            channels.reverse()
        self.hops = [number for number, leg in enumerate(self.legs) if is_carrier(leg.name)]
        #: The connection of the application that sends.
        self.app = next((i for i, leg in enumerate(self.legs) if leg.name == "app"), 0)
        self._channels = dict(zip(self.hops, channels, strict=False))

    # Time ----------------------------------------------------------------------------------------

    @cached_property
    def measured(self) -> Any:
        """Which samples are those after the warm-up."""
        return self.run["time"] > self.run.experiment.warmup

    @cached_property
    def during(self) -> Any:
        """Which of these are of the time in which the flow was active, as far as it is known."""
        time, interval = self.run["time"], self.run.experiment.probe_interval
        begin = self.run["flow_start"][self.index]
        end = self.run["flow_completed_at"][self.index]
        is_before = time <= begin  # no sample is before what is not a number
        return self.measured & ~is_before & ~(time >= end + interval)

    @cached_property
    def _is_always_active(self) -> bool:
        return bool((self.during == self.measured).all() or not self.during.any())

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

    def losses(self, leg: Any, step: Step) -> tuple[int, int]:
        """Return what a connection saw of a link's random losses, and of its drops and marks.

        What a carrier or FEC has repaired, it did not see.
        """
        link = self.run.way(step)
        if leg.name == "app" and self.kind == "stream":
            return 0, 0
        for way in self.tunnel_ways[:1]:
            if (lost := way.fec_lost) is not None:  # it repairs bursts of drops last
                dropped = min(link.queue_drops, lost)
                return lost - dropped, dropped
        return link.random_losses, link.queue_drops + (link.marks or 0)

    def has_lost_before(self, leg: Any, step: Step) -> bool:
        """Whether a connection saw drops of a link's queue, those of the warm-up included.

        A window may need longer than that to grow again.
        """
        is_repaired = leg.name == "app" and self.kind == "stream"
        return not is_repaired and self._drops_so_far(step) > 0

    def _drops_so_far(self, step: Step) -> int:
        return int(self.run.way(step).queue_drops_series[-1:].sum())

    def has_unexplained_losses(self, leg: Any) -> bool:
        """Whether a connection repaired losses that no count of the whole run explains.

        What policers and far sockets drop is counted after the warm-up only.
        """
        series = getattr(leg, "retransmits_series", None)
        if series is None or not series[-1:].sum() or getattr(self.tunnel, "uplinks", None):
            return False
        return not any(
            (way := self.network.direction(step)).loss
            or way.jitter_reorders
            or self.run.way(step).random_losses
            or self._drops_so_far(step)
            for step in self.traffic.loads
        )

    @cached_property
    def tunnel_ways(self) -> tuple[Any, ...]:
        """What was measured of a tunnel of packets: in the direction of the data, and back."""
        if self.placed.tunnel is None or (counts := self.run.tunnels[self.placed.tunnel]) is None:
            return ()
        first = self.network.tunnels[self.placed.tunnel].layer
        ways = counts.forward, counts.reverse
        return ways if first.sender == self.sender else ways[::-1]

    def tunnel_drops(self, step: Step) -> str:
        """Return ``socket`` or ``device``, if most losses are drops of that queue of the tunnel.

        ``step``: the link that holds the connection back.
        """
        if not self.tunnel_ways:
            return ""
        way = self.tunnel_ways[0]
        leg = self.legs[self.app]
        drops, others = way.device_drops, sum(self.losses(leg, step))
        is_socket = way.socket_drops > max(drops, others)
        if not (drops or others):  # a window may need longer than the warm-up to grow again
            drops = way.device_drops_series[-1:].sum()
            others = self._drops_so_far(step) if self.has_lost_before(leg, step) else 0
            of_path = self.network.direction(step).policer is not None or self.kind == "stream"
            is_socket |= not (drops or of_path) and self.has_unexplained_losses(leg)
        return "socket" if is_socket else "device" if drops > others else ""

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
        shares = [
            (cpu.cpu_time / (time * cores), host)
            if self._is_always_active
            else (mean(cpu.cpu_series[self.during] * most / cores), host)
            for host, cpu, cores, most in self._programs
        ]
        return max(shares, default=(0.0, ""))

    def most_often_busy(self) -> tuple[float, str]:
        """Return the host whose program most often only works, and for which share of the time."""
        if not self.during.any():
            return 0.0, ""
        shares = [
            (mean(cpu.cpu_series[self.during] * most / cores >= FULL), host)
            for host, cpu, cores, most in self._programs
        ]
        return max(shares, default=(0.0, ""))

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
