# SPDX-License-Identifier: GPL-2.0-only
"""The command line of a script that draws figures of sweeps."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc.plots.style import STYLE, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def main(
    figures: Mapping[str, Callable[[Any], Figure]],
    opener: Callable[[Path], Any],
    directory: Path,
    description: str,
) -> None:
    """Draw the figures named on the command line, or all, as SVG files in ``directory``.

    ``figures``: name → function that draws the figure from the result of ``opener`` for a store.
    """
    import matplotlib as mpl

    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(figures))
    parser.add_argument(
        "--store", type=Path, default=Path("runs"), help="directory of finished runs"
    )
    parser.add_argument("--output", type=Path, default=directory, help="directory for figures")
    options = parser.parse_args()
    for name in options.figures or figures:
        if name not in figures:
            parser.error(f"{name} is none of {', '.join(figures)}")
        with mpl.rc_context(STYLE):
            figure = figures[name](opener(options.store))
        save(figure, options.output / f"{name}.svg")
