# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel's file of what was found, with the origin of every number."""

from __future__ import annotations

from typing import Any

from tunnelcc.apps.identify.questions import Found
from tunnelcc.schema.toml import write_toml

#: Written where a number was not asked for.
_CPU = {
    "streams": [1], "client": [1.6], "server": [1.6], "label": "inferred",
    "source": "not measured: computing takes no time on a virtual clock; an order of magnitude, as "
        "ssh-forward",
}  # fmt: skip
_AS_GOST = "as measured with GOST's relay+ws, which does not change the sockets of applications"
_LOOPBACK = {
    "link": {"mss": 65483, "rtt": "50us", "label": "inferred", "source": "as with GOST's relay+ws"},
    "sending": {"send_buffer": "2626560B", "receive_window": "300kB", "label": "inferred",
                "source": _AS_GOST},
    "receiving": {"send_buffer": "2.63MB", "receive_window": "130kB", "label": "inferred",
                  "source": _AS_GOST},
}  # fmt: skip
_LEAST_BUFFER = 1024


def tables(found: Found, software: str) -> dict[str, Any]:
    """Return the tables of the entry. ``found`` is of a program with a carrier for each flow."""
    seen = f"tunnelcc identify, {found.what}"
    cited = {"label": "measured", "source": seen}
    handshake = [
        {"client": it.client, **({"server": it.server} if it.server else {}), **cited}
        for it in found.handshake
        if it.client
    ]
    law = found.laws["to_server"]
    buffer = law.buffer or law.most
    read: dict[str, Any] = {"bytes": max(buffer, _LEAST_BUFFER) if buffer else 32768}
    guess = {"label": "inferred", "source": "no edge of a read was seen"}
    return {
        "kind": "relay",
        "summary": f"{software}, as tunnelcc identify saw it",
        "software": software,
        "carrier": {
            "nodelay": True, "label": "inferred",
            "source": "not asked for: most relays set TCP_NODELAY",
        },
        **({"handshake": handshake} if handshake else {}),
        "request": {"bytes": found.request, **cited},
        "response": {"bytes": found.response, **cited},
        "copy_buffer": read | (cited if buffer else guess),
        **{
            way: [{**it.layer(), **cited}]
            for way, it in found.laws.items()
            if it.overhead
        },
        "loopback": _LOOPBACK,
        "cpu": {"to_server": _CPU, "to_client": _CPU},
    }  # fmt: skip


def text(made: dict[str, Any], server: str, client: str) -> str:
    """Return the file: its tables, and with which lines the program was started, as comments."""
    lines = ["Made by `tunnelcc identify`, which started these lines; this file starts nothing.",
             *(f"server: {it}" for it in server.splitlines()),
             *(f"client: {it}" for it in client.splitlines())]  # fmt: skip
    return "".join(f"# {it}\n" for it in lines) + "\n" + write_toml(made)
