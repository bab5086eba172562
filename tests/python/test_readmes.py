# SPDX-License-Identifier: GPL-2.0-only
"""The commands of READMEs, run as they are printed, in order, in a fresh folder.

A comment before a block says what is to be done with it: ``<!-- tests: slow -->`` by the slow tests
alone, ``<!-- tests: none (why) -->`` by none. What a folder of the repository has comes along, and
``.venv`` stands for the one that make sets up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from helpers import make_program

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- tests: (slow|none \(.+\)) -->")
_LANGUAGES = ("sh", "python")


def blocks(text: str) -> list[tuple[str, str]]:
    """Return (mark, what a shell runs) of each block of commands or of Python; the mark: or ''."""
    found, mark = [], ""
    for token in MarkdownIt().parse(text):
        if token.type == "html_block" and (match := _MARK.match(token.content)):
            mark = match[1].split()[0]
        elif token.type == "fence" and token.info in _LANGUAGES:
            is_python = token.info == "python"
            found.append(
                (mark, f"python << 'END'\n{token.content}END\n" if is_python else token.content)
            )
            mark = ""
        elif token.nesting == 0:
            assert not mark, "a mark stands before a block"
    return found


READMES = {
    str(file.relative_to(ROOT)): found
    for file in sorted(ROOT.glob("**/README.md"))
    if not {".venv", "build", "runs"} & set(file.relative_to(ROOT).parts)
    and (found := blocks(file.read_text(encoding="utf-8")))
}
SHORT = [name for name, found in READMES.items() if any(not mark for mark, _ in found)]
LONG = [name for name, found in READMES.items() if any(mark == "slow" for mark, _ in found)]


@pytest.fixture
def folder(tmp_path):
    """Return a folder like a clone that make has set up."""
    for name in ("scenarios", "tunnelcc/catalog/tunnels"):
        shutil.copytree(ROOT / name, tmp_path / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f'PATH="{programs}:$PATH"\n')
    make_program(programs / "python", f'exec "{sys.executable}" "$@"')
    command = "from tunnelcc.cli import main; main()"
    make_program(programs / "tunnelcc", f'exec "{sys.executable}" -c \'{command}\' "$@"')
    return tmp_path


def run(name, folder, marks):
    """Run the blocks with one of the marks; the shell ends with the first command that fails."""
    script = ". .venv/bin/activate\n" + "".join(
        text for mark, text in READMES[name] if mark in marks
    )
    done = subprocess.run(
        ["sh", "-evu"], input=script, cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("name", SHORT)
def test_short_commands_run_as_printed(name, folder):
    run(name, folder, {""})


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_all_commands_run_as_printed(name, folder):
    run(name, folder, {"", "slow"})


def test_readmes_have_commands_and_marks_are_understood():
    assert {"README.md", "tunnelcc/catalog/README.md"} <= set(SHORT)
    for name in READMES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert len(re.findall("<!-- tests", text)) == len(_MARK.findall(text)), name
    with pytest.raises(AssertionError, match="before a block"):
        blocks("<!-- tests: slow -->\n\nA text.\n")
