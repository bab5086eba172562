# SPDX-License-Identifier: GPL-2.0-only
"""How many instructions the models take for a data segment across the path.

Counts differ by less than 1 % from run to run and from machine to machine, where CPU times differ
by half; but another compiler makes other code. They are those of scratch/run-spec, which is
optimised as the module is, counted by ``perf stat`` where the kernel allows that, else by valgrind.
Two runs of different length are counted, and their difference is divided by that of their segments:
what a run takes once is not in it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import tunnelcc as tc
from tunnelcc.specification import experiment_spec, spec_text

PERF = ("perf", "stat", "--field-separator=,", "--event=instructions:u")
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


@cache
def counter() -> tuple[str, ...] | None:
    """Return the command that counts another's instructions; None: there is none."""
    for command in (PERF, VALGRIND):
        if shutil.which(command[0]) and _told(_run((*command, "true"))) is not None:
            return command
    return None


def per_segment(program: Path, experiment: tc.Experiment, command: tuple[str, ...]) -> float:
    """Return the instructions that ``program``, run-spec, takes for a segment of ``experiment``.

    Those of its last three quarters, as the flows have started by then. ``command`` counts them.
    """
    instructions, segments = [], []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "spec.json")
        for part in (0.25, 1.0):
            of_part = experiment.model_copy(update={"duration": part * experiment.duration})
            file.write_text(spec_text(experiment_spec(of_part)))
            instruction_count, output = count((*command, str(program), str(file)))
            instructions.append(instruction_count)
            segments.append(int(json.loads(output)["path_segments"]))
    return (instructions[1] - instructions[0]) / (segments[1] - segments[0])


def count(command: tuple[str, ...]) -> tuple[int, str]:
    """Return the instructions of ``command``, which begins as counter() says, and its output."""
    run = _run(command)
    told = _told(run)
    if told is None:
        raise RuntimeError(f"{command[0]} cannot count: {run.stderr}")
    return told, run.stdout


def compiler(build: Path) -> str:
    """Return the compiler of a build directory, as CMake tells it: ``GNU 12.2``."""
    files = build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")  # one for each version of CMake
    text = max(files, key=lambda file: file.stat().st_mtime).read_text()
    name = re.search(r'set\(CMAKE_CXX_COMPILER_ID "(\w+)"\)', text)
    version = re.search(r'set\(CMAKE_CXX_COMPILER_VERSION "(\d+\.\d+)', text)
    if not name or not version:
        raise RuntimeError(f"{build} does not tell its compiler")
    return f"{name[1]} {version[1]}"


def _run(command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _told(run: subprocess.CompletedProcess[str]) -> int | None:
    """Return how many instructions perf or valgrind has counted; None: it has not."""
    found = re.search(r"^(\d+),,instructions|I\s+refs:\s+([\d,]+)", run.stderr, re.MULTILINE)
    if run.returncode or not found:
        return None
    return int((found[1] or found[2]).replace(",", ""))
