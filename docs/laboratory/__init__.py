# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory: a page of the site that runs the models in the browser.

The page has the models as WebAssembly (waf-config/build_wasm.py) and, for each tunnel, a
specification that the package wrote. Its scripts exchange a few numbers of that; the tests compare
with what the package writes for the same experiment. The page is one file that loads nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from laboratory import cause_table
from tunnelcc import catalog, core
from tunnelcc.catalog import traffic
from tunnelcc.config.path import Policer
from tunnelcc.errors import ConfigError
from tunnelcc.network.draws import MOST_PHASE, uniform
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.running.capture import Capture
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import parse_buffer, parse_probability, parse_rate, parse_time
from tunnelcc.specification import experiment_spec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent

_RATES = [f"{it}Mbps" for it in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
_RTTS = [f"{it}ms" for it in (1, 2, 5, 10, 20, 40, 60, 80, 100, 160, 200, 300, 600)]
#: What each slider can be set to. The rate changes after half of the time.
STOPS = {
    "rate": _RATES,
    "later_rate": ["same", *_RATES],
    "rtt": _RTTS,
    "buffer": [f"{it}bdp" for it in (0.1, 0.25, 0.5, 1, 2, 4, 8, 16)],
    "loss": [f"{it}%" for it in (0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 20, 40)],
    "policer": ["none", *_RATES],
    "flows": [str(it) for it in range(1, 9)],
    "other_rtt": ["same", *_RTTS],
    "other_start": [f"{it}s" for it in (0, 1, 2, 5, 10, 20, 30)],
    "other_flows": [str(it) for it in range(9)],
    "duration": [f"{it}s" for it in (5, 10, 20, 30, 60, 120)],
    "seed": [str(it) for it in range(1, 11)],
}
DEFAULTS = {
    "rate": "50Mbps",
    "later_rate": "same",
    "rtt": "40ms",
    "buffer": "1bdp",
    "loss": "0%",
    "queue": "drop-tail",
    "policer": "none",
    "tunnel": "none",
    "cc": "cubic",
    "carrier_cc": "default",
    "flows": "1",
    "other_cc": "bbr",
    "other_rtt": "same",
    "other_flows": "1",
    "other_start": "0s",
    "beside": "nothing",
    "duration": "20s",
    "seed": "1",
}
QUEUES = {
    "drop-tail": "a full queue drops what arrives",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel: a queue for each flow",
    "pie": "PIE",
    "red": "RED",
    "dualpi2": "DualPI2: a second queue for L4S",
    "cake": "CAKE without a shaper",
}
#: What else is on the path, without a tunnel, and what is added to a scenario for it.
BESIDE = {
    "nothing": "nothing",
    "call": "one direction of a call: Opus over UDP",
    "pings": "pings, five a second",
}
_CALL = {"transport": "udp", "traffic": "call", "tunnel": "none"}
_PINGS = {"tunnel": "none"}
#: Experiments that pages of the site offer to try, and what to change there, by the lesson or the
#: figure. The laboratory has steps, so values are the nearest ones. It cannot show the other
#: figures: of downloads, short flows, messages, MTUs, relays on the way, QUIC or several links.
TRY = {
    "notebooks/01-queues-and-windows": (
        "rate=10Mbps&rtt=80ms&cc=reno&other_flows=0&duration=60s",
        "move the buffer, and compare cubic and two flows",
    ),
    "notebooks/02-slow-start-and-cubic": (
        "rate=100Mbps&rtt=80ms&cc=cubic&other_flows=0&duration=60s",
        "compare reno, and other rates",
    ),
    "notebooks/03-bbr": (
        "cc=bbr&other_flows=0&buffer=4bdp&duration=30s",
        "compare cubic, and a loss of 1 %",
    ),
    "notebooks/04-fairness": (
        "preset=bbr-beside-cubic",
        "move the buffer and the number of flows",
    ),
    "notebooks/05-rtt-fairness": (
        "rtt=20ms&cc=reno&other_cc=reno&other_rtt=160ms&duration=60s",
        "compare bbr, and a larger buffer",
    ),
    "notebooks/06-buffers-and-queues": (
        "cc=bbr&other_cc=cubic&queue=fq-codel&buffer=4bdp",
        "compare drop-tail, codel and pie",
    ),
    "notebooks/07-what-a-tunnel-changes": (
        "preset=tcp-over-tcp",
        "compare openvpn-udp and gost-relay-wss",
    ),
    "notebooks/08-one-carrier-or-many": (
        "preset=one-carrier-or-many",
        "set other flows to 1, as in the lesson, and compare wireguard and openvpn-tcp",
    ),
    "notebooks/09-who-repairs-loss": (
        "preset=fec-or-arq",
        "compare no tunnel with bbr, and other losses",
    ),
    "questions/vpn.svg": (
        "tunnel=openvpn-2.6-tcp&flows=4&other_flows=0&loss=0.1%25&duration=60s",
        "compare wireguard and no tunnel, and other losses",
    ),
    "questions/server.svg": (
        "cc=bbr&other_cc=cubic&buffer=1bdp&duration=120s",
        "move the buffer, and set the number of other flows to 0 and a loss",
    ),
    "questions/connections.svg": (
        "rtt=100ms&flows=4&other_cc=cubic&duration=120s",
        "move the number of flows, and look at the other one",
    ),
    "questions/fec.svg": (
        "rate=20Mbps&rtt=100ms&buffer=1bdp&tunnel=udpspeeder&loss=1%25&other_flows=0&duration=60s",
        "compare no tunnel, with cubic and with bbr",
    ),
    "questions/others.svg": (
        "tunnel=openvpn-2.6-tcp&flows=4&other_cc=cubic&duration=120s",
        "compare wireguard, gost-relay-wss, and bbr for its carriers",
    ),
    "readme/tunnelcc.svg": (
        "rtt=100ms&loss=0.3%25&tunnel=gost-relay-wss&carrier_cc=bbr&other_flows=0&duration=30s",
        "compare no tunnel, bbr, and other losses",
    ),
    "programs/trace.svg": (
        "tunnel=openvpn-2.6-tcp&flows=8&other_flows=0&buffer=4bdp",
        "compare openvpn-udp, and watch the RTT",
    ),
    "curves/who-beats-whom.svg": (
        "cc=bbr&other_cc=cubic&buffer=1bdp&duration=60s",
        "choose another pair or buffer",
    ),
    "curves/tcp-over-tcp.svg": (
        "rate=200Mbps&tunnel=vtun&flows=8&other_flows=0&loss=0.1%25",
        "compare vtun-udp, and bbr for the carrier",
    ),
    "curves/bbr-inside-cubic.svg": (
        "rate=100Mbps&loss=0.1%25&tunnel=openvpn-2.6-tcp&cc=bbr&carrier_cc=cubic&flows=4&other_flows=0",
        "exchange bbr and cubic",
    ),
    "curves/one-carrier-or-many.svg": (
        "rate=100Mbps&rtt=60ms&loss=0.1%25&tunnel=gost-relay-mws&flows=8&other_flows=0&duration=30s",
        "compare gost-relay-ws, which has a carrier for each flow",
    ),
    "mixtures/neighbours-tunnel.svg": (
        "rate=20Mbps&buffer=0.25bdp&tunnel=gost-relay-wss&carrier_cc=bbr&other_cc=cubic&other_flows=8"
        "&duration=60s",
        "compare other tunnels, cubic for the carrier, and other buffers",
    ),
    "mixtures/vpn-of-eight.svg": (
        "tunnel=wireguard&flows=8&other_cc=cubic&other_flows=8&duration=60s",
        "compare openvpn-tcp, and bbr for its carrier",
    ),
    "gost-thesis/goodput.svg": (
        "rate=1000Mbps&rtt=160ms&tunnel=gost-relay-wss&flows=4&other_flows=0&duration=10s",
        "compare bbr and one flow",
    ),
    "li2018-bbr/3.svg": (
        "rate=1000Mbps&rtt=20ms&cc=bbr&other_flows=0&duration=5s",
        "move the RTT and see what limits the flow",
    ),
    "repair/loss-repair.svg": (
        "rtt=60ms&loss=2%25&tunnel=udpspeeder&other_flows=0",
        "compare sdwan-fec, gost-kcp, sdwan-tcp-opt and no tunnel",
    ),
    "repair/beside-a-plain-flow.svg": (
        "rtt=60ms&loss=1%25&tunnel=gost-kcp&other_cc=cubic&duration=120s",
        "compare udpspeeder, and no loss",
    ),
    "repair/accelerators-goodput.svg": (
        "rtt=20ms&loss=5%25&cc=bbr&other_flows=0&duration=60s",
        "compare vivace, zeta-like and other losses, and kcptun",
    ),
    "repair/accelerators-price.svg": (
        "rtt=100ms&loss=5%25&tunnel=gost-kcp&other_flows=0&duration=60s",
        "the path's utilisation beside the goodput shows what the repair costs",
    ),
    "repair/accelerators-harm.svg": (
        "rtt=100ms&cc=unlimited&other_cc=cubic&duration=120s",
        "compare bbr, vivace and qvegas",
    ),
}
_MOST_FLOWS = 8
#: What is of each flow, not of its kind.
_STARTS = re.compile(r"^flows\.\d\.(start|data_start|carrier)$")
_SCRIPTS = (
    "python.mjs", "table.mjs", "causes.mjs", "experiment.mjs", "scenario.mjs", "summary.mjs",
    "figures.mjs", "maps.mjs", "trace.mjs", "packets.mjs", "page.mjs",
)  # fmt: skip

_OF_WORKER = ("experiment.mjs", "engine.mjs", "trace.mjs", "worker.mjs")


def page(module: Path, home: str) -> str:
    """Return the laboratory's page. ``module``: the models; ``home``: the address of the site."""
    script = "\n".join(_plain(_module(name)) for name in _SCRIPTS)
    library = (HERE / "uplot/uPlot.iife.min.js").read_text("utf-8")
    style = "\n".join(
        (HERE / name).read_text("utf-8") for name in ("uplot/uPlot.min.css", "page.css")
    )
    parts = {
        "policy": _policy([library, script], style),
        "style": style,
        "library": library,
        "license": (HERE / "uplot/LICENSE").read_text("utf-8"),
        "script": script,
        "worker": "\n".join(_plain(_module(it)) for it in _OF_WORKER),
        "module": _packed(module.read_bytes()),
        "data": _packed(json.dumps(data(), separators=(",", ":")).encode()),
        "first": _packed(first_result().encode()),
        "home": home,
    }
    return re.sub(
        r"\{\{(\w+)\}\}",
        lambda it: parts[it[1]],
        (HERE / "page.html").read_text("utf-8"),
    )


def _policy(scripts: list[str], style: str) -> str:
    """Return the page's Content-Security-Policy: it may run its own scripts, and load nothing."""
    hashes = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {hashes} 'wasm-unsafe-eval'; style-src {_digest(style)}; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_modules(folder: Path) -> None:
    """Write all modules in a folder, those that are made from the package, too."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*HERE.glob("*.mjs"), HERE / "table.mjs"):
        (folder / file.name).write_text(_module(file.name), "utf-8")


@cache
def _module(name: str) -> str:
    return cause_table.table() if name == "table.mjs" else (HERE / name).read_text("utf-8")


def _plain(text: str) -> str:
    """Return a module's text for a script that has all modules."""
    text = re.sub(r"^import .*?;\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


@cache
def data() -> dict[str, Any]:
    """Return what the page's scripts know of experiments: Data of experiment.mjs."""
    templates = {name: it for name in ("none", *catalog.names()) if (it := _template(name))}
    tunnels = {"none": "no tunnel"} | {
        name: str(catalog.load(name).summary) for name in templates if name != "none"
    }
    seeds = [int(it) for it in STOPS["seed"]]
    return {
        "stops": {key: [_stop(key, it) for it in texts] for key, texts in STOPS.items()},
        "names": {
            "queue": QUEUES,
            "tunnel": tunnels,
            "cc": _controls(),
            "beside": BESIDE,
            "carrier_cc": {"default": "of the flows, or the tunnel's own"} | _controls(),
            "other_cc": _controls(),
        },
        "defaults": DEFAULTS,
        "templates": templates,
        "queues": {name: {rate: _queue(name, rate) for rate in STOPS["rate"]} for name in QUEUES},
        "starts": [
            [
                [uniform(seed, "start", kind, member) for member in range(_MOST_FLOWS)]
                for kind in range(3)
            ]
            for seed in seeds
        ],
        "pingStarts": [uniform(seed, "ping", 0) for seed in seeds],
        "beside": _beside(),
        "maps": {
            "axes": _named("AXES", r'"(\w+)"'),
            "metrics": _named("METRICS", r"^  (\w+): "),
        },
        "stories": {
            name: story | {key: _pairs(story[key]) for key in ("choices", "beside")}
            for name, story in _stories().items()
        },
        "burst": Policer(rate="1Mbps").burst,
        "startJitter": Experiment().start_jitter,
        "phases": [
            {
                "path": uniform(seed, "phase", 0),
                "flows": [uniform(seed, "flow phase", it) for it in range(2 * _MOST_FLOWS)],
            }
            for seed in seeds
        ],
        "mostPhase": MOST_PHASE,
        "packet": Experiment().tcp.packet_bytes(Experiment().path.ip, Experiment().path.mtu),
        "facts": cause_table.facts(),
    }


def first_result() -> str:
    """Return what the models give for the defaults, as JSON: the page shows it while it loads them.

    It is what the models give in the page, too, to the bit.
    """
    it = DEFAULTS
    experiment: Experiment = Experiment.parse(
        {
            "duration": it["duration"],
            "seed": int(it["seed"]),
            "path": {key: it[key] for key in ("rate", "rtt", "buffer", "loss", "queue")},
            "flows": [
                {"cc": it["cc"], "count": int(it["flows"])},
                {"cc": it["other_cc"], "count": int(it["other_flows"])},
            ],
        }
    )
    result = core.load().run(json.dumps(experiment_spec(experiment)))
    return json.dumps(
        result,
        separators=(",", ":"),
        default=lambda it: np.where(np.isnan(it), np.array(None), it).tolist(),  # NaN is null
    )


def offer(place: str, page: str) -> str:
    """Return a link, in Markdown, to the experiment of TRY that belongs to a figure or lesson.

    ``place``: path of the figure or lesson; ``page``: address of the laboratory. Nothing if there
    is no experiment. Raises ValueError if the page does not have it.
    """
    found = next((it for name, it in TRY.items() if place.endswith(name)), None)
    if found is None:
        return ""
    address, change = found
    if wrong := problems(address):
        raise ValueError(f"docs/laboratory: the experiment of {place} cannot be: {wrong}")
    return f"[Try it in the laboratory]({page}#{address}): {change}."


def problems(address: str) -> list[str]:
    """Return what is wrong with an address of the laboratory, what follows ``#``."""
    known = data()
    values = {key: [it["text"] for it in stops] for key, stops in known["stops"].items()}
    values |= {key: list(names) for key, names in known["names"].items()}
    values["preset"] = list(known["stories"])
    given = [*_pairs(address).items()]
    pinned = next((value for key, value in given if key == "a"), "")
    given = [it for it in given if it[0] not in ("a", "map")]
    given += [(key, value) for key, _, value in (it.partition(":") for it in pinned.split(","))]
    is_none = pinned in ("", "none")
    if is_none:
        given.pop()
    return [f"{key}={value}" for key, value in given if value not in values.get(key, [])]


def _pairs(address: str) -> dict[str, str]:
    """Return the keys and values of an address."""
    parts = [unquote(part).partition("=") for part in address.split("&")]
    return {key: value for key, _, value in parts}


def _named(constant: str, pattern: str) -> list[str]:
    """Return the names in a constant of maps.mjs."""
    text = _module("maps.mjs").partition(f"export const {constant} =")[2].partition(";\n")[0]
    return re.findall(pattern, text, re.MULTILINE)


@cache
def _stories() -> dict[str, dict[str, str]]:
    with (HERE / "stories.toml").open("rb") as file:
        found: dict[str, dict[str, str]] = tomllib.load(file)
    for story in found.values():
        if "file" in story:
            story["toml"] = (HERE.parents[1] / story["file"]).read_text("utf-8")
    return found


def _stop(key: str, text: str) -> dict[str, Any]:
    parse = {
        "rate": parse_rate,
        "rtt": parse_time,
        "other_rtt": parse_time,
        "other_start": parse_time,
        "later_rate": parse_rate,
        "policer": parse_rate,
        "loss": parse_probability,
        "duration": parse_time,
    }
    if key == "buffer":
        return {"text": text, "value": parse_buffer(text).bdp}
    if text in ("same", "none"):
        return {"text": text, "value": 0}
    return {"text": text, "value": parse.get(key, int)(text)}


@cache
def _controls() -> dict[str, str]:
    """Return the congestion controls that need no parameter, and what they are."""
    return {
        it.name: f"{it.summary} ({it.note})" if it.note else it.summary
        for it in core.algorithms()
        if not any(p.is_required for p in core.congestion_parameters(it.name))
    }


def _experiment(
    tunnel: dict[str, str], controls: tuple[str, str], count: int = _MOST_FLOWS, **path: str
) -> Experiment:
    flows = [{"cc": controls[0], "count": count}]
    flows += [{"cc": controls[1], "count": count, "tunnel": "none"}]
    experiment: Experiment = Experiment.parse({"path": path, "tunnel": tunnel, "flows": flows})
    return experiment


def _template(name: str) -> dict[str, Any] | None:
    """Return the specification with one flow of each kind, and what to change in it.

    None if the tunnel needs a key that the page does not have.
    """
    tunnel = {"name": name}
    try:
        experiment = _experiment(tunnel, ("cubic", "cubic"))
    except ConfigError:
        return None
    spec = experiment_spec(experiment)
    base = _of_kinds(spec, _MOST_FLOWS)
    controls = [
        list(_differences(base, _of_kinds(experiment_spec(_experiment(tunnel, it)), _MOST_FLOWS)))
        for it in (("reno", "cubic"), ("cubic", "reno"))
    ]
    found = experiment.resolved
    return {
        "spec": base,
        "controls": controls,
        "carrierControls": _carrier_controls(name),
        "counts": _by_count(tunnel, base),
        "carriers": [it.carrier for it in found.flows[:_MOST_FLOWS]],
        "room": _room(found),
        "world": cause_table.world(found),
        "capture": Capture("packets", ("path", "client", "server")).spec(found),
        "legs": 1 if name == "none" else 2 + len(found.first.below.hops),
    }


def _carrier_controls(name: str) -> dict[str, Any]:
    """Return where the control of a tunnel's own connections is, and by algorithm what is there.

    No algorithms if the tunnel has no such connections, or their control cannot be chosen.
    """
    places: list[str] = []
    values = {}
    for cc in _controls():
        try:
            experiment = _experiment({"name": name, "cc": cc}, ("cubic", "cubic"), 1)
        except ConfigError:
            continue
        spec = experiment_spec(experiment)
        values[cc] = spec["flows"][0]["carrier_cc"]
        tunnels = [i for i, it in enumerate(spec["tunnels"]) if "carrier_cc" in it]
        places = ["flows.0.carrier_cc", *(f"tunnels.{it}.carrier_cc" for it in tunnels)]
    return {"places": places, "values": values}


def _by_count(tunnel: dict[str, str], base: dict[str, Any]) -> dict[str, list[Any]]:
    """Return what depends on the number of flows in the tunnel: a list for each member."""

    def of(count: int) -> dict[str, Any]:
        experiment = _experiment(tunnel, ("cubic", "cubic"), count)
        return _of_kinds(experiment_spec(experiment), count)

    paths = [it for it in _differences(base, of(1)) if not _STARTS.search(it)]
    if not paths:
        return {}
    specs = [*map(of, range(1, _MOST_FLOWS)), base]
    return {path: [_member(spec, path) for spec in specs] for path in paths}


def _of_kinds(spec: dict[str, Any], count: int) -> dict[str, Any]:
    """Return ``spec`` with the first of ``count`` flows of each kind alone."""
    return {**spec, "flows": spec["flows"][::count]}


def _member(spec: Any, path: str) -> Any:
    for part in path.split("."):
        spec = spec[int(part) if isinstance(spec, list) else part]
    return spec


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict):
        for key in one:
            yield from _differences(one[key], other[key], f"{path}{key}.")
    elif isinstance(one, list):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{path}{index}.")
    elif one != other:
        yield path.removesuffix(".")


def _room(found: ResolvedNetwork) -> int:
    """Return the bytes that the bottleneck's buffer needs: Experiment checks the same."""
    sizes = [it.outer_packets for it in found.kinds]
    return max(max([*packets, sum(packets[1:])]) for packets in sizes)


def _beside() -> dict[str, Any]:
    """Return the flows of a call and of pings, for the models, and the delay of the codec, s.

    They have the TCP settings of the other flows, whose tunnel they have: none.
    """
    flows: list[dict[str, Any]] = [{"cc": "cubic"}, {"cc": "cubic", "tunnel": "none"}]
    call = Experiment.parse({"flows": [*flows, _CALL]})
    pings = Experiment.parse({"flows": flows, "pings": [_PINGS]})
    return {
        "call": experiment_spec(call)["flows"][2],
        "pings": experiment_spec(pings)["flows"][2],
        "codecDelay": traffic.load("call").codec_delay,
    }


def _queue(name: str, rate: str) -> dict[str, Any]:
    experiment = _experiment(
        {"name": "none"}, ("cubic", "cubic"), rate=rate, queue=name, rtt="100ms"
    )
    queue: dict[str, Any] = experiment_spec(experiment)["links"][0]["forward"]["queue"]
    return queue
