# SPDX-License-Identifier: GPL-2.0-only
"""Check that every document, section and kernel function that the project cites is in its index.

The index is docs/sources.toml. It names the sections that somebody has looked up, so a citation
that is not in it is a slip, or new: look it up and add it. Forms that are found::

    RFC 9438, section 4.3        RFC 8985, 6.2        RFC 9000 §13.2.1
    RFC 4254, sections 5 and 7.2        RFC 9002, appendix A
    draft-cheng-iccrg-delivery-rate-estimation-02
    Linux tcp_rcv_space_adjust()
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs/sources.toml"
FOLDERS = (
    "models", "tunnelcc", "docs", "scenarios", "notebooks", "scratch", "README.md",
    "tests/models", "tests/reference", "tests/validation",
)  # fmt: skip
SUFFIXES = {".h", ".cc", ".py", ".md", ".toml"}

_SECTION = r"(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)*)(?![\w%])"
_NAMED = r"(?:sections?|appendix|appendices|§+)\s*"
_SECTIONS = re.compile(
    rf"[,:]?\s*\(?(?:{_NAMED}|(?=\d+\.\d))"
    rf"({_SECTION}(?:(?:, | and |, and | to )(?:{_NAMED})?{_SECTION})*)"
)
_RFC = re.compile(r"\bRFC (\d{3,5})\b(?! ms)")
_DRAFT = re.compile(r"\bdraft(?:-[a-z0-9]+){2,}\b")
# What kernel functions begin with. Functions of other programs are not in the index.
_KERNEL = re.compile(
    r"(?<![\w:.>])((?:__)?(?:tcp|sk|bbr|bictcp|hystart|westwood|vegas|dctcp|skb|sock|reqsk)"
    r"_[a-z0-9_]+)\(\)"
)
# Lines of a comment are one text.
_CONTINUED = re.compile(r"\n[ \t]*(?:\*(?!/)|///|//!<|//|#)?[ \t]*")


def citations(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield where a citation is in a text, its document, and its section or ''."""
    flat = _CONTINUED.sub(lambda it: " " + "\0" * (len(it[0]) - 1), text)
    for it in _RFC.finditer(flat):
        found = _SECTIONS.match(flat[it.end() : it.end() + 120].replace("\0", ""))
        sections = re.findall(_SECTION, found[1]) if found else [""]
        for section in sections:
            yield it.start(), f"RFC {it[1]}", section
    for it in _DRAFT.finditer(flat):
        yield it.start(), it[0], ""
    for it in _KERNEL.finditer(flat):
        yield it.start(), "Linux", it[1]


def main() -> int:
    """Print each citation that is not in the index. Return the exit code."""
    index = tomllib.loads(INDEX.read_text("utf-8"))
    known = {f"RFC {number}": sections for number, sections in index["rfc"].items()}
    known |= {draft: [] for draft in index["drafts"]}
    files = [names for version in index["linux"].values() for names in version.values()]
    known["Linux"] = [name for names in files for name in names]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    bad = 0
    for name in listed.splitlines():
        file = ROOT / name
        if file == INDEX or file.suffix not in SUFFIXES or not file.is_file():
            continue
        text = file.read_text("utf-8")
        for place, document, section in citations(text):
            if document in known and (not section or section in known[document]):
                continue
            line = text.count("\n", 0, place) + 1
            what = f"{document}, {section}" if section else document
            print(f"{name}:{line}: {what} is not in docs/sources.toml")
            bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
