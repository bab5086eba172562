# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel between two nodes of ns-3, as ``tunnelcc::TunnelHelper`` reads it."""

from __future__ import annotations

from tunnelcc import catalog
from tunnelcc.config import Path
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.scenario import Experiment
from tunnelcc.specification import network_spec
from tunnelcc.specification.captured import tunnel_packets
from tunnelcc.specification.parts import Spec, congestion, spec_text


def node_tunnel_spec(experiment: Experiment) -> Spec:
    """Return the first tunnel of ``experiment`` as the struct ``NodeTunnelSpec``.

    Sizes of its packets are those on a path with the experiment's ``path.mtu``; the nodes' own
    devices and routes replace the path. Raises ConfigError if there is no tunnel.
    """
    network = experiment.resolved
    spec = network_spec(network)
    numbers = [i for i, it in enumerate(network.tunnels) if it.hop is None]
    if not numbers:
        raise ConfigError(Problem("tunnel", MISSING, "a name of `tunnelcc list`"))
    number = numbers[0]
    if network.tunnels[number].keys.entry.kind == "quic-datagram":
        expected = "a tunnel of another kind: nodes of ns-3 have no datagrams of QUIC"
        raise ConfigError(Problem("tunnel", network.tunnels[number].keys.name, expected))
    placed = network.tunnels[number]
    flow = next(it for it in spec["flows"] if it["tunnel"] == number)
    sharing = placed.keys.entry.sharing(placed.keys.carriers)
    own = placed.keys.carrier_cc
    tunnel = _without_sockets(spec["tunnels"][number], placed)
    tcp = tunnel.get("carrier_tcp") or spec["tcp"][flow["tcp"]]
    return {
        "name": placed.keys.entry.name,
        "tunnel": tunnel,
        "packets": tunnel_packets(placed),
        "ip": placed.layer.versions.outer,
        "cc": congestion(own) if own else {},
        "nodelay": {"client": tcp["nodelay"], "server": tcp["server_nodelay"]},
        "carriers": {"flow": 0, "all": 1}[sharing] if isinstance(sharing, str) else sharing,
    }


def _without_sockets(tunnel: Spec, placed: ResolvedTunnel) -> Spec:
    """Let a relay pay for what it receives where it reads the carrier: nodes have own sockets."""
    if not tunnel.get("sockets"):
        return tunnel
    from tunnelcc.specification.relay import receiving_work

    entry = placed.keys.entry
    sent = {
        end: way | {"receive": receiving_work(placed, entry, end == "client")}  # type: ignore[arg-type]
        for end, way in tunnel["sent"].items()
    }
    return tunnel | {"sent": sent, "sockets": {}}


def node_tunnel_texts() -> dict[str, str]:
    """Return the text of each tunnel of the catalogue by name, but for those that need a key."""
    path = Path(rate="100Mbps", rtt="20ms")
    texts = {}
    for name in catalog.names():
        try:
            texts[name] = spec_text(node_tunnel_spec(Experiment(path=path, tunnel=name)))
        except ConfigError:
            continue
    return texts
