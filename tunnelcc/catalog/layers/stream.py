# SPDX-License-Identifier: GPL-2.0-only
"""Layers around a byte stream: each makes a write larger.

A layer of packets that puts all data into frames may also wrap a stream.
"""

from dataclasses import asdict
from typing import Annotated, Any, ClassVar, cast

from pydantic import create_model

from tunnelcc.catalog.cited import Cited
from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import tag_of, whole

#: RFC 8449, section 4: no peer may ask for smaller records.
LEAST_PAYLOAD = 64
MOST_PAYLOAD = 2**24
Bytes = Annotated[int, whole(0, MOST_PAYLOAD)]
#: Bytes of a frame; 0: no limit.
FrameSize = Annotated[int, whole(LEAST_PAYLOAD, MOST_PAYLOAD, at_zero=True)]


class StreamLayer(Cited):
    """One encapsulation of a byte stream. The class names its specification."""

    title: ClassVar[str]  #: as people write it

    layer: str

    def adds(self) -> str:
        """Return what it adds to a write, in a few words."""
        raise AssertionError(f"{self.layer} does not say what it adds")

    def spec(self) -> dict[str, Any]:
        """Return its specification: the kind of its class in the models, and its numbers."""
        return {"kind": self.layer, **self.model_dump(exclude={*StreamLayer.model_fields})}


class Frames(StreamLayer):
    """A layer of packets around the frames of a stream."""

    max_payload: FrameSize = 0

    def adds(self) -> str:
        """Return the bytes of a frame outside its payload."""
        form = self._form()
        added = {form.size(payload) - payload for payload in range(1, form.block + 1)}
        size = str(min(added)) if len(added) == 1 else f"{min(added)} to {max(added)}"
        return (
            f"{size} B per frame of {f'≤ {self.max_payload} B' if self.max_payload else 'any size'}"
        )

    def spec(self) -> dict[str, Any]:
        """Return the form of its frames."""
        return {"kind": "frame", "max_payload": self.max_payload, **asdict(self._form())}

    def _form(self) -> Frame:
        return cast(FramedLayer, self).frame()  # whose class in_streams() makes it one of


def in_streams(layer: type[FramedLayer]) -> type[StreamLayer]:
    """Return the stream layer whose frames ``layer`` wraps."""
    bases: Any = (Frames, layer)
    tag: Any = layer.model_fields["layer"].annotation
    title: Any = ClassVar[str]
    name = f"{layer.__name__}Frames"
    made = create_model(
        name,
        __base__=bases,
        __doc__=layer.__doc__,
        layer=(tag, ...),
        title=(title, tag_of(layer)[1]),
    )
    globals()[name] = made  # where a worker, which gets an entry with it, looks for the class
    return cast("type[StreamLayer]", made)
