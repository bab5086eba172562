# SPDX-License-Identifier: GPL-2.0-only
"""`make contrib` writes a module for ns-3's source tree that is whole."""

from __future__ import annotations

import re

from helpers import ROOT, load_script

INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def test_a_module_has_every_file_that_it_includes(tmp_path):
    folder = tmp_path / "contrib" / "tunnelcc"
    (folder / "models").mkdir(parents=True)
    (folder / "models/left-over.cc").touch()  # of an earlier version
    load_script(ROOT / "waf-config/contrib.py").write(folder)
    assert not (folder / "models/left-over.cc").exists()
    files = [it for it in folder.rglob("*") if it.suffix in (".cc", ".h")]
    for file in files:
        for name in INCLUDE.findall(file.read_text()):
            beside, below = file.parent / name, folder / "models" / name
            assert name.startswith("ns3/") or beside.is_file() or below.is_file(), (file, name)
    assert (folder / "json/nlohmann/json.hpp").is_file()
    assert '"wireguard"' in (folder / "models/nodes/tunnel-texts.cc").read_text()
    for name in re.findall(r"models/\S+\.h", (folder / "CMakeLists.txt").read_text()):
        header = folder / name
        # ns-3 copies its headers into one folder: they find nothing else of the module there.
        for included in INCLUDE.findall(header.read_text()):
            assert included.startswith("ns3/") or (header.parent / included).is_file(), name
