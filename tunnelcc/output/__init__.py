# SPDX-License-Identifier: GPL-2.0-only
"""Progress and files of long commands."""
