# SPDX-License-Identifier: GPL-2.0-only
"""Changes files of measurements, and reads them as `fit` and `run --measured` do."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
from pathlib import Path

import numpy as np

import tunnelcc as tc
from tests.fuzz.mutate import change_bytes
from tests.validation.paths import known
from tunnelcc.apps.fit import fit
from tunnelcc.formats import flent, iperf3
from tunnelcc.scenario import Experiment
from tunnelcc.specification import experiment_spec

_SS = """{0}
ESTAB 0 2895464 10.0.0.1:40000 10.0.0.2:5201
\t ts sack {2} wscale:7,7 rto:240 rtt:{3}/1.5 mss:1400 cwnd:80 bytes_acked:{1} retrans:0/2 \
busy:9000ms rwnd_limited:8100ms(90.0%) sndbuf_limited:450ms(5.0%) minrtt:40.5 snd_wnd:131072
"""
_PING = "64 bytes from 192.0.2.1: icmp_seq={} ttl=57 time=40.{} ms\n"
#: Files that real programs wrote, and those of a path that is known.
_TOOLS = Path(__file__).parents[1] / "python/formats/tools"
_OF_PATH = ("iperf3.json", "iperf3-server.json", "ping-load.txt", "ss-client.log", "ss-server.log")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NUMBERS = (
    "0", "-1", "1", "1e-12", "0.3", "1e5", "1e9", "1e12", "9e17", "1e18", "1e400", "-1e17", "null",
    "true", '""', "[]", "{}", "NaN", "Infinity", "9" * 400, "0.1e", "[[[[]]]]", '{"rtt": 1}',
)  # fmt: skip
_ALGORITHMS = ("cubic", "bbr", "reno")
#: Leaves a mark where it is loaded.
_EVIL = """\
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
import tunnelcc as tc
class Evil(tc.CongestionControl):
    pass
"""


class Fuzzer:
    """Two flows as other programs would have measured them."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory
        base = {"path": {"rate": "4Mbps", "rtt": "20ms"}, "duration": "5s"}
        capture = directory / "capture.pcapng"
        run = tc.run({**base, "flows": [{"count": 2}]}, progress=False)
        tc.run(
            {**base, "duration": "2s"},
            capture=tc.Capture(capture, at=["client"]), progress=False,
        )  # fmt: skip
        logs = [_SS.format(1700 + k, 500_000 * k, "cubic", 50 + k % 5) for k in range(1, 20)]
        pings = "".join(_PING.format(number, number % 10) for number in range(1, 20))
        self._texts = [
            json.dumps(iperf3.write(run), indent=1), gzip.decompress(flent.write(run)).decode(),
            "".join(logs), pings,
        ]  # fmt: skip
        self._texts += [it.read_text() for it in sorted(_TOOLS.iterdir())]
        path = next(known(is_aside=False))
        self._texts += [path.files[it] for it in _OF_PATH]
        self._bytes = [capture.read_bytes(), flent.write(run)]
        evil = directory / "evil.py"
        evil.write_text(_EVIL)
        named = (f"{evil}", f"{evil}:Evil", f"linux:{evil}", "./evil.py", "evil.py:Evil", "evil")
        self._names = (
            *named,
            f"{directory}/../{directory.name}/evil.py",
            *_ALGORITHMS,
            "",
            "x" * 999,
        )
        self._number = 0

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one file."""
        content = draw.choice([*self._texts, *self._bytes])
        is_named = isinstance(content, str) and draw.random() < 0.5
        if is_named:
            name = draw.choice(self._names)
            for it in _ALGORITHMS:
                content = re.sub(rf"\b{it}\b", lambda _: name, content)
        if isinstance(content, bytes):
            data = content
        else:
            text = content if is_named and draw.random() < 0.5 else _changed(content, draw)
            data = text.encode()
        if data is content or draw.random() < 0.3:
            for _ in range(draw.choice((1, 1, 5))):
                data = change_bytes(data, draw)
        self._number += 1
        file = self._folder / f"{self._number}.measured"
        file.write_bytes(data)
        beside = self._folder / "beside.measured"
        beside.write_text(draw.choice(self._texts))
        try:
            measured = fit.read_all([file, beside] if draw.random() < 0.3 else [file])
        except tc.ConfigError as error:
            if not all(problem.key for problem in error.problems):
                raise AssertionError("no key is named") from error
            return "no measurement"
        finally:
            file.unlink()
            beside.unlink()
            self._check_nothing_ran()
        for stream in measured.streams:
            arrays = (stream.goodput, stream.rtt, stream.cwnd, stream.retransmits)
            assert all(len(it) == len(stream.time) for it in arrays)
            assert np.isfinite(stream.time).all()
        try:
            found = fit.direct(measured)
        except tc.ConfigError:
            return "no path"
        for it in found.estimates.values():
            least, most = it.interval
            assert least <= it.value * 1.0001, it
            assert it.value <= most * 1.0001, it
        experiment = Experiment.parse(found.table)
        assert Experiment.parse(experiment.table()) == experiment
        with contextlib.suppress(tc.TunnelccError):
            experiment_spec(experiment)
        self._check_nothing_ran()
        return "a path of a named algorithm" if is_named else "a path"

    def _check_nothing_ran(self) -> None:
        assert not (self._folder / "ran").exists(), "a measurement made a file run"


def _changed(text: str, draw: random.Random) -> str:
    """Return a text with other numbers and lines."""
    for _ in range(draw.choice((1, 1, 2, 4, 8))):
        lines = text.splitlines(keepends=True)
        line, other = draw.randrange(len(lines)), draw.choice(lines)
        if draw.random() < 0.7 and (numbers := list(_NUMBER.finditer(text))):
            it = draw.choice(numbers)
            new = draw.choice((*_NUMBERS, draw.choice(numbers)[0]))
            text = text[: it.start()] + new + text[it.end() :]
        else:
            put = draw.choice(([], [other], [lines[line], other], [lines[line]] * 3))
            text = "".join((*lines[:line], *put, *lines[line + 1 :]))
        if not text:
            return "\n"
    return text
