# SPDX-License-Identifier: GPL-2.0-only
"""Sliders in a notebook draw their figure again."""

from __future__ import annotations

import struct

import pytest
from ipywidgets import HTML, Box, Image, Output, SelectionSlider
from matplotlib.figure import Figure

from tunnelcc import plots
from tunnelcc.errors import ConfigError


def draw(size=2, name="a"):
    if name == "refused":
        raise ConfigError("rate: expected <more>")
    figure = Figure(figsize=(size, 1))
    figure.subplots().set_title(name)
    return figure


def parts(box: Box) -> tuple[list[SelectionSlider], HTML, Image]:
    side, image = box.children
    *controls, told = side.children
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
    controls, told, image = parts(plots.sliders(draw, size=[1]))
    assert not any(isinstance(it, Output) for it in (*controls, told, image))


@pytest.mark.parametrize("height", [3, 8])
def test_a_figure_is_sharp_not_stretched_and_fits_on_a_laptop(height):
    """Two pixels of the image or more for a pixel of the page, in both directions alike."""
    _, _, image = parts(plots.sliders(lambda a=1: Figure(figsize=(5.6, height)), a=[1]))
    shown = [float(it.removesuffix("px")) for it in (image.layout.width, image.layout.height)]
    pixels = struct.unpack(">II", image.value[16:24])
    assert min(of / at for of, at in zip(pixels, shown, strict=True)) > 1.99
    assert pixels[0] / pixels[1] == pytest.approx(shown[0] / shown[1], rel=0.01)
    assert shown[1] <= 480


@pytest.mark.parametrize(
    ("values", "told"),
    [({"colour": [1]}, "expected a parameter of draw: size, name"), ({"size": []}, "got none")],
)
def test_wrong_values_are_told(values, told):
    with pytest.raises(ValueError, match=told):
        plots.sliders(draw, **values)
