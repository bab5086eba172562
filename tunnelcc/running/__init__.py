# SPDX-License-Identifier: GPL-2.0-only
"""Run one experiment, or many in parallel, and collect their results."""
