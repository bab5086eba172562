# SPDX-License-Identifier: GPL-2.0-only
"""Hosts: their kernels and their CPU costs."""
