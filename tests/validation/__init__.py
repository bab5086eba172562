# SPDX-License-Identifier: GPL-2.0-only
"""The whole validation: that of the package, and what needs programs of the source tree."""
