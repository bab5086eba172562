# SPDX-License-Identifier: GPL-2.0-only
"""Print what the kernel is made of: ``python -m tunnelcc_linux``."""

from pathlib import Path

folder = Path(__file__).parent
for name in ("source.toml", *sorted(it.name for it in folder.glob("*.patch")), "config"):
    print(f"==== {name}\n{(folder / name).read_text()}")
