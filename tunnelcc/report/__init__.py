# SPDX-License-Identifier: GPL-2.0-only
"""What commands print, and the pages that they write."""
