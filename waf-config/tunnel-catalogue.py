# SPDX-License-Identifier: GPL-2.0-only
"""Write the catalogue's tunnels as C++, for programs on ns-3 (models/nodes/tunnel-catalogue.h).

Usage: tunnel-catalogue.py FILE. TUNNELCC_CORE names the compiled module.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tunnelcc.specification.node_tunnel import node_tunnel_texts

#: Compilers need not take a longer one (C++20, annex B).
LONGEST = 60_000

FILE = """// Written by waf-config/tunnel-catalogue.py.
#include "nodes/tunnel-catalogue.h"

namespace tunnelcc
{

namespace
{

[[maybe_unused]] const bool IS_CATALOGUE_FILLED = [] {
    TunnelCatalogue() = {
%s
    };
    return true;
}();

} // namespace

} // namespace tunnelcc
"""


def main(output: Path) -> None:
    """Write ``output``, if it changes."""
    texts = node_tunnel_texts()
    assert all(len(it) < LONGEST for it in texts.values())
    entries = [f'        {{"{name}", R"({text})"}},' for name, text in texts.items()]
    text = FILE % "\n".join(entries)
    if not output.exists() or output.read_text("utf-8") != text:
        output.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
