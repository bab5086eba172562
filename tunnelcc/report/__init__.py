# SPDX-License-Identifier: GPL-2.0-only
"""Output of commands, and the pages that they write."""
