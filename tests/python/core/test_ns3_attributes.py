# SPDX-License-Identifier: GPL-2.0-only
"""Every attribute of ns-3's congestion controls can be set to both ends of what is offered.

ns-3 checks little of what its attributes allow: beyond it, a run may abort the process, never
end, or go on with numbers of no meaning. Runs here are processes of their own, so that the test can
tell which.
"""

from __future__ import annotations

import multiprocessing

import pytest

import tunnelcc as tc
from tunnelcc import core

LONGEST = 60  # s; a run takes a fraction of one
MOST_PACING = 1e14  # bit/s, what ns-3's operations are told to stay below
FORK = multiprocessing.get_context("fork")
# Losses, a queue that overflows, a queue that grows and grows, and round trips that are long.
PATHS = (
    {"rate": "20Mbps", "rtt": "20ms", "loss": "0.5%"},
    {"rate": "10Mbps", "rtt": "20ms"},
    {"rate": "2Mbps", "rtt": "10ms", "buffer": "1MB"},
    {"rate": "20Mbps", "rtt": "400ms", "loss": "0.1%"},
)


def _run(cc):
    for path in PATHS:
        experiment = tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="4s")
        result = tc.run(experiment, progress=False)
        (leg,) = result.carriers
        assert leg.payload_bytes > 0
        assert leg.pacing_rate.max() <= MOST_PACING


def _outcome(cc):
    process = FORK.Process(target=_run, args=(cc,))
    process.start()
    process.join(LONGEST)
    if process.is_alive():
        process.kill()
        process.join()
        return "never ends"
    return "runs" if process.exitcode == 0 else f"ends with {process.exitcode}"


def _ends(parameter):
    if parameter.kind == "switch":
        return False, True
    return parameter.choices or (parameter.minimum, parameter.maximum)


@pytest.mark.slow
@pytest.mark.parametrize("name", core.ns3_congestion_controls())
def test_both_ends_of_every_attribute_run(name):
    core.load()
    outcomes = {
        (item.name, value): _outcome({"name": name, item.name: value})
        for item in core.congestion_parameters(name)
        for value in _ends(item)
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
        ("ns3::TcpYeah", "Gamma", 0),  # a division by zero
        ("ns3::TcpYeah", "Phy", 0),  # another
        ("ns3::TcpYeah", "StcpAiFactor", 0),  # another
        ("ns3::TcpYeah", "Delta", 32),  # a shift of 32 bits by as many
        ("ns3::TcpYeah", "Epsilon", 32),  # another
        ("ns3::TcpBbr", "HighGain", -1),  # a negative pacing rate, which wraps around
        ("ns3::TcpBbr", "HighGain", 0),  # the inverse of nothing
        ("ns3::TcpBic", "Beta", 1e12),  # a window beyond 32 bits
        ("ns3::TcpCubic", "C", 0),  # a division by zero
        ("ns3::TcpHybla", "RRTT", 0.001),  # 2^(RTT/RRTT) segments
        ("ns3::TcpIllinois", "AlphaMin", 0),  # a division by zero
        ("ns3::TcpIllinois", "AlphaMax", 1e12),  # segments beyond 32 bits
        ("ns3::TcpIllinois", "BetaMin", -1),  # a threshold above the window
        ("ns3::TcpLedbat", "TargetDelay", 0),  # a division by zero
        ("ns3::TcpLedbat", "Gain", -1),  # a negative window
        ("ns3::TcpLedbat", "MinCwnd", 0),  # a window of nothing, by which it divides
        ("ns3::TcpLedbat", "BaseHistoryLen", 0),  # reads beyond the samples
        ("ns3::TcpVegas", "Beta", 0),  # a window of nothing, by which it divides
    ],
)
def test_values_that_ns3_cannot_take_are_refused_by_name(name, attribute, value):
    with pytest.raises(tc.ConfigError, match=attribute):
        _run({"name": name, attribute: value})


def test_an_enumeration_is_set_by_name():
    cc = {"name": "ns3::TcpWestwoodPlus", "FilterType": "None"}
    assert tc.Flow(cc=cc).cc.parameters == {"FilterType": "None"}
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
