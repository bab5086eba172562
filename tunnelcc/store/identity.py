# SPDX-License-Identifier: GPL-2.0-only
"""The identity of a run: a hash of everything that its results depend on.

The hash covers the input of the compiled module and the version of the models. The input contains
every number of the scenario, of the tunnel's catalogue entry and of the kernel, and the seed. The
title, and how a number was written, do not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tunnelcc import modules, system
from tunnelcc.core import model_version
from tunnelcc.errors import ConfigError
from tunnelcc.modules import source
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import MAX_BYTES, parse_toml
from tunnelcc.specification import experiment_spec, spec_text

_DIGEST_BYTES = 16


def sources(table: object) -> str:
    """Return a hash of what ids depend on beside a scenario's ``table`` and the models.

    These are the files of this package, by size and time of change, and the contents of the files
    that the table names.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for folder, _, names in sorted(os.walk(Path(__file__).parents[1])):
        for name in sorted(names):
            if name.endswith((".py", ".toml", ".txt")):
                status = os.stat(f"{folder}/{name}")
                digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    contents: dict[str, bytes] = {}
    _add_contents(table, contents)
    for text, content in sorted(contents.items()):
        digest.update(f"{text} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _add_contents(table: object, contents: dict[str, bytes]) -> None:
    """Add what is in the files that ``table`` names, and in those that these name or import."""
    for text in {*_texts(table)} - contents.keys():
        with contextlib.suppress(OSError, ValueError, ConfigError):
            if modules.is_file(text):
                contents[text] = source.read(text).code.encode()
                continue
            contents[text] = system.read(text, MAX_BYTES)
            if text.endswith(".toml"):
                _add_contents(parse_toml(contents[text].decode(), text), contents)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from itertools.chain.from_iterable(map(_texts, value.values()))
    elif isinstance(value, Iterable):
        yield from itertools.chain.from_iterable(map(_texts, value))


def run_id(experiment: Experiment) -> str:
    """Return the id of the run of ``experiment``: 32 hexadecimal digits."""
    return spec_id(spec_text(experiment_spec(experiment)))


def spec_id(spec: str) -> str:
    """Return the id of the run with the specification ``spec``."""
    text = f"{model_version()}\n{spec}"
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
