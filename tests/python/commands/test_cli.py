# SPDX-License-Identifier: GPL-2.0-only
"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from types import ModuleType

import pytest

import tunnelcc as tc
from helpers import ROOT, edited_entry
from tunnelcc import catalog, core, errors
from tunnelcc.commands import doctor
from tunnelcc.metrics import METRICS
from tunnelcc.scenario import Experiment
from tunnelcc.schema import keys_of
from tunnelcc.store import model_version

EXAMPLES = ROOT / "scenarios" / "examples"
SHORT = ["run", "--rate", "10Mbps", "--rtt", "20ms", "--duration", "1s"]


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0
    assert re.fullmatch(
        rf"tunnelcc {re.escape(tc.__version__)}, models {re.escape(model_version())} "
        r"\(.*(GCC|Clang|clang) \d+\..*, (not )?optimised, ns-3 3\.44\)\n",
        out,
    )


def test_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for name in ("run", "list", "show", "doctor", "reproduce"):
        assert name in out


def test_run_prints_a_table(run):
    code, out, err = run(*SHORT, "--cc", "bbr", "--flows", 2)
    assert (code, err) == (0, "")
    assert "2 × bbr, 10Mbps × 20ms" in out
    assert "goodput" in out
    assert "queueing delay" in out


def test_use_of_cpus_is_told_only_where_something_costs_it(run):
    for options, told in ((), False), (("--tunnel", "gost-relay-ws"), True):
        code, out, _ = run(*SHORT, *options)
        assert code == 0
        assert ("\nCPU " in out) is told


def test_many_flows_share_a_line(run):
    _, out, _ = run(*SHORT, "--flows", 40, "--rate", "100Mbps")
    assert "40 flows" in out
    assert len(out.splitlines()) < 20


def test_many_flows_have_a_line_for_each_entry(run):
    flows = ("--flow=count=12", "--flow=count=12,tunnel=wireguard", "--flow=cc=bbr")
    _, out, _ = run(*SHORT, *flows)
    assert "goodput Mbit/s, sum" in out
    assert re.search(r"\n12 × flows\.0 +cubic +none +\d", out)
    assert re.search(r"\n12 × flows\.1 +cubic +wireguard +\d", out)
    assert re.search(r"\n24 +bbr +none +\d", out)


def test_a_chain_names_the_hop_that_is_slow(run):
    _, out, _ = run("run", EXAMPLES / "chain-of-relays.toml", "--duration", "6s")
    assert re.search(r"random loss, (\+|×) \d+", out)
    assert out.count("tunnel.chain.0.loss = 0%") == 1  # one sentence for both flows
    assert "With hosts.tcp_rmem" not in out


def test_run_prints_json_and_nothing_else(run):
    options = [
        "--rate", "10Mbps", "--rtt", "20ms", "--loss", "1%", "--buffer", "50p", "--cc", "cubic",
        "--carrier-cc", "bbr", "--flows", 2, "--tunnel", "gost-relay-ws", "--duration", "2s",
        "--warmup", "1s", "--seed", 7, "--set", "hosts.kernel=5.10", "--set", "direction=down",
    ]  # fmt: skip
    code, out, err = run("run", *options, "--json")
    assert (code, err) == (0, "")
    totals = json.loads(out)
    assert Experiment.parse(totals["experiment"]) == tc.Experiment(
        path={"rate": "10Mbps", "rtt": "20ms", "loss": 0.01, "buffer": "50p"},
        flows={"cc": "cubic", "count": 2},
        tunnel={"name": "gost-relay-ws", "cc": "bbr"},
        hosts={"kernel": "5.10"},
        direction="down",
        duration="2s",
        warmup="1s",
        seed=7,
    )
    assert [leg["leg_cc"] for leg in totals["flows"][0]["legs"]] == ["cubic", "bbr", "cubic"]


def test_options_change_a_scenario(run):
    file = EXAMPLES / "relay-splits-the-loop.toml"
    options = ["--duration", "1s", "--warmup", "0s", "--json"]
    code, out, _ = run("run", file, *options, "--flows", 1, "--tunnel", "none", "--cc", "bbr")
    experiment = Experiment.parse(json.loads(out)["experiment"])
    assert code == 0
    assert experiment.tunnel is None
    assert (experiment.flows[0].count, experiment.flows[0].cc.name) == (1, "bbr")
    _, out, _ = run("run", file, *options, "--tunnel", "gost-relay-ws")
    tunnel = Experiment.parse(json.loads(out)["experiment"]).tunnel
    assert (tunnel.name, tunnel.cc.name) == ("gost-relay-ws", "bbr")


def test_list_shows_everything(run):
    code, out, _ = run("list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines() if line]
    for name in (*catalog.names(), *core.congestion_controls(), *core.ns3_congestion_controls()):
        assert name in names


def test_list_shows_one_of_its_parts(run):
    names = ("tunnels", "programs", "cc", "profiles", "payloads", "traffic")
    parts = [run("list", it)[1] for it in names]
    assert "\n".join(parts) == run("list")[1]
    assert all(parts)
    code, _, err = run("list", "tunels")
    assert code == 2
    assert f"one of {', '.join(names)} (did you mean 'tunnels'?)" in err


def test_show_experiment_has_every_key_with_its_default(run):
    code, out, _ = run("show", "experiment")
    assert code == 0
    rows = [line for line in out.splitlines() if line[:1].strip()]
    abbreviated = ("hosts.client.", "hosts.server.", "path.reverse.", "tunnels.NAME.")
    abbreviated += ("network.links.NAME.", "network.access.", "network.hosts.NAME.")
    for info in keys_of(Experiment):
        group = next((group for group in abbreviated if info.key.startswith(group)), None)
        if group is not None:
            assert any(row.split()[0] == f"{group}*" for row in rows)
        else:
            # A key that several queue disciplines have is there for each.
            own = [row for row in rows if row.split()[0] == info.key]
            assert own, info.key
            assert info.default is None or any(str(info.default) in row for row in own)
    assert "3,930,752" in out.replace("\n", " ")


def test_show_experiment_of_a_file_has_a_section_for_each_part(run, tmp_path):
    file = tmp_path / "one.toml"
    file.write_text('path = { loss = "1%" }\ntunnel = "wireguard"\n[sweep]\n"path.rtt" = ["1ms"]\n')
    code, out, _ = run("show", "experiment", str(file))
    titles = ["Run", "Links", "Hosts", "Tunnels", "Flows"]
    assert code == 0
    assert [line for line in out.splitlines() if line in (*titles, "Traffic")] == titles
    only = run("show", "experiment", str(file), "--only", "links")[1]
    assert "path.loss" in only
    assert "Hosts" not in only
    code, _, err = run("show", "experiment", str(file), "--only", "link")
    assert code == 2
    assert "did you mean 'links'?" in err


def test_show_selects_by_a_word_of_the_meaning(run):
    assert run("show", "experiment", "nagle")[1].splitlines()[-1].startswith("tcp.nodelay")
    metrics = run("show", "metrics", "delay")[1]
    assert "queue_delay_mean" in metrics
    assert "goodput" not in metrics.split()[0]


@pytest.mark.parametrize(("word", "meant"), [("https", "gost-http2"), ("VPN", "wireguard")])
def test_what_people_call_a_tunnel_has_a_suggestion(run, word, meant):
    for command in (("run", "--tunnel", word), ("run", "--flow", f"tunnel={word}")):
        code, _, err = run(*command)
        assert code == 2
        assert f"did you mean '{meant}' or" in err


def test_direction_is_an_option(run):
    command = ("run", "--direction", "down", "--duration", "1s", "--json")
    assert json.loads(run(*command)[1])["flows"][0]["flow_direction"] == "down"


def test_show_metrics_defines_each(run):
    code, out, _ = run("show", "metrics")
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines() if line[:1].strip()}
    for name, metric in METRICS.items():
        assert metric.long_name[:25] in rows[name]
        assert metric.definition[:25] in rows[name]


def test_show_metrics_tells_which_ones_sweeps_do_not_store(run):
    for name in ("dip_interval", "flow_rtt_p95"):
        told = " ".join(run("show", "metrics", name)[1].split())
        assert ("sweeps do not" in told) is not METRICS[name].is_stored
    code, _, err = run("compare", "--cc", "bbr,cubic", "--metric", "dip_interval")
    assert code == 2
    assert "one of the metrics that sweeps store" in err


@pytest.mark.parametrize("name", catalog.names())
def test_show_tunnel(run, name):
    code, out, _ = run("show", "tunnel", name)
    assert code == 0
    for key, _, label, _ in catalog.settings(catalog.load(name)):
        assert key in out.replace("\n", "")
        assert label in out


@pytest.mark.parametrize("name", [*core.congestion_controls(), "ns3::TcpBbr", "ns3::TcpVegas"])
def test_show_cc(run, name):
    code, out, _ = run("show", "cc", name)
    assert code == 0
    for parameter in core.congestion_parameters(name):
        assert parameter.name in out


def test_show_cc_knows_other_names(run):
    assert run("show", "cc", "newreno") == run("show", "cc", "reno")


def test_show_cc_tells_the_constants_of_hystart_plus_plus(run):
    # RFC 9406, section 4.3
    _, out, _ = run("show", "cc", "cubic")
    for told in ("MIN_RTT_THRESH 4 ms", "MAX_RTT_THRESH 16 ms", "MIN_RTT_DIVISOR 8", "L 8"):
        assert told in out
    assert "N_RTT_SAMPLE 8" in out


def test_marks_are_told_where_there_are_any(run, tmp_path):
    file = tmp_path / "marks.toml"
    path = '[path]\nrate = "20Mbps"\nrtt = "20ms"\nbuffer = "4bdp"\necn_threshold = "0.5bdp"\n'
    for switch, told in (("true", True), ("false", False)):
        file.write_text(f'duration = "2s"\n{path}[tcp]\necn = {switch}\n')
        _, out, _ = run("run", str(file))
        assert ("packets marked" in out) is told
    both = path + "[path.reverse]\n" + path.split("\n", 1)[1].replace('rtt = "20ms"\n', "")
    file.write_text(
        f'duration = "2s"\n{both}[tcp]\necn = true\n[[flows]]\n[[flows]]\ndirection = "down"\n'
    )
    _, out, _ = run("run", str(file))
    assert re.search(
        r"\npackets marked +[1-9]\d* by the queue \(ECN\) to the server; [1-9]\d* by the queue", out
    )


def test_what_fec_did_is_told_where_there_is_any(run):
    table = {
        "path": {"rate": "10Mbps", "rtt": "20ms", "loss": "3%"},
        "tunnels": {"parity": "sdwan-fec", "kcp": "kcptun", "plain": "wireguard"},
        "flows": [{"tunnel": "parity"}, {"tunnel": "kcp"}, {"tunnel": "plain"}],
        "duration": "3s",
    }
    result = tc.run(tc.Experiment.parse(table), progress=False)
    options = [f"--set=path.{key}={value}" for key, value in table["path"].items()]
    options += [f"--flow=tunnel={name}" for name in ("sdwan-fec", "kcptun", "wireguard")]
    _, out, _ = run("run", *options, "--duration", "3s")
    lines = {line[:20].strip(): line for line in out.splitlines() if line.startswith("FEC")}
    packets, kcp = lines.values()
    of_packets, of_kcp = result.tunnels[0].forward, result.carriers[1]
    assert of_packets.fec_recovered > 0 < of_kcp.arq_recovered
    for part, whole in (
        (of_packets.fec_parity_bytes, of_packets.outer_bytes),
        (of_packets.fec_recovered, of_packets.fec_packets),
        (of_packets.fec_lost, of_packets.fec_packets),
    ):
        assert f" {100 * part / whole:.3g} %" in packets
    assert f" {of_kcp.arq_recovered} " in kcp
    assert f" {of_kcp.arq_unrecovered}," in kcp


def test_doctor_finds_all_well(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert "bad" not in out
    assert "compiled module" in out


def test_doctor_says_what_is_bad_and_what_to_do(run, monkeypatch):
    def broken():
        raise OSError("no such library")

    monkeypatch.setitem(doctor._CHECKS, "compiled module", broken)
    code, out, _ = run("doctor")
    assert code == 1
    assert "OSError: no such library" in out
    assert "pip install ." in out


@pytest.mark.parametrize(
    ("arguments", "there", "absent"),
    [
        (["experiment", "path.loss"], "path.loss", "path.rtt"),
        (["experiment", "path"], "path.rtt", "hosts.kernel"),
        (["experiment", "cc"], "flows.cc", "path.rtt"),
        (["metrics", "jain"], "jain_users", "goodput  "),
        (["payload", "web"], "HTML", "Alice"),
    ],
    ids=str,
)
def test_a_part_of_a_list_is_shown(run, arguments, there, absent):
    code, out, _ = run("show", *arguments)
    assert code == 0
    assert there in out
    assert absent not in out


@pytest.mark.parametrize("command", [[], ["store"]], ids=str)
def test_without_arguments_there_is_only_help(run, command):
    code, out, err = run(*command)
    assert (code or 0) in (0, 2)
    assert (out or err).startswith("Usage: tunnelcc")


def test_the_nearest_file_is_named(run, tmp_path):
    (tmp_path / "scenario.toml").touch()
    _, _, err = run("run", tmp_path / "scenaro.toml")
    assert "No such file or directory, did you mean 'scenario.toml'?" in err
    (tmp_path / "c.toml").touch()  # alike in no more than what all have
    _, _, err = run("run", tmp_path / "nosuch.toml")
    assert "No such file or directory" in err
    assert "did you mean" not in err


def test_a_file_may_begin_with_a_mark_of_byte_order(run, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_bytes(b'\xef\xbb\xbfduration = "1s"\n')
    assert run("run", file, "--write-spec", tmp_path / "spec")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mtu = 1420", "mtu = 5", "tunnelcc: device.mtu = 5: expected a whole number"),
        ('"datagram"', '"datagrm"', "tunnelcc: kind = 'datagrm': .*did you mean 'datagram'"),
        ('["udp-send"]', '["udp-sent"]', "unknown operation 'udp-sent', did you mean 'udp-send'"),
    ],
)
def test_a_mistake_in_a_tunnels_file_is_told_by_the_files_own_key(run, tmp_path, old, new, told):
    tunnel = edited_entry(tmp_path, "wireguard", old, new)
    code, _, err = run("run", "--tunnel", tunnel)
    assert code == 2
    assert re.search(told, err)
    assert err.endswith(f"in {tunnel})\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rum"], ["command = 'rum'", "did you mean 'run'?"]),
        (["run", "--rat", "1Mbps"], ["--rat"]),
        (["run", "--rate"], ["--rate", "argument"]),
        (["run", "--rate", "1ms"], ["path.rate = '1ms'", "expected a rate", "unknown unit 'ms'"]),
        (["run", "--rate", "0Mbps"], ["path.rate = '0Mbps'", "from 1kbps"]),
        (["run", "--loss", "150%"], ["path.loss = '150%'", "less than 1"]),
        (["run", "--loss", "5"], ["path.loss = 5", "did you mean '5%'?"]),
        (["run", "--loss", "0.5,1"], ["--loss = '0.5,1'"]),
        (["run", "--buffer", "0p"], ["path.buffer = '0p'", "more than 0"]),
        (["run", "--flows", "1000000000"], ["flows.0.count = 1000000000", "from 1 to 16384"]),
        (["run", "--flows", "four"], ["flows.0.count = 'four'", "whole number"]),
        (["run", "--cc", "bbrr"], ["flows.0.cc = 'bbrr'", "did you mean 'bbr'?"]),
        (["run", "--tunnel", "gost"], ["tunnel.name = 'gost'", "gost-relay-ws, gost-relay-wss"]),
        (
            ["run", "--carrier-cc", "bbr"],
            ["tunnel.name: expected the name of a tunnel, because", ": cc"],
        ),
        (
            ["run", "--tunnel", "none,wireguard"],
            ["--tunnel = 'none,wireguard'", "`tunnelcc compare`"],
        ),
        (["run", "--carrier-cc", "bbr,cubic"], ["--carrier-cc", "expected one value"]),
        (["compare", "--rtt", "20ms,40ms"], ["`tunnelcc sweep`"]),
        (["run", "--duration", "5"], ["duration = 5", "the unit is missing"]),
        (["run", "--warmup", "1min"], ["warmup = '60s'", "before the end"]),
        (["run", "--seed", "x"], ["seed = 'x'", "whole number"]),
        (["run", "--set", "nonsense"], ["--set = 'nonsense'", "KEY=VALUE"]),
        (["run", "--set", "path.rat=1Mbps"], ["path.rat", "did you mean 'rate'?"]),
        (["run", "--set", "=1"], ["--set", "KEY=VALUE"]),
        (["run", "nofile.toml"], ["'nofile.toml'", "No such file"]),
        (["run", "a.toml", "b.toml"], ["b.toml"]),
        (["run", "--plot", "figure.gif"], ["--plot = 'figure.gif'", ".png, .svg, .pdf"]),
        (["run", "--measured", "none.json"], ["--measured = 'none.json'", "No such file"]),
        (["search", "--over", "path.loss=0..1%"], ["--minimise = 'none'", "--maximise"]),
        (["measure", "--output", "none.nc"], ["--output = 'none.nc'", ".csv"]),
        (["run", "--flow", "bbr"], ["--flow = 'bbr'", "KEY=VALUE, such as cc=bbr,rtt=20ms"]),
        (["run", "--tunel", "tinc"], ["'--tunel' (did you mean '--tunnel'?)"]),
        (["run", "--congestion-control", "bbr"], ["(did you mean '--cc'?)"]),
        (["run", "--parallel", "4"], ["(did you mean '--flows'?)"]),
        (["run", "--rate", "100"], ["the unit is missing, did you mean '100Mbps'?"]),
        (["run", "--set", "loss=1%"], ["unknown key, did you mean 'path.loss'?"]),
        (["sweep", "--axis", "rtt=1ms"], ["unknown key, did you mean 'path.rtt'?"]),
        (["sweep", "--axis", "cc=bbr", "--store", __file__], ["expected a directory"]),
        (["run", "--plot", "nowhere/figure.png"], ["an existing directory"]),
        (["show"], ["experiment|metrics|tunnel|cc"]),
        (["show", "tunel"], ["did you mean 'tunnel'?"]),
        (["show", "tunnel"], ["expected a name"]),
        (["show", "tunnel", "gost-relay-wsss"], ["did you mean 'gost-relay-wss'?"]),
        (["show", "cc", "cubik"], ["did you mean 'cubic'?"]),
        (["show", "cc"], ["expected a name"]),
        (["show", "experiment", "losss"], ["did you mean 'path.loss'?"]),
        (["show", "metrics", "jane"], ["did you mean 'jain'?"]),
        (["show", "payload", "webb"], ["did you mean 'web'?"]),
        (["show", "metric"], ["did you mean 'metrics'?"]),
    ],
)
def test_wrong_input_is_told_in_one_message(run, arguments, words):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tunnelcc: ")
    assert len(err.splitlines()) == 1
    for word in words:
        assert word in err


def test_cc_is_of_all_flows_or_refused(run):
    scenario = EXAMPLES / "one-bbr-flow.toml"
    _, out, _ = run(
        "run",
        scenario,
        "--duration=2s",
        "--warmup=0s",
        "--cc=vegas",
        "--flow=cc=reno",
        "--flow=rtt=9ms",
    )
    assert [line.split()[1] for line in out.splitlines()[3:6]] == ["vegas", "reno", "vegas"]
    code, _, err = run("run", "--cc", "bbr", "--flow", "cc=cubic,count=2")
    assert code == 2
    assert "--cc = 'bbr': expected no --cc, because each --flow has its own cc" in err


def test_both_directions_of_the_path_are_told(run):
    _, out, _ = run(*SHORT, "--rate=20Mbps", "--flow=cc=cubic", "--flow=cc=cubic,direction=down")
    assert "1 × cubic, 1 × cubic down" in out
    for name in ("path utilisation", "queueing delay", "packets lost"):
        (line,) = (line for line in out.splitlines() if line.startswith(name))
        assert "to the server; " in line


def test_a_shared_carrier_is_told_once(run):
    settings = ("--tunnel=gost-relay-mwss", "--flows=3", "--set=tunnel.carriers=all")
    _, out, _ = run(*SHORT, "--rate=20Mbps", *settings)
    assert out.count("shared") == 2 * 2


def test_a_carrier_that_both_directions_share_is_told_of_in_each(run):
    flows = ("--flow=cc=bbr,count=2", "--flow=cc=bbr,count=2,direction=down")
    options = (*SHORT, "--loss=5%", "--tunnel=openvpn-tcp", *flows)
    code, out, _ = run(*options)
    rows = [line.split() for line in out.splitlines() if line[:1].isdecimal()][1:]
    flows = json.loads(run(*options, "--json")[1])["flows"]
    ups, downs = (str(flow["legs"][1]["retransmits"]) for flow in (flows[0], flows[2]))
    assert code == 0
    assert ups != downs
    assert [row[6] for row in rows] == [ups, "shared", downs, "shared"]


def test_repairs_are_told_of_both_directions_of_a_carrier(run):
    flows = ("--flow=rate=2Mbps", "--flow=rate=1Mbps,direction=down")
    for given in (flows, flows[::-1]):
        options = (*SHORT, "--loss=5%", "--tunnel=kcptun", *given)
        (told,) = (line for line in run(*options)[1].splitlines() if line.startswith("FEC"))
        legs = [flow["legs"][1] for flow in json.loads(run(*options, "--json")[1])["flows"]]
        recovered = [leg["arq_recovered"] for leg in legs]
        assert min(recovered) > 0
        assert f" recovered {sum(recovered)} datagrams" in told


def test_completion_of_finite_flows_is_told_since_their_starts(run):
    flows = ("--flow=bytes=20kB,start=200ms,cc=cubic", "--flow=cc=bbr")
    options = (*SHORT, *flows)
    out = run(*options)[1]
    finite, endless = json.loads(run(*options, "--json")[1])["flows"]
    assert finite["flow_completion_time"] == finite["flow_completed_at"] - finite["flow_start"]
    assert endless["flow_completion_time"] is None
    columns = next(line for line in out.splitlines() if line.startswith("flow "))
    assert "completion s" in columns
    (first, second) = (
        line.split() for line in out.splitlines() if re.match(r"\d +(cubic|bbr)", line)
    )
    assert first[3] == f"{finite['flow_completion_time']:.3f}"
    assert second[3] == "–"
    assert "completion" not in run(*SHORT)[1]


def test_flows_that_start_in_the_warm_up_have_no_completion_time_and_that_is_told(run):
    flows = ("--flow=bytes=20kB,cc=bbr", "--flow=bytes=20kB,start=500ms,cc=cubic")
    _, out, _ = run(*SHORT, "--warmup=400ms", *flows)
    rows = [line.split() for line in out.splitlines() if re.match(r"\d +(cubic|bbr)", line)]
    assert rows[0][3] == "–"
    assert 0 < float(rows[1][3]) < 1
    assert re.search(r"\ncompletion +without 1 flow that starts in the warm-up *\n", out)
    _, out, _ = run(
        *SHORT, "--warmup=400ms", "--flow=bytes=1kB,count=20", "--flow=start=500ms,bytes=1kB"
    )
    assert re.search(r"\n20 × flows\.0 +cubic +\d+\.\d+ +– +\d", out)
    assert re.search(r"\n20 +cubic +\d+\.\d+ +0\.\d{3} +\d", out)
    assert re.search(r"\ncompletion +without 20 flows that start in the warm-up *\n", out)


@pytest.mark.parametrize(
    ("flows", "told"),
    [
        ("bytes=1kB,count=21", r"0\.\d{3}"),
        ("bytes=60kB,count=21", r"0\.\d{3} \(\d+ of 21\)"),
        ("bytes=1GB,count=21", r"– \(0 of 21\)"),
    ],
)
def test_completion_of_many_flows_is_their_mean_and_how_many_did(run, flows, told):
    _, out, _ = run(*SHORT, f"--flow={flows}")
    assert re.search(rf"21 flows +cubic +\d+\.\d+ +{told} +\d+ ", out)


def test_an_rtt_that_no_sample_has_is_no_0(run):
    _, out, _ = run(*SHORT, "--flow=bytes=1B")
    assert re.search(r" – +– +–", out)


def test_slow_rates_have_three_digits(run):
    _, out, _ = run("run", "--rate=20kbps", "--buffer=20p", "--duration=20s")
    assert re.search(r"\ngoodput +0\.01\d\d Mbit/s", out)


def test_a_policer_is_told(run):
    policer = "--set=path.policer={rate='5Mbps', burst='20kB'}"
    _, out, _ = run(*SHORT, "--rate=20Mbps", policer)
    assert " by the policer, " in out


def test_a_tunnel_for_some_flows_is_told_of_each(run):
    flows = ("--flow=cc=cubic,tunnel=none", "--flow=cc=cubic")
    _, out, _ = run(*SHORT, "--rate=20Mbps", "--tunnel=wireguard", *flows)
    assert out.startswith("1 × cubic, 1 × cubic in wireguard, ")
    assert [line.split()[2] for line in out.splitlines()[3:5]] == ["none", "wireguard"]


def test_flows_of_several_groups_are_not_guessed(run):
    code, _, err = run("run", EXAMPLES / "bbr-against-cubic.toml", "--flows", 4)
    assert code == 2
    assert "--flows = '4'" in err
    assert "flows.0.count" in err


def test_too_little_memory_is_told(run, monkeypatch):
    monkeypatch.setattr("tunnelcc.running.memory.available_memory", lambda: 1e6)
    code, _, err = run("run", "--flows", 4000, "--rate", "100Gbps")
    assert code == 2
    assert "flows = 4000" in err
    assert "GB of memory" in err


def test_a_missing_module_is_told(run, monkeypatch):
    def missing(name):
        raise ImportError("No module named 'tunnelcc._core'")

    core.load.cache_clear()
    core.has_congestion_control.cache_clear()
    monkeypatch.delenv("TUNNELCC_CORE", raising=False)
    monkeypatch.setattr(core.importlib, "import_module", missing)
    code, _, err = run("run", "--cc", "bbr")
    core.load.cache_clear()
    assert code == 1
    assert err.startswith("tunnelcc: the compiled module cannot be loaded")
    assert "doctor" in err


def test_a_metric_that_is_named_is_printed(run):
    code, out, _ = run(*SHORT, "--flows", 2, "--metric", "flow_rtt_p95")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("95th percentile of the"))
    assert len(re.findall(r"\d\.\d+", line)) == 2
    assert line.rstrip().endswith(" ms")


def test_a_module_of_another_version_is_told(run, monkeypatch):
    core.load.cache_clear()
    monkeypatch.delenv("TUNNELCC_CORE", raising=False)
    older = ModuleType("tunnelcc._core")
    older.model_version = lambda: "1"
    monkeypatch.setattr(core.importlib, "import_module", lambda _: older)
    code, out, _ = run("--version")
    core.load.cache_clear()
    assert code == 0
    assert "another version than the package: it has no 'build'" in out


def test_plots_are_saved(run, tmp_path):
    code, _, err = run(*SHORT, "--plot", tmp_path / "run.png")
    assert str(tmp_path / "run.png") in err
    assert code == 0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_that_cannot_be_written_is_told(run):
    code, _, err = run(*SHORT, "--plot", "/dev/null/figure.png")
    assert code == 2
    assert "figure.png" in err


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m tunnelcc show experiment | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("key")
    assert done.stderr == ""


def test_output_that_cannot_be_written_is_told():
    command = f"{sys.executable} -m tunnelcc show experiment > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("tunnelcc: standard output or a temporary file: No space left")


@pytest.mark.parametrize("command", ["list", "--help", "run --duration 1s -o result.json"])
def test_closed_output_is_told_before_anything_runs(command, tmp_path):
    command = f"{sys.executable} -m tunnelcc {command} >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "tunnelcc: standard output is closed; `>/dev/null` discards it\n"
    assert not list(tmp_path.iterdir())


def test_other_streams_may_be_closed(tmp_path):
    command = f"{sys.executable} -m tunnelcc run --duration 1s -o result.json <&- 2>&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("1 × cubic")
    assert json.loads((tmp_path / "result.json").read_text())


def test_output_need_not_be_unicode():
    command = [sys.executable, "-m", "tunnelcc", "run", "--duration", "1s"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert done.stdout.startswith(b"1 ? cubic, 100Mbps ? 40ms")


def test_importing_takes_no_time():
    code = (
        "import sys, time; started = time.perf_counter(); import tunnelcc; "
        "print(time.perf_counter() - started); "
        "heavy = {'numpy', 'xarray', 'pydantic', 'matplotlib', 'rich', 'tunnelcc._core'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    seconds, heavy = out.splitlines()
    assert float(seconds) < 0.15
    assert heavy == "[]"


def test_comparing_loads_neither_scipy_nor_dask(tmp_path):
    """Where Dask is installed, xarray imports it: so it is not, as far as this process sees."""
    script = (
        "import sys; sys.modules['dask'] = None; from tunnelcc.cli import main\n"
        "sys.argv = ['tunnelcc', 'compare', '--cc', 'bbr,reno', '--duration', '1s', '--rate', "
        "'2Mbps', '--seeds', '2', '--jobs', '1']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert (tmp_path / "compare-differences.png").exists()
    assert re.findall(r"\| +(xarray|pandas)$", done.stderr, re.MULTILINE)
    assert re.findall(r"\| +(scipy|dask|distributed)$", done.stderr, re.MULTILINE) == []


def test_what_no_sweep_needs_is_an_extra(tmp_path):
    """In this process, nothing imports scipy: so it is where only tunnelcc was installed."""
    ring = "links={a={between=['host0','r']},b={between=['r','host2']}},shape='line',size=2"
    commands = [
        ["sweep", "--axis", "cc=bbr,cubic", "--set", "duration=1s", "--seeds", "2", "--store", "s"],
        ["plot", "s", "-o", "sweep.png"],
        ["run", "--duration", "1s", "--set", f"network={{{ring}}}", "--plot", "network.png"],
        ["run", "--duration", "8s", "--set", "path.loss=0.2%", "-o", "run.json"],
        ["fit", "run.json"],
        ["run", "--duration", "1h", "-o", "run.nc"],
        ["store", "export", "--store", "s", "sweep", "s.nc"],
        ["plot", "old.nc", "-o", "old.png"],
    ]
    script = (
        "import sys; sys.modules['scipy'] = None; from tunnelcc.cli import main\n"
        f"for words in {commands!r}:\n"
        "    sys.argv = ['tunnelcc', *words]\n"
        "    try: main()\n"
        "    except SystemExit as end: print('status', end.code, flush=True)"
    )
    (tmp_path / "old.nc").touch()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    status = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("status")]
    assert status == ["2"] * 3, done.stderr
    assert done.stderr.count("[netcdf]'") == 3
    assert (tmp_path / "network.png").exists()


def test_every_name_of_the_package_can_be_had():
    for name in tc.__all__:
        assert getattr(tc, name) is not None
    assert set(tc.__all__) <= set(dir(tc))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tc.nonsense


def test_running_does_not_load_what_it_does_not_need():
    code = (
        "import sys; from tunnelcc.cli import main; main(['run', '--duration', '1s']); "
        "heavy = {'xarray', 'matplotlib', 'ns3', 'cppyy', 'pandas', 'multiprocessing', "
        "'scipy', 'tunnelcc.plots', 'tunnelcc.apps.calibrate', 'tunnelcc.catalog.layers'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == "[]\n"


def test_keys_of_one_host_are_told_without_those_of_both(run):
    _, output, _ = run("show", "experiment")
    text = " ".join(output.split())
    assert "except profile and one_machine" in text
    for key, value in (("profile", '"reference-host"'), ("one_machine", "true")):
        code, _, complaint = run("run", "--set", f"hosts.client.{key}={value}")
        assert code == 2
        assert f"hosts.client.{key}" in complaint


def test_metrics_of_users_carriers_and_messages_are_told_of(run):
    _, output, _ = run("show", "metrics")
    for name in ("jain_users", "jain_carriers", "flow_message_latency_p99"):
        assert name in output


def test_a_capture_or_log_on_a_full_disk_ends_with_an_error(run, tmp_path):
    (tmp_path / "flow0-client.sqlog").symlink_to("/dev/full")
    for options in (["--capture", "/dev/full"], ["--qlog", tmp_path]):
        code, out, err = run("run", "--rate", "5Mbps", "--duration", "1s", *options)
        assert code == 1
        assert "Mbit/s" in out
        assert f"{options[1]} cannot be written: No space left on device" in err
    (tmp_path / "flow0-client.sqlog").unlink()
    limited = ["--capture", tmp_path / "x.pcapng", "--qlog", tmp_path, "--capture-limit", "20kB"]
    code, _, err = run("run", "--rate", "5Mbps", "--duration", "1s", *limited)
    assert code == 0
    assert "a log ends early: its limit was reached" in err


def test_what_installs_an_extra_is_of_the_clone_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "tunnelcc" / "errors.py"))
    assert errors.install("netcdf") == "pip install 'tunnelcc[netcdf]'"
    (tmp_path / "pyproject.toml").touch()
    assert errors.install("netcdf") == "pip install -e '.[netcdf]'"
