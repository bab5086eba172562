# SPDX-License-Identifier: GPL-2.0-only
"""A router and a relay that are gateways, with two paths between them, for tests of carriers."""

from __future__ import annotations

from typing import Any

import tunnelcc as tc

FAR = {"rate": "1Gbps", "rtt": "1ms", "buffer": "2000p"}
PATHS = {"paths": ["dsl", "lte"]}


def links_with(
    dsl: tuple[str, str] = ("20Mbps", "20ms"), lte: tuple[str, str] = ("10Mbps", "40ms"), **cut: Any
) -> dict[str, Any]:
    """Return the links. ``cut``: further keys of ``dsl``."""

    def link(near: str, far: str, rate: str, rtt: str) -> dict[str, Any]:
        return {"between": [near, far], "rate": rate, "rtt": rtt, "buffer": "1bdp"}

    return {
        "lan": {"between": ["pc", "router"], **FAR},
        "dsl": link("router", "isp", *dsl) | cut,
        "dsl-far": {"between": ["isp", "relay"], **FAR},
        "lte": link("router", "mast", *lte),
        "lte-far": {"between": ["mast", "relay"], **FAR},
        "core": {"between": ["relay", "server"], **FAR},
    }


def flow_with(**keys: Any) -> dict[str, Any]:
    """Return a flow from the computer at the router to the server behind the relay."""
    return {"from": "pc", "to": "server", **keys}


def experiment_with(
    tunnel: dict[str, Any], *flows: dict[str, Any], links: dict[str, Any] | None = None, **keys: Any
) -> tc.Experiment:
    """Return an experiment whose tunnel is between router and relay. ``keys``: of its file."""
    table = {
        "network": {"links": links or links_with()},
        "tunnel": {"between": ["router", "relay"], **tunnel},
        "flows": [*flows] or [flow_with()],
        "duration": "15s", "warmup": "5s", **keys,
    }  # fmt: skip
    experiment: tc.Experiment = tc.Experiment.parse(table)
    return experiment


def run_with(*parts: Any, **keys: Any) -> Any:
    """Run such an experiment."""
    return tc.run(experiment_with(*parts, **keys))


def carriers_of(result: Any, flow: int = 0) -> list[Any]:
    """Return the legs of a flow that are paths of its carrier."""
    return [leg for leg in result.legs[flow] if leg.name.startswith("carrier")]
