# SPDX-License-Identifier: GPL-2.0-only
"""The version of the package and of its models: recorded in every result."""

__version__ = "0.2.1"
