# SPDX-License-Identifier: GPL-2.0-only
"""Errors that a user can correct, each with one message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


class TunnelccError(Exception):
    """An error that tunnelcc shows as a message instead of a traceback."""

    exit_code = 1


# Whoever does not read all of what was expected still sees what is wrong.
_LONG = 500


@dataclass(frozen=True)
class Problem:
    """One wrong value: the key (``path.rate``), the value, and what was expected.

    ``files``: those that have the key, the innermost first.
    """

    key: str
    value: object
    expected: str
    hint: str = ""
    files: tuple[Path, ...] = ()

    def __str__(self) -> str:
        got = "" if self.value is MISSING else f" = {_show(self.value)}"
        if self.hint and len(self.expected) > _LONG:
            files = "".join(f", in {file}" for file in self.files)
            return f"{self.key}{got}: {self.hint} (expected {self.expected}{files})"
        notes = "; ".join(filter(None, (self.hint, *(f"in {file}" for file in self.files))))
        hint = f" ({notes})" if notes else ""
        return f"{self.key}{got}: expected {self.expected}{hint}"

    def below(self, prefix: str) -> Problem:
        """Return this problem as seen from the object that holds it at ``prefix``."""
        if self.files and self.key:
            return self
        key = ".".join(part for part in (prefix, self.key) if part)
        return replace(self, key=key)

    def located_in(self, file: Path) -> Problem:
        """Return this problem with the name of its file."""
        return self if file in self.files else replace(self, files=(*self.files, file))


class _Missing:
    def __repr__(self) -> str:
        return "(missing)"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


class ConfigError(TunnelccError, ValueError):
    """An invalid experiment: an unknown key, a wrong unit or an impossible value.

    ``problems`` lists every wrong value with its key, and what was expected.

        >>> try:
        ...     tc.Path(rate="100")
        ... except tc.ConfigError as error:
        ...     print(error.problems[0].key)
        rate
    """

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def below(self, prefix: str) -> ConfigError:
        """Return these problems as seen from the object that holds them at ``prefix``."""
        return ConfigError(*(problem.below(prefix) for problem in self.problems))

    def located_in(self, file: Path) -> ConfigError:
        """Return these problems with the name of their file."""
        return ConfigError(*(problem.located_in(file) for problem in self.problems))


def install(extra: str) -> str:
    """Return the command that installs an extra of the package: in a clone, of the clone."""
    is_clone = (Path(__file__).parents[1] / "pyproject.toml").exists()
    return f"pip install {'-e ' if is_clone else ''}'{'.' if is_clone else 'tunnelcc'}[{extra}]'"


def problems_in(key: str, check: Callable[[], object]) -> tuple[Problem, ...]:
    """Return the problems, below ``key``, of which ``check`` raises ConfigError."""
    try:
        check()
    except ConfigError as error:
        return error.below(key).problems
    return ()


class RunError(TunnelccError):
    """A run that did not finish."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while several runs were simulated.

    ``results``: those of the finished runs, None for the others, in their order.

        >>> experiments = [tc.Experiment(duration="1s"), tc.Experiment(duration="1s")]
        >>> try:
        ...     results = tc.run_many(experiments)
        ... except tc.Interrupted as interrupted:
        ...     results = [it for it in interrupted.results if it is not None]
        >>> len(results)
        2
    """

    def __init__(self, results: list[Any]) -> None:
        finished = sum(it is not None for it in results)
        where = "in the exception's attribute results (sys.last_value.results at a prompt)"
        super().__init__(f"{finished} of {len(results)} runs are finished: {where}")
        self.results = results


#: Names of keys and metrics that are gone → the new one, and the version that renamed it. They are
#: told for two versions, and the change log of that version has both.
RENAMED = {
    "rate_trace": ("trace", "0.2.0"),
    "carrier_retransmits": ("path_retransmits", "0.2.0"),
}


#: What netem, mininet, iperf3, and a flow here call something → what it is called where that is no
#: key.
_ELSEWHERE = {
    "from": "between", "to": "between", "nodes": "between", "bandwidth": "rate", "bw": "rate",
    "bitrate": "rate", "delay": "rtt", "latency": "rtt", "ping": "rtt", "limit": "buffer",
    "queue_size": "buffer", "max_queue_size": "buffer", "congestion": "cc", "algorithm": "cc",
    "congestion_control": "cc", "parallel": "flows", "time": "duration", "bbr2": "bbr3",
    "bbrv2": "bbr3", "bbrv3": "bbr3",
}  # fmt: skip


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what was meant by a name that is none of ``known``, or an empty string.

    It is the new name of one that is gone, what other tools call so, or else the most similar one.
    A dotted name is as similar as its last part: ``path.rtt`` to ``rtt``.
    """
    known = list(known)
    prefix, dot, last = str(name).rpartition(".")
    now, version = RENAMED.get(last, ("", ""))
    if now and now in (it.rpartition(".")[2] for it in known):
        return f"it is {prefix + dot + now!r} since {version}"
    bare = last.lstrip("-")
    meant = last.removesuffix(bare) + _ELSEWHERE.get(bare.lower().replace("-", "_"), bare)
    if any(meant == it.rpartition(".")[2] for it in known):
        name = prefix + dot + meant
    choices: dict[str, str] = {}
    for choice in sorted(known, key=lambda choice: choice.count(".")):
        choices.setdefault(choice.lower(), choice)
    for choice in list(choices.values()):
        choices.setdefault(choice.lower().rpartition(".")[2], choice)
    return _most_similar(str(name), choices)


def nearest_file(path: Path, suffix: str) -> str:
    """Return as nearest() a file beside ``path`` that ends in ``suffix``, which does not count."""
    others = sorted(it.name for it in path.parent.glob(f"*{suffix}"))
    choices = {it.removesuffix(suffix).lower(): it for it in others}
    return _most_similar(path.name.removesuffix(suffix), choices)


def _most_similar(name: str, choices: Mapping[str, str]) -> str:
    """``choices``: what a name is compared with, in small letters, and what is then told."""
    from difflib import get_close_matches  # at first use: it takes a while

    match = get_close_matches(name.lower(), choices, n=1, cutoff=0.6)
    return f"did you mean {choices[match[0]]!r}?" if match else ""


def as_written(key: str, value: Any) -> tuple[str, Any]:
    """Return key and value as a user writes them: of a table its name, or else its first key."""
    if isinstance(value, Mapping) and value:
        if "name" in value:
            return key, value["name"]
        first = next(iter(value))
        return as_written(f"{key}.{first}", value[first])
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return as_written(f"{key}.0", value[0])
    return key, value


def unknown_name(
    key: str, value: object, names: Iterable[str], expected: str = "one of"
) -> ConfigError:
    """Return the error for a value that is none of ``names``. ``expected``: words before those."""
    known = list(names)
    return ConfigError(
        Problem(key, value, f"{expected} {', '.join(known)}", nearest(str(value), known))
    )


def _show(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "(a number that is too long)"
    except RecursionError:
        return "(tables that are nested too deeply)"
    return text if len(text) <= 200 else f"{text[:197]}..."
