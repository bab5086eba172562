# SPDX-License-Identifier: GPL-2.0-only
"""Programs by the names that people know: each is an entry with the keys that differ."""

from __future__ import annotations

import json

import pytest

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.catalog import named
from tunnelcc.errors import ConfigError
from tunnelcc.report.overview import overview
from tunnelcc.schema.units import parse_size, parse_time

PROGRAMS = catalog.programs()
STAND = [name for name, program in PROGRAMS.items() if program.like]
#: What people ask for; each is a program here or an entry.
ASKED = [
    "frp", "chisel", "rathole", "gost-relay-wss", "wstunnel", "cloudflared", "ngrok", "stunnel",
    "trojan", "vless-tls", "vless-ws", "vless-grpc", "vless-xhttp", "vless-reality", "vless-vision",
    "vmess-tls", "vmess-ws", "shadowsocks", "shadowsocks-2022", "naive", "brook", "hysteria2",
    "tuic", "mkcp", "sing-mux-smux", "sing-mux-yamux", "sing-mux-h2mux", "ssh-l", "ssh-r", "ssh-w",
    "sshuttle", "tailscale", "tailscale-derp", "zerotier", "nebula", "amneziawg", "wireguard-go",
    "boringtun", "openvpn-dco", "ipsec", "softether", "dokodemo-door", "gvisor",
]  # fmt: skip


def _at(value, key):
    """Return what a table, a list or a model has at a dotted key."""
    for part in key.split("."):
        if isinstance(value, (list, tuple)):
            value = value[int(part)]
        else:
            value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


def _has(found, given):
    """Whether a value of an entry is the given one, as TOML has it."""
    if isinstance(given, dict):
        return all(_has(_at(found, key), it) for key, it in given.items())
    if isinstance(given, list):
        return len(found) == len(given) and all(map(_has, found, given))
    if isinstance(given, str) and isinstance(found, (int, float)):
        return found == (parse_time(given) if given.endswith("s") else parse_size(given))
    return given in (found, getattr(found, "layer", found))


def test_what_people_ask_for_has_a_name():
    assert [it for it in ASKED if not catalog.is_known(it)] == []


@pytest.mark.parametrize("name", STAND)
def test_a_program_is_its_entry_with_what_differs(name):
    program, entry = PROGRAMS[name], catalog.load(name)
    like = catalog.load(program.like)
    assert (entry.name, entry.kind, entry.summary) == (name, like.kind, program.carries)
    sources = " ".join(source for *_, source in catalog.settings(entry))
    for key, made in program.changes():
        assert _has(_at(entry, key), made.value), key
        assert made.source in sources or made.value == [] or key == "mux.protocol", key
    changed = {key.split(".")[0] for key, _ in program.changes()}
    same = {"name", "summary", "software", *changed}
    assert entry.model_dump(exclude=same) == like.model_dump(exclude=same)
    assert overview(entry).stack


@pytest.mark.parametrize("name", STAND)
def test_a_program_runs(name):
    path = tc.Path(rate="20Mbps", rtt="40ms")
    result = tc.run(tc.Experiment(path=path, duration="2s", tunnel=name))
    assert result.experiment.tunnel.name == name
    assert result.metric("goodput") > 2e6
    assert result.provenance["entries"][name].endswith(f"like {PROGRAMS[name].like}")


def _goodput(tunnel, rtt="100ms", **keys):
    path = tc.Path(rate="200Mbps", rtt=rtt)
    made = tc.Experiment(path=path, duration="6s", warmup="2s", tunnel={"name": tunnel, **keys})
    return float(tc.run(made).metric("goodput"))


def test_the_window_of_a_program_decides():
    """A window of w bytes, told again after its half, allows w / 2 to w a round trip."""
    for tunnel, keys, window in (
        ("sing-mux-yamux", {}, 2**18), ("frp", {"stream_window": "3MiB"}, None),
        ("ngrok", {}, 2**18), ("sshuttle", {}, 34816),
    ):  # fmt: skip
        rate = _goodput(tunnel, **keys)
        if window is None:
            assert rate > 20 * 8 * 2**18
        else:
            assert 0.45 * 8 * window / 0.1 < rate < 1.05 * 8 * window / 0.1, tunnel


def test_results_keep_name_and_entry(run, tmp_path):
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'duration = "1s"\ntunnel = "trojan"\n[path]\nrate = "5Mbps"\nrtt = "20ms"\n'
    )
    code, out, _ = run("run", scenario, "--json")
    assert code == 0
    made = json.loads(out)
    assert made["experiment"]["tunnel"] == "trojan"
    assert made["entries"] == {"trojan": f"{catalog.load('stunnel').version} like stunnel"}
    base = {"path": {"rate": "2Mbps", "rtt": "10ms"}, "duration": "1s"}
    axes = {"tunnel.name": ["trojan", "none"]}
    results = tc.sweep(base, axes, 1, name="one", store=tmp_path / "runs", progress=False)
    entry, nothing = results["entries"].squeeze().values
    assert (entry, nothing) == ("trojan 0.1.0 like stunnel", "")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("frb", "did you mean 'frp'?"),
        ("tailscal", "did you mean 'tailscale'?"),
        ("xray", "did you mean 'vless-tls' or"),
        ("softether", "packets of one tunnel spread over several TCP connections"),
    ],
)
def test_a_wrong_name_is_told(name, told, run):
    code, _, err = run("run", "--tunnel", name)
    assert code == 2
    assert told in err
    assert f"= '{name}'" in err


def test_keys_that_the_entry_does_not_have_are_refused():
    with pytest.raises(ConfigError, match=r"tunnel\.stream_window.*tailscale"):
        tc.Experiment.parse({"tunnel": {"name": "tailscale", "stream_window": "1MiB"}})


def test_a_wrong_key_in_the_file_is_told_with_the_file(tmp_path, monkeypatch):
    file = tmp_path / "named.toml"
    table = "".join(
        f'{key} = "stunnel"\n' for key in ("software", "mode", "carries", "missing", "like")
    )
    wrong = 'differs = { "request.bites" = { value = 1, label = "measured", source = "here" } }\n'
    file.write_text(f"[x]\n{table}{wrong}")
    monkeypatch.setattr(named, "FILE", file)
    named.programs.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"request\.bites.*did you mean 'bytes'.*named\.toml"):
            catalog.load("x")
    finally:
        named.programs.cache_clear()


@pytest.mark.parametrize("name", ["frp", "softether"])
def test_a_program_is_shown(name, run):
    code, out, _ = run("show", "tunnel", name)
    assert code == 0
    for part in (PROGRAMS[name].software, PROGRAMS[name].missing[:30], *PROGRAMS[name].differs):
        assert part in " ".join(out.split()), part


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cloudflare warp", "wireguard"), ("warp", "wireguard"), ("mullvad", "wireguard"),
        ("openconnect", "openvpn-udp"), ("AnyConnect", "openvpn-udp"), ("vpn", "openvpn-tcp"),
        ("nginx", "stunnel"), ("psiphon", "ssh-forward"), ("WireGuard", "wireguard"),
    ],
)  # fmt: skip
def test_what_was_meant_is_told_before_all_names(run, name, meant):
    """Of names that look alike, such as warp and cloudflared, the program's kind counts."""
    code, _, err = run("run", "--tunnel", name)
    assert code == 2
    hint, _, rest = err.partition("expected")
    assert repr(meant) in hint
    assert "vtun-udp" in rest


def test_an_old_bbr_is_the_newest(run):
    assert "did you mean 'bbr3'" in run("run", "--cc", "bbr2")[2]
