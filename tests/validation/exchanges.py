# SPDX-License-Identifier: GPL-2.0-only
"""Checks that are test cases of the program ``tunnelcc-tests``.

``exchanges`` of the endpoint are scripted by hand from RFCs and Linux's code: packets are lost and
delayed one by one, and what is sent in answer, and when, is known; the scripts are in
tests/models/transport/. ``programs`` compare with what real programs were captured and measured to
do (tests/models/fec/programs-test.cc). Which cases there are, and what became of each, is read from
ns-3's test runner.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tunnelcc.errors import RunError
from validation.check import Check, Group
from validation.compare import Judgement

PROGRAM = Path(__file__).parents[2] / "build/release/tunnelcc-tests"
#: Group → what it is called, and how the names of its suites begin.
GROUPS = {
    "exchanges": ("exchanges scripted by hand", "tunnelcc-transport-"),
    "programs": ("real programs, as captured and measured", "tunnelcc-programs-"),
}
_TIME_LIMIT = 300  # s, for a suite
_NAME_WORDS = 6
#: A case's description: what happens -> what is expected, when (source).
_DESCRIPTION = re.compile(
    r"(?P<condition>.+?) -> (?P<expected>.+?) "
    r"\((?P<source>(?:unlike )?(?:RFC \d|Linux |draft-|UDPspeeder ).*)\)"
)


@dataclass(frozen=True)
class AsScripted:
    """The case found ``expected`` and nothing but what its script has.

    ``failures``: what it found else.
    """

    expected: str
    failures: tuple[str, ...]

    @property
    def tolerance(self) -> str:
        return "none"

    def judge(self, values: Sequence[float]) -> Judgement:
        got = "; ".join(self.failures) or "as expected"
        return Judgement(got, not self.failures, values[0])


def group(name: str, program: Path = PROGRAM) -> Group:
    """Return the cases of one of GROUPS that ``program`` has, which is run for their outcome.

    Raises RunError if there is no such program, or it has no such cases.
    """
    title, suites = GROUPS[name]
    checks = tuple(_checks(name, program, suites)) if program.is_file() else ()
    if not checks:
        raise RunError(f"{program} has no suites {suites}…: `make models` builds it")
    return Group(name, title, checks)


def _checks(group: str, program: Path, suites: str) -> Iterator[Check]:
    taken: set[str] = set()
    for suite in _suites(program, suites):
        for case in _cases(program, suite):
            yield _check(group, suite.removeprefix(suites), *case, taken)


def _check(
    group: str, suite: str, description: str, failures: tuple[str, ...], taken: set[str]
) -> Check:
    condition, expected, source = described(description)
    words = re.findall(r"\w+(?:-\w+)*", condition.replace("'", "").lower())
    name = short = f"{group}/{suite}/{'-'.join(words[:_NAME_WORDS])}"
    number = 1
    while name in taken:
        number += 1
        name = f"{short}-{number}"
    taken.add(name)
    comparison = AsScripted(expected, failures)
    return Check(
        name, suite, source, condition, (), lambda runs: [float(len(failures))], comparison
    )


def described(description: str) -> tuple[str, str, str]:
    """Return what happens in a case, what is expected, and its source.

    Raises RunError if the description does not name them.
    """
    match = _DESCRIPTION.fullmatch(description)
    if match is None:
        raise RunError(f"{description!r}: expected 'what happens -> what is expected (source)'")
    return match["condition"], match["expected"], match["source"]


def _suites(program: Path, start: str) -> list[str]:
    return sorted(name for name in _run(program, "--list").split() if name.startswith(start))


def _cases(program: Path, suite: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each case's description and what was not as its script expects."""
    text = _run(program, f"--suite={suite}", "--xml", "--fullness=TAKES_FOREVER")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        raise RunError(f"{program.name} ended amid {suite}") from None
    for case in root.iter("Test"):
        if case is root or case.find("Test") is not None:
            continue
        failures = tuple(_failure(details) for details in case.iter("FailureDetails"))
        if case.findtext("Result") != "PASS" and not failures:
            failures = ("failed without details",)
        # The runner writes an apostrophe as a quotation mark.
        yield (case.findtext("Name") or "").strip().replace('"', "'"), failures


def _failure(details: ElementTree.Element) -> str:
    def text(tag: str) -> str:
        return " ".join((details.findtext(tag) or "").split())

    place = f"{Path(text('File')).name}:{text('Line')}"
    return f"{text('Actual')} for {text('Limit')} ({text('Message')}; {place})"


def _run(program: Path, *arguments: str) -> str:
    """Return what the program prints; it ends with 1 where a case fails."""
    try:
        return subprocess.run(
            [str(program.resolve()), *arguments],
            capture_output=True, check=False, encoding="utf-8", errors="replace",
            timeout=_TIME_LIMIT,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise RunError(f"{program.name} failed: {error}") from None
