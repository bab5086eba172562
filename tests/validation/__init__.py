# SPDX-License-Identifier: GPL-2.0-only
"""Compare simulations with measured Linux, measured programs, theory and stock ns-3.

A check defines what is simulated (its cases), what is measured, what is expected from which source,
and how they are compared. ``suite`` runs checks. `make validate` runs all of them.
"""
