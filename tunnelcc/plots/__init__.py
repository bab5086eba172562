# SPDX-License-Identifier: GPL-2.0-only
"""Figures of runs and of sweeps, one file per kind.

Every function returns a matplotlib Figure; ``save()`` writes it as PNG, SVG or PDF.
"""

from tunnelcc.core import congestion_label as algorithm_label
from tunnelcc.plots.beside import plot_beside
from tunnelcc.plots.curves import curves
from tunnelcc.plots.differences import differences
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.maps import maps
from tunnelcc.plots.network import plot_network
from tunnelcc.plots.pairs import pairs
from tunnelcc.plots.run import plot_run
from tunnelcc.plots.scales import name_of_key, plain
from tunnelcc.plots.scatter import scatter
from tunnelcc.plots.series import series
from tunnelcc.plots.sliders import sliders
from tunnelcc.plots.standard import standard
from tunnelcc.plots.style import (
    ALGORITHMS,
    FORMATS,
    LARGE_TEXT,
    STYLE,
    algorithm_style,
    category_style,
    check_file,
    save,
)

__all__ = [
    "ALGORITHMS",
    "FORMATS",
    "LARGE_TEXT",
    "STYLE",
    "algorithm_label",
    "algorithm_style",
    "category_style",
    "check_file",
    "curves",
    "differences",
    "finish",
    "maps",
    "name_of_key",
    "pairs",
    "panels",
    "plain",
    "plot_beside",
    "plot_network",
    "plot_run",
    "save",
    "scatter",
    "series",
    "sliders",
    "standard",
]
