# SPDX-License-Identifier: GPL-2.0-only
"""``python -m tunnelcc`` is the command ``tunnelcc``."""

from tunnelcc.cli import main

main()
