# SPDX-License-Identifier: GPL-2.0-only
"""The tunnels of the catalogue: valid, sourced, and on the wire what was captured."""

from __future__ import annotations

import itertools
import json
import re

import pandas as pd
import pytest
from pydantic import TypeAdapter

import tunnelcc as tc
from helpers import edited_entry
from tunnelcc import catalog
from tunnelcc import specification as spec
from tunnelcc.catalog.layers import PACKET_LAYERS, PacketLayers, Surroundings
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.schema import tag_of
from tunnelcc.store import runfile
from tunnelcc.sweeps import export

BUILT_IN = catalog.names()
RELAYS = [name for name in BUILT_IN if isinstance(catalog.load(name), RelayEntry)]

# IP bytes per application byte of full segments (MSS 1448), computed from the captured frames.
IDEAL_IP_BYTES = {
    ("gost-relay-ws", "to_server"): 1.037934867,
    ("gost-relay-ws", "to_client"): 1.036038056,
    ("gost-relay-wss", "to_server"): 1.043498845,
    ("gost-relay-wss", "to_client"): 1.038124548,
}
# Writes of one 32 KiB message, captured.
MESSAGE_WRITES = {
    ("gost-relay-ws", "to_server"): [4104] * 8,
    ("gost-relay-ws", "to_client"): [32772],
    ("gost-relay-wss", "to_server"): [4126] * 8,
    ("gost-relay-wss", "to_client"): [4108, 16406, 12324],
}


def test_the_gost_relays_are_there():
    assert {"gost-relay-ws", "gost-relay-wss"} <= set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_entry_is_valid_and_sourced(name):
    entry = catalog.load(name)
    assert entry.name == name
    settings = list(catalog.settings(entry))
    assert len(settings) >= 5
    for key, value, label, source in settings:
        assert value, key
        assert label in catalog.LABELS
        assert len(source) > 5, key


@pytest.mark.parametrize(("name", "direction"), MESSAGE_WRITES)
def test_messages_are_written_as_captured(name, direction):
    layers = getattr(catalog.load(name), direction)
    writes = spec.layer_wire_bytes(layers, 32768, 2**20)
    assert writes == MESSAGE_WRITES[name, direction]
    ratio = sum(writes) / 32768 * 1500 / 1448
    assert ratio == pytest.approx(IDEAL_IP_BYTES[name, direction], rel=1e-8)


def test_small_frames_have_small_headers():
    # Relay request 11 and iperf3's cookie 37: 6 + 48 bytes captured; 7 for one byte downwards.
    up = catalog.load("gost-relay-ws").to_server
    down = catalog.load("gost-relay-ws").to_client
    assert spec.layer_wire_bytes(up, 11 + 37) == [54]
    assert spec.layer_wire_bytes(down, 4 + 1) == [7]


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("gost-relay-ws", [((186,), (129,))]),
        ("gost-relay-wss", [((1483,), (1887,)), ((64, 208), (151,))]),
    ],
)
def test_handshakes_as_captured(name, turns):
    entry = catalog.load(name)
    assert isinstance(entry, RelayEntry)
    assert [(turn.client, turn.server) for turn in entry.handshake] == turns
    assert (entry.request.bytes, entry.response.bytes) == (11, 4)


@pytest.mark.parametrize("name", [name for name in RELAYS if name != "sdwan-tcp-opt"])
def test_cpu_costs_are_nearly_flat_in_the_number_of_streams(name):
    for cost in (catalog.load(name).cpu.to_server, catalog.load(name).cpu.to_client):
        sums = [one + other for one, other in zip(cost.client, cost.server, strict=True)]
        assert max(sums) < 1.3 * min(sums)


@pytest.mark.parametrize(
    ("name", "mode", "expected"),
    [
        ("openvpn-udp", "aes-256-cbc", ["aes-256-cbc-encrypt", "hmac-key", "hmac-sha1"]),
        ("tinc", "aes-256-cbc", ["aes-256-cbc-encrypt", "hmac-init", "hmac-sha256"]),
        ("openvpn-udp", "aes-256-gcm", ["aes-256-gcm-encrypt"]),
        ("ethudp", "aes-128-cbc", ["cipher-init", "aes-128-cbc-encrypt"]),
    ],
)
def test_contexts_are_kept_or_made_as_the_programs_do(name, mode, expected):
    entry = catalog.load(name)
    assert list(entry.operations(mode, True)[1:-1]) == expected
    backwards = {it.replace("encrypt", "decrypt") for it in expected}
    assert set(entry.operations(mode, False)[1:-1]) == backwards


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('kind = "relay"\n', "", "kind"),
        ('kind = "relay"', 'kind = "relai"', "kind"),
        ('kind = "relay"', "kind = []", "kind"),
        ("bytes = 32768", "bytes = 0", "copy_buffer"),
        ("bytes = 32768", 'bytes = "32ms"', "copy_buffer.bytes"),
        ("[copy_buffer]", "[copybuffer]", "copybuffer"),
        ("client = [186]", "client = [-1]", "handshake.0.client"),
        ("client = [186]", 'client = "x"', "handshake.0.client"),
        ('layer = "websocket"', 'layer = "websockets"', "to_server.0.layer"),
        ("masked = true", "overhead = 22", "to_server.0.overhead"),
        ("max_payload = 4096", "max_payload = -1", "to_server.0.max_payload"),
        ("mss = 65483", "mss = 0", "loopback.link.mss"),
        ('rtt = "50us"', 'rtt = "50"', "loopback.link.rtt"),
        ('send_buffer = "2626560B"', "send_buffer = 0", "loopback.sending.send_buffer"),
        ("streams = [1, 16, 64]", "streams = [1, 64, 16]", "cpu.to_client.streams"),
        ("streams = [1, 16, 64]", "streams = []", "cpu.to_client.streams"),
        ("streams = [1, 16, 64]", "streams = [1, 16]", "cpu.to_client.client"),
        ("client = [3.20, 2.60, 3.23]", "client = [-1, 0, 0]", "cpu.to_client.client"),
        ('label = "measured"', 'label = "guessed"', "label"),
        ("nodelay = true", 'nodelay = "maybe"', "carrier.nodelay"),
        ("nodelay = true", 'nodelay = true\nwrites = "often"', "carrier.writes"),
        ("summary = ", "summery = ", "summery"),
        ("[carrier]", "[carrier", "tunnel"),
    ],
)
def test_broken_entries_are_refused(tmp_path, before, after, key, refusal):
    file = edited_entry(tmp_path, "gost-relay-ws", before, after)
    told = refusal({"tunnel": file})
    assert key in told
    assert file in told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('asks = "1MiB"\n', "", "socket.queue: expected a number of packets, or asks"),
        ('asks = "1MiB"', 'asks = "1MiB"\nqueue = 10', "socket.asks = 1048576: expected no value"),
        ('asks = "1MiB"\npacket = 2304', 'asks = "1MiB"', "without packet"),
    ],
)
def test_a_socket_has_a_queue_or_asks_for_a_buffer(tmp_path, before, after, told, refusal):
    assert told in refusal({"tunnel": edited_entry(tmp_path, "udpspeeder", before, after)})


@pytest.mark.parametrize(("name", "protocol"), [("gost-quic", "quic"), ("finalspeed", "rudp")])
def test_carriers_with_streams_or_connections_of_their_own_take_no_mux(
    tmp_path, name, protocol, refusal
):
    kcptun, own = (catalog.path_of(it).read_text() for it in ("kcptun", name))
    mux = kcptun[kcptun.index("[mux]") : kcptun.index("[loopback.link]")]
    file = tmp_path / "mine.toml"
    file.write_text(f"{own}\n{mux}")
    told = refusal({"tunnel": str(file)})
    assert re.search(rf"mux = .*: expected no value.* carrier\.protocol is {protocol}", told)


@pytest.mark.parametrize(
    ("layer", "parameters"),
    [
        ("aead", {"cipher": "chacha20-poly1305", "nonce": 2}),
        ("cbc", {"iv": 16}),
        ("header", {"bytes": 5}),
        ("hmac", {"digest": "sha1", "bytes": 20}),
        ("vtun", {}),
    ],
)
def test_a_layer_of_packets_wraps_a_stream_in_frames(layer, parameters):
    around = Surroundings(1500, 1500)
    (inside,) = TypeAdapter(PacketLayers).validate_python([{"layer": layer, **parameters}])
    sizes = [inside.size(it, around) for it in (1000, 500)]
    cited = {"label": "specification", "source": "an example"}
    relay = catalog.load("gost-relay-ws").model_dump()
    frames = {"layer": layer, "max_payload": 1000, **parameters, **cited}
    entry = RelayEntry.parse({**relay, "to_server": [frames], "to_client": []})
    assert spec.layer_wire_bytes(entry.to_server, 2500) == [sizes[0], sizes[0], sizes[1]]


WSS = (catalog.DIRECTORY / "gost-relay-wss.toml").read_text()
ETHUDP = (catalog.DIRECTORY / "ethudp.toml").read_text()
PLAIN = 'layers = ["ethernet", "udp", "ip"]'


@pytest.mark.parametrize(
    ("text", "before", "after", "key"),
    [
        (WSS, "ramp_bytes = 1186", "ramp_bytes = 0", "to_server.1.ramp_bytes"),
        (WSS, "ramp_bytes = 1186", "ramp_bytes = 1", "to_server.1.ramp_bytes"),
        (WSS, "ramp_until = 131072", "ramp_until = 0", "to_server.1.ramp_bytes"),
        (WSS, "max_payload = 16384", "max_payload = 1", "to_server.1.max_payload"),
        (WSS, "overhead = 22\n", "", "to_server.1.overhead"),
        (ETHUDP, "mtu = 1500", "mtu = 15000", "device.mtu"),
        (WSS, "bytes = 32768", "bytes = 2147483647", "copy_buffer.bytes"),
        (ETHUDP, PLAIN, 'layers = ["lz4", "lz4", "udp", "ip"]', "modes.plain.layers.1"),
        (ETHUDP, PLAIN, 'layers = ["ip", "lz4"]', "modes.plain.layers.1"),
        (ETHUDP, PLAIN, 'layers = ["ip", "udp"]', "modes.plain.layers.1"),
        (
            ETHUDP,
            PLAIN,
            'layers = ["ethernet", { layer = "cbc" }, "lz4", "udp", "ip"]',
            "modes.plain.layers.2",
        ),
        (ETHUDP, PLAIN, 'layers = ["wireguard", "lzo", "udp", "ip"]', "modes.plain.layers.1"),
        (ETHUDP, '["tun-read", "udp-send"]', "[[]]", "cpu.encapsulate"),
        (
            ETHUDP.replace(PLAIN, 'layers = [{ layer = "header", bytes = 2000 }, "udp", "ip"]'),
            "[socket]",
            '[clamp]\nfit = 576\nlabel = "inferred"\nsource = "a test"\n\n[socket]',
            "clamp",
        ),
    ],
)
def test_what_would_never_end_or_makes_no_sense_is_refused(
    tmp_path, text, before, after, key, refusal
):
    assert before in text
    file = tmp_path / "broken.toml"
    file.write_text(text.replace(before, after, 1))
    assert key in refusal({"tunnel": str(file)})


DATAGRAM = (catalog.DIRECTORY / "wireguard.toml").read_text()
STREAM = (catalog.DIRECTORY / "vtun.toml").read_text()


@pytest.mark.parametrize(
    ("text", "layers", "key", "expected"),
    [
        (DATAGRAM, [], "layers = []", "a last layer that is a network's: ip"),
        (DATAGRAM, ["lz4"], "layers = ['lz4']", "a last layer that is a network's: ip"),
        (DATAGRAM, ["wireguard", "udp"], "layers.1 = 'udp'", "directly before the last layer"),
        (
            DATAGRAM,
            ["udp", "wireguard", "ip"],
            "layers.0 = 'udp'",
            "directly before the last layer",
        ),
        (DATAGRAM, ["udp", "udp", "ip"], "layers.0 = 'udp'", "directly before the last layer"),
        (DATAGRAM, ["gost-datagram", "udp", "ip"], "layers.0 = 'gost-datagram'", "wireguard"),
        (DATAGRAM, ["ssh-tun", "udp", "ip"], "layers.0 = 'ssh-tun'", "wireguard"),
        (DATAGRAM, ["tinc-tcp", "udp", "ip"], "layers.0 = 'tinc-tcp'", "wireguard"),
        (STREAM, ["vtun", "udp", "ip"], "layers.1 = 'udp'", "a layer of a stream tunnel: "),
        (STREAM, ["vtun", "ip"], "layers.1 = 'ip'", "a layer of a stream tunnel: "),
        (STREAM, ["esp"], "layers.0 = 'esp'", "a layer of a stream tunnel: "),
        (STREAM, ["wireguard"], "layers.0 = 'wireguard'", "a layer of a stream tunnel: "),
        (STREAM, ["vxlan"], "layers.0 = 'vxlan'", "a layer of a stream tunnel: "),
    ],
)
def test_layers_of_another_kind_of_tunnel_are_refused(tmp_path, text, layers, key, expected):
    file = tmp_path / "broken.toml"
    file.write_text(re.sub("(?m)^layers = .*", f"layers = {layers}", text, count=1))
    with pytest.raises(tc.ConfigError) as caught:
        tc.Experiment(tunnel=str(file))
    message = str(caught.value)
    assert f"modes.plain.{key}: expected " in message
    assert expected in message
    assert "broken.toml" in message


@pytest.mark.parametrize("name", ["wireguard", "vtun"])
def test_stacks_of_any_layers_are_refused_or_run(tmp_path, name):
    # Every stack of one or two layers around a packet, as far as it is accepted, carries a flow.
    kind = catalog.load(name).kind
    ending = ["udp", "ip"] if kind == "datagram" else []
    parameters = {
        "aead": 'cipher = "aes-256-gcm"', "ethudp-fragments": "mtu = 1500", "header": "bytes = 2",
        "hmac": 'digest = "sha1", bytes = 10',
    }  # fmt: skip
    names = [tag_of(layer)[1] for layer in PACKET_LAYERS]
    tables = {
        layer: "{ " + ", ".join(filter(None, (f'layer = "{layer}"', parameters.get(layer)))) + " }"
        for layer in names
    }
    accepted = 0
    for inside in ([], *([it] for it in names), *itertools.product(names, names)):
        stack = [*inside, *ending]
        layers = ", ".join(tables[it] for it in stack)
        file = tmp_path / f"{'-'.join(stack) or 'none'}.toml"
        text = DATAGRAM if kind == "datagram" else STREAM
        file.write_text(re.sub("(?m)^layers = .*", f"layers = [{layers}]", text, count=1))
        keys = {"tunnel": str(file), "flows": {"bytes": 3000}, "duration": "1s"}
        try:
            experiment = tc.Experiment(**keys)
        except tc.ConfigError as error:
            refused = str(error)
        else:
            accepted, refused = accepted + 1, ""
            if len(inside) < 2:
                assert tc.run(experiment).flows[0].total_bytes == 3000
        assert not refused or "modes.plain.layers" in refused
    assert 100 < accepted < 400


def test_a_file_of_ones_own(tmp_path):
    file = edited_entry(tmp_path, "gost-relay-ws", "bytes = 32768", "bytes = 65536")
    experiment = tc.Experiment(tunnel=file)
    assert spec.experiment_spec(experiment)["tunnels"][0]["copy_buffer"] == 65536
    assert catalog.load(str(file)).name == "mine"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("tunnel = 'openvpn-tcp'", True),
        ("tunnel = { name = 'openvpn-tcp', version = '0.1.0' }", True),
        ("tunnel = { name = 'openvpn-tcp', version = '0.2.0' }", False),
        ("tunnel = { name = 'openvpn-tcp', version = '0.10.0' }", False),
        ("flows = [{ tunnel = 'openvpn-tcp' }, {}]", True),
        ("tunnel = 'wireguard'", False),
    ],
)
def test_a_scenario_is_told_what_changed_in_its_entries_since(text, is_told, tmp_path, run):
    file = tmp_path / "old.toml"
    file.write_text(f"{text}\nduration = '200ms'\n")
    code, out, err = run("run", str(file), "--json")
    assert code == 0
    assert ("openvpn-tcp changed in 0.2.0: OpenVPN 2.7.6" in err) == is_told
    entries = {"wireguard": "0.1.0"} if "wireguard" in text else {"openvpn-tcp": "0.2.0"}
    assert json.loads(out)["entries"] == entries
    code, _, err = run("sweep", str(file), "--axis", "path.rtt=9ms", "--seeds", 1,
                       "--store", tmp_path / "runs")  # fmt: skip
    assert code == 0
    assert ("openvpn-tcp changed in 0.2.0" in err) == is_told


@pytest.mark.parametrize("command", ["sweep", "compare"])
def test_changes_are_told_of_each_tunnel_of_a_sweep(command, tmp_path, run):
    file = tmp_path / "old.toml"
    tunnels = ["none", "wireguard", "tinc", "openvpn-tcp"]
    axes = f"[sweep]\nseeds = 1\n'path.loss' = [0]\ntunnel = {tunnels}"
    file.write_text("duration = '200ms'\n" + (axes if command == "sweep" else ""))
    more = ["--tunnel", ",".join(tunnels), "--seeds", 1] if command == "compare" else []
    code, _, err = run(command, str(file), *more, "--store", tmp_path / "runs")
    assert code == 0
    assert err.count(" changed in ") == 2
    assert "tinc changed in 0.2.0" in err
    assert "openvpn-tcp changed in 0.2.0" in err


@pytest.mark.parametrize("suffix", [".nc", ".csv", ".parquet"])
def test_results_of_a_sweep_name_the_versions_of_entries(suffix, tmp_path, monkeypatch):
    tunnels = ["none", "tinc", {"name": "gost-relay-wss", "under": "wireguard"}]
    expected = {"", "tinc 0.2.0", "gost-relay-wss 0.1.0, wireguard 0.1.0"}
    found = tc.sweep({"duration": "200ms"}, {"tunnel": tunnels}, seeds=1, store=tmp_path, name="s",
                     progress=False)  # fmt: skip
    assert {*found["entries"].values.flat} == expected
    for name in ("tinc", "wireguard"):  # those that ran, and not those of now
        monkeypatch.setitem(catalog.load(name).changes, "9.0.0", "all")
    found = tc.open(tmp_path / "s")
    assert {*found["entries"].values.flat} == expected
    file = tmp_path / f"s{suffix}"
    export.write(found, file)
    if suffix == ".nc":
        read = tc.open(file)["entries"].values.flat
    else:
        frame = pd.read_csv(file) if suffix == ".csv" else pd.read_parquet(file)
        read = frame["entries"].fillna("")
    assert {*read} == expected


def test_a_stored_run_keeps_the_versions_of_its_entries(tmp_path, monkeypatch):
    experiment = tc.Experiment(tunnel="openvpn-tcp", duration="200ms")
    file = runfile.encode(experiment, tc.run(experiment, progress=False))
    entry = catalog.load("openvpn-tcp")
    monkeypatch.setitem(entry.changes, "9.0.0", "all")
    assert entry.version == "9.0.0"
    assert runfile.decode(file).to_dict()["entries"] == {"openvpn-tcp": "0.2.0"}
