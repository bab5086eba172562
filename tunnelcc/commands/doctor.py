# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc doctor``: check the installation."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from tunnelcc._version import __version__
from tunnelcc.errors import TunnelccError
from tunnelcc.output import records
from tunnelcc.words.quantities import RATE


@dataclass(frozen=True)
class Check:
    """One result. ``advice`` says how to correct it if it is not good."""

    name: str
    good: bool
    finding: str
    advice: str = ""


def checks() -> Iterator[Check]:
    """Yield one check after the other."""
    for name, look in _CHECKS.items():
        try:
            yield Check(name, True, look())
        except Exception as error:
            yield Check(name, False, f"{type(error).__name__}: {error}", _ADVICE[name])


def print_checks() -> bool:
    """Print all checks. Return whether all are good."""
    from rich.console import Console

    console, good = Console(highlight=False), True
    for check in checks():
        good = good and check.good
        records.tell("checks", [asdict(check)])
        mark = "[green]ok[/]  " if check.good else "[red]bad[/] "
        console.print(mark, end="")
        console.print(f"{check.name}: {check.finding}", markup=False, soft_wrap=True)
        if not check.good:
            console.print(f"    {check.advice}", markup=False, soft_wrap=True)
    return good


def version() -> str:
    """Return the versions of the package and of its models, and what these were built with."""
    try:
        from tunnelcc import core
        from tunnelcc.store import model_version

        return f"tunnelcc {__version__}, models {model_version()} ({core.build()})"
    except TunnelccError as error:
        return f"tunnelcc {__version__}, no models: {error}"


def _package() -> str:
    return f"tunnelcc {__version__}"


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"


def _module() -> str:
    from tunnelcc import core

    own, foreign = core.congestion_controls(), core.ns3_congestion_controls()
    where = getattr(core.load(), "__file__", "built in")
    return f"{where} ({core.build()}), {len(own)} congestion controls and {len(foreign)} of ns-3's"


def _catalogue() -> str:
    from tunnelcc import catalog

    return f"{len([catalog.load(name) for name in catalog.names()])} tunnels"


def _libraries() -> str:
    from importlib.metadata import version

    names = ("numpy", "xarray", "pydantic", "matplotlib", "rich", "click")
    return ", ".join(f"{name} {version(name)}" for name in names)


def _machine() -> str:
    from tunnelcc.system import available_memory

    return f"{os.cpu_count()} cores, {available_memory() / 1e9:.1f} GB of memory available"


def _simulation() -> str:
    from tunnelcc.running.runner import run
    from tunnelcc.scenario import Experiment

    table = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "5s", "warmup": "2s"}
    rates = {}
    for tunnel in ("none", "gost-relay-wss"):
        rates[tunnel] = run(Experiment.parse({**table, "tunnel": tunnel}), progress=False).goodput
    shown = ", ".join(
        f"{RATE.heading(f'{RATE.factor * rate:.1f}')} ({name})" for name, rate in rates.items()
    )
    if not all(5e6 < rate < 10e6 for rate in rates.values()):
        raise RuntimeError(f"one flow over 10 Mbit/s delivered {shown}")
    return f"one flow over 10 Mbit/s: {shown}"


def _linux() -> str:
    from tunnelcc.measure import virtual

    try:
        virtual.kernel()
    except TunnelccError as error:
        return f"not installed ({error})"
    return virtual.try_out()


_CHECKS: dict[str, Callable[[], str]] = {
    "package": _package,
    "Python": _python,
    "compiled module": _module,
    "tunnel catalogue": _catalogue,
    "libraries": _libraries,
    "machine": _machine,
    "simulation": _simulation,
    "Linux on a virtual clock": _linux,
}

_ADVICE = {
    "package": "install it again: pip install .",
    "Python": "use CPython 3.10 to 3.14",
    "compiled module": "build it: pip install . in the source tree (needs a C++20 compiler)",
    "tunnel catalogue": "install tunnelcc again: a file of its catalogue is missing or damaged",
    "libraries": "install tunnelcc with its dependencies: pip install .",
    "machine": "free some memory",
    "simulation": "build the module again: `make setup` in the clone, or `pip install .`; if that "
    "does not help, `make test` shows what fails",
    "Linux on a virtual clock": "only `tunnelcc measure --kernel virtual` needs it; "
    "docs/pages/tasks/ask-linux.md says what that needs",
}
