# SPDX-License-Identifier: GPL-2.0-only
"""Options of the whole test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write the results of the golden runs instead of comparing with them",
    )
    parser.addoption(
        "--fail-missing",
        action="store_true",
        help="fail, not skip, where a program that a test needs is not installed",
    )
