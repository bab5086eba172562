# SPDX-License-Identifier: GPL-2.0-only
"""Changes scenarios, sweeps, tunnels and traces of rates, and reads them."""

from __future__ import annotations

import random
from pathlib import Path

import tunnelcc as tc
from tests.fuzz.mutate import change_text
from tunnelcc import scenario
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import parse_toml
from tunnelcc.store import run_id

_ROOT = Path(__file__).parents[2]
_MOST_RUNS = 2000
_TRACES = (
    "time_s,rate_Mbps\n0,5\n0.5,4\n1,0\n2,7.5\n",
    "1\n1\n2\n7\n7\n9\n12\n",
    "time_ms,loss_percent,buffer_packets,rtt_us\n0,0,5,900\n7,100,1,1\n15,0.5,99,6e7\n",
)


class _TooManyError(Exception):
    """A sweep that would take too long here."""


class Fuzzer:
    """The inputs that come along."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory
        files = {
            "scenario": sorted((_ROOT / "scenarios").glob("**/*.toml")),
            "tunnel": sorted((_ROOT / "tunnelcc" / "catalog" / "tunnels").glob("*.toml")),
        }
        self._texts = {kind: [it.read_text("utf-8") for it in files[kind]] for kind in files}
        self._texts["trace"] = list(_TRACES)
        self._number = 0

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one input."""
        kind = draw.choice((*self._texts, "scenario", "scenario"))
        self._number += 1
        suffix = draw.choice((".csv", ".trace")) if kind == "trace" else ".toml"
        file = self._folder / f"{self._number}{suffix}"
        file.write_text(change_text(draw.choice(self._texts[kind]), draw), "utf-8")
        try:
            getattr(self, f"_{kind}")(file)
        except tc.ConfigError as error:
            if not all(problem.key for problem in error.problems):
                raise AssertionError("no key is named") from error
            return f"{kind}: refused"
        except _TooManyError:
            return f"{kind}: too many runs"
        finally:
            file.unlink()
        return f"{kind}: valid"

    def _scenario(self, file: Path) -> None:
        table = scenario.read_scenario(file)
        if "sweep" not in table:
            _check(scenario.load(file))
            return
        declared = tc.Sweep(file, on_count=_refuse_many)
        again = tc.Sweep(parse_toml(declared.to_toml(), "again"))
        assert again.coordinates == declared.coordinates
        for position in (0, len(declared) - 1):
            experiment = declared.experiment(position)
            assert again.experiment(position) == experiment
            _check(experiment)

    def _tunnel(self, file: Path) -> None:
        _check(Experiment(tunnel=str(file)))

    def _trace(self, file: Path) -> None:
        _check(Experiment(path={"trace": str(file)}))


def _refuse_many(runs: int) -> None:
    if runs > _MOST_RUNS:
        raise _TooManyError


def _check(experiment: Experiment) -> None:
    """Look at an experiment as a sweep and a store do."""
    again = Experiment.parse(experiment.table())
    assert again == experiment, "it does not come back from its table"
    assert run_id(again) == run_id(experiment)
