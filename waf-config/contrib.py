# SPDX-License-Identifier: GPL-2.0-only
"""Write the models as a module for ns-3's source tree: ``contrib.py FOLDER``.

FOLDER gets the rooms that need ns-3 with all that they include, the catalogue's tunnels, their
tests and examples. It is written anew each time.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import nlohmann_json

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
PARTS = Path(__file__).parent / "contrib"
#: Rooms that a program of ns-3 uses. What runs experiments of tunnelcc is left out.
ROOMS = ("interop", "socket", "nodes")
EXPERIMENTS = "interop/ns3-experiment.*"
TESTED = ROOT / "tests/models"
#: Of the tests, those that include nothing but models and what tests share.
TESTS = ("socket/dumbbell-test.cc", "socket/linux-tcp-socket-test.cc", "nodes/node-tunnel-test.cc")
EXAMPLES = ("tunnel-on-ns3.cc", "wireless.cc")
JSON = Path(nlohmann_json.__file__).parent / "include/nlohmann"
INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
DECLARED = re.compile(r"^(?:class|struct)(?: alignas\(\d+\))? (\w+)", re.MULTILINE)
DEFINED = re.compile(r"^(?:[\w:<>&*]+ )*(\w+)::~?\w+\(", re.MULTILINE)


def needed(files: Iterable[Path]) -> set[Path]:
    """Return the files with all of the models that they include, and what defines that."""
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        for name in INCLUDE.findall(file.read_text("utf-8")):
            for header in (file.parent / name, MODELS / name, TESTED / name):
                if header.is_file():
                    waiting += [header, *definitions(header)]
    return found


@cache
def definitions(header: Path) -> list[Path]:
    """Return the sources beside a header that define what it declares.

    Those are the one of its name, those with members of its classes, and those that include it and
    have no header of their own.
    """
    classes = set(DECLARED.findall(header.read_text("utf-8")))
    found = []
    for source in header.parent.glob("*.cc"):
        text = source.read_text("utf-8")
        is_part = not source.with_suffix(".h").is_file() and any(
            Path(name).name == header.name for name in INCLUDE.findall(text)
        )
        if source.stem == header.stem or is_part or classes & set(DEFINED.findall(text)):
            found.append(source)
    return found


def write(folder: Path) -> None:
    """Write the module."""
    shutil.rmtree(folder, ignore_errors=True)
    left_out = set(MODELS.glob(EXPERIMENTS))
    roots = {file for room in ROOMS for file in (MODELS / room).glob("*.cc")} - left_out
    tests = {TESTED / name for name in TESTS}
    models = needed(roots | tests) - tests
    copies = {
        folder / "models" / it.relative_to(TESTED if it.is_relative_to(TESTED) else MODELS): it
        for it in models
    }
    copies |= {folder / "test" / it.name: it for it in tests}
    copies |= {
        folder / "CMakeLists.txt": PARTS / "CMakeLists.txt",
        folder / "README.md": PARTS / "README.md",
        folder / "LICENSE": ROOT / "LICENSE",
        folder / "examples/CMakeLists.txt": PARTS / "examples.cmake",
    }
    copies |= {folder / "examples" / name: ROOT / "scratch" / name for name in EXAMPLES}
    copies |= {folder / "json/nlohmann" / it.relative_to(JSON): it for it in JSON.rglob("*.hpp")}
    for target, source in copies.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    script = Path(__file__).with_name("tunnel-catalogue.py")
    subprocess.run([sys.executable, script, folder / "models/nodes/tunnel-texts.cc"], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write(Path(sys.argv[1]))
