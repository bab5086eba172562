# SPDX-License-Identifier: GPL-2.0-only
"""What a cell of a notebook shows of an object: IPython asks its ``_repr_html_``."""

from __future__ import annotations

import importlib


def form(it: object) -> str:
    """Return the HTML of an experiment, a run, or a sweep's results.

    Rooms above draw it, so they are only imported when a cell asks.
    """
    text: str = importlib.import_module("tunnelcc.report.notebook").form(it)
    return text
