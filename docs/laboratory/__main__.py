# SPDX-License-Identifier: GPL-2.0-only
"""``python docs/laboratory FOLDER``: write the page's modules, and with ``--page``, the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import laboratory

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path, help="where the files go")
parser.add_argument("--page", type=Path, metavar="MODULE", help="the models, as WebAssembly")
asked = parser.parse_args()
laboratory.write_modules(asked.folder)
if asked.page:
    (asked.folder / "lab.html").write_text(laboratory.page(asked.page, "index.html"), "utf-8")
