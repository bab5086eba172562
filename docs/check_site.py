# SPDX-License-Identifier: GPL-2.0-only
"""Check a built site: every link leads somewhere, and nothing is loaded from other machines.

MkDocs checks the links that it reads in Markdown. This also sees those that pages, themes and
generated references write as HTML.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parent))

import laboratory

#: Links to this page have an experiment in place of an anchor.
LABORATORY = "lab.html"
#: Attributes that load something, and those that lead somewhere.
_LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
_LEADS = {("a", "href")}
#: <link>s that say where a page is, and load nothing.
_ONLY_NAMES = ("canonical", "next", "prev")


@dataclass
class Page(HTMLParser):
    """What a page links to, loads, and has as anchors."""

    anchors: set[str] = field(default_factory=set)
    leads: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of an element."""
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name, value in values.items():
            if (tag, name) in _LEADS:
                self.leads.append(value)
            elif (tag, name) in _LOADS and values.get("rel") not in _ONLY_NAMES:
                self.loads.append(value)


def problems(site: Path) -> list[str]:
    """Return what is wrong with the links of all pages of ``site``."""
    pages = {file: Page() for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        page.feed(file.read_text("utf-8"))
    found = []
    for file, page in pages.items():
        where = file.relative_to(site)
        for link in page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                found.append(f"{where}: loads {link}")
            elif not parts.scheme and not _target(file, parts.path).is_file():
                found.append(f"{where}: {link} does not exist")
        for link in page.leads:
            parts = urlsplit(link)
            target = _target(file, parts.path)
            if parts.scheme or parts.netloc:
                continue
            if not target.is_file():
                found.append(f"{where}: {link} does not exist")
            elif target.name == LABORATORY:
                wrong = laboratory.problems(parts.fragment) if parts.fragment else []
                found += [f"{where}: {link}: {it} cannot be" for it in wrong]
            elif parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: {link} has no such anchor")
    return found


def _target(file: Path, path: str) -> Path:
    return (file.parent / unquote(path)).resolve() if path else file


def main() -> int:
    """Print every problem of the site; return the exit status."""
    found = problems(Path(sys.argv[1]).resolve())
    print(*dict.fromkeys(found), sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
