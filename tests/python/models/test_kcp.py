# SPDX-License-Identifier: GPL-2.0-only
"""KCP as a carrier: its rates and bytes, what is told of it, and what is refused.

Rates without a range are those of a prototype written from kcp-go's source; ranges are from runs of
the real kcptun. Loss is random, in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import pytest

import tunnelcc as tc
from helpers import edited_entry

WIDE = {"client_send_window": 1024, "client_receive_window": 1024}
#: Seeds of what is slow; where a run is to be quick, the first alone.
SEEDS = range(1, 6)


@dataclass(frozen=True)
class Case:
    """A carrier on a path, and what it is expected to carry."""

    name: str
    direction: str = "up"
    rtt: str = "100ms"
    rate: str = "200Mbps"
    duration: str = "12s"
    tunnel: dict[str, Any] = field(default_factory=lambda: {"name": "kcptun"})
    path: dict[str, Any] = field(default_factory=dict)

    def run(self, loss: float, seed: int = 1) -> tc.Result:
        """Return one run. The CPU is no limit."""
        return tc.run(
            tc.Experiment.parse(
                {
                    "path": {
                        "rate": self.rate,
                        "rtt": self.rtt,
                        "buffer": "4bdp",
                        "loss": loss,
                        "reverse_loss": loss,
                        **self.path,
                    },
                    "flows": {"cc": "cubic"},
                    "tunnel": self.tunnel,
                    "direction": self.direction,
                    "duration": self.duration,
                    "warmup": "1s",
                    "seed": seed,
                    "hosts": {"speed": 50, "tcp_rmem": "64MiB", "tcp_wmem": "64MiB"},
                }
            ),
            progress=False,
        )


def _fast2(**changes: Any) -> dict[str, Any]:
    return {"name": "kcptun", "mode": "fast2", "kcp": WIDE, **changes}


UP = Case("up, 128 segments")
DOWN = Case("down, 512 segments", direction="down")
UP_50, UP_200 = Case("up, 50 ms", rtt="50ms"), Case("up, 200 ms", rtt="200ms")
DOWN_50 = Case("down, 50 ms", direction="down", rtt="50ms")
DOWN_200 = Case("down, 200 ms", direction="down", rtt="200ms")
FAST2 = Case("fast2", duration="10s", tunnel=_fast2())
PLAIN = Case("fast2 without FEC", duration="10s", tunnel=_fast2(fec="none"))
OF_2017 = Case("fast2 of 2017", duration="10s", tunnel=_fast2(name="kcptun-2017"))
GOST = {"name": "gost-kcp"}
GOST_20 = Case("GOST, 20 ms", rtt="20ms", rate="1Gbps", tunnel=GOST)
GOST_100 = Case("GOST, 100 ms", rate="1Gbps", tunnel=GOST)
#: Bursts of four on average, in all 5 % of the datagrams.
BURSTS = {"gilbert_elliott": {"p": 1 / 76, "r": 1 / 4}}

#: Carrier, loss → Mbit/s, or a range measured with the real program.
RATES: list[tuple[Case, float, float | tuple[float, float]]] = [
    *((UP, loss, rate) for loss, rate in {
        0: (8.7, 9.7), 0.02: 9.3, 0.1: 7.5, 0.15: 5.6, 0.3: 2.1,
    }.items()),
    *((DOWN, loss, rate) for loss, rate in {
        0: 50.6, 0.02: 50.0, 0.1: (29, 34), 0.15: 22.4, 0.3: 9.4,
    }.items()),
    *((UP_50, loss, rate) for loss, rate in {0: 18.9, 0.01: 18.8, 0.15: 9.9}.items()),
    *((UP_200, loss, rate) for loss, rate in {0: 5.0, 0.01: 5.0, 0.15: 3.0}.items()),
    *((DOWN_50, loss, rate) for loss, rate in {0: 102, 0.01: 100, 0.15: 38, 0.3: 14}.items()),
    *((DOWN_200, loss, rate) for loss, rate in {
        0: 25.9, 0.01: 25.8, 0.15: 11.9, 0.3: 5.4,
    }.items()),
    *((FAST2, loss, rate) for loss, rate in {
        0: 80, 0.02: 77.6, 0.05: (58, 68), 0.1: 40.7, 0.15: 31.5, 0.3: 13.2,
    }.items()),
    *((PLAIN, loss, rate) for loss, rate in {
        0: 81, 0.02: 35.1, 0.05: (26, 31), 0.1: 22.2, 0.15: 17.6, 0.3: 11.3,
    }.items()),
    *((OF_2017, loss, rate) for loss, rate in {0: (67, 76), 0.05: 63, 0.3: 29}.items()),
    *((GOST_20, loss, rate) for loss, rate in {
        0: 284, 0.01: 282, 0.05: 242, 0.1: 157, 0.3: 52,
    }.items()),
    *((GOST_100, loss, rate) for loss, rate in {
        0: 83, 0.01: 82, 0.05: 69, 0.1: 44, 0.3: 17,
    }.items()),
]  # fmt: skip
#: Those that are known to be off the prototype's, by up to so much: 11 % here.
KNOWN = {(GOST_20.name, 0.1): 0.14}
#: Those that one seed tells, in a fraction of a second.
QUICK = {(UP.name, 0), (UP.name, 0.1), (DOWN.name, 0), (DOWN.name, 0.1), (PLAIN.name, 0.05)}
IDS = [f"{case.name}, {loss:g}" for case, loss, _ in RATES]


def _check_rate(
    case: Case, loss: float, expected: float | tuple[float, float], rates: list[float]
) -> None:
    tolerance = KNOWN.get((case.name, loss), 0.1 if loss <= 0.1 else 0.2)
    if isinstance(expected, tuple):
        assert expected[0] <= fmean(rates) <= expected[1], (case.name, rates)
    else:
        assert fmean(rates) == pytest.approx(expected, rel=tolerance), (case.name, rates)


def _carrier(result: tc.Result) -> Any:
    (leg,) = [leg for leg in result.connections if leg.name == "carrier"]
    return leg


@pytest.mark.parametrize(
    ("case", "loss", "expected"), [it for it in RATES if (it[0].name, it[1]) in QUICK]
)
def test_rate_of_one_seed(case, loss, expected):
    _check_rate(case, loss, expected, [case.run(loss).goodput / 1e6])


@pytest.mark.slow
@pytest.mark.parametrize(("case", "loss", "expected"), RATES, ids=IDS)
def test_rate(case, loss, expected):
    rates = [case.run(loss, seed).goodput / 1e6 for seed in SEEDS]
    _check_rate(case, loss, expected, rates)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["normal", "fast", "fast2", "fast3"])
def test_the_clock_hardly_matters_where_acks_move_the_window(mode):
    case = Case(mode, duration="10s", tunnel=_fast2(mode=mode))
    _check_rate(case, 0.1, 42, [case.run(0.1, seed).goodput / 1e6 for seed in SEEDS])


@pytest.mark.slow
def test_fec_gains_less_against_bursts():
    def goodput(fec: str, path: dict[str, Any], loss: float) -> float:
        case = Case("", "down", path=path, tunnel={"name": "kcptun", "fec": fec})
        return fmean(case.run(loss, seed).goodput for seed in SEEDS)

    bursts = {**BURSTS, "reverse": BURSTS}
    random_gain = goodput("10:3", {}, 0.05) / goodput("none", {}, 0.05)
    burst_gain = goodput("10:3", bursts, 0) / goodput("none", bursts, 0)
    assert random_gain == pytest.approx(2.4, rel=0.2)
    assert burst_gain == pytest.approx(1.2, rel=0.2)


def test_a_congestion_window_grows_by_segments_alone():
    tunnel = {"name": "kcptun", "mode": "manual", "kcp": {**WIDE, "resend": 2, "interval": "20ms"}}
    free = {**tunnel, "kcp": {**tunnel["kcp"], "congestion": False}}
    limited, whole = (Case("", tunnel=it).run(0).goodput for it in (tunnel, free))
    assert limited < whole / 10


@pytest.mark.parametrize(
    ("case", "loss", "sent", "returned"),
    [
        (UP, 0, 1.49, 0.003),
        (UP, 0.15, 1.71, 0.028),
        (DOWN, 0, 1.39, None),
        (DOWN, 0.3, 2.50, None),
        (PLAIN, 0, 1.08, None),
        (PLAIN, 0.3, 2.29, None),
    ],
)
def test_bytes_on_the_path(case, loss, sent, returned):
    result = case.run(loss)
    leg, read = _carrier(result), result.flows[0].total_bytes
    assert leg.wire_bytes / read == pytest.approx(sent, rel=0.08)
    if returned is not None:
        assert leg.ack_wire_bytes / read == pytest.approx(returned, rel=0.25)


def test_bytes_of_a_datagram():
    """Full segments: 1298 of 1378 bytes, and three of parity for ten."""
    leg = _carrier(DOWN.run(0))
    assert leg.arq_parity_bytes / leg.arq_parity_datagrams == pytest.approx(1378, rel=0.01)
    assert leg.arq_parity_bytes / leg.wire_bytes == pytest.approx(3 / 13, rel=0.02)
    assert leg.total_segments * 1378 == pytest.approx(leg.wire_bytes * 10 / 13, rel=0.02)


def test_where_there_is_no_loss_nothing_is_sent_again():
    leg = _carrier(Case("", duration="5s", tunnel=_fast2(), path={"buffer": "10bdp"}).run(0))
    assert leg.segments > 20_000
    assert leg.retransmits <= 60


def test_the_same_seed_gives_the_same_bytes_and_another_one_others():
    first, again, other = (FAST2.run(0.05, seed) for seed in (3, 3, 4))
    assert first.digests() == again.digests()
    assert first.digests() != other.digests()


def test_phases_of_the_clocks_differ_between_seeds():
    case = Case("", rtt="20ms", duration="3s")
    assert len({str(case.run(0, seed).digests()) for seed in SEEDS}) == len(SEEDS)


def test_losses_that_fec_leaves():
    carrier = _carrier(Case("", duration="5s", tunnel=_fast2(fec="10:1")).run(0.02))
    # In a group of eleven that lost two and more, they stay lost; parity is none of them.
    one = 11 * 0.02 * 0.98**10
    left = (11 * 0.02 - one) * 10 / 11
    assert carrier.arq_unrecovered / carrier.arq_parity_datagrams == pytest.approx(left, rel=0.2)
    assert carrier.arq_recovered / carrier.arq_parity_datagrams == pytest.approx(
        one * 10 / 11, rel=0.1
    )
    off = _carrier(Case("", duration="3s", tunnel=_fast2(fec="none")).run(0.02))
    assert off.arq_parity_datagrams == off.arq_recovered == off.arq_unrecovered == 0


def test_what_is_told_of_a_session():
    result = DOWN.run(0.05)
    (leg,) = [leg for leg in result.to_dict()["flows"][0]["legs"] if leg["leg_name"] == "carrier"]
    assert leg["leg_cc"] == "kcp"
    assert leg["retransmits"] == (
        leg["arq_fast_retransmits"] + leg["arq_early_retransmits"] + leg["arq_timeouts"]
    )
    assert leg["rtos"] == leg["arq_timeouts"] > 0
    assert sum(leg["limit_share"].values()) == pytest.approx(1, abs=0.02)
    raw = _carrier(result)
    assert max(raw.cwnd) == 512
    assert 0.1 < raw.srtt[-1] < 0.14
    others = [it for it in result.connections if it.name != "carrier"]
    assert all(it.arq_timeouts is None for it in others)


def test_streams_share_a_session():
    experiment = {
        "path": {"rate": "50Mbps", "rtt": "50ms", "loss": "2%"},
        "flows": {"cc": "cubic", "count": 4, "bytes": "500kB"},
        "tunnel": "kcptun",
        "duration": "20s",
    }
    result = tc.run(tc.Experiment.parse(experiment), progress=False)
    assert [flow.total_bytes for flow in result.flows] == [500_000] * 4
    assert len([leg for leg in result.connections if leg.name == "carrier"]) == 1
    several = {**experiment, "tunnel": {"name": "kcptun", "carriers": 2}}
    result = tc.run(tc.Experiment.parse(several), progress=False)
    assert len([leg for leg in result.connections if leg.name == "carrier"]) == 2


def test_sessions_in_a_chain():
    experiment = {
        "path": {"rate": "50Mbps", "rtt": "50ms", "loss": "2%"},
        "flows": {"cc": "cubic", "bytes": "500kB"},
        "tunnel": {"name": "gost-kcp", "chain": [{"rtt": "20ms"}]},
        "duration": "20s",
    }
    result = tc.run(tc.Experiment.parse(experiment), progress=False)
    assert result.flows[0].total_bytes == 500_000
    assert {leg.name for leg in result.connections} >= {"carrier", "carrier2"}


def test_no_handshake_before_the_first_byte():
    experiment = {
        "path": {"rate": "50Mbps", "rtt": "100ms"},
        "flows": {"cc": "cubic", "bytes": "1kB"},
        "tunnel": "kcptun",
        "duration": "2s",
        "start_jitter": "0ms",
    }
    result = tc.run(tc.Experiment.parse(experiment), progress=False)
    assert 0.05 < result.flows[0].first_byte_at < 0.051


@pytest.mark.parametrize(
    ("tunnel", "message"),
    [
        ({"mode": "fsat"}, "tunnel.mode = 'fsat': expected one of normal, fast, fast2, fast3"),
        ({"kcp": {"interval": "20ms"}}, "tunnel.kcp.interval = '20ms': expected no value with m"),
        ({"mode": "fast2", "kcp": {"resend": 1}}, "tunnel.kcp.resend = 1: expected no value with"),
        ({"kcp": {"client_send_window": 0}}, "tunnel.kcp.client_send_window = 0: expected a whol"),
        ({"kcp": {"sndwnd": 5}}, "tunnel.kcp.sndwnd = 5: expected one of the keys mtu, nodelay, "),
        ({"cc": "bbr"}, "tunnel.cc = 'bbr': expected no value with kcptun, which accepts only"),
        ({"under": "wireguard"}, "tunnel.under = 'wireguard': expected no value with kcptun"),
        ({"fec": "2:1,10:3"}, "tunnel.fec = '2:1,10:3': expected data and parity shards of every"),
        ({"fec": "10:0"}, "tunnel.fec = '10:0': expected data and parity shards of every"),
        ({"chain": [{"cc": "bbr"}]}, "tunnel.chain.0.cc = 'bbr': expected no value with kcptun"),
    ],
)
def test_bad_keys(tunnel, message, refusal):
    assert message in refusal({"tunnel": {"name": "kcptun", **tunnel}})


def test_keys_of_kcp_are_refused_elsewhere():
    for key, value in {"kcp": {"client_send_window": 5}, "fec": "10:3", "mode": "fast"}.items():
        with pytest.raises(tc.ConfigError, match=f"tunnel.{key}"):
            tc.Experiment.parse({"tunnel": {"name": "gost-relay-mws", key: value}})


def test_a_path_too_narrow_for_its_datagrams():
    with pytest.raises(tc.ConfigError, match="of at least 1378,"):
        tc.Experiment.parse({"path": {"mtu": 1300}, "tunnel": "kcptun"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('generation = "2025"', 'generation = "2019"', "kcp.session.generation = '2019'"),
        ('protocol = "kcp"', 'protocol = "tcp"', "carrier.protocol = 'tcp': expected kcp"),
        ('mode = "fast"', 'mode = "quick"', "kcp.mode = 'quick': expected one of normal"),
        ("client_send = 128", "client_send = 0", "kcp.windows.client_send = 0"),
        ('parity = "10:3"', 'parity = "10:0"', "kcp.fec.parity = '10:0'"),
        ('protocol = "kcp"', 'protocol = "kcp"\nnodelay = true', "carrier.nodelay = True"),
    ],
)
def test_bad_entries(tmp_path, old, new, message, refusal):
    tunnel = edited_entry(tmp_path, "kcptun", old, new)
    assert message in refusal({"tunnel": tunnel})


def test_a_session_needs_streams(tmp_path):
    text = tc.catalog.path_of("kcptun").read_text()
    begin, end = text.index("[mux]"), text.index("[loopback.link]")
    file = tmp_path / "mine.toml"
    file.write_text(text[:begin] + text[end:])
    with pytest.raises(tc.ConfigError, match="mux"):
        tc.Experiment.parse({"tunnel": str(file)})


def test_show_tells_the_layers(run):
    code, out, _ = run("show", "tunnel", "kcptun", "--mode", "fast2")
    assert code == 0
    for text in ("KCP of 2025", "≤ 1298 B", "clock 20 ms", "3 of parity after 10", "snappy"):
        assert text in out.replace("\n", " ")
    code, _, error = run("show", "tunnel", "kcptun", "--mode", "fast9")
    assert code != 0
    assert "fast9" in error


@pytest.mark.parametrize(
    ("path", "helps", "told"),
    [
        (
            {"rate": "1Gbps", "rtt": "50ms"},
            "tunnel.kcp",
            "tunnel.kcp.client_send_window = 2048 and tunnel.kcp.server_receive_window = 2048: +",
        ),
        ({"rate": "100Mbps", "rtt": "10ms"}, "path.buffer", "path.buffer = 2bdp: +"),
    ],
)
def test_a_full_window_is_told_with_what_helps(run, path, helps, told):
    windows = {f"tunnel.kcp.{name}": 4096 for name in ("client_send_window",
                                                       "server_receive_window")}  # fmt: skip
    change = windows if helps == "tunnel.kcp" else {"path.buffer": "4bdp"}
    slow = tc.Experiment(path=path, tunnel="gost-kcp", flows={"count": 2}, duration="4s")
    before, after = (tc.run(it, progress=False).goodput for it in (slow, slow.with_(change)))
    assert after > 2 * before
    options = [f"--{key}={value}" for key, value in path.items()]
    _, out, _ = run("run", *options, "--tunnel=gost-kcp", "--flows=2", "--duration=4s")
    text = " ".join(out.split())
    assert told in text
