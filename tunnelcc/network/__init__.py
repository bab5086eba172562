# SPDX-License-Identifier: GPL-2.0-only
"""What follows from the keys of an experiment: its hosts, links, tunnels and routes."""
