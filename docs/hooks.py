# SPDX-License-Identifier: GPL-2.0-only
"""What MkDocs does not do by itself (https://www.mkdocs.org/user-guide/configuration/#hooks).

- Reference pages are written from the code (reference.py).
- A page may link to any file of the repository. Markdown comes along as a page, text as a page that
  shows it, pictures as they are: a fact has one home, and the site has no second copy of it.
- Those pages show the navigation of the section that has other pages of their folder.
- The site's own drawings become part of the page, so that they follow its light or dark colours.
- The laboratory is a page of its own (laboratory/), and figures and lessons have a link to it.
- On a phone, panels of a wide figure and columns of a long table are below each other (panels.py).
- A number stays on one line with its unit.
- What a lesson says of a result is folded.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import laboratory  # noqa: E402
import panels  # noqa: E402

import reference  # noqa: E402
from tunnelcc import __version__  # noqa: E402

#: The laboratory in the site, and the models that it runs (`make wasm`).
_LABORATORY = "lab.html"
_MODULE = ROOT / "build/wasm/tunnelcc.wasm"

#: Where files of the repository are in the site.
_HOME = "repository"
_PICTURES = (".svg", ".png")
_LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".toml": "toml", ".json": "json"}
_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s]+)((?:\s+\"[^\"]*\")?\))")
# Where the numbers of a page come from (results/numbers.py).
_SOURCES = re.compile(r"^<!-- numbers\n.*?^-->\n", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# .*$", re.MULTILINE)
_FIGURE = re.compile(r"!\[[^\]]*\]\(([^()\s]+\.svg)\)")
_FORMULA = re.compile(r"(?<![\w$\\])\$([^$\n]+)\$(?![\w$])")
_DISPLAYED = re.compile(r"^\$\$(.+)\$\$$", re.MULTILINE)
# What is left as it is, or a number and its unit.
_QUANTITY = re.compile(
    r"<(pre|code|math)\b.*?</\1>|<[^>]*>|(\d) (?=%|[kMG]?bit/s|[mµn]?s\b|[KMG]i?B\b|BDP)", re.DOTALL
)
_FIGURE_SHOWN = re.compile(r'<img alt="([^"]*)" src="([^"]+\.svg)" ?/?>')
_DRAWING = re.compile(r'<img alt="([^"]*)" src="([^"]*pictures/([\w-]+)\.svg)" ?/?>')


def on_page_context(context: Any, page: Page, config: MkDocsConfig, nav: Navigation) -> None:
    """Name the version below each page, with a link to what changed."""
    changes = posixpath.relpath(f"{_HOME}/CHANGELOG.html", posixpath.dirname(page.url) or ".")
    config.copyright = f'tunnelcc {__version__}, <a href="{changes}">change log</a>'


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Leave out what a server shows for a missing page, if the site's address is not known.

    Its links start at the server's root, because it can be shown at any depth.
    """
    return "" if template_name == "404.html" and not config.site_url else output_content


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference pages, and whatever of the repository a page links to."""
    for address, text in reference.pages().items():
        files.append(File.generated(config, address, content=text))
    page = laboratory.page(_MODULE, "index.html")
    files.append(File.generated(config, _LABORATORY, content=page))
    waiting = [file for file in files if file.is_documentation_page()]
    waiting += [_imported(config, files, target) for target in _in_navigation(config.nav)]
    while waiting:
        file = waiting.pop()
        for target in _targets(file.content_string, _place(file.src_uri)):
            if _address(target) not in files.src_uris:
                waiting.append(_imported(config, files, target))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Let a page that is not in the navigation show the section of its folder."""
    for file in files.documentation_pages():
        page = file.page
        if page is None or page in nav.pages:
            continue
        listed = {it.file.src_uri: it.parent for it in nav.pages}
        shared = {it: posixpath.commonpath((it, file.src_uri)) for it in listed}
        nearest = max(shared, key=lambda it: len(shared[it]))
        if shared[nearest] not in ("", _HOME):
            page.parent = listed[nearest]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the repository point to their pages in the site."""
    here = _place(page.file.src_uri)

    def rewrite(match: re.Match[str]) -> str:
        target = _target(match[2], here)
        if target is None:
            return match[0]
        anchor = match[2].partition("#")[2]
        address = posixpath.relpath(_address(target), posixpath.dirname(page.file.src_uri) or ".")
        return match[1] + address + (f"#{anchor}" if anchor else "") + match[3]

    markdown = _SOURCES.sub("", markdown)
    markdown = _outside_fences(markdown, lambda text: _LINK.sub(rewrite, text))
    markdown = _with_experiments(markdown, page)
    if page.file.src_uri.startswith(f"{_HOME}/notebooks/"):
        markdown = _outside_fences(markdown, lambda text: _with_formulas(panels.folded(text)))
    return reference.TABLE_MARK.sub(lambda it: reference.TABLES[it[1]](), markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the site's drawings into the page, and keep numbers beside their units."""

    def drawing(match: re.Match[str]) -> str:
        text = (HERE / "pages/pictures" / f"{match[3]}.svg").read_text("utf-8")
        text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
        label = f'<svg role="img" aria-label="{match[1]}" '
        return f'<div class="drawing">{text.replace("<svg ", label, 1)}</div>'

    def figure(match: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), match[2]))
        if not place.startswith(f"{_HOME}/results/"):
            return match[0]
        file = ROOT / place.removeprefix(f"{_HOME}/")
        return panels.figure(match[0], match[2], match[1], file)

    content = panels.labelled(_FIGURE_SHOWN.sub(figure, content))
    content = _QUANTITY.sub(lambda it: f"{it[2]}&nbsp;" if it[2] else it[0], content)
    return _DRAWING.sub(drawing, content)


def _with_formulas(text: str) -> str:
    """Return the text of a lesson with its formulas in MathML."""
    text = _DISPLAYED.sub(lambda it: convert(it[1], display="block"), text)
    return _FORMULA.sub(lambda it: convert(it[1]), text)


def _with_experiments(markdown: str, page: Page) -> str:
    """Offer the laboratory's experiment beside a figure that has one, and below a lesson's name."""
    address = posixpath.relpath(_LABORATORY, posixpath.dirname(page.file.src_uri) or ".")

    def beside(match: re.Match[str]) -> str:
        link = laboratory.offer(match[1], address)
        return f"{match[0]}\n\n{link}\n" if link else match[0]

    markdown = _outside_fences(markdown, lambda text: _FIGURE.sub(beside, text))
    if link := laboratory.offer(page.file.src_uri.removesuffix(".md"), address):
        markdown = _TITLE.sub(lambda it: f"{it[0]}\n\n{link}", markdown, count=1)
    return markdown


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with what is not in blocks of code changed."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def _in_navigation(items: object) -> Iterator[Path]:
    if isinstance(items, str) and items.startswith(f"{_HOME}/"):
        yield _lesson_of(ROOT / items.removeprefix(f"{_HOME}/"))
    elif isinstance(items, (list, dict)):
        for item in items.values() if isinstance(items, dict) else items:
            yield from _in_navigation(item)


def _place(address: str) -> Path:
    """Return the folder in the repository that links of a page of the site start from."""
    inside = address.removeprefix(f"{_HOME}/")
    return (ROOT / inside if inside != address else HERE / "pages" / address).parent


def _targets(text: str, here: Path) -> Iterator[Path]:
    found: list[Path] = []

    def look(part: str) -> str:
        found.extend(it for link in _LINK.finditer(part) if (it := _target(link[2], here)))
        return part

    _outside_fences(text, look)
    return iter(dict.fromkeys(found))


def _target(link: str, here: Path) -> Path | None:
    """Return the file of the repository that a link is to, if it is one."""
    name = unquote(link.partition("#")[0])
    if not name or re.match(r"[a-z]+:", name):
        return None
    file = (here / name).resolve()
    if file.is_dir() and (file / "README.md").is_file():
        file = file / "README.md"
    file = _lesson_of(file)
    return file if file.is_file() and file.is_relative_to(ROOT) else None


def _lesson_of(file: Path) -> Path:
    """Return the executed copy of a lesson, which has figures, and any other file as it is."""
    executed = file.with_suffix(".ipynb")
    return executed if executed.is_file() else file


def _address(file: Path) -> str:
    """Return where a file of the repository is in the site's sources."""
    if file.is_relative_to(HERE / "pages"):
        return str(file.relative_to(HERE / "pages"))
    if file.suffix == ".ipynb":
        file = file.with_suffix(".md")
    name = f"{_HOME}/{file.relative_to(ROOT)}"
    return name if file.suffix in (".md", *_PICTURES) else f"{name}.md"


def _imported(config: MkDocsConfig, files: Files, file: Path) -> File:
    """Add a file of the repository to the site, and return it."""
    address = _address(file)
    if file.suffix in _PICTURES:
        added = File.generated(config, address, content=file.read_bytes())
    elif file.suffix == ".ipynb":
        added = File.generated(
            config, address, content=_lesson(json.loads(file.read_text("utf-8")))
        )
    elif file.suffix == ".md":
        added = File.generated(config, address, content=file.read_text("utf-8"))
    else:
        text, language = file.read_text("utf-8"), _LANGUAGES.get(file.suffix, "text")
        shown = f"# {file.name}\n\n`{file.relative_to(ROOT)}`\n\n````{language}\n{text}````\n"
        added = File.generated(
            config, address, content=f"---\nsearch:\n  exclude: true\n---\n{shown}"
        )
    files.append(added)
    return added


def _lesson(notebook: dict[str, Any]) -> str:
    """Return an executed notebook in Markdown: text, code, and what the code printed and drew."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(f"````python\n{source}\n````")
            parts += filter(None, map(_output, cell["outputs"]))
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        alternative = html.escape(output["metadata"]["image/png"]["alt"])
        content = "".join(data["image/png"]).strip()
        return f'<img alt="{alternative}" src="data:image/png;base64,{content}">'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"````text\n{text.rstrip()}\n````" if text.strip() else ""
