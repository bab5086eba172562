# SPDX-License-Identifier: GPL-2.0-only
"""Read a measurement's file of any supported program."""

from __future__ import annotations

import json
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats import iperf3, ss
from tunnelcc.formats.measurement import Measurement

#: An hour of iperf3 with 16 streams and 10 samples a second has 150 MB.
_MOST_BYTES = 2**28


def read(file: Path) -> Measurement:
    """Return the measurement in a file: iperf3's JSON (``iperf3 -J``) or a log of ``ss -ti``.

    Raises ConfigError.
    """
    try:
        text = _text_of(file)
    except (OSError, UnicodeDecodeError) as error:
        expected = "a text file that can be read"
        hint = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(Problem("--measured", str(file), expected, hint)) from None
    try:
        table = json.loads(text)
    except RecursionError:
        expected = "iperf3's JSON, whose tables are a few deep"
        hint = "its brackets are nested too deeply"
        raise ConfigError(Problem("--measured", str(file), expected, hint)) from None
    except ValueError:
        streams = ss.read(text)
    else:
        streams = iperf3.read(table)
    if not streams:
        expected = (
            "iperf3's JSON (iperf3 -J), or a log of repeated `date +%s.%N; ss -ti` with "
            "at least two samples of a sending connection"
        )
        raise ConfigError(Problem("--measured", str(file), expected))
    return Measurement(str(file), streams)


def _text_of(file: Path) -> str:
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        expected = f"a file of at most {_MOST_BYTES // 2**20} MiB"
        raise ConfigError(Problem("--measured", str(file), expected))
    return data.decode()
