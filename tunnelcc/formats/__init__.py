# SPDX-License-Identifier: GPL-2.0-only
"""Files of other programs: a run as flent's and iperf3's, and what iperf3 and ss measured."""
