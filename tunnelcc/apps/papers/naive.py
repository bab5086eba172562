# SPDX-License-Identifier: GPL-2.0-only
"""What arithmetic alone says of an experiment: a simulator must do better than that.

Fair shares of the rate after headers, limited by a window per RTT and by the response to random
loss: Mathis et al. 1997 for Reno and its like, RFC 9438, section 5.1, for CUBIC; others lose what
the path loses. A queue is half full, if it is a drop-tail queue that some flow fills. RTTs of
single flows, times of start and changes of the path are left out.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

import tunnelcc as tc
from tunnelcc.metrics import METRICS

#: They keep a queue short, or ignore losses.
_UNLIKE_RENO = ("bbr", "bbr3", "brutal", "unlimited", "vegas", "prague")
_MATHIS = math.sqrt(3 / 2)  # Mathis et al. 1997, an ACK for each segment
_RFC_9438 = (0.4 * 3.7 / 1.2) ** 0.25  # equation 5, C = 0.4 and beta = 0.7


class Naive:
    """An experiment's numbers by arithmetic, asked for as those of a ``tc.Result``."""

    def __init__(self, experiment: tc.Experiment) -> None:
        self.experiment = experiment
        self._sizes = tc.sizes(experiment)
        flows = [flow for flow in experiment.flows for _ in range(flow.count)]
        self._algorithms = [flow.cc.name for flow in flows]

    @cached_property
    def loss(self) -> float:
        """Part of the packets that the path loses at random."""
        path = self.experiment.path
        if (bursts := path.gilbert_elliott) is None:
            return path.loss
        bad = bursts.p / (bursts.p + bursts.r)
        return 1 - (1 - path.loss) * (bad * bursts.h + (1 - bad) * bursts.k)

    @cached_property
    def goodputs(self) -> list[float]:
        """Of each flow, bit/s."""
        path = self.experiment.path
        share = self._rate * self._payload / len(self._algorithms)
        window = 8 * self._sizes.window / path.rtt if path.rtt else math.inf
        return [min(share, window, self._response(cc)) for cc in self._algorithms]

    def metric(self, measure: Any, flow: int | None = None, **_: Any) -> float:
        """Return what ``tc.Result.metric`` measures. KeyError: arithmetic has no answer."""
        if not isinstance(measure, str):
            return float(measure(self))
        name = METRICS[measure].name
        if name == "goodput":
            return math.fsum(self.goodputs) if flow is None else self.goodputs[flow]
        if name == "jain":
            squares = math.fsum(rate**2 for rate in self.goodputs)
            return math.fsum(self.goodputs) ** 2 / (len(self.goodputs) * squares)
        known = {
            "utilisation": self._utilisation,
            "flow_rtt": self._rtt,
            "queue_delay_mean": self._queue,
            "retransmission_ratio": self._events,
            "congestion_event_rate": self._events,
        }
        return known[name]

    def __getitem__(self, name: str) -> Any:
        """Return the arrays of a result that a metric of one's own may read."""
        arrays = {
            "flow_goodput": np.array(self.goodputs),
            "flow_goodput_series": np.array(self.goodputs)[:, np.newaxis],
            "flow_cc": np.array(self._algorithms),
        }
        return arrays[name]

    def _response(self, algorithm: str) -> float:
        rtt = self.experiment.path.rtt
        if not self.loss:
            return math.inf
        if algorithm in _UNLIKE_RENO or not rtt:
            return self._rate * (1 - self.loss)
        window = _MATHIS / math.sqrt(self.loss)
        if algorithm == "cubic":
            window = max(window, _RFC_9438 * (rtt / self.loss) ** 0.75)
        return 8 * self._sizes.mss * window / rtt

    @property
    def _rate(self) -> float:
        return self.experiment.path.rate or math.inf

    @cached_property
    def _payload(self) -> float:
        """Part of the bytes on the link that is payload."""
        outer, framing = self._sizes.outer, self.experiment.path.framing_bytes
        return self._sizes.mss / (sum(outer) + len(outer) * framing)

    @cached_property
    def _utilisation(self) -> float:
        return math.fsum(self.goodputs) / self._payload / self._rate

    @cached_property
    def _rtt(self) -> float:
        return self.experiment.path.rtt + self._queue

    @cached_property
    def _events(self) -> float:
        """Losses per packet: at random, or as many as the rate of the first flow needs."""
        window = self.goodputs[0] * self._rtt / (8 * self._sizes.mss)
        return self.loss or min((_MATHIS / window) ** 2, 1.0)

    @cached_property
    def _queue(self) -> float:
        path = self.experiment.path
        is_filled = any(it not in _UNLIKE_RENO for it in self._algorithms)
        if not is_filled or self._utilisation < 0.99 or path.rate is None:
            return 0.0
        if path.queue.name != "drop-tail":
            return 0.0
        buffer = path.queue_bytes(path.buffer, path.rate, self._sizes.packet)
        return 8 * buffer / path.rate / 2
