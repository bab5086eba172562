# SPDX-License-Identifier: GPL-2.0-only
"""The words of what an analysis returns: no other room makes or reads sentences of values.

``say()`` makes each of them. Nothing else compares, splits or edits what it returns.
"""

from __future__ import annotations

from typing import Any


def say(template: str, **parts: Any) -> str:
    """Return the sentence of a template, such as ``{count} flows``."""
    return template.format(**parts)
