# SPDX-License-Identifier: GPL-2.0-only
"""How well simulations agree with measured Linux, with theory and with stock ns-3.

``suite`` collects the checks of all groups and runs them. A check says what is simulated (its
cases), what is measured in the results, what is expected, from which source, and how the two are
compared. Nothing in here changes how anything is simulated.
"""
