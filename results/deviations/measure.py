# SPDX-License-Identifier: GPL-2.0-only
"""Measure how far ns-3's congestion controls are from ours, and write it into the docs.

``.venv/bin/python results/deviations/measure.py`` runs both under each condition and rewrites the
table of models/deviations.md. `tests/python/documents/test_deviations.py` checks each row's
direction and rough size.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tunnelcc as tc

PAGE = Path(__file__).parents[2] / "models/deviations.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of what was measured -->"
SEEDS = (1, 2, 3)
# Exact, as under ns-3.
PATH = {"rate": "100Mbps", "rtt": "40ms", "phase": "0", "buffer": "1bdp"}


def run(cc: Any, seed: int = 1, count: int = 1, **keys: Any) -> tc.Result:
    """Run ``count`` flows of ``cc``; ``path``: changes of PATH; other keys: the experiment's."""
    path = PATH | keys.pop("path", {})
    flows = [tc.Flow(cc=cc, count=count)]
    experiment = tc.Experiment(path=path, flows=flows, seed=seed, **keys)
    return tc.run(experiment, progress=False)


def goodput(**keys: Any) -> Callable[[Any], float]:
    """Return a measure of the mean goodput over seeds, Mbit/s."""
    return lambda cc: statistics.mean(run(cc, seed, **keys).goodput for seed in SEEDS) / 1e6


def retransmits(**keys: Any) -> Callable[[Any], float]:
    """Return a measure of the mean number of retransmitted segments."""
    return lambda cc: statistics.mean(
        run(cc, seed, **keys).connections[0].retransmits for seed in SEEDS
    )


def queue(**keys: Any) -> Callable[[Any], float]:
    """Return a measure of the mean time that packets wait at the bottleneck, ms."""
    return lambda cc: (
        1e3
        * statistics.mean(
            run(cc, seed, **keys).links["path"].forward.queue_delay_mean for seed in SEEDS
        )
    )


def probe_rtts(cc: Any) -> float:
    """Count how often the window falls to four segments in 65 s."""
    result = run(cc, duration="65s", probe_interval="20ms")
    is_low = result.connections[0].cwnd[100:] <= 4  # not the initial windows
    return float((is_low[1:] & ~is_low[:-1]).sum())


def common_probes(cc: Any) -> float:
    """Return the share of the time one of two flows probes in which the other does, too, %."""
    result = run(
        cc, count=2, path={"buffer": "2bdp"}, start_jitter="0s",
        duration="60s", warmup="10s", probe_interval="10ms",
    )  # fmt: skip
    rates = [leg.pacing_rate[1000:] for leg in result.connections]
    one, other = (rate > 1.12 * np.median(rate) for rate in rates)
    return float(100 * (one & other).sum() / one.sum())


@dataclass(frozen=True)
class Effect:
    """What an algorithm of ns-3 does differently, and how to see it.

    ``ratio``: least and largest quotient of what is measured with ns-3's and with ours.
    """

    key: str
    theirs: Any
    ours: str
    what: str
    linux: str
    condition: str
    unit: str
    measure: Callable[[Any], float]
    ratio: tuple[float, float]
    digits: int = 1

    def values(self) -> tuple[float, float]:
        """Return what is measured with ours and with ns-3's."""
        return self.measure(self.ours), self.measure(self.theirs)

    def row(self) -> str:
        """Return the row of the table."""
        name = self.theirs["name"] if isinstance(self.theirs, dict) else self.theirs
        ours, theirs = (f"{value:.{self.digits}f}" for value in self.values())
        cells = (
            f"`{name}`", self.what, self.linux, f"{self.condition}: {self.unit}",
            ours, theirs, f"`test_effect[{self.key}]`",
        )  # fmt: skip
        return "| " + " | ".join(cells) + " |\n"


STEADY = {"duration": "40s", "warmup": "5s"}
RARE_LOSS = {"path": {"loss": "0.1%"}, **STEADY}
OVERSHOOT = {"duration": "5s"}
STRETCHED = tc.Tcp(ack_every=64, delayed_ack="20ms")

EFFECTS = (
    Effect(
        "bbr-loss-1", "ns3::TcpBbr", "bbr",
        "entering recovery starts no round; losses are taken off the window in recovery only",
        "`bbr_set_cwnd_to_recover_or_restore()`", "1 % loss", "Mbit/s",
        goodput(path={"loss": "1%"}, duration="10s"), (0.97, 1.03),
    ),
    Effect(
        "bbr-loss-5", "ns3::TcpBbr", "bbr", "the same", "", "5 % loss", "Mbit/s",
        goodput(path={"loss": "5%"}, duration="10s"), (0.92, 0.99),
    ),
    Effect(
        "bbr-policer", "ns3::TcpBbr", "bbr", "policers are not detected", "`bbr_lt_bw_sampling()`",
        "a policer of 10 Mbit/s, 20 s", "retransmissions",
        retransmits(path={"policer": {"rate": "10Mbps"}}, duration="20s", warmup="2s"),
        (1.25, 1.75), 0,
    ),
    Effect(
        "bbr-ties", "ns3::TcpBbr", "bbr",
        "an RTT equal to the least renews it, which puts PROBE_RTT off",
        "`bbr_update_min_rtt()`: only a smaller one", "65 s", "PROBE_RTTs", probe_rtts, (0, 0.5), 0,
    ),
    Effect(
        "bbr-probe-rtt", "ns3::TcpBbr", "bbr",
        "samples of PROBE_RTT are not marked application-limited: after ten round trips of it the "
        "maximum bandwidth is forgotten",
        "`bbr_update_min_rtt()` marks them", "RTT 10 ms, jitter 0.1 ms, buffer 2 BDP", "Mbit/s",
        goodput(
            path={"rtt": "10ms", "jitter": "0.1ms", "buffer": "2bdp"}, duration="65s", warmup="5s"
        ),
        (0.9, 0.99),
    ),
    Effect(
        "bbr-quantum", "ns3::TcpBbr", "bbr",
        "a send quantum is one segment: targets leave room for three segments",
        "`bbr_quantization_budget()`: for three bursts of a millisecond", "no loss, buffer 2 BDP",
        "ms of queue", queue(path={"buffer": "2bdp"}, duration="10s", warmup="2s"), (0.3, 0.75), 2,
    ),
    Effect(
        "bbr-seed", "ns3::TcpBbr", "bbr", "the bandwidth filter starts with cwnd / RTT",
        "`bbr_init()`: with nothing", "first 2 s, 1 Mbit/s × 20 ms, 100 packets", "ms of queue",
        queue(path={"rate": "1Mbps", "rtt": "20ms", "buffer": "100p"}, duration="2s"), (1.1, 2),
    ),
    Effect(
        "bbr-aggregation", "ns3::TcpBbr", "bbr",
        "the epoch of ACK aggregation counts whole seconds and ends after 4096 bytes",
        "`bbr_update_ack_aggregation()`: microseconds, 2^20 segments",
        "an ACK for 64 segments, 50 Mbit/s × 10 ms", "Mbit/s",
        goodput(
            path={"rate": "50Mbps", "rtt": "10ms", "buffer": "4bdp"}, tcp=STRETCHED,
            duration="20s", warmup="5s",
        ),
        (0.97, 1.03),
    ),
    Effect(
        "bbr-phases", {"name": "ns3::TcpBbr", "Stream": 4}, "bbr",
        "random stream 4 for every flow: flows choose their phases alike (the adapter gives each a "
        "stream of its own unless `Stream` is set)",
        "`get_random_u32_below()`", "two flows", "% of probes in common", common_probes,
        (1.5, 20), 0,
    ),
    Effect(
        "cubic-hystart-20", "ns3::TcpCubic", "cubic",
        "HyStart's delay threshold is the RTT, 4 ms … 1 s; an ACK train must fill all of the RTT",
        "`hystart_update()`: an eighth, 4 … 16 ms; half",
        "first 5 s, RTT 20 ms, buffer 0.5 BDP", "retransmissions",
        retransmits(path={"rtt": "20ms", "buffer": "0.5bdp"}, **OVERSHOOT), (5, 100), 0,
    ),
    Effect(
        "cubic-hystart-100", "ns3::TcpCubic", "cubic", "the same", "",
        "first 5 s, RTT 100 ms, buffer 0.5 BDP", "retransmissions",
        retransmits(path={"rtt": "100ms", "buffer": "0.5bdp"}, **OVERSHOOT), (5, 200), 0,
    ),
    Effect(
        "cubic-hystart-goodput", "ns3::TcpCubic", "cubic", "the same", "",
        "first 5 s, RTT 100 ms, buffer 0.5 BDP", "Mbit/s",
        goodput(path={"rtt": "100ms", "buffer": "0.5bdp"}, **OVERSHOOT), (0.93, 1.03),
    ),
    Effect(
        "cubic-loss", "ns3::TcpCubic", "cubic", "nothing else that shows under loss", "RFC 9438",
        "0.1 % loss", "Mbit/s", goodput(**RARE_LOSS), (0.95, 1.1),
    ),
    Effect(
        "linux-reno", "ns3::TcpLinuxReno", "reno", "nothing that shows under loss",
        "`tcp_reno_cong_avoid()`", "0.1 % loss", "Mbit/s", goodput(**RARE_LOSS), (0.95, 1.1),
    ),
    Effect(
        "new-reno", "ns3::TcpNewReno", "reno",
        "an ACK counts once, whatever it acknowledges: half the growth with delayed ACKs",
        "`tcp_cong_avoid_ai()`: every segment (RFC 3465)", "0.1 % loss", "Mbit/s",
        goodput(**RARE_LOSS), (0.6, 0.8),
    ),
    Effect(
        "vegas-loss", "ns3::TcpVegas", "vegas",
        "a loss takes one segment off the window", "`tcp_vegas`: `tcp_reno_ssthresh()` halves it",
        "0.1 % loss", "Mbit/s", goodput(**RARE_LOSS), (3, 6),
    ),
    Effect(
        "westwood-filter", "ns3::TcpWestwoodPlus", "westwood",
        "one filter of 0.9; samples over the RTT of one ACK",
        "`westwood_filter()`: two of 7/8; over RTTs of 50 ms at least",
        "0.1 % loss", "Mbit/s", goodput(**RARE_LOSS), (1.1, 1.5),
    ),
)  # fmt: skip


def table() -> str:
    """Return the table, measured now."""
    heads = ("algorithm", "differs in", "Linux, ours", "condition", "ours", "ns-3's", "test")
    lines = ["| " + " | ".join(heads) + " |\n", "|---" * 4 + "|---:" * 2 + "|---|\n"]
    return "".join(lines + [effect.row() for effect in EFFECTS])


def main() -> None:
    """Rewrite the table of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + table() + END + after)


if __name__ == "__main__":
    main()
