# SPDX-License-Identifier: GPL-2.0-only
"""Write a header with a digest of the models' source: `model-digest.py HEADER`.

Comments and white space do not count, so that only a change of the code makes runs new. What joins
the models to Python, to programs of ns-3 and to browsers does not count either. The header is
written only if it changes, because files that include it are compiled again then.
"""

import hashlib
import re
import sys
from pathlib import Path

MODELS = Path(__file__).parent.parent / "models"
# Rooms that join the models to others.
NOT_MODELS = ("python", "socket", "tun", "wasm")
# Texts and characters are taken whole: what looks like a comment in them is none.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL)


def code(text: str) -> str:
    """Return the text of a C++ file without comments, its words separated by single spaces."""
    return " ".join(TOKEN.sub(lambda token: token[1] or " ", text).split())


def digest() -> str:
    """Return the digest, 8 hexadecimal digits."""
    hashed = hashlib.blake2b(digest_size=4)
    for file in sorted(MODELS.rglob("*")):
        if file.suffix in (".cc", ".h") and file.relative_to(MODELS).parts[0] not in NOT_MODELS:
            hashed.update(f"{file.relative_to(MODELS)}\n{code(file.read_text('utf-8'))}\n".encode())
    return hashed.hexdigest()


if __name__ == "__main__":
    header = Path(sys.argv[1])
    line = f'#define MODEL_DIGEST "{digest()}"\n'
    if not header.exists() or header.read_text("utf-8") != line:
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(line, "utf-8")
