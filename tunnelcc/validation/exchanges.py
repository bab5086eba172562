# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the endpoint against exchanges scripted by hand from RFCs and Linux's code.

Packets are lost and delayed one by one, and what is sent in answer, and when, is known. The
scripts are test cases in tests/models/transport-*-test.cc; the program ``tunnelcc-tests`` that
holds them is built in the source tree and is not part of the installed package. Which cases there
are, and what became of each, is read from ns-3's test runner in it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tunnelcc.errors import ConfigError, Problem, RunError
from tunnelcc.validation.check import Check, not_run
from tunnelcc.validation.compare import Judgement

_SUITES = "tunnelcc-transport-"
_TIME_LIMIT = 300  # s, for a suite
_NAME_WORDS = 6
_SOURCE_IN_NAME = re.compile(r"\s*\((RFC [^)]*|Linux [^)]*|\w+\(\)[^)]*)\)$")

#: What a case's description speaks of → metric, source. The first that fits counts.
_TOPICS = tuple(
    (re.compile(pattern, re.IGNORECASE), metric, source)
    for pattern, metric, source in (
        (r"brute-force", "bookkeeping", "RFC 2018, done by brute force"),
        (r"lost retransmissions go first", "RACK-TLP",
         "models/deviations.md: Linux tcp_xmit_retransmit_queue() goes by sequence"),
        (r"F-RTO|spurious time-?out", "undo", "RFC 5682; Linux tcp_process_loss()"),
        (r"eifel", "undo", "RFC 3522, 4015; Linux tcp_try_undo_recovery()"),
        (r"undo|undone", "undo", "RFC 2883, 3708; Linux tcp_try_undo_*()"),
        (r"D-SACK", "RACK-TLP", "RFC 2883; RFC 8985, section 6.2; Linux tcp_dsack_seen()"),
        (r"PRR", "PRR", "RFC 9937; Linux tcp_cwnd_reduction()"),
        (r"duplicate ACKs|compress", "ACKs",
         "Linux __tcp_ack_snd_check(), tcp_compressed_ack_kick()"),
        (r"quick ACK|delayed ACK|answer carries|PSH", "ACKs",
         "RFC 5681, section 4.2; Linux __tcp_ack_snd_check(), tcp_event_data_recv()"),
        (r"RACK|\bholes?\b|reordering|lost retransmission", "RACK-TLP",
         "RFC 8985, section 6; Linux tcp_recovery.c"),
        (r"may have been delayed", "rate samples", "Linux tcp_clean_rtx_queue()"),
        (r"window (update|probe)|probes back off|closed window", "flow control",
         "RFC 9293, section 3.8.6; Linux tcp_send_probe0()"),
        (r"slow reader|first window", "flow control",
         "RFC 9293, section 3.8.6; Linux __tcp_select_window()"),
        (r"send buffer|writer", "flow control", "Linux sk_stream_write_space()"),
        (r"probe", "RACK-TLP", "RFC 8985, section 7; Linux tcp_send_loss_probe()"),
        (r"SYN|handshake|FIN", "connection", "RFC 9293, section 3.5; RFC 6298, section 5"),
        (r"time-?out|RTO|timer|variance", "RTO",
         "RFC 6298; Linux tcp_rtt_estimator(), tcp_rearm_rto()"),
        (r"runs are remembered|run of segments", "SACK", "RFC 2018; Linux tcp_sack_new_ofo_skb()"),
        (r"Nagle|backlog|burst of four", "sending", "RFC 896, 9293; Linux tcp_write_xmit()"),
        (r"pacing", "pacing", "Linux tcp_update_skb_after_send()"),
        (r"rate sample|delivery-rate|transmission is announced|each loss", "rate samples",
         "draft-cheng-iccrg-delivery-rate-estimation; Linux tcp_rate.c"),
    )
)  # fmt: skip
_OTHER = ("exchange", "RFC 9293; Linux")


@dataclass(frozen=True)
class AsScripted:
    """The case found nothing but what its script expects; ``failures``: what it found else."""

    failures: tuple[str, ...]

    @property
    def expected(self) -> str:
        return "as scripted"

    @property
    def tolerance(self) -> str:
        return "none"

    def judge(self, values: Sequence[float]) -> Judgement:
        return Judgement("; ".join(self.failures) or "as scripted", not self.failures, values[0])


def checks(program: Path | None) -> Iterator[Check]:
    """Yield the checks of the group; ``program``: tunnelcc-tests, which is run."""
    if program is None:
        reason = "needs tunnelcc-tests of the source tree: `make validate`"
        yield not_run("exchanges", "exchanges", "RFCs and Linux", "scripted exchanges", reason)
        return
    taken: set[str] = set()
    for suite in _suites(program):
        for case in _cases(program, suite):
            yield _check(suite.removeprefix(_SUITES), *case, taken)


def check_program(program: Path) -> None:
    """Raise ConfigError if there is no such program, or it has no scripted exchanges."""
    if not program.is_file() or not _suites(program):
        expected = "the program tunnelcc-tests, which `make models` builds"
        raise ConfigError(Problem("--tests", str(program), expected))


def _check(suite: str, description: str, failures: tuple[str, ...], taken: set[str]) -> Check:
    text, metric, source = described(description)
    words = re.findall(r"\w+(?:-\w+)*", text.replace("'", "").lower())
    name = short = f"exchanges/{suite}/{'-'.join(words[:_NAME_WORDS])}"
    number = 1
    while name in taken:
        number += 1
        name = f"{short}-{number}"
    taken.add(name)
    return Check(
        name, metric, source, text, (), lambda runs: [float(len(failures))], AsScripted(failures)
    )


def described(description: str) -> tuple[str, str, str]:
    """Return the description without its source, its metric, and the source.

    A source in parentheses at the end of the description comes before the table's.
    """
    metric, source = next(
        ((metric, source) for pattern, metric, source in _TOPICS if pattern.search(description)),
        _OTHER,
    )
    own = _SOURCE_IN_NAME.search(description)
    return (description[: own.start()], metric, own[1]) if own else (description, metric, source)


def _suites(program: Path) -> list[str]:
    return sorted(name for name in _run(program, "--list").split() if name.startswith(_SUITES))


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
