# SPDX-License-Identifier: GPL-2.0-only
"""Sentences on what the runs say: each is computed, none is stored with the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tunnelcc.papers import compare
from tunnelcc.papers.claims import Judged, span
from tunnelcc.papers.compare import Cell, Point, Reproduction, Simulated, weigh
from tunnelcc.papers.format import Variant
from tunnelcc.papers.published import UNITS


def sentences(reproduction: Reproduction) -> list[str]:
    """Return a few sentences on a figure."""
    simulated = reproduction.simulated
    return [
        *_numbers(simulated),
        *(_claim(judged, simulated) for judged in simulated.claims),
        *_readings(reproduction),
        *_causes(reproduction),
        *_counterfactuals(reproduction),
        *_evidence(reproduction),
        *(f"Not testable: {it.text}. {it.reason}." for it in simulated.figure.untestable),
    ]


def _numbers(simulated: Simulated) -> list[str]:
    good, count, _, _ = simulated.counts
    fitted = [cell for cell in simulated.judged if cell.is_calibrated]
    texts = []
    if count:
        were = "was" if count == 1 else "were"
        texts.append(
            f"{good} of {count} published number{'s' if count > 1 else ''} that nothing was "
            f"fitted to {were} met within the tolerance."
        )
    if fitted:
        calibration = simulated.figure.calibration
        key = calibration.key if calibration else ""
        fits = sum(cell.fits for cell in fitted)
        texts.append(
            f"Of the {len(fitted)} that {key} was calibrated on, {fits} "
            f"fit{'s' if fits == 1 else ''}; that shows nothing but the fit."
        )
    return [" ".join(texts)] if texts else []


def _claim(judged: Judged, simulated: Simulated) -> str:
    word = "Holds" if judged.holds else "Does not hold"
    text = f"{word}: {judged.claim.text} ({judged.got})."
    if judged.claim.kind not in ("ratio", "order", "larger"):
        return text
    ends = (judged.claim.over, judged.claim.under)
    points = [
        point
        for point in judged.points
        if judged.claim.axis is None or point.axes[judged.claim.axis] in ends
    ]
    standing = _standing(points, simulated) if judged.claim.kind == "ratio" else ""
    return f"{text} {_limit(points)}{standing}"


def _limit(points: Sequence[Point]) -> str:
    """What set the pace in these points."""
    if all(point.is_window_limited for point in points):
        return (
            "Congestion control cannot have mattered here, says the simulation: every carrier "
            "filled its receive window, and the bottleneck dropped nothing."
        )
    drops = [round(point.mean("drops")) for point in points]
    lost = f"{min(drops)} to {max(drops)} packets a run" if max(drops) > 0 else "nothing"
    shares = [point.mean("window_share") for point in points]
    return (
        f"Here the simulated bottleneck drops {lost}, and the flows "
        f"fill {span(shares)} of their receive window half of the time."
    )


def _standing(points: Sequence[Point], simulated: Simulated) -> str:
    """How far the points can be trusted with a claim about published numbers."""
    cells = [cell for cell in simulated.judged if any(cell.point is it for it in points)]
    missed = sum(not cell.fits for cell in cells)
    if any(cell.is_calibrated for cell in cells):
        text = " These rows served the calibration"
        return text + (
            f", and {missed} of {len(cells)} still do not fit: the model lacks what made the "
            "difference between the two."
            if missed
            else ", so that they prove nothing."
        )
    if missed == 0:
        return ""
    text = f" {missed} of these {len(cells)} rows are" if missed > 1 else " One of these rows is"
    return text + " not reproduced, so that the simulation cannot judge the claim."


def _readings(reproduction: Reproduction) -> list[str]:
    texts = []
    for question in {it.id: it for it, _, _ in reproduction.readings}.values():
        parts = []
        for asked, reading, simulated in reproduction.readings:
            if asked.id == question.id:
                good, count, held, claims = simulated.counts
                taken = ", as simulated" if reading.settings is None else ""
                counts = f"{good} of {count} numbers, {held} of {claims} claims"
                parts.append(f"{reading.title}{taken}: {simulated.verdict} ({counts})")
        texts.append(f"{question.text} {'; '.join(parts)}.")
    return texts


def _causes(reproduction: Reproduction) -> list[str]:
    causes = reproduction.of_role("cause")
    if not reproduction.of_role("baseline") or not causes:
        return []
    rows = [(variant, explained_shares(reproduction, points)) for variant, points in causes]
    nothing = [variant.title for variant, shares in rows if max(map(abs, shares), default=0) < 0.1]
    strong = [
        f"{variant.title}: {_percent_range(shares)}"
        for variant, shares in rows
        if variant.title not in nothing
    ]
    where = ", ".join(f"{value} {column}" for column, value in _common(causes).items())
    text = f"Candidate causes alone ({where}), share of the gap that each closes: "
    text += "; ".join(strong) + "." if strong else "none closes a tenth of it."
    if nothing:
        text += f" Less than 10 %: {'; '.join(nothing)}."
    return [f"{text} {_fitting(reproduction, causes)}"]


def _fitting(reproduction: Reproduction, causes: Sequence[tuple[Variant, list[Point]]]) -> str:
    """Which causes alone give which published values."""
    parts = []
    for variant, points in causes:
        cells = variant_cells(reproduction.simulated, points)
        rows = [_name(cell.point) for cell in cells if cell.fits]
        if len(rows) == len(cells):
            rows = ["every row"]
        if rows:
            parts.append(f"{variant.title} ({'; '.join(rows)})")
    if not parts:
        return "None brings a row within the tolerance."
    return f"Alone within the tolerance: {'; '.join(parts)}."


def _name(point: Point) -> str:
    return ", ".join(point.axes.values()) or "the figure"


def variant_cells(simulated: Simulated, points: Sequence[Point]) -> list[Cell]:
    """Return the judged cells of a variant's points."""
    return Simulated(simulated.paper, simulated.figure, list(points)).judged


def explained_shares(reproduction: Reproduction, points: Sequence[Point]) -> list[float]:
    """Return for each cell of a cause the share of the gap to the baseline that it closes."""
    simulated = reproduction.simulated
    baselines = [
        cell
        for _, members in reproduction.of_role("baseline")
        for cell in variant_cells(simulated, members)
    ]
    return [
        compare.explained(base.mean, cell.mean, cell.published)
        for cell in variant_cells(simulated, points)
        for base in baselines
        if base.row is cell.row and base.point.axes == cell.point.axes
    ]


def _common(variants: Sequence[tuple[Variant, list[Point]]]) -> dict[str, str]:
    """What all these variants have in common."""
    common: Mapping[str, str] = variants[0][0].where
    for variant, _ in variants:
        common = {key: value for key, value in common.items() if variant.where.get(key) == value}
    return dict(common)


def _counterfactuals(reproduction: Reproduction) -> list[str]:
    texts = []
    for variant, points in reproduction.of_role("counterfactual"):
        parts = [
            f"{', '.join((*it.point.axes.values(), it.name))}: {it.show(it.value)} instead of "
            f"{it.show(it.instead_of)} {it.unit}"
            + (f", published {it.published}" if it.published else "")
            for it in changes(reproduction, points)
        ]
        texts.append(f"What if: {variant.title}. {'; '.join(parts)}.")
    return texts


@dataclass(frozen=True)
class Change:
    """A number of a variant and what it is without; SI, shown in ``unit``."""

    point: Point
    name: str
    unit: str
    published: str  # empty: none
    value: float
    instead_of: float

    def show(self, value: float) -> str:
        """Write a value in the unit."""
        return f"{value / UNITS[self.unit]:.4g}"


def changes(reproduction: Reproduction, points: Sequence[Point]) -> list[Change]:
    """Return what a variant changes: the judged numbers, else every quantity."""
    simulated = reproduction.simulated
    found = []
    for cell in variant_cells(simulated, points):
        base = _same(cell.point, simulated).mean(cell.compared.quantity)
        name, text = cell.row.metric.replace("_", " "), str(cell.row.published)
        found.append(Change(cell.point, name, cell.unit, text, cell.mean, base))
    for point in points if not found else ():
        for name, quantity in simulated.figure.quantities.items():
            base = _same(point, simulated).mean(name)
            title = quantity.title or name.replace("_", " ")
            found.append(Change(point, title, quantity.shown_in, "", point.mean(name), base))
    return found


def _same(point: Point, simulated: Simulated) -> Point:
    (same,) = (it for it in simulated.points if it.axes == point.axes)
    return same


def _evidence(reproduction: Reproduction) -> list[str]:
    simulated, texts = reproduction.simulated, []
    for evidence in simulated.figure.evidence:
        weighed = weigh(evidence, reproduction)
        quantity = simulated.figure.quantities[evidence.quantity]
        value = f"{weighed.simulated / UNITS[quantity.shown_in]:.3g}"
        texts.append(
            f"{quantity.title or evidence.quantity}: paper {evidence.published}, simulated "
            f"{value}, measured elsewhere {evidence.measured} ({evidence.source}): "
            f"{weighed.verdict}. {evidence.reason}"
        )
    return texts


def _percent_range(shares: Sequence[float]) -> str:
    known = [share for share in shares if not math.isnan(share)]
    low, high = compare.percent(min(known)), compare.percent(max(known))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
