# SPDX-License-Identifier: GPL-2.0-only
"""Each test has a folder of compiled files of its own, and trusts no scenario yet."""

from __future__ import annotations

import pytest

from tunnelcc import modules
from tunnelcc.modules import trust


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    modules._known.cache_clear()
    modules._classes.clear()
    monkeypatch.setattr(trust, "_granted", False)
