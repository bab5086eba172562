# SPDX-License-Identifier: GPL-2.0-only
"""Completion in shells, as click asks for it, and help at 80 columns."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

import tunnelcc as tc
from tunnelcc import cli

_COMMAND = (sys.executable, "-m", "tunnelcc")


def complete(shell, *words, folder="."):
    """Return what ``tunnelcc WORDS`` completes to in a shell; the last word is not complete."""
    environment = {
        **os.environ, "_TUNNELCC_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "tunnelcc " + (" ".join(words) if shell != "fish" else " ".join(words[:-1])),
        "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1],
    }  # fmt: skip
    out = subprocess.run(
        _COMMAND, env=environment, cwd=folder, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if shell == "zsh":  # type, name, help
        return out[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in out]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_are_completed(shell, tmp_path):
    base = {"path": {"rate": "2Mbps", "rtt": "10ms"}, "duration": "1s"}
    tc.sweep(base, {"cc": ["bbr"]}, 1, name="mine", store=tmp_path / "runs", progress=False)
    for words, expected in (
        (("run", "--tunnel", "wireg"), "wireguard"),
        (("compare", "--cc", "bbr,cu"), "bbr,cubic"),
        (("sweep", "--metric", "queue_delay_m"), "queue_delay_mean"),
        (("run", "--set", "path.los"), "path.loss="),
        (("reproduce", "gost"), "gost-thesis"),
        (("show", "tunnel", "kcpt"), "kcptun"),
        (("compare", "--tunnel", "frp,troj"), "frp,trojan"),
        (("plot", "ru"), "runs/mine"),
        (("store", "ls", "mi"), "mine"),
    ):
        assert expected in complete(shell, *words, folder=tmp_path), words


@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(it, marks=pytest.mark.needs(it)) for it in ("zsh", "fish"))]
)
def test_the_line_of_the_shell_is_one_that_it_reads(shell):
    environment = {**os.environ, "_TUNNELCC_COMPLETE": f"{shell}_source"}
    script = subprocess.run(
        _COMMAND, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "tunnelcc" in script
    subprocess.run((shell, "-n"), input=script, text=True, check=True)


def _commands(command, context, name=""):
    yield name, command, context
    if isinstance(command, click.Group):
        for it in command.list_commands(context):
            inner = command.get_command(context, it)
            yield from _commands(inner, click.Context(inner, context, it), f"{name} {it}")


def test_help_fits_a_terminal_of_80_columns():
    context = click.Context(cli.cli, info_name="tunnelcc", terminal_width=80)
    for name, command, of in _commands(cli.cli, context):
        of.terminal_width = 80
        for line in command.get_help(of).splitlines():
            assert len(line) <= 80, f"{name}: {line}"
