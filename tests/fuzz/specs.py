# SPDX-License-Identifier: GPL-2.0-only
"""Changes inputs of the models, and runs them as scratch/run-spec.cc does.

Whatever a specification says, it is refused with its key, or runs and ends. Each runs in a process
of its own, so that a crash ends nothing else.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc.scenario import Experiment
from tunnelcc.specification import experiment_spec

_MOST_SECONDS = 30  # of CPU time for one run; it takes some hundredths
_MOST_MEMORY = 6 * 2**30
_LONGEST = 200_000_000  # ns: that a long run takes long is no find

_BASE = {"duration": "200ms", "warmup": "50ms", "probe_interval": "50ms"}
_PATH = {"rate": "10Mbps", "rtt": "10ms"}
_EXPERIMENTS: tuple[dict[str, Any], ...] = (
    {"path": {**_PATH, "loss": "1%", "outages": [["50ms", "60ms"]]}},
    {"path": {**_PATH, "rate_steps": [["50ms", "2Mbps"]], "rtt_steps": [["70ms", "5ms"]]}},
    {"path": {**_PATH, "gilbert_elliott": {"p": "1%", "r": "20%"}, "jitter": "2ms"}},
    {"path": {**_PATH, "reorder": "1%", "policer": {"rate": "5Mbps"}}},
    *({"path": {**_PATH, "queue": it}} for it in ("codel", "fq-codel", "pie", "dualpi2", "red")),
    {"path": {**_PATH, "queue": {"name": "cake", "bandwidth": "5Mbps"}}},
    {"path": {**_PATH, "mtu": 1300, "too_big": "tell"}},
    {"tunnel": "gost-relay-mwss", "flows": [{"count": 2}, {"direction": "down"}]},
    *({"tunnel": it} for it in ("wireguard", "openvpn-tcp", "udpspeeder", "kcptun", "ssh-forward")),
    {"tunnel": {"name": "finalspeed", "rate": "5Mbps"}},
    {"tunnel": "hysteria2", "flows": [{"cc": "bbr"}]},
    {"flows": [{"transport": "quic"}]},
    {"flows": [{"transport": "udp", "rate": "1Mbps"}], "pings": [{}]},
    {"cross_traffic": [{"rate": "1Mbps"}], "hosts": {"cores": 1}},
)  # fmt: skip

_NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 64, 1500, 65535, 0.5, 1e-9, 1e-300, 1e300, 2**31 - 1, 2**31, 2**32 - 1,
    10**15, 2**53, 2**63 - 1, 2**64 - 1, -(2**63), 2**64,
)  # fmt: skip
_OTHERS: tuple[Any, ...] = (None, True, "", "x", [], {}, [0], {"kind": "frame"})


class Fuzzer:
    """Inputs of the models that the package wrote."""

    def __init__(self, _: Path) -> None:
        core.load()
        self._specs = [
            json.loads(
                json.dumps(experiment_spec(Experiment.parse({"path": _PATH, **_BASE, **it})))
            )
            for it in _EXPERIMENTS
        ]

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one input."""
        spec = json.loads(json.dumps(draw.choice(self._specs)))
        changed = [_change(spec, draw) for _ in range(draw.choice((1, 1, 1, 2, 4)))]
        if isinstance(spec.get("duration"), int):
            spec["duration"] = min(spec["duration"], _LONGEST)
        try:
            return _outcome(spec)
        except Exception:
            print(f"changed: {', '.join(changed)}", file=sys.stderr)
            raise


def _places(value: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield (table or list, key, name of the key) of each value in ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        name = f"{where}.{key}" if where else str(key)
        yield value, key, name
        if isinstance(item, (dict, list)):
            yield from _places(item, name)


def _change(spec: dict[str, Any], draw: random.Random) -> str:
    """Change a value of ``spec``. Return its key and the new value."""
    places = list(_places(spec))
    numbers = [it for it in places if isinstance(it[0][it[1]], (int, float))]
    of, key, name = draw.choice(numbers if draw.random() < 0.8 else places)
    old, how = of[key], draw.random()
    if how < 0.1:
        del of[key]
        return f"{name} deleted"
    if isinstance(old, list) and old and how < 0.4:
        old.append(draw.choice(old))
    elif how < 0.2:
        of[key] = draw.choice(_OTHERS)
    elif isinstance(old, (int, float)) and how < 0.5:
        of[key] = draw.choice((old * 2, old // 10, old + 1, old - 1, -old))
    else:
        of[key] = draw.choice(_NUMBERS)
    return f"{name} = {json.dumps(of[key])}"


def _outcome(spec: dict[str, Any]) -> str:
    """Run ``spec`` in a process. Raises AssertionError if that does not end as it has to."""
    text = json.dumps(spec)
    child = os.fork()
    if child == 0:
        os._exit(_run(text))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise AssertionError(f"signal {os.WTERMSIG(status)} ended {text}")
    outcomes = {0: "ran", 3: "refused", 4: "no memory"}
    code = os.WEXITSTATUS(status)
    if code not in outcomes:
        raise AssertionError(f"exit status {code} of {text}")
    return outcomes[code]


def _run(text: str) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "LD_PRELOAD" not in os.environ:  # sanitizers take address space without end
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        core.load().run(text)
    except (ValueError, RuntimeError) as error:
        return 3 if str(error) else 1
    except MemoryError:
        return 4
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
