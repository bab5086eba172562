# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement tells of its path, in words."""

from __future__ import annotations

from tunnelcc.analysis.values import Estimate, Reason
from tunnelcc.words import say
from tunnelcc.words.quantities import KIBIBYTES, NONE, PERCENT, shown

#: What is estimated → its name.
NAMES = {
    "rate": "rate", "rtt": "RTT without queues", "buffer": "buffer", "loss": "random loss",
    "jitter": "jitter", "window": "receiver's window",
}  # fmt: skip
#: What limited flows → in words.
LIMITS = {
    "link": "the rate of the link",
    "receive_window": "the receiver's window",
    "send_buffer": "the sender's buffer",
    "application": "the application, or a window that the files do not tell",
    "random_loss": "random loss, which keeps the congestion window small",
    "queue": "the congestion window: the queue drops before the link is full",
    "congestion_window": "the congestion window",
    "pacing": "the rate that congestion control chose",
    "policer": "a policer",
    "codel": "CoDel, which keeps the queue short",
    "network": "the network",
}
#: What may drop packets instead of a full drop-tail queue → in words.
QUEUES = {"codel": "CoDel (as in FQ-CoDel and CAKE)", "policer": "a policer"}
#: How a value was found, or what would tell it.
REASONS = {
    "single_rtts": "least of single RTTs",
    "idle_pings_tell": "least of pings without load",
    "rtt_stays": "RTTs stay the same while windows change: no queue",
    "full_queue": "what arrived while a queue was there",
    "receivers_seconds": "the receiver's seconds would tell whether it stayed the same: "
    "`iperf3 --get-server-output`",
    "overload": "what arrived of more datagrams than the link carries",
    "rate_changes": "it changes while the link is full: other traffic, Wi-Fi, or another rate",
    "highest_rtts": "RTTs when a full queue dropped packets",
    "drops_differ": "packets were dropped at different queues, so not by a full one alone",
    "without_queue": "retransmissions while there was no queue",
    "retransmissions_in_all": "some of the retransmissions, or none: drops of queues count, too",
    "datagrams_lost": "datagrams that were lost",
    "overload_drops": "the drops are of a full link: `iperf3 -u` at half of its rate would tell",
    "not_overloaded": "the datagrams did not fill the link: `iperf3 -u -b` with more would tell",
    "files_differ": "the files contradict each other",
    "goodput": "at least the goodput",
    "limited": "the flow was limited by {limit}, which tells nothing of the link: several flows "
    "(iperf3 -P 8) or UDP (iperf3 -u) would",
    "plateau": "most seconds have the same goodput, and few have more",
    "windows_and_rtts": "congestion windows over RTTs, whose ratio stays while a queue varies",
    "bbr": "the goodput of BBR, which is the link's but for probes of the RTT",
    "filling_flow": "a flow that fills it would tell: CUBIC, with windows larger than rate × RTT",
    "retransmissions": "retransmissions; the queue's drops and needless ones count, too",
    "no_counts": "the file counts no retransmissions: iperf3, ss or a capture would",
    "no_reports": "the receiver's output, or iperf3's JSON, has it",
    "pings": "pings above the least, of both directions",
    "window_filled": "snd_wnd, which the flow filled",
    "window_offered": "snd_wnd, as the receiver offered",
    "simulations": "simulations{of}",
    "ping_before": "`ping` before the flow starts would tell",
    "pings_differ": "the pings without load are too few, or too far apart, to tell it better",
    "not_filled": "the flow did not fill it: CUBIC without random loss, or several flows, would",
    "longer": "a longer measurement would tell it better",
    "dropped_before": "{queue} dropped the packets, before any queue was full",
    "enough_drops": "the drops of {queue} are enough",
}
#: What does not fit together in the files → in words.
REMARKS = {
    "other_pings": "the pings are not of this path: no flow there has the RTTs of this one",
}
#: What a further measurement is → the command line, and what it needs.
MEASUREMENTS = {
    "ping": "ping -c 20 -i 0.2 SERVER > ping.txt    # while nothing else uses the path",
    "flows": "iperf3 -c SERVER{way} -P 8 -t 30 -J > flows.json",
    "cubic": "iperf3 -c SERVER{way} -C cubic -t 60 -J > cubic.json",
    "datagrams": "iperf3 -c SERVER{way} -u -b {rate} -t 20 --get-server-output -J > datagrams.json",
}
#: What does not fit of the answer's simulation → in words.
MISFITS = {"goodput": "the goodput", "rtt": "the RTT under load"}
OUTSIDE = (
    "This path is none with one bottleneck of a constant rate: the goodput of the full link "
    "changes. Other traffic, Wi-Fi or a rate that changes do so. No scenario is told."
)
WITHDRAWN = (
    "The answer is withdrawn: its simulation does not have {what} of the files. Something else is "
    "on this path (other traffic, Wi-Fi, several bottlenecks), or the files are of other flows."
)


def direction(is_down: bool, is_known: bool) -> str:
    """Return who sent the data."""
    if not is_known:
        return "an upload, as far as the files tell"
    return "a download: the server sent" if is_down else "an upload: the client sent"


def command(name: str, is_down: bool, megabits: float) -> str:
    """Return the command line of a further measurement."""
    return say(MEASUREMENTS[name], way=" -R" * is_down, rate=f"{megabits:.3g}M")


def misfit(names: tuple[str, ...]) -> str:
    """Return that an answer does not have what the files tell."""
    return say(WITHDRAWN, what=" and ".join(MISFITS[it] for it in names))


# Unit of an estimate → how it is shown, if not as in other tables.
_SCALES = {"1": PERCENT, "byte": KIBIBYTES}


def limit(name: str) -> str:
    """Return what limited flows in words."""
    return LIMITS.get(name, name)


def reason(why: Reason) -> str:
    """Return how a value was found, or what would tell it."""
    queue = QUEUES.get(why.queue, "")
    return say(
        REASONS[why.name], limit=limit(why.limit), queue=queue, of=f" of {queue}" * bool(queue)
    )


def written(it: Estimate) -> tuple[str, str]:
    """Return a value and its interval with units."""
    scale, (least, most) = _SCALES.get(it.quantity.unit) or shown(it.quantity.unit), it.interval
    value = scale.text(it.value)
    if most == float("inf"):
        return value, f"at least {scale.text(least)}"
    if least <= 0:
        return (value if it.value > 0 else NONE), f"below {scale.text(most)}"
    return value, NONE if least == most else scale.text(least, most)
