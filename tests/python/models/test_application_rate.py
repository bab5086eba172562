# SPDX-License-Identifier: GPL-2.0-only
"""Applications that write less than their path could carry."""

from __future__ import annotations

import pytest

import tunnelcc as tc


@pytest.mark.parametrize("cc", ["bbr", "cubic", "bbr3"])
@pytest.mark.parametrize("tunnel", [None, "gost-relay-wss"])
def test_goodput_is_the_applications_rate(cc, tunnel):
    flow = tc.Flow(cc=cc, rate="8Mbps", write_size="10kB")
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="40ms"), flows=[flow], tunnel=tunnel,
        duration="12s", warmup="2s",
    )  # fmt: skip
    result = tc.run(experiment, progress=False)
    assert result.goodput == pytest.approx(8e6, rel=0.01)
    assert result.links["path"].forward.queue_drops == 0


def test_the_window_does_not_grow_beyond_what_is_used():
    # RFC 7661's concern; Linux grows cwnd only where it was the limit.
    flow = tc.Flow(cc="cubic", rate="8Mbps", write_size="10kB")
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="40ms"), flows=[flow], duration="30s"
    )
    cwnd = tc.run(experiment, progress=False).dataset.cwnd
    assert float(cwnd.max()) < 120  # 8 Mbit/s x 40 ms are 28 segments


def test_bbr_keeps_its_estimate_while_the_application_is_slow():
    # An application-limited sample may raise the estimate of the bandwidth, not lower it.
    flow = tc.Flow(cc="bbr", rate="8Mbps", write_size="10kB")
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="40ms"), flows=[flow], duration="30s", warmup="5s"
    )
    pacing = tc.run(experiment, progress=False).dataset.pacing_rate.sel(time=slice(5, None))
    assert float(pacing.min()) > 8e6


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_preamble_larger_than_the_send_buffer_is_written_whole(direction):
    result = tc.run(
        tc.Experiment.parse(
            {
                "direction": direction,
                "flows": [{"preamble": "1MiB", "bytes": 40}],
                "hosts": {"tcp_wmem": "100kB"},
            }
        ),
        progress=False,
    )
    preamble = 2**20 if direction == "up" else 0  # downwards it is the request
    assert result.flows[0].total_bytes == preamble + 40
    assert result.flows[0].completed_at > 0
