# SPDX-License-Identifier: GPL-2.0-only
"""What a file loads or includes is what is hashed and agreed to, and nothing else runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import zipfile

import pytest

import tunnelcc as tc
from tunnelcc import _core, modules
from tunnelcc.modules import compiler
from tunnelcc.store.identity import run_id

#: Adds ``step`` segments a round trip. HERE is what the file imports.
PYTHON = """\
HERE
import tunnelcc as tc


class Mine(tc.CongestionControl):
    def on_ack(self, state, ack):
        left = state.slow_start(ack.acked) if state.in_slow_start else ack.acked
        state.cwnd += STEP * left / state.cwnd
"""
CXX = """\
#include "tunnelcc.h"
HERE
struct Mine : tc::CongestionControl
{
    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        double left = state.InSlowStart() ? state.SlowStart(ack.acked) : ack.acked;
        state.cwnd += STEP * left / state.cwnd;
    }
};
TUNNELCC_CONGESTION_CONTROL(Mine);
"""
PATH = {"rate": "20Mbps", "rtt": "20ms", "loss": "1%"}


def _experiment(*files):
    flows = [{"cc": str(it)} for it in files]
    return tc.Experiment(path=PATH, flows=flows, duration="2s")


def _write(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text))
    return file


def _python(folder, here, step="1"):
    return _write(folder, "mine.py", PYTHON.replace("HERE", here).replace("STEP", step))


@pytest.mark.parametrize(
    "here",
    [
        "import xmlrpc.client",
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport xmlrpc.client",
        "import importlib\nimportlib.import_module('xmlrpc.client')",
    ],
)
def test_what_a_trusted_file_imports_is_not_searched_in_its_folder(tmp_path, here):
    """In a process of its own, because this one has imported it."""
    mine = _python(tmp_path / "ours", here)
    assert tc.run(_experiment(mine)).goodput > 1e6
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(mine, other)
    _write(other, "gzip.py", "open(__file__ + '.ran', 'w')")
    scenario = _write(other, "scenario.toml", 'duration = "1s"\nflows = [{ cc = "mine.py" }]\n')
    for command in (("run",), ("sweep", "--axis", "path.loss=0,1%", "--seeds", "1")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tunnelcc", command[0], str(scenario), *command[1:]]
            if sys.version_info >= (3, 11)
            else [shutil.which("tunnelcc"), command[0], str(scenario), *command[1:]],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert not (other / "gzip.py.ran").exists()


@pytest.mark.parametrize(
    ("here", "step"),
    [
        ("import helper", "helper.STEP"),
        ("import importlib\nhelper = importlib.import_module('helper')", "helper.STEP"),
        ("from importlib import import_module\nhelper = import_module('helper')", "helper.STEP"),
        ("helper = __import__('helper')", "helper.STEP"),
        ("from . import helper", "helper.STEP"),
        ("", "__import__('helper').STEP"),
    ],
)
def test_a_changed_helper_is_another_algorithm(tmp_path, here, step):
    results = []
    for value in (0.1, 20):
        _write(tmp_path, "helper.py", f"STEP = {value}")
        experiment = _experiment(_python(tmp_path, here, step))
        results.append((run_id(experiment), tc.run(experiment).goodput))
    assert results[0][0] != results[1][0]
    assert results[1][1] > 1.5 * results[0][1]


def test_a_changed_helper_needs_a_new_agreement(tmp_path):
    _write(tmp_path, "helper.py", "STEP = 1")
    _python(tmp_path, "import importlib\nhelper = importlib.import_module('helper')")
    scenario = _write(tmp_path, "scenario.toml", 'flows = [{ cc = "mine.py" }]\n')
    tc.load(scenario, trust=True)
    tc.load(scenario)  # it was agreed to
    _write(tmp_path, "helper.py", f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(tc.ConfigError, match="trust=True"):
        tc.load(scenario)
    assert not (tmp_path / "ran").exists()


def test_what_no_text_names_is_not_loaded(tmp_path):
    _write(tmp_path, "helper.py", f"open({str(tmp_path / 'ran')!r}, 'w')")
    here = "import importlib\nhelper = importlib.import_module('repleh'[::-1])"
    with pytest.raises(tc.ConfigError, match=r"helper\.py is beside mine\.py.*`import helper`"):
        _experiment(_python(tmp_path, here))
    assert not (tmp_path / "ran").exists()


#: How a file may get at code of its folder without a name that tells of it.
_OTHER_WAYS = (
    "sys.path.insert(0, str(here / 'lib'))\nstep = __import__('st' + 'ep')",
    "sys.path.append(str(here / 'lib'))\nimport step",
    "import os\nos.chdir(here / 'lib')\nsys.path.insert(0, '')\nimport step",
    "import runpy\nrunpy.run_path(str(here / 'lib' / ('st' + 'ep.py')))",
    "exec((here / 'lib' / ('st' + 'ep.py')).read_text())",
    "from importlib.machinery import SourceFileLoader as Of\n"
    "Of('x', str(here / 'lib' / ('st' + 'ep.py'))).load_module()",
    "from importlib.util import module_from_spec, spec_from_file_location\n"
    "spec = spec_from_file_location('x', here / 'lib' / ('st' + 'ep.py'))\n"
    "spec.loader.exec_module(module_from_spec(spec))",
    "import zipimport\nzipimport.zipimporter(str(here / 'packed.zip')).load_module('step')",
    "import site\nsite.addsitedir(str(here / 'lib'))",
    "import ctypes\nctypes.CDLL(str(here / 'lib' / 'step.so'))",
    "import os\nos.symlink(here / 'lib' / ('st' + 'ep.py'), here / 'link.py')\n"
    "exec((here / 'link.py').read_text())",
)


@pytest.mark.parametrize("way", _OTHER_WAYS)
@pytest.mark.parametrize("when", ["loaded", "run"])
def test_code_of_the_folder_that_was_not_read_is_not_loaded(tmp_path, way, when):
    ran = f"open({str(tmp_path / 'ran')!r}, 'w')"
    _write(tmp_path, "files/lib/step.py", f"{ran}\nSTEP = 1")
    _write(tmp_path, "files/lib/x.pth", f"import os; {ran}")
    shutil.copy(_core.__file__, tmp_path / "files/lib/step.so")
    with zipfile.ZipFile(tmp_path / "files/packed.zip", "w") as packed:
        packed.writestr("step.py", ran)
    code = f"import pathlib, sys\nhere = pathlib.Path(__file__).parent\n{way}"
    if when == "loaded":
        mine = _python(tmp_path / "files", code)
    else:
        inner = textwrap.indent(code, " " * 8)
        mine = _python(tmp_path / "files", "", f"1\n\n    def on_start(self, state):\n{inner}\n#")
    with pytest.raises(tc.TunnelccError, match=r"is beside mine\.py|in the folder of mine\.py"):
        tc.run(_experiment(mine))
    assert not (tmp_path / "ran").exists()


def test_what_else_a_file_reads_and_writes_in_its_folder(tmp_path, monkeypatch):
    """Numbers, its own text, a file that it makes, and packages that were installed below."""
    _write(tmp_path, "weights.json", "[20]")
    _write(tmp_path, "src/installed_below.py", "ONE = 1")
    monkeypatch.syspath_prepend(tmp_path / "src")
    here = """\
    import json, pathlib
    import installed_below
    here = pathlib.Path(__file__).parent
    weights = json.loads((here / "weights.json").read_text())
    assert "weights" in pathlib.Path(__file__).read_text()
    (here / "made.py").write_text("1")
    """
    mine = _python(tmp_path, textwrap.dedent(here), "weights[0]")
    assert tc.run(_experiment(mine)).goodput > 1e6
    assert (tmp_path / "made.py").exists()


def test_packages_beside_a_file(tmp_path):
    _write(tmp_path, "pack/__init__.py", "from .part import STEP")
    _write(tmp_path, "pack/part.py", "import steps\nSTEP = steps.STEP")
    _write(tmp_path, "steps.py", "STEP = 20")
    _write(tmp_path, "plain/deep.py", "ONE = 1")
    here = "import json\nimport pack.part\nimport plain.deep\nfrom plain import deep\n"
    tried = _experiment(_python(tmp_path, here, "pack.part.STEP * plain.deep.ONE * deep.ONE"))
    assert tc.run(tried).goodput == tc.run(_experiment(_python(tmp_path / "b", "", "20"))).goodput
    _write(tmp_path, "steps.py", "STEP = 1")
    again = _python(tmp_path, here, "pack.part.STEP * plain.deep.ONE * deep.ONE")
    assert run_id(_experiment(again)) != run_id(tried)


def test_helpers_of_one_name_in_two_folders(tmp_path):
    files = []
    for name, step in (("a", "0.1"), ("b", "20")):
        _write(tmp_path / name, "helper.py", f"STEP = {step}")
        files.append(_python(tmp_path / name, "import helper", "helper.STEP"))
    result = tc.run(_experiment(*files))
    assert result.flow_goodput(1) > 2 * result.flow_goodput(0)


def test_what_was_read_is_what_runs(tmp_path):
    """The file changes between its hash and its execution."""
    source = modules.read(str(_python(tmp_path, "import helper", "1")))
    assert modules.read(source.name).code == source.code
    _write(tmp_path, "helper.py", "1 / 0")
    _write(tmp_path, "mine.py", "1 / 0")
    with pytest.raises(tc.ConfigError, match="helper"):  # it was not there
        modules.python.load(source)
    _write(tmp_path, "helper.py", "STEP = 1")
    _python(tmp_path, "import helper", "1")
    source = modules.read(source.name)
    _write(tmp_path, "helper.py", "1 / 0")
    _write(tmp_path, "mine.py", "1 / 0")
    assert modules.python.load(source).__name__ == "Mine"


def _cxx(folder, here):
    return _write(folder, "mine.cc", CXX.replace("HERE", here))


@pytest.mark.parametrize(
    "here",
    [
        '#include "step.h"',
        '#define H "step.h"\n#include H',
        "#define STR(x) #x\n#define NAME(x) STR(x.h)\n#include NAME(step)",
        '%:include "step.h"',
        '#define H "deep/more.h"\n#include H',
    ],
)
def test_a_changed_header_is_another_algorithm(tmp_path, here):
    _write(tmp_path, "deep/more.h", '#define H2 "../step.h"\n#include H2\n')
    results = []
    for value in (0.1, 20):
        _write(tmp_path, "step.h", f"#define STEP {value}\n")
        experiment = _experiment(_cxx(tmp_path, here))
        results.append((run_id(experiment), tc.run(experiment).goodput))
    assert results[0][0] != results[1][0]
    assert results[1][1] > 1.5 * results[0][1]
    _write(tmp_path, "step.h", "#define STEP 0.1\n")
    assert run_id(_experiment(tmp_path / "mine.cc")) == results[0][0]
    for it in ("mine.cc", "step.h", "deep/more.h"):  # in another folder, it is the same
        _write(tmp_path / "other", it, (tmp_path / it).read_text())
    assert run_id(_experiment(tmp_path / "other/mine.cc")) == results[0][0]


@pytest.mark.parametrize(
    ("here", "told"),
    [
        ('#define H "step.h"\n#if __has_include(H)\n#include H\n#endif', "write the name"),
        ("#define S(x) #x\n#if __has_include ( S(step.h))\n#endif", "write the name"),
        ('asm(".incbin \\"step.h\\"");', "as an array"),
        ('asm(".include \\"step.h\\"");', "use #include"),
    ],
)
def test_what_the_compiler_does_not_tell_is_refused(tmp_path, here, told):
    mine = _cxx(tmp_path, f"{here}\n#define STEP 1")
    with pytest.raises(tc.ConfigError, match=f"mine.cc has .*{told}"):
        _experiment(mine)


@pytest.mark.parametrize("more", ["", '#include "step.h"'])
def test_a_header_that_appears_makes_another_algorithm(tmp_path, more):
    here = f'#if __has_include("step.h")\n#define STEP 20\n{more}\n#else\n#define STEP 0.1\n#endif'
    mine = _cxx(tmp_path, here)
    results = []
    for _ in range(2):
        experiment = _experiment(mine)
        results.append((run_id(experiment), tc.run(experiment).goodput))
        _write(tmp_path, "step.h", "// here")
    assert results[0][0] != results[1][0]
    assert results[1][1] > 1.5 * results[0][1]


def test_a_changed_header_needs_a_new_agreement(tmp_path):
    _write(tmp_path, "step.h", "#define STEP 1\n")
    _cxx(tmp_path, '#define H "step.h"\n#include H')
    scenario = _write(tmp_path, "scenario.toml", 'flows = [{ cc = "mine.cc" }]\n')
    tc.load(scenario, trust=True)
    tc.load(scenario)
    _write(tmp_path, "step.h", "#define STEP 2\n")
    with pytest.raises(tc.ConfigError, match="trust=True"):
        tc.load(scenario)


def test_what_was_read_is_what_is_compiled(tmp_path, monkeypatch):
    """The header changes once the compiler is about to run."""
    _write(tmp_path, "step.h", "#define STEP 20\n")
    mine = _cxx(tmp_path, '#include "step.h"')
    right = tc.run(_experiment(mine)).goodput
    code = modules.of(str(mine)).code
    for file in modules.files.folder().iterdir():
        file.unlink()
    modules._known.cache_clear()
    compile_ = compiler._run

    def change(command, source):
        _write(tmp_path, "step.h", "#define STEP 0.1\n")
        compile_(command, source)

    monkeypatch.setattr(compiler, "_run", change)
    experiment = _experiment(mine)
    assert modules.known(code)
    assert tc.run(experiment).goodput == right


def test_a_header_by_its_absolute_path(tmp_path):
    header = _write(tmp_path / "far", "step.h", "#define STEP 0.1\n")
    results = []
    for value in (0.1, 20):
        _write(tmp_path / "far", "step.h", f"#define STEP {value}\n")
        experiment = _experiment(_cxx(tmp_path / "near", f'#define H "{header}"\n#include H'))
        results.append((run_id(experiment), tc.run(experiment).goodput))
    assert results[0][0] != results[1][0]
    assert results[1][1] > 1.5 * results[0][1]


def test_a_module_of_linux_with_a_header_behind_a_macro(tmp_path):
    same = os.path.join(os.path.dirname(__file__), "same", "tcp_aimd.c")
    with open(same) as file:
        text = file.read()
    (tmp_path / "tcp_aimd.c").write_text('#define H "more.h"\n#include H\n' + text)
    codes = []
    for value in (1, 2):
        _write(tmp_path, "more.h", f"#define MORE {value}\n")
        codes.append(modules.of(f"linux:{tmp_path}/tcp_aimd.c").code)
    assert codes[0] != codes[1]
