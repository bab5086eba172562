# SPDX-License-Identifier: GPL-2.0-only
"""The costs of this machine as a table."""

from __future__ import annotations

from collections.abc import Mapping

from tunnelcc.apps.calibrate import calibrate
from tunnelcc.hosts import costs
from tunnelcc.hosts.costs import Profile
from tunnelcc.output.tables import Table, console


def print_profile(profile: Profile, spreads: Mapping[str, float]) -> None:
    """Print the costs of this machine next to the reference. Spreads are ratios."""
    out = console()
    out.print(profile.summary, style="bold", markup=False)
    reference = costs.load(costs.REFERENCE)
    rows = []
    for name, operation in profile.operations.items():
        cost = costs.of(profile, [name])
        rows.append((
            name, f"{operation.per_call:.0f}", f"{operation.per_byte:.3f}", f"{spreads[name]:.0%}",
            f"{cost(128):.0f}", f"{cost(1408):.0f}", f"{costs.of(reference, [name])(1408):.0f}",
        ))  # fmt: skip
    columns = (
        "operation", "ns per call", "ns per byte", "spread", "128 B", "1408 B", "reference, 1408 B"
    )  # fmt: skip
    Table("", columns, rows, range(1, len(columns))).print(out)
    for name, spread in spreads.items():
        if spread > calibrate.UNSTEADY:
            text = (
                f"Warning: {name} is {calibrate.unsteady(spread)}; measure again on an idle machine"
            )
            out.print(text, markup=False)
    missing = [name for name in costs.OPERATIONS if name not in profile.operations]
    if missing:
        out.print(f"Not measured; values of {costs.REFERENCE}: {', '.join(missing)}", markup=False)
