# SPDX-License-Identifier: GPL-2.0-only
"""What the command line leaves out of packages that it imports."""

import subprocess
import sys

_PROGRAM = """
import sys
from tunnelcc.output import imports
imports.leave_out_texts_and_plugins()

import numpy
import pydantic

class Keys(pydantic.BaseModel):
    rate: int

assert Keys(rate="3").rate == 3
from pydantic.plugin import _loader
assert list(_loader.get_plugins()) == []
assert "importlib.metadata" not in sys.modules
assert not numpy.sum.__doc__ or not numpy.ndarray.__doc__
# Who looks something up, finds it.
assert _loader.PYDANTIC_ENTRY_POINT_GROUP == "pydantic"
assert callable(numpy._core._add_newdocs.add_newdoc)
assert numpy.ndarray.__doc__
"""


def test_texts_and_plugins_wait_until_they_are_looked_up() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
