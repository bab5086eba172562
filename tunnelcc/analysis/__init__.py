# SPDX-License-Identifier: GPL-2.0-only
"""What a run means. It returns values; ``tunnelcc.words`` makes sentences of them."""
