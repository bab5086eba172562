# SPDX-License-Identifier: GPL-2.0-only
"""Steps and outages of a link, and what they leave as it was."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc

_PATH = {"rate": "10Mbps", "rtt": "40ms", "buffer": "60kB", "loss_pattern": "periodic"}
_QUEUES = ("drop-tail", "codel", "fq-codel", "pie", "dualpi2", "red", "cake")


def _lost(path, duration):
    """Return how many datagrams of 3 Mbit/s were sent and lost."""
    udp = {"transport": "udp", "rate": "3Mbps"}
    table = {"path": {"loss_pattern": "periodic", **path}, "flows": [udp], "duration": duration}
    result = tc.run({**table, "warmup": "0s"}, progress=False)
    link = result.links["path"].forward
    return link.packets, link.random_losses


def test_periodic_loss_goes_on_where_a_step_says_the_same_again():
    steps = [[f"{moment / 10:g}s", "2%"] for moment in range(1, 300)]
    packets, lost = _lost({"loss": "2%"}, "30s")
    assert lost == packets // 50
    assert _lost({"loss": "2%", "loss_steps": steps}, "30s") == (packets, lost)


def test_periodic_loss_that_changes_each_second_has_its_mean():
    """375 packets of 0.1 % and of 0.15 % in turn: neither second has a whole loss."""
    values = ("0.15%", "0.1%")
    steps = [[f"{second}s", values[(second - 1) % 2]] for second in range(1, 60)]
    packets, lost = _lost({"loss": "0.1%", "loss_steps": steps}, "60s")
    assert abs(lost - 0.00125 * packets) <= 1


def _values(path, **keys):
    flows = [{"cc": "cubic"}, {"transport": "udp", "rate": "1Mbps"}]
    experiment = {"path": {**_PATH, **path}, "flows": flows, "duration": "2s", **keys}
    return tc.run(experiment, progress=False).dataset.drop_vars(["events"], errors="ignore")


@pytest.mark.parametrize("pattern", ["periodic", "random"])
@pytest.mark.parametrize("queue", _QUEUES)
def test_steps_to_the_same_values_change_no_result(queue, pattern):
    """Nothing begins anew: rates, queues, their random numbers, loss, policers, delays."""
    moments = [f"{moment}ms" for moment in range(7, 2000, 7)]
    path = {"queue": queue, "loss": "1%", "loss_pattern": pattern, "jitter": "1ms"}
    path["policer"] = {"rate": "9Mbps", "burst": "30kB"}
    steps = {
        "rate_steps": [[moment, "10Mbps"] for moment in moments],
        "loss_steps": [[moment, "1%"] for moment in moments],
        "buffer_steps": [[moment, "60kB"] for moment in moments],
        "rtt_steps": [[moment, "40ms"] for moment in moments],
        "handover": "in-order",
    }
    plain, stepped = _values(path), _values({**path, **steps})
    for name, values in plain.data_vars.items():
        if values.dtype.kind in "if":
            np.testing.assert_allclose(stepped[name], values, rtol=1e-9, err_msg=name)


def test_an_outage_cuts_both_directions():
    """Uploads, downloads and pings stand still, and go on afterwards."""
    udp = {"transport": "udp", "rate": "1Mbps"}
    result = tc.run(
        {
            "path": {"rate": "10Mbps", "rtt": "40ms", "outages": [["2s", "4s"]]},
            "flows": [{**udp, "direction": way} for way in ("up", "down")],
            "pings": [{"interval": "100ms"}],
            "duration": "6s",
            "warmup": "0s",
            "probe_interval": "100ms",
        },
        progress=False,
    )  # fmt: skip
    goodput = result["flow_goodput_series"]
    cut = (result["time"] > 2.2) & (result["time"] <= 4.0)
    assert (goodput[:, cut] == 0).all()
    assert (goodput[:, ~cut].mean(axis=1) > 0.8e6).all()
    lost = [getattr(result.links["path"], way).random_losses for way in ("forward", "reverse")]
    assert lost[0] == pytest.approx(lost[1], abs=25)
    ping = result.to_dict()["pings"][0]
    assert ping["ping_sent"] - ping["ping_received"] == pytest.approx(20, abs=1)


def test_what_a_link_loses_after_an_outage_without_end():
    result = tc.run(
        {"path": {"rate": "10Mbps", "rtt": "20ms", "outages": [["1s"]]}, "duration": "3s"},
        progress=False,
    )
    series = result["flow_goodput_series"][0]
    assert series[result["time"] > 1.2].max() == 0
    again = tc.Experiment.parse(result.experiment.table())
    assert again == result.experiment
    assert again.table()["path"]["outages"] == [["1s"]]
