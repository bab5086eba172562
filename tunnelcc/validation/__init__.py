# SPDX-License-Identifier: GPL-2.0-only
"""Compare simulations with measured Linux and with theory.

``suite`` collects the checks of all groups and runs them. The source tree has two more groups in
tests/validation. A check defines what is simulated (its cases), what is measured, what is expected
from which source, and how they are compared. Nothing here changes a simulation.
"""
