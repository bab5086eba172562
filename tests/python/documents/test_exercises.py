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
        LARGE,
        bbr,
        buffers_and_queues,
        ecn_and_l4s,
        fairness,
        median,
        one_carrier_or_many,
        quic_beside_tcp,
        reproduce_a_paper,
        slow_start_and_cubic,
        tc,
        what_a_tunnel_changes,
        who_repairs_loss,
        wifi_and_lte,
    )

SEEDS = [*range(1, 7), *range(101, 107)]
LESSONS = sorted(it.stem for it in (ROOT / "notebooks").glob("[0-9]*.md"))


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


def beside(path, flows, seed, duration="300s", warmup="150s"):
    """Run flows with windows that never limit them, as lessons 4 and 5 do."""
    experiment = {"path": path, "flows": flows, "hosts": LARGE, "seed": seed}
    return tc.run(experiment | {"duration": duration, "warmup": warmup}, progress=False)


def crossing(seed):
    """As a student may find it, in one run of each buffer: where BBR's share is nearest to half."""
    flows = [{"cc": "bbr", "count": 2}, {"cc": "cubic", "count": 2}]
    away = {}
    for depth in (1, 1.5, 2, 2.5, 3, 4):
        result = beside(fairness.PATH | {"buffer": f"{depth}bdp"}, flows, seed)
        share = sum(result.metric("flow_share", flow=it) for it in (0, 1))
        away[depth] = abs(share - 0.5)
    return min(away, key=away.get)


def times_fair(seed):
    flows = [{"cc": "bbr"}, {"cc": "cubic", "count": 4}]
    return beside(fairness.PATH, flows, seed).metric("flow_max_min_share", flow=0)


def share_of_bbr3(seed):
    flows = [{"cc": "bbr3"}, {"cc": "cubic"}]
    path = fairness.PATH | {"buffer": "0.25bdp"}
    return beside(path, flows, seed).metric("flow_share", flow=0)


def far_and_near(seed, path, far="160ms", near=1, cc="cubic"):
    """The share of a flow from afar, as the mean of four seeds."""
    flows = [{"cc": cc, "rtt": "20ms", "count": near}, {"cc": cc, "rtt": far}]
    path = {"rate": "50Mbps", "rtt": "20ms", **path}
    seeds = range(4 * seed, 4 * seed + 4)
    found = [beside(path, flows, it, "200s", "50s") for it in seeds]
    return sum(it.metric("flow_share", flow=near) for it in found) / len(found)


def ten_against_one(seed):
    return far_and_near(seed, {"buffer": "4bdp"}, near=10)


def with_fq_codel(seed):
    return far_and_near(seed, {"buffer": "4bdp", "queue": "fq-codel"})


def with_a_relay(seed):
    return far_and_near(seed, {"buffer": "1bdp"}, "60ms", cc="reno")


def four_users(seed):
    """In one run of each."""
    ways = ("none", what_a_tunnel_changes.NESTED)
    plain, nested = (what_a_tunnel_changes.run(it, 0.01, 4, seed).goodput for it in ways)
    return plain / nested


def in_datagrams(seed):
    return what_a_tunnel_changes.run("openvpn-udp", 0.01, 4, seed).goodput / 1e6


def in_one_carrier(seed):
    return what_a_tunnel_changes.run("gost-relay-mwss", 0.01, 4, seed).goodput / 1e6


def short_queue(seed):
    tunnel = {"name": what_a_tunnel_changes.NESTED, "queue": 30}
    return what_a_tunnel_changes.rtt(what_a_tunnel_changes.run(tunnel, seed=seed).legs[0][0])


def three_loops(seed):
    return one_carrier_or_many.my_share(
        one_carrier_or_many.run("gost-relay-mwss", 4, 2, seed=seed), 4
    )


def read_ahead(seed):
    path = {"rate": "20Mbps", "rtt": "100ms"}
    experiment = {"path": path, "flows": [{"cc": "bbr", "bytes": "20MB"}], "duration": "2s"}
    result = tc.run(experiment | {"tunnel": "gost-relay-ws", "seed": seed}, progress=False)
    (leg,) = (it for it in result.legs[0] if it.name == "app")
    return sum(leg.goodput_series[:10]) * 0.1 / 8e6


def fec_in_bursts(seed):
    """The median of five seeds."""
    model = {"gilbert_elliott": {"p": 1 / 76, "r": 1 / 4}}
    path = who_repairs_loss.PATH | model | {"reverse": model}
    base = {"path": path, "flows": [{"cc": "cubic"}], "tunnel": "udpspeeder"}
    base |= {"duration": "20s", "warmup": "5s"}
    seeds = range(5 * seed, 5 * seed + 5)
    return median(tc.run(base | {"seed": it}, progress=False).goodput / 1e6 for it in seeds)


def large_window(seed):
    kcp = {"client_send_window": 1024, "client_receive_window": 1024}
    tunnel = {"name": "kcptun", "mode": "fast2", "kcp": kcp}
    base = {"path": who_repairs_loss.PATH, "flows": [{"cc": "cubic"}], "tunnel": tunnel}
    base |= {"duration": "20s", "warmup": "5s", "seed": seed}
    return 1 / tc.run(base, progress=False).metric("efficiency")


def wait_of_carrier(seed):
    tunnel = {"name": "gost-relay-wss", "cc": "bbr"}
    return wifi_and_lte.wait(wifi_and_lte.run("cubic", 12, seed=seed, tunnel=tunnel))


def delay_with_codel(seed):
    path = {"rate": "2.175Mbps", "rtt": "56ms", "buffer": "750kB", "queue": "codel"}
    base = {"path": path, "flows": [{"cc": "cubic"}], "duration": "45s", "warmup": "15s"}
    return wifi_and_lte.wait(tc.run(base | {"seed": seed}, progress=False)) + 28


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
    ("01-queues-and-windows", 1, None, {
        12.5: "as at 10 Mbit/s", 83.3: "an empty queue", 166.7: "a full queue", 250: "from nothing",
    }),
    ("01-queues-and-windows", 2, None, {0.9: "90 % of a BDP", 0.5: "half", 0.8: "it is linear"}),
    ("01-queues-and-windows", 3, None, {
        0: "it becomes empty", 200: "half of a full queue", 250: "half of pipe and queue",
        400: "it is full",
    }),
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
    ("04-fairness", 1, None, {0.5: "two of four", 0.75: "three of four", 0.25: "the worst"}),
    ("04-fairness", 2, crossing, {2: "BBR's limit", 1: "one BDP", 2.5: "as in part 1"}),
    ("04-fairness", 3, times_fair, {1.75: "as beside one", 0.79: "its share", 1: "it is fair"}),
    ("04-fairness", 4, share_of_bbr3, {0.93: "as BBR", 0.5: "it is fair", 0.07: "CUBIC wins"}),
    ("05-rtt-fairness", 1, None, {
        64: "without the queue", 8: "the ratio of RTTs", 2.4: "not squared", 0.17: "long by short",
    }),
    ("05-rtt-fairness", 2, ten_against_one, {0.09: "it is fair", 0.4: "as beside one"}),
    ("05-rtt-fairness", 3, with_fq_codel, {0.5: "half for each queue", 0.25: "as drop-tail"}),
    ("05-rtt-fairness", 4, with_a_relay, {0.08: "as without a relay", 0.5: "it is fair"}),
    ("06-buffers-and-queues", 1, largest_buffer, {
        2.5: "all of 100 ms for the queue", 1.5: "the way both ways", 1: "lesson 1", 5: "20 ms",
    }),
    ("06-buffers-and-queues", 2, drops_with_ecn, {14: "as many as without", 1: "one of them"}),
    ("06-buffers-and-queues", 3, four_against_one, {
        0.5: "a half for each algorithm", 0.67: "as in one queue", 0.25: "one of four",
        0.9: "BBR does not listen",
    }),
    ("07-what-a-tunnel-changes", 1, four_users, {1: "as one user", 16: "four times four"}),
    ("07-what-a-tunnel-changes", 2, in_datagrams, {
        3.1: "as TCP over TCP", 3.5: "as one flow", 45: "it repairs loss",
    }),
    ("07-what-a-tunnel-changes", 3, in_one_carrier, {
        11.7: "as a carrier for each", 45: "it repairs loss",
    }),
    ("07-what-a-tunnel-changes", 4, short_queue, {
        245: "as with 500", 7: "30 packets at the link's rate", 68: "as the carrier's",
        40: "an empty path",
    }),
    ("08-one-carrier-or-many", 1, three_loops, {
        0.67: "a share for each flow", 0.5: "a half for each user", 0.8: "as in datagrams",
    }),
    ("08-one-carrier-or-many", 2, None, {
        1.5: "without a tunnel", 2.5: "no upgrade", 3: "the data wait", 4: "a whole RTT",
    }),
    ("08-one-carrier-or-many", 3, None, {1.0359: "no frames", 1.0073: "no packets"}),
    ("08-one-carrier-or-many", 4, read_ahead, {1: "what has arrived", 2.5: "the link", 20: "all"}),
    ("09-who-repairs-loss", 1, None, {0.2: "of one datagram", 0.006: "one more", 0.33: "a third"}),
    ("09-who-repairs-loss", 2, fec_in_bursts, {11.6: "as with single losses", 0.5: "as CUBIC"}),
    ("09-who-repairs-loss", 3, large_window, {1.5: "as with 128", 2.8: "1024 / 367"}),
    ("09-who-repairs-loss", 4, None, {3: "as CUBIC in FEC", 5: "as BBR", 16: "no loss is left"}),
    ("10-reproduce-a-paper", 1, None, {1025: "as the paper", 10000: "bits", 1220.7: "of 1024"}),
    ("10-reproduce-a-paper", 2, None, {600: "bits of ms", 6000: "bits", 1000: "as stated"}),
    ("10-reproduce-a-paper", 3, verdict, {True: "it fills the link"}),
    ("11-wifi-and-lte", 1, None, {5.9: "one segment for each ACK", 8.6: "one frame"}),
    ("11-wifi-and-lte", 2, None, {15: "as without the allowance", 31: "as BBR without it"}),
    ("11-wifi-and-lte", 3, wait_of_carrier, {73: "as the application's", 12: "a pause", 3: "none"}),
    ("11-wifi-and-lte", 4, delay_with_codel, {2500: "as without", 9: "no way", 330: "an eighth"}),
    ("12-your-own-congestion-control", 1, None, {0.88: "as with 0.5", 0.7: "what it keeps"}),
    ("12-your-own-congestion-control", 2, None, {4: "the default", 80: "the more, the better"}),
    ("12-your-own-congestion-control", 3, None, {0.5: "it is fair", 0.95: "all", 0.17: "4 of 24"}),
    ("13-loss-and-repair", 1, None, {200: "it is found", 100: "no loss", 400: "two whole RTTs"}),
    ("13-loss-and-repair", 2, None, {0: "at once", 8.7: "the whole pause", 0.2: "an RTT"}),
    ("13-loss-and-repair", 3, None, {5000: "lost once", 12.5: "lost three times"}),
    ("14-quic-beside-tcp", 1, None, {200: "one handshake", 600: "all three", 0: "by the rate"}),
    ("14-quic-beside-tcp", 2, None, {95: "of a second", 0.8: "its own", 19: "each stream's one"}),
    ("14-quic-beside-tcp", 3, quic_against_two, {
        0.5: "a half for each protocol", 0.57: "as against one", 0.25: "one of four",
    }),
    ("15-ecn-and-l4s", 1, None, {10: "the marked share", 30: "as CUBIC", 50: "as Reno"}),
    ("15-ecn-and-l4s", 2, prague_near_the_server, {0.72: "as at 20 ms", 0.95: "as in CoDel"}),
    ("15-ecn-and-l4s", 3, None, {1000: "as without a tunnel", 1: "one of them"}),
    ("16-ask-linux", 1, None, {54: "as with 10 %", 56: "all"}),
    ("16-ask-linux", 2, None, {0: "it has no error", 11.2: "one of five", 28: "a half"}),
    ("16-ask-linux", 3, None, {100: "one of a hundred", 99: "one side", 4: "four"}),
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


def test_all_exercises_are_tried():
    numbers = {
        (lesson, 1 + place)
        for lesson in LESSONS
        for place in range(len(lessons.solutions(ROOT / "notebooks" / f"{lesson}.md")[0]))
    }
    assert {it[:2] for it in EXERCISES} == numbers


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
