# SPDX-License-Identifier: GPL-2.0-only
"""Check that what only some systems have stands in the files that are for it.

tunnelcc/system.py has what all of the package needs, with what stands in for it elsewhere.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORDS = re.compile(
    r"\bos\.(?:fork|wait\w*|killpg|setsid|sched_\w+|sysconf|gete?[ug]id|mkfifo|pwrite)\b|"
    r"\bsignal\.(?:SIG(?:ALRM|KILL|CONT|STOP|CHLD|PROF|HUP|USR[12])|setitimer|alarm)\b|"
    r"\bselect\.e?poll\b|\bpass_fds\b|/proc/|/sys/|"
    r"\b(?:import|from) (?:fcntl|pwd|grp|resource|termios|tty|pty|posix)\b"
)
ALLOWED = {
    "system.py",
    # Workers where system.FORKS.
    "running/forked.py",
    "running/worker.py",
    # Code of others, which the native module alone runs.
    "core/inside.py",
    "core/template.py",
    "modules/child.py",
    "modules/compiled.py",
    "modules/python.py",
}
# They measure the Linux that they run on.
ROOMS = ("apps/calibrate/", "measure/")


def main() -> int:
    """Print every line that names one of the words elsewhere; return the exit status."""
    wrong = [
        f"{file.relative_to(ROOT)}:{number}: {found[0]} is not on all systems: tunnelcc/system.py"
        for file in sorted((ROOT / "tunnelcc").rglob("*.py"))
        if (name := file.relative_to(ROOT / "tunnelcc").as_posix()) not in ALLOWED
        and not name.startswith(ROOMS)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (found := WORDS.search(line))
    ]
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
