# SPDX-License-Identifier: GPL-2.0-only
"""Options of the whole test run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from helpers import replace_words
from needs import NEEDS

_LEFT_OUT = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write the results of the golden runs instead of comparing with them",
    )
    parser.addoption(
        "--fail-missing",
        action="store_true",
        help="fail where something that a test needs (tests/needs.py) is missing",
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
    _leave_out(config, items)
    if not config.getoption("--tokens"):
        return
    of_words = pytest.mark.skip(reason="it looks at words")
    for item in items:
        names = {*getattr(item, "fixturenames", ())}
        if names & {"run", "refusal", "capsys", "message"} or item.get_closest_marker("words"):
            item.add_marker(of_words)


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need what is not here."""
    left, kept = Counter[str](), list[pytest.Item]()
    for item in items:
        marks = {it.args[0] for it in item.iter_markers("needs")}
        needed = {*getattr(item, "fixturenames", ()), *marks} & NEEDS.keys()
        lacking = next((it for it in sorted(needed) if not NEEDS[it].is_there()), "")
        if lacking and config.getoption("--fail-missing") and NEEDS[lacking].in_all:
            raise pytest.UsageError(f"{item.nodeid} needs {lacking}: {NEEDS[lacking].command}")
        if lacking:
            left[lacking] += 1
        else:
            kept.append(item)
    items[:] = kept
    config.stash[_LEFT_OUT] = left


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left out", {}))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say at the very end what was left out, and what runs it."""
    if not hasattr(config, "workerinput"):
        for name, count in sorted(config.stash.get(_LEFT_OUT, Counter()).items()):
            print(f"left out: {count} that need {name}: {NEEDS[name].command}")
