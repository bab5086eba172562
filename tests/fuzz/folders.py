# SPDX-License-Identifier: GPL-2.0-only
"""Draws folders with a congestion control and other files beside it, and changes one of these.

Whatever a file loads or includes is hashed, and agreed to; what it does not, has no say. Each file
of a folder has a number, and a sum of numbers is the default of a parameter: it tells what was
loaded. A file of Python also leaves a mark when it is executed.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tunnelcc as tc
from tunnelcc import modules

#: Modules: how they are imported, and where they are. Some have names of the standard library's.
_MODULES = {
    "one": "one.py", "two": "two.py", "p": "p/__init__.py", "p.q": "p/q.py", "n.r": "n/r.py",
    "gzip": "gzip.py", "json": "json.py", "xmlrpc.client": "xmlrpc/client.py", "numpy": "numpy.py",
}  # fmt: skip
#: Never named by anything: what the package and the interpreter import.
_ALONE = ("tunnelcc.py", "sitecustomize.py", "typing.py", "tunnelcc/core.py", "xarray.py")
#: Imports that work. M: the module's name; V: a new variable for its number.
_IMPORTS = (
    "from M import VALUE as V",
    "import M as V_; V = V_.VALUE",
    "import importlib; V = importlib.import_module('M').VALUE",
    "from importlib import import_module as get; V = get('M').VALUE",
    "try:\n    from M import VALUE as V\nexcept ImportError:\n    V = 0",
    "def V_():\n    from M import VALUE\n    return VALUE\nV = V_()",
    "V = __import__('M', fromlist=['VALUE']).VALUE",
    "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nfrom M import VALUE as V",
)
#: Others, which may be refused. F: a file's path from the folder; HALVES: its name in two.
_HERE = "import os, sys; here = os.path.dirname(os.path.abspath(__file__))\n"
_ODD = (
    "import importlib; V = importlib.import_module(''.join(HALVES)).VALUE",
    "V = __import__(''.join(HALVES)).VALUE",
    "import builtins; V = builtins.__import__(''.join(HALVES)).VALUE",
    _HERE + "sys.path.insert(0, os.path.dirname(os.path.join(here, *PARTS)))\n"
    "V = __import__(''.join(HALVES)).VALUE",
    _HERE + "sys.path.append(os.path.dirname(os.path.join(here, *PARTS)))\n"
    "import importlib; V = importlib.import_module(''.join(HALVES)).VALUE",
    _HERE + "os.chdir(here); sys.path.insert(0, ''); V = __import__(''.join(HALVES)).VALUE",
    _HERE + "import runpy; V = runpy.run_path(os.path.join(here, *PARTS))['VALUE']",
    _HERE + "import runpy; V = runpy.run_path(os.path.join(here, 'F'))['VALUE']",
    _HERE + "names = {}; exec(open(os.path.join(here, *PARTS)).read(), names); V = names['VALUE']",
    _HERE + "import importlib.util as u\n"
    "s = u.spec_from_file_location('other', os.path.join(here, *PARTS))\n"
    "m = u.module_from_spec(s); s.loader.exec_module(m); V = m.VALUE",
    _HERE + "from importlib.machinery import SourceFileLoader as L\n"
    "V = L('other', os.path.join(here, *PARTS)).load_module().VALUE",
    _HERE + "import importlib.machinery as i, importlib.util as u\n"
    "s = i.PathFinder.find_spec(''.join(HALVES), [os.path.dirname(os.path.join(here, *PARTS))])\n"
    "m = u.module_from_spec(s); s.loader.exec_module(m); V = m.VALUE",
    _HERE + "import shutil, tempfile; t = tempfile.mkdtemp()\n"
    "shutil.copy(os.path.join(here, *PARTS), t); sys.path.insert(0, t)\n"
    "V = __import__(''.join(HALVES)).VALUE",
    "import pathlib; names = {}\n"
    "exec(pathlib.Path(__file__).parent.joinpath(*PARTS).read_bytes(), names); V = names['VALUE']",
    _HERE + "import zipimport, zipfile\n"
    "V = zipimport.zipimporter(os.path.join(here, 'packed.zip')).load_module('packed').VALUE",
)
_PYTHON = """\
{here}
import tunnelcc as tc

class Mine(tc.CongestionControl):
    step = float({sum})

    def on_ack(self, state, ack):
        state.cwnd += self.step
"""
#: Includes of a header. H: its path from the file that includes it; @: a number.
_INCLUDES = (
    '#include "H"',
    '#define M@ "H"\n#include M@',
    "#define STR@(x) #x\n#define NAME@(x) STR@(x)\n#include NAME@(H)",
    '%:include "H"',
    '#if __has_include("H")\n#include "H"\n#endif',
    '#if __has_include( "H")\n#define V@ 7\n#endif',
    '#ifndef NEVER\n#include "./H"\n#endif',
    '#  include /* beside */ "H" // here',
)
_HEADERS = ("a.h", "b.h", "deep/c.h", "deep/d.h", "tunnelcc.h", "stdio.h", "e.inc")
_MODULE = Path(__file__).parents[1] / "python/modules/same/tcp_aimd.c"


@dataclass
class _Folder:
    """What is in a folder. ``named``: files that may have a say; ``must_work``: no odd imports."""

    main: str
    files: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    must_work: bool = True


@dataclass(frozen=True)
class _Seen:
    """What became of a file: its hash, the parameter's default, and what was executed."""

    code: str
    value: float | None
    ran: frozenset[str]
    hashed: frozenset[str]
    told: str


class Fuzzer:
    """A folder for all cases."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._c = _MODULE.read_text()

    def attempt(self, draw: random.Random) -> str:
        """Return what became of a folder."""
        before = os.environ.get("XDG_CACHE_HOME")
        here = Path(tempfile.mkdtemp(dir=self._directory)).resolve()
        try:
            return self._attempt(here, draw)
        except Exception:
            for file in sorted(it for it in (here / "files").rglob("*") if it.is_file()):
                print(f"--- {file.relative_to(here / 'files')}")
                print(file.read_bytes()[:2000].decode(errors="replace"))
            raise
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before
            shutil.rmtree(here)

    def _attempt(self, here: Path, draw: random.Random) -> str:
        is_python = draw.random() < 0.75
        drawn = _python(here, draw) if is_python else _c(self._c, draw)
        folder = here / "files"
        for name, text in drawn.files.items():
            _write(folder / name, text)
        if any("packed.zip" in it for it in drawn.files.values()):
            _pack(folder / "packed.zip", here)
        first = _see(folder / drawn.main, here, "1")
        _check_hashed(first)
        if drawn.must_work:
            assert first.value is not None, first.told
        how = draw.choice(("change", "change", "change", "remove", "add", "move"))
        changed = _change(folder, drawn, how, draw, here)
        if changed is None:
            return "nothing to change"
        agreed = modules.find(str(folder / drawn.main))
        second = _see(folder / drawn.main, here, "2")
        _check_hashed(second)
        if second.value != first.value:
            assert second.code != first.code, f"{changed}: {first.value} and {second.value}"
            assert agreed is None, f"{changed}: it needs no new agreement"
        elif changed not in drawn.named:
            assert second.code == first.code, f"{changed} is not loaded"
        kind = "python" if is_python else "c"
        what = "refused" if first.value is None else "the same" if first == second else "another"
        return f"{kind}, {how}: {what}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _pack(file: Path, here: Path) -> None:
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("packed.py", f"{_mark(here, 'packed.zip')}\nVALUE = 3\n")


def _mark(here: Path, name: str) -> str:
    """Return a line of Python that tells that it was executed, without the file's name in it."""
    told = f"bytes.fromhex({(name.encode() + b' ').hex()!r}).decode()"
    return f"open({str(here / 'ran')!r}, 'a').write({told})"


def _python(here: Path, draw: random.Random) -> _Folder:
    found = _Folder("mine.py")
    names = draw.sample(list(_MODULES), draw.choice((1, 2, 3)))
    imports: dict[str, list[str]] = {"mine.py": []}
    for number, name in enumerate(names):
        # Imported by the file itself, or by what it imports.
        imports.setdefault(_MODULES[name], [])
        by = draw.choice(list(imports)[: number + 1])
        is_odd = draw.random() < 0.35
        if is_odd:
            found.must_work = False
        form = draw.choice(_ODD if is_odd else _IMPORTS)
        if form.startswith("V = __import__('M'") and "." not in name:
            form = draw.choice((form, "V = __import__('M').VALUE"))
        if by == "mine.py" and not is_odd and draw.random() < 0.15:
            form = "from .M import VALUE as V"
        imports[by].append(_filled(form, name, number))
        found.named |= {it for key, it in _MODULES.items() if _first(key) == _first(name)}
        if "F'" in form or is_odd:
            found.named.add(_MODULES[name])
    beside = [*_MODULES.values(), *_ALONE, "packed.zip"]
    for name in [*imports, *(it for it in beside if draw.random() < 0.4)]:
        if name in found.files or name in ("mine.py", "packed.zip"):
            continue
        lines = imports.get(name, [])
        terms = [str(draw.randrange(1, 10**6)), *_variables(lines)]
        text = "\n".join((_mark(here, name), *lines, f"VALUE = {' + '.join(terms)}", ""))
        found.files[name] = text
    lines = imports["mine.py"]
    found.files["mine.py"] = _PYTHON.format(
        here="\n".join((_mark(here, "mine.py"), *lines)), sum=" + ".join(("1", *_variables(lines)))
    )
    found.named |= {"mine.py", "packed.zip"}
    return found


def _first(name: str) -> str:
    return name.partition(".")[0]


def _variables(lines: Sequence[str]) -> list[str]:
    return [it.splitlines()[0].removeprefix("# ") for it in lines]


def _filled(form: str, name: str, number: int) -> str:
    """Return the lines of an import, of which the first is a comment with the variable's name."""
    file = _MODULES[name]
    stem = name.rpartition(".")[2]
    for what, text in (
        ("HALVES", repr((stem[:1], stem[1:]))),
        ("PARTS", repr(file.split("/"))),
        ("'F'", repr(file)),
        ("M", name),
    ):
        form = form.replace(what, text) if what != "M" else _replaced(form, "M", text)
    return f"# v{number}\n" + _replaced(_replaced(form, "V_", f"v{number}_"), "V", f"v{number}")


def _replaced(text: str, word: str, by: str) -> str:
    return re.sub(rf"(?<![A-Za-z0-9_]){word}(?![A-Za-z0-9_])", by, text)


def _c(module: str, draw: random.Random) -> _Folder:
    found = _Folder("tcp_aimd.c")
    names = draw.sample(_HEADERS, draw.choice((1, 2, 3)))
    lines: dict[str, list[str]] = {"tcp_aimd.c": []}
    terms = ["2"]
    for number, name in enumerate(names):
        lines.setdefault(name, [])
        by = draw.choice(list(lines)[: number + 1])
        path = os.path.relpath(name, os.path.dirname(by) or ".")
        form = draw.choice(_INCLUDES)
        lines[by].append(_replaced(form, "H", path).replace("@", str(number)))
        terms.append(f"V{number}")
    beside = [it for it in _HEADERS if draw.random() < 0.5]
    for name in {**dict.fromkeys(names), **dict.fromkeys(beside)}:
        value = draw.randrange(1, 1000)
        number = names.index(name) if name in names else 9
        found.files[name] = "\n".join((*lines.get(name, ()), f"#define V{number} {value}", ""))
    found.files["deep/x.h"] = ""
    text = "\n".join((*lines["tcp_aimd.c"], module))
    default = " + ".join(terms)
    undefined = "".join(f"#ifndef {it}\n#define {it} 0\n#endif\n" for it in terms[1:])
    text = text.replace("static int step = 2;", f"{undefined}static int step = {default};")
    found.files["tcp_aimd.c"] = text
    # What a name may stand for: the same from another folder.
    found.named = {"tcp_aimd.c", *names}
    return found


def _see(file: Path, here: Path, number: str) -> _Seen:
    """Read a file as if for the first time."""
    os.environ["XDG_CACHE_HOME"] = str(here / f"cache{number}")
    modules._known.cache_clear()
    (here / "ran").unlink(missing_ok=True)
    name = f"linux:{file}" if file.suffix == ".c" else str(file)
    value, told = None, ""
    try:
        module = modules.of(name)
        value = next(it.default for it in module.parameters if it.name == "step")
    except tc.ConfigError as error:
        told = str(error)
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise
    source = modules.read(name)
    ran = here / "ran"
    return _Seen(
        source.code, value, frozenset(ran.read_text().split() if ran.exists() else ()),
        frozenset(os.path.relpath(it, file.parent) for it in source.contents), told,
    )  # fmt: skip


def _check_hashed(seen: _Seen) -> None:
    assert seen.ran <= seen.hashed, f"ran, and is not hashed: {seen.ran - seen.hashed}"


def _change(folder: Path, drawn: _Folder, how: str, draw: random.Random, here: Path) -> str | None:
    """Change one file, and return its name."""
    files = [it for it in drawn.files if it != drawn.main]
    absent = [it for it in (*_MODULES.values(), *_ALONE) if it not in drawn.files]
    if drawn.main.endswith(".c"):
        absent = [it for it in _HEADERS if it not in drawn.files]
    if how == "add" and absent:
        name = draw.choice(absent)
        value = draw.randrange(1, 10**6)
        is_c = drawn.main.endswith(".c")
        text = f"#define V9 {value}\n" if is_c else f"{_mark(here, name)}\nVALUE = {value}\n"
        _write(folder / name, text)
        return name
    if not files:
        return None
    name = draw.choice(files)
    file = folder / name
    if how == "remove":
        file.unlink()
    elif how == "move" and file.suffix == ".py":  # a module becomes a package
        if file.name == "__init__.py":
            return None
        text = file.read_text().replace(_mark(here, name), _mark(here, f"{name[:-3]}/__init__.py"))
        file.unlink()
        _write(file.with_suffix("") / "__init__.py", text)
    else:
        text = file.read_text()
        value = str(draw.randrange(10**6, 10**7) if file.suffix == ".py" else 7)
        old = "VALUE = " if file.suffix == ".py" else "#define V"
        lines = text.splitlines()
        lines = [f"{it} + {value}" if it.startswith(old) else it for it in lines]
        file.write_text("\n".join((*lines, "")))
    return name
