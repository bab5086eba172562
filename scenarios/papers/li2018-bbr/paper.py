# SPDX-License-Identifier: GPL-2.0-only
"""Li et al. 2018: BBR against CUBIC at 1 Gbit/s, and the paper's ideas for a better BBR."""

import itertools
from math import log2, sqrt

import numpy as np

from tunnelcc.apps.papers import Axis, Fit, Paper, claims, derived, metric, theory
from tunnelcc.output.tables import Table

# Parts that several figures share

BOTH = Axis("cc", ["bbr", "cubic"])
THROUGHPUT = {"throughput": metric("goodput", since="2s")}
OURS = "the paper names the idea, not the values"
RELAY = {"tunnel": "gost-relay-wss"}
THROUGH = Axis(
    "", {"plain": {"path.ip": 4}, "relay": RELAY}, "choice", "ours: the paper has no relay"
)
PLAIN = {"flow1": "flow 1", "flow2": "flow 2"}
AGAINST_CUBIC = {"flows.1.cc": "cubic"}
ROOMY = {"hosts.tcp_rmem": "80MB"}


def rtts(reason: str, *values: str) -> Axis:
    """Return an axis of RTTs, of which the paper gives some."""
    return Axis("path.rtt", values, "choice", reason)


def bbrs(changed: dict, key: str = "cc") -> Axis:
    """Return BBR as in Linux, with changed parameters, and BBRv3. ``key``: whose it is."""
    values = {name: {key: {"name": "bbr", **it}} for name, it in changed.items()}
    values = {"as in Linux": {key: "bbr"}, **values, "BBRv3": {key: "bbr3"}}
    return Axis("", values, "choice", OURS)


def flows(since: str, **titles: str) -> dict:
    """Return the goodputs of both flows, by name and title."""
    return {
        name: metric("goodput", title, flow=flow, since=since)
        for flow, (name, title) in enumerate(titles.items())
    }


def total(since: str) -> dict:
    """Return the goodput of both flows, and what part of the link it uses."""
    return {
        "total": metric("goodput", "both together", since=since),
        "use": derived(
            lambda run: run.total * (run.packet + 38) / (run.mss * run.rate),
            "1",
            "total / capacity of the link",
            plot=False,
        ),
    }


def settling(*steps: tuple[str, str, str, str], flow: int | None = None) -> dict:
    """Return the times until a flow has settled: name, title, since, until."""
    return {
        name: metric("settling_time", title, flow=flow, since=since, until=until, within=0.10)
        for name, title, since, until in steps
    }


def changes(quantity: str, texts: dict[str, str]) -> list:
    """Return the claims that a changed BBR has more of a quantity than Linux's."""
    return [
        claims.order(text, quantity, f"bbr: {name} > as in Linux") for name, text in texts.items()
    ]


UDP = settling(
    ("arrival", "after UDP arrives", "5s", "15s"),
    ("departure", "after UDP has left", "15s", "25s"),
    flow=0,
)
STEPS = settling(
    ("down1", "1000 → 500", "10s", "20s"),
    ("up1", "500 → 800", "20s", "30s"),
    ("down2", "800 → 300", "30s", "40s"),
    ("up2", "300 → 1000", "40s", "50s"),
)


# Claims and tables that only this paper has


def power(text: str, quantity: str, axis: str, exponent: float, within: float, where=None):
    """Return the claim of a power law: a line fitted to the logarithms has this slope."""

    def judge(means) -> tuple[bool, str]:
        x = [claims.axis_number(place) for place in means.index]
        if len(x) < 2 or not (np.isfinite(means) & (means > 0)).all():
            return False, "no exponent"
        slope = float(np.polyfit(np.log(x), np.log(means), 1)[0])
        return abs(slope - exponent) <= within, f"exponent: {slope:.2f}"

    return claims.along(text, quantity, axis, judge, where)


def knee(text: str, quantity: str, axis: str, at: str, within: float, where=None):
    """Return the claim that values stay near the largest up to ``at``, but not beyond."""

    def judge(means) -> tuple[bool, str]:
        enough = (1 - within) * means.max()
        near = sum(1 for _ in itertools.takewhile(lambda mean: mean >= enough, means))
        if near == len(means):
            return False, f"no knee up to {means.index[-1]}"
        last = means.index[near - 1] if near else None
        return last == at, f"knee: {last or f'before {means.index[0]}'}"

    return claims.along(text, quantity, axis, judge, where)


def draw_knee(axes, simulated) -> None:
    """Draw where the paper has the knee."""
    label = "published: knee at 20ms"
    axes.axvline(0.020, color="black", ls="-.", lw=1, label=label)


def draw_proportion(axes, simulated) -> None:
    """Draw a time in proportion to the RTT through the first point."""
    startup = simulated.means()["startup"]
    x = np.array([claims.axis_number(place) for place in startup.index])
    y = startup.iloc[0] * x / x[0]
    axes.plot(x, y, color="#999999", lw=0.8, label="in proportion")


def evidence(quantity: str, published: str, measured: str, source: str, reason: str, variant=""):
    """Return a table: is the paper or the simulation closer to independent measurements?

    ``variant``: in which the simulation is comparable; "": the scenario's.
    """
    low, high = (float(measured.split("-")[end]) for end in (0, -1))

    def distance(value: float) -> float:
        return max(low - value, value - high, 0.0)

    def table(reproduction) -> Table:
        variants = {it.id: varied for it, varied in reproduction.variants}
        if variant and variant not in variants:
            return Table("", (), ())
        chosen = variants[variant] if variant else reproduction.simulated
        value = chosen.means()[quantity].mean()
        paper, model = distance(float(published)), distance(value)
        verdict = "the simulation is closer" if model < paper else "the paper is closer"
        if model == paper:
            verdict = "both agree" if model == 0 else "equally far"
        name = reproduction.figure.title_of(quantity)
        row = (name, published, f"{value:.3g}", measured, verdict, source)
        columns = ("quantity", "paper", "simulated", "measured", "verdict", "measured by")
        title = "Which is closer to independent measurements: the paper or the simulation"
        return Table(title, columns, [row], (1, 2, 3), [reason])

    return table


paper = Paper(
    title="Performance Evaluation of BBR-TCP Based on Experiments (BBR-TCP协议实验性能评价)",
    source=(
        "Li Zhen-Tao, Ren Yong-Mao, Zhou Xu, Zhou Ya-Qiu: Computer Systems & Applications 27 (9), "
        "2018, 229–235. The figures are images: numbers and claims are those of the text"
    ),
)

# Efficiency (section 4.1)

paper.figure(
    "2",
    "Throughput over time, RTT 10 ms",
    "one-flow.toml",
    axes={"cc": BOTH},
    quantities={**THROUGHPUT, "dip_interval": metric("dip_interval", since="2s")},
    claims=[claims.order("BBR's rate is far above CUBIC's", "throughput", "cc: bbr > cubic")],
    fit=Fit(
        "path.loss",
        [3e-5, 4e-5, 5e-5, 6e-5, 7e-5, 8e-5, 9e-5, 1e-4, 1.2e-4, 1.4e-4],
        {"cc": "cubic"},
        "the stated loss has no effect on CUBIC",
    ),
    x="time",
)
RTTS_OF_3 = ("10ms", "15ms", "20ms", "25ms", "30ms", "40ms", "60ms", "80ms", "100ms")
paper.figure(
    "3",
    "Throughput over RTT, tcp_rmem 1000 KB",
    "one-flow.toml",
    axes={
        "cc": BOTH,
        "rtt": rtts("10 and 20 ms are stated, the rest of the axis is an image", *RTTS_OF_3),
    },
    quantities=THROUGHPUT,
    claims=[
        knee(
            "BBR's rate falls sharply once RTT exceeds 20 ms",
            "throughput",
            "rtt",
            "20ms",
            0.10,
            {"cc": "bbr"},
        ),
        claims.falls("CUBIC's rate falls as RTT grows", "throughput", "rtt", {"cc": "cubic"}),
        power(
            "CUBIC's rate is inversely proportional to RTT",
            "throughput",
            "rtt",
            -1,
            0.25,
            {"cc": "cubic"},
        ),
    ],
    x="rtt",
    draw=draw_knee,
)
paper.figure(
    "4",
    "Throughput over RTT, tcp_rmem 1000 KB and 80 MB",
    "one-flow.toml",
    axes={
        "cc": BOTH,
        "rmem": {"1000 KB": {"hosts.tcp_rmem": "2500kB"}, "80 MB": ROOMY},
        "rtt": rtts("as in figure 3", *RTTS_OF_3),
    },
    quantities=THROUGHPUT,
    claims=[
        claims.flat(
            "with 80 MB BBR's rate is stable as RTT grows",
            "throughput",
            "rtt",
            0.10,
            {"cc": "bbr", "rmem": "80 MB"},
        ),
        claims.flat(
            "CUBIC's rate hardly changes with tcp_rmem: loss limits it, not the window",
            "throughput",
            "rmem",
            0.10,
            {"cc": "cubic"},
        ),
    ],
    x="rtt",
)


def equation_6(it) -> float:
    """Return CUBIC's rate with α = 1 and β = 0.8."""
    return sqrt(1 / 2 * (1 + 0.8) / (1 - 0.8) / it.loss) * 8 * it.packet / it.rtt


paper.figure(
    "5",
    "Throughput over loss, RTT 10, 20 and 50 ms",
    "one-flow.toml",
    settings=ROOMY,
    axes={
        "cc": BOTH,
        "rtt": Axis(key="path.rtt", values=["10ms", "20ms", "50ms"]),
        "loss": Axis(
            key="path.loss",
            values=["0.0001%", "0.001%", "0.01%", "0.1%"],
            label="choice",
            reason="0.1 % is stated, the rest of the axis is an image",
        ),
    },
    quantities={**THROUGHPUT, "equation": theory(equation_6, "Mbit/s", "equation 6", plot=False)},
    claims=[
        claims.flat(
            "BBR's rate hardly changes with loss", "throughput", "loss", 0.10, {"cc": "bbr"}
        ),
        claims.falls("CUBIC's rate falls as loss grows", "throughput", "loss", {"cc": "cubic"}),
    ],
    x="loss",
)

# Convergence (section 4.2)

paper.figure("6", "UDP traffic from 5 s for 10 s", "udp.toml", quantities=UDP, x="time")
paper.figure("7", "Variable bandwidth", "steps.toml", quantities=STEPS, x="time")

# Fairness (section 4.3)

paper.figure(
    "8",
    "Two BBR flows that start together",
    "two-flows.toml",
    quantities={"total": total("5s")["total"], **flows("5s", **PLAIN), "use": total("5s")["use"]},
    claims=[claims.equal("the two rates are basically equal", "flow1", "flow2", 0.10)],
    tables=[
        evidence(
            "use",
            "0.80",
            "0.98-0.99",
            "Linux 6.18, two BBR flows, 100 Mbit/s × 40 ms, queues of 0.25 and 4 BDP "
            "(tests/validation/data)",
            "A growing RTT does not make BBR leave a fifth of the link idle: the flows' bandwidth "
            "estimates add up to more than the rate, and they fill a queue up to their limit of "
            "two BDP in flight (Hock, Bless and Zitterbart, Experimental Evaluation of BBR "
            "Congestion Control, ICNP 2017, found links of 1 and 10 Gbit/s full, with queues of 1 "
            "to 1.5 BDP). Two settings do give about 750: windows of half of tcp_rmem, or a queue "
            "so short that bursts overflow it.",
        )
    ],
    x="time",
)
paper.figure(
    "9",
    "Two BBR flows, the second 5 s later",
    "two-flows.toml",
    settings={"flows.1.start": "5s", "duration": "65s"},
    quantities={**flows("10s", **PLAIN), **total("10s")},
    claims=[claims.equal("the average rates are very close to each other", "flow1", "flow2", 0.10)],
    tables=[
        evidence(
            "use",
            "0.80",
            "1.01",
            "Linux 6.18, a BBR flow joined by another after 5 s, 50 Mbit/s × 40 ms, a queue of 1 "
            "BDP (tests/validation/data); each flow without its first 3 s, hence more than 1",
            "The text only says that the utilisation is still low; 0.80 is from figure 8.",
        )
    ],
    x="time",
)
paper.figure(
    "10",
    "A flow of 60 s and one of 10 s",
    "large-small.toml",
    quantities={
        "small": metric("goodput", "small flow", flow=1, since="22s", until="30s"),
        "large": metric("goodput", "large flow meanwhile", flow=0, since="22s", until="30s"),
    },
    x="time",
)
paper.figure(
    "11",
    "Two BBR flows, RTT 10 ms against 20 ms and more",
    "two-flows.toml",
    axes={
        "rtt2": Axis(
            "flows.1.rtt",
            ["20ms", "30ms", "50ms", "80ms", "100ms"],
            "choice",
            "20 ms is stated, the rest of the axis is an image",
        )
    },
    quantities={
        **flows("5s", flow1="flow 1 (10 ms)", flow2="flow 2"),
        "gap": derived(lambda run: run.flow1 / run.flow2, "1", plot=False),
        "share": derived(
            lambda run: run.flow1 / (run.flow1 + run.flow2),
            "1",
            "share of the short RTT",
            plot=False,
        ),
    },
    claims=[
        claims.larger("the flow with the shorter RTT gets more", "flow1", "flow2"),
        claims.rises("the gap grows with the RTT of flow 2", "gap", "rtt2"),
    ],
    tables=[
        evidence(
            "share",
            "0.667",
            "0.10-0.14",
            "Linux 6.18, BBR at 10 against BBR at 50 ms, 50 Mbit/s, windows that do not bind, "
            "queues of 0.8, 1 and 4 BDP of the longer RTT (tests/validation/data)",
            "The shorter RTT wins in the paper (600 and 300 Mbit/s at 10 and 20 ms). It also wins "
            "in the simulation while the window is the limit: rates are then window / RTT. If BBR "
            "is the limit, the flow with the longer RTT wins, because it keeps up to two of its "
            "larger BDP in the queue (see Ma et al., Fairness of Congestion-Based Congestion "
            "Control: Experimental Evaluation and Analysis, 2017, and Hock et al., ICNP 2017). "
            "Equation 8 describes STARTUP and says nothing about later shares.",
            variant="free-50",
        )
    ],
    x="rtt2",
)
paper.figure(
    "12",
    "BBR against CUBIC at 50 ms, and as RTT grows",
    "two-flows.toml",
    settings=AGAINST_CUBIC,
    axes={
        "rtt": rtts(
            "50 ms is stated, the other RTTs are not", "50ms", "75ms", "100ms", "150ms", "200ms"
        )
    },
    quantities={
        **flows("5s", bbr="BBR", cubic="CUBIC"),
        "share": derived(
            lambda run: run.cubic / (run.bbr + run.cubic), "1", "CUBIC's share", plot=False
        ),
    },
    claims=[
        claims.larger("at 50 ms BBR gets most of the total", "bbr", "cubic", {"rtt": "50ms"}),
        claims.larger("CUBIC gets less than BBR at every RTT", "bbr", "cubic"),
        claims.rises(
            "CUBIC's share of the bandwidth grows with RTT, because the window limits BBR",
            "share",
            "rtt",
        ),
    ],
    x="rtt",
)

# Equations (section 4.1 and 4.3)

paper.figure(
    "eq6",
    "Equation 6: CUBIC's rate, α = 1, β = 0.8, RTT 10 ms",
    "one-flow.toml",
    settings={"flows.cc": "cubic"},
    quantities={
        "equation": theory(equation_6, "Mbit/s", "equation 6"),
        "simulated": metric("goodput", "CUBIC, simulated", since="2s"),
    },
    claims=[claims.equal("the equation gives CUBIC's rate", "simulated", "equation", 0.10)],
)
paper.figure(
    "eq7",
    "Equation 7: BBR's rate, RTT 10 ms",
    "one-flow.toml",
    settings={"flows.cc": "bbr"},
    quantities={
        "written": theory(
            lambda it: 0.98 * it.rate * min(1, 1000 / 1025), "Mbit/s", "with the paper's BDP"
        ),
        "equation": theory(
            lambda it: 0.98 * it.rate * min(1, it.window / it.bdp), "Mbit/s", "equation 7"
        ),
        "simulated": metric("goodput", "BBR, simulated", since="2s"),
    },
    claims=[claims.equal("the equation gives BBR's rate", "simulated", "equation", 0.10)],
)
paper.figure(
    "eq8",
    "Equation 8: BBR's probing time grows in proportion to RTT",
    "one-flow.toml",
    settings={"flows.cc": "bbr", **ROOMY, "duration": "10s", "probe_interval": "10ms"},
    axes={"rtt": rtts("the paper gives no example", "10ms", "20ms", "50ms", "100ms")},
    quantities={
        "startup": metric("rise_time", "time to 90 % of the rate", flow=0, within=0.10),
        "equation": theory(
            lambda it: log2(it.bdp / (it.initial_window * it.packet)) * it.rtt, "s", "equation 8"
        ),
    },
    claims=[
        power("the time is proportional to RTT", "startup", "rtt", 1, 0.25),
        claims.equal(
            "the equation gives this time, with the initial window as its unit",
            "startup",
            "equation",
            0.5,
        ),
    ],
    x="rtt",
    log=True,
    draw=draw_proportion,
)

# Ideas for BBR (section 5)

QUEUE = metric("queue_delay_mean", "mean queueing delay", plot=False)
PROBES = {
    "2 phases": {"cruise_phases": 2},
    "no phase": {"cruise_phases": 0},
    "gain 1.5": {"probe_up_gain": 1.5},
    "gain 2": {"probe_up_gain": 2.0},
}
WINDOWS = {f"window {gain}": {"cwnd_gain": float(gain)} for gain in ("1.5", "1.25", "1")}
CYCLE = ("500Mbps", "800Mbps", "300Mbps", "1Gbps")
paper.figure(
    "idea-1",
    "Idea 1, faster convergence: figure 7's rates, a new one every 3 s",
    "steps.toml",
    settings={
        "duration": "36s",
        **ROOMY,
        "path.rate_steps": [[f"{3 * step}s", CYCLE[(step - 1) % 4]] for step in range(1, 12)],
    },
    axes={
        "through": THROUGH,
        "rtt": rtts(
            "figure 7's, and ten times as much: the phases take an RTT each", "10ms", "100ms"
        ),
        "bbr": bbrs(PROBES),
    },
    quantities={
        "used": metric("utilisation", "part of the changing rate that is used"),
        "queue": QUEUE,
        "again": metric("retransmission_ratio", "retransmitted part", plot=False),
    },
    claims=changes(
        "used",
        {
            "2 phases": "fewer phases follow a changing rate faster",
            "gain 2": "a higher gain follows a changing rate faster",
        },
    ),
)
paper.figure(
    "idea-1-udp",
    "Idea 1 in figure 6: time until BBR has settled beside UDP",
    "udp.toml",
    axes={"through": THROUGH, "bbr": bbrs(PROBES)},
    quantities=UDP,
)
paper.figure(
    "idea-2",
    "Idea 2, larger windows: figure 12 with three windows",
    "two-flows.toml",
    settings=AGAINST_CUBIC,
    axes={
        "through": THROUGH,
        "rtt": rtts("50 ms is stated", "50ms", "100ms"),
        "window": Axis(
            key="hosts.tcp_rmem",
            values=["2500kB", "10MB", "80MB"],
            label="choice",
            reason="that of the scenarios, and larger ones up to figure 4's",
        ),
    },
    quantities={
        **flows("5s", bbr="BBR", cubic="CUBIC"),
        "total": derived(lambda run: run.bbr + run.cubic, "Mbit/s", plot=False),
        "queue": QUEUE,
    },
    claims=[
        claims.rises("larger windows use more of the link", "total", "window"),
        claims.flat("CUBIC keeps its goodput", "cubic", "window", 0.25),
    ],
)
paper.figure(
    "idea-3-rtt",
    "Idea 3, RTT fairness: figure 11 with probes independent of the RTT, or a smaller window",
    "two-flows.toml",
    settings={"duration": "30s", "flows.1.rtt": "20ms"},
    axes={
        "conditions": Axis(
            label="choice",
            reason=OURS,
            values={
                "window 2.5 MB": {"hosts.tcp_rmem": "2500kB"},
                "80 MB, 4 BDP": {**ROOMY, "path.buffer": "4bdp"},
                "80 MB, 4 BDP, relay": {**ROOMY, "path.buffer": "4bdp", **RELAY},
            },
        ),
        "bbr": bbrs(
            {
                "every 80 ms": {"probe_interval": "80ms"},
                "every 2 s": {"probe_interval": "2s"},
                "memory 400": {"bandwidth_window": 400},
                **WINDOWS,
            }
        ),
    },
    quantities={
        **flows("5s", flow1="flow 1 (10 ms)", flow2="flow 2"),
        "total": derived(lambda run: run.flow1 + run.flow2, "Mbit/s", plot=False),
        "fairness": metric("jain", "Jain's index", plot=False),
        "queue": QUEUE,
    },
    claims=changes(
        "fairness",
        {
            name: f"{told}: fairer than as in Linux"
            for name, told in (
                ("every 80 ms", "probes every 80 ms"),
                ("every 2 s", "probes every 2 s"),
                ("window 1.25", "a window gain of 1.25"),
                ("BBRv3", "BBRv3"),
            )
        },
    ),
)
paper.figure(
    "idea-3-cubic",
    "Idea 3, fairness to CUBIC: figure 12 with a BBR that claims less",
    "two-flows.toml",
    settings={"path.rtt": "50ms", **AGAINST_CUBIC},
    axes={
        "conditions": Axis(
            label="choice",
            reason=OURS,
            values={
                "window 2.5 MB": {"hosts.tcp_rmem": "2500kB"},
                "80 MB, no loss": {**ROOMY, "path.loss": 0},
                "80 MB, no loss, relay": {**ROOMY, "path.loss": 0, **RELAY},
            },
        ),
        "bbr": bbrs(
            {"margin 5 %": {"pacing_margin": 0.05}, "gain 1.1": {"probe_up_gain": 1.1}} | WINDOWS,
            "flows.0.cc",
        ),
    },
    quantities={
        **flows("5s", bbr_rate="BBR", cubic="CUBIC"),
        "total": derived(lambda run: run.bbr_rate + run.cubic, "Mbit/s", plot=False),
        "share": derived(
            lambda run: run.cubic / (run.bbr_rate + run.cubic), "1", "CUBIC's share", plot=False
        ),
    },
    claims=changes(
        "share",
        {
            name: f"{told}: CUBIC gets more than as in Linux"
            for name, told in (
                ("margin 5 %", "pacing 5 % lower"),
                ("gain 1.1", "a gain of 1.1"),
                ("window 1.25", "a window gain of 1.25"),
                ("BBRv3", "BBRv3"),
            )
        },
    ),
)

# What the paper leaves open or cannot mean as written
