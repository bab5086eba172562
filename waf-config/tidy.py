# SPDX-License-Identifier: GPL-2.0-only
"""Run clang-tidy on the models, with the checks of .clang-tidy.

Most of its time goes into headers. So all rooms are one unit, as the compiler has them, but for
those on ns-3's sockets.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
FOLDER = ROOT / "build/tidy"
APART = ("socket", "nodes", "tun")
LEFT_OUT = ("python", "wasm")
TIDY = Path(sys.executable).with_name("clang-tidy")


def headers(package: str, folder: str) -> str:
    """Return the folder of headers of an installed package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: make setup")
    return str(Path(spec.submodule_search_locations[0], folder))


def check(room: str, sources: list[Path]) -> bool:
    """Check the sources as one unit; return whether they pass."""
    unit = FOLDER / f"{room}.cc"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    found = subprocess.run(
        [
            *(str(TIDY), "--quiet", str(unit), "--", "-std=c++20", f"-I{MODELS}", f"-I{FOLDER}"),
            *("-DNS3_ASSERT_ENABLE", "-DNS3_LOG_ENABLE", '-DMODEL_DIGEST=""'),
            *("-isystem", headers("ns3", "include")),
            *("-isystem", headers("nlohmann_json", "include")),
        ],
        capture_output=True,
        text=True,
    )
    print(found.stdout, end="")
    if found.returncode and not found.stdout:
        print(found.stderr, end="")
    return found.returncode == 0


def main() -> int:
    """Check all rooms; return the exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "model-digest.h").touch()
    units: dict[str, list[Path]] = {}
    for source in sorted(MODELS.rglob("*.cc")):
        room = source.relative_to(MODELS).parts[0]
        if room not in LEFT_OUT:
            units.setdefault(room if room in APART else "models", []).append(source)
    with ThreadPoolExecutor(2) as pool:
        return 0 if all(pool.map(check, units, units.values())) else 1


if __name__ == "__main__":
    raise SystemExit(main())
