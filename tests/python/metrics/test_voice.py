# SPDX-License-Identifier: GPL-2.0-only
"""The E-model, against values of its source and by hand."""

from __future__ import annotations

import math

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


# ITU-T G.107, table B.1: the provisional guide from R to MOS.
@pytest.mark.parametrize(
    ("rating", "score"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)]
)
def test_scores_of_ratings_are_those_of_the_standard(rating, score, monkeypatch):
    monkeypatch.setattr(voice, "rating", lambda *_: rating)
    assert voice.mean_opinion_score(0, 0) == pytest.approx(score, abs=0.007)


def test_up_to_a_tenth_of_a_second_delay_does_not_impair():
    assert voice.rating(0.1, 0) == pytest.approx(93.2)
    x = math.log2(1.1)  # G.107, equations 7-27 and 7-28
    impairment = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    assert 93.2 - voice.rating(0.11, 0) == pytest.approx(impairment)
    assert impairment > 0


def test_it_stays_between_its_bounds():
    assert voice.rating(10, 1) == 0
    assert voice.mean_opinion_score(10, 1) == 1
    scores = [voice.mean_opinion_score(0.1, loss / 100) for loss in range(100)]
    assert scores == sorted(scores, reverse=True)
