# SPDX-License-Identifier: GPL-2.0-only
"""Sliders in a notebook that draw a figure again."""

from __future__ import annotations

import html
import inspect
import io
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import TunnelccError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: CSS pixels in an inch, and pixels of the image for each: sharp on screens of two densities.
_PER_INCH, _DENSITY = 96, 2
#: CSS pixels. Of a screen of 1366 × 768, Jupyter Lab in a browser leaves some 530 to a notebook.
_HIGHEST = 480


def sliders(draw: Callable[..., Figure], **values: Sequence[Any]) -> Any:
    """Show a figure with a slider for each of its parameters.

    Whenever a slider is released, ``draw`` is called again. Sliders and figure stand side by side,
    and on a narrow page one above the other. A figure that is higher than a laptop's screen leaves
    room for is drawn smaller. It needs ipywidgets, and a notebook whose kernel runs.

    :param draw: returns the figure
    :param values: by the name of a parameter of ``draw``, the values that its slider has. It starts
        at the parameter's default, or at the first value
    :returns: the widget, an ipywidgets.Box of the sliders and the figure
    :raises ValueError: ``draw`` has no such parameter, or there are no values
    """
    # Not with interact(): its Output widget makes nbclient, which nbconvert runs notebooks with,
    # wait for ever. It sends what that widget shows on the socket on which it waits for the cell's
    # end, through a second object for the socket (Session.send of jupyter_client). Then asyncio may
    # never hear of the end, because ZeroMQ announces once that there is something to read (ZMQ_FD).
    from ipywidgets import HTML, Box, Image, SelectionSlider, VBox

    parameters = inspect.signature(draw).parameters
    controls = {}
    for name, of in values.items():
        if name not in parameters:
            raise ValueError(f"{name}: expected a parameter of draw: {', '.join(parameters)}")
        options = list(of)
        if not options:
            raise ValueError(f"{name}: expected values for its slider, got none")
        first = parameters[name].default
        controls[name] = SelectionSlider(
            options=options,
            value=first if first in options else options[0],
            description=name.replace("_", " "),
            continuous_update=False,
            style={"description_width": "6em"},
        )
    whole = {"max_width": "100%", "object_fit": "contain"}  # not stretched on a narrow page
    image, told = Image(format="png", layout={"align_self": "flex-start", **whole}), HTML()

    def update(_: object = None) -> None:
        told.value = "Running"
        try:
            figure = draw(**{name: control.value for name, control in controls.items()})
        except TunnelccError as error:
            told.value = html.escape(str(error))
            return
        content = io.BytesIO()
        dpi = _DENSITY * _PER_INCH
        figure.savefig(content, format="png", bbox_inches="tight", dpi=dpi)
        image.value = content.getvalue()
        width, height = struct.unpack(">II", image.value[16:24])  # of PNG's first chunk, IHDR
        shown = min(1 / _DENSITY, _HIGHEST / height)
        image.layout.width, image.layout.height = (f"{it * shown:.0f}px" for it in (width, height))
        told.value = ""

    for control in controls.values():
        control.observe(update, "value")
    update()
    side = VBox([*controls.values(), told], layout={"min_height": "8em"})
    return Box([side, image], layout={"flex_flow": "row wrap"})
