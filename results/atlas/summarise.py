# SPDX-License-Identifier: GPL-2.0-only
"""Sum up the atlas: ``summarise.py SWEEP.csv`` writes cells.csv beside this file (`make atlas`).

A row for each cell: the mean goodput of its runs and how far they are apart, the queueing delay,
and what limited the first flow in most of them.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

CELL = ("tunnel", "flows.cc", "path.rtt (s)", "path.loss", "path.buffer (bdp)")
_LIMIT = "flow_limited_by.0"


def summarise(sweep: Path) -> list[dict[str, str]]:
    """Return a row for each cell of a sweep's CSV."""
    runs = defaultdict(list)
    with sweep.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            runs[tuple(row[key] for key in CELL)].append(row)
    rows = []
    for cell, found in runs.items():
        goodputs = [float(it["goodput (bit/s)"]) / 1e6 for it in found]
        delays = [float(it["queue_delay_p95 (s)"]) for it in found]
        limit = Counter(it[_LIMIT] for it in found).most_common(1)[0][0]
        rows.append(dict(zip(CELL, cell, strict=True)) | {
            "goodput (Mbit/s)": f"{fmean(goodputs):.3f}",
            "apart (Mbit/s)": f"{max(goodputs) - min(goodputs):.3f}",
            "queueing delay, p95 (ms)": f"{1e3 * fmean(delays):.1f}",
            "limited by": limit,
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    made = summarise(Path(sys.argv[1]))
    with Path(__file__).with_name("cells.csv").open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, made[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
