# SPDX-License-Identifier: GPL-2.0-only
"""From measurements to paths whose truth is known: simulated with other seeds, and Linux's."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.analysis.values import Reason
from tunnelcc.apps.fit import fit as fits
from tunnelcc.apps.fit import rates
from tunnelcc.apps.fit.direct import proportion
from tunnelcc.apps.fit.reading import reading
from tunnelcc.apps.fit.search import _splines, _terms, interval, search
from tunnelcc.formats import iperf3
from tunnelcc.formats.measurement import Measurement, Pings, Stream
from tunnelcc.words import fits as words
from validation.paths import ORDER, files_of, judged, known, truth_of

LINUX = ROOT / "tests" / "validation" / "data" / "linux" / "series"


def flow(rate, rtt, cwnd=200, window=6e6, seconds=20, congestion="cubic", **more):
    """Return a measurement of a flow every second; ``rate`` and ``rtt`` may be arrays."""
    time = np.arange(1.0, seconds + 1)
    ones = np.ones(seconds)
    stream = Stream(
        "1", time, rate * ones, rtt * ones, cwnd * ones, np.zeros(seconds), window * ones,
        congestion=congestion, **more,
    )  # fmt: skip
    return Measurement("made", [stream])


def test_a_window_and_an_rtt_are_the_whole_answer():
    """131072 bytes in 90 ms are 11.65 Mbit/s, whatever the link has."""
    found = fits.fit(flow(11.6e6, 0.09, cwnd=400, window=131072))
    assert (found.limit, found.runs) == ("receive_window", 0)
    assert found.check.ratio == pytest.approx(1, abs=0.05)
    assert not found.is_withdrawn
    assert found.estimates["window"].value == 131072
    assert found.estimates["rtt"].value == 0.09
    assert not found.estimates["rate"].is_told
    assert found.estimates["rate"].reason == Reason("limited", "receive_window")
    run = tc.run(found.table, progress=False)
    assert run.metric("goodput", since="3s") == pytest.approx(11.65e6, rel=0.03)
    assert fits._kind(run) == "receive_window"


def test_what_waits_of_ss_and_windows_say_limits():
    waits = {"receive_window": 0.02, "send_buffer": 0.9}
    assert reading(flow(5e6, 0.05, waits=waits)).limit == "send_buffer"
    assert reading(flow(2e6, 0.05, cwnd=200)).limit == "application"
    assert reading(flow(20e6, 0.05, cwnd=90)).limit == "network"
    assert reading(flow(20e6, 0.05, cwnd=180, congestion="bbr")).limit == "network"


def test_what_arrives_while_rtts_are_above_the_least_is_the_rate_of_a_full_link():
    rtts = 0.05 + 0.02 * (np.arange(20) % 5) / 5
    full = flow(48.27e6 * (1 + 0.001 * np.sin(np.arange(20))), rtts)
    rate = fits.direct(full).estimates["rate"]
    least, most = rate.interval
    assert rate.is_told
    assert least < 50e6 < most < 1.05 * least
    assert not fits.direct(flow(48.27e6, 0.05)).estimates["rate"].is_told


def test_a_rate_that_changes_is_of_no_path_of_the_family():
    rates = np.where(np.arange(20) < 10, 20e6, 14e6)
    found = fits.fit(flow(rates, 0.08, min_rtt=0.05))
    assert found.is_outside
    assert found.is_withdrawn
    assert not found.estimates["rate"].is_told


def test_pings_tell_the_rtt_and_jitter():
    measured = flow(48e6, 0.08)
    pings = Pings(0.04 + np.random.default_rng(1).exponential(1e-3, 200), 200)
    found = fits.direct(Measurement("made", measured.streams, pings)).estimates
    assert found["rtt"].value == pytest.approx(0.04, rel=0.01)
    least, most = found["jitter"].interval
    assert least < 1e-3 < most


def test_splines_are_scipys():
    random = np.random.default_rng(1)
    points, values, places = (random.normal(size=size) for size in ((40, 3), (40, 2), (9, 3)))
    for smoothing in (1e-3, 1.0):
        theirs = RBFInterpolator(points, values, smoothing=smoothing)(places)
        ours = _terms(places, points) @ _splines(points, values, smoothing)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_the_search_finds_what_made_the_features():
    """A model of three values, of which the last has no effect, with noise of 1 %."""
    generator = np.random.default_rng(3)

    def features(values):
        a, b, _ = values
        return np.array([a, np.exp(b / 2), a + b, a * b]) * (1 + 0.01 * generator.normal(size=4))

    truth = np.array([0.5, -0.3, 0.0])
    bounds = np.array([[-1.0, 2.0], [-1.0, 1.0], [-1.0, 1.0]])
    found = search(
        lambda values, _: [None if n == 3 else features(row) for n, row in enumerate(values)],
        features(truth), lambda uniform: bounds[:, 0] + uniform * np.ptp(bounds, axis=1),
        bounds, 90, 4,
    )  # fmt: skip
    low, _, high = interval(found)
    assert (low[:2] <= truth[:2]).all()
    assert (high[:2] >= truth[:2]).all()
    assert (high - low)[:2].max() < 0.15
    assert (high - low)[2] > 1.5


def test_the_command_says_what_it_finds_and_writes_a_scenario(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = iperf3.write(tc.run({"path": {"rate": "5Mbps", "rtt": "40ms"}, "duration": "8s",
                                 "seed": 9}, progress=False))  # fmt: skip
    for part in table["intervals"]:
        part["streams"][0]["snd_wnd"] = 6_000_000
    (tmp_path / "it.json").write_text(json.dumps(table))
    (tmp_path / "ping.txt").write_text(
        "".join(f"64 bytes: icmp_seq={n} ttl=9 time=40.0{n} ms\n" for n in range(1, 8))
    )
    command = ("fit", "it.json", "ping.txt", "--runs", "40", "-o", "found.toml")
    code, out, err = run(*command)
    assert code == 0, err
    assert "it.json, ping.txt: 1 flow of cubic" in out
    assert "RTT without queues" in out
    found = tc.load("found.toml")
    assert found.path.rate == pytest.approx(5e6, rel=0.05)
    assert found.path.rtt == pytest.approx(0.04, rel=0.05)
    assert run(*command)[1] == out
    twice = fits.read_all([tmp_path / "it.json", tmp_path / "." / "it.json"])
    assert len(twice.streams) == 1
    code, out, err = run("run", "--measured", "it.json")
    assert code == 0, err
    assert "the path is what it.json tells at once" in err
    ratio = float(out.rpartition("simulated / measured ")[2].split()[0])
    assert ratio == pytest.approx(1, abs=0.1)


def test_the_scenario_names_the_values_that_the_files_do_not_tell(run, tmp_path, monkeypatch):
    """A log of ss of a flow that the receiver's window limits: no simulations."""
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{1000 + 0.2 * number:.3f}\nESTAB 0 0 10.0.0.1:5000 10.0.0.2:5201\n\t rto:300 rtt:90/1 "
        f"mss:1448 cwnd:400 bytes_acked:{290_000 * number} snd_wnd:131072 minrtt:89\n"
        for number in range(1, 60)
    ]
    (tmp_path / "it.log").write_text("".join(lines))
    code, out, err = run("fit", "it.log", "-o", "found.toml")
    assert code == 0, err
    assert "cubic is assumed" in out
    written = (tmp_path / "found.toml").read_text()
    for name in ("rate", "buffer"):
        assert f"not told: {name} (" in out
        assert f"# Not told by the measurement: {name} (" in written
    assert written.count("# Not told") == out.count("not told: ") == 2
    assert tc.load("found.toml").flows[0].cc.name == "cubic"
    code, out, _ = run("fit", "it.log", "--cc", "reno")
    assert (code, "is assumed" in out) == (0, False)


@pytest.mark.parametrize(
    ("content", "told"),
    [(PING := "64 bytes: seq=1 time=4 ms\n64 bytes: seq=2 time=4 ms\n", "a file with a flow"),
     ("nothing", "FILE = ")],
)  # fmt: skip
def test_files_without_a_flow_are_refused(run, tmp_path, content, told):
    file = tmp_path / "file"
    file.write_text(content)
    code, out, err = run("fit", file)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"time": np.array([1.0, 2.0, 1e9])}, "at most a day"),
        ({"rtt": np.full(3, 1e-9)}, "RTTs from 1 µs"),
        ({"goodput": np.array([5e6, 5e6, 1e17])}, "to 100 Gbit/s"),
        ({"offered": 2.4e19, "lost": 0.37}, "to 100 Gbit/s"),
        ({"offered": 3.9e-12, "lost": 0.0}, "from 1 kbit/s"),
    ],
)
def test_what_no_path_has_is_refused(changes, told):
    measured = flow(5e6, 0.05, seconds=3)
    stream = replace(measured.streams[0], **changes)
    with pytest.raises(tc.ConfigError, match=told):
        fits.direct(Measurement("made", [stream]))


def test_more_retransmissions_than_segments_are_still_a_part():
    """As many as segments are half of what was sent."""
    measured = flow(2e6, 0.05, cwnd=200)
    lossy = replace(measured.streams[0], retransmits=np.linspace(0, 5e6 / 1448, 20))
    found = fits.direct(Measurement("made", [lossy]))
    assert found.estimates["loss"].value == pytest.approx(0.5, rel=0.05)
    assert float(found.table["path"]["loss"][:-1]) == pytest.approx(50, rel=0.05)


def test_counts_that_fall_turn_no_interval_over():
    """The retransmissions of a damaged file."""
    measured = flow(10e6, 0.05, cwnd=200)
    falling = replace(measured.streams[0], retransmits=np.linspace(1e6, 0, 20))
    found = fits.direct(Measurement("made", [falling])).reading
    assert fits.Direct(found).lost_behind() == 1


def test_a_count_that_no_file_can_have_is_a_proportion_all_the_same():
    """Its square has no place in a number."""
    assert proportion(1e200, 2e200) == pytest.approx((0.5, 0.5, 0.5))


def of_linux(name):
    """Return a shipped measurement of Linux; ss would tell all but its retransmissions."""
    with gzip.open(LINUX / f"{name}.csv.gz", "rt") as lines:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]
    time, rate, rtt, cwnd = (
        np.array([row[key] for row in rows])
        for key in ("t_s", "goodput_mbps", "srtt_ms", "cwnd")
    )  # fmt: skip
    stream = Stream(
        "1", time, 1e6 * rate, np.where(rtt > 0, rtt / 1e3, np.nan), cwnd,
        np.full(len(time), np.nan), congestion=name.split("_")[1],
    )  # fmt: skip
    return Measurement(name, [stream])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limit", "loss", "is_full"),
    [
        ("a_cubic_rtt100_p0_s1", "link", 0, True),
        ("a_bbr_rtt100_p0_s1", "link", 0, True),
        ("a_cubic_rtt100_p0.001_s1", "random_loss", 1e-3, False),
    ],
)
def test_linuxs_path_is_found(name, limit, loss, is_full):
    """50 Mbit/s, 100 ms, a queue of 1 BDP."""
    found = fits.fit(of_linux(name), progress=False)
    values = found.estimates
    assert found.limit == limit
    assert values["rtt"].value == pytest.approx(0.1, rel=0.02)
    least, most = values["loss"].interval
    assert least <= loss <= most
    if is_full:
        assert values["rate"].value == pytest.approx(50e6, rel=0.01)
        if "cubic" in name:  # BBR fills no buffer of a BDP
            assert values["buffer"].value == pytest.approx(0.1, rel=0.2)
    else:
        assert not values["rate"].is_told


def test_drops_of_a_small_queue_have_words():
    path = {"rate": "20Mbps", "rtt": "100ms", "buffer": "4p"}
    run = tc.run({"path": path, "duration": "4s"}, progress=False)
    assert fits._kind(run) == "queue"
    assert "queue drops" in words.limit("queue")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "queue"),
    [
        ({"queue": "codel"}, "codel"),
        ({"queue": "fq-codel"}, "codel"),
        ({"rate": "200Mbps", "policer": {"rate": "20Mbps", "burst": "100kB"}}, "policer"),
        ({}, "drop-tail"),
    ],
)
def test_other_queues_are_told_from_a_full_one(more, queue):
    """CUBIC over 20 Mbit/s × 40 ms, with pings."""
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp" if queue == "drop-tail" else "4bdp"}
    run = tc.run(
        {"path": {**path, **more}, "duration": "20s", "seed": 777,
         "hosts": {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}},
        progress=False,
    )  # fmt: skip
    (stream,) = iperf3.read("it", iperf3.write(run)).streams
    pings = Pings(0.04004 + np.random.default_rng(1).exponential(2e-4, 20), 20)
    found = fits.fit(Measurement("made", [stream], pings), progress=False)
    assert queue in (found.queue, found.other)
    assert found.estimates["buffer"].is_told is (queue == "drop-tail")
    if found.queue == "policer":
        path = tc.Experiment.parse(found.table).path
        assert path.policer.rate == pytest.approx(20e6, rel=0.2)
        assert found.limit == "policer"
    rate = found.estimates["rate"]
    assert not rate.is_told or rate.value == pytest.approx(20e6, rel=0.05)


def paths(count):
    """Yield paths with flows at random, and what 20 pings before them would add."""
    generator = np.random.default_rng(2026)
    for _ in range(count):
        rate, rtt, buffer = (
            float(np.exp(generator.uniform(*np.log(ends))))
            for ends in ((5, 50), (10, 130), (0.35, 4))
        )
        no_loss = generator.random() < 0.5
        loss = 0.0 if no_loss else float(np.exp(generator.uniform(*np.log((1e-4, 0.02)))))
        cc = ("cubic", "bbr", "reno")[generator.integers(3)]
        has_pings = bool(generator.random() < 0.6)
        seed = 500 + int(generator.integers(1_000_000))
        pings = Pings(rtt / 1e3 * 1.001 + generator.exponential(2e-4, 20), 20)
        path = {"rate": f"{rate:.4g}Mbps", "rtt": f"{rtt:.4g}ms", "buffer": f"{buffer:.3g}bdp",
                "loss": round(loss, 6)}  # fmt: skip
        truth = {"rate": 1e6 * rate, "rtt": rtt / 1e3, "buffer": buffer * rtt / 1e3}
        yield path, cc, seed, pings if has_pings else None, {**truth, "loss": loss}


@pytest.mark.slow
def test_simulated_paths_are_found():
    """60 paths, measured as iperf3 would each second for 20 s; 33 with pings before."""
    found = {"rate": [], "rtt": [], "buffer": [], "loss": [], "limit": []}
    for number, (path, cc, seed, pings, truth) in enumerate(paths(60)):
        run = tc.run(
            {"path": path, "flows": [{"cc": cc}], "duration": "20s", "seed": seed,
             "hosts": {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}},
            progress=False,
        )  # fmt: skip
        (stream,) = iperf3.read("it", iperf3.write(run)).streams
        measured = Measurement(f"it{number}", [stream], pings)
        fit = fits.fit(measured, progress=False)
        for name, tolerance in (("rate", 0.05), ("rtt", 0.02), ("buffer", 0.2)):
            it = fit.estimates[name]
            if it.is_told:
                found[name].append(abs(it.value / truth[name] - 1) <= tolerance)
        least, most = fit.estimates["loss"].interval
        found["loss"].append(least <= truth["loss"] <= most)
        if not fit.other and not fit.is_withdrawn:
            found["limit"].append(fit.limit == fits._kind(run))
    counts = {name: (sum(values), len(values)) for name, values in found.items()}
    print(counts)
    least = {"rate": 0.95, "rtt": 0.95, "buffer": 0.9, "loss": 0.9, "limit": 0.95}
    for name, (right, told) in counts.items():
        assert right >= least[name] * told, name
    assert counts["rate"][1] >= 30
    assert counts["rtt"][1] >= 30
    assert counts["buffer"][1] >= 5


@pytest.mark.slow
def test_what_is_told_of_known_paths_holds_the_truth():
    """Every sixth of the paths that Linux measured with real tools, but those kept aside."""
    told = []
    for path in list(known(is_aside=False))[::6]:
        verdict = judged(path)
        if verdict is not None:
            told += [holds for is_told, holds in verdict.told.values() if is_told]
            print(verdict.text)
    assert len(told) >= 10
    assert sum(told) >= 0.95 * len(told)


def test_rates_of_all_known_paths_hold_the_truth(tmp_path):
    """Of all, without simulations, from the files that a path is judged by."""
    told = []
    for path in known():
        files = files_of(path, ORDER[path.number // 3 % len(ORDER)], tmp_path)
        if "-u" in path.way:
            continue
        rate = fits.direct(fits.read_all(files)).estimates["rate"]
        if rate.is_told:
            least, most = rate.interval
            told.append(least * 0.9995 <= truth_of(path)["rate"] <= most * 1.0005)
    assert len(told) >= 75
    assert sum(told) >= 0.95 * len(told)


def sawtooth(rate, rtt, buffer, seconds=30, **more):
    """Return a Reno flow (RFC 5681) with samples of a second, seen at the sender.

    Its window grows by a segment an RTT, and is halved where the queue is full: in flight is what
    the link carries in an RTT, and the rest is in the queue.
    """
    bdp, times = rate * rtt / 8 / 1500, np.arange(1.0, seconds + 1)
    top = (rate * rtt / 8 + buffer) / 1500
    cwnd, now, cwnds, rtts = top / 2, 0.0, [], []
    for moment in times:
        while now < moment:
            now += rtt * max(1, cwnd / bdp)
            cwnd = cwnd + 1 if cwnd < top else top / 2
        cwnds.append(cwnd)
        rtts.append(rtt * max(1, (cwnd - 1) / bdp))
    goodputs = np.minimum(rate, 1500 * 8 * np.array(cwnds) / rtt) * 1448 / 1500
    ours = flow(goodputs, np.array(rtts), np.array(cwnds), seconds=seconds, **more)
    return replace(ours, streams=[replace(ours.streams[0], congestion="reno")])


@pytest.mark.parametrize("buffer", [0.3, 0.6, 1.5])
def test_windows_and_rtts_tell_the_rate_of_bytes_that_were_written(buffer):
    """Windows over RTTs are the rate while a queue varies, whatever was written into a buffer."""
    rate, rtt = 20e6, 0.1
    measured = sawtooth(rate, rtt, buffer * rate * rtt / 8, counted="written", grain=131072.0)
    value, least, most = rates.windows_and_rtts(fits.Direct(fits.direct(measured).reading))
    assert least <= rate <= most
    assert value == pytest.approx(rate, rel=0.02)


def test_windows_that_change_at_one_rtt_tell_no_rate():
    """Without a queue, windows over RTTs are what the flow sends."""
    measured = sawtooth(20e6, 0.1, 0.0, counted="written", grain=131072.0)
    assert rates.windows_and_rtts(fits.Direct(fits.direct(measured).reading)) is None


def test_bbr_tells_the_rate_of_a_link_that_stays():
    """BBR leaves out its probes, 200 ms and an RTT in 10 s; a link that slows down has no rate."""
    rate, rtt = 20e6, 0.05
    probes = np.where(np.arange(30) % 10 == 5, 0.75, 1.0) * rate * 1448 / 1500
    pings = Pings(np.full(10, rtt), 10)
    steady = replace(flow(probes, rtt, 200, seconds=30, congestion="bbr"), pings=pings)
    _, least, most = rates.bbr(fits.Direct(fits.direct(steady).reading))
    assert least <= rate <= most <= 1.105 * least
    slower = probes * np.where(np.arange(30) < 15, 1.0, 0.7)
    changed = replace(flow(slower, rtt, 200, seconds=30, congestion="bbr"), pings=pings)
    assert rates.bbr(fits.Direct(fits.direct(changed).reading)) is None


def test_what_files_prove_of_known_paths_holds_the_truth(tmp_path):
    """Without simulations: an example of each kind, with a log of ss and pings."""
    kinds, told = set(), []
    for path in known(is_aside=False):
        if path.kind in kinds or "-u" in path.way:
            continue
        kinds.add(path.kind)
        found = fits.direct(fits.read_all(files_of(path, "ss, ping", tmp_path)))
        assert found.reading.measured.is_down is ("-R" in path.way)
        truth = truth_of(path)
        for name in ("rate", "rtt", "buffer", "loss"):
            it = found.estimates[name]
            if it.is_told:
                least, most = it.interval
                told.append(least * 0.9995 <= truth[name] <= most * 1.0005)
    assert len(kinds) >= 8
    assert len(told) >= 12
    assert all(told)


def test_flows_of_several_congestion_controls_keep_their_own():
    """BBR's rules are for BBR alone, and simulations have the flows of the files."""
    one, other = (flow(24e6, 0.05, congestion=it).streams[0] for it in ("cubic", "bbr"))
    late = replace(one, congestion="", time=one.time + 4, start=4.0)
    found = fits.direct(Measurement("made", [one, other, late]))
    assert [(it["cc"], it["count"]) for it in found.table["flows"]] == [
        ("bbr", 1), ("cubic", 1), ("cubic", 1),
    ]  # fmt: skip
    assert [it.congestion for it in found.reading.streams] == ["bbr", "cubic", "cubic"]
    assert found.reading.has_bbr
    assert not found.reading.is_bbr
    seconds = replace(one, goodput=np.full(20, 24e6)), replace(other, goodput=np.full(20, 24e6))
    assert rates.bbr(fits.Direct(reading(Measurement("made", [seconds[1]])))) is not None
    assert rates.bbr(fits.Direct(reading(Measurement("made", [*seconds])))) is None


def test_all_flows_of_an_application_have_its_rate():
    one, other = (flow(2e6, 0.05, congestion=it).streams[0] for it in ("cubic", "bbr"))
    found = fits.direct(Measurement("made", [one, other]))
    assert found.limit == "application"
    assert [it["rate"] for it in found.table["flows"]] == ["2Mbps", "2Mbps"]


def test_whole_milliseconds_of_pings_hide_what_is_behind_them():
    """Windows cuts 40.9 ms to 40 ms, and anything below 1 ms to <1ms, which is read as 1 ms."""
    measured = flow(48e6, 0.08)
    for printed, truths in ((0.040, (0.040, 0.0409)), (0.001, (1e-5, 9e-4))):
        pings = Pings(np.full(20, printed), 20)
        found = fits.direct(Measurement("made", measured.streams, pings)).estimates["rtt"]
        least, most = found.interval
        assert all(least <= it <= most for it in truths)


def test_pings_that_were_given_are_not_asked_for():
    few = Pings(np.array([0.040, 0.070, 0.055]), 3, is_loaded=False)
    measured = flow(24e6, 0.08)
    found = fits.direct(Measurement("made", measured.streams, few))
    assert found.reading.idle is not None
    assert not found.estimates["rtt"].is_told
    assert "ping" not in dict(found.further)
    assert found.estimates["rtt"].reason != Reason("ping_before")
    without = fits.direct(measured)
    assert "ping" in dict(without.further)
