# SPDX-License-Identifier: GPL-2.0-only
"""Where the numbers of a resolved network come from."""

from __future__ import annotations

import tunnelcc as tc
from tunnelcc.network import origins
from tunnelcc.network.resolve import resolve
from tunnelcc.results import fair

EXACT = {"phase": "0"}


def _of_links(**table) -> dict[tuple[str, str], dict[str, origins.Number]]:
    network = resolve(tc.Experiment.parse(table))
    return {(name, one): numbers for (name, one, _), numbers in origins.links(network)}


def test_numbers_of_a_path():
    path = {**EXACT, "rate": "10Mbps", "rtt": "80ms", "reverse_loss": "1%"}
    there, back = _of_links(path=path).values()
    assert there["rate"] == ("10Mbps", "stated", "path.rate")
    assert there["delay"] == ("40ms", "derived", "path.rtt / 2")
    assert there["buffer"] == ("100kB", "derived", "1bdp, default")
    assert there["loss"] == ("0%", "default", "")
    assert back["rate"] == ("no limit", "default", "")
    assert back["loss"] == ("1%", "stated", "path.reverse_loss")
    stated = _of_links(path={"buffer": "64KiB"})["path", "client"]["buffer"]
    assert stated == ("64KiB", "stated", "path.buffer")
    packets = _of_links(path={"buffer": "20p"})["path", "client"]["buffer"]
    assert packets == ("20 packets", "stated", "path.buffer")


def test_numbers_of_a_path_have_what_the_seed_draws():
    there, _ = _of_links(path={"rate": "10Mbps", "rtt": "80ms"}, seed=4).values()
    network = resolve(tc.Experiment(path={"rate": "10Mbps", "rtt": "80ms"}, seed=4))
    assert there["delay"].why == "path.rtt / 2, phase"
    assert 40 < float(there["delay"].text.removesuffix("ms")) < 40.4
    rtt = origins.flow(network, network.kinds[0])["RTT"]
    assert (rtt.origin, rtt.source) == ("derived", "path.rtt, phase")
    assert rtt.text.startswith("80ms + 7")


def test_numbers_of_a_network_name_the_table_that_states_them():
    network = {
        "shape": "dumbbell", "size": 2, "access": {**EXACT, "rtt": "2ms"},
        "links": {"bottleneck": {"reverse": {"queue": "codel"}}, "client1": {"rate": "50Mbps"}},
    }  # fmt: skip
    found = _of_links(path={**EXACT, "rtt": "20ms"}, network=network)
    there, back = found["bottleneck", "left"], found["bottleneck", "right"]
    assert there["delay"].source == "path.rtt / 2"
    assert back["rate"] == ("100Mbps", "derived", "that of the other direction")
    assert back["queue"] == ("codel", "stated", "network.links.bottleneck.reverse.queue")
    assert found["client1", "client1"]["rate"].source == "network.links.client1.rate"
    assert found["client1", "client1"]["delay"] == ("1ms", "derived", "network.access.rtt / 2")
    assert found["client2", "client2"]["rate"] == ("no limit", "default", "")


def test_numbers_of_relays():
    chain = {"name": "gost-relay-ws", "chain": [{"rtt": "10ms"}]}
    hop = _of_links(path=EXACT, tunnel=chain)["hop2", "relay1"]
    assert (hop["delay"].source, hop["rate"].origin) == ("tunnel.chain.0.rtt / 2", "default")
    tunnel = {"name": "gost-relay-ws", "relays": 2}
    parts = _of_links(path={**EXACT, "rtt": "60ms"}, tunnel=tunnel)
    assert parts["hop3", "relay2"]["delay"] == ("10ms", "derived", "path.rtt / 6")


def test_numbers_of_hosts():
    hosts = {"memory": "1GiB", "server": {"kernel": "5.10", "tcp_wmem": "8MiB"}}
    found = dict(origins.hosts(resolve(tc.Experiment.parse({"hosts": hosts}))))
    assert found["client"]["kernel"] == ("6.18", "default", "")
    assert found["server"]["kernel"] == ("5.10", "stated", "hosts.server.kernel")
    assert found["server"]["send buffer"].source == "hosts.server.tcp_wmem, kernel 5.10"
    assert found["client"]["receive buffer"] == ("8MiB", "derived", "hosts.memory, kernel 6.18")


def test_numbers_of_flows_and_tunnels():
    table = {
        "path": {**EXACT, "rate": "8Mbps", "rtt": "50ms", "mtu": 1400}, "tunnel": "wireguard",
        "flows": [{"rtt": "100ms"}, {"tunnel": "none"}],
    }  # fmt: skip
    network = resolve(tc.Experiment.parse(table))
    inside, plain = (origins.flow(network, it) for it in network.kinds)
    assert inside["RTT"] == ("100ms", "stated", "flows.0.rtt")
    assert inside["BDP"].text == "100kB"
    assert inside["segment"] == ("1368B", "derived", "tunnel MTU")
    assert plain["RTT"] == ("50ms", "stated", "path.rtt")
    assert plain["segment"] == ("1348B", "derived", "path MTU")
    numbers = origins.tunnel(network.tunnels[0])
    assert numbers["MTU"] == ("1420B", "derived", "entry, path MTU")


def test_buffers_of_carriers():
    asked = {"name": "openvpn-tcp", "send_buffer": "64KiB", "receive_buffer": "32KiB"}
    network = resolve(tc.Experiment(tunnel=asked))
    numbers = origins.tunnel(network.tunnels[0])
    # Linux gives twice as much.
    assert numbers["send buffer"] == ("128KiB", "derived", "tunnel.send_buffer")
    assert numbers["receive window"] == ("40KiB", "derived", "tunnel.receive_buffer")
    network = resolve(tc.Experiment(tunnel="openvpn-tcp", hosts={"tcp_wmem": "64KiB"}))
    numbers = origins.tunnel(network.tunnels[0])
    assert numbers["send buffer"] == ("64KiB", "derived", "sender")
    network = resolve(tc.Experiment(tunnel="wireguard"))
    assert "send buffer" not in origins.tunnel(network.tunnels[0])


def test_the_fair_shares_are_those_of_a_run():
    table = {
        "path": {"rate": "10Mbps", "rtt": "20ms"}, "network": {"shape": "dumbbell", "size": 3},
        "flows": [{"count": 2}, {"rate": "1Mbps"}], "cross_traffic": [{"rate": "2Mbps"}],
        "start_jitter": 0, "duration": "1s",
    }  # fmt: skip
    result = tc.run(table, progress=False)
    shares = fair.shares(result.network)
    assert shares[2] == 1e6
    for share, rate in zip(shares, result.dataset.flow_fair_rate.values, strict=True):
        assert abs(share / rate - 1) < 1e-3
