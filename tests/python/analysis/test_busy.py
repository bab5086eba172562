# SPDX-License-Identifier: GPL-2.0-only
"""A warning tells where the CPU of a tunnel's program decides, and whose costs these are."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.analysis import busy
from tunnelcc.network.resolve import resolve
from tunnelcc.scenario import Experiment
from tunnelcc.words import warnings


def _found(table, cpu):
    return list(busy.of_hosts(resolve(Experiment.parse(table)), cpu))


@pytest.mark.parametrize(
    ("tunnel", "cores", "use", "share"),
    [
        ("openvpn-udp", 2, 0.3, 0.6),  # one thread, so one of the cores
        ("openvpn-udp", 8, 0.03, None),
        ("openvpn-udp", 8, 0.1, 0.8),
        ("vtun", 1, 0.7, 0.7),
        ("vtun", 1, 0.25, None),  # just a quarter is not more
        ("vtun", 1, 0.26, 0.26),
        ("gost-relay-wss", 2, 0.2, None),  # relays use all cores
        ("gost-relay-wss", 2, 0.8, 0.8),
        ("none", 2, 0.9, None),  # applications alone
    ],
)
def test_programs_are_told_that_are_busy_for_more_than_a_quarter_of_the_time(
    tunnel, cores, use, share
):
    found = _found({"tunnel": tunnel, "hosts": {"cores": cores}}, {"client": use, "server": 0.0})
    assert [it.host for it in found] == (["client"] if share else [])
    assert [it.share for it in found] == ([pytest.approx(share)] if share else [])


def test_tunnels_on_one_host_have_a_thread_each():
    flows = [{"tunnel": "a"}, {"tunnel": "b"}]
    table = {"tunnels": {"a": "vtun", "b": "openvpn-udp"}, "flows": flows, "hosts": {"cores": 4}}
    (found,) = _found(table, {"client": 0.3})
    assert (found.programs, found.cores) == (("vtun", "openvpn-udp"), 2)
    assert found.share == pytest.approx(0.6)
    assert not _found(table, {"client": 0.12})


@pytest.mark.parametrize(("app_cost", "threads"), [(0, 1), (0.5, 2)])
def test_applications_that_cost_cpu_time_have_a_thread_too(app_cost, threads):
    """Of four cores, 0.3 are 1.2 threads' time, for the program alone or for both."""
    table = {"tunnel": "openvpn-udp", "hosts": {"cores": 4, "app_cost": app_cost}}
    (found,) = _found(table, {"client": 0.3})
    assert (found.cores, found.has_apps) == (threads, threads == 2)
    assert found.share == pytest.approx(1.2 / threads)


@pytest.mark.words
@pytest.mark.parametrize(
    ("tunnel", "profile", "machine"),
    [
        ("openvpn-udp", None, "the profile reference-host"),
        ("openvpn-udp", "ethudp-paper", "the profile ethudp-paper"),
        ("gost-relay-wss", None, "the machine on which gost-relay-wss was measured"),
        ("gost-relay-wss", "reference-host", "the profile reference-host"),
    ],
)
def test_the_warning_names_program_host_machine_and_keys(tunnel, profile, machine):
    hosts = {"profile": profile} if profile else {}
    told = warnings.cpu(_found({"tunnel": tunnel, "hosts": hosts}, {"server": 0.9}))
    program = tunnel if profile is None else f"{tunnel} with the applications"
    for part in (f"{program} on server", machine, "hosts.profile", "hosts.speed", "hosts.cores"):
        assert part in told


@pytest.mark.words
@pytest.mark.parametrize("tunnel", ["openvpn-udp", "openvpn-tcp"])
def test_openvpn_at_a_gigabit_is_warned_of(tunnel):
    # Ordinary servers carry 702 to 730 Mbit/s over UDP and 412 over TCP where the reference profile
    # carries nearly all of the link.
    table = {"path": {"rate": "1Gbps", "rtt": "16ms"}, "tunnel": tunnel, "flows": {"cc": "cubic"}}
    result = tc.run(Experiment.parse({**table, "duration": "2s", "warmup": "1s"}), progress=False)
    use = {name: host.cpu for name, host in zip(result.host_names, result.hosts, strict=True)}
    assert result.goodput > 700e6
    assert tunnel in warnings.cpu(busy.of_hosts(result.network, use))


def test_nothing_is_said_where_the_cpu_does_not_matter():
    assert warnings.cpu(_found({"tunnel": "wireguard"}, {"client": 0.1, "server": 0.1})) == ""
