# SPDX-License-Identifier: GPL-2.0-only
"""What the commands of the command line do, beyond one call of the library."""
