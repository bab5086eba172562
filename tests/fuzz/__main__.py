# SPDX-License-Identifier: GPL-2.0-only
"""Runs the fuzzers for a time, see README.md."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz import experiments, folders, inputs, kills, measurements, specs, steps, store

_FUZZERS: dict[str, Any] = {
    "experiments": experiments.Fuzzer,
    "folders": folders.Fuzzer,
    "inputs": inputs.Fuzzer,
    "measurements": measurements.Fuzzer,
    "specs": specs.Fuzzer,
    "steps": steps.Fuzzer,
    "store": store.Fuzzer,
    "kills": kills.Fuzzer,
}
_MOST_SECONDS = 1800  # for one case; other programs may have the cores


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=120, help="for all fuzzers together")
    parser.add_argument("--cases", type=int, help="of each fuzzer, at most; then for any time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=_FUZZERS, action="append")
    parser.add_argument("--case", type=int, help="only this one, of --only")
    parser.add_argument("--core", type=Path, help="the compiled module, of another build")
    given = parser.parse_args()
    names = given.only or list(_FUZZERS)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if given.core is not None:
        os.environ["TUNNELCC_CORE"] = str(given.core.resolve())
    seconds = given.seconds / len(names) if given.cases is None else math.inf
    numbers = range(given.cases) if given.cases is not None else itertools.count()
    if given.case is not None:
        seconds, numbers = math.inf, [given.case]
    finds = sum(_run(name, given.seed, numbers, seconds) for name in names)
    return 1 if finds else 0


def _run(name: str, seed: int, numbers: Iterable[int], seconds: float) -> int:
    """Return the number of finds."""
    counts: Counter[str] = Counter()
    finds = 0
    with tempfile.TemporaryDirectory() as directory:
        fuzzer = _FUZZERS[name](Path(directory))
        until = time.monotonic() + seconds
        for number in numbers:
            if time.monotonic() > until:
                break
            signal.alarm(_MOST_SECONDS)
            try:
                counts[fuzzer.attempt(random.Random(f"{seed} {name} {number}"))] += 1
            except KeyboardInterrupt:
                break
            except Exception:
                finds += 1
                traceback.print_exc()
                print(f"repeat: python -m tests.fuzz --seed {seed} --only {name} --case {number}\n")
            signal.alarm(0)
    listed = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
    print(f"{name}: {counts.total() + finds} cases, {finds} finds ({listed})", flush=True)
    return finds


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"it took more than {_MOST_SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
