# SPDX-License-Identifier: GPL-2.0-only
"""What keys are made of: units, kinds of values, models with their errors, TOML."""

from tunnelcc.schema.keys import KeyInfo, keys_of
from tunnelcc.schema.kinds import (
    BUFFER,
    CARRIERS,
    POSITIVE_SHARE,
    PROBABILITY,
    PROSE,
    RATE_STEPS,
    SHARE,
    SWITCH,
    TEXT,
    Kind,
    choice,
    choice_of,
    number,
    quantity,
    rate,
    size,
    time,
    whole,
)
from tunnelcc.schema.model import Model, config_error, models_in, tag_of

__all__ = [
    "BUFFER",
    "CARRIERS",
    "POSITIVE_SHARE",
    "PROBABILITY",
    "PROSE",
    "RATE_STEPS",
    "SHARE",
    "SWITCH",
    "TEXT",
    "KeyInfo",
    "Kind",
    "Model",
    "choice",
    "choice_of",
    "config_error",
    "keys_of",
    "models_in",
    "number",
    "quantity",
    "rate",
    "size",
    "tag_of",
    "time",
    "whole",
]
