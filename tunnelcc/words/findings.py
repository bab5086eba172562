# SPDX-License-Identifier: GPL-2.0-only
"""What limits flows, confirmed by runs with one key relaxed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from tunnelcc.analysis.values import Confirmed, Finding, Worth
from tunnelcc.words import say
from tunnelcc.words.lists import joined
from tunnelcc.words.quantities import LONG_TIME, PERCENT, PLAIN, RATE, TIME, percent

#: The last part of a link's key → what it is.
LINKS = {
    "rate": "the link", "rate_steps": "the link", "trace": "the link", "loss": "random loss",
    "loss_steps": "random loss", "gilbert_elliott": "loss in bursts", "buffer": "the link's queue",
    "buffer_steps": "the link's queue", "queue": "the queue discipline",
    "bandwidth": "CAKE's shaper", "burst": "the policer's burst", "mtu": "the path's MTU",
    "jitter": "jitter", "reorder": "reordering", "reassembly_delay": "the delay of fragments",
}  # fmt: skip
#: Those of hosts, connections and flows.
OTHERS = {
    "tcp_wmem": "the send buffer", "tcp_rmem": "the receive buffer", "speed": "the CPU",
    "cores": "the CPU's cores", "memory": "the memory of sockets",
    "tcp_memory": "the memory of sockets", "app_cost": "the application's CPU time",
    "switch_cost": "the CPU time of context switches", "kernel": "the kernel's limit of buffers",
    "window_scaling": "the receive window, which is not scaled",
    "window": "the application's socket buffers", "stream_window": "the stream window",
    "first_stream_window": "the stream window at first",
    "connection_window": "the connection window",
    "first_connection_window": "the connection window at first",
    "queue": "the queue of the tunnel's device", "receive_buffer": "the tunnel's receive buffer",
    "send_buffer": "the tunnel's send buffer", "copy_buffer": "the relay's copy buffer",
    "session_buffer": "the session's receive buffer",
    "client_send_window": "KCP's send window", "server_send_window": "KCP's send window",
    "client_receive_window": "KCP's receive window",
    "server_receive_window": "KCP's receive window", "congestion": "KCP's congestion window",
}  # fmt: skip
_SET = "the rate that is set"
# A key that gains so much is told although slow start takes most of the time.
_TOLD_BESIDE = 0.2


def thing(key: str) -> str:
    """Return what a key is of: ``the link`` of ``path.rate``."""
    parts = key.split(".")
    table, last = parts[0], parts[-1]
    if last == "rate" and table in ("flows", "tunnel", "tunnels") and "chain" not in parts:
        return _SET if table != "flows" or parts[-2] == "cc" else "the application"
    if table in ("flows", "tunnel", "tunnels", "hosts", "tcp") and "chain" not in parts:
        return OTHERS.get(last, key)
    if parts[-2:] == ["policer", "rate"]:
        return "the policer"
    if table == "network" and parts[1] == "hosts":
        return OTHERS.get(last, key)
    is_back = "reverse" in parts or last.startswith("reverse_")
    name = LINKS.get(last.removeprefix("reverse_"), key)
    if table == "network" and name != key:
        name += f" {parts[2]}" if name == LINKS["rate"] else f" of {parts[2]}"
    return name + " in its other direction" * is_back


_SHOWN = {"goodput": RATE, "completion": LONG_TIME, "mos": PLAIN, "loss": PERCENT, "delay": TIME}
_METRICS = {"mos": "MOS", "loss": "loss", "delay": "p95 of the delay", "completion": "completion"}


def amount(it: Worth) -> str:
    """Return a worth as tables show it: ``18.8 Mbit/s``."""
    return _SHOWN[it.metric].text(it.shown) if isfinite(it.shown) else "never"


def gain(found: Confirmed) -> str:
    """Return what is gained: ``+ 38 %``; of datagrams and of flows that end from what to what."""
    before = found.before
    if before.metric == "goodput" and before.shown > 0:
        return relative(found.gain)
    name = f"{_METRICS[before.metric]} " if before.metric in _METRICS else ""
    return f"{name}{amount(before)} → {amount(found.after)}"


def relative(part: float) -> str:
    """Return a relative change: ``+ 38 %``, ``× 12``."""
    if part >= 9:
        return f"× {1 + part:.3g}" if part < 1e6 else "from nothing"
    return f"{100 * part:+.0f} %".replace("+", "+ ").replace("-", "− ")


def heading(it: Worth) -> str:
    """Return the heading of relative changes."""
    of = {"completion": "1 / time", "loss": "1 / loss", "delay": "1 / delay"}
    return of.get(it.metric, _METRICS.get(it.metric, it.metric))


def _groups(changes: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    """Yield each change, and how many more are like it."""
    seen: dict[Any, list[Any]] = {}
    for it in changes:
        seen.setdefault((it.key.rpartition(".")[2], it.before), []).append(it)
    is_many = len(changes) > 3
    for alike in seen.values():
        if is_many:
            yield alike[0], f" and {len(alike) - 1} like it" if len(alike) > 1 else ""
        else:
            yield from ((it, "") for it in alike)


def things(found: Confirmed) -> str:
    """Return what limits: ``the link``, ``the rate that is set and the link``."""
    return joined(dict.fromkeys(thing(it.key) for it, _ in _groups(found.changes)))


def given(found: Confirmed, *, has_values: bool = True) -> str:
    """Return the keys with their relaxed values: ``path.rate = 40Mbps``."""
    return joined(
        (f"{it.key} = {it.after}" if has_values else it.key) + more
        for it, more in _groups(found.changes)
    )


def limits_of(finding: Finding) -> list[Confirmed]:
    """Return what limits: what helps when there is more of it, and before datagrams less queue."""
    is_udp = finding.worth.metric in ("mos", "loss", "delay")
    return [it for it in finding.found if is_udp or not it.changes[0].lowers]


def sentences(subject: str, count: int, finding: Finding) -> Iterator[str]:
    """Yield what limits the flows of the ``subject``, so many, and what each limit is worth."""
    are = "are" if count > 1 else "is"
    limits = limits_of(finding)
    if finding.is_slow_start:
        yield say("{subject}: slow start, and no key.", subject=subject)
        limits = [it for it in limits if it.gain >= _TOLD_BESIDE]
    elif not limits and finding.lower is None:
        yield _nothing(subject, finding)
    if limits:
        first, *others = limits
        befores = joined(dict.fromkeys(str(it.before) for it, _ in _groups(first.changes)))
        yield say(
            "{subject} {are} limited by {things} ({before}){together}. With {given}: {gain}{also}.",
            subject=subject,
            are=are,
            things=things(first),
            before=befores,
            together=", which help only together" * (len({*_kinds(first)}) > 1),
            given=given(first),
            gain=gain(first),
            also="".join(f"; {given(it)}: {gain(it)}" for it in others[:2]),
        )
    if (lower := finding.lower) is not None:
        yield say(
            "{key} is higher than that of the link: with {after}, {gain}, and {resent} of the "
            "packets are sent again instead of {before}.",
            key=lower.changes[0].key,
            after=lower.changes[0].after,
            gain=gain(lower),
            resent=percent(lower.after.resent),
            before=percent(lower.before.resent),
        )


def _kinds(found: Confirmed) -> Iterator[str]:
    yield from (it.key for it, _ in _groups(found.changes))


def _nothing(subject: str, finding: Finding) -> str:
    tried = [*finding.gains]
    rest = f" and {len(tried) - 4} more" if len(tried) > 4 else ""
    return say(
        "{subject}: nothing tried helps ({tried}{rest}).",
        subject=subject,
        tried=", ".join(tried[:4]),
        rest=rest,
    )


def cell(finding: Finding) -> str:
    """Return what limits as a cell of a table has it: ``link, + 38 %``."""
    limits = limits_of(finding)
    if not limits and not finding.is_slow_start:
        return "–" if finding.lower is None else _bare(thing(finding.lower.changes[0].key))
    return ", ".join(filter(None, at_point([finding])))


def at_point(found: Sequence[Finding]) -> tuple[str, str]:
    """Return what limits most entries of ``flows`` at a point of a sweep, and its worth."""
    names = [_limit(it) for it in found]
    common = max(dict.fromkeys(names), key=names.count)
    first = found[names.index(common)]
    limits = limits_of(first)
    is_alone = bool(limits) and len(limits[0].changes) == 1 and not first.is_slow_start
    has_gain = is_alone and first.worth.metric == "goodput" and first.worth.shown > 0
    return common, relative(limits[0].gain) if has_gain else ""


def keys_of(found: Sequence[Finding]) -> tuple[str, ...]:
    """Return the keys of what limits any entry of ``flows`` most."""
    firsts = [limits_of(it)[:1] for it in found]
    return tuple({change.key: None for it in firsts for each in it for change in each.changes})


def _limit(finding: Finding) -> str:
    if finding.is_slow_start:
        return "slow start"
    limits = limits_of(finding)
    return _bare(things(limits[0])) if limits else "–"


def limited_by(name: str, worth: Sequence[str]) -> str:
    """Return a line's beginning: ``limited by the link (+ 97 %, + 99 %)``."""
    told = [*dict.fromkeys(filter(None, worth))]
    some = ", ".join(told[:4]) + ", …" * (len(told) > 4)
    return say("limited by {name}{some}", name=name, some=f" ({some})" if some else "")


def _bare(text: str) -> str:
    return text.removeprefix("the ")


def record(finding: Finding) -> dict[str, Any]:
    """Return what JSON has of it."""
    return {
        "entry": finding.entry,
        "metric": finding.worth.metric,
        "value": finding.worth.shown,
        "limits": [_record(it) for it in finding.found],
        "lower": finding.lower and _record(finding.lower),
        "slow_start": finding.is_slow_start,
        "tried": _numbers(finding.gains),
    }


def _record(found: Confirmed) -> dict[str, Any]:
    return {
        "keys": [
            {"key": it.key, "from": it.before, "to": it.after, "lowered": it.lowers}
            for it in found.changes
        ],
        "gain": found.gain,
        "value": found.after.shown,
        "seeds": found.seeds,
    }  # fmt: skip


def _numbers(gains: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{it:.4g}") for name, it in gains.items()}
