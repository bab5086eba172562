# SPDX-License-Identifier: GPL-2.0-only
"""Time single operations in CPU time of the thread.

Each operation runs on a small and on a large packet, in many short batches; batches of what is
compared take turns. The fastest batch counts, because other activity of the machine only adds time.
The slope between the two sizes is the cost per byte. The cost per call excludes the same call doing
nothing, which removes most of Python's overhead; the overhead of its socket and file methods
remains.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

SMALL, LARGE = 128, 1408  # bytes

_BATCHES = 21
_BATCH = 2e6  # ns
CHUNK = 128  # packets that wait at most

#: Makes so many calls and returns the CPU time (ns) that they took.
Calls = Callable[[int], float]
#: Calls on packets of so many bytes.
Sized = Callable[[int], Calls]


@dataclass(frozen=True)
class Measurement:
    """The time of an operation, and how much the median batch exceeds the fastest."""

    per_call: float  # ns
    per_byte: float  # ns
    spread: float  # (median - least) / least, large packets
    means: str = ""  # of what library it is the time, and how much of it, where that is a choice


def repeated(call: Callable[[], object], prepare: Callable[[], object] | None = None) -> Calls:
    """Return a function that times ``call``; ``prepare`` runs before each 128 calls, untimed."""

    def run(count: int) -> float:
        taken = 0
        chunk = CHUNK if prepare else count
        for begin in range(0, count, chunk):
            if prepare:
                prepare()
            turns = range(min(chunk, count - begin))
            start = time.thread_time_ns()
            for _ in turns:
                call()
            taken += time.thread_time_ns() - start
        return float(taken)

    return run


def _nothing() -> Calls:
    text = b""
    return repeated(lambda: text.isalpha())


def measure(sized: Sized, nothing: Calls | None = None) -> Measurement:
    """Return what the calls of ``sized`` cost more than those of ``nothing`` (an empty method)."""
    base, small, large = _batches(nothing or _nothing(), sized(SMALL), sized(LARGE))
    per_byte = max(0.0, (min(large) - min(small)) / (LARGE - SMALL))
    per_call = max(0.0, min(small) - per_byte * SMALL - min(base))
    return Measurement(per_call, per_byte, _spread(large))


def measure_call(calls: Calls, nothing: Calls | None = None) -> Measurement:
    """Return the extra cost of ``calls``, which handle no bytes, over those of ``nothing``."""
    base, more = _batches(nothing or _nothing(), calls)
    return Measurement(max(0.0, min(more) - min(base)), 0.0, _spread(more))


def _batches(*compared: Calls) -> list[list[float]]:
    """Return the time (ns) of one call in each batch, for each of what is compared.

    They take turns, because a machine that is slow for a while must be slow for all of them.
    """
    counts = [_count(calls) for calls in compared]
    times: list[list[float]] = [[] for _ in compared]
    for _ in range(_BATCHES):
        for calls, count, taken in zip(compared, counts, times, strict=True):
            taken.append(calls(count) / count)
    return times


def _count(calls: Calls) -> int:
    """Return how many calls a batch has."""
    count = 1
    # One may be disturbed, and a batch of too few calls would time its own beginning and end.
    while (taken := min(calls(count) for _ in range(3))) < _BATCH / 4:
        count *= 2
    return max(1, round(count * _BATCH / taken))


def _spread(times: list[float]) -> float:
    return statistics.median(times) / min(times) - 1
