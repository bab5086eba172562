# SPDX-License-Identifier: GPL-2.0-only
"""The E-model, against values of its source and by hand."""

from __future__ import annotations

import pytest

from tunnelcc.metrics import voice


def test_without_impairment_it_is_the_default_rating():
    assert voice.rating(0.1, 0) == pytest.approx(93.2)
    assert voice.mean_opinion_score(0.1, 0) == pytest.approx(4.41, abs=0.005)


@pytest.mark.parametrize(("delay", "impairment"), [(0.15, 0.16), (0.2, 3.04), (0.4, 24.07)])
def test_delay_impairs_as_the_equations_by_hand(delay, impairment):
    assert 93.2 - voice.rating(delay, 0) == pytest.approx(impairment, abs=0.1)


def test_loss_impairs_as_its_equation():
    assert voice.rating(0.1, 0.05) == pytest.approx(93.2 - 95 * 5 / (5 + 25.1))


def test_it_stays_between_its_bounds():
    assert voice.mean_opinion_score(10, 1) == 1
    scores = [voice.mean_opinion_score(0.1, loss / 100) for loss in range(100)]
    assert scores == sorted(scores, reverse=True)
