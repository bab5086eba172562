# SPDX-License-Identifier: GPL-2.0-only
"""What people use a tunnel for: the traffic, and the number that says how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.words.quantities import LONG_TIME, PERCENT, PLAIN, RATE, Scale

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Goal:
    """A use. ``flows``: its traffic. ``metric``: what counts, of ``flow`` if it is one of several.

    ``is_higher``: whether more is better. ``cc_key``: the key of the congestion control that is
    compared. ``scale``: in which the metric is shown.
    """

    words: str
    metric: str
    is_higher: bool
    scale: Scale
    flows: Sequence[Mapping[str, Any]]
    cc_key: str = "cc"
    flow: int | None = None

    def are_better(self, values: Any, than: Any) -> Any:
        """Whether values, numbers or arrays, are better than others by a part that counts."""
        gain = values / than if self.is_higher else than / values
        return gain > 1 + _HELPS


# Less than this gain is none, as in ``running.confirm``.
_HELPS = 0.05
#: The metric of a mix, which is computed from those of its parts.
MIX = "mix"
_CALL = {"transport": "udp", "traffic": "call"}
# Of a call that loses nothing and waits for nothing: mean opinion scores end at 1 and here.
_WORST, _BEST = 1.0, 4.41
_PAGE = 500_000  # bytes
_PAGES = {"bytes": f"{_PAGE}B", "count": 16, "interarrival": "500ms", "start": "1s"}

GOALS = {
    "bulk": Goal("one long transfer", "goodput", True, RATE, ({},)),
    "short": Goal(
        "pages of 500 kB, one each 500 ms in the mean: time until a page is there",
        "flow_completion_time", False, LONG_TIME,
        (_PAGES,),
    ),
    "call": Goal(
        "a call over UDP beside a long transfer: its mean opinion score, from 1 to 4.4",
        "flow_mos", True, PLAIN,
        (_CALL, {}), flow=0,
    ),
    "mix": Goal(
        "a long transfer, pages and a call together: how near each is to what the idle path gives, "
        "as their geometric mean",
        MIX, True, PERCENT, (_CALL, {}, _PAGES),
    ),
    "fair": Goal(
        "a long transfer beside a neighbour's CUBIC flow without a tunnel: the neighbour's goodput",
        "flow_goodput", True, RATE, ({}, {"cc": "cubic", "tunnel": "none"}),
        "flows.0.cc", 1,
    ),
}  # fmt: skip

#: Compared unless others are named.
TUNNELS = (
    "none", "wireguard", "openvpn-udp", "openvpn-tcp", "openvpn-tcp cc=bbr", "gost-relay-wss",
    "gost-relay-mwss", "gost-quic", "hysteria2", "kcptun", "ssh-forward",
)  # fmt: skip
CONGESTION_CONTROLS = ("cubic", "bbr")


def with_mix(results: xarray.Dataset, rate: float, rtt: float, duration: float) -> xarray.Dataset:
    """Return results of the goal ``mix`` with its metric: 1 is what each part has alone.

    The transfer's part of ``rate`` (bit/s, where the results have no other); the time that a page
    takes on the idle path, 2 RTT and its bytes at that rate, to the mean that it takes; and the
    call's mean opinion score, from 1 to that of an idle path. A page that is not there at the end
    takes until then.
    """
    rate = results.coords.get("path.rate", rate)
    rtt = results.coords.get("path.rtt", rtt)
    pages = results.isel(flow=slice(2, None))
    times = pages["flow_completion_time"].fillna(duration - pages["flow_start"]).mean("flow")
    opinion = results["flow_mos"].isel(flow=0)
    parts = (
        results["flow_goodput"].isel(flow=1) / rate,
        (2 * rtt + 8 * _PAGE / rate) / times,
        (opinion - _WORST).clip(0.01) / (_BEST - _WORST),
    )
    product = parts[0] * parts[1] * parts[2]
    attributes = {"units": "1", "long_name": "nearness of a mix to the idle path"}
    value = (product ** (1 / 3)).transpose(*results["goodput"].dims).assign_attrs(attributes)
    found: xarray.Dataset = results.assign({MIX: value.where(np.isfinite(results["goodput"]))})
    return found
