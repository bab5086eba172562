# SPDX-License-Identifier: GPL-2.0-only
"""What is known of the causes of misses: pattern of check names → cause, with its evidence.

Only shown where a check misses; nothing here changes a verdict. The first pattern that fits counts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_SAME_LOSSES = (
    "The reference's seeds lost nearly the same packets (19, 20 and 20; 104, 105 and 105), so its "
    "runs are one sample of the loss, and more was lost than set: 1.5 to 1.9 times at 0.01 %, 1.1 "
    "at 0.1 %. Compare the goodput at the loss that was counted."
)
_STALLS = (
    "The reference's host stalled for 1 to 30 ms at times; its README calls cells with so short a "
    "buffer or an RTT of 10 ms lower bounds for unpaced algorithms. Two CUBIC lost 1022 packets in "
    "its 60 s. In six runs of two on Linux 6.18, measured since with hardly a stall, they lose 11 "
    "to 18 in 27 s after slow start (here 12 to 18), and the queue is 5.0 to 5.9 ms, as here. With "
    "stalls of 5 ms put in, two a second, 201 are lost and 4.0 ms are left; with 10 ms, one a "
    "second, 0.6 ms. One CUBIC has 3.3 and 5.1 ms without them, 3.2 here. See linux/again."
)
_OVERESTIMATE = (
    "Packets that the emulated link sent late come bunched, and BBR takes the link for faster than "
    "it is: the reference's for 49.15 Mbit/s at 10 ms and 1 % loss, where 48.27 fit. So it paces "
    "into the queue. How far depends on the shape of the lateness, of which only a percentile is "
    "known: with none the queue is 3.4 ms, with a half-normal one of that percentile 5.2 ms. "
    "Linux over another link, measured since, has 3.9 ms, and with exponential jitter added 6.1: "
    "simulations that were as late as those runs have 3.7 and 6.4. Measured Linux has the shorter "
    "queue the more is lost, but for the reference's, which rises to 0.1 % loss: its link was not "
    "equally late in all cells."
)
_LATE_LINK = (
    "Fractions of a millisecond: the emulated link itself was up to 0.2 ms late, and the reference "
    "has one run of each."
)
_FEW_LOSSES = "A handful of losses in 30 s, most of them drops at the end of slow start."
_NEUTRAL = (
    "Measured Linux lies as far above it (linux/periodic). It counts the window in whole segments, "
    "so CUBIC's plateau is flat for 1.4 s on either "
    "side of K; a periodic loss anywhere there gives the same maximum again. Coming from above, "
    "from slow start, the window stays at the upper end of that band. Random loss moves it."
)
_SMALL_WINDOW = (
    "The formula leaves out the round trip of recovery and whole segments, which weigh most in "
    "small windows. Measured Linux lies below it, too: see linux/periodic; CUBIC at 10 ms and "
    "random loss of 1 and 2 % has 9.3 and 6.3 segments where the formula says 12.2 and 8.7."
)
_SHORT_TERM_BOUNDS = (
    "The draft's own bounds: while it cruises, each round with a loss lowers bw_shortterm to what "
    "that round delivered, 1 % (the pacing margin) below the bound before, until the next probe 2 "
    "to 3 s later. The draft's simplified model (5.3.3.8.3) has a round with 1 % loss take 1 % of "
    "the rate: 0.74 are left in the mean of 63 rounds, 0.86 at 0.5 %; see bbr3/draft-model. "
    "Google's own code, driven over the same path, keeps 0.87 at 0.5 % and 0.73 at 1 %; see "
    "bbr3/google. Where rounds are so small that most lose nothing (2 Mbit/s × 40 ms) 0.95 is kept "
    "at 1 %. Yang et al. (BBRv2+, Computer Networks 2022) found BBRv2, which has the same bounds, "
    "as little resilient to random loss. 0.9 is this suite's reading of the draft's aim, the full "
    "throughput with average losses of up to 1 %."
)
_GIVEN_UP = (
    "From 1 % on chance decides which probes are given up: above, runs of one condition differ by "
    "a factor of two, here as in the reference. At 2 % and 40 ms chance does not explain that the "
    "simulator keeps more (0.36 in eight runs, 0.26 in sixteen of the reference); why is not known."
)
_JOINT_STARTS = (
    "One or two runs of the reference, and ours differ by 20 points between starts a few ms apart: "
    "the first round trips decide."
)

#: Patterns, the first that fits counting, and causes.
CAUSES = (
    ("linux/goodput/*/0.01%", _SAME_LOSSES),
    ("linux/goodput/*/0.1%", _SAME_LOSSES),
    ("linux/counted-loss/*/0.01%", _FEW_LOSSES),
    ("linux/counted-loss/*/0.1%", _FEW_LOSSES),
    (
        "linux/branches/bbr/100ms/10%",
        "Random loss ends STARTUP early in some runs, and PROBE_BW then climbs until the end. The "
        "reference's three runs have 28, 38 and 39 Mbit/s. Of 80 more on Linux 6.18 ten have 22 to "
        "33, twelve 35 to 38 and 58 more; of 240 seeds here nine have 14 to 21, eight 21 to 31, "
        "five 36 to 38 and 218 more.",
    ),
    (
        "linux/branches-again/bbr/100ms/15%/*",
        "Not known. Linux is on the lower branch more often: 14 of 40 runs have 0.9 to 18 Mbit/s, "
        "of 128 here 20 have 0.9 to 14; the reference's four have 31 to 34.",
    ),
    (
        "linux/rtt-p95/cubic/10ms/5%",
        "Windows of some four segments: the smoothed RTT tells how many ACKs were delayed.",
    ),
    ("linux/queue/bbr/10ms/*", _OVERESTIMATE),
    ("linux/rtt-mean/bbr/10ms/0%", _OVERESTIMATE),
    ("linux/queue/cubic/10ms/*", _SAME_LOSSES),
    ("linux/queue/reno/10ms/*", _SAME_LOSSES),
    ("linux/queue/?cubic/0.25bdp", _STALLS),
    ("linux/queue/*/rmem*", _LATE_LINK),
    ("linux/queue/bbr/100ms/0.01%", "One of the reference's runs had 17.6 ms, the others 5."),
    ("linux/rtt-p95/bbr/100ms/0.01%", "One of the reference's runs had 169 ms, the others 123."),
    ("linux/queue/reno/100ms/*", _FEW_LOSSES),
    ("linux/retransmissions/reno/*", _FEW_LOSSES),
    ("linux/shares/*cubic*", _JOINT_STARTS),
    ("bbr3/loss/*", _SHORT_TERM_BOUNDS),
    ("bbr3/google/*", _GIVEN_UP),
    ("theory/periodic/*/0.01", _SMALL_WINDOW),
    ("theory/periodic/cubic/10ms/0.001", _SMALL_WINDOW),
    ("theory/periodic/cubic/100ms/*", _NEUTRAL),
    ("theory/random/cubic/10ms/*", _SMALL_WINDOW),
    ("ns3/*-drops", "Stock ns-3 recovers from the overshoot of slow start without RACK-TLP."),
)  # fmt: skip


def known(name: str) -> str:
    """Return what is known of the cause if the check of that name misses, or nothing."""
    return next((cause for pattern, cause in CAUSES if matches(name, pattern)), "")


def matches(name: str, pattern: str) -> bool:
    """Return whether a check's name fits a pattern with wildcards."""
    return fnmatchcase(name, pattern)
