# SPDX-License-Identifier: GPL-2.0-only
"""Sliders in a notebook draw their figure again."""

from __future__ import annotations

import pytest
from ipywidgets import HTML, Image, Output, SelectionSlider, VBox
from matplotlib.figure import Figure

from tunnelcc import plots
from tunnelcc.errors import ConfigError


def draw(size=2, name="a"):
    if name == "refused":
        raise ConfigError("rate: expected <more>")
    figure = Figure(figsize=(size, 1))
    figure.subplots().set_title(name)
    return figure


def parts(box: VBox) -> tuple[list[SelectionSlider], HTML, Image]:
    *controls, told, image = box.children
    return controls, told, image


def test_begin_at_the_defaults_and_draw_again_when_moved():
    (size, name), told, image = parts(plots.sliders(draw, size=range(1, 4), name=["b", "a"]))
    assert (size.value, name.value) == (2, "a")
    assert bytes(image.value).startswith(b"\x89PNG")
    before = image.value
    size.value = 3
    assert image.value != before
    assert told.value == ""


def test_what_an_experiment_refuses_is_told_and_the_next_is_drawn():
    (name,), told, image = parts(plots.sliders(draw, name=["a", "refused", "b"]))
    before = image.value
    name.value = "refused"
    assert told.value == "rate: expected &lt;more&gt;"
    assert image.value == before
    name.value = "b"
    assert told.value == ""
    assert image.value != before


def test_there_is_no_output_widget():
    """With one, nbconvert may wait for ever."""
    assert not any(isinstance(it, Output) for it in plots.sliders(draw, size=[1]).children)


@pytest.mark.parametrize(
    ("values", "told"),
    [({"colour": [1]}, "expected a parameter of draw: size, name"), ({"size": []}, "got none")],
)
def test_wrong_values_are_told(values, told):
    with pytest.raises(ValueError, match=told):
        plots.sliders(draw, **values)
