# SPDX-License-Identifier: GPL-2.0-only
"""Files of other programs: write a run as flent or iperf3 does, and read what they measured."""
