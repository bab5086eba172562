# SPDX-License-Identifier: GPL-2.0-only
"""The identity of a run: a hash of everything that its results depend on.

The hash covers the input of the compiled module and the version of the models. The input contains
every number of the scenario, of the tunnel's catalogue entry and of the kernel, and the seed. The
version is a hash of the compiled module: a change of the compiled code makes all runs new. The
title, and how a number was written, do not count.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tunnelcc import core
from tunnelcc.config import Experiment
from tunnelcc.simulation.spec import experiment_spec, spec_text

_DIGEST_BYTES = 16


@cache
def model_version() -> str:
    """Return the version of the models: a hash of the compiled module, 32 hexadecimal digits."""
    file = core.load().__file__
    assert file is not None
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=_DIGEST_BYTES).hexdigest()


def run_id(experiment: Experiment) -> str:
    """Return the id of the run of ``experiment``: 32 hexadecimal digits."""
    return spec_id(spec_text(experiment_spec(experiment)))


def spec_id(spec: str) -> str:
    """Return the id of the run with the specification ``spec``."""
    text = f"{model_version()}\n{spec}"
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
