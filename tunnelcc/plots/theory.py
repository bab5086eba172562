# SPDX-License-Identifier: GPL-2.0-only
"""Lines that theory gives for a metric over an axis, if its assumptions hold.

- Response functions: long flows that only random loss p limits, at their base RTT; 1 − p of what
  they send arrives.
- BBR under loss: an estimate from its pacing.
- Ware et al.: BBRv1 against loss-based flows whose queue never empties.

The lines leave out start-up, queueing delay and the hosts' windows, which the runs contain. There
are no lines for tunnels, for traffic in both directions, and where what a formula takes as given
differs between the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.config import Path
from tunnelcc.errors import ConfigError
from tunnelcc.metrics import formulas

if TYPE_CHECKING:
    from tunnelcc.config import Flow
    from tunnelcc.network.traffic import Traffic
    from tunnelcc.plots.selection import Selection
    from tunnelcc.scenario import Experiment

Values = NDArray[np.float64]
_GOODPUTS = ("goodput", "flow_goodput")
_SHARES = ("flow_share",)
# What formulas know of a path; a path that has anything else has no theory here.
_FORMULA_KEYS = (
    "rate", "rtt", "loss", "buffer", "loss_pattern", "loss_position", "reverse_rate",
    "reverse_buffer", "framing",
)  # fmt: skip


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


def experiments(selection: Selection, x: str, y: str) -> list[Experiment]:
    """Return the experiments that theory lines for metric ``y`` over axis ``x`` describe.

    These are the experiments of the figure, each at one value of ``x``; none if they are not known,
    or if the metric has no lines.
    """
    has_lines = y in _GOODPUTS or (y in _SHARES and x == "path.buffer")
    if not has_lines or "scenario" not in selection.results.attrs:
        return []
    try:
        return selection.experiments(x)
    except ConfigError:
        return []


def theory_lines(
    drawn: Sequence[Experiment], x: str, y: str, span: Values, names: set[str]
) -> Iterator[TheoryLine]:
    """Yield the lines for metric ``y`` over axis ``x``, for the algorithms ``names``."""
    is_goodput = y in _GOODPUTS and (x in ("path.loss", "path.rtt", "path.rate") or _is_count(x))
    is_share = y in _SHARES and {"bbr", "cubic"} <= names
    if not (is_goodput or is_share) or not drawn or not all(map(_is_plain, drawn)):
        return
    # The formulas have the algorithms' own constants.
    names = names - {flow.cc.name for it in drawn for flow in it.flows if flow.cc.parameters}
    yield from _goodputs(drawn, x, y, span, names) if is_goodput else _ware(drawn, span)


def capacity(drawn: Sequence[Experiment], x: str, y: str, span: Values) -> TheoryLine | None:
    """Return the bottleneck's rate over the axis, for goodputs."""
    if y not in _GOODPUTS or not drawn:
        return None
    if any(_rate_varies(it.path) or not _is_one_way(it) for it in drawn):
        return None
    per_flow = y == "flow_goodput"
    rates = _path_numbers(drawn, x, "rate", span)
    count = _count(drawn, x, span) if per_flow else np.ones(span.shape)
    if np.isnan(rates + count).any():
        return None
    label = "bottleneck rate / flows" if per_flow else "bottleneck rate"
    return TheoryLine(label, span, rates / count)


def _goodputs(
    drawn: Sequence[Experiment], x: str, y: str, span: Values, names: set[str]
) -> Iterator[TheoryLine]:
    loss, rtt, rate = (_path_numbers(drawn, x, name, span) for name in ("loss", "rtt", "rate"))
    mss, framed, least = (
        _only(drawn, of)
        for of in (
            lambda it: _traffic(it).links.mss,
            lambda it: (
                _traffic(it).links.mss + it.tcp.header_bytes(it.path.ip) + it.path.framing_bytes
            ),
            lambda it: it.tcp.min_rto,  # on top of the RTT, as in Linux (transport/rtt-estimator.h)
        )
    )
    flows = _count(drawn, x, span)
    if np.isnan(loss + rtt + rate + flows + mss + framed + least).any() or not (loss > 0).all():
        return
    is_sum = y == "goodput"
    is_alike = all(len({flow.cc.name for flow in it.flows}) == 1 for it in drawn)
    count = flows if is_sum else np.ones(span.shape)
    payload = rate * mss / framed
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
    positions = {it.path.loss_position for it in drawn}
    if "bbr" in names and is_alike and len(positions) == 1:
        is_before = positions == {"before"}
        share = [formulas.bbr_share_of_capacity(p, is_before) for p in loss]
        label = "1 − p (BBR)" if is_before else "0.99 (1 − p)² (BBR)"
        yield TheoryLine(label, span, payload * np.array(share), "bbr", (0, (8, 3)))


def _ware(drawn: Sequence[Experiment], span: Values) -> Iterator[TheoryLine]:
    if any(it.path.buffer.bdp is None for it in drawn):
        return
    rate, rtt, bbr, fillable = (
        _only(drawn, of)
        for of in (
            lambda it: it.path.rate,
            lambda it: it.path.rtt,
            lambda it: sum(flow.count for flow in it.flows if flow.cc.name == "bbr"),
            _fillable,
        )
    )
    # The model is of queues that never empty, and that loss-based flows fill.
    deep = span[(span > 1) & (span <= fillable)]
    if not bbr or np.isnan(rate + rtt + bbr) or not deep.size:
        return
    shares = [formulas.ware_share(depth, rate, rtt, round(bbr)) / bbr for depth in deep]
    yield TheoryLine("Ware et al. (BBR, long run)", deep, np.array(shares), "bbr")


def _fillable(experiment: Experiment) -> float:
    """Return the depth (BDP) of the queue that the windows of the loss-based flows fill.

    A writer that found its send buffer full continues when it is two thirds full.
    """
    first = _traffic(experiment).transport
    window = min(2 / 3 * first.sending.tcp_wmem, first.receive_window)
    filling = sum(flow.count for flow in experiment.flows if flow.cc.name != "bbr")
    return filling * window / (experiment.path.rate * experiment.path.rtt / 8) - 1


def _traffic(experiment: Experiment) -> Traffic:
    return experiment.resolved.first


def _only(drawn: Sequence[Experiment], of: Callable[[Experiment], float]) -> float:
    """Return a number that all experiments have in common, NaN if they differ in it."""
    values = {of(it) for it in drawn}
    return float(values.pop()) if len(values) == 1 else float("nan")


def _path_numbers(drawn: Sequence[Experiment], x: str, name: str, span: Values) -> Values:
    """Return a number of the path over the axis; NaN if another axis changes it."""
    if x == f"path.{name}":
        return span
    return np.full(span.shape, _only(drawn, lambda it: getattr(it.path, name)))


def _is_count(key: str) -> bool:
    return key.startswith("flows.") and key.endswith(".count")


def _count(drawn: Sequence[Experiment], x: str, span: Values) -> Values:
    """Return the number of flows over the axis; NaN if another axis changes it."""

    def changed(experiment: Experiment) -> list[Flow]:
        entries = enumerate(experiment.flows)
        return [flow for index, flow in entries if x in ("flows.count", f"flows.{index}.count")]

    def other(experiment: Experiment) -> int:
        return sum(it.count for it in experiment.flows) - sum(
            it.count for it in changed(experiment)
        )

    return _only(drawn, other) + _only(drawn, lambda it: len(changed(it))) * span


def _is_one_way(experiment: Experiment) -> bool:
    """Return whether all flows share one link, one tunnel and one direction."""
    return experiment.network is None and all(
        flow.tunnel is flow.direction is None for flow in experiment.flows
    )


def _is_plain(experiment: Experiment) -> bool:
    """Return whether the formulas apply to the path, and flows send all the time."""
    path, default, flows = experiment.path.model_dump(), Path().model_dump(), experiment.flows
    return (
        experiment.tunnel is None
        and _is_one_way(experiment)
        and all(path[key] == default[key] for key in path if key not in _FORMULA_KEYS)
        and not experiment.cross_traffic
        and all(flow.transport == "tcp" for flow in flows)
        and all(flow.rtt is flow.bytes is flow.rate is flow.stop is None for flow in flows)
        and all(flow.interarrival is None for flow in flows)
        and all(max(it.start, it.data_start or 0.0) <= experiment.warmup for it in flows)
    )


def _rate_varies(path: Path) -> bool:
    given, default = path.model_dump(), Path().model_dump()
    return any(given[key] != default[key] for key in given if key.startswith("rate_"))
