# SPDX-License-Identifier: GPL-2.0-only
"""One experiment simulated, or many in parallel, and what they measured."""
