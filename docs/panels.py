# SPDX-License-Identifier: GPL-2.0-only
"""What pages show at first: panels of a wide figure below each other on a phone, answers folded.

matplotlib draws the panels of a figure in a row. Where a phone shows a page, it shows a view of the
same file for each group of panels that has an axis of its own. What is then still too wide for its
letters to be legible ends the build.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

#: What a lesson says of a result, up to the next question, exercise or heading.
_COMPARE = re.compile(
    r"^\*\*Compare\.\*\*\s+(.*?)(?=\n\*\*Predict|\n#|\n\*\*\d|\Z)", re.DOTALL | re.MULTILINE
)

#: Panels that are nearer to each other share an axis. In the figure's units, points.
_SHARED = 24.0
#: What an axis takes to the left of its panel, and below it: numbers and label.
_AXIS = 44.0
_BELOW = 35.0
#: What letters take below their line.
_DESCENT = 4.0
#: What a line of a panel's title takes.
_LINE = 12.0
#: What is shown beside each other is not wider: on a phone of 390 pixels, of which 382 are for a
#: figure, letters of 9 points then have 11 pixels.
MOST = 313.0
#: What is left of a text in a legend: the line or mark that it explains.
_HANDLE = 28.0
#: A point is at most so many pixels.
_ENLARGED = 1.35

_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')
_PANEL = re.compile(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="([^"]*)"')
_LEGEND = re.compile(r'<g id="legend_\d+">.*', re.DOTALL)
_OF_FIGURE = re.compile(r'^  <g id="(?:text|legend)_', re.MULTILINE)
_TEXT = re.compile(r"translate\(([\d.]+) ([\d.]+)\) scale")
_LINES = re.compile(
    r'<g [^>]*transform="translate\(([\d.]+) ([\d.]+)\) scale\(([\d.]+) [^)]*\)">(.*?)</g>',
    re.DOTALL,
)
_LETTER = re.compile(r'<use xlink:href="#([^"]+)"(?: transform="translate\(([\d.]+) [\d.]+\)")?')
_GLYPH = re.compile(r'<path id="([^"]+)" d="([^"]*)" transform="scale\(([\d.]+)\)"')
_NUMBER = re.compile(r"-?[\d.]+")
_TABLE = re.compile(r'(<div class="stacked">.*?</div>)', re.DOTALL)

#: Left, top, width and height of a piece of a figure.
View = tuple[float, float, float, float]


def parts(text: str) -> list[list[View]]:
    """Return the parts of a figure that are shown below each other, each with its views in a row.

    ``text``: the SVG. Nothing if the figure is shown as a whole. A panel that shares the axis of
    another has that axis beside it. The figure's title, which is above the panels, is in no part; a
    legend below them comes last, in columns.
    """
    size, paths = _SIZE.search(text), _PANEL.findall(text)
    if size is None or float(size[1]) <= MOST:
        return []
    width, height = float(size[1]), float(size[2])
    spans, tops, bottoms = set(), [], []
    for path in paths:
        numbers = [float(it) for it in _NUMBER.findall(path)]
        spans.add((min(numbers[::2]), max(numbers[::2])))
        tops.append(min(numbers[1::2]))
        bottoms.append(max(numbers[1::2]))
    panels = _panels(sorted(spans))
    if len(panels) < 2:
        return []
    # Of the panels, not of the figure, whose texts come after them: titles, and labels of axes.
    heights = [float(y) for _, y in _TEXT.findall(_OF_FIGURE.split(text)[0])]
    top = max(0.0, min((it for it in heights if it < min(tops)), default=min(tops)) - _LINE)
    bottom = min(height, max(max(bottoms) + _BELOW, max(heights, default=0.0) + _DESCENT))
    legend = _legend(text, bottom, width)
    if not legend:
        bottom = height
    below = height - bottom
    found = [[(a, top, b - a, bottom - top) for a, b in row] for row in _rows(panels, width)]
    return found + [[(a, bottom, b - a, below)] for a, b in legend]


def _panels(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the panels, from left to right, each with its bar of colours and those below it."""
    panels: list[tuple[float, float]] = []
    for left, right in spans:
        if panels and (left < panels[-1][1] or right - left < _AXIS):
            panels[-1] = panels[-1][0], max(panels[-1][1], right)
        else:
            panels.append((left, right))
    return panels


def _rows(panels: list[tuple[float, float]], width: float) -> list[list[tuple[float, float]]]:
    """Return from where to where the pieces in each row are: an axis of before, and panels."""
    shares = [False, *(after[0] - before[1] < _SHARED for before, after in pairwise(panels))]
    edges = [0.0]
    for (_, before), (after, _), is_shared in zip(panels, panels[1:], shares[1:], strict=False):
        edges.append((before + after) / 2 + 1 if is_shared else max(before + 6, after - _AXIS))
    edges.append(width)
    rows: list[list[tuple[float, float]]] = []
    axis = (0.0, 0.0)
    for (start, _), left, right, is_shared in zip(panels, edges, edges[1:], shares, strict=False):
        if not is_shared:
            axis = (left, start - 4)  # without its marks
            rows.append([(left, right)])
        elif sum(b - a for a, b in rows[-1]) + right - left <= MOST:
            rows[-1][-1] = rows[-1][-1][0], right
        else:
            rows.append([axis, (left, right)])
    return rows


def _legend(text: str, top: float, width: float) -> list[tuple[float, float]]:
    """Return the columns of the legend below ``top``, as many beside each other as fit."""
    legend = _LEGEND.search(text)
    texts = _TEXT.findall(legend[0]) if legend else []
    columns = sorted({float(x) - _HANDLE for x, y in texts if float(y) > top})
    if not columns:
        return []
    columns.append(width - columns[0])  # it is in the middle
    rows: list[tuple[float, float]] = []
    for left, right in pairwise(columns):
        if rows and right - rows[-1][0] <= MOST:
            rows[-1] = rows[-1][0], right
        else:
            rows.append((left, right))
    return rows


def _cut(text: str, rows: list[list[View]]) -> bool:
    """Whether a part ends in a letter of a text."""
    glyphs = {
        name: float(scale) * max(map(float, _NUMBER.findall(path)[::2]), default=0)
        for name, path, scale in _GLYPH.findall(text)
    }
    views = [view for row in rows for view in row]
    for x, y, size, letters in _LINES.findall(text):
        ends = [float(at or 0) + glyphs.get(glyph, 0) for glyph, at in _LETTER.findall(letters)]
        begin, end = float(x), float(x) + float(size) * max(ends, default=0)
        spans = [(a, a + width) for a, top, width, height in views if top < float(y) < top + height]
        shown = [(a, b) for a, b in spans if a <= begin < b]
        if shown and not any(end <= b for _, b in shown):
            return True
    return False


def figure(image: str, source: str, alternative: str, file: Path) -> str:
    """Return the HTML of a figure, whole and in parts; ``image``: its HTML as a whole.

    Raises ValueError if a part is wider than a phone, or ends in a text.
    """
    text = file.read_text("utf-8")
    size, rows = _SIZE.search(text), parts(text)
    if size is None:
        return image
    widest = max((sum(view[2] for view in row) for row in rows), default=float(size[1]))
    if widest > MOST:
        raise ValueError(
            f"{file.name}: {widest:.0f} points beside each other, and a phone has {MOST:.0f}"
        )
    if not rows:
        return f'<span class="narrow">{image}</span>'
    if _cut(text, rows):
        raise ValueError(f"{file.name}: a part that a phone shows ends in a text")

    def shown(row: list[View], number: int) -> str:
        texts = [""] * (len(row) - 1) + [f"{alternative} (part {number} of {len(rows)})"]
        views = "".join(
            f'<img alt="{text}" loading="lazy" '
            f'src="{source}#svgView(viewBox({x:.1f},{y:.1f},{width:.1f},{height:.1f}))" '
            f'style="flex: {width:.1f}; aspect-ratio: {width:.1f} / {height:.1f}">'
            for text, (x, y, width, height) in zip(texts, row, strict=True)
        )
        width = _ENLARGED * sum(width for _, _, width, _ in row)
        return f'<span class="part" style="max-width: {width:.0f}px">{views}</span>'

    content = "".join(shown(row, number) for number, row in enumerate(rows, 1))
    title = f'<span class="title" aria-hidden="true">{alternative.strip()}</span>'
    return f'<span class="whole">{image}</span><span class="parts narrow">{title}{content}</span>'


def labelled(content: str) -> str:
    """Return the HTML of a page whose stacked tables have each cell's heading in ``data-label``."""

    def label(match: re.Match[str]) -> str:
        headings = [
            re.sub("<[^>]*>", "", it) for it in re.findall(r"<th\b[^>]*>(.*?)</th>", match[1])
        ]

        def row(cells: re.Match[str]) -> str:
            names = iter(headings)
            return re.sub(r"<td\b", lambda _: f'<td data-label="{next(names)}"', cells[0])

        return re.sub(r"<tr>.*?</tr>", row, match[1], flags=re.DOTALL)

    return _TABLE.sub(label, content)


def folded(text: str) -> str:
    """Return the Markdown of a lesson with its answers folded: a reader predicts first."""
    summary = "<summary>Compare, once you have predicted</summary>"
    return _COMPARE.sub(
        lambda it: f"<details markdown>\n{summary}\n\n{it[1].rstrip()}\n\n</details>\n", text
    )
