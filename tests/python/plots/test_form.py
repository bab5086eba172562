# SPDX-License-Identifier: GPL-2.0-only
"""Figures have the size, the letters and the resolution of what they are for."""

from __future__ import annotations

import struct

import pytest
from matplotlib.figure import Figure

from tunnelcc.errors import ConfigError
from tunnelcc.plots.form import FORMS, form_of, shape
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.style import save


def drawn():
    with panels(1) as (figure, axes):
        axes[0].plot([1, 2], [3, 4], label="bbr", linewidth=1.3)
        axes[0].set_xlabel("loss")
        finish(figure, axes, "A title", "means of 5 runs", "limited by the link")
    return figure


def pixels(file):
    return struct.unpack(">II", file.read_bytes()[16:24])


def test_a_paper_has_a_column_300_dpi_and_neither_title_nor_notes(tmp_path):
    figure, form = drawn(), FORMS["paper"]
    shape(figure, form)
    assert figure.get_figwidth() == 3.5
    assert figure.get_suptitle() == ""
    (legend,) = figure.legends
    assert [it.get_text() for it in legend.get_texts()] == ["bbr"]
    assert legend.get_title().get_text() == ""
    assert figure.axes[0].xaxis.label.get_fontsize() == 8
    save(figure, tmp_path / "it.png", dpi=form.dpi)
    assert pixels(tmp_path / "it.png")[0] == pytest.approx(3.5 * 300, rel=0.1)


def test_a_paper_has_several_panels_on_one_page():
    with panels(5) as (figure, axes):
        finish(figure, axes, "A title")
    assert figure.get_figwidth() > 10
    shape(figure, FORMS["paper"])
    assert figure.get_figwidth() == 7.1


def test_a_slide_has_large_letters_and_a_title():
    figure = drawn()
    shape(figure, FORMS["slide"])
    assert tuple(figure.get_size_inches()) == (10, 5.6)
    assert figure.get_suptitle().startswith("A title")
    assert figure.axes[0].xaxis.label.get_fontsize() == 16
    assert figure.axes[0].lines[0].get_linewidth() == pytest.approx(1.3 * 1.7)


def test_a_screen_has_what_was_drawn():
    figure, other = drawn(), drawn()
    shape(figure, FORMS["screen"])
    assert isinstance(figure, Figure)
    assert tuple(figure.get_size_inches()) == tuple(other.get_size_inches())
    assert figure.get_suptitle() == other.get_suptitle()


def test_options_win_over_the_style():
    form = form_of("paper", "7x3", 10, True, None)
    assert (form.width, form.height, form.font, form.title, form.notes) == (7, 3, 10, True, False)
    figure = drawn()
    shape(figure, form)
    assert tuple(figure.get_size_inches()) == (7, 3)
    assert figure.get_suptitle().startswith("A title")


@pytest.mark.parametrize(
    ("given", "told"),
    [(("papr", None, None), "paper"), (("paper", "7", None), "WIDTHxHEIGHT"),
     (("paper", "700x2", None), "inches"), (("paper", None, 1.0), "points")],
)  # fmt: skip
def test_a_form_that_is_none_is_refused(given, told):
    with pytest.raises(ConfigError, match=told):
        form_of(*given, None, None)
