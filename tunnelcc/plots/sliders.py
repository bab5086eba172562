# SPDX-License-Identifier: GPL-2.0-only
"""Sliders in a notebook that draw a figure again."""

from __future__ import annotations

import html
import inspect
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import TunnelccError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sliders(draw: Callable[..., Figure], **values: Sequence[Any]) -> Any:
    """Show a figure with a slider for each of its parameters.

    Whenever a slider is released, ``draw`` is called again. It needs ipywidgets, and a notebook
    whose kernel runs.

    :param draw: returns the figure
    :param values: by the name of a parameter of ``draw``, the values that its slider has. It starts
        at the parameter's default, or at the first value
    :returns: the widget, an ipywidgets.VBox
    :raises ValueError: ``draw`` has no such parameter, or there are no values
    """
    # Not with interact(): its Output widget makes nbclient, which nbconvert runs notebooks with,
    # wait for ever. It sends what that widget shows on the socket on which it waits for the cell's
    # end, through a second object for the socket (Session.send of jupyter_client). Then asyncio may
    # never hear of the end, because ZeroMQ announces once that there is something to read (ZMQ_FD).
    from ipywidgets import HTML, Image, SelectionSlider, VBox

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
        )
    image, told = Image(format="png"), HTML()

    def update(_: object = None) -> None:
        told.value = "Running"
        try:
            figure = draw(**{name: control.value for name, control in controls.items()})
        except TunnelccError as error:
            told.value = html.escape(str(error))
            return
        content = io.BytesIO()
        figure.savefig(content, format="png", bbox_inches="tight")
        image.value = content.getvalue()
        told.value = ""

    for control in controls.values():
        control.observe(update, "value")
    update()
    return VBox([*controls.values(), told, image])
