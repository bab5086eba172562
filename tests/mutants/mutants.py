# SPDX-License-Identifier: GPL-2.0-only
"""Make small wrong changes, and count how many the nearest tests notice (``make mutants``).

A change takes one constant, comparison or operator of a file that makes numbers. Only the tests of
its own room are asked: digests of whole runs notice nearly everything, but say nothing of what is
right. What was sampled, and what became of it, is in mutants.csv beside this file.

The tree itself is never changed: Python runs from a copy of the package, and of C++ the one file is
compiled and linked.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
#: ``before``, in mutants.csv: what became of it before tests were written for the survivors.
COLUMNS = ("seed", "room", "file", "line", "column", "was", "becomes", "before", "verdict", "note")
#: Longest time of the tests of one mutant, s of CPU. A change can make a loop endless, or a wait.
TIMEOUT = 60
LONGEST_WAIT = 10 * TIMEOUT

#: Room → how many changes, its files, and the nearest tests: below tests/python, or suites.
PYTHON: Mapping[str, tuple[int, Sequence[str], Sequence[str]]] = {
    "metrics/fairness": (8, ["tunnelcc/metrics/fairness.py"], ["metrics/test_fairness.py"]),
    "metrics/paired": (
        12,
        ["tunnelcc/metrics/paired.py", "tunnelcc/metrics/confidence.py"],
        ["metrics/test_paired.py", "metrics/test_confidence.py"],
    ),
    "metrics/convergence": (
        6,
        ["tunnelcc/metrics/convergence.py"],
        ["metrics/test_convergence.py"],
    ),
    "metrics/drift": (6, ["tunnelcc/metrics/drift.py"], ["metrics/test_drift.py"]),
    "metrics/voice": (8, ["tunnelcc/metrics/voice.py"], ["metrics/test_voice.py"]),
    "network/draws": (
        8,
        ["tunnelcc/network/draws.py"],
        ["network/test_phases.py", "network/test_draws.py"],
    ),
    "analysis": (
        8,
        ["tunnelcc/analysis/busy.py", "tunnelcc/analysis/one_sided.py"],
        ["analysis/test_busy.py", "analysis/test_one_sided.py"],
    ),
    "words": (12, ["tunnelcc/words/quantities.py"], ["words/test_quantities.py"]),
    "units": (10, ["tunnelcc/schema/units.py"], ["schema/test_units.py"]),
    "defaults": (12, ["tunnelcc/config/queue.py"], ["config/test_queue.py"]),
}
CPP: Mapping[str, tuple[int, Sequence[str], Sequence[str]]] = {
    "path/pie": (8, ["models/path/pie.cc"], ["tunnelcc-path-pie"]),
    "path/red": (6, ["models/path/red.cc"], ["tunnelcc-path-red"]),
    "path/codel": (6, ["models/path/codel.cc"], ["tunnelcc-path-codel"]),
    "path/cake": (8, ["models/path/cake.cc"], ["tunnelcc-path-cake"]),
    "congestion/cubic": (
        8,
        ["models/congestion/cubic.cc"],
        ["tunnelcc-congestion-(cubic|hystart)"],
    ),
    "congestion/bbr": (
        10,
        ["models/congestion/bbr.cc", "models/congestion/bbr-[cp]*.cc"],
        ["tunnelcc-congestion-bbr(-ack|-plain)?"],
    ),
    "transport": (
        8,
        ["models/transport/loss-recovery.cc", "models/transport/scoreboard.cc"],
        ["tunnelcc-transport-.*"],
    ),
    "fec": (6, ["models/fec/*.cc"], ["tunnelcc-fec", "tunnelcc-programs-fec"]),
    "quic": (8, ["models/quic/*.cc", "models/quic/*.h"], ["tunnelcc-quic-.*"]),
    "arq": (6, ["models/arq/*.cc", "models/arq/*.h"], ["tunnelcc-arq-.*"]),
    "tunnel": (
        6,
        ["models/tunnel/*.cc", "models/tunnel/*.h"],
        ["tunnelcc-tunnel.*", "tunnelcc-quic-datagrams"],
    ),
    "host": (6, ["models/host/*.h"], ["tunnelcc-host"]),
    "traffic": (4, ["models/traffic/*.cc", "models/traffic/*.h"], ["tunnelcc-traffic"]),
}

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "+=": "-=", "-=": "+=", "*=": "/=",
    "&&": "||", "||": "&&", "and": "or", "or": "and",
    "min": "max", "max": "min", "true": "false", "false": "true", "True": "False", "False": "True",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: ``was`` at ``start`` of a file's text becomes something else."""

    room: str
    file: str  # relative to the tree
    start: int
    was: str
    becomes: str

    def place(self, text: str) -> tuple[int, int]:
        """Return line and column, from 1."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - before.rfind("\n")

    def apply(self, text: str) -> str:
        """Return the changed text."""
        end = self.start + len(self.was)
        assert text[self.start : end] == self.was
        return text[: self.start] + self.becomes + text[end:]


def other_number(text: str) -> str:
    """Return a number near another one: whole ones are one more, others a quarter more."""
    digits = text.replace("'", "").replace("_", "").rstrip("uUfFlL")
    suffix = text[len(text.rstrip("uUfFlL")) :]
    if re.fullmatch(r"\d+", digits):
        return f"{int(digits) + 1}{suffix}"
    return f"{float(digits) * 1.25 or 0.25:.6g}{suffix}"


def of_python(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield start, text and other text of each constant and operator outside of annotations."""
    lines = [0]
    for line in text.encode().split(b"\n"):
        lines.append(lines[-1] + len(line) + 1)
    raw = text.encode()

    def at(line: int, column: int) -> int:
        return len(raw[: lines[line - 1] + column].decode())

    def between(left: ast.expr, right: ast.expr) -> Iterator[tuple[int, str, str]]:
        start = at(left.end_lineno or 0, left.end_col_offset or 0)
        end = at(right.lineno, right.col_offset)
        found = re.search(r"(?<!\w)(and|or|<=|>=|==|!=|//|\*\*|[<>+*/-])(?!\w)", text[start:end])
        if found and found[1] in SWAPS:
            yield start + found.start(1), found[1], SWAPS[found[1]]

    def walk(node: ast.AST) -> Iterator[tuple[int, str, str]]:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            start = at(node.lineno, node.col_offset)
            was = text[start : at(node.end_lineno or 0, node.end_col_offset or 0)]
            if re.fullmatch(r"[\d._]+(e-?\d+)?", was):  # of parts of f-strings, places can be wrong
                yield start, was, other_number(was)
            elif was in SWAPS:
                yield start, was, SWAPS[was]
        elif isinstance(node, ast.BinOp):
            yield from between(node.left, node.right)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from between(node.left, node.comparators[0])
        elif isinstance(node, ast.BoolOp):
            yield from between(node.values[0], node.values[1])
        elif isinstance(node, ast.Name) and node.id in ("min", "max"):
            yield at(node.lineno, node.col_offset), node.id, SWAPS[node.id]
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for it in child if isinstance(child, list) else [child]:
                if isinstance(it, ast.AST):
                    yield from walk(it)

    yield from walk(ast.parse(text))


#: What is no code of a function, then what is changed. clang-format sets operators apart.
_CPP = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'\\?.'|^[ \t]*#[^\n]*|static_assert[^;]*;"
    r"|(?P<number>(?<![\w.'])\d[\d']*(?:\.\d*)?(?:e-?\d+)?[uUfF]*(?![\w.'x]))"
    r"|(?<= )(?P<operator><=|>=|==|!=|\+=|-=|\*=|&&|\|\||[<>+*/-])(?= )"
    r"|(?<=std::)(?P<call>min|max)(?=[<(])|\b(?P<truth>true|false)\b",
    re.DOTALL | re.MULTILINE,
)


def of_cpp(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield start, text and other text of each constant and operator."""
    for found in _CPP.finditer(text):
        kind = found.lastgroup
        if kind == "number":
            yield found.start(), found[0], other_number(found[0])
        elif kind:
            yield found.start(), found[0], SWAPS[found[0]]


def sample(seed: int, rooms: Sequence[str], takes_every: bool = False) -> Iterator[Mutant]:
    """Yield the changes that a seed draws, in each room as many as it says, or every one."""
    for table, find in ((PYTHON, of_python), (CPP, of_cpp)):
        for room, (count, patterns, _) in table.items():
            files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
            every = [
                Mutant(room, str(path.relative_to(ROOT)), *change)
                for path in files
                for change in find(path.read_text(encoding="utf-8"))
            ]
            drawn = len(every) if takes_every else min(count, len(every))
            chosen = random.Random(f"{seed} {room}").sample(every, drawn)
            if not rooms or room in rooms:
                yield from sorted(chosen, key=lambda it: (it.file, it.start))


#: An editable installation finds the package before PYTHONPATH does.
_ONLY_THE_COPY = """import sys
sys.meta_path[:] = [it for it in sys.meta_path if "editable" not in type(it).__module__]
"""


class PythonTests:
    """Runs tests of Python with a changed copy of the package. One at a time."""

    def __init__(self, directory: Path) -> None:
        self._tree = directory
        shutil.copytree(ROOT / "tunnelcc", directory / "tunnelcc")
        for path in ROOT.iterdir():
            if path.name not in ("tunnelcc", ".git", "build"):
                (directory / path.name).symlink_to(path)
        (directory / "sitecustomize.py").write_text(_ONLY_THE_COPY, encoding="utf-8")
        found = subprocess.run(
            [sys.executable, "-c", "import tunnelcc._core as it; print(it.__file__)"],
            capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        self._environment = {
            **os.environ, "PYTHONPATH": str(directory), "TUNNELCC_CORE": found.stdout.strip(),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def verdict(self, mutant: Mutant, room: str) -> str:
        """Return ``killed`` or ``survived``."""
        file = self._tree / mutant.file
        text = file.read_text(encoding="utf-8")
        try:
            file.write_text(mutant.apply(text), encoding="utf-8")
            command = [
                sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow",
                "-p", "no:cacheprovider", *(f"tests/python/{test}" for test in PYTHON[room][2]),
            ]  # fmt: skip
            return run(command, self._environment, self._tree)
        finally:
            file.write_text(text, encoding="utf-8")


@cache
def _included(path: Path) -> frozenset[Path]:
    """Return the files of the models that a file includes, and those that they do."""
    found: set[Path] = set()
    left = [path]
    while left:
        file = left.pop()
        for name in re.findall(r'^#include "(.*)"$', file.read_text("utf-8"), re.MULTILINE):
            for place in (file.parent, ROOT / "models", ROOT / "tests/models"):
                if (place / name).is_file() and place / name not in found:
                    found.add(place / name)
                    left.append(place / name)
    return frozenset(found)


class CppTests:
    """Runs suites with one changed file. One at a time.

    It is linked before the objects of `make models`: the linker takes the first of two functions
    with one name. They are optimised little (-O1), so that functions of other files are called and
    not copied. What a file includes is compiled once, and of the tests only its room's are linked.
    With a header, all files of the room that include it are compiled again, and its tests.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._build = ROOT / "build/release"
        self._compile = self._command("CMakeFiles/tunnelcc-test-models.dir/Unity/unity_0_cxx.cxx.o")
        self._link = self._command("tunnelcc-tests")
        self._suites = subprocess.run(
            [self._build / "tunnelcc-tests", "--list"], capture_output=True, text=True, check=True
        ).stdout.split()

    def _command(self, target: str) -> str:
        ninja = [
            str(ROOT / ".venv/bin/ninja"),
            "-C",
            str(self._build),
            "-t",
            "commands",
            "-s",
            target,
        ]
        told = subprocess.run(ninja, capture_output=True, text=True, check=True).stdout
        last: str = told.splitlines()[-1]
        return next(part for part in last.split(" && ") if " -o " in part)

    def verdict(self, mutant: Mutant, room: str) -> str:
        """Return ``killed``, ``survived``, or ``invalid`` if it does not compile."""
        origin = ROOT / mutant.file
        source, object_ = self._directory / origin.name, self._directory / "changed.o"
        program = self._directory / "tunnelcc-tests"
        text = origin.read_text(encoding="utf-8")
        own = room.split("/")[0]
        named = [re.match(r"tunnelcc-(\w+)", suite) for suite in CPP[room][2]]
        rooms = list(dict.fromkeys([own, *(it[1] for it in named if it)]))
        if origin.suffix == ".h":
            # Its copy comes first, so that its guard keeps the original out.
            source.write_text(mutant.apply(text), encoding="utf-8")
            unit = self._directory / "changed.cc"
            models = [path for it in rooms for path in sorted((ROOT / "models" / it).glob("*.cc"))]
            files = [path for path in models if origin in _included(path)]
            # The suites of a room are one unit.
            kept = "support_"
            for it in rooms:
                suites = sorted((ROOT / "tests/models" / it).glob("*.cc"))
                if any(origin in _included(path) for path in suites):
                    files += suites
                else:
                    kept += f"|{it}_"
            unit.write_text("".join(f'#include "{it}"\n' for it in files), encoding="utf-8")
            compile_ = f"{self._compiler(origin)} -O0 -include {source} -I{ROOT / 'tests/models'}"
            source = unit
        else:
            source.write_text(mutant.apply(text), encoding="utf-8")
            compile_ = f"{self._compiler(origin)} -include {self._headers(origin, text)}"
            kept = "|".join(["support_", *(f"{it}_" for it in rooms)])
        if self._runs(f"{compile_} -o {object_} -c {source}"):
            return "invalid"
        # Tests of other rooms are left out: their units, and files that are none.
        tests = re.findall(r" \S+/tunnelcc-tests\.dir/\S+\.o", self._link)
        kept = rf".*/(unity_({kept})cxx\.cxx|tests/models/({kept.replace('_', '')})/.*)\.o"
        others = [it for it in tests if not re.fullmatch(kept, it)]
        link = self._link.replace(" -o tunnelcc-tests ", f" -o {program} ")
        for other in others:
            link = link.replace(other, "", 1)
        first = f" -Wl,--allow-multiple-definition {object_} CMakeFiles/"
        if self._runs(link.replace(" CMakeFiles/", first, 1)):
            sys.exit(f"{mutant.file}: does not link")
        for suite in self._suites:
            if any(re.fullmatch(wanted, suite) for wanted in CPP[room][2]):
                command = [str(program), f"--suite={suite}", "--fullness=EXTENSIVE"]
                if run([*command, "--stop-on-failure"], None, self._build) == "killed":
                    return "killed"
        return "survived"

    def _compiler(self, origin: Path) -> str:
        """Return the command, without what it reads and writes."""
        bare = re.sub(r" -M[DTF]+( \S+\.[od])*", "", self._compile)
        return re.sub(r" -o \S+ -c \S+", "", bare) + f" -w -iquote {origin.parent}"

    def _headers(self, origin: Path, text: str) -> Path:
        """Return a header of all that a file includes, compiled."""
        header = self._directory / f"{origin.name}.h"
        if not header.exists():
            lines = re.findall(r"^#include .*$", text, re.MULTILINE)
            header.write_text("\n".join(lines) + "\n", encoding="utf-8")
            if self._runs(f"{self._compiler(origin)} -x c++-header -o {header}.gch {header}"):
                sys.exit(f"{origin}: its headers do not compile")
        return header

    def _runs(self, command: str) -> int:
        """Run a command, and return its status."""
        return subprocess.run(command, shell=True, cwd=self._build, capture_output=True).returncode


def run(command: Sequence[str], environment: Mapping[str, str] | None, where: Path) -> str:
    """Run tests; an endless loop is noticed, too."""
    try:
        found = subprocess.run(
            ["prlimit", f"--cpu={TIMEOUT}", *command], env=environment, cwd=where,
            capture_output=True, timeout=LONGEST_WAIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "killed"
    return "killed" if found.returncode else "survived"


def main() -> int:
    """Sample, run, print counts and survivors, and write the table if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true", help="All changes, not a sample.")
    parser.add_argument("--room", action="append", default=[], help="Only this one. Repeatable.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--survivors", type=Path, help="Only those that survived in this table.")
    parser.add_argument("--output", type=Path, help="Write a table of all.")
    options = parser.parse_args()
    mutants = list(sample(options.seed, options.room, options.every))
    if options.survivors:
        with options.survivors.open(encoding="utf-8", newline="") as file:
            left = {_key(row) for row in csv.DictReader(file) if row["verdict"] == "survived"}
        mutants = [it for it in mutants if _key(_row(options.seed, it, "")) in left]
    rows = [_row(options.seed, *it) for it in _judged(mutants, options.jobs)]
    if options.output:
        with options.output.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    for room in dict.fromkeys(it.room for it in mutants):
        counted = Counter(row["verdict"] for row in rows if row["room"] == room)
        print(f"{room}: {counted['killed']} of {counted['killed'] + counted['survived']} killed")
    for row in rows:
        if row["verdict"] == "survived":
            print("{file}:{line}:{column}: {was} became {becomes}".format(**row))
    return 0


def _judged(mutants: Sequence[Mutant], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Yield each change with its verdict, in order."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        kinds = (("python", PYTHON, PythonTests), ("cpp", CPP, CppTests))
        pools: dict[str, SimpleQueue[PythonTests | CppTests]] = {}
        for kind, rooms, make in kinds:
            asked = list(dict.fromkeys(it.room for it in mutants if it.room in rooms))
            for number in range(jobs if asked else 0):
                place = Path(directory) / f"{kind}-{number}"
                place.mkdir()
                pools.setdefault(kind, SimpleQueue()).put(make(place))

        def judge(mutant: Mutant) -> str:
            free = pools["python" if mutant.room in PYTHON else "cpp"]
            one = free.get()
            try:
                verdict = one.verdict(mutant, mutant.room)
            finally:
                free.put(one)
            print(
                f"{mutant.file}: {mutant.was} became {mutant.becomes}: {verdict}", file=sys.stderr
            )
            return verdict

        # Of each room a source and a header, not changed: the tests are the same.
        first = {(it.room, Path(it.file).suffix): it for it in reversed(mutants)}
        unchanged = [replace(it, becomes=it.was) for it in first.values()]
        with ThreadPoolExecutor(jobs) as pool:
            for it, verdict in zip(unchanged, pool.map(judge, unchanged), strict=True):
                if verdict != "survived":
                    sys.exit(f"{it.file}: tests of {it.room} fail without a change")
            yield from zip(mutants, pool.map(judge, mutants), strict=True)


def _row(seed: int, mutant: Mutant, verdict: str) -> dict[str, str]:
    line, column = mutant.place((ROOT / mutant.file).read_text(encoding="utf-8"))
    change = (mutant.room, mutant.file, line, column, mutant.was, mutant.becomes)
    values = (seed, *change, "", verdict, "")
    return dict(zip(COLUMNS, map(str, values), strict=True))


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("file", "line", "column", "was", "becomes"))


if __name__ == "__main__":
    sys.exit(main())
