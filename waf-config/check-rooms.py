# SPDX-License-Identifier: GPL-2.0-only
"""Check that the models' rooms include each other as the table in models/README.md allows.

A room may use those that its row names, and what those may use; rows name rooms above them only.
Only a room whose row names ns-3 may include headers of ns-3. Check, too, that headers of models and
tests give no name to two classes: a linker that meets both keeps one of the two destructors.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
ROW = re.compile(r"^\| `(\w+)/` \|.*\| ([^|]*) \|$", re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: :.*)?$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+)/.*"$', re.MULTILINE)
NS3 = "ns3"
#: For users, with names of its own (namespace ``tc``).
PUBLIC = MODELS / "modules" / "tunnelcc.h"


def allowed(table: str) -> dict[str, set[str]]:
    """Return room → itself and the rooms that it may use, and ``ns3`` if it may use that.

    Raises ValueError.
    """
    rooms: dict[str, set[str]] = {}
    for room, uses in ROW.findall(table):
        named = list(rooms) if uses == "all above" else re.findall(r"`(\w+)`", uses)
        for other in named:
            if other not in rooms:
                raise ValueError(f"models/README.md: {room} is to use {other}, which is not above")
        rooms[room] = {room}.union(*(rooms[other] - {NS3} for other in named))
        if "ns-3" in uses:
            rooms[room].add(NS3)
    return rooms


def named_twice() -> list[str]:
    """Return a line for each class whose name another header has given."""
    first: dict[str, Path] = {}
    return [
        f"{file.relative_to(ROOT)}: {name} is a class of {other.relative_to(ROOT)}, too"
        for folder in (MODELS, ROOT / "tests" / "models")
        for file in sorted({*folder.rglob("*.h")} - {PUBLIC})
        for name in CLASS.findall(file.read_text("utf-8"))
        if (other := first.setdefault(name, file)) != file
    ]


def main() -> int:
    """Print every include that is not allowed and every second name; return the exit status."""
    rooms = allowed((MODELS / "README.md").read_text("utf-8"))
    wrong = [
        f"models/{it.name} has no row"
        for it in MODELS.iterdir()
        if it.is_dir() and it.name not in rooms
    ]
    for file in sorted(MODELS.glob("*/**/*")):
        if file.suffix in (".cc", ".h"):
            room = file.relative_to(MODELS).parts[0]
            for other in INCLUDE.findall(file.read_text("utf-8")):
                if (other in rooms or other == NS3) and other not in rooms.get(room, rooms):
                    wrong.append(f"{file.relative_to(ROOT)}: {room} may not use {other}")
    wrong += named_twice()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
