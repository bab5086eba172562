# SPDX-License-Identifier: GPL-2.0-only
"""The file of a sweep: a JSON table of the declaration, the versions, and the ids of its runs.

Its ``checksum`` covers the rest.
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
    ``sources``: see ``identity.sources()``. ``kernel``: profiles of its hosts. "": not known.
    """

    tunnelcc: str
    models: str
    scenario: str
    runs: int
    ids: list[str]
    sources: str = ""
    kernel: str = ""

    @property
    def provenance(self) -> dict[str, str]:
        """What made its runs, as far as it is known."""
        return {"tunnelcc": self.tunnelcc, "models": self.models, "kernel": self.kernel}


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
        checksum = table.pop("checksum")
        record = Record(**table)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"it is not the file of a sweep: {error!r}"[:200]) from None
    if checksum != _digest(table):
        raise DamagedFileError("its checksum is wrong")
    return record


def _digest(table: dict[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
