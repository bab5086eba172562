# SPDX-License-Identifier: GPL-2.0-only
"""Figures and tables on a phone: panels of a wide figure below each other, rows as blocks.

matplotlib draws the panels of a figure in a row. Where a phone shows a page, it shows a view of the
same file for each group of panels that has an axis of its own.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

#: Panels that are nearer to each other share an axis. In the figure's units, points.
_SHARED = 24.0
#: What an axis takes to the left of its panel, and below it: numbers and label.
_AXIS = 44.0
_BELOW = 35.0
#: What a panel's own title takes. That of the figure is above it, and as long as the figure.
_TITLE = 18.0
#: A figure that is not wider is legible as a whole.
_NARROW = 420.0

_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')
_PANEL = re.compile(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="([^"]*)"')
_NUMBER = re.compile(r"-?[\d.]+")
_TABLE = re.compile(r'(<div class="stacked">.*?</div>)', re.DOTALL)


def views(text: str) -> list[tuple[float, float, float, float]]:
    """Return the parts of a figure (x, y, width, height) that are shown below each other.

    ``text``: the SVG. Nothing if the figure is shown as a whole. Its title, which is
    above the panels, is in no part; a legend below them is the last one.
    """
    size, paths = _SIZE.search(text), _PANEL.findall(text)
    if size is None or float(size[1]) <= _NARROW:
        return []
    width, height = float(size[1]), float(size[2])
    spans, tops, bottoms = set(), [], []
    for path in paths:
        numbers = [float(it) for it in _NUMBER.findall(path)]
        spans.add((min(numbers[::2]), max(numbers[::2])))
        tops.append(min(numbers[1::2]))
        bottoms.append(max(numbers[1::2]))
    groups: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        is_bar = right - left < _AXIS  # of colours
        if groups and (is_bar or left - groups[-1][1] < _SHARED):
            groups[-1] = groups[-1][0], max(right, groups[-1][1])
        else:
            groups.append((left, right))
    edges = [0.0]
    for (_, before), (after, _) in pairwise(groups):
        edges.append(max(before + 2, after - _AXIS))
    edges.append(width)
    if len(groups) < 2:
        return []
    top, bottom = max(0.0, min(tops) - _TITLE), min(height, max(bottoms) + _BELOW)
    parts = [(a, top, b - a, bottom - top) for a, b in pairwise(edges)]
    has_legend = height - bottom > _TITLE
    return [*parts, (0.0, bottom, width, height - bottom)] if has_legend else parts


def figure(image: str, source: str, alternative: str, file: Path) -> str:
    """Return the HTML of a figure, whole and in parts; ``image``: its HTML as a whole."""
    parts = views(file.read_text("utf-8"))
    if not parts:
        return image
    shown = "".join(
        f'<img alt="{alternative} (part {number} of {len(parts)})" loading="lazy" '
        f'src="{source}#svgView(viewBox({x:.1f},{y:.1f},{width:.1f},{height:.1f}))" '
        f'style="aspect-ratio: {width:.1f} / {height:.1f}">'
        for number, (x, y, width, height) in enumerate(parts, 1)
    )
    title = f'<span class="title" aria-hidden="true">{alternative.strip()}</span>'
    return f'<span class="whole">{image}</span><span class="parts">{title}{shown}</span>'


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
