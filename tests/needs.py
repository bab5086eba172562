# SPDX-License-Identifier: GPL-2.0-only
"""What some tests need besides the package, and the command that brings it and runs them.

A test names it by a fixture of the name, or with ``@pytest.mark.needs("name")``. Without it, the
test is left out, and the last line of the run says so (conftest.py).
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from helpers import ROOT, load_script
from tunnelcc.errors import TunnelccError
from tunnelcc.measure import plan, virtual


@dataclass(frozen=True)
class Need:
    """``command``: after it, the tests run. ``in_all``: all tests of .ci/run have it."""

    is_there: Callable[[], bool]
    command: str
    in_all: bool = True


def _program(*names: str) -> Callable[[], bool]:
    return lambda: all(map(shutil.which, names))


@functools.cache
def _wasm() -> bool:
    built: bool = load_script(ROOT / "waf-config/build_wasm.py").is_current(ROOT / "build/wasm")
    return built


@functools.cache
def _kernel() -> bool:
    try:
        virtual.kernel()
    except TunnelccError:
        return False
    return all(plan.find(it) is not None for it in ("ip", "tc", "iperf3", "ping"))


def _may_measure() -> bool:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return is_root and Path("/dev/net/tun").exists() and shutil.which("ip") is not None


NEEDS = {
    "kernel": Need(
        _kernel, "make linux check-measure", in_all=False
    ),
    "measure": Need(
        _may_measure, "make check-measure as root, with iproute2 and /dev/net/tun", in_all=False
    ),
    "wireguard": Need(
        _program("wg", "wireguard-go"), "apt install wireguard-tools wireguard-go", in_all=False
    ),
    "wasm": Need(_wasm, "make check-wasm"),
    "node": Need(_program("node"), "apt install nodejs"),
    "tshark": Need(_program("tshark"), "apt install tshark"),
    "valgrind": Need(_program("valgrind"), "apt install valgrind"),
    "linux_modules": Need(
        (ROOT / "build/linux/tcp_cubic.c").is_file, "sh tests/linux/get-modules.sh"
    ),
    "zsh": Need(_program("zsh"), "apt install zsh", in_all=False),
    "fish": Need(_program("fish"), "apt install fish", in_all=False),
}  # fmt: skip
