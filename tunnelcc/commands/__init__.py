# SPDX-License-Identifier: GPL-2.0-only
"""Commands of the command line that need more than one call of the library."""
