# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc identify``: a tunnel's file from two command lines.

``questions`` runs the program in the Linux that has a virtual clock, ``wire`` reads what crossed
the path, ``framing`` finds the law of its bytes, ``entry`` writes the file, and ``compare``
simulates it beside the program on paths that the others did not use.
"""
