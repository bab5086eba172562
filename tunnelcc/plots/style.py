# SPDX-License-Identifier: GPL-2.0-only
"""One style for all figures: the same colour and marker for a congestion control everywhere.

Colours are Okabe and Ito's set for colour-blind readers (Color Universal Design, 2008). Line styles
and markers also distinguish algorithms in grey.
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.output import files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Algorithm → (colour, marker, line style). ns-3's versions look like ours, dashed.
ALGORITHMS = {
    "bbr": ("#0072B2", "o", "-"),
    "cubic": ("#D55E00", "s", "-"),
    "reno": ("#009E73", "^", "-"),
    "bbr3": ("#56B4E9", "D", "-"),
    "vegas": ("#CC79A7", "v", "-"),
    "westwood": ("#E69F00", "P", "-"),
    "qvegas": ("#CC79A7", "<", "-."),
    "fast": ("#009E73", "d", "-."),
    "pcc": ("#000000", "X", "-"),
    "vivace": ("#000000", ">", "-."),
    "brutal": ("#E69F00", "*", ":"),
    "unlimited": ("#D55E00", "h", ":"),
    "zeta-like": ("#56B4E9", "p", ":"),
    "ns3::TcpBbr": ("#0072B2", "o", "--"),
    "ns3::TcpCubic": ("#D55E00", "s", "--"),
    "ns3::TcpLinuxReno": ("#009E73", "^", "--"),
    "ns3::TcpVegas": ("#CC79A7", "v", "--"),
}
#: What is not an algorithm: tunnels, buffers and so on, in the order in which they come.
#: After Okabe and Ito's, colours of Tol's set "muted" and grey.
_COLOURS = (
    "#000000", "#E69F00", "#0072B2", "#CC79A7", "#009E73", "#D55E00", "#56B4E9", "#332288",
    "#999933", "#882255", "#888888", "#661100", "#DDCC77",
)  # fmt: skip
#: Marks of lines and points.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", (0, (1, 1)))
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++", "oo")
_OTHERS = tuple(
    (colour, marker, "-.")
    for colour in ("#000000", "#56B4E9", "#E69F00")
    for marker in ("X", "*", "<", ">", "h")
)

STYLE: dict[Any, Any] = {
    "figure.dpi": 120,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.hashsalt": "tunnelcc",
    "pdf.fonttype": 42,  # TrueType: publishers of papers refuse matplotlib's default, Type 3
}
#: STYLE for figures that are read from the last row of a room, or on a phone: one panel wide.
LARGE_TEXT: dict[Any, Any] = {
    **STYLE,
    "figure.figsize": (5.6, 3.4),
    "font.size": 12,
    "axes.titlesize": 12,
    "lines.linewidth": 1.8,
    "lines.markersize": 7,
}
FORMATS = files.FIGURE_FORMATS
# Of metadata: what they have for what made a figure (PNG specification; Dublin Core; ISO 32000).
_ABOUT = {"png": "Description", "svg": "Description", "pdf": "Subject"}
_DATES = {"svg": "Date", "pdf": "CreationDate"}


def algorithm_style(name: str) -> dict[str, Any]:
    """Return matplotlib's colour, marker and line style of a congestion control.

    ``name``: as it is, or as core.congestion_label() shows it.
    """
    name = name.partition(" (")[0]
    if name in ALGORITHMS:
        colour, marker, line = ALGORITHMS[name]
    else:
        colour, marker, line = _OTHERS[sum(name.encode()) % len(_OTHERS)]
    return {"color": colour, "marker": marker, "linestyle": line}


def category_style(position: int) -> dict[str, Any]:
    """Return colour, marker and line style of the category at ``position``, 0 the first."""
    return {
        "color": _COLOURS[position % len(_COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": _LINES[position % len(_LINES)],
    }


def hatch(position: int) -> dict[str, Any]:
    """Return what tells bars of the group at ``position``, 0 the first, from others in grey."""
    return {"hatch": _HATCHES[position % len(_HATCHES)], "edgecolor": "white", "linewidth": 0}


def member_style(name: str, position: int) -> dict[str, Any]:
    """Return the style of one of several flows of an algorithm: same colour, other lines.

    ``position``: 0 is the first.
    """
    style = algorithm_style(name)
    if position:
        style["linestyle"] = _LINES[position % len(_LINES)]
        style["fillstyle"] = ("full", "none", "left", "bottom")[position % 4]
    return style


def check_file(file: Path, option: str = "plot") -> None:
    """Raise ConfigError if figures cannot be saved to ``file``. ``option``: what names it."""
    suffix = file.suffix[1:].lower()
    if suffix not in FORMATS:
        expected = "a file name ending in " + ", ".join(f".{name}" for name in FORMATS)
        raise ConfigError(Problem(option, str(file), expected, nearest(suffix, FORMATS)))
    if not file.parent.is_dir():
        raise ConfigError(Problem(option, str(file), "a file in an existing directory"))
    files.check_file(option, file)


def take_literally(figure: Figure) -> None:
    """Let matplotlib read no text of ``figure`` as mathematics: titles and names are users' text.

    Labels of ticks stay as matplotlib writes them.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)


def use_fonts_with_letters(figure: Figure) -> str:
    """Let texts of ``figure`` use fonts of this machine for letters that the style's font lacks.

    Such as those of a title in Chinese. Returns the letters that no font has, in order.
    """
    from matplotlib import font_manager
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    letters = {it for text in texts for it in text.get_text() if not (it.isascii() or it.isspace())}
    style = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    lacking = {it for it in letters if ord(it) not in style.get_charmap()}
    if not lacking:
        return ""
    others, found = {it.name: it.fname for it in font_manager.fontManager.ttflist}, []
    wrong = {text for text in texts if lacking & {*text.get_text()}}
    for name in sorted(others, key=lambda name: ("Sans" not in name, name)):
        if lacking and not name.startswith("Last Resort"):  # it has a box for each letter
            known = font_manager.get_font(others[name]).get_charmap()
            if has := {it for it in lacking if ord(it) in known}:
                found.append(name)
                lacking -= has
    for text in wrong:
        text.set_fontfamily([*text.get_fontfamily(), *found])
    return "".join(sorted(lacking))


def save(figure: Figure, file: Path | str, made: str = "", dpi: int | None = None) -> None:
    """Write the figure without dates, so that equal figures give equal files.

    ``made``: what made its numbers (``provenance.text()``), which the file's metadata then has.
    ``dpi``: of .png; default: the style's. Tells on standard error of letters that no font of this
    machine has.
    """
    file = Path(file)
    suffix = file.suffix[1:].lower()
    metadata: dict[str, str | None] = {_DATES[suffix]: None} if suffix in _DATES else {}
    if made:
        metadata[_ABOUT[suffix]] = made
    import matplotlib as mpl

    if boxes := use_fonts_with_letters(figure):
        print(
            f"{file}: no font here has {boxes[:20]}, which are boxes in the figure. Install one, "
            "such as Noto Sans CJK for Chinese, Japanese and Korean (package fonts-noto-cjk)",
            file=sys.stderr,
        )
    try:
        with mpl.rc_context(STYLE), warnings.catch_warnings(), files.replacing(file) as new:
            warnings.filterwarnings("ignore", "Glyph .* missing from font")  # told above
            content = io.BytesIO()  # on a full disk, matplotlib fails in other ways, too
            figure.savefig(content, format=suffix, metadata=metadata, dpi=dpi or "figure")
            new.write_bytes(content.getbuffer())
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("plot", str(file), expected, error.strerror or "")) from None
