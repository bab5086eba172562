# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc new``: files to begin with."""

from __future__ import annotations

import re
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.modules import headers
from tunnelcc.output import files

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def congestion_control(name: str, folder: Path, *, python: bool) -> str:
    """Write an algorithm, a test and a scenario. Return what can be done with them.

    Raises ConfigError if one of the files is there.
    """
    if not _NAME.fullmatch(name):
        expected = "a name of small letters, digits and _, such as my_cc"
        raise ConfigError(Problem("NAME", name, expected))
    suffix = "py" if python else "cc"
    found = [f"my_control.{suffix}", "test_my_control.py", "my_control.toml"]
    targets = {folder / it.replace("my_control", name): _TEMPLATES / f"{it}.in" for it in found}
    for target in targets:
        if target.exists():
            raise ConfigError(Problem("NAME", name, f"another name: {target} is there"))
    title = "".join(part.capitalize() for part in name.split("_"))
    files.make_directory("--output", folder)
    for target, template in targets.items():
        text = template.read_text(encoding="utf-8")
        for mark, value in (("my_control", name), ("MyControl", title), ("SUFFIX", suffix)):
            text = text.replace(mark, value)
        files.write_text("--output", target, text)
    algorithm, test, scenario = targets
    about = [
        f"{algorithm}: the algorithm. Try it:",
        f"  tunnelcc run --cc {_relative(algorithm)} --loss 0.1%",
        f"{test}: its tests:",
        f"  python {test}",
        f"{scenario}: an experiment with it:",
        f"  tunnelcc run {scenario} --trust",
    ]
    if not python:
        about.append(f"{headers.folder() / 'tunnelcc.h'}: what the algorithm sees and sets")
    return "\n".join(about)


def _relative(path: Path) -> str:
    return str(path) if path.is_absolute() else f"./{path}"
