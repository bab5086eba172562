# SPDX-License-Identifier: GPL-2.0-only
"""Check that no code decides by words: it compares, searches, splits or edits no message.

Messages are made for people: by ``tunnelcc/words``, by errors, and by declarations that describe
themselves. What code wants to know of them is a field beside them. A line that must read words,
because a user asks for words, ends with ``# words: why``.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: What a message's text is an attribute or an argument of.
MESSAGES = {
    "args", "definition", "description", "expected", "hint", "how", "long_name", "meaning",
    "message", "reason", "summary", "told", "warning",
}  # fmt: skip
#: What edits a text, or asks what is in it.
METHODS = {
    "capitalize", "count", "endswith", "find", "index", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "title", "translate", "upper",
}  # fmt: skip
#: Functions of ``tunnelcc.words`` are called by the name of their file, as ``causes.text()``.
ROOM = ROOT / "tunnelcc" / "words"


def reads(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that compare, search, split or edit a message."""
    errors = {it.name for it in ast.walk(tree) if isinstance(it, ast.ExceptHandler)}
    rooms = {
        name.asname or name.name
        for it in ast.walk(tree)
        if isinstance(it, ast.ImportFrom) and (it.module or "").startswith("tunnelcc.words")
        for name in it.names
    }

    def is_message(node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return is_message(node.value)
        if isinstance(node, ast.Attribute):
            return node.attr in MESSAGES
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            return is_message(node.func.value)
        if isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
            given = node.args[0] if node.args else None
            return isinstance(given, ast.Name) and given.id in errors
        called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return isinstance(called, ast.Name) and called.id in rooms

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in METHODS and is_message(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            # Whether there is any is no question about words.
            is_empty = any(isinstance(it, ast.Constant) and not it.value for it in sides)
            if not is_empty and any(map(is_message, sides)):
                yield node.lineno


def main(folder: Path = ROOT / "tunnelcc") -> int:
    """Print every line that reads words; return the exit status."""
    wrong = []
    for file in sorted(folder.rglob("*.py")):
        if ROOM in file.parents:
            continue
        text = file.read_text("utf-8")
        lines = text.splitlines()
        wrong += [
            f"{file}:{number}: reads a message; a field beside it should say so"
            for number in reads(ast.parse(text))
            if "# words: " not in lines[number - 1]
        ]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
