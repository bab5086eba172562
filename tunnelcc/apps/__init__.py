# SPDX-License-Identifier: GPL-2.0-only
"""Uses of the simulator, one room each. They import only what the package offers to everybody."""
