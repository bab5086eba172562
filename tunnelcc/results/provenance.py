# SPDX-License-Identifier: GPL-2.0-only
"""What made a run, for the place that each format of files has for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tunnelcc import catalog, core
from tunnelcc._version import __version__
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.network.resolved import ResolvedNetwork


def here() -> dict[str, str]:
    """Return the versions of this installation's package and models."""
    return {"tunnelcc": __version__, "models": core.model_version()}


def of(network: ResolvedNetwork) -> dict[str, Any]:
    """Return what makes a run of ``network`` here."""
    return {
        **here(),
        "kernel": kernels(network),
        "entries": {it.keys.name: _entry(it.keys) for it in network.tunnels},
        "seed": network.experiment.seed,
    }


def _entry(tunnel: Tunnel) -> str:
    """Return the version of a tunnel's entry; of a program also what stands for it."""
    like = catalog.stands_for(tunnel.name)
    return tunnel.entry.version + (f" like {like}" if like else "")


def kernels(network: ResolvedNetwork) -> str:
    """Return the profiles of the kernel that a run's hosts have: "6.18"; of several, in order."""
    return ", ".join(sorted({host.kernel for host in network.hosts.values()}))


def text(made: Mapping[str, Any]) -> str:
    """Return what made results as one line: ``tunnelcc 0.2.1, models 8, kernel 6.18, seed 1``.

    ``made``: ``Result.provenance``, or as much as is known of it.
    """
    entries = made.get("entries") or {}
    entries = json.loads(entries) if isinstance(entries, str) else entries  # of netCDF
    parts = [f"{it} {made[it]}" for it in ("tunnelcc", "models", "kernel") if made.get(it)]
    parts += [f"{name} {version}" for name, version in entries.items() if version]
    return ", ".join([*parts, *(f"{it} {made[it]}" for it in ("seed", "seeds") if it in made)])


def difference(made: Mapping[str, Any]) -> str:
    """Return how the versions that made results differ from this installation's; "": not at all.

    Versions that nobody knows differ, too: results have had them since 0.2.1.
    """
    versions = here()
    if all(made.get(it) == version for it, version in versions.items()):
        return ""
    told = text({it: made.get(it) for it in versions}) or "tunnelcc 0.2.1 or before"
    return f"made by {told}; this is {text(versions)}"
