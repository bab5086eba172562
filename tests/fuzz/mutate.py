# SPDX-License-Identifier: GPL-2.0-only
"""Changes of bytes and of text."""

from __future__ import annotations

import random
import re

_TOKENS = (
    "0", "-1", "1e400", "-0.0", "nan", "inf", "true", '""', "[]", "{}", '"none"', '"bbr"', "10",
    "99999999999999999999", '"1ms"', '"0s"', '"1e30bps"', '"100%"', '"1bdp"', '"-5p"', '"\\u0000"',
    '["1s", "1Mbps"]', '[["1s", "1Mbps"]]', '{ name = "bbr" }', "{ from = 1, to = 2, steps = 3 }",
    '"a.toml"', "2024-01-01", "[[]]", "0xffffffffffffffffffff", '"50ms"', "1.5",
)  # fmt: skip
_VALUE = re.compile(r'"[^"\n]*"|-?\d+(?:\.\d+)?(?:e-?\d+)?|true|false')


def change_bytes(data: bytes, draw: random.Random) -> bytes:
    """Return other bytes."""
    place = draw.randrange(len(data) + 1)
    end = min(len(data), place + draw.choice((1, 1, 2, 16, 1000)))
    noise = draw.randbytes(end - place)
    changed = draw.choice(
        (
            data[:place] + noise + data[end:],
            data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]
            if place < len(data)
            else data[:-1],
            data[:place],
            data[:place] + data[end:],
            data[:place] + noise + data[place:],
            data[:place] + bytes(end - place) + data[end:],
            data + noise,
            b"",
        )
    )
    return changed if changed != data else data + b"x"


def change_text(text: str, draw: random.Random) -> str:
    """Return other text: values, lines and now and then bytes are changed."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        how = draw.random()
        lines = text.splitlines() or [""]
        line = draw.randrange(len(lines))
        if how < 0.5 and (values := list(_VALUE.finditer(text))):
            value = draw.choice(values)
            other = draw.choice((*_TOKENS, draw.choice(values)[0]))
            text = text[: value.start()] + other + text[value.end() :]
        elif how < 0.6:
            text = "\n".join((*lines[:line], *lines[line + 1 :]))
        elif how < 0.7:
            text = "\n".join((*lines[: line + 1], draw.choice(lines), *lines[line + 1 :]))
        elif how < 0.85:
            name = re.sub(r"^\s*[\w.\"-]+", draw.choice(_KEYS), lines[line])
            text = "\n".join((*lines[:line], name, *lines[line + 1 :]))
        else:
            text = change_bytes(text.encode(), draw).decode("utf-8", "replace")
    return text


_KEYS = (
    "cc", "tunnel", "path.rate", "path.loss", "flows", "flows.count", '"flows.0.cc.beta"',
    '"flows.7.cc"', "seed", "seeds", "title", "duration", "zip", "sample", '"path.trace"',
    '"path.queue"', '"path.queue.name"', '"tunnel.name"', '"tunnel.cc"', "[sweep]", "[path]",
    "[[flows]]", "[[cross_traffic]]", '"flows.cc.name"', '"hosts.kernel"', "x",
)  # fmt: skip
