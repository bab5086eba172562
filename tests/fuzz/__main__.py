# SPDX-License-Identifier: GPL-2.0-only
"""Runs the fuzzers for a time, see README.md."""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz import inputs, kills, store

_FUZZERS: dict[str, Any] = {"inputs": inputs.Fuzzer, "store": store.Fuzzer, "kills": kills.Fuzzer}
_MOST_SECONDS = 300  # for one case; other programs may have the cores


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=120, help="for all fuzzers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=_FUZZERS, action="append")
    parser.add_argument("--case", type=int, help="only this one, of --only")
    given = parser.parse_args()
    names = given.only or list(_FUZZERS)
    signal.signal(signal.SIGALRM, _too_slow)
    finds = sum(_run(name, given.seed, given.seconds / len(names), given.case) for name in names)
    return 1 if finds else 0


def _run(name: str, seed: int, seconds: float, case: int | None) -> int:
    """Return the number of finds."""
    counts: Counter[str] = Counter()
    finds = 0
    with tempfile.TemporaryDirectory() as directory:
        fuzzer = _FUZZERS[name](Path(directory))
        until = time.monotonic() + seconds
        for number in itertools.count() if case is None else [case]:
            if case is None and time.monotonic() > until:
                break
            signal.alarm(_MOST_SECONDS)
            try:
                counts[fuzzer.attempt(random.Random(f"{seed} {name} {number}"))] += 1
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
