# SPDX-License-Identifier: GPL-2.0-only
"""What decides a run beside its limits: programs that need much CPU, and links with a small MTU."""

from __future__ import annotations

from collections.abc import Iterable

from tunnelcc.analysis.busy import Busy, Machine
from tunnelcc.analysis.one_sided import OneSided
from tunnelcc.analysis.path_mtu import Change, Divided, Small
from tunnelcc.analysis.phases import Undrawn
from tunnelcc.schema.units import format_time
from tunnelcc.words import say
from tunnelcc.words.lists import flows, joined

_CPU = (
    "CPU{where}: {told}. Measured programs needed up to twice that, because the kernel's own work "
    "is not counted. Costs are those of {machines}; hosts.profile (`tunnelcc calibrate-host` makes "
    "one), hosts.speed and hosts.cores change them."
)
_DID = {
    "too_big": "dropped {count} packets of more than {mtu} bytes and {how}",
    "dropped": "dropped {count} fragments or packets that were to be fragmented",
    "fragmented": "fragmented {count} packets of more than {mtu} bytes",
}
_BEFORE = "lost packets of more than {it.mtu} bytes in the warm-up and told nobody (a black hole)"
_DIVIDED = (
    "path MTU: {it.tunnel} fragmented {it.fragmented} of {it.offered} packets to {it.end}, because "
    "they are larger than {it.mtu} bytes with its headers. This changes it: {it.key}, at most "
    "{it.most} here."
)
_ONE_SIDED = (
    "{it.key} = {it.queue} holds for data to {it.end}. Data to {it.other_end} wait in a drop-tail "
    "queue ({it.other_key} changes it)."
)
_PHASE = (
    "{key}: a packet takes {service}, {percent:.0f} % of the RTT, and flows that differ share the "
    "queue: who loses packets hangs on the exact RTT, of which the seed draws 1 %. Compare RTTs up "
    "to {service} longer."
)
_MTU = "path MTU: {link} {did}.{stalled}{keys}"


def cpu(found: Iterable[Busy], where: str = "") -> str:
    """Return a warning that the CPU decides, or may on another machine; "": it does not.

    ``where``: the runs that it is about, such as `` at 3 of 12 points``.
    """
    found = list(found)
    if not found:
        return ""
    machines = dict.fromkeys(joined(map(_machine, it.machines)) for it in found)
    return say(_CPU, where=where, told="; ".join(map(_use, found)), machines=", ".join(machines))


def _use(it: Busy) -> str:
    """For example: ``openvpn-udp on client uses 93 % of a core``."""
    programs = ", ".join(it.programs) + " with the applications" * it.has_apps
    used = "a core" if it.cores == 1 else f"{it.cores} cores"
    return f"{programs} on {it.host} uses {100 * it.share:.0f} % of {used}"


def _machine(it: Machine) -> str:
    if it.tunnel:
        return f"the machine on which {it.tunnel} was measured"
    return f"the profile {it.profile}" + (f" ({it.processor})" if it.processor else "")


def mtu(it: Small) -> str:
    """Say what a link with a smaller MTU did, and which keys change it."""
    how = "told their senders" if it.is_told else "told nobody (a black hole)"
    counts = ((name, getattr(it, name)) for name in _DID)
    did = [_DID[name].format(count=count, mtu=it.mtu, how=how) for name, count in counts if count]
    if it.is_before:
        did = [_BEFORE.format(it=it)]
    stalled = f" {flows(it.stalled)} delivered nothing." if it.stalled else ""
    keys = f" These change it: {'; '.join(map(_change, it.keys))}." if it.keys else ""
    return say(_MTU, link=it.link, did=", and ".join(did), stalled=stalled, keys=keys)


def divided(it: Divided) -> str:
    """Say what the end of a tunnel fragmented, and what would fit."""
    return say(_DIVIDED, it=it)


def one_sided(it: OneSided) -> str:
    """Say that a queue discipline holds for one direction, and what changes the other."""
    return say(_ONE_SIDED, it=it)


def _change(it: Change) -> str:
    if isinstance(it.values[0], int):
        return f"{it.key}, at most {it.values[0]} here (or tunnel.mss)"
    return f"{it.key} = {' or '.join(map(str, it.values))}"


def phase(it: Undrawn) -> str:
    """Say that results hang on the exact RTT of a slow link."""
    return say(
        _PHASE, key=it.key, service=format_time(it.service), percent=100 * it.service / it.rtt
    )
