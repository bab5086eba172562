# SPDX-License-Identifier: GPL-2.0-only
"""A Linux that runs as a process of any user, with a clock of its own: user-mode Linux.

Its clock stands still while anything computes, and jumps to the next timer when nothing does
(``time-travel=inf-cpu``). So whatever else the machine does changes no result, and what runs in it
computes for nothing. The package ``tunnelcc-linux`` has the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunnelcc.errors import TunnelccError
from tunnelcc.measure.plan import Plan

#: The package with the kernel, and the variable that names another.
PACKAGE, VARIABLE = "tunnelcc_linux", "TUNNELCC_LINUX"
MEMORY = "512M"
# 2026-01-01, so that certificates are valid and every run sees the same date.
_START = 1_767_225_600_000_000_000
_INSIDE = Path(__file__).with_name("inside.py")
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_STOPPED = 600.0  # s of real time without a step of simulated time


@dataclass(frozen=True)
class Answers:
    """What a measurement left in its folder."""

    folder: Path
    link: dict[str, Any]
    seconds: float  #: of CPU time

    def text(self, name: str) -> str:
        """Return what a program printed; "" if it did not run."""
        file = self.folder / f"{name}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def json(self, name: str) -> Any:
        """Return a file of JSON. Raises TunnelccError if what was to write it failed."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            told = (self.folder / "log").read_text().strip().splitlines()[-1:]
            raise TunnelccError(f"the measurement failed: {name}: {''.join(told)}")
        return json.loads(file.read_text())


def kernel() -> Path:
    """Return the file of the kernel. Raises TunnelccError with what to do."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise TunnelccError(
            f"--kernel virtual needs Linux on x86-64, and this is {platform.system()} on "
            f"{platform.machine()}: use a virtual machine or a container with it"
        )
    if named := os.environ.get(VARIABLE):
        file = Path(named)
        if not os.access(file, os.X_OK):
            raise TunnelccError(f"{VARIABLE} = {named!r}: expected a program")
        return file
    found = importlib.util.find_spec(PACKAGE)
    for folder in (found.submodule_search_locations or []) if found else []:
        file = Path(folder) / "linux"
        if file.is_file():
            return file
    raise TunnelccError(
        "--kernel virtual needs the package tunnelcc-linux: `make linux` in a clone builds and "
        "installs its wheel"
    )


def describe() -> str:
    """Return the version of the kernel that is installed. Raises TunnelccError."""
    file = kernel()
    done = subprocess.run(
        [file, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return f"Linux {done.stdout.strip()} on a virtual clock"


def try_out() -> str:
    """Run a small experiment, and return what came of it. Raises TunnelccError."""
    from tunnelcc.measure import measure_virtually
    from tunnelcc.scenario import Experiment

    path = {"rate": "10Mbps", "rtt": "20ms"}
    measured = measure_virtually(Experiment.parse({"path": path, "duration": "2s", "warmup": "1s"}))
    goodput = measured.values["flow 0: goodput"] / 1e6
    if not 8 < goodput < 10:
        raise TunnelccError(f"one flow over 10 Mbit/s carried {goodput:.2f} Mbit/s")
    return f"{measured.what}: one flow over 10 Mbit/s: {goodput:.1f} Mbit/s"


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder that is removed behind."""
    made = Path(tempfile.mkdtemp(prefix="tunnelcc-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def run(
    plan: Plan, where: Path, seed: int, progress: Callable[[float], object] | None = None
) -> Answers:
    """Do what a plan says in a kernel of its own, which leaves its files in the folder ``where``.

    Whatever ends this process ends the kernel and all in it. Raises TunnelccError.
    """
    file = kernel()
    # The kernel's random numbers depend on its command line, so that has no name of a folder: it is
    # where the kernel runs.
    (where / "plan.json").write_text(json.dumps(plan.table))
    command = [
        str(file), f"mem={MEMORY}", "seccomp=on", "time-travel=inf-cpu",
        f"time-travel-start={_START}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
        "con=null", "con0=null,fd:1", "stderr=1", "quiet", "uml_dir=./",
        "umid=kernel", f"init={sys.executable}", "--", "-I", "-S", "-B", str(_INSIDE),
    ]  # fmt: skip
    # The kernel's own; with seccomp=on it does not start without these.
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/run", "UML_SEED": str(seed)}
    before = _spent()
    with (where / "console").open("wb") as console:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
            env=environment, cwd=where, start_new_session=True, preexec_fn=_bind,
        )  # fmt: skip
        try:
            _wait(process, where, progress)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    log = where / "log"
    if not (where / "done").exists() and not log.exists():  # its first process never began
        told = (where / "console").read_text(errors="replace").strip().splitlines()[-1:]
        reason = f": {told[0]}" if told else ""
        raise TunnelccError(f"{file} did not start as a kernel of a measurement{reason}")
    if not (where / "done").exists():
        text = (log if log.stat().st_size else where / "console").read_text(errors="replace")
        last = [line for line in text.splitlines() if line.strip()][-1:]
        raise TunnelccError(f"the measurement failed: {last[0] if last else 'no reason was given'}")
    for name, code in json.loads((where / "codes.json").read_text()).items():
        if name.startswith("tunnel-") and code:
            told = (where / f"{name}.err").read_text(errors="replace").strip().splitlines()[-1:]
            told = told or [f"it ended with {code}"]
            raise TunnelccError(f"the measurement failed: {name}: {told[0]}")
    link = where / "link.json"
    if not link.exists():
        raise TunnelccError(f"the measurement failed: {log.read_text().strip().splitlines()[-1]}")
    return Answers(where, json.loads(link.read_text()), _spent() - before)


def _bind() -> None:
    """In the new process: end with the one that started it, and stay on one CPU.

    On several, each switch between its threads waits for another CPU, which costs four times as
    much.
    """
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    chosen = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {chosen[os.getpid() % len(chosen)]})


def _spent() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _wait(
    process: subprocess.Popen[bytes], where: Path, progress: Callable[[float], object] | None
) -> None:
    """Wait for the kernel's end, and tell the simulated time now and then."""
    last, since = 0.0, time.monotonic()
    while True:
        try:
            process.wait(0.25)
            return
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(OSError, ValueError):
            reached = float((where / "time").read_text())
            if reached != last:
                last, since = reached, time.monotonic()
                if progress is not None:
                    progress(reached)
        if time.monotonic() - since > _STOPPED:
            raise TunnelccError(f"the kernel did not go on for {_STOPPED:g} s, at {last:g} s")
