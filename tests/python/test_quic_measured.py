# SPDX-License-Identifier: GPL-2.0-only
"""QUIC against programs: rates (tests/validation/quic.py) and packets (quic-wire.csv)."""

from __future__ import annotations

from tunnelcc.validation import suite
from tunnelcc.validation.check import Group, Verdict
from validation import quic


def test_rates_are_those_that_programs_had():
    group = Group("programs", "programs", tuple(quic.checks()))
    report = suite.validate([group])
    wrong = [
        f"{it.check.name}: {it.judgement.got}, expected {it.check.comparison.expected}"
        for it in report.outcomes
        if it.verdict is Verdict.FAIL
    ]
    assert not wrong
