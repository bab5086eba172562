# SPDX-License-Identifier: GPL-2.0-only
"""Print what the development environment needs, one requirement a line, from pyproject.toml.

`ns3` is left out: it is installed without its own dependency cppyy, which takes more than a
minute to compile and serves ns-3's Python bindings only. tunnelcc never imports those.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
project = pyproject["project"]
requirements = [
    *pyproject["build-system"]["requires"],
    *project["dependencies"],
    *project["optional-dependencies"]["dev"],
    "cmake>=3.21",
    "ninja",
]
print(*(line for line in requirements if not line.startswith("ns3")), sep="\n")
