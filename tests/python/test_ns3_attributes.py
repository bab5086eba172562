# SPDX-License-Identifier: GPL-2.0-only
"""Every attribute of ns-3's congestion controls can be set to both ends of what is offered.

ns-3 checks little of what its attributes allow: beyond it, a run may abort the process or never
end. Runs here are processes of their own, so that the test can tell which.
"""

from __future__ import annotations

import multiprocessing

import pytest

import tunnelcc as tc
from tunnelcc import core

LONGEST = 60  # s; a run takes a fraction of one
FORK = multiprocessing.get_context("fork")


def _run(cc):
    path = tc.Path(rate="20Mbps", rtt="20ms", loss="0.5%")
    experiment = tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="5s")
    tc.run(experiment, progress=False)


def _outcome(cc):
    process = FORK.Process(target=_run, args=(cc,))
    process.start()
    process.join(LONGEST)
    if process.is_alive():
        process.kill()
        process.join()
        return "never ends"
    return "runs" if process.exitcode == 0 else f"ends with {process.exitcode}"


@pytest.mark.slow
@pytest.mark.parametrize("name", core.ns3_congestion_controls())
def test_both_ends_of_every_attribute_run(name):
    core.load()
    outcomes = {
        (item.name, value): _outcome({"name": name, item.name: value})
        for item in core.congestion_parameters(name)
        for value in (item.minimum, item.maximum)
    }
    assert set(outcomes.values()) <= {"runs"}, outcomes


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("ns3::TcpHybla", "RRTT", 0),  # a division by zero
        ("ns3::TcpCubic", "Beta", 0.1),  # a loop without end
        ("ns3::TcpCubic", "Beta", 1),  # a division by zero
        ("ns3::TcpVegas", "Alpha", 2**32),  # beyond 32 bits
        ("ns3::TcpBic", "SmoothPart", 0),  # refused by ns-3 itself
    ],
)
def test_values_that_ns3_cannot_take_are_refused_by_name(name, attribute, value):
    with pytest.raises(tc.ConfigError, match=attribute):
        _run({"name": name, attribute: value})


@pytest.mark.parametrize("value", ["None", 0])
def test_an_enumeration_is_set_by_name_or_number(value):
    cc = {"name": "ns3::TcpWestwoodPlus", "FilterType": value}
    assert tc.Flow(cc=cc).cc.parameters == {"FilterType": 0}
    unfiltered, filtered = (
        tc.run(
            tc.Experiment(
                path=tc.Path(rate="20Mbps", rtt="40ms", loss="0.5%"),
                flows=[tc.Flow(cc=choice)],
                duration="10s",
            ),
            progress=False,
        )
        for choice in (cc, "ns3::TcpWestwoodPlus")
    )
    assert unfiltered.digests() != filtered.digests()


def test_other_names_are_refused_with_those_there_are():
    with pytest.raises(tc.ConfigError, match="one of 'None', 'Tustin'"):
        tc.Flow(cc={"name": "ns3::TcpWestwoodPlus", "FilterType": "Kalman"})
