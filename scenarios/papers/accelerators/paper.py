# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of accelerators on one side and on both sides: kcptun, FinalSpeed, UDPspeeder."""

from tunnelcc.apps.papers import Axis, Paper, claims, derived, metric, theory

ONE_SIDE = {"cubic": "CUBIC", "bbr": "BBR", "vegas": "Vegas", "qvegas": "qVegas"}
ONE_SIDE |= {"KernelPCC": "KernelPCC"}
BOTH_SIDES = {"kcptun": "kcptun", "finalspeed": "FinalSpeed", "udpspeeder": "UDPspeeder"}
CLEAN = {"loss": "0%"}
NEAR, FAR = {"rtt": "17ms", **CLEAN}, {"rtt": "100ms", **CLEAN}
WORST = {"rtt": "100ms", "loss": "50%"}


def grid(systems: dict | None) -> dict:
    """Return the parts that all figures share: download speed over RTT and loss."""
    losses = {
        loss: {"path.loss": loss, "path.reverse_loss": loss} for loss in ("0%", "10%", "30%", "50%")
    }
    rtts = Axis("path.rtt", ["17ms", "50ms", "100ms"])
    axes = {"rtt": rtts, "loss": losses}
    return {
        "scenario": "download.toml",
        "axes": axes if systems is None else {"system": systems, **axes},
        "seeds": 3,
        "x": "loss",
        "panels": "" if systems is None else "rtt",
        "log": True,
    }


SPEED = {
    "completion": metric("flow_completion_time", plot=False),
    "goodput": metric("goodput", plot=False),
    "speed": derived(
        lambda run: max(run.goodput, 8e8 / run.completion) / 8, "MB", "download a second"
    ),
}


def bound(value: float, unit: str = "MB"):
    """Return what a statement in words is taken to mean."""
    return theory(lambda _: value, unit, plot=False)


def wins(text: str, winner: str, losers: list[str], where: dict) -> list:
    """Return the claims that a system is faster than each of the others."""
    names = {**ONE_SIDE, **BOTH_SIDES, "plain": "the plain download"}
    places = {loser: "cubic" if loser == "plain" else loser for loser in losers}
    return [
        claims.order(f"{text}{names[loser]}", "speed", f"system: {winner} > {place}", where)
        for loser, place in places.items()
    ]


def each(systems: dict, where: dict):
    """Yield a system's name, and the place of its points."""
    for system, name in systems.items():
        yield name, {"system": system, **where}


def statements() -> list:
    """Return the statements of the report, by its sections."""
    others = [name for name in ONE_SIDE if name != "bbr"]
    text = "3.1: at low delay without loss all do well: {}, half of the link"
    found = [
        claims.larger(text.format(name), "speed", "well", where)
        for name, where in each(ONE_SIDE, NEAR)
    ]
    found += wins("3.1: ... and BBR is the fastest: against ", "bbr", others, NEAR)
    found += [
        claims.falls(f"{section}: speed falls with delay: {name}", "speed", "rtt", where)
        for section, systems in (("3.2", ONE_SIDE), ("3.5", BOTH_SIDES))
        for name, where in each(systems, CLEAN)
        if name != "FinalSpeed"
    ]
    for loss in ("0%", "10%"):
        text = f"3.2: at high delay BBR does well: {loss} of loss, against "
        found += wins(text, "bbr", ["cubic"], {"rtt": "100ms", "loss": loss})
    found += [
        claims.falls(f"{section}: speed falls with loss: {name}", "speed", "loss", where)
        for section, systems in (("3.3", ONE_SIDE), ("3.6", BOTH_SIDES))
        for name, where in each(systems, {})
    ]
    for loss in ("10%", "30%", "50%"):
        text = f"3.3: with much loss BBR does well: {loss}, against "
        found += wins(text, "bbr", others, {"loss": loss})
    text = "3.5: at low delay without loss the plain download is the fastest: against "
    found += wins(text, "cubic", list(BOTH_SIDES), NEAR)
    text = "3.5: at high delay FinalSpeed does well: as at low delay"
    found.append(claims.flat(text, "speed", "rtt", 0.1, {"system": "finalspeed", **CLEAN}))
    for system in ("kcptun", "finalspeed"):
        text = f"3.5: at high delay {BOTH_SIDES[system]} does well: against "
        found += wins(text, system, ["udpspeeder"], FAR)
    for loss in ("10%", "30%"):
        for system in ("kcptun", "finalspeed"):
            text = f"3.6: with much loss {BOTH_SIDES[system]} does well: {loss}, against "
            found += wins(text, system, ["udpspeeder", "plain"], {"loss": loss})
    text = "3.6: at high delay and much loss kcptun does well: 50%, against "
    found += wins(text, "kcptun", ["finalspeed", "udpspeeder"], WORST)
    text = "4.1: at about 10 % of loss BBR is the best: against "
    found += wins(text, "bbr", list(BOTH_SIDES), {"loss": "10%"})
    for loss in ("30%", "50%"):
        text = f"4.2: above 20 % of loss at 100 ms, kcptun is the better choice: {loss}, against "
        found += wins(text, "kcptun", list(ONE_SIDE), {"rtt": "100ms", "loss": loss})
    text = "4.3: at 100 ms and 50 % kcptun still downloads well: half a megabyte a second"
    found.append(claims.larger(text, "speed", "half", {"system": "kcptun", **WORST}))
    text = "4.3: ... and what is on one side does not: {}, a twentieth"
    found += [
        claims.larger(text.format(name), "little", "speed", where)
        for name, where in each(ONE_SIDE, WORST)
    ]
    text = '"what is on both sides mostly does less than what is on one": {}, {} against BBR'
    found += [
        claims.order(text.format(loss, name), "speed", f"system: bbr > {system}", {"loss": loss})
        for loss in ("0%", "10%")
        for system, name in BOTH_SIDES.items()
    ]
    text = '"what is on both sides mostly sends more than once": {}, a quarter more at least'
    found += [
        claims.larger(text.format(name), "four_fifths", "efficiency", where)
        for name, where in each(BOTH_SIDES, CLEAN)
    ]
    return found


paper = Paper(
    title=(
        "A comparison of accelerators on one side and on both sides (网络加速: 单边加速, 双边加速)"
    ),
    source=(
        "yunweipai.com, undated (kernel 4.9, kcptun with -mode fast2; 2017 or 2018). Its tables "
        "and curves are images: published.csv has no number, and what is compared are its "
        "statements"
    ),
)
paper.figure(
    "grid",
    "Download speed over loss and RTT",
    **grid(
        {
            "cubic": {"flows.cc": "cubic"},
            "bbr": {"flows.cc": "bbr"},
            "vegas": {"flows.cc": "vegas"},
            "qvegas": {"flows.cc": "qvegas"},
            "KernelPCC": {"flows.cc": "unlimited"},
            "pcc": {"flows.cc": "pcc"},
            "vivace": {"flows.cc": "vivace"},
            "kcptun": {"tunnel": {"name": "kcptun-2017", "mode": "fast2"}},
            "finalspeed": {"tunnel": {"name": "finalspeed", "rate": "100Mbps"}},
            "udpspeeder": {"tunnel": "udpspeeder"},
        }
    ),
    quantities={
        **SPEED,
        "efficiency": metric("efficiency", plot=False),
        "well": bound(5e7),
        "half": bound(5e5),
        "little": bound(5e4),
        "four_fifths": bound(0.8, "1"),
    },
    claims=statements(),
)
paper.figure(
    "zeta-like",
    "An illustration of ZetaTCP, which is closed",
    **grid({cc: {"flows.cc": cc} for cc in ("cubic", "bbr", "zeta-like")}),
    quantities=SPEED,
)
paper.figure(
    "udpspeeder",
    "What UDPspeeder carried",
    **grid(None),
    settings={"tunnel": "udpspeeder"},
    quantities={**SPEED, "little": bound(5e4), "of_bbr": bound(3e6)},
    claims=[
        claims.falls("3.5: speed falls with delay", "speed", "rtt", CLEAN),
        claims.falls("3.6: speed falls with loss", "speed", "loss"),
        claims.larger(
            "3.6: at high delay and much loss it does not do well: 50 %, less than a "
            "twentieth of a megabyte a second",
            "little",
            "speed",
            WORST,
        ),
        claims.larger(
            "4.1: at about 10 % of loss it is not the best: less than BBR's 3 MB/s at 100 ms",
            "of_bbr",
            "speed",
            {"rtt": "100ms", "loss": "10%"},
        ),
    ],
)
paper.figure(
    "today",
    "What one would choose today",
    **grid(
        {
            "kcptun of 2017, fast2": {"tunnel": {"name": "kcptun-2017", "mode": "fast2"}},
            "kcptun, fast2": {"tunnel": {"name": "kcptun", "mode": "fast2"}},
            "kcptun, fast2, 1024": {
                "tunnel": {
                    "name": "kcptun",
                    "mode": "fast2",
                    "kcp": {"client_receive_window": 1024},
                }
            },
            "GOST over KCP": {"tunnel": "gost-kcp"},
            "GOST with BBR": {"tunnel": {"name": "gost-relay-wss", "cc": "bbr"}},
            "BBR in UDPspeeder": {"flows.cc": "bbr", "tunnel": "udpspeeder"},
        }
    ),
    quantities=SPEED,
)
