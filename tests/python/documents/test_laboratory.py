# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory runs what the package runs, and an address of a stranger is harmless.

Node runs the page's own scripts and its WebAssembly module.
"""

from __future__ import annotations

import functools
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc import core
from tunnelcc.errors import ConfigError
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.words import causes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(ROOT / "docs"))
import laboratory
from laboratory.translate import translate

build_wasm = load_script(ROOT / "waf-config/build_wasm.py")

pytestmark = pytest.mark.needs("node")
NODE = shutil.which("node")
FOLDER = ROOT / "build/wasm"

Choices = dict[str, str]


@pytest.fixture
def wasm() -> Path:
    """The WebAssembly module of these sources."""
    return FOLDER / build_wasm.MODULE


@functools.cache
def values() -> dict[str, list[str]]:
    """All values of each choice."""
    data = laboratory.data()
    stops = {key: [it["text"] for it in stops] for key, stops in data["stops"].items()}
    return stops | {key: list(names) for key, names in data["names"].items()}


@functools.cache
def modules() -> Path:
    """The page's modules, with those that are made from the package."""
    folder = ROOT / "build/laboratory"
    laboratory.write_modules(folder)
    return folder


def address(choices: Choices) -> str:
    return "&".join(f"{key}={quote(value)}" for key, value in choices.items())


def in_node(addresses: list[str], folder: Path, module: Path | None = None) -> Iterator[Any]:
    """Yield what the page makes of each address; with a module, what it runs, too."""
    data = folder / "data.json"
    data.write_text(json.dumps(laboratory.data()))
    script = modules() / "run.mjs"
    command = [str(NODE), str(script), str(data), *([str(module)] if module else [])]
    done = subprocess.run(
        command, input="\n".join(addresses) + "\n", text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(addresses)
    yield from map(json.loads, lines)


# What runs of 5 s can have, and as often as not do not have.
RARE = {
    "other_start": ["0s", "0s", "2s"],
    "later_rate": ["same", "same", "2Mbps", "20Mbps"],
    "policer": ["none", "none", "5Mbps"],
}


def draw(count: int, seed: int, **fixed: list[str]) -> list[Choices]:
    """Experiments at random, with each tunnel in turn, and a control that its carriers can have."""
    draws = random.Random(seed)
    found = []
    for index in range(count):
        tunnel = values()["tunnel"][index % len(values()["tunnel"])]
        controls = laboratory.data()["templates"][tunnel]["carrierControls"]["values"]
        own = {"tunnel": [tunnel], "carrier_cc": ["default", *controls]}
        choices = (values() | RARE | fixed | own).items()
        found.append({key: draws.choice(of) for key, of in choices})
    return found


def as_experiment(toml: str) -> tc.Experiment:
    return tc.Experiment.parse(tomllib.loads(toml))


def spec_of(experiment: tc.Experiment) -> Any:
    return json.loads(spec_text(experiment_spec(experiment)))


def test_page_and_package_write_the_same_specification(tmp_path: Path) -> None:
    short = {"duration": ["5s"], "rate": ["1Mbps", "5Mbps", "20Mbps", "200Mbps"]}
    drawn = draw(124, 1, **short)
    refused = 0
    for choices, page in zip(drawn, in_node([*map(address, drawn)], tmp_path), strict=True):
        assert page["choices"] == choices
        try:
            experiment = as_experiment(page["toml"])
        except ConfigError:
            assert page["problems"], choices
            refused += 1
            continue
        assert not page["problems"], choices
        assert page["spec"] == spec_of(experiment), choices
    assert 0 < refused < len(drawn) / 2


def test_addresses_and_scenarios_are_read_as_they_are_written(tmp_path: Path) -> None:
    drawn, pinned = draw(60, 6), draw(60, 7)
    presets = [*laboratory.data()["stories"]]
    asked = [
        f"{address(one)}&preset={presets[i % len(presets)]}&a="
        + ",".join(f"{key}:{quote(value)}" for key, value in other.items())
        for i, (one, other) in enumerate(zip(drawn, pinned, strict=True))
    ]
    asked[0] += "&map=rtt,loss,share,ab"
    asked += [f"preset={it}" for it in presets] + [f"preset={it}&a=none" for it in presets]
    first = [*in_node(asked, tmp_path)]
    again = [*in_node([it["address"] for it in first], tmp_path)]
    for one, other in zip(first, again, strict=True):
        kept = ("choices", "pinned", "preset", "map")
        assert [one[key] for key in kept] == [other[key] for key in kept]
    for page, choices, other in zip(first, drawn, pinned, strict=False):
        assert (page["choices"], page["pinned"]) == (choices, other)
        scenario = page["reread"]
        assert not scenario["problems"]
        # What no flow has is not in a scenario.
        left = {"other_cc", "other_rtt", "other_start"} if choices["other_flows"] == "0" else set()
        assert {k: v for k, v in scenario["choices"].items() if k not in left} == {
            k: v for k, v in choices.items() if k not in left
        }
    assert first[0]["map"] == "rtt,loss,share,ab"
    assert all(len(it["address"]) < 40 for it in first[60:])


Shown = dict[str, Any]


def _of(it: Shown, number: int, key: str = "goodput") -> float:
    value: float = it["parts"][number][key]
    return value


#: What each story says of A and B.
CLAIMS: dict[str, Callable[[Shown, Shown], bool]] = {
    "bufferbloat": lambda a, b: abs(a["goodput"] / b["goodput"] - 1) < 0.02
    and b["pings"]["median"] > 0.2 > 0.1 > a["pings"]["median"],
    "bbr-beside-cubic": lambda a, b: b["parts"][0]["share"] > 0.8 > 0.4 > a["parts"][0]["share"],
    "tcp-over-tcp": lambda a, b: _of(b, 0) < 0.4 * _of(a, 0) and b["utilisation"] < 0.4,
    "one-carrier-or-many": lambda a, b: abs(a["parts"][0]["share"] - 0.5) < 0.05
    and abs(b["parts"][0]["share"] - 1 / 9) < 0.03,
    "policer": lambda a, b: 12e6 < _of(b, 0) < _of(a, 0) < 20e6
    and _of(a, 0, "retransmits") > 8 * _of(b, 0, "retransmits"),
    "satellite": lambda a, b: b["utilisation"] < 0.3 < 0.7 < a["utilisation"],
    "fec-or-arq": lambda a, b: b["utilisation"] > 0.95 > 0.8 > a["utilisation"]
    and b["queueDelayP95"] > 2 * a["queueDelayP95"]
    and "window" in a["parts"][0]["limitedBy"]["text"],
    "l4s": lambda a, b: _of(b, 0, "rtt") < 0.045 < 0.1 < _of(a, 0, "rtt"),
    "late-comer": lambda a, b: _of(b, 1) < 0.4 * _of(b, 0) and _of(a, 1) > 0.6 * _of(a, 0),
    "call-beside-a-download": lambda a, b: b["call"]["mos"] < 2.5 < 4 < a["call"]["mos"]
    and b["call"]["lost"] < 0.01 and 0.9 < _of(a, 0) / _of(b, 0) < 1,
    "two-paths": lambda a, b: 0.9 < a["goodput"] / 10e6 < 1 and 0.9 < b["goodput"] / 20e6 < 1
    and abs(tc.run(as_experiment(laboratory.data()["stories"]["two-paths"]["toml"])).goodput - 19e6)
    < 0.5e6,
}  # fmt: skip


def test_stories_are_true(wasm: Path, tmp_path: Path) -> None:
    stories = laboratory.data()["stories"]
    assert stories.keys() == CLAIMS.keys()
    asked = [f"preset={it}" for it in stories]
    now = [*in_node(asked, tmp_path, wasm)]
    beside = [*in_node([address(it["pinned"]) for it in now], tmp_path, wasm)]
    for name, one, other in zip(stories, beside, now, strict=True):
        assert CLAIMS[name](one["summary"], other["summary"]), name
        assert stories[name]["text"].count(". ") == 2
        assert stories[name]["question"].endswith("?")


def test_slider_by_slider(tmp_path: Path) -> None:
    drawn = [
        laboratory.DEFAULTS | {key: value, "duration": "5s"}
        for key, stops in values().items()
        for value in stops
        if key not in ("duration", "carrier_cc")
    ]
    for choices, page in zip(drawn, in_node([*map(address, drawn)], tmp_path), strict=True):
        if not page["problems"]:
            assert page["spec"] == spec_of(as_experiment(page["toml"])), choices


@pytest.mark.parametrize("beside", ["call", "pings"])
def test_command_line_is_the_same_experiment(beside: str, tmp_path: Path) -> None:
    choices = laboratory.DEFAULTS | {
        "tunnel": "gost-relay-mwss", "carrier_cc": "bbr", "queue": "red", "other_rtt": "80ms",
        "later_rate": "5Mbps", "policer": "20Mbps", "other_start": "5s", "beside": beside,
    }  # fmt: skip
    (page,) = in_node([address(choices)], tmp_path)
    file = tmp_path / "spec.json"
    arguments = shlex.split(page["command"])[1:]
    subprocess.run(
        [sys.executable, "-m", "tunnelcc", *arguments, "--write-spec", str(file)], check=True
    )
    assert json.loads(file.read_text()) == page["spec"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate=7Mbps", "rate cannot be “7Mbps”"),
        ("rate=<script>alert(1)</script>", "rate cannot be"),
        ("__proto__=1", "“__proto__” is not a choice"),
        ("map=rtt,rtt,goodput", "A map cannot be “rtt,rtt,goodput”"),
        ("map=rtt,loss,goodput,constructor", "A map cannot be"),
        ("preset=<b>", "There is no preset “<b>”"),
        ("a=cc:javascript", "cc cannot be “javascript”"),
        ("tunnel=constructor", "tunnel cannot be “constructor”"),
        ("cc", "cc cannot be"),
        ("%E0%A4%A=%", "is not a choice"),
        ("seed=" + "9" * 10_000, "seed cannot be"),
        ("rate=1Mbps&rtt=1ms&buffer=0.1bdp", "needs room for 1500"),
        ("tunnel=wireguard&carrier_cc=bbr", "wireguard has no carrier"),
        ("carrier_cc=bbr", "Without a tunnel there is no carrier"),
        ("tunnel=gost-quic&carrier_cc=prague", "of gost-quic cannot have prague"),
        ("rate=1000Mbps&duration=120s", "million packets"),
        ("rate=1Mbps&later_rate=1000Mbps&duration=120s", "million packets"),
        ("other_start=20s", "begin at 20s, and the run ends at 20s"),
        ("rate=1000Mbps&rtt=600ms&buffer=16bdp&duration=5s", "MB of memory"),
    ],
)
def test_address_that_cannot_be_is_told_in_a_sentence(text: str, told: str, tmp_path: Path) -> None:
    (page,) = in_node([text], tmp_path)
    assert any(told in it for it in page["problems"])
    assert all(len(it) < 600 and it.endswith(".") for it in page["problems"])


def test_random_addresses(tmp_path: Path) -> None:
    draws = random.Random(3)
    keys = [*values(), "", "%", "constructor", "ratE", "rate=", "é"]
    texts = [of[0] for of in values().values()] + ["", "-1", "NaN", "1e999", "%00", "'\"><", "0"]
    addresses = [
        "&".join(f"{draws.choice(keys)}={draws.choice(texts)}" for _ in range(draws.randrange(5)))
        for _ in range(300)
    ]
    for page in in_node(addresses, tmp_path):
        assert all(page["choices"][key] in of for key, of in values().items())


def check_results(drawn: list[Choices], module: Path, folder: Path) -> None:
    ran = 0
    pages = in_node([*map(address, drawn)], folder, module)
    for choices, page in zip(drawn, pages, strict=True):
        if page["problems"]:
            continue
        native, shown = core.load().run(json.dumps(page["spec"])), json.loads(page["result"])
        assert shown.keys() == native.keys()
        for name, value in native.items():
            if isinstance(value, np.ndarray):  # in JSON, NaN is null; numbers keep every bit
                np.testing.assert_array_equal(np.asarray(shown[name], dtype=float), value)
            else:
                assert shown[name] == value, (choices, name)
        ran += 1
    assert ran > 0.8 * len(drawn)


def test_words_are_those_of_the_command(wasm: Path, tmp_path: Path) -> None:
    """What limited each flow: the limit, its words, its keys and its share of the time."""
    short = {"duration": ["5s"], "rate": ["5Mbps", "10Mbps"], "buffer": ["1bdp", "4bdp"]}
    drawn = draw(124, 2, **short)
    # Windows of hosts and tunnels, and CPUs, limit where the path does not.
    drawn += draw(33, 5, duration=["5s"], rate=["500Mbps"], rtt=["40ms", "160ms"], loss=["0%"])
    told = set()
    for page in in_node([*map(address, drawn)], tmp_path, wasm):
        if page["problems"]:
            continue
        limited = tc.run(as_experiment(page["toml"])).limited
        ours = [it for part in page["summary"]["parts"] for it in part["causes"]]
        assert all(it is None for it in limited[len(ours) :])  # of a call
        for cause, shown in zip(limited, ours, strict=False):
            if cause is None:
                assert shown is None
                continue
            words = {"text": causes.text(cause), "keys": causes.keys(cause), "limit": cause.limit}
            assert {key: shown[key] for key in words} == words, page["command"]
            assert shown["share"] == pytest.approx(cause.evidence.share, rel=1e-9)
            told.add(cause.thing)
    assert len(told) > 10, told


def test_python_that_is_not_known_ends_the_build(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    file.write_text("def wait(it):\n    while it:\n        it -= 1\n")
    with pytest.raises(NotImplementedError, match="line 2: while it"):
        translate(file)


def test_results_are_those_of_the_native_models_to_the_bit(wasm: Path, tmp_path: Path) -> None:
    short = {"duration": ["5s"], "rate": ["5Mbps", "10Mbps"], "buffer": ["1bdp", "4bdp"]}
    check_results(draw(124, 2, **short), wasm, tmp_path)


def test_what_the_page_shows_first_is_what_it_then_runs(wasm: Path, tmp_path: Path) -> None:
    (page,) = in_node([""], tmp_path, wasm)
    assert json.loads(laboratory.first_result()) == json.loads(page["result"])


def test_page_is_small(wasm: Path) -> None:
    assert len(laboratory.page(wasm, "index.html")) < 1_000_000


def test_scripts_are_javascript(wasm: Path, tmp_path: Path) -> None:
    """Also as the page has them: modules become one script, whose names must differ."""
    page = laboratory.page(wasm, "index.html")
    scripts = re.findall(r'<script(?: type="text/plain" id="worker")?>(.*?)</script>', page, re.S)
    assert len(scripts) == 3  # the worker, uPlot, and the page's own
    files = [tmp_path / f"{number}.js" for number in range(len(scripts))]
    for file, script in zip(files, scripts, strict=True):
        file.write_text(script)
    for file in (*files, ROOT / "tests/browser/check_laboratory.mjs"):
        subprocess.run([str(NODE), "--check", str(file)], check=True)


@pytest.mark.slow
def test_results_of_longer_runs(wasm: Path, tmp_path: Path) -> None:
    longer = {"duration": ["20s"], "rate": ["20Mbps", "100Mbps"], "buffer": ["0.5bdp", "2bdp"]}
    check_results(draw(93, 4, **longer), wasm, tmp_path)


def test_numbers_are_the_metrics(wasm: Path, tmp_path: Path) -> None:
    drawn = [
        laboratory.DEFAULTS | {"duration": "10s", "tunnel": tunnel, "flows": "3"}
        for tunnel in ("none", "gost-relay-wss", "openvpn-udp")
    ]
    drawn += [drawn[0] | {"beside": it, "buffer": "4bdp"} for it in ("call", "pings")]
    for page in in_node([*map(address, drawn)], tmp_path, wasm):
        run = tc.run(as_experiment(page["toml"]))
        shown = page["summary"]
        assert shown["goodput"] == pytest.approx(run.metric("goodput"), rel=1e-9)
        assert shown["jain"] == pytest.approx(run.metric("jain"), rel=1e-9)
        assert shown["utilisation"] == pytest.approx(run.metric("utilisation"), rel=1e-9)
        if shown["call"]:
            flow = len(run.flows) - 1
            assert shown["call"]["mos"] == pytest.approx(
                run.metric("flow_mos", flow=flow), rel=1e-9
            )
            assert shown["call"]["delayP95"] == run.flows[flow].delay_p95
        if shown["pings"]:
            assert shown["pings"]["median"] == pytest.approx(run.metric("ping_rtt_p50"))
        assert shown["queueDelayP95"] == pytest.approx(run.metric("queue_delay_p95"), rel=1e-9)


@pytest.mark.parametrize(
    "choices",
    [
        {"loss": "1%", "flows": "2"},
        {"tunnel": "wireguard", "flows": "2", "other_cc": "cubic"},
        {"tunnel": "openvpn-2.6-tcp", "flows": "3", "buffer": "0.5bdp"},
        {"tunnel": "kcptun", "queue": "fq-codel", "beside": "call"},
        {"tunnel": "ethudp", "other_rtt": "80ms"},
        {"cc": "prague", "queue": "dualpi2", "other_cc": "cubic"},
    ],
)
def test_packets_are_those_of_the_run(choices: Choices, wasm: Path, tmp_path: Path) -> None:
    few = laboratory.DEFAULTS | {"rate": "10Mbps", "duration": "5s"} | choices
    (page,) = in_node([address(few) + " trace"], tmp_path, wasm)
    assert not page["problems"]
    result = json.loads(page["result"])
    whole, later = (it["lives"] for it in page["traces"])
    forward = [it for it in whole if it["isForward"]]

    def count(fate: str) -> int:
        return sum(it["fate"].startswith(fate) for it in forward)

    assert len(forward) == result["link_packets"][0][0]
    assert count("dropped") == result["link_queue_drops"][0][0]
    assert count("lost") == result["link_random_losses"][0][0]
    assert count("marked") == (result.get("link_marks", [[0]])[0][0] or 0)
    # What neither arrives nor is lost is in the queue or under way at the end.
    link = page["spec"]["links"][0]["forward"]
    arrived = [
        it for it in forward if it["end"] is not None and it["fate"][:4] not in ("drop", "lost")
    ]
    most = link["buffer_bytes"] + link["rate"] / 8 * 0.08
    assert sum(it["bytes"] for it in forward if it["end"] is None) <= most
    waits = [it["leaves"] - it["begin"] for it in arrived]
    assert min(waits) >= 0
    if few["queue"] == "drop-tail":  # others let flows wait for one another
        assert max(waits) <= 8 * link["buffer_bytes"] / link["rate"] + 0.01
    if few["tunnel"] == "none":
        resent = sum(it["isResent"] for it in forward)
        assert resent == sum(result["retransmits"])
    # A trace that begins later has the same packets.
    since = [it for it in whole if it["begin"] >= 1]
    assert [{**it, "isResent": 0} for it in later] == [{**it, "isResent": 0} for it in since]
    if few["tunnel"] == "wireguard":
        entered = [it for it in page["traces"][0]["inner"] if it["isIn"]]
        outer = [it for it in forward if it["isTunnel"] and it["isData"]]
        assert len(entered) == pytest.approx(len(outer), rel=0.02)


def test_refused_specification_is_told_and_the_next_runs(wasm: Path, tmp_path: Path) -> None:
    spec = spec_text(experiment_spec(tc.Experiment(duration="1s")))
    script, engine = tmp_path / "refused.mjs", (modules() / "engine.mjs").as_uri()
    script.write_text(
        f"import {{ makeEngine, Refused }} from {json.dumps(engine)};\n"
        "import { readFileSync } from 'node:fs';\n"
        "const { run } = makeEngine(new WebAssembly.Module(readFileSync(process.argv[2])));\n"
        "for (const text of ['{', '{\"flows\": 7}', process.argv[3]]) {\n"
        "  try { console.log(JSON.parse(run(text)).events); }\n"
        "  catch (error) { console.log(error instanceof Refused, error.message); }\n"
        "}\n"
    )
    done = subprocess.run(
        [str(NODE), str(script), str(wasm), spec], text=True, capture_output=True, check=True
    )
    first, second, third = done.stdout.splitlines()
    assert first.startswith("true specification: expected JSON")
    assert second.startswith("true flows: expected")
    assert third.isdigit()
