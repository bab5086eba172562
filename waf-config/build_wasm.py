# SPDX-License-Identifier: GPL-2.0-only
"""Build the models as WebAssembly modules: for the site's laboratory, and for the Python package.

The compiler is Zig's, from the package ``ziglang``: clang with the C and C++ libraries of WASI. All
rooms but those that need ns-3 or Python are in them. The package's has more functions (see
models/wasm/module.h). They are built again when a source, this file or the compiler changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nlohmann_json

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
JSON = Path(nlohmann_json.__file__).parent / "include"

MODULE, PACKAGE, RECORD = "tunnelcc.wasm", "tunnelcc-package.wasm", "tunnelcc.sha256"

# Rooms that the native build alone has.
NATIVE = {"interop", "nodes", "python", "socket", "tun"}
# Of `modules`, the headers alone are used: models/wasm/no-modules.cc stands in for it. Of `wire`,
# the laboratory has all but files; in the package's module, no-capture.cc stands in for it.
NO_FILES = {"modules", "wire"}

# No hot path: compiled for size. The package's module alone has the last ones.
SMALL = (
    *(f"spec/{file.name}" for file in sorted((MODELS / "spec").glob("*.cc"))),
    *("probe/columns.cc", "wasm/no-modules.cc"),
    *("experiment/datagram-tunnel-builder.cc", "experiment/relay-builder.cc"),
    "tunnel/reorder-buffer.cc",
)
OF_PACKAGE = ("wasm/package.cc", "experiment/model-version.cc", "wasm/no-capture.cc")
# The laboratory's alone: captures, in memory. They may throw, which ends the run here.
TRACES = "wasm/trace.cc"

COMPILE = (
    *(sys.executable, "-m", "ziglang", "c++", "--target=wasm32-wasi", "-std=c++20"),
    # As in the native build, and without exceptions, which WebAssembly of WASI has not.
    *("-ffp-contract=off", "-fno-exceptions", "-DNDEBUG", "-fvisibility=hidden"),
    *(f"-I{MODELS}", f"-isystem{JSON}"),
)
# Captures throw where a browser has nobody to catch: models/wasm/trace.cc ends the run then.
OF_TRACES = ("-fexceptions", "-fignore-exceptions")
LINK = ("-mexec-model=reactor", "-s", "-Wl,--gc-sections")


def sources() -> list[Path]:
    """Return the files that the modules are made of."""
    return sorted(
        file
        for file in MODELS.rglob("*")
        if file.suffix in (".cc", ".h") and file.relative_to(MODELS).parts[0] not in NATIVE
    )


def identity() -> str:
    """Return a digest of everything that the modules depend on."""
    digest = hashlib.sha256(importlib.metadata.version("ziglang").encode())
    digest.update(importlib.metadata.version("nlohmann_json").encode())
    for file in (Path(__file__), *sources()):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def is_current(folder: Path) -> bool:
    """Whether a folder has the modules of these sources and of this compiler."""
    record = folder / RECORD
    try:
        return (
            all((folder / it).exists() for it in (MODULE, PACKAGE))
            and record.read_text() == identity()
        )
    except (OSError, importlib.metadata.PackageNotFoundError):
        return False


def build(folder: Path) -> Path:
    """Build the modules in a folder, unless they are there already; return the laboratory's.

    Raises subprocess.CalledProcessError if the compiler fails.
    """
    module = folder / MODULE
    if is_current(folder):
        return module
    wanted = identity()
    folder.mkdir(parents=True, exist_ok=True)
    # Most of the time of compiling goes into headers, so all models are one unit.
    small = [MODELS / file for file in (*SMALL, *OF_PACKAGE)]
    wire = [it for it in sorted((MODELS / "wire").glob("*.cc")) if it.name != "record-file.cc"]
    traces = folder / "traces.cc"
    traces.write_text("".join(f'#include "{file}"\n' for file in (*wire, MODELS / TRACES)))
    unit = folder / "models.cc"
    unit.write_text(
        "".join(
            f'#include "{file}"\n'
            for file in sources()
            if file.suffix == ".cc"
            and file not in (*small, MODELS / TRACES)
            and file.parent.name not in NO_FILES
        )
    )
    script, digest = Path(__file__).with_name("model-digest.py"), folder / "model-digest.h"
    subprocess.run([sys.executable, str(script), str(digest)], check=True)
    units = (unit, traces, *small)
    objects = [folder / f"{file.stem}.o" for file in units]
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda file, options, target: subprocess.run(
                    [*COMPILE, f"-I{folder}", *options, "-c", str(file), "-o", str(target)],
                    check=True,
                ),
                units,
                (("-O2",), ("-Os", *OF_TRACES), *[("-Os",)] * len(small)),
                objects,
            )
        )
    shared = [it for it in objects if it.stem != traces.stem]
    of_page = objects[: -len(OF_PACKAGE)]
    for name, parts in ((MODULE, of_page), (PACKAGE, shared)):
        link = [*COMPILE, *LINK, *map(str, parts), "-o", str(folder / name)]
        subprocess.run(link, check=True)
    (folder / RECORD).write_text(wanted)
    return module


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the module goes, and what it is made from")
    print(build(parser.parse_args().folder))
