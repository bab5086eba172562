# SPDX-License-Identifier: GPL-2.0-only
"""Lines that theory gives for a metric over an axis, if its assumptions hold.

- Response functions: long flows that only random loss p limits, at their base RTT; 1 − p of what
  they send arrives.
- BBR under loss: an estimate from its pacing.
- Ware et al.: BBRv1 against loss-based flows whose queue never empties.

The lines leave out start-up, queueing delay and the hosts' windows, which the runs contain. There
are no lines for tunnels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.config import Path, derived
from tunnelcc.config.derived import flows
from tunnelcc.metrics import formulas

if TYPE_CHECKING:
    from tunnelcc.config import Experiment
    from tunnelcc.plots.selection import Selection

Values = NDArray[np.float64]
_GOODPUTS = ("goodput", "flow_goodput")
_SHARES = ("flow_share",)
# What formulas know of a path; a path that has anything else has no theory here.
_FORMULA_KEYS = (
    "rate", "rtt", "loss", "buffer", "loss_pattern", "loss_position", "reverse_rate",
    "reverse_buffer",
)  # fmt: skip
# Of flows and of TCP: what the formulas take from the scenario, so that an axis must not change it.
_FIXED_KEY = re.compile(
    r"flows\.(\d+\.)?(transport|rtt|bytes|rate|start|stop|data_start)|(.*\.)?cc\.\w+|tcp\.\w+"
)


@dataclass(frozen=True)
class TheoryLine:
    """``y`` (SI) over ``x`` (SI). ``algorithm``: the one whose colour it has, '' for none.

    ``dashes``: matplotlib's line style, a different one for each theory.
    """

    label: str
    x: Values
    y: Values
    algorithm: str = ""
    dashes: Any = "--"


def theory_lines(
    selection: Selection, x: str, y: str, span: Values, names: set[str]
) -> Iterator[TheoryLine]:
    """Yield the lines for metric ``y`` over axis ``x``, for the algorithms ``names``."""
    if "scenario" not in selection.results.attrs or not _is_plain(selection):
        return
    # The formulas have the algorithms' own constants.
    names = names - {flow.cc.name for flow in selection.base.flows if flow.cc.parameters}
    if y in _GOODPUTS and x in ("path.loss", "path.rtt", "flows.count", "path.rate"):
        yield from _goodputs(selection, x, y, span, names)
    elif y in _SHARES and x == "path.buffer" and {"bbr", "cubic"} <= names:
        yield from _ware(selection, span)


def capacity(selection: Selection, x: str, y: str, span: Values) -> TheoryLine | None:
    """Return the bottleneck's rate over the axis, for goodputs."""
    if y not in _GOODPUTS or "scenario" not in selection.results.attrs or _rate_varies(selection):
        return None
    if not _is_one_way(selection.base):
        return None
    rates = span if x == "path.rate" else np.full(span.shape, _number(selection, "path.rate"))
    per_flow = y == "flow_goodput"
    count = _count(selection, x, span) if per_flow else np.ones(span.shape)
    if np.isnan(count).any():
        return None
    label = "bottleneck rate / flows" if per_flow else "bottleneck rate"
    return TheoryLine(label, span, rates / count)


def _goodputs(
    selection: Selection, x: str, y: str, span: Values, names: set[str]
) -> Iterator[TheoryLine]:
    mss, header = derived.path_mss(selection.base), selection.base.tcp.header_bytes
    least = selection.base.tcp.min_rto  # on top of the RTT, as in Linux (transport/rtt-estimator.h)
    loss = span if x == "path.loss" else np.full(span.shape, _number(selection, "path.loss"))
    rtt = span if x == "path.rtt" else np.full(span.shape, _number(selection, "path.rtt"))
    rate = span if x == "path.rate" else np.full(span.shape, _number(selection, "path.rate"))
    flows = _count(selection, x, span)
    if np.isnan(loss + rtt + rate + flows).any() or not (loss > 0).all():
        return
    is_sum, is_alike = y == "goodput", _is_alike(selection)
    count = flows if is_sum else np.ones(span.shape)
    payload = rate * mss / (mss + header + selection.base.path.framing_bytes)
    if is_alike and not is_sum:
        payload = payload / flows  # equal flows share it

    def line(
        label: str, name: str, window: Callable[[float, float], float], dashes: Any = "--"
    ) -> TheoryLine:
        windows = np.array([window(p, t) for p, t in zip(loss, rtt, strict=True)])
        goodput = np.minimum(count * 8 * mss * windows * (1 - loss) / rtt, payload)
        return TheoryLine(label, span, goodput, name, dashes)

    if "cubic" in names:
        yield line("RFC 9438 (CUBIC)", "cubic", formulas.cubic_window)
    if "reno" in names:
        yield line("Mathis et al. (Reno)", "reno", lambda p, _: formulas.reno_window(p), "-.")
        yield line(
            "PFTK (Reno)", "reno", lambda p, t: formulas.pftk_window(p, t, t + least),
            (0, (1, 1)),
        )  # fmt: skip
    position = _loss_position(selection)
    if "bbr" in names and is_alike and position:
        is_before = position == "before"
        share = [formulas.bbr_share_of_capacity(p, is_before) for p in loss]
        label = "1 − p (BBR)" if is_before else "0.99 (1 − p)² (BBR)"
        yield TheoryLine(label, span, payload * np.array(share), "bbr", (0, (8, 3)))


def _ware(selection: Selection, span: Values) -> Iterator[TheoryLine]:
    base = selection.base
    if selection.axes["path.buffer"].attrs.get("units") != "bdp":
        return
    rate, rtt = _number(selection, "path.rate"), _number(selection, "path.rtt")
    bbr = sum(flow.cc.name == "bbr" for flow, _ in flows(base))
    if any(str(key).startswith("hosts.") for key in selection.results.coords):
        return
    # The model is of queues that never empty, and that loss-based flows fill.
    deep = span[(span > 1) & (span <= _fillable(base, rate, rtt))]
    if not bbr or np.isnan(rate + rtt) or not deep.size:
        return
    shares = [formulas.ware_share(depth, rate, rtt, bbr) / bbr for depth in deep]
    yield TheoryLine("Ware et al. (BBR, long run)", deep, np.array(shares), "bbr")


def _fillable(base: Experiment, rate: float, rtt: float) -> float:
    """Return the depth (BDP) of the queue that the windows of the loss-based flows fill.

    A writer that found its send buffer full continues when it is two thirds full.
    """
    sender, _ = derived.sides(base)
    window = min(2 / 3 * derived.send_buffer(sender), derived.receive_window(base))
    filling = sum(flow.cc.name != "bbr" for flow, _ in flows(base))
    return filling * window / (rate * rtt / 8) - 1


def _number(selection: Selection, key: str) -> float:
    """Return the key's only value, NaN if there are several."""
    values = selection.results.coords.get(key)
    if values is None:
        path = selection.base.path
        return float(getattr(path, key.partition(".")[2]))
    return float(values) if values.ndim == 0 else float("nan")


def _count(selection: Selection, x: str, span: Values) -> Values:
    """Return the number of flows over the axis; NaN if another axis changes it."""
    groups = len(selection.base.flows)
    if x == "flows.count":
        return span * groups
    values = selection.results.coords.get("flows.count")
    if values is None:
        count = float(sum(flow.count for flow in selection.base.flows))
    else:
        count = float(values) * groups if values.ndim == 0 else float("nan")
    return np.full(span.shape, count)


def _is_alike(selection: Selection) -> bool:
    """Return whether the flows of each run have one algorithm."""
    owners = selection.results["flow_cc"]
    return bool((owners == owners.isel(flow=0)).all())


def _loss_position(selection: Selection) -> str:
    """Return where packets are lost; '' if there are several positions."""
    values = selection.results.coords.get("path.loss_position")
    if values is None:
        return selection.base.path.loss_position
    return str(values.item()) if values.ndim == 0 else ""


def _is_one_way(base: Experiment) -> bool:
    """Return whether all flows share one link, one tunnel and one direction."""
    return base.network is None and all(
        flow.tunnel is flow.direction is None for flow in base.flows
    )


def _is_plain(selection: Selection) -> bool:
    """Return whether the formulas apply to the path, and flows send all the time."""
    base, axes = selection.base, selection.results.coords
    path, default = base.path.model_dump(), Path().model_dump()
    return (
        not _has_tunnel(selection)
        and _is_one_way(base)
        and all(path[key] == default[key] for key in path if key not in (*_FORMULA_KEYS, "framing"))
        and not any(
            str(key).startswith("path.") and str(key).partition(".")[2] not in _FORMULA_KEYS
            for key in axes
        )
        and not base.cross_traffic
        and all(flow.transport == "tcp" for flow in base.flows)
        and all(flow.rtt is flow.bytes is flow.rate is flow.stop is None for flow in base.flows)
        and all(max(it.start, it.data_start or 0.0) <= base.warmup for it in base.flows)
        and not any(_FIXED_KEY.fullmatch(str(key)) for key in axes)
    )


def _rate_varies(selection: Selection) -> bool:
    path, default = selection.base.path.model_dump(), Path().model_dump()
    return any(path[key] != default[key] for key in path if key.startswith("rate_")) or any(
        str(key).startswith("path.rate_") for key in selection.results.coords
    )


def _has_tunnel(selection: Selection) -> bool:
    for key in ("tunnel", "tunnel.name"):
        if key in selection.results.coords:
            names = np.atleast_1d(selection.results.coords[key].values)
            return any(str(name) != "none" for name in names)
    return selection.base.tunnel is not None
