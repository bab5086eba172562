# SPDX-License-Identifier: GPL-2.0-only
"""A measurement's file, whichever program wrote it."""

from __future__ import annotations

import json
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats import iperf3, ss
from tunnelcc.formats.measurement import Measurement


def read(file: Path) -> Measurement:
    """Return what a file holds: iperf3's JSON (``iperf3 -J``) or a log of ``ss -ti``.

    Raises ConfigError.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        expected = "a file of text that can be read"
        hint = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(Problem("measured", str(file), expected, hint)) from None
    try:
        table = json.loads(text)
    except ValueError:
        streams = ss.read(text)
    else:
        streams = iperf3.read(table)
    if not streams:
        expected = (
            "iperf3's JSON (iperf3 -J), or a log of `date +%s.%N; ss -ti`, again and again, with "
            "two samples or more of a connection that sends"
        )
        raise ConfigError(Problem("measured", str(file), expected))
    return Measurement(str(file), streams)
