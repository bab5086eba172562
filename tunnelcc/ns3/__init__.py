# SPDX-License-Identifier: GPL-2.0-only
"""ns-3's Python bindings with this project's TCP and tunnels, for simulations on devices of ns-3.

::

    from tunnelcc.ns3 import ns

    tcp = ns.tunnelcc.LinuxTcpHelper()
    tcp.SetAttribute("CongestionControl", ns.StringValue("bbr"))
    tcp.Install(nodes)
    tunnel = ns.tunnelcc.TunnelHelper("wireguard").Install(client, server, address)

``ns`` is what ``from ns import ns`` gives. A program that has that line keeps it, and adds ``import
tunnelcc.ns3`` behind it. ``pip install "tunnelcc[ns3-bindings]"`` installs the bindings, and
compiles a part of them.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc.errors import TunnelccError, install
from tunnelcc.specification.node_tunnel import node_tunnel_texts

__all__ = ["ns"]

#: The version of ns-3 that the compiled module is linked with (waf-config/Ns3Wheel.cmake).
VERSION = "3.44"

_INSTALL = f"install them with `{install('ns3-bindings')}`"
_HEADERS = (
    "socket/linux-tcp-socket-factory.h",
    "nodes/tunnel-helper.h",
    "nodes/tunnel-catalogue.h",
)


def _load() -> Any:
    """Return ns-3's namespace, with that of this project in it. Raises TunnelccError."""
    if "ns3.ns" not in sys.modules and "tunnelcc._core" in sys.modules:
        raise TunnelccError(
            "tunnelcc.ns3 is imported after something was simulated, so this process would have "
            "two copies of ns-3; import tunnelcc.ns3 first"
        )
    bindings = _bindings()
    bindings.cppyy.add_include_path(str(_includes()))
    for header in _HEADERS:
        bindings.cppyy.include(header)
    module = core.load()  # with the copy of ns-3 that the bindings have loaded
    ctypes.CDLL(module.__file__, mode=ctypes.RTLD_GLOBAL)  # so that cppyy finds its symbols
    bindings.tunnelcc = bindings.cppyy.gbl.tunnelcc
    tunnels = bindings.tunnelcc.TunnelCatalogue()
    for name, text in node_tunnel_texts().items():
        tunnels[name] = text
    return bindings


def _bindings() -> Any:
    spec = importlib.util.find_spec("ns3")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise TunnelccError(f"ns-3's Python bindings are not installed; {_INSTALL}")
    if not any(Path(it, "lib64", f"libns{VERSION}-core.so").is_file() for it in folders):
        raise TunnelccError(
            f"{folders[0]} is not ns-3 {VERSION}, with which the models are linked; {_INSTALL}"
        )
    if importlib.util.find_spec("cppyy") is None:  # for which ns-3 ends the process
        raise TunnelccError(f"ns-3's Python bindings lack cppyy; {_INSTALL}")
    # They search the current folder and all below it for copies of ns-3, and refuse a second one.
    here = Path.cwd()
    os.chdir(folders[0])
    try:
        return importlib.import_module("ns3.ns").ns
    finally:
        os.chdir(here)


def _includes() -> Path:
    package = Path(__file__).parent.parent
    for found in (package / "include", package.parent / "models"):
        if all((found / it).is_file() for it in _HEADERS):
            return found
    raise TunnelccError(f"{package} has no headers for ns-3's bindings; install tunnelcc again")


ns = _load()
