# SPDX-License-Identifier: GPL-2.0-only
"""How well simulations agree with measured Linux and with theory.

``suite`` collects the checks of all groups and runs them; the source tree has two groups more, in
tests/validation. A check says what is simulated (its cases), what is measured in the results, what
is expected, from which source, and how the two are compared. Nothing in here changes how anything
is simulated.
"""
