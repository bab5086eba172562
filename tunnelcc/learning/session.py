# SPDX-License-Identifier: GPL-2.0-only
"""A run that waits, at the end of each interval of a flow, for what the flow is to do.

The run has a thread of its own, and one of the two threads always waits for the other. So results
are those of a run without threads.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from queue import SimpleQueue

from tunnelcc.errors import RunError
from tunnelcc.modules.own import CongestionControl, Interval, State
from tunnelcc.results.result import Result
from tunnelcc.running import runner
from tunnelcc.scenario import Experiment

#: Part of what a sender may have in flight of what its rate needs for a round trip: a margin, so
#: that the rate decides (BBR's cwnd_gain, draft-cardwell-iccrg-bbr-congestion-control-00).
_WINDOW_GAIN = 2.0
_LEAST_WINDOW = 4.0
_BITS = 8.0


@dataclass(frozen=True)
class Report:
    """An interval of a flow, in SI units; NaN: not known. ``pacing_rate``: that it was sent at.

    ``flow``: its position in the experiment.
    """

    flow: int
    now: float
    duration: float
    acked: float
    lost: float
    rate: float
    mean_rtt: float
    min_rtt: float
    pacing_rate: float


class _EndedError(Exception):
    """The run is not wanted any more."""


class Learner(CongestionControl):
    """A congestion control whose sending rate a session sets."""

    interval = 1.0  # s; each environment sets its own
    first_rate = 1e6
    flow = 0
    owns_window = True

    def on_start(self, state: State) -> None:
        """Send at the first rate."""
        self._set(state, self.first_rate)

    def on_interval(self, state: State, interval: Interval) -> None:
        """Report the interval to the session, and wait until it sets a rate."""
        session = _current
        assert session is not None
        report = Report(
            self.flow, state.now, interval.duration, interval.acked, interval.lost,
            interval.rate, interval.mean_rtt, state.min_rtt, state.pacing_rate,
        )  # fmt: skip
        session.reports.put(report)
        rate = session.rates.get()
        if rate is None:
            raise _EndedError
        self._set(state, rate)

    def _set(self, state: State, rate: float) -> None:
        state.pacing_rate = rate
        window = _WINDOW_GAIN * rate * state.srtt / _BITS / state.mss
        state.cwnd = max(window, _LEAST_WINDOW)


_current: Session | None = None


class Session:
    """A run with flows that wait, one at a time. Used by one thread."""

    def __init__(self, experiment: Experiment) -> None:
        self.reports: SimpleQueue[Report | Result | RunError] = SimpleQueue()
        self.rates: SimpleQueue[float | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(experiment,), daemon=True)
        self._is_waiting = False
        global _current
        if _current is not None:
            raise RunError(
                "another environment is in an episode, and a process has one simulation at a time: "
                "close that one, or give each a process (gymnasium.vector.AsyncVectorEnv)"
            )
        _current = self
        self._thread.start()

    def next(self) -> Report | Result:
        """Return the report of the next interval, or the result if the run is over.

        Raises RunError.
        """
        item = self.reports.get()
        self._is_waiting = isinstance(item, Report)
        if not self._is_waiting:
            self.close()
        if isinstance(item, RunError):
            raise item
        return item

    def send_at(self, rate: float) -> None:
        """Set the sending rate (bit/s) and let the run go on."""
        self._is_waiting = False
        self.rates.put(rate)

    def close(self) -> None:
        """End the run if it still goes on."""
        global _current
        if self._is_waiting:
            self.rates.put(None)
        self._is_waiting = False
        self._thread.join()
        if _current is self:
            _current = None

    def _run(self, experiment: Experiment) -> None:
        outcome: Result | RunError
        try:
            outcome = runner.run(experiment, progress=False)
        except RunError as error:
            outcome = error
        except Exception as error:  # whoever waits is to hear of it
            outcome = RunError(f"the simulation failed: {error}")
        with contextlib.suppress(Exception):
            self.reports.put(outcome)
