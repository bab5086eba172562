# SPDX-License-Identifier: GPL-2.0-only
"""Lines that theory gives for a metric over an axis, where its assumptions hold.

Response functions: long flows that only random loss limits, at their base RTT. BBR under loss: an
estimate that follows from its pacing. Ware et al.: BBRv1 against loss-based flows whose queue never
empties. What a scenario adds (start-up, queueing delay, windows of hosts) is in the runs and not in
the lines; through a tunnel none are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tunnelcc import formulas
from tunnelcc.derived import flows

if TYPE_CHECKING:
    from tunnelcc.config import Experiment
    from tunnelcc.plots.sweep import Sweep

Values = NDArray[np.float64]
_GOODPUTS = ("goodput", "flow_goodput")
_SHARES = ("flow_share",)


@dataclass(frozen=True)
class TheoryLine:
    """``y`` (SI) over ``x`` (SI); ``algorithm`` is whose colour it has, '' for none."""

    label: str
    x: Values
    y: Values
    algorithm: str = ""


def theory_lines(
    sweep: Sweep, x: str, y: str, span: Values, names: set[str]
) -> Iterator[TheoryLine]:
    """Yield the lines for metric ``y`` over axis ``x``, of the algorithms ``names``."""
    if "scenario" not in sweep.results.attrs or _has_tunnel(sweep):
        return
    if y in _GOODPUTS and x in ("path.loss", "path.rtt", "flows.count", "path.rate"):
        yield from _goodputs(sweep, x, y, span, names)
    elif y in _SHARES and x == "path.buffer" and {"bbr", "cubic"} <= names:
        yield from _ware(sweep, span)


def capacity(sweep: Sweep, x: str, y: str, span: Values) -> TheoryLine | None:
    """Return the bottleneck's rate over the axis, for goodputs."""
    if y not in _GOODPUTS or "scenario" not in sweep.results.attrs:
        return None
    rates = span if x == "path.rate" else np.full(span.shape, _number(sweep, "path.rate"))
    per_flow = y == "flow_goodput"
    count = _count(sweep, x, span) if per_flow else 1
    label = "bottleneck rate / flows" if per_flow else "bottleneck rate"
    return TheoryLine(label, span, rates / count)


def _goodputs(sweep: Sweep, x: str, y: str, span: Values, names: set[str]) -> Iterator[TheoryLine]:
    tcp = sweep.base.tcp
    loss = span if x == "path.loss" else np.full(span.shape, _number(sweep, "path.loss"))
    rtt = span if x == "path.rtt" else np.full(span.shape, _number(sweep, "path.rtt"))
    rate = span if x == "path.rate" else np.full(span.shape, _number(sweep, "path.rate"))
    if np.isnan(loss + rtt + rate).any() or not (loss > 0).all():
        return
    count = _count(sweep, x, span) if y == "goodput" else np.ones(span.shape)
    payload = rate * tcp.mss / (tcp.mss + tcp.header_bytes)

    def line(label: str, name: str, window: Callable[[float, float], float]) -> TheoryLine:
        windows = np.array([window(p, t) for p, t in zip(loss, rtt, strict=True)])
        goodput = np.minimum(count * 8 * tcp.mss * windows * (1 - loss) / rtt, payload)
        return TheoryLine(label, span, goodput, name)

    if "cubic" in names:
        yield line("RFC 9438 (CUBIC)", "cubic", formulas.cubic_window)
    if "reno" in names:
        yield line("Mathis et al. (Reno)", "reno", lambda p, _: formulas.reno_window(p))
        yield line(
            "PFTK (Reno)", "reno", lambda p, t: formulas.pftk_window(p, t, max(t, tcp.min_rto))
        )
    if "bbr" in names:
        share = [
            formulas.bbr_share_of_capacity(p, sweep.base.path.loss_position == "before")
            for p in loss
        ]
        yield TheoryLine("0.99 (1 − p)² (BBR)", span, payload * np.array(share), "bbr")


def _ware(sweep: Sweep, span: Values) -> Iterator[TheoryLine]:
    base = sweep.base
    if sweep.axes["path.buffer"].attrs.get("units") != "bdp":
        return
    rate, rtt = _number(sweep, "path.rate"), _number(sweep, "path.rtt")
    bbr = sum(flow.cc.name == "bbr" for flow, _ in flows(base))
    deep = span[span > 1]  # the model is of queues that never empty
    if not bbr or np.isnan(rate + rtt) or not deep.size:
        return
    shares = [formulas.ware_share(depth, rate, rtt, bbr) / bbr for depth in deep]
    yield TheoryLine("Ware et al. (BBR, long run)", deep, np.array(shares), "bbr")


def _number(sweep: Sweep, key: str) -> float:
    """Return the key's only value, NaN if there are several."""
    values = sweep.results.coords.get(key)
    if values is None:
        path = sweep.base.path
        return float(getattr(path, key.partition(".")[2]))
    return float(values) if values.ndim == 0 else float("nan")


def _count(sweep: Sweep, x: str, span: Values) -> Values:
    if x == "flows.count":
        return span * len(sweep.base.flows)
    return np.full(span.shape, float(_flow_count(sweep.base)))


def _flow_count(base: Experiment) -> int:
    return sum(flow.count for flow in base.flows)


def _has_tunnel(sweep: Sweep) -> bool:
    names = sweep.results.coords.get("tunnel")
    if names is not None:
        return any(str(name) not in ("none", "") for name in np.atleast_1d(names.values))
    return sweep.base.tunnel is not None
