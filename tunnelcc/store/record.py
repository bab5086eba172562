# SPDX-License-Identifier: GPL-2.0-only
"""The file of a sweep: a JSON table of the declaration, the versions, and the ids of its runs.

Its ``checksum`` covers the rest. Older files have none and are read without it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from tunnelcc.store.runfile import DamagedFileError

_DIGEST_BYTES = 16
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass
class Record:
    """A sweep. ``tunnelcc`` and ``models``: the versions that ran it. ``scenario``: its TOML.

    ``runs``: the number of runs. ``ids``: those known so far, in order; "" for an impossible run.
    """

    tunnelcc: str
    models: str
    scenario: str
    runs: int
    ids: list[str]


def is_id(text: str) -> bool:
    """Whether ``text`` can be the id of a run."""
    return _ID.fullmatch(text) is not None


def encode(record: Record) -> bytes:
    """Return the contents of the file of ``record``."""
    table = asdict(record)
    return json.dumps({"checksum": _digest(table), **table}).encode()


def decode(data: bytes) -> Record:
    """Return the record of a file's contents. Raises DamagedFileError."""
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"it is not JSON: {error}") from None
    if not isinstance(table, dict):
        raise DamagedFileError("it is not the file of a sweep")
    known = table.pop("checksum", None)
    kinds = {"tunnelcc": str, "models": str, "scenario": str, "runs": int, "ids": list}
    if table.keys() != kinds.keys():
        names = ", ".join(sorted(table.keys() ^ kinds.keys()))
        raise DamagedFileError(f"it lacks the keys of a sweep: {names[:100]}")
    if known is not None and known != _digest(table):
        raise DamagedFileError("its checksum is wrong")
    for name, kind in kinds.items():
        if not isinstance(table[name], kind):
            raise DamagedFileError(f"its {name} are not {kind.__name__}")
    if len(table["ids"]) > table["runs"] or not all(map(_is_id_or_none, table["ids"])):
        raise DamagedFileError("its ids do not match its runs")
    return Record(**table)


def _is_id_or_none(value: object) -> bool:
    return isinstance(value, str) and (not value or is_id(value))


def _digest(table: dict[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
