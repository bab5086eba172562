# SPDX-License-Identifier: GPL-2.0-only
"""Self-contained pages with one style for screens, phones, print, light and dark."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tunnelcc.errors import ConfigError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(template: Path, **variables: object) -> str:
    """Return the page of a template, which may extend base.html and use parts.html."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([template.parent, Path(__file__).parent]),
        autoescape=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(template.name).render(variables)


def inline_svg(drawing: Figure) -> str:
    """Return a figure as SVG text for a page. Equal figures give equal text."""
    import matplotlib as mpl

    from tunnelcc.plots import STYLE

    text = io.StringIO()
    with (
        mpl.rc_context({**STYLE, "svg.fonttype": "none", "font.family": "sans-serif"}),
        warnings.catch_warnings(),
    ):
        # The browser writes the texts, with fonts of its own.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def write(file: Path, text: str) -> None:
    """Write a page. Raises ConfigError if that fails."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("--report", str(file), expected, error.strerror or "")) from None
