# SPDX-License-Identifier: GPL-2.0-only
"""Write the catalogue's tunnels as C++, for programs on ns-3 (models/nodes/tunnel-catalogue.h).

Usage: tunnel-catalogue.py FILE. TUNNELCC_CORE names the compiled module.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.errors import ConfigError
from tunnelcc.simulation.node_tunnel import node_tunnel_spec
from tunnelcc.simulation.spec_parts import spec_text

#: Compilers need not take a longer one (C++20, annex B).
LONGEST = 60_000

FILE = """// Written by waf-config/tunnel-catalogue.py.
#include "nodes/tunnel-catalogue.h"

namespace tunnelcc
{

const std::map<std::string_view, std::string_view>&
TunnelCatalogue()
{
    static const std::map<std::string_view, std::string_view> tunnels{
%s
    };
    return tunnels;
}

} // namespace tunnelcc
"""


def main(output: Path) -> None:
    """Write ``output``, if it changes."""
    entries = []
    for name in catalog.names():
        path = tc.Path(rate="100Mbps", rtt="20ms")
        try:
            spec = node_tunnel_spec(tc.Experiment(path=path, tunnel=name))
        except ConfigError:
            continue  # it needs a key
        text = spec_text(spec)
        assert len(text) < LONGEST
        entries.append(f'        {{"{name}", R"({text})"}},')
    text = FILE % "\n".join(entries)
    if not output.exists() or output.read_text("utf-8") != text:
        output.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
