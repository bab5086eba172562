# SPDX-License-Identifier: GPL-2.0-only
"""`tunnelcc calibrate-host`: measure a cost profile of this machine."""

from __future__ import annotations

import datetime
import platform
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tunnelcc.apps.calibrate import kernel, libraries
from tunnelcc.apps.calibrate.timing import Measurement, measure, measure_call
from tunnelcc.errors import TunnelccError
from tunnelcc.hosts import costs
from tunnelcc.hosts.costs import OPERATIONS, Operation, Profile
from tunnelcc.output.progress import Progress
from tunnelcc.schema.toml import write_toml


def run() -> tuple[Profile, dict[str, float]]:
    """Measure this machine. Return its profile and the spread of each operation's batches.

    Raises TunnelccError without the package lz4, and without OpenSSL's libcrypto.
    """
    found: dict[str, Measurement] = {}
    with Progress(len(OPERATIONS), label="measuring") as progress:
        for name, measurement in measurements():
            found[name] = measurement
            progress.update(len(found))
    ordered = {name: found[name] for name in OPERATIONS if name in found}
    return profile(ordered), {name: it.spread for name, it in ordered.items()}


#: Spread from which on a cost is called unsteady: by so much CPU times of programs vary anyway.
UNSTEADY = 0.25


def profile(measurements: Mapping[str, Measurement]) -> Profile:
    """Return the cost profile of ``measurements``; other operations are the reference's."""
    when = f"measured on {datetime.date.today().isoformat()}"
    source = f"tunnelcc calibrate-host, {when}"
    operations = {
        operation: Operation(
            per_call=round(it.per_call, 1),
            per_byte=round(it.per_byte, 4),
            label="measured",
            source="; ".join(filter(None, (source, it.means, _warning(it)))),
        )
        for operation, it in measurements.items()
    }
    return Profile(
        name="this host",
        summary=f"{processor()}, Linux {platform.release()}, {when}",
        processor=processor(),
        base=costs.REFERENCE if set(OPERATIONS) - set(operations) else None,
        operations=operations,
    )


def _warning(measurement: Measurement) -> str:
    return unsteady(measurement.spread) if measurement.spread > UNSTEADY else ""


def unsteady(spread: float) -> str:
    """Return the meaning of a ``spread`` above ``UNSTEADY``, in words."""
    return f"unsteady: the median batch took {spread:.0%} longer than the fastest, which counts"


def write(profile: Profile, path: Path) -> None:
    """Write a profile for ``hosts.profile``. Raises TunnelccError if that fails."""
    table = profile.table()
    del table["name"]
    try:
        path.write_text(write_toml(table))
    except OSError as error:
        raise TunnelccError(f"{path}: {error.strerror}") from None


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def check() -> None:
    """Raise TunnelccError without a package or a library that is measured."""
    libraries.check()


def measurements() -> Iterator[tuple[str, Measurement]]:
    """Yield operations and their costs on this machine."""
    check()
    yield "syscall", measure_call(kernel.system_call())
    yield "context-switch", measure_call(*kernel.switches())
    yield from _devices()
    with kernel.sockets() as sockets:
        for operation, sized in sockets.items():
            yield operation, measure(sized)
    yield from libraries.measurements()


def _devices() -> list[tuple[str, Measurement]]:
    """Measure in a separate thread, which ends its network namespace."""
    found: list[tuple[str, Measurement]] = []

    def run() -> None:
        try:
            with kernel.devices() as devices:
                for operation, sized in devices.items():
                    found.append((operation, measure(sized)))
        except OSError:
            found.clear()  # not permitted; the reference profile has these

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found
