# SPDX-License-Identifier: GPL-2.0-only
"""Experiments in a Linux on a virtual clock: like the simulated ones, and the same each time."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tunnelcc as tc
from tunnelcc import catalog, measure
from tunnelcc.formats.read import read as read_file
from tunnelcc.measure import answers, beside, plan, virtual
from tunnelcc.modules import trust

in_linux = pytest.mark.needs("kernel")

PATH = {"rate": "10Mbps", "rtt": "20.37ms", "buffer": "60p"}


def _experiment(**keys: Any) -> tc.Experiment:
    given = {"path": PATH, "duration": "5s", "warmup": "2s", **keys}
    parsed: tc.Experiment = tc.Experiment.parse(given)
    return parsed


@in_linux
@pytest.mark.parametrize("link", plan.LINKS)
def test_linux_on_either_link_is_like_the_simulation(link):
    experiment = _experiment(flows=[{"cc": "cubic"}], pings={"interval": "100ms", "start": "500ms"})
    linux = measure.measure_virtually(experiment, link).values
    simulated = beside.simulated(tc.run(beside.costless(experiment), progress=False))
    for name, tolerance in {"flow 0: goodput": 0.03, "flow 0: rtt": 0.05, "queue_mean": 0.1,
                            "ping_mean": 0.05, "flow 0: retransmits": 0.3}.items():  # fmt: skip
        assert linux[name] == pytest.approx(simulated[name], rel=tolerance), name


@in_linux
def test_all_kinds_of_traffic_are_measured_and_the_same_each_time():
    flows = [
        {"cc": "bbr"},
        {"cc": "cubic", "bytes": "100kB", "start": "3s"},
        {"cc": "reno", "rate": "1Mbps", "write_size": "1000B", "direction": "down"},
        {"transport": "udp", "rate": "1Mbps"},
    ]
    experiment = _experiment(flows=flows)
    runs = [measure.measure_virtually(experiment) for _ in range(2)]
    assert runs[0].values == runs[1].values
    assert runs[0].series == runs[1].series
    values = runs[0].values
    assert 0.1 < values["flow 1: completion"] < 2
    assert values["flow 2: goodput"] == pytest.approx(1e6, rel=0.02)
    assert values["flow 3: goodput"] == pytest.approx(1e6, rel=0.05)
    assert values["flow 3: delay"] > 0.01
    assert values["flow 2: latency"] > 0.01
    other = measure.measure_virtually(experiment.with_({"seed": 2}))
    assert other.values != values


def test_messages_have_a_latency_from_when_they_were_due(tmp_path):
    experiment = _experiment(flows=[{"cc": "reno", "rate": "8kbps", "write_size": "500B"}])
    made = plan.make(experiment)
    # One each half a second, from 0.25 s on; that of 2.25 s comes in two parts, 3.25's with 3.75's.
    read = {0.75: 500, 1.25: 1000, 1.75: 1500, 2.0: 2000, 2.3: 2300, 2.45: 2500, 2.8: 3000,
            3.8: 4000}  # fmt: skip
    told = {"began": 250_000_000, "done": None, "arrivals": [(1e9 * at, it) for at, it in
            read.items()], "samples": [(0, 20_000, 10, 0), (5e9, 20_000, 10, 0)]}  # fmt: skip
    (tmp_path / f"{made.flows[0].name}.json").write_text(json.dumps(told))
    links: dict[str, Any] = {"forward": [], "reverse": []}
    answer = answers.read(made, virtual.Answers(tmp_path, links, 0), 2, 5)
    values = beside.measured(answer)
    assert values["flow 0: latency"] == pytest.approx((0.2 + 0.05 + 0.55 + 0.05) / 4)
    assert values["flow 0: latency_p95"] == pytest.approx(0.4975)


TUNNELS = {"wireguard": "wg", "vxlan": "ip", "ipsec-esp": "ip", "openvpn-udp": "openvpn",
           "openvpn-2.6-tcp": "openvpn", "tinc": "tincd", "vtun": "vtund",
           "ssh-forward": "sshd", "kcptun-2021": "kcptun-server"}  # fmt: skip


@in_linux
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_a_real_tunnel_is_like_the_simulated_one(tunnel):
    if plan.find(TUNNELS[tunnel]) is None:
        pytest.skip(f"NOT MEASURED: {TUNNELS[tunnel]} is not installed")
    is_relay = not catalog.load(tunnel).CARRIES_PACKETS
    pings = {} if is_relay else {"pings": {"interval": "100ms", "start": "500ms"}}
    # tinc's probes come at random, so that a loss less in slow start is another queue for seconds.
    times = {"duration": "10s", "warmup": "5s"} if tunnel == "tinc" else {}
    experiment = _experiment(flows=[{"cc": "cubic"}], tunnel=tunnel, **pings, **times)
    linux = measure.measure_virtually(experiment).values
    simulated = beside.simulated(tc.run(beside.costless(experiment), progress=False))
    for name, tolerance in {"flow 0: goodput": 0.03, "queue_mean": 0.15, "ping_mean": 0.1}.items():
        if name != "ping_mean" or pings:
            assert linux[name] == pytest.approx(simulated[name], rel=tolerance), name


@in_linux
def test_flows_share_a_relays_connection():
    if plan.find("sshd") is None:
        pytest.skip("NOT MEASURED: sshd is not installed")
    flows = [{"cc": "cubic"}, {"cc": "cubic", "bytes": "200kB", "start": "1s"}]
    experiment = _experiment(flows=flows, tunnel="ssh-forward")
    values = measure.measure_virtually(experiment).values
    assert values["flow 0: goodput"] > 8e6
    assert values["flow 1: completion"] < 2


def test_a_program_that_forwards_one_port_takes_one_flow():
    flows = [{"cc": "cubic"}, {"cc": "cubic"}]
    with pytest.raises(tc.ConfigError, match="flows = '2': expected one flow"):
        plan.check(_experiment(flows=flows, tunnel="kcptun-2021"))
    plan.check(_experiment(flows=flows, tunnel="ssh-forward"))


#: A tunnel of one's own, and what its start command finds out.
LOOK = """
[ -e {secret} ] && echo "sees the home"
touch /usr/mine 2> /dev/null && echo "writes to the root"
touch {folder}/mine 2> /dev/null && echo "writes beside the scenario"
mkdir -p /run/all && mount -t hostfs none /run/all 2> /dev/null && echo "mounts all"
umount {home} 2> /dev/null && echo "uncovers the home"
[ -e /run/out/plan.json ] && echo "sees the answers"
ls {bin} > /dev/null && echo "sees programs on PATH"
echo ready
"""


def _own_tunnel(folder: Path, start: str) -> Path:
    text = (catalog.DIRECTORY / "vxlan.toml").read_text()
    file = folder / "mine.toml"
    file.write_text(f"start = '''{start}{catalog.script('vxlan')}'''\n{text}")
    return file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, in which nothing was agreed to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trust, "_granted", False)


def _measure_own(run: Any, mine: Path, *more: str) -> tuple[int, str, str]:
    found: tuple[int, str, str] = run(
        "measure", "--kernel", "virtual", "--tunnel", str(mine), "--rate", "10Mbps", "--rtt",
        "20ms", "--duration", "2s", "--warmup", "1s", *more,
    )  # fmt: skip
    return found


def test_a_strangers_start_command_is_shown_and_needs_agreement(run, tmp_path, cache, monkeypatch):
    """In no other command does it run, or is it asked for."""
    asked = []
    monkeypatch.setattr(virtual, "kernel", lambda: Path("/nowhere"))
    monkeypatch.setattr(virtual, "describe", lambda: asked.append("a kernel") or "Linux")
    monkeypatch.setattr(plan, "check_programs", lambda *_: None)
    mine = _own_tunnel(tmp_path, "echo mine\n")
    code, _, err = _measure_own(run, mine)
    assert code != 0
    assert "tunnel.start" in err
    assert "--trust" in err
    assert "echo mine" in err
    assert hashlib.sha256(catalog.script(str(mine)).encode()).hexdigest() in err
    assert not asked
    experiment = _experiment(flows=[{"cc": "cubic"}], tunnel=str(mine), duration="2s", warmup="1s")
    assert tc.run(experiment, progress=False).goodput > 8e6
    trust.grant()
    trust.check_start(str(mine), catalog.script(str(mine)))
    monkeypatch.setattr(trust, "_granted", False)
    trust.check_start(str(mine), catalog.script(str(mine)))  # agreed to
    with pytest.raises(tc.ConfigError):
        trust.check_start(str(mine), catalog.script(str(mine)) + "\n")


@in_linux
def test_programs_see_a_root_without_the_home_that_they_cannot_change(
    run, tmp_path, cache, monkeypatch
):
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "secret").write_text("mine")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    look = LOOK.format(secret=home / "secret", folder=tmp_path, home=home, bin=home / "bin")
    code, _, err = _measure_own(
        run, _own_tunnel(tmp_path, look), "--keep", str(tmp_path / "kept"), "--trust"
    )
    assert code == 0, err
    for end in ("client", "server"):
        told = (tmp_path / f"kept/tunnel-0-{end}.txt").read_text().splitlines()
        assert told == ["sees programs on PATH", "ready"]
    assert not (tmp_path / "mine").exists()


@in_linux
def test_what_the_link_loses_is_what_the_simulation_loses():
    """The link is the simulation's, with its random numbers: the first losses are the same."""
    experiment = _experiment(flows=[{"cc": "reno"}]).with_({"path.loss": "1%"})
    linux = measure.measure_virtually(experiment).values
    simulated = beside.simulated(tc.run(experiment, progress=False))
    assert linux["flow 0: goodput"] == pytest.approx(simulated["flow 0: goodput"], rel=0.15)
    assert linux["losses"] > 10


@in_linux
def test_the_tools_own_files_are_kept_and_read_again(run, tmp_path):
    code, out, err = run(
        "measure", "--kernel", "virtual", "--rate", "10Mbps", "--rtt", "20ms", "--cc", "cubic",
        "--duration", "4s", "--warmup", "1s", "--keep", str(tmp_path / "kept"),
        "-o", str(tmp_path / "series.csv"),
    )  # fmt: skip
    assert code == 0, err
    assert "Linux" in out
    assert "goodput" in out
    kept = {it.name for it in (tmp_path / "kept").iterdir()}
    assert {"flow-0-client.iperf3.json", "client.pcap", "server.pcap", "link.json"} <= kept
    read = read_file(tmp_path / "kept/flow-0-client.iperf3.json")
    assert read.mean_goodput(1.0) == pytest.approx(9.6e6, rel=0.05)
    for end in ("client", "server"):
        read = read_file(tmp_path / f"kept/ss-{end}.log")
        assert read.mean_goodput(1.0) == pytest.approx(9.6e6, rel=0.05)
    captured = read_file(tmp_path / "kept/client.pcap")
    assert captured.mean_goodput(1.0) == pytest.approx(9.6e6, rel=0.05)
    assert (tmp_path / "series.csv").read_text().startswith("flow,t,goodput_bps")


def _processes(kernel: str) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(path / "exe") == kernel:
                found.add(int(path.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


@in_linux
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_killed_leaves_no_process_and_no_mount(tmp_path, sent):
    kernel = tmp_path / "linux"
    kernel.write_bytes(virtual.kernel().read_bytes())
    kernel.chmod(0o755)
    mounts = Path("/proc/self/mounts").read_text()
    command = [sys.executable, "-m", "tunnelcc", "measure", "--kernel", "virtual",
               "--duration", "300s"]  # fmt: skip
    environment = {**os.environ, "TUNNELCC_LINUX": str(kernel), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    try:
        until = time.monotonic() + 120
        while not any(tmp_path.glob("tunnelcc-*/time")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        assert _processes(str(kernel))
        process.send_signal(sent)
        process.wait(timeout=60)
        until = time.monotonic() + 30
        while found := _processes(str(kernel)):
            assert time.monotonic() < until, found
            time.sleep(0.1)
        assert Path("/proc/self/mounts").read_text() == mounts
        if sent == signal.SIGINT:
            assert not list(tmp_path.glob("tunnelcc-*"))
    finally:
        process.kill()


@in_linux
def test_a_program_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(plan, "find", lambda name: f"/nowhere/{name}")
    with pytest.raises(tc.TunnelccError, match="/nowhere/iperf3"):
        measure.measure_virtually(_experiment(duration="1s", warmup="0s"))


@pytest.mark.parametrize(
    ("settings", "link", "told"),
    [
        ({"hosts.cores": 1}, "models", "hosts.cores = 1: expected no value"),
        ({"hosts.gro": "50us"}, "models", "hosts.gro"),
        ({"cc": "vivace"}, "models", "one of the kernel's"),
        ({"cc": {"name": "cubic", "beta": 0.5}}, "models", "its defaults"),
        ({"flows.0.transport": "quic"}, "models", "no QUIC"),
        (
            {"tunnel": "tuic"},
            "models",
            "one of .*ipsec-esp, .*others are measured with --kernel host",
        ),
        ({"tunnel": "wireguard"}, "router", "none over a router"),
        (
            {"tunnel": "openvpn-2.6-tcp", "flows": [{"cc": "reno"}, {"cc": "cubic"}]},
            "models",
            "all carriers",
        ),
        ({"tunnel": {"name": "wireguard", "mtu": 1300}}, "models", "tunnel.mtu"),
        ({"path.loss_pattern": "periodic", "path.loss": "1%"}, "router", "over a router"),
        ({"path.rate_steps": [["1s", "5Mbps"]]}, "router", "path.rate_steps"),
        ({"path.queue": "red"}, "router", "path.queue.gentle = 'true': expected false"),
        ({"hosts.kernel": "5.10"}, "models", "the kernel is the one that measures"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_its_key(settings, link, told):
    with pytest.raises(tc.ConfigError, match=told):
        plan.check(tc.Experiment().with_(settings), link)


def test_each_flow_has_the_delay_of_its_own_rtt():
    flows = [{"cc": "cubic"}, {"cc": "bbr", "rtt": "50ms"}]
    experiment = _experiment(flows=flows).with_({"path.phase": "0"})
    made = plan.make(experiment)
    ways = made.table["ways"]
    assert len(ways) == 4
    extra = {way[0]: way[4] for way in ways}
    first, second = (it.source for it in made.flows)
    assert first != second
    assert sorted(set(extra.values())) == [0, 14815000]
    spec = json.loads(made.table["spec"])
    assert spec["links"][0]["forward"]["delay"] == 10185000
    drawn = _experiment(flows=flows)
    made = plan.make(drawn)
    assert [flow.rtt for flow in made.flows] == pytest.approx([*map(drawn.resolved.rtt, (0, 1))])
    assert made.flows[1].rtt > 0.05


def test_a_carrier_has_the_congestion_control_that_the_tunnel_names():
    for keys, expected in (({"cc": "bbr"}, "bbr"), ({}, "reno")):
        tunnel = {"name": "openvpn-2.6-tcp", **keys}
        made = plan.make(_experiment(flows=[{"cc": "reno"}], tunnel=tunnel))
        assert made.table["sysctls"]["net.ipv4.tcp_congestion_control"] == expected


def test_a_router_has_what_the_scenario_says():
    queue = {"name": "fq-codel", "target": "10ms"}
    experiment = _experiment(flows=[{"cc": "cubic"}]).with_(
        {"path.queue": queue, "path.buffer": "500p", "path.loss": "0.5%", "path.phase": "0"}
    )
    near, far = (plan.make(experiment, "router").table["configure"][f"tc {it}"]
                 for it in ("near", "far"))  # fmt: skip
    assert "tbf rate 10000000bit" in near[0]
    assert "fq_codel limit 500 target 10000us" in near[1]
    assert far == ["qdisc add dev server root netem delay 10185us loss 0.5% limit 1000000"]


@pytest.mark.parametrize(("weight", "burst"), [(0.002, 48), (1 / 8, 8)])
def test_the_routers_red_has_the_scenarios_weight(weight, burst):
    """tc(8) is told a burst, and finds the weight from it: tc_red_eval_ewma() of iproute2."""
    queue = {"name": "red", "gentle": False, "weight": weight}
    experiment = _experiment(flows=[{"cc": "cubic"}]).with_({"path.queue": queue})
    near = plan.make(experiment, "router").table["configure"]["tc near"]
    assert "red limit 90000 min 7500 max 22500 avpkt 1500 " in near[1]
    assert f"burst {burst} bandwidth 10000000bit probability 0.1 ecn harddrop" in near[1]


def test_a_download_over_routers_is_limited_where_its_data_pass():
    experiment = _experiment(flows=[{"cc": "cubic"}], direction="down").with_({"path.loss": "1%"})
    table = plan.make(experiment, "router").table
    near, far = (table["configure"][f"tc {it}"] for it in ("near", "far"))
    assert table["router"] == "far"
    assert "rate 10000000bit" in far[0]
    assert "loss 1%" in near[0]
    assert not any("loss" in line for line in far)


def test_without_a_kernel_it_says_what_to_install(monkeypatch):
    monkeypatch.delenv("TUNNELCC_LINUX", raising=False)
    monkeypatch.setattr(virtual, "PACKAGE", "tunnelcc_nowhere")
    with pytest.raises(tc.TunnelccError, match="`make linux`"):
        virtual.kernel()
    monkeypatch.setattr(virtual.platform, "machine", lambda: "arm64")
    with pytest.raises(tc.TunnelccError, match="needs Linux on x86-64"):
        virtual.kernel()


@pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="no kernel")
@pytest.mark.parametrize("program", ["/bin/ls", "/bin/true"])
def test_a_program_that_is_no_kernel_is_named(run, monkeypatch, program):
    monkeypatch.setenv("TUNNELCC_LINUX", program)
    code, _, err = run("measure", "--kernel", "virtual", "--rate", "10Mbps", "--duration", "1s")
    assert code == 1
    assert f"{program} did not start as a kernel" in err
