# SPDX-License-Identifier: GPL-2.0-only
"""What any long command does: show its progress, write its files."""
