# SPDX-License-Identifier: GPL-2.0-only
"""The line of a file at which a run ended."""

from __future__ import annotations

import re
from pathlib import Path

from tunnelcc.modules import compiled, headers

_PLACE = re.compile(r" \[([0-9a-f]{32})\+(0x[0-9a-f]+)\]")


def explain(text: str) -> str:
    """Return an error of the compiled models with lines in place of addresses in files."""
    return _PLACE.sub(lambda match: _line(match[1], match[2]), text)


def _line(code: str, address: str) -> str:
    """Return ``, at tcp_x.c:12 in x_cong_avoid()``; nothing if that cannot be known."""
    import shutil
    import subprocess

    tool = shutil.which("addr2line")  # comes with every compiler that links
    if tool is None:
        return ""
    command = [tool, "-e", str(compiled.library(code)), "-C", "-f", "-i", address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        file, _, number = place.partition(" ")[0].rpartition(":")
        if number.isdecimal() and not file.startswith(str(headers.folder())):
            return f", at {Path(file).name}:{number} in {function.partition('(')[0]}()"
    return ""
