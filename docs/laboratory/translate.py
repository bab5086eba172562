# SPDX-License-Identifier: GPL-2.0-only
"""Modules of the package as JavaScript: as much of Python as the table of causes is written in.

What limited a flow is decided once, in ``tunnelcc/analysis``; the page evaluates the same text.
What an operation does is in python.mjs. A construct that is not known here ends the build.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

_COMPARED = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.In: "in_", ast.NotIn: "notIn",
}  # fmt: skip
_OPERATIONS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.BitAnd: "and",
    ast.BitOr: "or", ast.Pow: "pow",
}  # fmt: skip
#: Python's own, of python.mjs.
_BUILTINS = {
    "any", "bool", "dict", "enumerate", "filter", "float", "frozenset", "getattr", "inf", "int",
    "isinstance", "len", "list", "map", "max", "min", "next", "range", "reversed", "round", "set",
    "str", "sum", "tuple", "zip",
}  # fmt: skip
# Names that JavaScript keeps for itself.
_RESERVED = {
    "case", "catch", "const", "default", "delete", "do", "function", "new", "switch", "this",
    "throw", "var", "void", "with",
}  # fmt: skip


def translate(file: Path, keep: Iterable[str] = ()) -> str:
    """Return a module's functions, classes and constants as JavaScript.

    ``keep``: only these, if there are any. Raises NotImplementedError.
    """
    wanted = set(keep)
    tree = ast.parse(file.read_text("utf-8"))
    parts = []
    for it in tree.body:
        name = getattr(it, "name", "") or getattr(getattr(it, "targets", [it])[0], "id", "")
        name = name or getattr(getattr(it, "target", None), "id", "")
        is_about_types = isinstance(it, (ast.Import, ast.ImportFrom, ast.If, ast.Expr))
        if is_about_types or name == "_Ask" or (wanted and name not in wanted):
            continue
        parts.append(_statement(it))
    return "\n".join(parts)


def _statements(body: Iterable[ast.stmt]) -> str:
    return " ".join(map(_statement, body))


def _statement(it: ast.stmt) -> str:
    match it:
        case ast.Expr(ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Assert():
            return ""
        case ast.Expr():
            return f"{_expression(it.value)};"
        case ast.FunctionDef():
            return _function(it)
        case ast.ClassDef():
            return _class(it)
        case ast.Return():
            return f"return {_expression(it.value) if it.value else 'null'};"
        case ast.Break():
            return "break;"
        case ast.Continue():
            return "continue;"
        case ast.AnnAssign(value=None):
            return ""
        case ast.AnnAssign(value=ast.expr() as value):
            return _assign([it.target], value)
        case ast.Assign():
            return _assign(it.targets, it.value)
        case ast.AugAssign():
            after = ast.BinOp(it.target, it.op, it.value)
            return f"{_expression(it.target)} = {_expression(after)};"
        case ast.Delete(targets=[ast.Subscript() as one]):
            return f"delete {_expression(one)};"
        case ast.If():
            other = f" else {{ {_statements(it.orelse)} }}" if it.orelse else ""
            return f"if (py.true({_expression(it.test)})) {{ {_statements(it.body)} }}{other}"
        case ast.For(orelse=[]):
            inside = _statements(it.body)
            return (
                f"for ({_expression(it.target)} of py.each({_expression(it.iter)})) {{ {inside} }}"
            )
    raise NotImplementedError(f"line {it.lineno}: {ast.unparse(it)}")


def _assign(targets: list[ast.expr], value: ast.expr) -> str:
    text = _expression(value)
    for target in reversed(targets):
        text = f"{_expression(target)} = {text}"
    # The parser of JavaScript takes a list at the beginning for the index of what is before.
    first = targets[0].elts[0] if isinstance(targets[0], ast.Tuple) else targets[0]
    at_top = isinstance(first, ast.Name) and first.id.lstrip("_")[:1].isupper()
    return f"{'const ' if at_top else ';'}{text};"


def _function(it: ast.FunctionDef, head: str = "function ") -> str:
    """A function takes what Python's would, keywords as the last argument, a Keywords."""
    arguments = it.args
    names = [a.arg for a in (*arguments.args, *arguments.kwonlyargs)]
    last = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    defaults = {a.arg: value for a, value in zip(last, arguments.defaults, strict=True)}
    only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaults |= {a.arg: value for a, value in only if value is not None}
    is_method = names[:1] == ["self"]
    rest = [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
    local = _assigned(it.body) - set(names) - set(rest)
    shape = {
        "names": [_name(a.arg) for a in arguments.args if a.arg != "self"],
        "only": [_name(a.arg) for a in arguments.kwonlyargs],
        "rest": arguments.vararg and _name(arguments.vararg.arg),
        "keywords": arguments.kwarg and _name(arguments.kwarg.arg),
    }  # fmt: skip
    values = ", ".join(f"{_name(k)}: () => {_expression(v)}" for k, v in defaults.items())
    given = [_name(n) for n in names if n != "self"] + [_name(n) for n in rest]
    lines = ["const self = this;"] if is_method else []
    if given:
        bound = f"py.bind(given, {json.dumps(shape)}, {{ {values} }})"
        lines.append(f"let {{ {', '.join(given)} }} = {bound};".replace("{ }", "{}"))
    if local:
        lines.append(f"let {', '.join(_name(n) for n in sorted(local))};")
    inside = f"{' '.join(lines)} {_statements(it.body)}"
    return f"{head}{_name(it.name)}(...given) {{ {inside} return null; }}"


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that a function's statements assign; those of comprehensions are theirs."""
    found = set()
    todo: list[ast.AST] = list(body)
    while todo:
        it = todo.pop()
        if isinstance(it, ast.comprehension):
            todo += [it.iter, *it.ifs]
            continue
        if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store):
            found.add(it.id)
        if not isinstance(it, ast.Lambda):
            todo += ast.iter_child_nodes(it)
    return found


def _class(it: ast.ClassDef) -> str:
    if any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in it.bases):
        fields = [part for part in it.body if isinstance(part, ast.AnnAssign)]
        names = [_name(part.target.id) for part in fields if isinstance(part.target, ast.Name)]
        values = ", ".join(
            f"{name}: {_expression(part.value)}"
            for name, part in zip(names, fields, strict=True)
            if part.value is not None
        )
        return f"const {it.name} = py.record({json.dumps(names)}, {{ {values} }});"
    members = []
    for part in it.body:
        if isinstance(part, ast.FunctionDef):
            kinds = [kind.id for kind in part.decorator_list if isinstance(kind, ast.Name)]
            if "cached_property" in kinds:
                inside = _statements(part.body)
                local = _assigned(part.body)
                known = f"let {', '.join(_name(n) for n in sorted(local))};" if local else ""
                members.append(
                    f"get {_name(part.name)}() {{ const self = this; return py.once(self, "
                    f"{json.dumps(part.name)}, () => {{ {known} {inside} }}); }}"
                )
            else:
                head = _function(part, "")
                if part.name == "__init__":
                    head = head.replace("__init__(", "constructor(", 1)
                    head = head.removesuffix(" return null; }") + " }"
                members.append(head)
    made = " ".join(members)
    name = _name(it.name)
    return (
        f"class {name}Class {{ {made} }}\nconst {name} = (...given) => new {name}Class(...given);"
    )


def _expression(it: ast.expr) -> str:
    match it:
        case ast.Constant():
            return json.dumps(it.value)
        case ast.Name():
            return f"py.{it.id}" if it.id in _BUILTINS else _name(it.id)
        case ast.Attribute():
            return f"{_expression(it.value)}.{_name(it.attr)}"
        case ast.Subscript(ctx=ast.Load()):
            return f"py.at({_expression(it.value)}, {_expression(it.slice)})"
        case ast.Subscript():
            return f"{_expression(it.value)}[{_expression(it.slice)}]"
        case ast.Slice(step=None):
            ends = (_expression(end) if end else "null" for end in (it.lower, it.upper))
            return f"py.slice({', '.join(ends)})"
        case ast.Slice(lower=None, upper=None, step=ast.UnaryOp(ast.USub(), ast.Constant(1))):
            return "py.backwards"
        case ast.Starred():
            return f"...py.each({_expression(it.value)})"
        case ast.Tuple() | ast.List() | ast.Set():
            return f"[{', '.join(map(_expression, it.elts))}]"
        case ast.Dict():
            pairs = (
                f"...{_expression(v)}" if k is None else f"[{_expression(k)}]: {_expression(v)}"
                for k, v in zip(it.keys, it.values, strict=True)
            )
            return f"({{ {', '.join(pairs)} }})"
        case ast.BoolOp():
            name = "both" if isinstance(it.op, ast.And) else "either"
            return f"py.{name}({', '.join(f'() => {_expression(v)}' for v in it.values)})"
        case ast.UnaryOp(op=ast.Not()):
            return f"!py.true({_expression(it.operand)})"
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_expression(it.operand)}"
        case ast.UnaryOp(op=ast.Invert()):
            return f"py.not({_expression(it.operand)})"
        case ast.BinOp() if type(it.op) in _OPERATIONS:
            name = _OPERATIONS[type(it.op)]
            return f"py.{name}({_expression(it.left)}, {_expression(it.right)})"
        case ast.Compare():
            sides = pairwise((it.left, *it.comparators))
            found = [_compared(a, op, b) for (a, b), op in zip(sides, it.ops, strict=True)]
            return found[0] if len(found) == 1 else f"({' && '.join(found)})"
        case ast.IfExp():
            test, one, other = map(_expression, (it.test, it.body, it.orelse))
            return f"(py.true({test}) ? {one} : {other})"
        case ast.NamedExpr():
            return f"({_expression(it.target)} = {_expression(it.value)})"
        case ast.JoinedStr():
            return f"[{', '.join(map(_part, it.values))}].join('')"
        case ast.Lambda():
            names = ", ".join(_name(a.arg) for a in it.args.args)
            return f"(({names}) => {_expression(it.body)})"
        case ast.GeneratorExp():
            return f"py.lazy(function* () {{ {_loops(it, f'yield {_expression(it.elt)};')} }})"
        case ast.ListComp():
            inside = _loops(it, f"yield {_expression(it.elt)};")
            return f"[...py.lazy(function* () {{ {inside} }})]"
        case ast.DictComp():
            inside = _loops(it, f"yield [{_expression(it.key)}, {_expression(it.value)}];")
            return f"py.dict(py.lazy(function* () {{ {inside} }}))"
        case ast.Call():
            return _call(it)
    raise NotImplementedError(f"line {it.lineno}: {ast.unparse(it)}")


def _part(it: ast.expr) -> str:
    match it:
        case ast.FormattedValue(format_spec=None):
            return f"py.str({_expression(it.value)})"
        case ast.Constant():
            return json.dumps(it.value)
    raise NotImplementedError(f"line {it.lineno}: {ast.unparse(it)}")


def _compared(one: ast.expr, op: ast.cmpop, other: ast.expr) -> str:
    left, right = _expression(one), _expression(other)
    if isinstance(op, (ast.Is, ast.IsNot)):
        return f"({left} {'==' if isinstance(op, ast.Is) else '!='} {right})"
    return f"py.{_COMPARED[type(op)]}({left}, {right})"


def _loops(it: ast.GeneratorExp | ast.ListComp | ast.DictComp, inside: str) -> str:
    for loop in reversed(it.generators):
        for test in reversed(loop.ifs):
            inside = f"if (py.true({_expression(test)})) {{ {inside} }}"
        each = f"py.each({_expression(loop.iter)})"
        inside = f"for (const {_expression(loop.target)} of {each}) {{ {inside} }}"
    return inside


def _call(it: ast.Call) -> str:
    given = [*map(_expression, it.args)]
    if it.keywords:
        words = (
            f"...{_expression(k.value)}"
            if k.arg is None
            else f"{_name(k.arg)}: {_expression(k.value)}"
            for k in it.keywords
        )
        given.append(f"py.keywords({{ {', '.join(words)} }})")
    if isinstance(it.func, ast.Attribute):
        owner, name = _expression(it.func.value), _name(it.func.attr)
        return f"py.call({', '.join((owner, json.dumps(name), *given))})"
    return f"{_expression(it.func)}({', '.join(given)})"


def _name(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name
