# SPDX-License-Identifier: GPL-2.0-only
"""Searches over the keys of a scenario, and what each key of a sweep explains."""
