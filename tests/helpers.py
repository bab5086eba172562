# SPDX-License-Identifier: GPL-2.0-only
"""What several tests need: scripts and programs that stand alone, and tables of READMEs."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_it import MarkdownIt

from tunnelcc import catalog, words
from tunnelcc.catalog.quic_datagram import QuicDatagramEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.config.queue import Discipline
from tunnelcc.errors import Problem
from tunnelcc.words import causes, fits, warnings

ROOT = Path(__file__).parents[1]  # of the source tree
#: In place of a sentence, see replace_words().
TOKEN = "•"


def load_script(file: Path) -> ModuleType:
    """Return a Python file as a module, named after its folder and itself."""
    name = f"{file.parent.name}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def replace_words(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Make every sentence the same token: those of ``tunnelcc.words``, and what errors expect."""
    set_attribute(words, "say", lambda template, **parts: TOKEN)
    for module in (causes, fits, warnings):
        set_attribute(module, "say", lambda template, **parts: TOKEN)
    init = Problem.__init__

    def told(self, key, value, expected, hint="", *others, **more):
        init(self, key, value, TOKEN, hint and TOKEN, *others, **more)

    set_attribute(Problem, "__init__", told)


def make_program(file: Path, script: str) -> Path:
    """Write a shell script that can be run, and return its file."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def tunnel_named(name: str) -> dict[str, str]:
    """Return a tunnel of the catalogue, with the keys that an experiment cannot leave out."""
    entry = catalog.load(name)
    needs_rate = isinstance(entry, RelayEntry) and entry.rudp is not None
    return {"name": name, "rate": "20Mbps"} if needs_rate else {"name": name}


def flow_carried_by(name: str) -> dict[str, str]:
    """Return the keys of a flow that a tunnel of the catalogue carries: TCP, or else UDP."""
    entry = catalog.load(name)
    is_for_udp = isinstance(entry, QuicDatagramEntry) and entry.carries.what == "udp"
    return {"transport": "udp", "rate": "5Mbps"} if is_for_udp else {}


def discipline_with(parameter: str) -> str:
    """Return the name of a queue discipline that has the parameter."""
    found = [it for it in Discipline.__subclasses__() if parameter in it.model_fields]
    return str(found[-1].model_fields["name"].default)


def edited_entry(folder: Path, name: str, old: str, new: str) -> str:
    """Write a tunnel's file with one text replaced, and return where it is."""
    text = catalog.path_of(name).read_text()
    assert old in text
    file = folder / "mine.toml"
    file.write_text(text.replace(old, new, 1))
    return str(file)


def tables(markdown: str) -> list[list[dict[str, str]]]:
    """Return the rows of each table in a Markdown text: heading → cell, as written there."""
    found: list[list[list[str]]] = []
    tokens = MarkdownIt().enable("table").parse(markdown)
    for token, following in itertools.pairwise(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(following.content)
    return [[dict(zip(rows[0], row, strict=True)) for row in rows[1:]] for rows in found]
