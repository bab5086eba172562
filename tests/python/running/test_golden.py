# SPDX-License-Identifier: GPL-2.0-only
"""Golden runs: results that stay the same in every bit until somebody means to change them.

After a change of the models that is meant to change results, raise MODEL_VERSION
(models/experiment/model-version.h): stored runs of the version before it are not mistaken for new
ones then. `pytest --update` writes the new results, and none under the version of the old ones. The
digests show in a review what changed, a new field of one kind no more than that kind's, and the
totals beside them by how much.
"""

from __future__ import annotations

import json

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.store import model_version

GOLDEN = ROOT / "tests" / "golden"

# The phase is a mechanism of its own, at the end.
PATH = {"rate": "50Mbps", "rtt": "40ms", "phase": "0"}
RUNS = {
    # Each congestion control on a path that loses nothing but by its queue.
    "bbr": {"path": PATH, "flows": {"cc": "bbr"}},
    "cubic": {"path": PATH, "flows": {"cc": "cubic"}},
    "reno": {"path": PATH, "flows": {"cc": "reno"}},
    # ns-3's own, through the adapter.
    "ns3-bbr": {"path": PATH, "flows": {"cc": "ns3::TcpBbr"}},
    "ns3-cubic": {"path": PATH, "flows": {"cc": "ns3::TcpCubic"}},
    # Recovery all the time; and ACKs that get lost.
    "bbr-5-percent-loss": {"path": {**PATH, "loss": "5%"}, "flows": {"cc": "bbr"}},
    "cubic-lossy-acks": {"path": {**PATH, "reverse_loss": "2%"}, "flows": {"cc": "cubic"}},
    # Flows that begin at different times and share a short queue.
    "shallow-buffer": {
        "path": {**PATH, "buffer": "20p"},
        "flows": [{"cc": "bbr", "count": 2}, {"cc": "cubic", "count": 2, "start": "1s"}],
    },
    # Queue disciplines, with ECN, cross traffic and a flow that stops.
    "codel": {"path": {**PATH, "buffer": "4bdp", "queue": "codel"}, "flows": {"cc": "cubic"}},
    "fq-codel": {
        "path": {**PATH, "buffer": "4bdp", "queue": "fq-codel"},
        "flows": [{"cc": "cubic", "count": 2}, {"cc": "bbr", "stop": "4s"}],
        "cross_traffic": [{"rate": "40Mbps", "on": "500ms", "off": "500ms"}],
        "tcp": {"ecn": True},
    },
    # Everything random on a path at once.
    "jitter-bursts-policer": {
        "path": {
            **PATH,
            "gilbert_elliott": {"p": "0.1%", "r": "30%"},
            "policer": {"rate": "40Mbps", "burst": "100kB"},
            "jitter": "1ms",
            "jitter_reorders": True,
        },
        "flows": {"cc": "bbr"},
    },
    # The other queue disciplines.
    "pie": {"path": {**PATH, "buffer": "4bdp", "queue": "pie"}, "flows": {"cc": "reno"}},
    "red": {"path": {**PATH, "buffer": "4bdp", "queue": "red"}, "flows": {"cc": "cubic"}},
    "l4s": {
        "path": {**PATH, "buffer": "4bdp", "queue": "dualpi2"},
        "flows": [{"cc": "prague"}, {"cc": "cubic"}],
        "tcp": {"ecn": True},
    },
    # Flows that end: the last segments, and FIN.
    "finite-flows": {"path": PATH, "flows": {"cc": "cubic", "count": 8, "bytes": "2MB"}},
    # ACKs that queue; no timestamps.
    "slow-reverse-path": {
        "path": {**PATH, "reverse_rate": "500kbps", "framing": "ethernet"},
        "flows": {"cc": "cubic"},
        "tcp": {"timestamps": False},
    },
    # A relay: three connections, and what the relays do.
    "relay-ws": {"path": {**PATH, "loss": "1%"}, "flows": {"cc": "bbr"}, "tunnel": "gost-relay-ws"},
    # Packets in datagrams that are larger than the MTU.
    "ethudp-fragments": {
        "path": {**PATH, "loss": "1%"},
        "flows": {"cc": "cubic", "count": 2},
        "tunnel": {"name": "ethudp", "mode": "aes-128-cbc"},
    },
    # Packets in a connection.
    "vtun-tcp-over-tcp": {
        "path": {**PATH, "loss": "1%"},
        "flows": {"cc": "cubic", "count": 2},
        "tunnel": {"name": "vtun", "cc": "bbr"},
    },
    # Data towards the client, an older kernel, little memory.
    "relay-wss-down": {
        "path": PATH,
        "flows": {"cc": "cubic", "count": 4},
        "tunnel": {"name": "gost-relay-wss", "cc": "bbr"},
        "direction": "down",
        "hosts": {"kernel": "5.10", "memory": "1GB"},
    },
    # Many streams in one carrier, whose frames a full window holds back.
    "relay-mwss-shared-carrier": {
        "path": {**PATH, "loss": "1%"},
        "flows": {"cc": "cubic", "count": 4},
        "tunnel": "gost-relay-mwss",
    },
    # KCP with Reed-Solomon parity: losses that are repaired, and those that are sent again.
    "kcptun": {
        "path": {**PATH, "loss": "5%"},
        "flows": {"cc": "cubic", "count": 2},
        "tunnel": "kcptun",
    },
    # RUDP, which sends at a fixed rate.
    "finalspeed": {
        "path": {**PATH, "loss": "5%"},
        "flows": {"cc": "cubic"},
        "tunnel": {"name": "finalspeed", "rate": "20Mbps"},
    },
    # QUIC: quic-go's Reno, and streams that share it; a rate that losses raise.
    "gost-quic": {
        "path": {**PATH, "loss": "1%", "reverse_loss": "1%"},
        "flows": {"cc": "cubic", "count": 3},
        "tunnel": "gost-quic",
    },
    "quic-beside-tcp": {
        "path": PATH,
        "flows": [{"cc": "reno", "transport": "quic"}, {"cc": "reno"}],
    },
    "hysteria2-brutal": {
        "path": {**PATH, "loss": "5%"},
        "flows": {"cc": "cubic"},
        "tunnel": {"name": "hysteria2", "rate": "20Mbps"},
    },
    # Parity for packets of a tunnel.
    "sdwan-fec": {"path": {**PATH, "loss": "1%"}, "flows": {"cc": "bbr"}, "tunnel": "sdwan-fec"},
    # Two relays one after the other, each with its congestion control.
    "chain-over-wireguard": {
        "path": {**PATH, "loss": "0.5%"},
        "flows": {"cc": "cubic", "count": 2},
        "tunnel": {"name": "gost-relay-ws", "cc": "bbr", "chain": [{}], "under": "wireguard"},
    },
    # Two paths at once, one of which is cut.
    "mptcp": {
        "network": {
            "links": {
                "a": {
                    "between": ["client", "x"],
                    "rate": "20Mbps",
                    "rtt": "20ms",
                    "loss_steps": [["2s", "100%"]],
                },
                "a-far": {"between": ["x", "server"], "rate": "1Gbps", "rtt": "1ms"},
                "b": {"between": ["client", "y"], "rate": "5Mbps", "rtt": "60ms", "loss": "0.1%"},
                "b-far": {"between": ["y", "server"], "rate": "1Gbps", "rtt": "1ms"},
            }
        },
        "flows": {"from": "client", "to": "server", "mptcp": {"paths": ["a", "b"]}},
        "path": {"phase": "0"},
    },
    # Two bottlenecks, a flow over both and one over each, and a tunnel for one flow.
    "parking-lot": {
        "path": PATH,
        "network": {
            "links": {
                "first": {"between": ["a", "b"], "rate": "50Mbps", "rtt": "20ms"},
                "second": {"between": ["b", "c"], "rate": "30Mbps", "rtt": "20ms"},
            }
        },
        "flows": [
            {"cc": "bbr", "from": "a", "to": "c"},
            {"cc": "cubic", "from": "a", "to": "b", "tunnel": "wireguard"},
            {"cc": "reno", "from": "b", "to": "c"},
        ],
    },
    # The network card collects segments, so that an ACK is for several.
    "gro": {"path": {**PATH, "loss": "0.1%"}, "flows": {"cc": "cubic"}, "hosts": {"gro": "1ms"}},
    # RTTs that the seed draws: the path's, and that of a flow with one of its own.
    "phases": {
        "path": {**PATH, "phase": "drawn"},
        "flows": [{"cc": "bbr"}, {"cc": "cubic"}, {"cc": "cubic", "rtt": "60ms"}],
    },
}


def summary(result: tc.Result) -> dict:
    """What changed, by its digests, and the totals by which a person sees by how much."""
    totals = result.to_dict()
    return {
        "models": int(model_version().partition("+")[0]),
        "digests": result.digests(),
        "flow_goodput": [flow["flow_goodput"] for flow in totals["flows"]],
        "path_segments": totals["metrics"]["path_segments"],
        "path_retransmits": totals["metrics"]["path_retransmits"],
        "drops": totals["metrics"]["drops"],
        "queue_delay_mean": totals["metrics"]["queue_delay_mean"],
    }


def results(summary: dict) -> dict:
    return {key: value for key, value in summary.items() if key != "models"}


@pytest.mark.parametrize("name", RUNS)
def test_golden(name, request):
    experiment = tc.Experiment(**{"duration": "5s", "warmup": "1s", **RUNS[name]})
    file = GOLDEN / f"{name}.json"
    now = summary(tc.run(experiment))
    update = request.config.getoption("--update")
    before = json.loads(file.read_text()) if file.exists() or not update else {}
    if update and results(now) != results(before):
        assert now["models"] != before.get("models"), "results changed: raise MODEL_VERSION"
        file.write_text(json.dumps(now, indent=1) + "\n")
    else:
        assert results(now) == results(before)


def test_no_golden_file_is_left_over():
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(RUNS)
