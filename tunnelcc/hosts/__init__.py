# SPDX-License-Identifier: GPL-2.0-only
"""Hosts: what their kernels do, and what their CPUs spend."""
