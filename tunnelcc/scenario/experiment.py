# SPDX-License-Identifier: GPL-2.0-only
"""One simulation, checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from tunnelcc.config.groups import as_given, written_out
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.errors import ConfigError
from tunnelcc.modules import trust
from tunnelcc.network import checks
from tunnelcc.network.resolve import resolve, with_draws_of
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.output import cells
from tunnelcc.scenario.settings import apply


class Experiment(ExperimentKeys):
    """One simulation: a network, its flows and the tunnels they go through.

    Values are text with units, as in a scenario file. A table may be written as a dict. Attributes
    hold numbers in SI units (bit/s, seconds, bytes). A wrong key or value, or a number without its
    unit, raises ConfigError.

        >>> experiment = tc.Experiment(path={"rate": "20Mbps", "rtt": "40ms"}, duration="10s")
        >>> experiment.path.rate, experiment.path.rtt
        (20000000.0, 0.04)
    """

    if not TYPE_CHECKING:  # to a checker, the keys are the arguments

        def __init__(self, *values: Any, **data: Any) -> None:
            written, keys = written_out(data)
            try:
                super().__init__(*values, **written)
            except ConfigError as error:
                raise as_given(error, keys) from None

        __init__.__pydantic_base_init__ = True  # as of Model

    @classmethod
    def parse(cls, data: object) -> Any:
        """Return the experiment of ``data`` (a table). Raises ConfigError."""
        written, keys = written_out(data) if isinstance(data, Mapping) else (data, {})
        try:
            return super().parse(written)
        except ConfigError as error:
            raise as_given(error, keys) from None

    def with_(self, settings: Mapping[str, Any]) -> Experiment:
        """Return a copy of this experiment with other values for some keys.

        ``settings`` maps dotted keys to values, as ``--set`` does: ``{"path.loss": "1%", "cc":
        "bbr"}``. A number needs its unit: ``{"path.rtt": f"{2 * experiment.path.rtt}s"}``. The copy
        is checked. Raises ConfigError.

            >>> tc.Experiment().with_({"path.loss": "1%"}).path.loss
            0.01
        """
        trust.agree(settings)
        given = self.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)
        changed: Experiment = Experiment.parse(apply(given, settings))
        return changed

    def with_seed(self, seed: int) -> Experiment:
        """Return this experiment with another seed. Only what it draws is resolved again."""
        changed = self.model_copy(update={"seed": seed})
        vars(changed)["resolved"] = with_draws_of(changed, self.resolved)
        return changed

    def _repr_html_(self) -> str:
        return cells.form(self)

    @cached_property
    def resolved(self) -> ResolvedNetwork:
        """What follows from the keys: hosts, links, tunnels and single flows. It goes where the
        experiment goes, also to other processes.
        """
        return resolve(self)

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        problems = list(checks.problems(self, lambda: self.resolved))
        if problems:
            raise ConfigError(*problems)
        return self
