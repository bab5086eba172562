"""Segments that are overtaken on the path, and what the sender makes of it (RFC 8985)."""

from __future__ import annotations

import pytest

import tunnelcc as tc


def needless_retransmissions(cc: str, delay: str, seed: int = 1) -> tuple[int, int]:
    """Retransmissions less what the path lost, of how many that were overtaken, in 60 s."""
    path = tc.Path(rate="50Mbps", rtt="40ms", buffer="4bdp", reorder="0.1%", reorder_delay=delay)
    experiment = tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="60s", seed=seed)
    run = tc.run(experiment).to_dict()
    leg = run["flows"][0]["legs"][0]
    overtaken = round(0.001 * run["links"]["path"]["forward"]["link_packets"])
    return leg["retransmits"] - run["metrics"]["drops"], overtaken


@pytest.mark.parametrize("cc", ["cubic", "reno", "bbr"])
def test_rack_takes_to_reordering(cc: str) -> None:
    # 5 ms are within the window of a quarter of the least RTT (section 6.2, step 4): once that is
    # open, nothing is retransmitted for having been overtaken.
    needless, overtaken = needless_retransmissions(cc, "5ms")
    assert overtaken > 150
    assert 0 < needless <= 5


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_d_sacks_widen_the_window(cc: str) -> None:
    # 15 ms are beyond 10 ms, but not beyond the 20 ms that one D-SACK makes of them.
    needless, overtaken = needless_retransmissions(cc, "15ms")
    assert overtaken > 100
    assert 0 < needless <= 10
