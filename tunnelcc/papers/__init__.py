# SPDX-License-Identifier: GPL-2.0-only
"""Published and simulated results side by side. A paper is a folder of data, see ``paper``."""

from __future__ import annotations

from tunnelcc.papers.page import write_index
from tunnelcc.papers.paper import find, names
from tunnelcc.papers.reproduce import calibrate, print_papers, reproduce

__all__ = ["calibrate", "find", "names", "print_papers", "reproduce", "write_index"]
