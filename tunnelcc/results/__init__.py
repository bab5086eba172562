# SPDX-License-Identifier: GPL-2.0-only
"""The result of a run: measurements by part, what follows from them, totals."""
