# SPDX-License-Identifier: GPL-2.0-only
"""From a path to advice: which tunnel and congestion control serve a use best there."""
