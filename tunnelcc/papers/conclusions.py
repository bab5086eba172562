# SPDX-License-Identifier: GPL-2.0-only
"""Sentences on what the runs say: each is computed, none is stored with the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunnelcc.papers import compare
from tunnelcc.papers.compare import Cell
from tunnelcc.papers.format import Claim, Variant
from tunnelcc.papers.simulate import Simulated


def sentences(simulated: Simulated) -> list[str]:
    """Return a few sentences on a comparison."""
    return [
        _verdicts(simulated),
        *(_claim(claim, simulated) for claim in simulated.comparison.claims),
        *_causes(simulated),
        *_counterfactuals(simulated),
        *_beside(simulated),
    ]


def _verdicts(simulated: Simulated) -> str:
    free = [cell for cell in simulated.cells if not cell.is_calibrated]
    fitted = [cell for cell in simulated.cells if cell.is_calibrated]
    good = sum(cell.fits for cell in free)
    text = (
        f"{good} of {len(free)} rows that nothing was fitted to are within "
        f"{100 * simulated.comparison.tolerance:g} % of the published value."
    )
    if fitted:
        count = sum(cell.fits for cell in fitted)
        text += (
            f" Of the {len(fitted)} rows that {_calibrated_key(simulated)} was calibrated on, "
            f"{count} fit{'s' if count == 1 else ''}; that shows nothing but the fit."
        )
    return text


def _calibrated_key(simulated: Simulated) -> str:
    calibration = simulated.comparison.calibration
    return calibration.key if calibration else ""


def _claim(claim: Claim, simulated: Simulated) -> str:
    over = compare.match(simulated.cells, {**claim.where, claim.axis: claim.over})
    under = compare.match(simulated.cells, {**claim.where, claim.axis: claim.under})
    published = compare.ratio_range(
        (a.published, b.published) for a, b in zip(over, under, strict=True)
    )
    simulation = compare.ratio_range((a.mean(), b.mean()) for a, b in zip(over, under, strict=True))
    cells = [*over, *under]
    return (
        f"{claim.text} ({claim.over} / {claim.under}: published {_range(published)}, "
        f"simulated {_range(simulation)}). {_limit(cells)}{_standing(cells)}"
    )


def _limit(cells: Sequence[Cell]) -> str:
    """What set the pace in these cells."""
    if all(cell.is_window_limited for cell in cells):
        return (
            "Congestion control cannot have mattered here, says the simulation: every carrier "
            "filled its receive window, and the bottleneck dropped nothing."
        )
    drops = [round(cell.mean("drops")) for cell in cells]
    lost = f"{min(drops)} to {max(drops)} packets a run" if max(drops) > 0 else "nothing"
    shares = [cell.mean("window_share") for cell in cells]
    return (
        f"Here the simulated bottleneck drops {lost}, and carriers "
        f"reach {_range((min(shares), max(shares)))} of their receive window at most."
    )


def _standing(cells: Sequence[Cell]) -> str:
    """How far the cells can be trusted with a claim."""
    if any(cell.is_calibrated for cell in cells):
        missed = sum(not cell.fits for cell in cells)
        text = " These rows served the calibration"
        return text + (
            f", and {missed} of {len(cells)} still do not fit: the model lacks what made the "
            "difference between the two."
            if missed
            else ", so that they prove nothing."
        )
    missed = sum(not cell.fits for cell in cells)
    if missed == 0:
        return ""
    text = f" {missed} of these {len(cells)} rows are" if missed > 1 else " One of these rows is"
    return text + " not reproduced, so that the simulation cannot judge the claim."


def _causes(simulated: Simulated) -> list[str]:
    baselines = _of_role(simulated, "baseline")
    causes = _of_role(simulated, "cause")
    if not baselines or not causes:
        return []
    rows = [(variant, explained_shares(simulated, cells)) for variant, cells in causes]
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
    return [f"{text} {_fitting(simulated, causes)}"]


def _fitting(simulated: Simulated, causes: Sequence[tuple[Variant, list[Cell]]]) -> str:
    """Which causes alone give which published values."""
    parts = []
    for variant, cells in causes:
        rows = [_row_name(simulated, cell) for cell in cells if cell.fits]
        if len(rows) == len(cells):
            rows = ["every row"]
        if rows:
            parts.append(f"{variant.title} ({'; '.join(rows)})")
    if not parts:
        return "None brings a row within the tolerance."
    return f"Alone within the tolerance: {'; '.join(parts)}."


def _row_name(simulated: Simulated, cell: Cell) -> str:
    return ", ".join(cell.columns[column] for column in simulated.comparison.axes)


def explained_shares(simulated: Simulated, cells: Sequence[Cell]) -> list[float]:
    """Return for each cell of a cause the share of the gap to the baseline that it closes."""
    shares = []
    for _, baseline in _of_role(simulated, "baseline"):
        for cell in cells:
            for base in baseline:
                if base.columns == cell.columns:
                    shares.append(compare.explained(base.mean(), cell.mean(), cell.published))
    return shares


def _of_role(simulated: Simulated, role: str) -> list[tuple[Variant, list[Cell]]]:
    return [item for item in simulated.variants if item[0].role == role]


def _common(variants: Sequence[tuple[Variant, list[Cell]]]) -> dict[str, str]:
    """What all these variants have in common."""
    common = dict(variants[0][0].where)
    for variant, _ in variants:
        common = {key: value for key, value in common.items() if variant.where.get(key) == value}
    return common


def _counterfactuals(simulated: Simulated) -> list[str]:
    texts = []
    for variant, cells in _of_role(simulated, "counterfactual"):
        parts = []
        for cell in cells:
            (base,) = [it for it in simulated.cells if it.columns == cell.columns]
            parts.append(
                f"{_row_name(simulated, cell)}: {cell.show(cell.mean())} instead of "
                f"{cell.show(base.mean())} {cell.unit}, published {cell.show(cell.published)}"
            )
        texts.append(f"What if: {variant.title}. {'; '.join(parts)}.")
    return texts


def _beside(simulated: Simulated) -> list[str]:
    texts = []
    for beside in simulated.comparison.beside:
        published = [row.value for row in simulated.paper.rows if row.metric == beside.published]
        parts = [f"published {min(published):g} to {max(published):g}"]
        for measure in beside.simulated:
            values = [cell.mean(measure) for cell in simulated.cells]
            parts.append(f"simulated {measure} {min(values):.0f} to {max(values):.0f}")
        texts.append(f"{beside.published}: {', '.join(parts)}.")
    return texts


def _range(bounds: tuple[float, float]) -> str:
    low, high = (f"{bound:.2f}" for bound in bounds)
    return low if low == high else f"{low}–{high}"


def _percent_range(shares: Sequence[float]) -> str:
    known = [share for share in shares if not math.isnan(share)]
    low, high = compare.percent(min(known)), compare.percent(max(known))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
