# SPDX-License-Identifier: GPL-2.0-only
"""From a measurement to the path that it was made on."""
