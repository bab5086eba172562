# SPDX-License-Identifier: GPL-2.0-only
"""The commands of READMEs and of the site's pages, run as printed, in order, in a fresh folder.

A comment before a block says what is to be done with it:

- ``<!-- tests: slow -->``: it runs with the slow tests alone;
- ``<!-- tests: clone -->``: with the slow tests, in a copy of the clone that `make setup` prepares;
- ``<!-- tests: linux -->``: it runs where Linux's congestion controls are, in the folder ``linux``;
- ``<!-- tests: fails -->``: its last command ends with an error;
- ``<!-- tests: none (why) -->``: it does not run.

A block of ``text`` after it is part of what it prints.

The fresh folder has what such commands use of the repository, and ``.venv`` stands for the one that
make sets up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from markdown_it import MarkdownIt

from helpers import ROOT, load_script, make_program

_MARK = re.compile(r"<!-- tests: (slow|clone|linux|fails|none \(.+\)) -->")
_LANGUAGES = ("sh", "python")


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Return (mark or '', what a shell runs, output) of each block of commands or of Python.

    The output is what the page shows of it, and empty if it shows none.
    """
    found, mark = [], ""
    for token in MarkdownIt().parse(text):
        if token.type == "html_block" and (match := _MARK.match(token.content)):
            mark = match[1].split()[0]
        elif token.type == "fence" and token.info in _LANGUAGES:
            is_python = token.info == "python"
            code = f"python << 'END'\n{token.content}END\n" if is_python else token.content
            found.append((mark, code, ""))
            mark = ""
        elif token.type == "fence" and token.info == "text" and found:
            found[-1] = (*found[-1][:2], token.content)
        elif token.nesting == 0:
            assert not mark, "a mark stands before a block"
    return found


def _with(mark: str) -> list[str]:
    return [page for page, found in PAGES.items() if mark in [it for it, _, _ in found]]


PAGES = {
    str(file.relative_to(ROOT)): found
    for file in sorted([*ROOT.glob("**/README.md"), *ROOT.glob("docs/pages/**/*.md")])
    if not {".venv", "build", "runs"} & set(file.relative_to(ROOT).parts)
    and (found := blocks(file.read_text(encoding="utf-8")))
}
SHORT, LONG, CLONED, LINUX = (_with(mark) for mark in ("", "slow", "clone", "linux"))


TEXTS = [
    file
    for file in sorted(ROOT.glob("**/*.md"))
    if not {".venv", "build", "runs"} & set(file.relative_to(ROOT).parts)
]


def _is_generated(file, link):
    """Whether a page of the site links to one that is written when the site is built."""
    target = (file.parent / link.partition("#")[0]).resolve()
    pages = ROOT / "docs/pages"
    return target == pages / "lab.html" or (
        target.parent == pages / "reference" and not target.exists()
    )


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


def run(page, folder, marks):
    """Run the blocks with one of the marks, and look for what the page says that they print.

    The shell ends with the first command that fails.
    """
    script = ". .venv/bin/activate\n"
    for mark, text, _ in PAGES[page]:
        if mark == "fails" and "fails" in marks:
            *before, last = text.splitlines()
            script += "\n".join([*before, f"! {last} || exit 1\n"])
        elif mark in marks:
            script += text
    done = subprocess.run(
        ["sh", "-evu"], input=script, cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    shown = [line for mark, _, text in PAGES[page] if mark in marks for line in text.splitlines()]
    missing = [line for line in shown if line.rstrip() not in done.stdout]
    assert not missing, done.stdout[-3000:]


@pytest.mark.parametrize("page", LINUX)
def test_commands_with_modules_of_linux(page, folder, linux_modules, monkeypatch):
    (folder / "linux").symlink_to(linux_modules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    run(page, folder, {"linux"})


@pytest.mark.parametrize("page", SHORT)
def test_short_commands_run_as_printed(page, folder):
    run(page, folder, {"", "fails"})


@pytest.mark.slow
@pytest.mark.parametrize("page", LONG)
def test_all_commands_run_as_printed(page, folder):
    run(page, folder, {"", "fails", "slow"})


@pytest.mark.slow
def test_commands_of_a_clone_run_as_printed(tmp_path):
    """One test for all pages: setting up one copy of the clone takes long enough."""
    copy = tmp_path / "tunnelcc"
    names = (".git", ".venv", "build", "dist", "runs", ".*_cache", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*names))
    subprocess.run(["make", "setup"], cwd=copy, check=True)
    for page in CLONED:
        run(page, copy, {"", "fails", "clone"})


def test_pages_have_commands_and_marks_are_understood():
    assert {"README.md", "tunnelcc/catalog/README.md", "docs/pages/get-started.md"} <= set(SHORT)
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(re.findall("<!-- tests", text)) == len(_MARK.findall(text)), page
    with pytest.raises(AssertionError, match="before a block"):
        blocks("<!-- tests: slow -->\n\nA text.\n")


def test_the_readme_is_short_and_has_the_number_of_tunnels_and_the_measured_speed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.sub(r"<!-- numbers\n.*?-->\n", "", text, flags=re.DOTALL)
    assert len(shown.splitlines()) <= 135
    tunnels = len(list((ROOT / "tunnelcc/catalog/tunnels").glob("*.toml")))
    assert f"The {tunnels} tunnels include" in text
    reference = load_script(ROOT / "docs/reference.py")
    assert f"<!-- bench -->\n{reference.bench_table()}<!-- end of bench -->\n" in text


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(file):
    """Those of the forge's pages; `make docs` checks the site's, anchors included."""
    for token in MarkdownIt().enable("table").parse(file.read_text(encoding="utf-8")):
        for child in token.children or ():
            link = child.attrs.get("href") or child.attrs.get("src") or ""
            if link and not re.match("[a-z]+:", link) and not _is_generated(file, link):
                assert (file.parent / link.partition("#")[0]).exists(), link
