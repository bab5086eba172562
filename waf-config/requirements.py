# SPDX-License-Identifier: GPL-2.0-only
"""Print what is to be installed, one requirement a line, from pyproject.toml.

``build``: what compiles the models. Without an argument: what runs them. With the name of an extra,
such as ``dev``: what that needs besides.

`ns3` is left out: it is installed without its own dependency cppyy, which takes more than a
minute to compile and serves ns-3's Python bindings only (``ns3-bindings``).
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
project = pyproject["project"]
if sys.argv[1:] == ["build"]:
    requirements = [*pyproject["build-system"]["requires"], "cmake>=3.21", "ninja"]
elif sys.argv[1:]:
    requirements = project["optional-dependencies"][sys.argv[1]]
else:
    requirements = [*project["dependencies"], *project["optional-dependencies"]["calibrate"]]
print(*(line for line in requirements if not line.startswith("ns3")), sep="\n")
