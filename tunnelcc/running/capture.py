# SPDX-License-Identifier: GPL-2.0-only
"""Which packets of a run to write to a file.

A capture changes nothing in a run, so it is no key of an experiment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.output.files import make_directory
from tunnelcc.results import provenance
from tunnelcc.schema import kinds
from tunnelcc.schema.units import UnitError
from tunnelcc.specification.captured import tunnel_packets
from tunnelcc.specification.parts import Spec, spec_text

_LARGEST_PACKET = 65536  # IPv6 on a loopback
_LIMIT = kinds.size(2**10, 2**50)
_SNAP = kinds.whole(1, _LARGEST_PACKET)
_SNAP_EXPECTED = f"headers, full, or a whole number of bytes from 1 to {_LARGEST_PACKET}"
_AT_LIMIT = "its limit was reached"


@dataclass
class Capture:
    """A capture of packets, as an option of run().

    ``file``: a pcapng file; what it held is lost. None: no packets. ``at``: names of links and
    hosts; default: the bottleneck. At a link, packets are seen as they come to its queues, with
    what became of them there. At a host, they are seen as they leave and as they arrive, also on
    its loopback and at its tunnels' devices. ``snap``: most bytes of a packet, ``"headers"`` or
    ``"full"``. ``limit``: most bytes of a file, as a number or such as ``"1GiB"``. ``qlog``: a
    directory for logs of TCP and QUIC connections, two files each.

    After the run, ``packets`` and ``bytes`` tell what the file has, and ``note`` why it, or a log,
    ends before the run does ("": it does not). ``failed``: the same, unless that is their limit.

        >>> capture = tc.Capture("run.pcapng")
        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> _ = tc.run(tc.Experiment(path=path, duration="1s"), capture=capture)
        >>> capture.packets > 0
        True
    """

    file: Path | str | None = None
    at: Sequence[str] = ()
    snap: int | str = "headers"
    limit: int | str = "1GiB"
    qlog: Path | str | None = None
    packets: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    note: str = field(default="", init=False)
    failed: str = field(default="", init=False)

    def spec(self, network: ResolvedNetwork) -> Spec:
        """Return the specification. Raises ConfigError for options that do not fit."""
        return {
            "file": os.devnull if self.file is None else str(self.file),
            "qlog": "" if self.qlog is None else str(self.qlog),
            "program": provenance.text(provenance.of(network)),
            "snap": self._snap_bytes(),
            "ip": network.experiment.path.ip,
            "limit": self._parsed("--capture-limit", self.limit, _LIMIT),
            "places": [] if self.file is None else list(self._places(network)),
            "tunnels": [tunnel_packets(tunnel) for tunnel in network.tunnels],
        }

    def text(self) -> str:
        """Return what was written, as one line."""
        written = [] if self.file is None else [f"{self.file}: {self.packets} packets"]
        written += [] if self.qlog is None else [f"logs of connections in {self.qlog}"]
        return "; ".join([*written, *filter(None, [self.note])])

    @contextlib.contextmanager
    def opened(self, network: ResolvedNetwork) -> Iterator[Any]:
        """Give the open file, for the compiled module. Raises ConfigError."""
        spec = spec_text(self.spec(network))
        if self.qlog is not None:
            make_directory("--qlog", Path(self.qlog))
        try:
            file = core.load().Capture(spec)
        except OSError as error:
            expected = "a file that can be written"
            problem = Problem("--capture", str(self.file), expected, error.strerror or "")
            raise ConfigError(problem) from None
        try:
            yield file
        finally:
            self.packets, self.bytes = file.packets, file.bytes
            ends = (
                ("the capture", str(self.file), file.error, file.is_full),
                ("a log", f"a log in {self.qlog}", file.log_error, file.is_log_full),
            )
            self.note = "; ".join(
                f"{what} ends early: {error or _AT_LIMIT}"
                for what, _, error, is_full in ends
                if error or is_full
            )
            self.failed = "; ".join(
                f"{where} cannot be written: {error}" for _, where, error, _ in ends if error
            )

    def _snap_bytes(self) -> int:
        named = {"headers": 0, "full": _LARGEST_PACKET}
        if self.snap in named:
            return named[str(self.snap)]
        text = self.snap
        value = int(text) if isinstance(text, str) and text.isdecimal() else text
        return self._parsed("--snap", value, _SNAP, _SNAP_EXPECTED)

    @staticmethod
    def _parsed(option: str, value: object, kind: kinds.Kind, expected: str = "") -> int:
        try:
            return int(kind.parse(value))
        except UnitError as error:
            raise ConfigError(
                Problem(option, str(value), expected or error.expected, error.hint)
            ) from None

    def _places(self, network: ResolvedNetwork) -> Iterator[Spec]:
        hosts, links = list(network.topology.hosts), list(network.topology.links)
        for name in dict.fromkeys(self.at) or [network.bottleneck.link]:
            if name in links:
                yield {"name": name, "link": links.index(name)}
            elif name in hosts:
                arrivals = [
                    {"link": number, "is_reverse": is_reverse}
                    for number, link in enumerate(network.topology.links.values())
                    for is_reverse in (False, True)
                    if link.ends[not is_reverse] == name
                ]
                yield {"name": name, "host": hosts.index(name), "arrivals": arrivals}
            else:
                names = [*links, *hosts]
                expected = "a link or a host: " + ", ".join(names[:12])
                raise ConfigError(Problem("--at", name, expected, nearest(name, names)))
