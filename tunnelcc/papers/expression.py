# SPDX-License-Identifier: GPL-2.0-only
"""Formulas of papers as text: arithmetic on the experiment's numbers, in SI units.

Python reads and evaluates them. Only numbers, names, + − * / ** and a few functions are allowed,
because a paper is data and not a program.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from functools import cache
from types import CodeType

from tunnelcc.scenario import Experiment

FUNCTIONS = {"sqrt": math.sqrt, "log2": math.log2, "min": min, "max": max}
_NODES = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.USub, ast.Call,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow,
)  # fmt: skip
_LONGEST = 500  # characters

#: What a formula may use of the experiment: name → meaning.
EXPERIMENT = {
    "rate": "path.rate, bit/s",
    "rtt": "path.rtt, s",
    "loss": "path.loss",
    "bdp": "path.rate * path.rtt, bytes",
    "window": "largest receive window, bytes",
    "mss": "payload of a full segment, bytes",
    "packet": "IP bytes of a full segment",
    "outer": "IP bytes of a full segment on the path, with its datagram tunnel",
    "outer_packets": "IP packets that carry it across the path",
    "initial_window": "tcp.initial_window, segments",
    "flow_count": "number of flows",
}
RESERVED = frozenset({*FUNCTIONS, *EXPERIMENT})


def names(text: str) -> tuple[str, ...]:
    """Return the names in a formula. Raises ValueError if it is not one."""
    return tuple(it for it in _compiled(text).co_names if it not in FUNCTIONS)


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """Return the value of a formula, or NaN (division by zero, root of −1)."""
    try:
        return float(eval(_compiled(text), {"__builtins__": {}, **FUNCTIONS}, dict(values)))
    except (ArithmeticError, ValueError, TypeError):  # a complex power is a TypeError
        return math.nan


def variables(experiment: Experiment) -> dict[str, float]:
    """Return the values of the names in EXPERIMENT, in SI units."""
    path, network = experiment.path, experiment.resolved
    first = network.first
    mss, outer = first.mss, first.full_packets
    return {
        "rate": path.rate,
        "rtt": path.rtt,
        "loss": path.loss,
        "bdp": path.rate * path.rtt / 8,
        "window": first.transport.receive_window,
        "mss": mss,
        "packet": mss + experiment.tcp.header_bytes(first.below.versions.inner),
        "outer": sum(outer),
        "outer_packets": len(outer),
        "initial_window": experiment.tcp.initial_window,
        "flow_count": len(network.flows),
    }


@cache
def _compiled(text: str) -> CodeType:
    if len(text) > _LONGEST:
        raise ValueError(f"at most {_LONGEST} characters")
    try:
        tree = ast.parse(text, mode="eval")
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            _check(node, id(node) in called)
        return compile(tree, "formula", "eval")
    except (SyntaxError, RecursionError, MemoryError, OverflowError):
        raise ValueError("it is not arithmetic") from None


def _check(node: ast.AST, is_called: bool) -> None:
    """Raise ValueError if a formula cannot have ``node``. Numbers become floats: 9**9**9 ends."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            node.value = float(value)
        case ast.Name(id=name):
            allowed = is_called == (name in FUNCTIONS)
            if allowed:
                return
            raise ValueError(f"{name!r} is not allowed")
        case ast.Constant() | ast.Call(keywords=[_, *_]):
            raise ValueError(f"{ast.unparse(node)!r} is not allowed")
        case _ if not isinstance(node, _NODES) or (is_called and not isinstance(node, ast.Name)):
            raise ValueError(f"{type(node).__name__} is not allowed")
