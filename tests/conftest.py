# SPDX-License-Identifier: GPL-2.0-only
"""Options of the whole test run."""

from __future__ import annotations

import pytest

from helpers import replace_words


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
    parser.addoption(
        "--tokens",
        action="store_true",
        help="replace every sentence by a token, and leave out the tests that look at words",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tokens"):
        replace_words(setattr)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--tokens"):
        return
    of_words = pytest.mark.skip(reason="it looks at words")
    for item in items:
        names = {*getattr(item, "fixturenames", ())}
        if names & {"run", "refusal", "capsys", "message"} or item.get_closest_marker("words"):
            item.add_marker(of_words)
