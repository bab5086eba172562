# SPDX-License-Identifier: GPL-2.0-only
"""Simulate congestion control across tunnels, on ns-3.

Describe an experiment, run it and read its metrics::

    import tunnelcc as tc

    path = tc.Path(rate="100Mbps", rtt="100ms", loss="1%", buffer="1bdp")
    flows = [tc.Flow(cc="bbr", count=4)]
    result = tc.run(tc.Experiment(path=path, flows=flows, tunnel="gost-relay-wss"))
    result.metric("goodput")  # bit/s

``help(tc.Path)``, ``help(tc.Flow)`` and so on list the keys with units, defaults and ranges.
Modules are imported at first use, so ``import tunnelcc`` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tunnelcc._version import __version__

if TYPE_CHECKING:
    from tunnelcc.apps.searches.search import search as search
    from tunnelcc.config import CrossTraffic as CrossTraffic
    from tunnelcc.config import Flow as Flow
    from tunnelcc.config import Hosts as Hosts
    from tunnelcc.config import Link as Link
    from tunnelcc.config import Network as Network
    from tunnelcc.config import Path as Path
    from tunnelcc.config import Ping as Ping
    from tunnelcc.config import Tcp as Tcp
    from tunnelcc.config import Tunnel as Tunnel
    from tunnelcc.errors import ConfigError as ConfigError
    from tunnelcc.errors import Interrupted as Interrupted
    from tunnelcc.errors import RunError as RunError
    from tunnelcc.errors import TunnelccError as TunnelccError
    from tunnelcc.measure.strangers import ask
    from tunnelcc.metrics import metric as metric
    from tunnelcc.modules.own import CongestionControl as CongestionControl
    from tunnelcc.plots import plot_run as plot_run
    from tunnelcc.report.results import make
    from tunnelcc.results.result import Result as Result
    from tunnelcc.running.aggregation import aggregation as aggregation
    from tunnelcc.running.capture import Capture as Capture
    from tunnelcc.running.confirm import confirm as confirm
    from tunnelcc.running.confirm import confirm_each as confirm_each
    from tunnelcc.running.harm import harm as harm
    from tunnelcc.running.runner import run as run
    from tunnelcc.running.runner import run_many as run_many
    from tunnelcc.scenario import Experiment as Experiment
    from tunnelcc.scenario import load as load
    from tunnelcc.scenario.relax import relax as relax
    from tunnelcc.scenario.sizes import sizes as sizes
    from tunnelcc.store import Store as Store
    from tunnelcc.sweeps import Sweep as Sweep
    from tunnelcc.sweeps import open_results
    from tunnelcc.sweeps import run_stored as run_stored
    from tunnelcc.sweeps import sweep as sweep

    open, summary = open_results, make  # noqa: A001
    ask_program = ask

#: Name → its module, and what it is called there if not the same.
_HOME = {
    "CrossTraffic": "config",
    "Experiment": "scenario",
    "Flow": "config",
    "Hosts": "config",
    "Link": "config",
    "Network": "config",
    "Path": "config",
    "Ping": "config",
    "Tcp": "config",
    "Tunnel": "config",
    "ConfigError": "errors",
    "Interrupted": "errors",
    "RunError": "errors",
    "TunnelccError": "errors",
    "metric": "metrics",
    "CongestionControl": "modules.own",
    "plot_run": "plots",
    "Capture": "running.capture",
    "aggregation": "running.aggregation",
    "summary": "report.results:make",
    "Result": "results.result",
    "confirm": "running.confirm",
    "confirm_each": "running.confirm",
    "harm": "running.harm",
    "run": "running.runner",
    "run_many": "running.runner",
    "run_stored": "sweeps",
    "load": "scenario",
    "relax": "scenario.relax",
    "sizes": "scenario.sizes",
    "Store": "store",
    "search": "apps.searches.search",
    "ask_program": "measure.strangers:ask",
    "Sweep": "sweeps",
    "open": "sweeps:open_results",
    "sweep": "sweeps",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tunnelcc' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    value = getattr(importlib.import_module(f"tunnelcc.{module}"), attribute or name)
    if module == "config" or name == "Experiment":
        importlib.import_module("tunnelcc.schema").document(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
