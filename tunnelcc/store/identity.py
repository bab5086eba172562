# SPDX-License-Identifier: GPL-2.0-only
"""The identity of a run: a hash of everything that its results depend on.

The hash covers the input of the compiled module and the version of the models. The input contains
every number of the scenario, of the tunnel's catalogue entry and of the kernel, and the seed. The
title, and how a number was written, do not count.
"""

from __future__ import annotations

import hashlib

from tunnelcc import core
from tunnelcc.config import Experiment
from tunnelcc.simulation.spec import experiment_spec, spec_text

_DIGEST_BYTES = 16


def model_version() -> str:
    """Return the version of the models, such as ``"1"``; with a digest if built from source.

    ``"1+3f2a9c01"``: the digest is of the models' code without comments, so that runs of changed
    models are new. See ``models/experiment/model-version.h``.
    """
    return str(core.load().model_version())


def run_id(experiment: Experiment) -> str:
    """Return the id of the run of ``experiment``: 32 hexadecimal digits."""
    return spec_id(spec_text(experiment_spec(experiment)))


def spec_id(spec: str) -> str:
    """Return the id of the run with the specification ``spec``."""
    text = f"{model_version()}\n{spec}"
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
