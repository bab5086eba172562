# SPDX-License-Identifier: GPL-2.0-only
"""The checks of exercises accept what any seed of the simulation gives, and no misconception."""

from __future__ import annotations

import sys

import matplotlib as mpl
import pytest

from helpers import ROOT

sys.path.insert(0, str(ROOT / "notebooks"))
# Lessons enlarge the figures of all that import them. Those of other tests stay as they are.
with mpl.rc_context():
    import lessons

    from tunnelcc.lessons import (
        CALL,
        bbr,
        buffers_and_queues,
        ecn_and_l4s,
        quic_beside_tcp,
        reproduce_a_paper,
        slow_start_and_cubic,
        tc,
    )

SEEDS = [*range(1, 7), *range(101, 107)]


def web_page(seed):
    page = slow_start_and_cubic.run(rate="1Gbps", bytes="1MB", seed=seed)
    return page.flows[0].completed_at / 0.1


def bad_radio_link(seed):
    return bbr.run("bbr", "1bdp", 0.03, 60, 10, seed, probe="100ms").goodput / 1e6


def limited_by_a_buffer(seed):
    path = {"rate": "1Gbps", "rtt": "100ms"}
    cc = ("bbr", "cubic")[seed % 2]
    experiment = {"path": path, "flows": [{"cc": cc}], "duration": "20s", "warmup": "10s"}
    return tc.run(experiment | {"seed": seed}, progress=False).goodput / 1e6


def largest_buffer(seed):
    """In tenths of a BDP, as a student may search."""
    flows = [{"cc": "cubic"}, CALL]
    for tenths in range(25, 10, -1):
        result = buffers_and_queues.run(flows, buffer=f"{tenths / 10}bdp", seed=seed)
        if buffers_and_queues.latency(result) <= 100:
            return tenths / 10
    raise AssertionError


def drops_with_ecn(seed):
    marking = buffers_and_queues.run([{"cc": "cubic"}], "codel", "8bdp", True, seed)
    return marking.links["path"].forward.queue_drops


def four_against_one(seed):
    flows = [{"cc": "bbr"}, {"cc": "cubic", "count": 4}]
    return buffers_and_queues.run(flows, "fq-codel", "4bdp", seed=seed).metric("flow_share", flow=0)


def verdict(seed):
    total = sum(reproduce_a_paper.run({"cc": "bbr"}, {"cc": "bbr"}, loss=6e-5, seed=seed))
    return abs(total / 750 - 1) <= 0.1


def quic_against_two(seed):
    """Long, or as short as a student may run it."""
    flows = ({"transport": "quic", "cc": "reno"}, {"cc": "cubic", "count": 2})
    result = quic_beside_tcp.run(*flows, seconds=((5, 60), (60, 200))[seed % 2], seed=seed)
    return result.metric("flow_share", flow=0)


def prague_near_the_server(seed):
    result = ecn_and_l4s.run("prague", "cubic", queue="dualpi2", rtt="5ms", seed=seed)
    return result.metric("flow_share", flow=0)


#: Lesson and exercise; what a run with a seed gives, if a run answers it; and wrong answers, each
#: with the thought behind it.
EXERCISES = [
    ("02-slow-start-and-cubic", 1, web_page, {
        6.5: "without the handshake", 69.1: "one window of ten in each RTT",
        0.08: "the link's rate decides", 9.5: "a window that is doubled from one packet",
    }),
    ("02-slow-start-and-cubic", 2, None, {
        108: "ten times as long", 10.8: "the rate does not matter", 34.3: "the square root of ten",
        1250: "Reno",
    }),
    ("02-slow-start-and-cubic", 3, None, {
        0.34: "it doubles in each RTT", 37.6: "two packets in each RTT", 83.3: "from nothing",
        113: "with RTTs of 150 ms",
    }),
    ("03-bbr", 1, None, {20: "one RTT of two", 0.2: "seconds for percent", 4: "two RTTs in ten"}),
    ("03-bbr", 2, bad_radio_link, {
        48.3: "BBR ignores loss", 1.3: "as CUBIC", 50: "the whole link", 38.9: "as at 10 %",
        33.8: "0.7 of it",
    }),
    ("03-bbr", 3, limited_by_a_buffer, {
        965: "the link", 327: "all of the buffer", 109: "the other third", 436: "twice",
    }),
    ("06-buffers-and-queues", 1, largest_buffer, {
        2.5: "all of 100 ms for the queue", 1.5: "the way both ways", 1: "lesson 1", 5: "20 ms",
    }),
    ("06-buffers-and-queues", 2, drops_with_ecn, {14: "as many as without", 1: "one of them"}),
    ("06-buffers-and-queues", 3, four_against_one, {
        0.5: "a half for each algorithm", 0.67: "as in one queue", 0.25: "one of four",
        0.9: "BBR does not listen",
    }),
    ("10-reproduce-a-paper", 1, None, {1025: "as the paper", 10000: "bits", 1220.7: "of 1024"}),
    ("10-reproduce-a-paper", 2, None, {600: "bits of ms", 6000: "bits", 1000: "as stated"}),
    ("10-reproduce-a-paper", 3, verdict, {True: "it fills the link"}),
    ("14-quic-beside-tcp", 3, quic_against_two, {
        0.5: "a half for each protocol", 0.57: "as against one", 0.25: "one of four",
    }),
    ("15-ecn-and-l4s", 2, prague_near_the_server, {0.72: "as at 20 ms", 0.95: "as in CoDel"}),
]  # fmt: skip


def accepts(lesson, exercise, value):
    """Whether the check that nbgrader runs accepts an answer."""
    cells = lessons.assignment(ROOT / "notebooks" / f"{lesson}.md").cells
    tests = [cell.source for cell in cells if "HIDDEN TESTS" in cell.source]
    questions = [cell for cell in cells if "exercise" in cell.metadata.get("tags", [])]
    answer = lessons.name_of_answer(questions[exercise - 1])
    try:
        exec(tests[exercise - 1], {answer: value})
    except AssertionError:
        return False
    return True


def named(case):
    return f"{case[0]} {case[1]}"


@pytest.mark.parametrize(
    ("lesson", "exercise", "run", "wrong"), EXERCISES, ids=map(named, EXERCISES)
)
def test_misconceptions_are_refused(lesson, exercise, run, wrong):
    assert [it for it in wrong if accepts(lesson, exercise, it)] == []


SIMULATED = [it for it in EXERCISES if it[2]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lesson", "exercise", "run", "wrong"), SIMULATED, ids=map(named, SIMULATED)
)
def test_the_answer_of_any_seed_is_accepted(lesson, exercise, run, wrong):
    found = {seed: run(seed) for seed in SEEDS}
    assert {seed: it for seed, it in found.items() if not accepts(lesson, exercise, it)} == {}
