# SPDX-License-Identifier: GPL-2.0-only
"""Formulas of papers as text: arithmetic on the experiment's numbers, in SI units.

Python's parser reads them. Only numbers, names, + − * / ** and a few functions are allowed, because
a paper is data and not a program.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tunnelcc.config import Experiment
from tunnelcc.config.resolved import resolve

FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ln": math.log,
    "min": min,
    "max": max,
}
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_LONGEST = 500  # characters

#: What a formula may use of the experiment: name → meaning.
EXPERIMENT = {
    "rate": "path.rate, bit/s",
    "rtt": "path.rtt, s",
    "loss": "path.loss",
    "bdp": "path.rate * path.rtt, bytes",
    "window": "largest receive window, bytes",
    "rmem": "hosts.tcp_rmem of the receiver, bytes",
    "mss": "payload of a full segment, bytes",
    "packet": "IP bytes of a full segment",
    "outer": "IP bytes of a full segment on the path, with its datagram tunnel",
    "outer_packets": "IP packets that carry it across the path",
    "initial_window": "tcp.initial_window, segments",
    "flows": "number of flows",
}
RESERVED = frozenset({*FUNCTIONS, *EXPERIMENT})


@cache
def names(text: str) -> tuple[str, ...]:
    """Return the names in a formula. Raises ValueError if it is not one."""
    found: dict[str, None] = {}
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.Name) and node.id not in FUNCTIONS:
            found[node.id] = None
    return tuple(found)


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """Return the value of a formula, or NaN (division by zero, root of −1)."""
    try:
        return float(_evaluate(_parse(text), values))
    except (ArithmeticError, ValueError, TypeError):  # a complex power is a TypeError
        return math.nan


def variables(experiment: Experiment) -> dict[str, float]:
    """Return the values of the names in EXPERIMENT, in SI units."""
    path, connection = experiment.path, resolve(experiment).first
    mss, outer = connection.mss, connection.full_packets
    return {
        "rate": path.rate,
        "rtt": path.rtt,
        "loss": path.loss,
        "bdp": path.rate * path.rtt / 8,
        "window": connection.receive_window,
        "rmem": connection.receiving.receive_buffer,
        "mss": mss,
        "packet": mss + experiment.tcp.header_bytes,
        "outer": sum(outer),
        "outer_packets": len(outer),
        "initial_window": experiment.tcp.initial_window,
        "flows": sum(flow.count for flow in experiment.flows),
    }


@cache
def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"at most {_LONGEST} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ValueError("it is not arithmetic") from None
    try:
        _check(tree)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return tree


def _check(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return
        case ast.Name(id=name) if name not in FUNCTIONS:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand)
        case ast.Call(func=ast.Name(id=name), args=[_, *_], keywords=[]) if name in FUNCTIONS:
            for argument in node.args:
                _check(argument)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not allowed")


def _evaluate(node: Any, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(operand=operand):
            return -_evaluate(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case _:
            arguments = [_evaluate(argument, values) for argument in node.args]
            return FUNCTIONS[node.func.id](*arguments)
