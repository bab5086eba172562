# SPDX-License-Identifier: GPL-2.0-only
"""UDP traffic beside the flows."""

from __future__ import annotations

import pytest

import tunnelcc as tc


def run(source: tc.CrossTraffic, cc: str = "bbr", **keys: object) -> tc.Result:
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="40ms"),
        flows=[tc.Flow(cc=cc)],
        cross_traffic=[source],
        **keys,
    )
    return tc.run(experiment, progress=False)


def test_it_sends_at_its_rate_between_start_and_stop():
    source = tc.CrossTraffic(rate="8Mbps", packet=1000, start="1s", stop="3s")
    table = run(source, duration="4s").to_dict()["cross_traffic"][0]
    assert table["cross_traffic_sent"] == 2000  # 1000 a second


def test_silence_after_each_period():
    source = tc.CrossTraffic(rate="8Mbps", packet=1000, on="500ms", off="1500ms")
    table = run(source, duration="7999ms").to_dict()["cross_traffic"][0]
    assert table["cross_traffic_sent"] == 2000  # a quarter of 8000


def test_on_without_off_is_an_error():
    with pytest.raises(tc.ConfigError, match="off"):
        tc.CrossTraffic(rate="1Mbps", on="1s")


@pytest.mark.parametrize("cc", ["bbr", "cubic"])
def test_flows_give_way_and_come_back(cc):
    source = tc.CrossTraffic(rate="50Mbps", start="5s", stop="15s")
    result = run(source, cc, duration="25s", hosts=tc.Hosts(tcp_rmem="64MiB", tcp_wmem="64MiB"))
    goodput = result.dataset.goodput_series.isel(flow=0).sel(leg="app") / 1e6
    beside = float(goodput.sel(time=slice(8, 15)).mean())
    after = float(goodput.sel(time=slice(20, 25)).mean())
    assert 35 < beside < 55
    assert 85 < after < 97


def test_a_datagram_that_does_not_fit_is_refused():
    source = {"rate": "5Mbps", "packet": 1501}
    with pytest.raises(tc.ConfigError, match=r"cross_traffic\.0\.packet = 1501: expected at most"):
        tc.Experiment.parse({"cross_traffic": [source]})
    tc.Experiment.parse({"path": {"mtu": 9000}, "cross_traffic": [{**source, "packet": 9000}]})


def test_sources_are_out_of_step():
    """Fifty that sent at the same moments would wait for (50 - 1) / 2 datagrams on average."""
    base = {
        "path": {"rate": "10Mbps", "rtt": "20ms", "buffer": "1000p"},
        "flows": [{"start": "19990ms"}],
        "cross_traffic": [{"rate": "180kbps"}] * 50,
        "duration": "20s",
        "warmup": "1s",
    }
    delays = [
        tc.run({**base, "seed": seed}, progress=False).metric("queue_delay_mean") for seed in (1, 2)
    ]
    assert delays[0] != delays[1]
    assert max(delays) < 12 * 1500 * 8 / 10e6


@pytest.mark.parametrize("loss", [0.1, 0.3, 0.4, 0.7])
def test_periodic_loss_of_any_share(loss):
    table = {
        "path": {"rate": "100Mbps", "rtt": "40ms", "loss": loss, "loss_pattern": "periodic"},
        "flows": [{"start": "9990ms"}],
        "cross_traffic": [{"rate": "8Mbps", "packet": 1000, "stop": "9s"}],
        "duration": "10s",
    }
    (source,) = tc.run(table, progress=False).cross_traffic
    assert source.sent == 9000
    assert source.received == pytest.approx((1 - loss) * 9000, abs=2)


def test_fair_rates_leave_cross_traffic_its_part():
    path = tc.Path(rate="50Mbps", rtt="20ms", queue="fq-codel", buffer="400p")
    for rate, part in (("20Mbps", 30e6), ("200Mbps", 25e6)):
        result = tc.run(
            tc.Experiment(path=path, flows=[tc.Flow(cc="reno")], duration="10s", warmup="3s",
                          cross_traffic=[tc.CrossTraffic(rate=rate)]),
            progress=False,
        )  # fmt: skip
        # UDP gets what it sends, but not more than half of the link.
        assert float(result.dataset.flow_fair_rate[0]) == pytest.approx(
            part * 1448 / 1500, rel=0.01
        )
        assert result.metric("max_min_share") == pytest.approx(1, abs=0.1)


def test_fair_rates_ignore_cross_traffic_on_other_links():
    experiment = tc.Experiment.parse(
        {
            "path": {"rate": "20Mbps", "rtt": "10ms"},
            "network": {"shape": "ring", "size": 4},
            "flows": [{"from": "host1", "to": "host2"}],
            "cross_traffic": [{"rate": "10Mbps", "from": "host3", "to": "host4"}],
            "duration": "3s",
        }
    )
    result = tc.run(experiment, progress=False)
    assert float(result.dataset.flow_fair_rate[0]) == pytest.approx(20e6 * 1448 / 1500, rel=0.01)
