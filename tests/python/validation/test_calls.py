# SPDX-License-Identifier: GPL-2.0-only
"""Calls, iperf3 and ping in tunnel programs: what is compared, and that errors are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from validation import calls, reference, suite
from validation.check import Group, Kind, Verdict

CHECKS = {check.name: check for check in calls.checks()}


def _judge(check):
    report = suite.validate([Group("programs", "some", (check,))], seeds=1)
    return report.outcomes[0].verdict


def test_a_wrong_number_is_noticed():
    check = CHECKS["programs/call-p50/wireguard/call-beside-1-cubic/40ms-4bdp-0%"]
    assert check.kind is Kind.CELL
    assert _judge(check) is Verdict.PASS
    wrong = replace(check.comparison, target=1.12 * check.comparison.target)
    assert _judge(replace(check, comparison=wrong)) is Verdict.MISS


def test_every_program_is_compared():
    assert {name.split("/")[2] for name in CHECKS} == {"none", *_measured()}


def _measured():
    return {cell.tunnel for cell in reference.call_cells()} - {"none"}


@pytest.mark.parametrize("key", ["ping-p95", "call-p95", "iperf-loss"])
def test_chance_decides_nothing_where_the_link_alone_loses(key):
    named = [name for name in CHECKS if f"/{key}/" in name]
    assert named
    assert not any("call-beside-alone" in name for name in named)
