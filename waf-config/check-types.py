# SPDX-License-Identifier: GPL-2.0-only
"""Check what users write as their type checkers do: mypy and pyright, without plug-ins.

basedpyright is pyright as a package of Python; its mode "standard" is that of pyright.

Checked are the blocks of Python in README.md and on the pages, the examples of public names
(docs/pages/reference/api.md), and the programs of scratch/.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: A block of Python, unless it is marked as a part of a program.
_FENCE = re.compile(r"(?<!\) -->\n)^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BIN = Path(sys.executable).parent


def _pages() -> dict[str, str]:
    """Return name → program of each page that has blocks of Python."""
    files = [ROOT / "README.md", *sorted(ROOT.glob("docs/pages/**/*.md"))]
    blocks = {file.stem: _FENCE.findall(file.read_text("utf-8")) for file in files}
    return {
        f"{name}-{number}": block
        for name, found in blocks.items()
        for number, block in enumerate(found)
    }


def _examples() -> dict[str, str]:
    """Return name → program of the examples of each public name."""
    import tunnelcc as tc

    finder = doctest.DocTestFinder(recurse=False)
    found = {}
    for name in tc.__all__:
        value = getattr(tc, name)
        objects = [value, *(vars(value).values() if isinstance(value, type) else ())]
        lines = [
            example.source
            for it in objects
            if callable(it) and getattr(it, "__doc__", None)
            for test in finder.find(it, name, globs={})
            for example in test.examples
            if example.exc_msg is None  # else it is meant to be wrong
        ]
        if lines:
            head = "import pathlib\n\nimport tunnelcc as tc\n\n"
            found[f"example-{name}"] = head + "".join(lines)
    return found


def main() -> int:
    """Write the programs to build/types, and check them; return the exit status."""
    folder = ROOT / "build/types"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, program in {**_pages(), **_examples()}.items():
        file = folder / f"{re.sub('[^a-z0-9]+', '_', name.lower())}.py"
        file.write_text(textwrap.dedent(program), "utf-8")
    for file in sorted((ROOT / "scratch").glob("*.py")):
        shutil.copy(file, folder)
    (folder / "pyrightconfig.json").write_text(_PYRIGHT, "utf-8")
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    commands: tuple[list[str], ...] = (
        [
            *(sys.executable, "-m", "mypy", "--config-file=", "--strict"),
            *("--allow-untyped-defs", "--allow-untyped-calls", "--ignore-missing-imports", "."),
        ],
        [str(_BIN / "basedpyright"), "--pythonpath", sys.executable],
    )
    return max(subprocess.run(it, cwd=folder, env=environment).returncode for it in commands)


_PYRIGHT = """{
    "typeCheckingMode": "standard", "extraPaths": ["../.."],
    "reportMissingImports": false, "reportUnusedExpression": false
}"""

if __name__ == "__main__":
    sys.exit(main())
