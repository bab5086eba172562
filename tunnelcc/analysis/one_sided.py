# SPDX-License-Identifier: GPL-2.0-only
"""Queue disciplines that one direction of a link has, where data cross both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tunnelcc.config.queue import DropTail
from tunnelcc.network.topology import Step

if TYPE_CHECKING:
    from tunnelcc.network.resolved import ResolvedNetwork
    from tunnelcc.network.topology import ResolvedLink


class OneSided(NamedTuple):
    """A discipline, ``queue``, that ``key`` gives to data that go to the host ``end``.

    Data to ``other_end`` wait in a drop-tail queue, which ``other_key`` changes.
    """

    key: str
    queue: str
    end: str
    other_end: str
    other_key: str


def of_links(network: ResolvedNetwork) -> Iterator[OneSided]:
    """Yield which links have a discipline in one direction, and nothing said of the other.

    ``path.queue`` and the keys of a link describe its first direction. Users who give it a queue
    discipline may expect it in both.
    """
    crossed = {
        step
        for placed in (*network.flows, *network.cross_traffic)
        for step, share in placed.traffic.loads.items()
        if share > 0
    }
    for name, link in network.topology.links.items():
        for is_reverse in (False, True):
            queue, other = link.direction(is_reverse).queue, link.direction(not is_reverse)
            if (
                {Step(name, False), Step(name, True)} <= crossed
                and not isinstance(queue, DropTail)
                and isinstance(other.queue, DropTail)
                and other.rate is not None
                and not _is_stated(link, not is_reverse)
            ):
                start, end = link.ends[::-1] if is_reverse else link.ends
                keys = [f"{link.key}.{'reverse.' if it else ''}queue" for it in (False, True)]
                yield OneSided(keys[is_reverse], queue.name, end, start, keys[not is_reverse])


def _is_stated(link: ResolvedLink, is_reverse: bool) -> bool:
    """Whether the table of a direction gives its queue."""
    table = link.path.reverse if is_reverse else link.path
    return table is not None and "queue" in table.model_fields_set
