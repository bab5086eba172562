# SPDX-License-Identifier: GPL-2.0-only
"""The costs of this machine, measured, as a profile for hosts."""
